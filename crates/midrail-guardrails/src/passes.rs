//! A guardrail that requires a command to succeed: the common part of test-pass and lint-clean.

use std::marker::PhantomData;

use midrail_core::{Changes, Context, Effect, EventKind, Fault, Guardrail, StopFinding, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ran::{CommandLine, RequiredCommand, Timeout, all_files};
use crate::settings::Pattern;

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
    #[serde(default = "ten_minutes")]
    pub timeout: Timeout,
    #[serde(skip)]
    purpose: PhantomData<P>,
}

fn ten_minutes() -> Timeout {
    Timeout::minutes(10)
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
