//! What PostgreSQL's errors mean here. They can be told to many, and hold nothing of what was written.

use std::error::Error as _;
use std::path::PathBuf;

use deadpool_postgres::{HookError, PoolError, TimeoutType};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::error::StoreError;

/// Why a statement or a connection failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// There is no database, or it is gone. Nothing was written.
    Gone(String),
    /// It did not answer in time. Nothing was written.
    Late(String),
    /// Others held a lock for too long.
    Busy,
    /// Its disk is full.
    Full,
    /// It is a replica, say.
    ReadOnly,
    /// Whether it was written is not known.
    Uncertain,
    /// Anything else.
    Failed(String),
}

impl Trouble {
    /// The error of a statement.
    pub(super) fn of(error: &Error) -> Self {
        let Some(cause) = error.as_db_error() else {
            let text = chain(error);
            let ours =
                ["error serializing", "error deserializing", "error encoding", "query returned", "expected"];
            let is_ours = ours.iter().any(|known| text.starts_with(known));
            return if is_ours { Trouble::Failed(text) } else { Trouble::Gone(text) };
        };
        // The detail is left out: it can quote a row.
        let text = format!("{} ({})", cause.message(), cause.code().code());
        match cause.code() {
            code if code.code().starts_with("08") => Trouble::Gone(text),
            &SqlState::ADMIN_SHUTDOWN
            | &SqlState::CRASH_SHUTDOWN
            | &SqlState::CANNOT_CONNECT_NOW
            | &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
            | &SqlState::TOO_MANY_CONNECTIONS => Trouble::Gone(text),
            &SqlState::QUERY_CANCELED => Trouble::Late(text),
            &SqlState::LOCK_NOT_AVAILABLE | &SqlState::T_R_DEADLOCK_DETECTED => Trouble::Busy,
            &SqlState::DISK_FULL => Trouble::Full,
            &SqlState::READ_ONLY_SQL_TRANSACTION => Trouble::ReadOnly,
            _ => Trouble::Failed(text),
        }
    }

    /// The error of a pool.
    pub(super) fn of_pool(error: &PoolError) -> Self {
        match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                Trouble::of(error)
            }
            PoolError::Timeout(TimeoutType::Wait) => Trouble::Late("no connection became free".to_owned()),
            PoolError::Timeout(_) => Trouble::Late("no connection could be made".to_owned()),
            other => Trouble::Gone(other.to_string()),
        }
    }

    /// Whether a new connection may help.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Trouble::Gone(_))
    }

    /// The error in this crate's words.
    pub(super) fn told(&self, server: &str) -> StoreError {
        let server = server.to_owned();
        match self {
            Trouble::Gone(what) | Trouble::Late(what) => {
                StoreError::Unreachable { server, what: what.clone() }
            }
            Trouble::Busy => StoreError::Busy { path: PathBuf::from(server) },
            Trouble::Full => StoreError::Full { path: PathBuf::from(server) },
            Trouble::ReadOnly => StoreError::ReadOnly { path: PathBuf::from(server) },
            Trouble::Uncertain => StoreError::Uncertain { server },
            Trouble::Failed(what) => StoreError::Database { server, what: what.clone() },
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::of(&error)
    }
}

/// An error and its causes.
fn chain(error: &Error) -> String {
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
