//! The conversion of PostgreSQL's errors. They can be cloned, and contain no data of rows.

use std::error::Error as _;
use std::path::PathBuf;

use deadpool_postgres::{HookError, PoolError, TimeoutType};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::error::StoreError;

/// Why a statement or a connection failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The database cannot be reached, or the connection was lost. Nothing was written.
    Lost(String),
    /// The database did not answer in time. Nothing was written.
    Timeout(String),
    /// Other processes held a lock for too long.
    Busy,
    /// The disk of the database is full.
    Full,
    /// The database is read-only, such as a replica.
    ReadOnly,
    /// It is unknown whether the commit was written.
    Uncertain,
    /// Any other error.
    Other(String),
}

impl Failure {
    /// Whether a new connection may help.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self, Failure::Lost(_))
    }

    pub(super) fn into_store_error(self, server: &str) -> StoreError {
        let server = server.to_owned();
        match self {
            Failure::Lost(what) | Failure::Timeout(what) => StoreError::Unreachable { server, what },
            Failure::Busy => StoreError::Busy { path: PathBuf::from(server) },
            Failure::Full => StoreError::Full { path: PathBuf::from(server) },
            Failure::ReadOnly => StoreError::ReadOnly { path: PathBuf::from(server) },
            Failure::Uncertain => StoreError::Uncertain { server },
            Failure::Other(what) => StoreError::Database { server, what },
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let Some(cause) = error.as_db_error() else {
            let text = with_causes(&error);
            let local =
                ["error serializing", "error deserializing", "error encoding", "query returned", "expected"];
            let is_local = local.iter().any(|known| text.starts_with(known));
            return if is_local { Failure::Other(text) } else { Failure::Lost(text) };
        };
        // The detail is omitted: it can contain a row.
        let text = format!("{} ({})", cause.message(), cause.code().code());
        match cause.code() {
            code if code.code().starts_with("08") => Failure::Lost(text),
            &SqlState::ADMIN_SHUTDOWN
            | &SqlState::CRASH_SHUTDOWN
            | &SqlState::CANNOT_CONNECT_NOW
            | &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
            | &SqlState::TOO_MANY_CONNECTIONS => Failure::Lost(text),
            &SqlState::QUERY_CANCELED => Failure::Timeout(text),
            &SqlState::LOCK_NOT_AVAILABLE | &SqlState::T_R_DEADLOCK_DETECTED => Failure::Busy,
            &SqlState::DISK_FULL => Failure::Full,
            &SqlState::READ_ONLY_SQL_TRANSACTION => Failure::ReadOnly,
            _ => Failure::Other(text),
        }
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => error.into(),
            PoolError::Timeout(TimeoutType::Wait) => Failure::Timeout("no connection became free".to_owned()),
            PoolError::Timeout(_) => Failure::Timeout("no connection could be opened".to_owned()),
            other => Failure::Lost(other.to_string()),
        }
    }
}

/// The text of an error and its causes.
fn with_causes(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = next.source();
    }
    text
}
