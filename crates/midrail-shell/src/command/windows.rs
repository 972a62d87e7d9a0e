//! A subset of PowerShell and of cmd: their destructive commands, translated to the programs that the tables of
//! [`super::danger`] know, and those that have no such counterpart.

mod cmd;
mod command;
mod dialect;
mod path;
mod powershell;
#[cfg(test)]
mod tests;
mod translate;
mod translation;

use self::command::Command;
use self::translation::DEEPEST;
use super::decode;
use super::invocation::{Arg, joined};

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
    fn start_shell(&mut self, command: &Command, depth: usize) -> bool {
        let is_flag = |arg: &Arg| ["/c", "/k"].iter().any(|flag| arg.text.eq_ignore_ascii_case(flag));
        let args = command.args();
        match command.program().as_str() {
            "cmd" => {
                if let Some(at) = args.iter().position(is_flag) {
                    self.read_cmd(&joined(args.get(at + 1..).unwrap_or_default()), depth);
                }
            }
            "powershell" | "pwsh" => self.start_powershell(args, depth),
            _ => return false,
        }
        true
    }

    /// `powershell -EncodedCommand …`, `pwsh -c …`.
    fn start_powershell(&mut self, args: &[Arg], depth: usize) {
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            let flag = arg.text.to_ascii_lowercase();
            let Some(flag) = flag.strip_prefix(['-', '/']) else {
                return self.read_powershell(&joined(args.get(at..).unwrap_or_default()), depth);
            };
            at += 1;
            let is = |name: &str| !flag.is_empty() && name.starts_with(flag);
            if is("encodedcommand") || flag == "enc" || flag == "ec" {
                match args.get(at).and_then(|arg| decode::base64_utf16(&arg.text)) {
                    Some(code) => self.read_powershell(&code, depth),
                    None => self.is_opaque = true,
                }
                return;
            }
            at += usize::from(
                is("executionpolicy") || is("windowstyle") || is("version") || is("file") || flag == "ep",
            );
        }
    }
}
