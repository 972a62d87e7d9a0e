//! The proof that an action was allowed. Only a decision makes one, and a guarded tool can be reached only with one.

use midrail_core::{Decision, Event, EventKind};
use serde_json::{Map, Value};

/// A tool call that may go on. There is no other way to make one than a decision that lets the call pass.
#[derive(Debug)]
pub struct Permit<'a> {
    tool: &'a str,
    args: &'a Map<String, Value>,
}

impl<'a> Permit<'a> {
    /// The permit that a decision gives for its event, if it lets the call pass.
    pub(crate) fn of(decision: &Decision, event: &'a Event) -> Option<Self> {
        let tool = event.tool.as_ref()?;
        let passes = event.kind == EventKind::BeforeTool && decision.effect.goes_on();
        passes.then_some(Permit { tool: &tool.name, args: &tool.args })
    }

    /// The tool that may be called.
    pub fn tool(&self) -> &'a str {
        self.tool
    }

    /// The arguments that it may be called with.
    pub fn args(&self) -> &'a Map<String, Value> {
        self.args
    }

    /// An argument that is a text.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.args.get(name)?.as_str()
    }
}

/// Why a guarded call has no answer for the agent.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The call did not happen.
    #[error("{}", told(.0))]
    Denied(Box<Decision>),
    /// The call happened, and its answer is withheld.
    #[error("{}", told(.0))]
    Withheld(Box<Decision>),
    /// The tool failed by itself.
    #[error("{0}")]
    Failed(String),
}

/// What the agent is told: the reason, and what to do instead.
fn told(decision: &Decision) -> String {
    match &decision.advice {
        Some(advice) => format!("{} {advice}", decision.reason),
        None => decision.reason.clone(),
    }
}
