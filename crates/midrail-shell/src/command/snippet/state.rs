//! What is found in code of another language, and the state of its analysis.

use std::collections::BTreeMap;

use super::value::Value;
use crate::command::invocation::Arg;
use crate::tables::Effect;

/// No more findings of one sort than this.
pub(super) const MOST: usize = 256;

/// What is known while a snippet is followed.
#[derive(Default)]
pub(super) struct SnippetState {
    pub(super) snippet: Snippet,
    /// How it is started.
    pub(super) start: Start,
    /// Variables, each with the size of its value.
    pub(super) variables: BTreeMap<String, (Value, usize)>,
    /// The folder that it changed to.
    pub(super) folder: Option<Arg>,
    /// The folder that an object with settings says: `{cwd: x}`.
    pub(super) object_folder: Option<Arg>,
    /// Parameters of its own functions, each with the function and its place there.
    pub(super) parameters: BTreeMap<String, (String, usize)>,
    /// What its own functions do with their arguments.
    pub(super) handlers: BTreeMap<String, Vec<(usize, Effect)>>,
    /// Modules whose names are all imported: `from os import *`.
    pub(super) stars: Vec<String>,
    pub(super) is_connected: bool,
    pub(super) hands_over: bool,
    pub(super) starts_shell: bool,
    pub(super) has_fetched: bool,
    pub(super) runs_unknown_code: bool,
    /// Folders whose content it hands to a function of its own, one after the other.
    pub(super) searched: Vec<String>,
    /// It goes through all that lies below some folder.
    pub(super) walks: bool,
    /// Its database is in memory or temporary.
    pub(super) is_database_temporary: bool,
    /// How many loops inside of expressions can still be read ahead of what they repeat.
    pub(super) loops: usize,
    /// How many bytes may still be copied from variables: doubling a text again and again must end.
    pub(super) budget: usize,
    pub(super) depth: usize,
}

/// A file or folder that a snippet removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Removal {
    /// The path, with `${unknown}` for parts that are not known; `None` if nothing of it is known.
    pub(crate) path: Option<String>,
    /// A folder goes with all that lies in it.
    pub(crate) is_recursive: bool,
}

/// What a snippet of code does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Snippet {
    /// Shell command lines that it starts. Lists of arguments are joined with quotes; parts that the snippet does not
    /// show are written as `${unknown}`.
    pub(crate) commands: Vec<String>,
    /// What it removes.
    pub(crate) removes: Vec<Removal>,
    /// What it moves, and where to.
    pub(crate) moves: Vec<(String, String)>,
    /// Files that it reads.
    pub(crate) reads: Vec<String>,
    /// Files that it creates or changes.
    pub(crate) writes: Vec<String>,
    /// Files among those that it writes whose content it replaces or cuts off.
    pub(crate) overwrites: Vec<String>,
    /// Statements of SQL that it hands to a database.
    pub(crate) statements: Vec<String>,
    /// It sends all of its environment, with the secrets in it, to a host.
    pub(crate) sends_environment: bool,
    /// Hosts that it talks to.
    pub(crate) hosts: Vec<String>,
    /// It connects to a host and hands the connection to a shell.
    pub(crate) is_reverse_shell: bool,
    /// It starts itself over and over.
    pub(crate) is_fork_bomb: bool,
    /// It runs code that it fetches from elsewhere.
    pub(crate) runs_downloaded_code: bool,
    /// It runs code that it does not contain.
    pub(crate) runs_unknown_code: bool,
    /// It starts a command that it does not contain.
    pub(crate) starts_unknown: bool,
    /// It writes a file that it does not name.
    pub(crate) writes_unknown: bool,
    /// It runs code or a command that it hides or builds from parts that are not known, and that looks destructive.
    pub(crate) is_opaque: bool,
}

/// How a snippet is started.
#[derive(Debug, Clone, Default)]
pub(crate) struct Start {
    /// The file that contains it, relative to the folder that it runs in.
    pub(crate) script: Option<String>,
    /// The words that follow it.
    pub(crate) args: Option<Vec<Arg>>,
    /// What it reads.
    pub(crate) input: Option<String>,
    /// What it reads comes from the network.
    pub(crate) is_fed_by_network: bool,
    /// What it reads holds credentials.
    pub(crate) is_fed_secret: bool,
}
