//! The programs that a call starts, at any depth of its command line, with their known arguments.

use std::borrow::Cow;
use std::collections::BTreeSet;

use midrail_core::{Action, Context};
use midrail_shell::command;
use midrail_shell::command::invocation::{Arg, Invocation};
use serde_json::Value;

use super::data::PROGRAMS;

/// One program that a call starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StartedProgram {
    /// Its name without its folder. Empty: unknown.
    pub(crate) program: String,
    /// Its arguments. `None`: unknown.
    pub(crate) args: Option<Vec<Arg>>,
    /// Whether further, unknown arguments follow.
    pub(crate) has_more_args: bool,
    /// Whether it runs within `$(…)` or backticks.
    pub(crate) is_substituted: bool,
}

impl StartedProgram {
    /// A program with unknown arguments.
    pub(crate) fn with_unknown_args(program: &str) -> Self {
        StartedProgram { program: program.to_owned(), ..StartedProgram::default() }
    }

    /// The arguments as one text.
    pub(crate) fn text(&self) -> Option<String> {
        let words: Vec<&str> = self.args.as_ref()?.iter().map(|arg| arg.text.as_str()).collect();
        Some(words.join(" "))
    }

    /// The subcommand of a program such as `git`: the first word that is neither an option nor the value of one.
    pub(crate) fn subcommand(&self) -> Option<&str> {
        operands_from(self.args.as_deref()?).next().map(|arg| arg.text.as_str())
    }

    /// Whether any of its arguments is unknown.
    pub(crate) fn is_vague(&self) -> bool {
        self.has_more_args || self.args.as_deref().is_none_or(|args| args.iter().any(|arg| !arg.is_known()))
    }
}

/// The words from the subcommand on.
pub(crate) fn operands_from(args: &[Arg]) -> impl Iterator<Item = &Arg> {
    let mut is_value = false;
    args.iter().skip_while(move |arg| {
        let skips = is_value || arg.text.starts_with('-');
        is_value = !is_value && PROGRAMS.has("global options with a value", &arg.text);
        skips
    })
}

/// The programs that the event's call starts. Programs in scripts or inline code have unknown arguments.
pub(crate) fn started_programs(context: &Context<'_>, action: &Action) -> Vec<StartedProgram> {
    let line = line(context);
    let line = line.as_deref();
    let invocations = line.map(command::invocations).unwrap_or_default();
    let known: BTreeSet<&str> = action.programs.iter().map(String::as_str).collect();
    let mut all: Vec<StartedProgram> = Vec::new();
    let mut listed = BTreeSet::new();
    for invocation in invocations {
        if !invocation.program.is_empty() && !known.contains(invocation.program.as_str()) {
            continue;
        }
        listed.insert(invocation.program.clone());
        let is_substituted = line.is_some_and(|line| is_substituted(line, &invocation));
        let Invocation { program, args, has_more_args, .. } = invocation;
        all.push(StartedProgram { program, args: Some(args), has_more_args, is_substituted });
    }
    let others = known.iter().filter(|program| !listed.contains(**program));
    all.extend(others.map(|program| StartedProgram::with_unknown_args(program)));
    all
}

/// The command line of a call. A list of words is quoted, so that each stays one word.
fn line<'a>(context: &Context<'a>) -> Option<Cow<'a, str>> {
    let args = &context.event.tool.as_ref()?.args;
    ["command", "cmd"].iter().find_map(|name| match args.get(*name)? {
        Value::String(line) => Some(Cow::Borrowed(line.as_str())),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            let quoted = |word: &&str| format!("'{}'", word.replace('\'', "'\\''"));
            Some(Cow::Owned(words?.iter().map(quoted).collect::<Vec<_>>().join(" ")))
        }
        _ => None,
    })
}

/// Whether an invocation is within `$(…)` or backticks. Only for messages.
fn is_substituted(line: &str, invocation: &Invocation) -> bool {
    let Some(before) = line.get(..invocation.start) else { return false };
    let opened = before.matches("$(").count() + before.matches("<(").count();
    let within = opened > before.matches(')').count() || before.matches('`').count() % 2 == 1;
    // An invocation in backticks has the position of the whole line.
    let whole = line.get(invocation.start..invocation.end).unwrap_or_default();
    let quoted = whole.split('`').skip(1).step_by(2).any(|part| part.contains(&invocation.program));
    within || (quoted && !whole.trim_start().starts_with(&invocation.program))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subcommand(line: &str) -> Option<String> {
        let Invocation { program, args, has_more_args, .. } = command::invocations(line).pop()?;
        let started = StartedProgram { program, args: Some(args), has_more_args, is_substituted: false };
        started.subcommand().map(str::to_owned)
    }

    #[test]
    fn options_before_the_subcommand_are_skipped() {
        assert_eq!(subcommand("git commit -m push").as_deref(), Some("commit"));
        assert_eq!(subcommand("git -C sub -c a.b=c --no-pager push").as_deref(), Some("push"));
        assert_eq!(subcommand("git --version"), None);
    }

    #[test]
    fn substitutions_are_detected() {
        let is = |line: &str, program: &str| {
            let all = command::invocations(line);
            let found = all.iter().find(|it| it.program == program).unwrap();
            is_substituted(line, found)
        };
        assert!(is("echo $(cat x)", "cat") && is("echo `whoami`", "whoami"));
        assert!(!is("echo $(cat x)", "echo") && !is("echo `whoami`", "echo") && !is("echo a | cat", "cat"));
    }
}
