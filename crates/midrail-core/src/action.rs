//! What an event does in terms of files, commands and tools. `midrail-shell` derives it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hit::{Confidence, Severity};

/// The kind of an action.
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
    /// Contacts another machine.
    Network,
    /// Anything else.
    #[default]
    Other,
}

impl ActionType {
    /// The name in expressions.
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

/// What an event does, in the same terms for every host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Action {
    /// The kind of action.
    #[serde(rename = "type")]
    pub kind: ActionType,
    /// The files it touches, as the caller spells them. `None`: it touches unknown files.
    pub target_files: Option<Vec<String>>,
    /// The command line, if it runs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The files among them that are read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// The files among them that are created, changed or removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// The files among them whose whole content its command line replaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overwrites: Vec<String>,
    /// The written places that are or become folders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// The files of which its command line only uses the name, or which it passes to a program as a key: their content is neither
    /// shown nor changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
    /// Folders and patterns of files that it changes or removes without naming them: files that `find` finds, that `xargs` receives,
    /// or that are unpacked into a folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<String>,
    /// The hosts that it contacts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// It may contact further hosts, which are not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_unknown_hosts: bool,
    /// What its commands and its code send to and receive from other machines, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<NetworkUse>,
    /// The programs that its command line starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// It may start further programs, which are not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_unknown_programs: bool,
    /// Files that it runs as programs, and whose content is not in the command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<String>,
    /// Files that it also runs if they exist: git hooks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
    /// Files whose content a program runs or takes its targets from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feeds: Vec<String>,
    /// Files with a diff that it applies. Their content is not in the command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<String>,
    /// Files that it writes with content from the network. A path that ends with `/` is a folder with its content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fetched: Vec<String>,
    /// Files that the agent knows from then on: it sees their whole content, or supplies it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<String>,
    /// Files that receive the content of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<FileCopy>,
    /// Its potential damage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dangers: Vec<Danger>,
    /// Its commands, in order: each program that is started, with its arguments. A program that starts another one comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "repository")]
    pub commands: Vec<CommandCall>,
    /// There are more commands than listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_more_commands: bool,
    /// The variables that its command line sets, for itself or for one of its commands: `A` in `A=b make`, `export A=b`, `env A=b make`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<String>,
    /// Code that it runs and that its command line does not show, in the order of the line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<OpaqueCode>,
    /// Its command line is too long, deep or expensive to analyse completely.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}

impl Action {
    /// The names of all programs that it starts. `None`: it may start others.
    pub fn started_programs(&self) -> Option<BTreeSet<&str>> {
        if self.is_partial || self.has_more_commands || self.has_unknown_programs {
            return None;
        }
        let is_known = self.commands.iter().all(|call| !call.program.is_empty());
        is_known.then(|| self.known_programs())
    }

    /// Whether its command line shows all that it does: every program is known, and no other code runs.
    pub fn is_complete(&self) -> bool {
        self.opaque.is_empty() && self.started_programs().is_some()
    }

    /// The names of those of its programs that are known.
    pub fn known_programs(&self) -> BTreeSet<&str> {
        let paths = self.commands.iter().filter_map(|call| call.path.as_deref()?.rsplit('/').next());
        self.commands.iter().map(|call| call.program.as_str()).chain(paths).collect()
    }
}

/// A file that receives the content of another one, under another name or in another form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileCopy {
    /// The file that is copied, moved or unpacked.
    pub from: String,
    /// The file that it becomes. A path that ends with `/` is a folder with its content.
    pub to: String,
}

/// Code that a command line runs and does not show.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct OpaqueCode {
    /// Why it is not shown.
    pub kind: OpaqueKind,
    /// The program or file that is or runs this code: `make`, `wipe.sh`.
    pub what: String,
    /// First byte of its command in the command line.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// Why a command line does not show code that it runs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OpaqueKind {
    /// What runs depends on a value that is not known: `$BUILD`, `eval "$X"`.
    #[default]
    Dynamic,
    /// A program that Midrail does not know.
    Program,
    /// The code is in a file.
    Script,
    /// Code of another language, which is not followed completely.
    Code,
    /// A build tool runs code of the project: recipes, build scripts, tests, plugins.
    Project,
    /// A package manager downloads packages and runs their code.
    Install,
}

/// A command that sends data to another machine, or receives data from one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NetworkUse {
    /// Its program: `curl`.
    pub program: String,
    /// The URLs and hosts that it contacts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// It may contact further hosts, which are not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_unknown_addresses: bool,
    /// The name of the git remote that it pushes to. Empty: the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// It sends data: a request with a body, an upload, a push.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sends: bool,
    /// It shows or stores what another machine answers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub receives: bool,
}

/// A program that is started, with its arguments resolved as far as the line allows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CommandCall {
    /// Its name, without a folder: `git`. Empty: unknown.
    pub program: String,
    /// Its path as written, if it is called by one: `./scripts/deploy.sh`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its arguments. An unknown one is as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The indexes of arguments that are not completely known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<usize>,
    /// The indexes of arguments that may become several words, or none: `$X` and `$(…)` without quotes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<usize>,
    /// More arguments follow that the line does not contain.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_more_args: bool,
    /// The folder that it runs in, relative to where the action starts. `None`: unknown, or on another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The whole line succeeds only if this command runs and succeeds: not so for `a` in `a || b`, `a; b` and `a | b`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decides: bool,
    /// It only starts the command that follows and ends as it does: `timeout 5 make`, `bash -c make`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wraps: bool,
}

/// A destructive part of a command line, a script or a statement.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Danger {
    /// The rule that found it: `rm-recursive`.
    pub rule: String,
    /// The severity.
    pub severity: Severity,
    /// The confidence of the detector.
    pub confidence: Confidence,
    /// What it does, in words: `rm deletes ~ and everything below it`.
    pub reason: String,
    /// What to do instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub safer: String,
    /// The command as it would run, with quotes and variables resolved: `rm -rf ~`.
    pub command: String,
    /// The files that it would affect, relative to the folder that the whole command line starts in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// It is harmless if every target is in the sandbox or in a temporary folder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub harmless_inside: bool,
    /// It is harmless if the repository has every target as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub harmless_saved: bool,
    /// It is harmless if the agent created every target in this session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub harmless_own: bool,
    /// By their spelling, all of its targets are in the sandbox or in a temporary folder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_inside: bool,
    /// First byte in the command line.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The file and line of a script that contain it: `wipe.sh:3`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub origin: String,
}
