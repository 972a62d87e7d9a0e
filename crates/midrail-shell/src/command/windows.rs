//! A subset of PowerShell and of cmd: their destructive commands, translated to the programs that the tables of
//! [`super::danger`] know, and those that have no such counterpart.

mod cmd;
mod command;
mod dialect;
mod powershell;
#[cfg(test)]
mod tests;
mod translate;
mod translation;
mod unfold;

use self::command::WindowsCommand;
use self::translation::DEEPEST;
use super::decode;
use super::invocation::{Arg, joined};
use super::shell_options::is_standard_input;
use crate::words::windows::POWERSHELL_OPTIONS;

pub(crate) use self::dialect::{Dialect, dialect};
pub(crate) use self::translation::Translation;

/// What a PowerShell script does.
pub(crate) fn powershell(script: &str) -> Translation {
    let mut out = Translation::default();
    powershell::read(script, 0, &mut out);
    out
}

/// What a line of cmd does.
pub(crate) fn cmd(line: &str) -> Translation {
    let mut out = Translation::default();
    cmd::read(line, 0, &mut out);
    out
}

impl Translation {
    /// Reads a line of cmd inside other code.
    fn read_cmd(&mut self, line: &str, depth: usize) {
        if depth < DEEPEST {
            cmd::read(line, depth + 1, self);
        }
    }

    /// Reads a PowerShell script inside other code.
    fn read_powershell(&mut self, script: &str, depth: usize) {
        if depth < DEEPEST {
            powershell::read(script, depth + 1, self);
        } else {
            self.is_opaque = true;
        }
    }

    /// Reads the code that a command gives to another shell. False: it starts none.
    fn start_shell(&mut self, command: &WindowsCommand, depth: usize) -> bool {
        let is_flag = |arg: &Arg| ["/c", "/k"].iter().any(|flag| arg.text.eq_ignore_ascii_case(flag));
        let args = command.args();
        match command.program().as_str() {
            "cmd" => {
                if let Some(at) = args.iter().position(is_flag) {
                    self.read_cmd(&joined(args.get(at + 1..).unwrap_or_default()), depth);
                }
            }
            "powershell" | "pwsh" => match powershell_start(args) {
                PowerShellStart::Code(script) => self.read_powershell(&script, depth),
                PowerShellStart::Encoded(_) => self.is_opaque = true,
                PowerShellStart::File(_) | PowerShellStart::Input => {}
            },
            _ => return false,
        }
        true
    }
}

/// What PowerShell is started with.
pub(crate) enum PowerShellStart<'a> {
    /// This script.
    Code(String),
    /// A script that cannot be decoded.
    Encoded(&'a str),
    /// This file.
    File(Option<&'a Arg>),
    /// What it reads.
    Input,
}

/// What the arguments of PowerShell start: `-EncodedCommand …`, `-c …`, `-File …`. Names may be cut off.
pub(crate) fn powershell_start(args: &[Arg]) -> PowerShellStart<'_> {
    let mut at = 0;
    while let Some(arg) = args.get(at).filter(|arg| arg.text.starts_with(['-', '/'])) {
        let flag = arg.text.trim_start_matches(['-', '/']).to_ascii_lowercase();
        let is = |name: &str| name.starts_with(&flag);
        at += 1;
        if flag.is_empty() {
            at -= 1;
            break;
        } else if is("encodedcommand") || flag == "enc" || flag == "ec" {
            let code = args.get(at).map_or("", |arg| arg.text.as_str());
            return decode::base64_utf16(code).map_or(PowerShellStart::Encoded(code), PowerShellStart::Code);
        } else if is("command") {
            break;
        } else if is("file") {
            let file = args.get(at);
            let is_input = file.is_some_and(|file| is_standard_input(&file.text) || file.text == "-");
            return if is_input { PowerShellStart::Input } else { PowerShellStart::File(file) };
        }
        at += usize::from(flag == "ep" || POWERSHELL_OPTIONS.iter().any(|name| is(name)));
    }
    match joined(args.get(at..).unwrap_or_default()) {
        script if matches!(script.as_str(), "" | "-") => PowerShellStart::Input,
        script => PowerShellStart::Code(script),
    }
}
