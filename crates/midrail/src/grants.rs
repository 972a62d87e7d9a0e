//! The sandboxes that decisions granted: each is used once, for the command that it was granted for.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use midrail_core::{SandboxGrant, command_digest, sandbox_key};
use midrail_store::{Commit, Store, StoreError};

use crate::admin::AdminEvent;

/// How long a granted sandbox can be started: a person may first have to answer the host's own question.
const VALID: Duration = Duration::from_secs(24 * 60 * 60);

/// Why a granted sandbox cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// There is no such grant any more.
    #[error("the sandbox `{0}` was used already, or was never granted")]
    Unknown(String),
    /// It was granted for another command.
    #[error("the sandbox `{0}` was granted for another command")]
    OtherCommand(String),
    /// It was granted too long ago.
    #[error("the sandbox `{0}` was granted more than a day ago")]
    Expired(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Takes the grant of a sandbox for a command, and records that it is used. It can be taken once.
pub fn take_grant<'w>(
    store: &dyn Store,
    now: Timestamp,
    id: &str,
    command: impl IntoIterator<Item = &'w [u8]>,
) -> Result<SandboxGrant, GrantError> {
    let key = sandbox_key(id);
    let slice = store.load("", &[&key])?.pop();
    let unknown = || GrantError::Unknown(id.to_owned());
    let slice = slice.ok_or_else(unknown)?;
    let grant: SandboxGrant =
        slice.value.and_then(|value| serde_json::from_value(value).ok()).ok_or_else(unknown)?;
    if grant.command != command_digest(command) {
        return Err(GrantError::OtherCommand(id.to_owned()));
    }
    let granted: Option<Timestamp> = grant.time.parse().ok();
    let age = granted.map(|granted| now.duration_since(granted));
    if age.is_none_or(|age| age > SignedDuration::try_from(VALID).unwrap_or(SignedDuration::MAX)) {
        return Err(GrantError::Expired(id.to_owned()));
    }
    let event = AdminEvent::new("sandbox_started").with("sandbox", id).with("of", grant.session.as_str());
    let record = event.into_record(now, &store.fingerprint_key()?, &"".into());
    let mut commit = Commit { read: vec![(key.clone(), slice.version)], ..Commit::owned(record) };
    commit.changes.remove(key);
    match store.commit(&commit) {
        Err(StoreError::Conflict { .. }) => Err(unknown()),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(grant),
    }
}
