//! What an event means in terms of files, commands and tools: the value only. `midrail-detect` derives it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of thing that an action does.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ActionType {
    /// Reads files.
    FileRead,
    /// Creates, changes or removes files.
    FileWrite,
    /// Runs a command.
    Command,
    /// Talks to the outside.
    Network,
    /// Anything else.
    #[default]
    Other,
}

impl ActionType {
    /// The word in expressions.
    pub fn word(self) -> &'static str {
        match self {
            ActionType::FileRead => "file_read",
            ActionType::FileWrite => "file_write",
            ActionType::Command => "command",
            ActionType::Network => "network",
            ActionType::Other => "other",
        }
    }
}

/// What an event does, in terms that hold for every host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Action {
    /// The kind of thing it does.
    #[serde(rename = "type")]
    pub kind: ActionType,
    /// The files it touches, as the caller spells them. `None`: it touches files, but which is not known.
    pub target_files: Option<Vec<String>>,
    /// The command line, where it runs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}
