//! The interface of a guardrail: one named check.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::context::Context;
use crate::effect::Effect;
use crate::event::EventKind;
use crate::inputs::{Missing, NotModified};
use crate::session::Changes;
use crate::spec::Tools;
use crate::verdict::{Redaction, Verdict};

/// A check. It reads values from its context and returns a verdict. It changes only its own state in the session's slices, in
/// `observe`.
pub trait Guardrail: Send + Sync {
    /// Checks an event.
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault>;

    /// Updates its state after an event was decided. Called for the kinds of [`Guardrail::observes`], whether or not the
    /// guardrail checked the event; `effect` is the decision's.
    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let _ = (context, effect, changes);
        Ok(())
    }

    /// The kinds of event that [`Guardrail::observe`] is called for.
    fn observes(&self) -> &[EventKind] {
        &[]
    }

    /// The tools that it checks or observes. An event without a tool concerns every guardrail of its kind.
    fn tools(&self) -> Tools {
        Tools::All
    }

    /// The strongest effect that it can request. After a block, guardrails that cannot raise it are skipped.
    fn max_effect(&self) -> Effect {
        Effect::Halt
    }

    /// The strongest effect that it can request if an external service does not answer in time; `on_timeout` is the policy's
    /// effect for that. A pack's `effect` does not replace it.
    fn timeout_effect(&self, on_timeout: Effect) -> Effect {
        let _ = on_timeout;
        Effect::Allow
    }

    /// The effect of its objections if a pack sets none, for display. It may request more for other reasons.
    fn default_effect(&self) -> Effect {
        self.max_effect()
    }

    /// Whether its verdict has consequences beyond the effect (strikes, flags, alerts), so that it is never skipped.
    fn has_consequences(&self) -> bool {
        false
    }

    /// Whether it can request a retry of such an event, so that a success resets its attempts.
    fn can_retry(&self, at: EventKind) -> bool {
        let _ = at;
        matches!(self.max_effect(), Effect::Retry | Effect::Halt)
    }

    /// Whether it can replace a tool's result before other guardrails check it.
    fn can_rewrite(&self) -> bool {
        false
    }

    /// The replacement of a tool's result. Called for results only, before any guardrail checks the event.
    fn rewrite(&self, context: &Context<'_>) -> Result<Option<Rewrite>, Fault> {
        let _ = context;
        Ok(None)
    }

    /// Whether it can change the arguments of a call before any guardrail checks it.
    fn can_modify(&self) -> bool {
        false
    }

    /// The changes of a call's arguments. Every guardrail sees the arguments as the agent wrote them, so that their order does not
    /// matter, and reads what became of its changes from [`Context::modification`].
    fn modify(&self, context: &Context<'_>) -> Result<Vec<ArgumentChange>, Fault> {
        let _ = context;
        Ok(Vec::new())
    }

    /// How many words at the end of a stream it has to see together with what follows, before they are passed on.
    fn held_words(&self) -> usize {
        0
    }

    /// The settings that the engine needs to call a script, a classifier or a judge for it.
    fn external_request(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }

    /// Whether answers to its external requests can arrive after the event that they are about.
    fn has_late_answers(&self) -> bool {
        false
    }

    /// Checks an answer that arrived too late for its event.
    fn check_late_answer(&self, context: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        let _ = (context, answer);
        Ok(Verdict::allow())
    }

    /// What it enforces, for an agent that will run under it.
    fn summary(&self) -> Option<String> {
        None
    }
}

/// Why a guardrail has no verdict, or not only one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Fault {
    /// A value that it needs is missing.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// It failed.
    #[error("{0}")]
    Failed(String),
    /// It failed after it reached this verdict. The stronger of the two counts.
    #[error("{1}")]
    FailedAfter(Box<Verdict>, String),
}

impl From<NotModified> for Fault {
    fn from(why: NotModified) -> Self {
        match why {
            NotModified::Missing(missing) => Fault::Missing(missing),
            NotModified::Failed(why) => Fault::Failed(why),
        }
    }
}

/// The replacement of a tool's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// Its text.
    pub content: String,
    /// Whether the call counts as failed.
    pub is_error: bool,
}

/// The change of one argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgumentChange {
    /// It gets another value.
    Set {
        /// The argument, as a JSON pointer below the arguments: `/limit`.
        argument: String,
        /// Its new value. `None`: it is removed.
        value: Option<Value>,
    },
    /// A part of its text is replaced. Its pointer is below the arguments, too.
    Redact(Redaction),
}

impl ArgumentChange {
    /// The argument that it changes.
    pub(crate) fn argument(&self) -> &str {
        match self {
            ArgumentChange::Set { argument, .. } => argument,
            ArgumentChange::Redact(part) => part.at.as_deref().unwrap_or_default(),
        }
    }
}

/// A condition on the context: a compiled expression, or a closure.
pub trait Condition: Send + Sync {
    /// Whether it holds. A condition that cannot be evaluated (`Err`) is treated as true.
    fn holds(&self, context: &Context<'_>) -> Result<bool, Missing>;

    /// The only programs for which it can hold, by name. `None`: it does not depend on programs.
    fn programs(&self) -> Option<&[String]> {
        None
    }

    /// The names of all programs that the event starts. Missing: it may start others. Only asked of conditions that depend on
    /// programs, and of one of them for all.
    fn started_programs(&self, _context: &Context<'_>) -> Result<BTreeSet<String>, Missing> {
        Err(Missing("the programs are not known".to_owned()))
    }
}

impl<F> Condition for F
where
    F: Fn(&Context<'_>) -> Result<bool, Missing> + Send + Sync,
{
    fn holds(&self, context: &Context<'_>) -> Result<bool, Missing> {
        self(context)
    }
}
