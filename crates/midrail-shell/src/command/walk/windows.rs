//! The shells of Windows, started from a command line.

use super::super::invocation::{Invocation, joined};
use super::super::scope::Scope;
use super::super::windows::{self, PowerShellStart, Translation};
use super::shells::Code;
use super::state::{Listed, Walk};
use super::stream::{ProgramCall, Stream};

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

    pub(super) fn powershell(&mut self, call: ProgramCall<'_>, scope: &mut Scope) -> Stream {
        let ProgramCall { invocation, input } = call;
        match windows::powershell_start(&invocation.args) {
            PowerShellStart::Code(script) => return self.run_code(&script, Code::PowerShell, scope, input),
            PowerShellStart::Input => return self.run_stream(input, Code::PowerShell, invocation, scope),
            PowerShellStart::File(Some(file)) => {
                return self.run_file(file, &[], Some(Code::PowerShell), &mut scope.clone(), input);
            }
            PowerShellStart::File(None) => {}
            PowerShellStart::Encoded(code) => {
                self.opaque_command("an encoded command cannot be decoded", code);
            }
        }
        Stream::default()
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
