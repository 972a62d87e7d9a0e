//! The conversion of SQLite's errors.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Error, ErrorCode, ffi};

use crate::error::StoreError;

/// Converts an error of SQLite.
pub(super) fn failure(path: &Path, source: Error) -> StoreError {
    let path = path.to_owned();
    let Some(cause) = source.sqlite_error() else {
        return StoreError::Sqlite { path, source: Arc::new(source) };
    };
    match (cause.code, cause.extended_code) {
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed, _) => {
            StoreError::Busy { path }
        }
        // The index of the write-ahead log could not grow.
        (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE) => StoreError::Full { path },
        (ErrorCode::ReadOnly, _) => StoreError::ReadOnly { path },
        (ErrorCode::NotADatabase, _) => {
            StoreError::Corrupt { path, what: "it is not a SQLite database".to_owned() }
        }
        (ErrorCode::DatabaseCorrupt, _) => {
            StoreError::Corrupt { path, what: "the SQLite database is damaged".to_owned() }
        }
        _ => StoreError::Sqlite { path, source: Arc::new(source) },
    }
}

/// Whether another process holds a lock.
pub(super) fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::FileLockingProtocolFailed))
}
