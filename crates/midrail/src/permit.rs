//! The proof that a tool call was allowed. Only a decision creates one, and a guarded tool is called only with one.

use midrail_core::{Decision, Event, EventKind};
use serde_json::{Map, Value};

/// A tool call that a decision allowed.
#[derive(Debug)]
pub struct Permit<'a> {
    tool: &'a str,
    args: &'a Map<String, Value>,
}

impl<'a> Permit<'a> {
    /// The permit of a decision for its event. `None`: the decision does not allow the call.
    pub(crate) fn new(decision: &Decision, event: &'a Event) -> Option<Self> {
        let tool = event.tool.as_ref()?;
        let is_allowed = event.kind == EventKind::BeforeTool && decision.effect.allows();
        is_allowed.then_some(Permit { tool: &tool.name, args: &tool.args })
    }

    /// The tool.
    pub fn tool(&self) -> &'a str {
        self.tool
    }

    /// The arguments.
    pub fn args(&self) -> &'a Map<String, Value> {
        self.args
    }

    /// A text argument.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.args.get(name)?.as_str()
    }
}

/// Why a guarded call has no result for the agent.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The call did not happen.
    #[error("{}", message(.0))]
    Denied(Box<Decision>),
    /// The call happened, and its result is withheld.
    #[error("{}", message(.0))]
    Withheld(Box<Decision>),
    /// The tool itself failed.
    #[error("{0}")]
    Failed(String),
}

/// The message for the agent: the reason and the advice.
fn message(decision: &Decision) -> String {
    match &decision.advice {
        Some(advice) => format!("{} {advice}", decision.reason),
        None => decision.reason.clone(),
    }
}
