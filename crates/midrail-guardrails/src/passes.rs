//! Guardrails whose command has to end well: quality-003 (tests) and quality-004 (linter). They differ in words and effect.

use std::marker::PhantomData;

use midrail_core::{Changes, Context, Effect, EventKind, Fault, Found, Guardrail, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ran::{CommandLine, Required, Timeout, all_files};
use crate::settings::Pattern;

/// What a command is run for.
pub trait Purpose: Send + Sync {
    /// What its failure leads to.
    const EFFECT: Effect;
    /// What is wrong when it fails, in words that go before a colon.
    const WRONG: &'static str;
    /// What is wrong when no command is named.
    const UNKNOWN: &'static str;
    /// What the agent can do, around the command.
    const ADVICE: (&'static str, &'static str);
    /// What it enforces, in words that go before a colon.
    const SUMMARY: &'static str;
}

/// The settings of a guardrail that runs a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "")]
#[schemars(bound = "", rename = "Passes")]
pub struct Passes<P> {
    /// The command. Without one nobody knows whether it would pass.
    #[serde(default)]
    pub run: Option<CommandLine>,
    /// The files that matter to it. It runs when one of them changed since it last ran; empty: every time.
    #[serde(default = "all_files")]
    pub files: Vec<Pattern>,
    /// How long it may take.
    #[serde(default = "ten_minutes")]
    pub timeout: Timeout,
    #[serde(skip)]
    purpose: PhantomData<P>,
}

fn ten_minutes() -> Timeout {
    Timeout::minutes(10)
}

impl<P: Purpose> Passes<P> {
    /// `None`: no command is named.
    fn required(&self) -> Option<Required<'_>> {
        let run = self.run.as_ref()?;
        let (before, after) = P::ADVICE;
        Some(Required {
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

impl<P: Purpose> Guardrail for Passes<P> {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        match self.required() {
            Some(required) => required.verdict(context),
            None => Ok(Verdict::new(P::EFFECT, P::UNKNOWN)
                .advise("Whoever keeps the pack names the command: `with: {run: COMMAND}`.")
                .finding(Found::new(P::UNKNOWN))),
        }
    }

    fn observe(&self, context: &Context<'_>, _: Effect, changes: &mut Changes) -> Result<(), Fault> {
        self.required().map_or(Ok(()), |required| required.observe(context, changes))
    }

    fn watches(&self) -> &[EventKind] {
        EventKind::ALL
    }

    fn ceiling(&self) -> Effect {
        P::EFFECT
    }

    fn summary(&self) -> Option<String> {
        self.run.as_ref().map(|run| format!("{}: `{}`.", P::SUMMARY, run.0))
    }
}
