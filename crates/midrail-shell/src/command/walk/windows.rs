//! The shells of Windows, started from a command line.

use super::super::decode;
use super::super::invocation::{Invocation, joined};
use super::super::scope::Scope;
use super::super::windows::{self, Translation};
use super::shells::Code;
use super::state::{Listed, Walk};
use super::stream::Stream;
use crate::words::windows::POWERSHELL_OPTIONS;

impl Walk {
    pub(super) fn cmd(&mut self, invocation: &Invocation, scope: &mut Scope) -> Option<Stream> {
        let at = invocation.args.iter().position(|arg| {
            let text = arg.text.to_ascii_lowercase();
            matches!(text.as_str(), "/c" | "/k" | "-c" | "//c") || text.starts_with("/c")
        })?;
        let line = joined(invocation.args.get(at + 1..).unwrap_or_default());
        self.translated(windows::cmd(&line), scope);
        Some(Stream::printed_by("cmd"))
    }

    pub(super) fn powershell(
        &mut self,
        invocation: &Invocation,
        scope: &mut Scope,
        input: &Stream,
    ) -> Stream {
        let args = invocation.args.as_slice();
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            let flag = arg.text.to_ascii_lowercase();
            let flag = flag.trim_start_matches(['-', '/']);
            let is_option = arg.text.starts_with(['-', '/']);
            if is_option && !flag.is_empty() {
                if "encodedcommand".starts_with(flag) || flag == "ec" || flag == "enc" {
                    let code = args.get(at + 1).map_or("", |arg| arg.text.as_str());
                    match decode::base64_utf16(code) {
                        Some(script) => return self.run_code(&script, Code::PowerShell, scope, input),
                        None => self.opaque_command("an encoded command cannot be decoded", code),
                    }
                    return Stream::default();
                }
                if "command".starts_with(flag) {
                    at += 1;
                    break;
                }
                if "file".starts_with(flag) {
                    if let Some(file) = args.get(at + 1) {
                        return self.run_file(file, &[], Some(Code::PowerShell), &mut scope.clone(), input);
                    }
                    return Stream::default();
                }
                let takes_value = POWERSHELL_OPTIONS.iter().any(|name| name.starts_with(flag));
                at += 1 + usize::from(takes_value || flag == "ep");
                continue;
            }
            break;
        }
        let script = joined(args.get(at..).unwrap_or_default());
        if matches!(script.as_str(), "" | "-") {
            return self.run_stream(input, Code::PowerShell, invocation, scope);
        }
        self.run_code(&script, Code::PowerShell, scope, input)
    }

    /// What a line of a Windows shell does.
    pub(super) fn translated(&mut self, translated: Translation, scope: &Scope) {
        for mut invocation in translated.invocations {
            (invocation.start, invocation.end) = self.span;
            invocation.is_remote |= scope.is_remote;
            self.note(Listed::Program, &invocation.program);
            self.judge_with_files(&invocation, scope);
        }
        for mut danger in translated.dangers {
            (danger.start, danger.end) = self.span;
            self.add_danger(danger);
        }
        for path in translated.reads {
            self.note(Listed::Read, &path);
        }
        for path in translated.writes {
            self.note(Listed::Write, &path);
        }
        for host in translated.hosts {
            self.note(Listed::Host, &host);
        }
        if translated.runs_downloaded_code {
            self.remote_code("the script runs what it fetches from the network", "");
        }
        if translated.is_opaque {
            self.opaque("the script runs code that its text does not show");
        }
    }
}
