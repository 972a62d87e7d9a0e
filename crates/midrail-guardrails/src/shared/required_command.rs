//! Commands that must succeed: when they run, their stored results, the verdicts on them, and the guardrails that
//! only run a command (test-pass and lint-clean).

use std::marker::PhantomData;

use midrail_core::{
    Changes, CommandOutcome, Context, Effect, EventKind, Fault, Guardrail, Key, Missing, PackCommand,
    StopFinding, Verdict,
};
use midrail_scan::output_digest::StableDigest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::durations::Timeout;
use super::settings::{CommandLine, Pattern};

/// Maximum size of the stored and reported output in bytes.
const SHOWN: usize = 2_000;

/// A command that must succeed, and the messages for its failure.
pub(crate) struct RequiredCommand<'s> {
    pub(crate) run: &'s CommandLine,
    pub(crate) timeout: Timeout,
    /// It runs if one of these changed since the last run. Empty: every time.
    pub(crate) files: &'s [Pattern],
    /// Whether a failed command runs again each time, because the cause may be outside of the files. Its last result
    /// is then always stored.
    pub(crate) tries_again: bool,
    pub(crate) effect: Effect,
    /// The reason of a failure, before a colon.
    pub(crate) wrong: &'static str,
    pub(crate) advice: String,
}

impl RequiredCommand<'_> {
    /// The verdict on the command, from a new run or from the stored result if the files are unchanged.
    pub(crate) fn verdict(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let run = self.pack_command();
        if !self.files.is_empty()
            && let Some(stored) = self.current_result(context)?
            && (!self.tries_again || stored.exit_code == Some(0))
        {
            return Ok(self.result_verdict(&stored, true));
        }
        Ok(self.result_verdict(&CommandResult::new(context.command(&run)?), false))
    }

    /// The verdict on the stored result, if the files are unchanged. The command is not run. `None`: there is no
    /// current result.
    pub(crate) fn last_verdict(&self, context: &Context<'_>) -> Result<Option<Verdict>, Fault> {
        Ok(self.current_result(context)?.map(|stored| self.result_verdict(&stored, true)))
    }

    /// The stored result of the same command with the same files.
    fn current_result(&self, context: &Context<'_>) -> Result<Option<CommandResult>, Missing> {
        // Request both facts before the first one is missing, so that they are fetched together.
        let (stored, tree) = (key(context).read(context), self.tree_digest(context));
        let (stored, tree) = (stored?, tree?);
        let stored = stored.filter(|stored| stored.tree == tree && stored.run == self.run.0);
        Ok(stored.map(|stored| stored.outcome))
    }

    /// Requests the stored result, so that it is fetched together with other cheap facts.
    pub(crate) fn prefetch_result(&self, context: &Context<'_>) {
        if self.stores_result() {
            let _ = key(context).exists(context);
        }
    }

    /// Requests the state of the relevant files.
    pub(crate) fn prefetch_files(&self, context: &Context<'_>) {
        let _ = self.tree_digest(context);
    }

    /// Stores the result of the command, if this decision ran it.
    pub(crate) fn observe(&self, context: &Context<'_>, changes: &mut Changes) -> Result<(), Fault> {
        let run = self.pack_command();
        if !self.stores_result() || !context.spec.on.contains(&context.event.kind) {
            return Ok(());
        }
        let Some(end) = context.command_if_run(&run) else { return Ok(()) };
        let tree = self.tree_digest(context)?.to_owned();
        let stored = StoredResult { run: run.command, tree, outcome: CommandResult::new(end) };
        Ok(key(context).write(changes, &stored)?)
    }

    fn stores_result(&self) -> bool {
        self.tries_again || !self.files.is_empty()
    }

    /// The state of the relevant files. Empty if it runs every time.
    fn tree_digest<'a>(&self, context: &Context<'a>) -> Result<&'a str, Missing> {
        let patterns: Vec<String> = self.files.iter().map(|pattern| pattern.0.clone()).collect();
        if patterns.is_empty() { Ok("") } else { context.tree_digest(&patterns) }
    }

    fn pack_command(&self) -> PackCommand {
        PackCommand { command: self.run.0.clone(), timeout_ms: self.timeout.0 }
    }

    fn result_verdict(&self, outcome: &CommandResult, is_stored: bool) -> Verdict {
        let how = match outcome.exit_code {
            Some(0) => return Verdict::allow(),
            Some(code) => format!("exited with code {code}"),
            None => "was ended by a signal".to_owned(),
        };
        let since = match (is_stored, self.files) {
            (false, _) => "",
            (true, []) => " when it last ran",
            (true, _) => " when it last ran; the files have not changed since",
        };
        let mut reason = format!("{}: `{}` {how}{since}.", self.wrong, self.run.0);
        if !outcome.output.is_empty() {
            reason.push_str(" The end of its output:\n");
            reason.push_str(&outcome.output);
        }
        let found = StopFinding::new(format!("`{}` {how}\n{}", self.run.0, outcome.digest()));
        let verdict = Verdict::new(self.effect, reason).advise(self.advice.as_str()).with_stop_finding(found);
        verdict.with("command", self.run.0.as_str()).with("exit_code", outcome.exit_code)
    }
}

/// The slice with the last result.
fn key(context: &Context<'_>) -> Key<StoredResult> {
    Key::own(context, "ran")
}

/// The stored result.
#[derive(Serialize, Deserialize)]
struct StoredResult {
    run: String,
    tree: String,
    #[serde(flatten)]
    outcome: CommandResult,
}

#[derive(Serialize, Deserialize)]
struct CommandResult {
    exit_code: Option<i32>,
    /// Empty after a success.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    output: String,
    /// A digest of the whole output, if it was shortened.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    digest: String,
}

impl CommandResult {
    fn new(end: &CommandOutcome) -> Self {
        if end.exit_code == Some(0) {
            return CommandResult { exit_code: end.exit_code, output: String::new(), digest: String::new() };
        }
        let whole = end.output.trim_end();
        let output = last_lines(whole, SHOWN).to_owned();
        let digest = match end.digest.as_str() {
            "" if output.len() == whole.len() => String::new(),
            "" => StableDigest::compute(whole),
            digest => digest.to_owned(),
        };
        CommandResult { exit_code: end.exit_code, output, digest }
    }

    /// A digest of the whole output, without parts that differ from run to run.
    fn digest(&self) -> String {
        if self.digest.is_empty() { StableDigest::compute(&self.output) } else { self.digest.clone() }
    }
}

/// The last lines of a text within a limit, or the end of the last line if it is too long.
fn last_lines(text: &str, limit: usize) -> &str {
    let Some(over) = text.len().checked_sub(limit).filter(|over| *over > 0) else { return text };
    let from = (over..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let end = text.get(from..).unwrap_or_default();
    match end.split_once('\n') {
        Some((_, rest)) if !rest.is_empty() => rest,
        _ => end,
    }
}

/// The pattern of all files below the root.
pub(crate) fn all_files() -> Vec<Pattern> {
    vec![Pattern::new("**")]
}

/// The purpose of a command.
pub(crate) trait CommandPurpose: Send + Sync {
    /// The effect of its failure.
    const EFFECT: Effect;
    /// The reason of its failure, before a colon.
    const WRONG: &'static str;
    /// The reason if no command is configured.
    const UNKNOWN: &'static str;
    /// The advice before and after the command.
    const ADVICE: (&'static str, &'static str);
    /// The summary, before a colon.
    const SUMMARY: &'static str;
}

/// The settings of a guardrail that runs a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "")]
#[schemars(bound = "", rename = "Passes")]
pub(crate) struct CommandRequirement<P> {
    /// The command. Without one the result is unknown.
    #[serde(default)]
    pub run: Option<CommandLine>,
    /// Relevant files. The command runs if one of them changed since the last run; empty: every time.
    #[serde(default = "all_files")]
    pub files: Vec<Pattern>,
    /// The time limit.
    #[serde(default = "Timeout::seconds::<600>")]
    pub timeout: Timeout,
    #[serde(skip)]
    purpose: PhantomData<P>,
}

impl<P: CommandPurpose> CommandRequirement<P> {
    /// The command, if one is configured.
    fn required(&self) -> Option<RequiredCommand<'_>> {
        let run = self.run.as_ref()?;
        let (before, after) = P::ADVICE;
        Some(RequiredCommand {
            run,
            timeout: self.timeout,
            files: &self.files,
            tries_again: false,
            effect: P::EFFECT,
            wrong: P::WRONG,
            advice: format!("{before}`{}`{after}", run.0),
        })
    }
}

impl<P: CommandPurpose> Guardrail for CommandRequirement<P> {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        match self.required() {
            Some(required) => required.verdict(context),
            None => Ok(Verdict::new(P::EFFECT, P::UNKNOWN)
                .advise("The author of the pack must configure the command: `with: {run: COMMAND}`.")
                .with_stop_finding(StopFinding::new(P::UNKNOWN))),
        }
    }

    fn observe(&self, context: &Context<'_>, _: Effect, changes: &mut Changes) -> Result<(), Fault> {
        self.required().map_or(Ok(()), |required| required.observe(context, changes))
    }

    fn observes(&self) -> &[EventKind] {
        EventKind::ALL
    }

    fn max_effect(&self) -> Effect {
        P::EFFECT
    }

    fn summary(&self) -> Option<String> {
        self.run.as_ref().map(|run| format!("{}: `{}`.", P::SUMMARY, run.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_output_identifies_a_finding() {
        let of = |output: String, digest: &str| {
            let end = CommandOutcome {
                exit_code: Some(1),
                output,
                digest: digest.into(),
                ..CommandOutcome::default()
            };
            let outcome = CommandResult::new(&end);
            assert!(outcome.output.len() <= SHOWN);
            outcome.digest()
        };
        let long =
            |test: &str, time: &str| format!("test {test} failed in {time}\n{}", "more\n".repeat(1_000));
        assert_eq!(of(long("issue_1234", "0.3s"), ""), of(long("issue_1234", "11.25s"), ""));
        assert_ne!(of(long("issue_1234", "0.3s"), ""), of(long("issue_5678", "0.3s"), ""));
        assert_eq!(of("a".into(), ""), of("a\n".into(), ""));
        assert_ne!(of("the same end".into(), "one"), of("the same end".into(), "two"));
    }

    #[test]
    fn shortened_output_begins_with_a_line() {
        assert_eq!(last_lines("one\ntwo\nthree", 8), "three");
        assert_eq!(last_lines("one\ntwo", 10), "one\ntwo");
        assert_eq!(last_lines("äääää", 5), "ää");
        assert_eq!(last_lines("long line\n", 5), "line\n");
        assert_eq!(last_lines("", 5), "");
    }
}
