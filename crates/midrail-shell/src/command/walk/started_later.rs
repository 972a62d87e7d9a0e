//! Commands that programs of Windows start for others, or later: `wmic process call create`, scheduled tasks, services, keys that
//! run programs when their user logs in.

use midrail_core::OpaqueKind;

use super::super::invocation::{Arg, Invocation, joined};
use super::super::scope::Scope;
use super::super::windows;
use super::state::{MAX_DEPTH, Walk};

impl Walk {
    /// Follows the command that a program of Windows starts.
    pub(super) fn started_later(&mut self, invocation: &Invocation, scope: &Scope) {
        let Some(command) = started(invocation).filter(|_| self.depth < MAX_DEPTH) else { return };
        // It runs outside of the sandbox that this call may run in.
        self.hide(OpaqueKind::Dynamic, &command.text);
        self.depth += 1;
        self.translated(windows::cmd(&command.text), scope);
        self.depth -= 1;
    }
}

/// The command line that a program starts.
fn started(invocation: &Invocation) -> Option<Arg> {
    let args = invocation.args.as_slice();
    let place = |word: &str| args.iter().position(|arg| arg.text.eq_ignore_ascii_case(word));
    let after = |word: &str| args.get(place(word)? + 1).cloned();
    let program = invocation.program.to_ascii_lowercase();
    match program.trim_end_matches(".exe") {
        "wmic" => {
            let create = place("create").filter(|at| place("call").is_some_and(|call| call + 1 == *at))?;
            let rest = args.get(create + 1..).unwrap_or_default();
            let known = rest.iter().all(Arg::is_known);
            // `create "command","folder"`
            let text = joined(rest);
            Some(if known { Arg::known(text) } else { Arg::unknown(&text) })
        }
        "schtasks" => after("/tr").or_else(|| after("-tr")),
        "sc" => {
            let attached = args.iter().find(|arg| {
                arg.text.len() > 8
                    && arg.text.get(..8).is_some_and(|key| key.eq_ignore_ascii_case("binpath="))
            });
            attached.map(|arg| arg.tail(8)).or_else(|| after("binpath="))
        }
        "reg" => {
            let runs = |arg: &Arg| {
                let key = arg.text.to_ascii_lowercase();
                // A shell removes backslashes outside of quotes.
                let key = key.replace('\\', "");
                ["currentversionrun", "currentversionrunonce", "winlogon", "opencommand"]
                    .iter()
                    .any(|end| key.ends_with(end))
            };
            args.iter().any(runs).then(|| after("/d"))?
        }
        "new-scheduledtaskaction" => {
            let mut command = after("-execute")?;
            if let Some(argument) = after("-argument") {
                command.append(&Arg::known(" "));
                command.append(&argument);
            }
            Some(command)
        }
        "at" => {
            let is_shell = |arg: &Arg| matches!(arg.text.as_str(), "cmd" | "cmd.exe" | "powershell" | "pwsh");
            let from = args.iter().position(is_shell)?;
            Some(Arg::known(joined(args.get(from..)?)))
        }
        _ => None,
    }
}
