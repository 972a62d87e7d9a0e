//! What SQLite's errors mean here.

use std::path::Path;

use rusqlite::{Error, ErrorCode, ffi};

use crate::error::StoreError;

/// The error in this crate's words.
pub(super) fn failure(path: &Path, source: Error) -> StoreError {
    let Some(cause) = source.sqlite_error() else {
        return StoreError::Sqlite { path: path.to_owned(), source };
    };
    let path = path.to_owned();
    match (cause.code, cause.extended_code) {
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed, _) => {
            StoreError::Busy { path }
        }
        // The index of the write-ahead log could not be made larger.
        (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE) => StoreError::Full { path },
        (ErrorCode::ReadOnly, _) => StoreError::ReadOnly { path },
        (ErrorCode::NotADatabase, _) => {
            StoreError::Corrupt { path, what: "it is no SQLite database".to_owned() }
        }
        (ErrorCode::DatabaseCorrupt, _) => {
            StoreError::Corrupt { path, what: "the SQLite database is damaged".to_owned() }
        }
        _ => StoreError::Sqlite { path, source },
    }
}

/// Whether waiting may help.
pub(super) fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::FileLockingProtocolFailed))
}
