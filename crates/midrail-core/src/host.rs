//! The program that an agent runs in, and what it can do with a decision.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The program that the agent runs in, and what it can do with the answer to this one event.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// What it cannot do with the answer. Absent: it can do everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "lacks")]
    pub limits: Vec<HostLimit>,
    /// It asks its own user where a person has to decide.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(rename = "asks")]
    pub asks_user: bool,
    /// What the host calls this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// What a host sent beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// Something that a host cannot do with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HostLimit {
    /// Tell the agent something beside an answer that lets pass. It is told with the next answer that can.
    Notes,
    /// Pass on a changed text. Nothing passes on.
    Redact,
    /// Stop anything: what was done is done. It is on record.
    Block,
    /// End the run. Each later action is blocked.
    Halt,
    /// Ask about what is typed into a program that runs on. What opens such a program is looked at more closely.
    Typing,
}
