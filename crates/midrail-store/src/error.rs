//! What can go wrong with a store, in words that say where and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Something that the decision was made from has changed. Nothing was written: load and decide again.
    #[error("{what} changed in the meantime, and nothing was written")]
    Conflict {
        /// The slice or approval.
        what: String,
    },
    /// What was asked for goes against what is kept, and always will. Nothing was written.
    #[error("{what}, and nothing was written")]
    Refused {
        /// What is in the way.
        what: String,
    },
    /// Other processes held the store for longer than the time-out.
    #[error("the store `{path}` was locked by other processes for too long")]
    Busy {
        /// The store.
        path: PathBuf,
    },
    /// The thread that was writing this together with other commits broke off. Nothing was written.
    #[error("the thread that was writing to the store broke off, and nothing was written")]
    Abandoned,
    /// There is no space left.
    #[error("no space left for `{path}`")]
    Full {
        /// The store or the file beside it.
        path: PathBuf,
    },
    /// The store cannot be written.
    #[error("`{path}` is read-only")]
    ReadOnly {
        /// The store or the file beside it.
        path: PathBuf,
    },
    /// The file is damaged, or is something else.
    #[error("`{path}` cannot be used: {what}")]
    Corrupt {
        /// The store or the file beside it.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// There is no such file.
    #[error("there is no `{path}`")]
    NotFound {
        /// The store or the file beside it.
        path: PathBuf,
    },
    /// A newer program has written the store.
    #[error("the store `{path}` has version {found}, and this program knows versions up to {known}")]
    Newer {
        /// The store.
        path: PathBuf,
        /// The version of the store.
        found: u32,
        /// The highest version that is known here.
        known: u32,
    },
    /// An older program has written the store, and it is opened read-only, so it cannot be brought up to date.
    #[error("the store `{path}` has version {found}, and {known} is needed to read it")]
    Older {
        /// The store.
        path: PathBuf,
        /// The version of the store.
        found: u32,
        /// The version that is needed.
        known: u32,
    },
    /// A file could not be reached.
    #[error("could not reach `{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// SQLite failed in a way that has no name of its own here.
    #[error("the store `{path}` failed: {source}")]
    Sqlite {
        /// The store.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
    /// The database cannot be reached, or does not answer in time.
    #[error("the database `{server}` cannot be reached: {what}")]
    Unreachable {
        /// The database, without a password.
        server: String,
        /// The cause.
        what: String,
    },
    /// The database went away in the middle of a commit, and could not be asked afterwards.
    #[error(
        "the database `{server}` went away while a record was written, and it is not known whether it was"
    )]
    Uncertain {
        /// The database, without a password.
        server: String,
    },
    /// A database failed in a way that has no name of its own here.
    #[error("the database `{server}` failed: {what}")]
    Database {
        /// The database, without a password.
        server: String,
        /// The cause.
        what: String,
    },
    /// A stored value could not be read back.
    #[error("{what} cannot be read: {source}")]
    Decode {
        /// The record, slice or approval.
        what: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// A value could not be turned into JSON.
    #[error("{what} cannot be written as JSON: {source}")]
    Encode {
        /// The record, slice or approval.
        what: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// An export could not be written out.
    #[error("the export could not be written: {0}")]
    Export(#[source] io::Error),
    /// The system gave no random bytes for a key.
    #[error("the system gave no random bytes for a key: {0}")]
    Random(String),
}

/// The result of a store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

impl StoreError {
    /// Whether to load and decide again.
    pub fn is_conflict(&self) -> bool {
        matches!(self, StoreError::Conflict { .. })
    }

    /// What to do about it.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            StoreError::Conflict { .. } => Some("load the session again and decide again"),
            StoreError::Busy { .. } => Some("another process holds the store: end a stuck one, or try again"),
            StoreError::Abandoned => Some("try again"),
            StoreError::Full { .. } => Some("free some space, then try again: nothing was half written"),
            StoreError::ReadOnly { .. } => {
                Some("name a store in a folder that can be written, with `--store FILE`")
            }
            StoreError::Corrupt { .. } => Some("move the file away to start anew, or put back a copy of it"),
            StoreError::NotFound { .. } => Some("check the path: a store is made by the first decision"),
            StoreError::Newer { .. } => Some("update midrail, or name another store with `--store FILE`"),
            StoreError::Older { .. } => {
                Some("open it once for writing (any decision does) to bring it up to date")
            }
            StoreError::Io { .. } => Some("check that the path is right and that you may use it"),
            StoreError::Decode { .. } => Some("run `midrail audit verify` to see what was changed"),
            StoreError::Sqlite { .. } => {
                Some("check the disk and the folder: SQLite keeps `-wal` and `-shm` files beside the store")
            }
            StoreError::Unreachable { .. } => {
                Some("check that the database runs and can be reached from here: it is tried again by itself")
            }
            StoreError::Uncertain { .. } => {
                Some("take it as not decided: the log may hold a record of a decision that nobody was told")
            }
            StoreError::Database { .. } => Some(
                "check the URL, and what the role may do in the database: it needs a schema `midrail` of its own",
            ),
            StoreError::Refused { .. }
            | StoreError::Encode { .. }
            | StoreError::Export(_)
            | StoreError::Random(_) => None,
        }
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => StoreError::NotFound { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path },
            io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path },
            _ => StoreError::Io { path, source },
        }
    }
}
