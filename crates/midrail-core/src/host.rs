//! The program that an agent runs in, and what it can do with a decision.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The program that the agent runs in, and what it can do with the decision on this event.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// What it cannot do with the decision. Absent: it can do everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "lacks")]
    pub limits: Vec<HostLimit>,
    /// It asks its own user if a decision requires an approval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not", rename = "asks")]
    pub asks_user: bool,
    /// It does not ask its own user about a call that a decision vouches for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not", rename = "vouches")]
    pub takes_vouches: bool,
    /// The host's own name for this event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Fields beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// Something that a host cannot do with a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HostLimit {
    /// Pass a note to the agent with an allowed event. It is passed with the next decision that can carry it.
    Notes,
    /// Pass on a changed text. The event is blocked instead.
    Redact,
    /// Stop anything: the action already happened. The decision is recorded.
    Block,
    /// End the run. Each later action is blocked.
    Halt,
    /// Report what is typed into a running program. Commands that open such a program are checked more strictly.
    Typing,
}
