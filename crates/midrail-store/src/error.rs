//! The errors of a store: where it failed, why, and what to do next.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use midrail_core::AuditRef;
use serde::Serialize;

/// An error of a store.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Something that the decision was based on has changed. Nothing was written: load and decide again.
    #[error("{what} changed in the meantime, and nothing was written")]
    Conflict {
        /// The slice or approval.
        what: String,
    },
    /// The request contradicts what is stored, and always will. Nothing was written.
    #[error("{what}, and nothing was written")]
    Refused {
        /// The contradiction.
        what: String,
    },
    /// Other processes held the store for longer than the timeout.
    #[error("the store `{path}` was locked by other processes for too long")]
    Busy {
        /// The store.
        path: PathBuf,
    },
    /// The thread that wrote this commit together with others failed. Nothing was written.
    #[error("the thread that wrote the commit failed, and nothing was written")]
    Abandoned,
    /// There is no space left.
    #[error("no space left for `{path}`")]
    Full {
        /// The store or a file next to it.
        path: PathBuf,
    },
    /// The store cannot be written.
    #[error("`{path}` is read-only")]
    ReadOnly {
        /// The store or a file next to it.
        path: PathBuf,
    },
    /// The file is damaged, or is not a store.
    #[error("`{path}` cannot be used: {what}")]
    Corrupt {
        /// The store or a file next to it.
        path: PathBuf,
        /// The problem.
        what: String,
    },
    /// The store is not in the state in which it was last written, and no administrator has acknowledged that.
    #[error("the store `{path}` was damaged or replaced: {what}")]
    Damaged {
        /// The store.
        path: PathBuf,
        /// The difference.
        what: String,
    },
    /// The file does not exist.
    #[error("`{path}` does not exist")]
    NotFound {
        /// The store or a file next to it.
        path: PathBuf,
    },
    /// A newer program has written the store.
    #[error("the store `{path}` has version {found}, and this program supports versions up to {known}")]
    Newer {
        /// The store.
        path: PathBuf,
        /// The version of the store.
        found: u32,
        /// The highest supported version.
        known: u32,
    },
    /// An older program has written the store, and a store that is opened read-only cannot be upgraded.
    #[error("the store `{path}` has version {found}, and this program can only read version {known}")]
    Older {
        /// The store.
        path: PathBuf,
        /// The version of the store.
        found: u32,
        /// The required version.
        known: u32,
    },
    /// A file could not be accessed.
    #[error("could not access `{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Arc<io::Error>,
    },
    /// SQLite failed in a way that has no variant of its own.
    #[cfg(feature = "sqlite")]
    #[error("the store `{path}` failed: {source}")]
    Sqlite {
        /// The store.
        path: PathBuf,
        /// The cause.
        source: Arc<rusqlite::Error>,
    },
    /// The database cannot be reached, or does not answer in time.
    #[error("the database `{server}` cannot be reached: {what}")]
    Unreachable {
        /// The database, without a password.
        server: String,
        /// The cause.
        what: String,
    },
    /// The connection was lost during a commit, and the outcome could not be determined afterwards.
    #[error(
        "the connection to `{server}` was lost during a commit, and it is unknown whether it was written"
    )]
    Uncertain {
        /// The database, without a password.
        server: String,
    },
    /// A database failed in a way that has no variant of its own.
    #[error("the database `{server}` failed: {what}")]
    Database {
        /// The database, without a password.
        server: String,
        /// The cause.
        what: String,
    },
    /// A stored value could not be decoded.
    #[error("{what} cannot be read: {source}")]
    Decode {
        /// The record, slice or approval.
        what: String,
        /// The cause.
        source: Arc<serde_json::Error>,
    },
    /// A value could not be encoded as JSON.
    #[error("{what} cannot be written as JSON: {source}")]
    Encode {
        /// The record, slice or approval.
        what: String,
        /// The cause.
        source: Arc<serde_json::Error>,
    },
    /// An export could not be written.
    #[error("the export could not be written: {0}")]
    Export(#[source] Arc<io::Error>),
    /// The system returned no random bytes for a key.
    #[error("the system returned no random bytes for a key: {0}")]
    Random(String),
}

/// Why a store is not in the state in which it was last written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreDamage {
    /// The difference, as a sentence.
    pub what: String,
    /// The last record that was acknowledged, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<AuditRef>,
    /// The last record of the store. `None`: it has no records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<AuditRef>,
}

impl fmt::Display for StoreDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// The result of a store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

impl StoreError {
    /// Whether to load and decide again.
    pub fn is_conflict(&self) -> bool {
        matches!(self, StoreError::Conflict { .. })
    }

    /// What to do next.
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            StoreError::Conflict { .. } => "load the session again and decide again",
            StoreError::Busy { .. } => "another process holds the store: end a stuck process, or try again",
            StoreError::Abandoned => "try again",
            StoreError::Full { .. } => "free some space, then try again: no partial data was written",
            StoreError::ReadOnly { .. } => "use a store in a writable folder, with `--store FILE`",
            StoreError::Corrupt { .. } => {
                "restore a backup, or move the store and the files next to it away to start with a new one"
            }
            StoreError::Damaged { .. } => {
                "a person must find out what happened (`midrail audit verify`), restore the store or accept the loss \
                 with `midrail audit acknowledge`"
            }
            StoreError::NotFound { .. } => "check the path: the first decision creates the store",
            StoreError::Newer { .. } => "update midrail, or use another store with `--store FILE`",
            StoreError::Older { .. } => "open it once for writing to upgrade it: any decision does that",
            StoreError::Io { .. } => "check the path and its permissions",
            StoreError::Decode { .. } => "run `midrail audit verify` to find what was changed",
            #[cfg(feature = "sqlite")]
            StoreError::Sqlite { .. } => {
                "check the disk and the folder: SQLite creates `-wal` and `-shm` files next to the store"
            }
            StoreError::Unreachable { .. } => {
                "check that the database runs and is reachable: midrail reconnects automatically"
            }
            StoreError::Uncertain { .. } => {
                "treat the action as not decided: the log may contain a decision that was never returned"
            }
            StoreError::Database { .. } => {
                "check the URL and the permissions of the role: it needs a schema `midrail` of its own"
            }
            StoreError::Refused { .. }
            | StoreError::Encode { .. }
            | StoreError::Export(_)
            | StoreError::Random(_) => return None,
        })
    }

    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn io(path: &std::path::Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => StoreError::NotFound { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path },
            io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path },
            _ => StoreError::Io { path, source: Arc::new(source) },
        }
    }

    pub(crate) fn export(source: io::Error) -> Self {
        StoreError::Export(Arc::new(source))
    }
}
