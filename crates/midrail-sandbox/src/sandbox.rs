//! What a sandbox permits, and how a command in it ended.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The first argument of a process of this program that is a part of a sandbox.
pub(crate) const STAGE: &str = "--stage";

/// What a command may do. All paths are absolute; those that do not exist are skipped, except in `protected`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sandbox {
    /// The folder in which the command starts.
    pub dir: PathBuf,
    /// The user's home. The command sees an empty one, with the folders below it that are listed here.
    pub home: PathBuf,
    /// Folders and files to read.
    pub read: Vec<PathBuf>,
    /// Folders and files to read and write.
    pub write: Vec<PathBuf>,
    /// Folders of which the command sees an empty one, which is removed after it. Without mounts, it has none.
    pub scratch: Vec<PathBuf>,
    /// Files and folders below `write` that must stay as they are. Those that do not exist must not appear.
    pub protected: Vec<PathBuf>,
    /// Files and folders that must not be read.
    pub hidden: Vec<PathBuf>,
    /// The network that the command reaches.
    pub network: Network,
    /// How much the command may use.
    pub limits: Limits,
    /// When processes end that the command leaves in the background.
    pub background: Background,
    /// Whether to remember what the command writes to standard error, which is a pipe then.
    pub keeps_errors: bool,
    /// Whether mounts may be used. Without them, Landlock and seccomp alone enforce the sandbox.
    pub mounts: bool,
}

/// The network that a command reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// None; with mounts, a loopback interface of its own.
    None,
    /// All that the machine reaches.
    All,
}

/// How much a command may use. `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Until the command ends; then it is killed.
    pub time: Option<Duration>,
    /// Processes and threads. The kernel does not count those of root.
    pub processes: Option<u64>,
    /// Bytes of memory of each process.
    pub memory: Option<u64>,
    /// Bytes of each file that it writes.
    pub file_size: Option<u64>,
}

/// When processes end that a command leaves in the background. They stay in the sandbox until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Background {
    /// When the command ends.
    End,
    /// When a process with this id ends.
    Until(u32),
}

/// A program with arguments, and its whole environment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Command {
    /// The program: a path, or a name to search in `PATH` of `env`.
    pub program: OsString,
    /// The arguments.
    pub args: Vec<OsString>,
    /// The environment.
    pub env: Vec<(OsString, OsString)>,
}

/// What enforces a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layers {
    /// Mounts and namespaces, with Landlock and seccomp inside.
    Full,
    /// Landlock and seccomp; protected files are restored after the command.
    Partial,
    /// A profile of macOS.
    Profile,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With an exit code.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// It could not be started.
    NotStarted {
        /// 127 if the program was not found, else 126.
        code: u8,
        /// The cause.
        why: String,
    },
    /// It was killed because its time was over.
    TimedOut,
    /// It was killed because the sandbox was asked to end.
    Interrupted,
}

impl Ending {
    /// How a process ended.
    #[cfg(unix)]
    pub(crate) fn from_status(status: std::process::ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        match status.code() {
            Some(code) => Ending::Exit(code),
            None => Ending::Signal(status.signal().unwrap_or_default()),
        }
    }
}

/// What happened in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// How the command ended.
    pub ending: Ending,
    /// What enforced the sandbox.
    pub layers: Layers,
    /// What a full sandbox would have and this one does not, and why.
    pub missing: Vec<String>,
    /// Protected files that the command changed and that were restored.
    pub restored: Vec<PathBuf>,
    /// Whether it tried to reach the network and could not.
    pub network_refused: bool,
    /// What it wrote to the empty home, relative to it, and is gone.
    pub lost: Vec<PathBuf>,
    /// What it wrote to standard error last, if that was to be remembered.
    pub errors: String,
}
