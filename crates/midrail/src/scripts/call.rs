//! A call of a script's hook, and what the script may see.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::Value;

use super::error::ScriptError;
use crate::error::Unavailable;
use crate::probes::Exec;

/// Memory of a realm, unless the script's settings say otherwise.
pub(crate) const MEMORY: usize = 64 << 20;

/// Stack of a realm, unless the script's settings say otherwise.
pub(crate) const STACK: usize = 1 << 20;

/// Which function of a script is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hook {
    /// Before a tool call.
    Input,
    /// With its result.
    Output,
    /// None: the script is only loaded.
    Load,
}

impl Hook {
    /// The name that scripts give it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Hook::Input => "input",
            Hook::Output => "output",
            Hook::Load => "load",
        }
    }
}

/// What a script may see and do during one call. The implementation bounds the size of its answers. By default there are
/// no files, no history and no output, as in a dry run.
pub(crate) trait Host: Send + Sync {
    /// The text of a file.
    fn read_file(&self, path: &str) -> Result<String, Unavailable> {
        Err(format!("there is no file `{path}` in a dry run").into())
    }
    /// The checksum of a file, by a path as the script or as the agent has it. `None`: there is none.
    fn checksum(&self, _path: &str, _is_agents: bool) -> Result<Option<String>, Unavailable> {
        Ok(None)
    }
    /// Runs a command and waits for it, no longer than this and no longer than until `stop` is set. It is called on a
    /// thread of its own.
    fn exec(&self, _command: &str, _within: Duration, _stop: &AtomicBool) -> Result<Exec, Unavailable> {
        Ok(Exec::default())
    }
    /// The one spelling of a file's path: the key of the snapshot.
    fn place(&self, path: &str) -> String {
        path.to_owned()
    }
    /// The checksum that a file had when it was read, by place. `None`: it was not read.
    fn read_before(&self, _place: &str) -> Result<Option<String>, Unavailable> {
        Ok(None)
    }
    /// The checksums of all files that were read, by place.
    fn all_read(&self) -> Result<BTreeMap<String, String>, Unavailable> {
        Ok(BTreeMap::new())
    }
    /// The conversation so far. Requested only when a script reads it.
    fn history(&self) -> Result<Vec<Value>, Unavailable> {
        Ok(Vec::new())
    }
    /// The calls of the prompt so far and the feedback. Requested only when a script reads it.
    fn feedback(&self) -> Result<Value, Unavailable> {
        Ok(Value::Object(serde_json::Map::new()))
    }
    /// A line that the script printed.
    fn log(&self, _level: log::Level, _text: &str) {}
}

/// A call of a hook.
pub(crate) struct Call {
    pub(crate) hook: Hook,
    /// The tool's name.
    pub(crate) tool: String,
    pub(crate) args: Value,
    /// The tool's result, and whether it counts as an error.
    pub(crate) result: Option<(String, bool)>,
    pub(crate) working_directory: String,
    /// The script's variables as the session keeps them, as JSON. `None`: as the script begins.
    pub(crate) state: Option<String>,
    /// How long it may take, from now.
    pub(crate) within: Duration,
    pub(crate) host: Arc<dyn Host>,
}

/// A script.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    /// The guardrail that it is.
    pub(crate) id: Arc<str>,
    /// Its main file.
    pub(crate) path: PathBuf,
    /// Its text, where it is in no file.
    pub(crate) text: Option<String>,
    /// A digest of its text. A realm is made anew when it changes.
    pub(crate) digest: String,
    /// Bytes of memory that it may use.
    pub(crate) memory: usize,
    /// Bytes of stack that it may use.
    pub(crate) stack: usize,
}

impl Script {
    pub(super) fn failed(&self, problem: &str) -> ScriptError {
        ScriptError::of(&label(&self.path), problem)
    }
}

/// The name of a script for messages: its folder and its file.
pub(super) fn label(path: &Path) -> String {
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    match path.parent().and_then(Path::file_name) {
        Some(folder) => format!("{}/{file}", folder.to_string_lossy()),
        None => file.into_owned(),
    }
}
