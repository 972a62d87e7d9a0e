//! Rows that label what an agent sees through tools, hosts and files, and class what its calls do.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The label of texts that an attacker may have written.
pub const UNTRUSTED: &str = "untrusted";

/// The label of texts that must not leave.
pub const PRIVATE: &str = "private";

/// Marks a source that may name destinations. It is not a label.
pub const TRUSTED: &str = "trusted";

/// One row. It applies to a call that one of its selectors matches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelRow {
    /// Tools: names or glob patterns.
    pub tools: Vec<String>,
    /// Hosts: names or text patterns.
    pub hosts: Vec<String>,
    /// Files: path patterns.
    pub files: Vec<String>,
    /// Senders of prompts: names or text patterns.
    pub senders: Vec<String>,
    /// Annotations that an MCP server gives to its tools.
    pub annotations: BTreeMap<String, Value>,
    /// The labels of what the agent sees, or [`TRUSTED`].
    pub seen: Vec<String>,
    /// What the call does.
    pub does: Vec<CallClass>,
    /// The arguments that hold destinations.
    pub to: Vec<String>,
    /// When the row ends.
    pub until: Option<Timestamp>,
}

/// The class of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallClass {
    /// It sends data to another machine or person.
    Send,
    /// It changes the state of a service, or files outside the project.
    Change,
    /// It runs a program or code.
    Run,
}

impl CallClass {
    /// All classes.
    pub const ALL: [CallClass; 3] = [CallClass::Send, CallClass::Change, CallClass::Run];

    /// Its name in packs and expressions.
    pub fn as_str(self) -> &'static str {
        match self {
            CallClass::Send => "send",
            CallClass::Change => "change",
            CallClass::Run => "run",
        }
    }
}
