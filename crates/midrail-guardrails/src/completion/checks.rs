//! The tree of checks, with `all` and `any` as its nodes.

use std::sync::Arc;

use midrail_core::{Context, Effect};

use super::settings::{CheckExpression, CompletionChecks, TodoCheck};
use crate::deep::DeepSettings;
use crate::shared::compiled_schema::CompiledSchema;
use crate::shared::durations::Timeout;
use crate::shared::required_command::{RequiredCommand, all_files};
use crate::shared::settings::{CommandLine, Pattern};

/// A check, or a combination of checks.
pub(super) enum Check {
    Files(Vec<String>),
    Glob { pattern: Pattern, at_least: u64 },
    Todos,
    Output { name: String, schema: CompiledSchema },
    Expression(CheckExpression),
    Command { name: String, run: CommandLine, timeout: Timeout, files: Vec<Pattern> },
    Judge(Arc<DeepSettings>),
    All(Vec<Check>),
    Any(Vec<Check>),
}

impl Check {
    pub(super) fn new(checks: &CompletionChecks) -> Check {
        Check::below(checks, "")
    }

    /// The checks of a map, the most expensive last. `place` makes the state keys of the checks unique.
    fn below(checks: &CompletionChecks, place: &str) -> Check {
        let mut parts = Vec::new();
        parts.extend(checks.files.clone().map(Check::Files));
        if let Some(pattern) = checks.glob.clone() {
            parts.push(Check::Glob { pattern, at_least: checks.at_least.unwrap_or(1) });
        }
        parts.extend(checks.todos.map(|TodoCheck::NoneOpen| Check::Todos));
        if let Some(output) = checks.output.clone() {
            parts.push(Check::Output { name: format!("output{place}"), schema: output.schema });
        }
        parts.extend(checks.check.clone().map(Check::Expression));
        let below = |of: &[CompletionChecks], word: &str| {
            let of = of.iter().enumerate();
            of.map(|(i, checks)| Check::below(checks, &format!("{place}-{word}-{i}"))).collect::<Vec<_>>()
        };
        parts.extend(checks.all.as_deref().map(|all| Check::All(below(all, "all"))));
        parts.extend(checks.any.as_deref().map(|any| Check::Any(below(any, "any"))));
        if let Some(run) = checks.command.clone() {
            let timeout = checks.timeout.unwrap_or(Timeout::seconds::<600>());
            let files = checks.when_changed.clone().unwrap_or_else(all_files);
            parts.push(Check::Command { name: format!("command{place}"), run, timeout, files });
        }
        parts.extend(checks.ask.clone().map(|settings| Check::Judge(Arc::new(settings))));
        match parts.len() {
            1 => parts.pop().unwrap_or(Check::All(Vec::new())),
            _ => Check::All(parts),
        }
    }

    /// The check itself and all checks below it.
    pub(super) fn parts(&self) -> Vec<&Check> {
        let mut all = vec![self];
        if let Check::All(parts) | Check::Any(parts) = self {
            all.extend(parts.iter().flat_map(Check::parts));
        }
        all
    }

    pub(super) fn has_todos(&self) -> bool {
        self.parts().iter().any(|part| matches!(part, Check::Todos))
    }

    /// The command of a check, with the context that contains its state.
    pub(super) fn required<'p, 'a>(
        &'p self,
        context: &Context<'a>,
    ) -> Option<(RequiredCommand<'p>, Context<'a>)> {
        let Check::Command { name, run, timeout, files } = self else { return None };
        let required = RequiredCommand {
            run,
            timeout: *timeout,
            files,
            tries_again: true,
            effect: Effect::Retry,
            wrong: "A required command failed",
            advice: String::new(),
        };
        Some((required, context.part(name)))
    }

    /// The requirements in words. `None`: there are none, so that it always passes.
    pub(super) fn description(&self) -> Option<String> {
        let joined = |parts: &[Check], word: &str| {
            let parts: Vec<String> = parts.iter().filter_map(Check::description).collect();
            (!parts.is_empty()).then(|| parts.join(word))
        };
        match self {
            Check::Files(files) if files.is_empty() => None,
            Check::Files(files) => {
                Some(files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", "))
            }
            Check::Glob { pattern, at_least } => Some(format!("{at_least} of `{}`", pattern.0)),
            Check::Todos => Some("no open item on the to-do list".to_owned()),
            Check::Output { .. } => Some("an output that conforms to its schema".to_owned()),
            Check::Expression(holds) => Some(holds.source.trim().to_owned()),
            Check::Command { run, .. } => Some(format!("a successful run of `{}`", run.0)),
            Check::Judge(_) => Some("the approval of the judge".to_owned()),
            Check::All(parts) => joined(parts, "; "),
            // An alternative without requirements is always met.
            Check::Any(parts) if parts.iter().any(|part| part.description().is_none()) => None,
            Check::Any(parts) => match parts.as_slice() {
                [] => Some("one of no checks".to_owned()),
                [one] => one.description(),
                parts => joined(parts, ", or ").map(|either| format!("one of these ({either})")),
            },
        }
    }
}
