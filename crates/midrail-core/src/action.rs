//! What an event means in terms of files, commands and tools: the value only. `midrail-detect` derives it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::severity::{Confidence, Severity};

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
    pub fn as_str(self) -> &'static str {
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
    /// The files among them that are read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// The files among them that are created, changed or removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// The files among those whose whole content its command line replaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overwrites: Vec<String>,
    /// The places among those that it writes that are folders, or become some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// The files among those that it reads or writes of which its command line only uses the name, or which it hands to a
    /// program as a key: their content is neither shown nor changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
    /// Folders and patterns of files that it changes or removes without naming them: by what `find` finds there, by what
    /// `xargs` is handed, by what is unpacked into them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<String>,
    /// The hosts that it talks to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The programs that its command line starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// Files that it runs as programs, and whose content the command line does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<String>,
    /// Files that it runs on the way, where they are there: the hooks of git.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
    /// Files that it reads on the way to something that runs what it reads, or takes its targets from there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feeds: Vec<String>,
    /// Files that it writes with what comes from the network. One that ends with `/` is a folder, with all that is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fetched: Vec<String>,
    /// Files that the agent knows from then on: it is shown all of them, or says what stands in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<String>,
    /// Files that get what stands in others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<FileCopy>,
    /// What it might destroy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dangers: Vec<Danger>,
    /// What it asks of git and of the programs of forges, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repository: Vec<RepositoryCall>,
    /// Its command line is longer, deeper or more work than is looked into: what it does is not all here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}

/// A file that gets what stands in another one, under another name or in another form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileCopy {
    /// What is copied, moved or unpacked.
    pub from: String,
    /// The file that it becomes. One that ends with `/` is a folder, with all that is in it.
    pub to: String,
}

/// A call of git, or of the program of a forge (`gh`, `glab`), with its words resolved as far as the line tells.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryCall {
    /// `git`, `gh` or `glab`.
    pub program: String,
    /// Its arguments. What is not known stands as it was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Which of them are not wholly known, by their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<usize>,
    /// Others follow that the line does not tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_more_args: bool,
    /// The folder that it runs in, seen from where the action starts. `None`: not known, or on another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// Something in a command line, a script or a statement that might destroy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Danger {
    /// The rule that it falls under: `rm-recursive`.
    pub rule: String,
    /// How bad it would be.
    pub severity: Severity,
    /// How sure the detector is.
    pub confidence: Confidence,
    /// What it does, in words: `rm deletes ~ and everything below it`.
    pub reason: String,
    /// What to do instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub safer: String,
    /// The command as it would run, with quotes and variables resolved: `rm -rf ~`.
    pub command: String,
    /// The files that it would hit, relative to the folder that the whole command line starts in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Harmless where every target lies in the sandbox or in a temporary folder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub harmless_inside: bool,
    /// By the spelling of its targets, all of them lie there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_inside: bool,
    /// First byte in the command line.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}
