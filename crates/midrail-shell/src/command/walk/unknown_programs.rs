//! Unknown programs whose arguments are a destructive command: `runner -- rm -rf /etc`.

use midrail_core::Severity;

use super::super::invocation::Invocation;
use super::super::programs::{self, Tag};
use super::super::{danger, files};
use super::flow::{base_name, command_line};
use super::state::Walk;

impl Walk {
    /// Reports the arguments of an unknown program that are a destructive command: it may run them.
    pub(super) fn report_unknown_program(&mut self, invocation: &Invocation) {
        let program = invocation.program.as_str();
        let is_destroyer = |text: &str| {
            let name = base_name(text);
            programs::is(name, Tag::Destroys) || name.starts_with("mkfs.")
        };
        let args = invocation.args.as_slice();
        let Some(at) = args.iter().position(|arg| arg.is_known() && is_destroyer(&arg.text)) else { return };
        let row = programs::row(program);
        if row.tags.contains(&Tag::TakesWords) || !row.dangers.is_empty() || files::is_known(program) {
            return;
        }
        let inner = Invocation {
            program: args.get(at).map_or("", |arg| base_name(&arg.text)).to_owned(),
            args: args.get(at + 1..).unwrap_or(&[]).to_vec(),
            ..invocation.clone()
        };
        let is_bad = |danger: &midrail_core::Danger| {
            danger.severity >= Severity::High && !danger.is_inside && !danger.targets.is_empty()
        };
        if danger::judge(&inner).iter().any(is_bad) {
            let reason = format!(
                "what `{program}` does with these words is not known, and they are a command that destroys"
            );
            self.opaque_command(&reason, &command_line(program, args));
        }
    }
}
