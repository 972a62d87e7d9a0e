//! A call of a script's hook, and what the script may see.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::Value;

use crate::error::Available;
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
    fn read_file(&self, path: &str) -> Available<String> {
        Err(format!("there is no file `{path}` in a dry run").into())
    }
    /// The checksum of a file, by a path as the script or as the agent has it. `None`: there is none.
    fn checksum(&self, _path: &str, _is_agents: bool) -> Available<Option<String>> {
        Ok(None)
    }
    /// Runs a command and waits for it, no longer than this and no longer than until `stop` is set. It is called on a
    /// thread of its own.
    fn exec(&self, _command: &str, _within: Duration, _stop: &AtomicBool) -> Available<Exec> {
        Ok(Exec::default())
    }
    /// The one spelling of a file's path: the key of the snapshot.
    fn place(&self, path: &str) -> String {
        path.to_owned()
    }
    /// The checksum that a file had when it was read, by place. `None`: it was not read.
    fn read_before(&self, _place: &str) -> Available<Option<String>> {
        Ok(None)
    }
    /// The checksums of all files that were read, by place.
    fn all_read(&self) -> Available<BTreeMap<String, String>> {
        Ok(BTreeMap::new())
    }
    /// The conversation so far. Requested only when a script reads it.
    fn history(&self) -> Available<Vec<Value>> {
        Ok(Vec::new())
    }
    /// The calls of the prompt so far and the feedback. Requested only when a script reads it.
    fn feedback(&self) -> Available<Value> {
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
        ScriptError::new(&label(&self.path), problem)
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

/// A script that cannot be loaded, or a call of it that did not end with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptError {
    /// What is wrong.
    pub(crate) message: String,
    /// The file as people know it: the script's folder and what is in it.
    pub(crate) file: String,
    /// Line and column in it, where they are known.
    pub(crate) at: Option<(u32, u32)>,
    /// How the script got there, one line a function. For authors, not for agents.
    pub(crate) stack: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column)) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ScriptError {}

impl ScriptError {
    /// The message where memory ran out.
    pub(super) const OUT_OF_MEMORY: &str = "InternalError: out of memory";

    /// The message where nothing was thrown, as it is where memory ran out so far that no error could be made.
    pub(super) const THREW_NULL: &str = "it threw null, or ran out of memory";

    /// Whether memory ran out, or may have.
    pub(super) fn is_out_of_memory(&self) -> bool {
        self.message == Self::OUT_OF_MEMORY || self.message == Self::THREW_NULL
    }

    /// An error of a script as a whole.
    pub(super) fn new(file: &str, message: impl Into<String>) -> Self {
        ScriptError { message: message.into(), file: file.to_owned(), at: None, stack: String::new() }
    }

    /// An error that was thrown, with the place in the script's own files where that happened.
    pub(super) fn thrown(main: &str, folder: &str, message: &str, stack: &str) -> Self {
        let own: Vec<(Frame<'_>, &str)> =
            stack.lines().filter_map(|line| Some((frame(line, folder)?, line.trim()))).collect();
        let mut error = ScriptError::new(main, message);
        if let Some((frame, _)) = own.first() {
            error.file = frame.file.to_owned();
            error.at = Some((frame.line, frame.column));
        }
        error.stack = own.iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n");
        error
    }
}

struct Frame<'s> {
    file: &'s str,
    line: u32,
    column: u32,
}

/// One line of a stack, `    at input (.midrail/guardrails.js:3:11)`, if it is in the script's folder.
fn frame<'s>(line: &'s str, folder: &str) -> Option<Frame<'s>> {
    let place = line.trim().strip_prefix("at ")?;
    let place = place.rsplit_once('(').map_or(place, |(_, place)| place).trim_end_matches(')');
    let (rest, column) = place.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    let inside = file.strip_prefix(folder)?.strip_prefix('/')?;
    (!inside.is_empty()).then_some(Frame { file, line: line.parse().ok()?, column: column.parse().ok()? })
}
