//! The sandboxes that decisions granted: each is used once, for the command that it was granted for. What it refused is stored for the
//! event about the result of the call.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use midrail_core::{
    Event, EventKind, SANDBOXES, SHARED_PREFIX, SandboxGrant, SandboxOutcome, StoredOutcome, command_digest,
    sandbox_key, sandbox_outcome_key, started_sandbox,
};
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
    if granted.is_none_or(|granted| is_old(granted, now)) {
        return Err(GrantError::Expired(id.to_owned()));
    }
    let event = AdminEvent::new("sandbox_started").with("sandbox", id).with("of", grant.session.as_str());
    let record = event.into_record(now, &store.fingerprint_key()?, &"".into());
    let mut commit = Commit { read: vec![(key.clone(), slice.version)], ..Commit::owned(record) };
    commit.changes.remove(key);
    remove_old(store, now, &mut commit)?;
    match store.commit(&commit) {
        Err(StoreError::Conflict { .. }) => Err(unknown()),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(grant),
    }
}

/// Stores what the sandbox of a session's call refused and restored.
pub fn record_outcome(
    store: &dyn Store,
    now: Timestamp,
    id: &str,
    session: &str,
    outcome: SandboxOutcome,
) -> Result<(), GrantError> {
    let event = AdminEvent::new("sandbox_ended").with("sandbox", id).with("of", session);
    let lists = [("refused", &outcome.refused), ("changed", &outcome.changed), ("lost", &outcome.lost)];
    let event = lists.into_iter().fold(event, |event, (name, list)| event.with(name, list.join(", ")));
    let record = event.into_record(now, &store.fingerprint_key()?, &"".into());
    let mut commit = Commit::owned(record);
    let stored = StoredOutcome { session: session.to_owned(), time: now.to_string(), outcome };
    // It has only texts, which are always JSON.
    commit.changes.set(sandbox_outcome_key(id), serde_json::to_value(&stored).unwrap_or_default());
    store.commit(&commit)?;
    Ok(())
}

/// Adds what the sandbox of a call refused and restored to the event about its result.
pub(crate) fn add_outcome(store: &dyn Store, event: &mut Event) -> Result<(), StoreError> {
    let tool = event.tool.as_ref().filter(|_| event.kind == EventKind::AfterTool);
    let Some(key) = tool.and_then(|tool| started_sandbox(&tool.args)).map(sandbox_outcome_key) else {
        return Ok(());
    };
    let value = store.load("", &[&key])?.pop().and_then(|slice| slice.value);
    let stored: Option<StoredOutcome> = value.and_then(|value| serde_json::from_value(value).ok());
    if let Some(stored) = stored.filter(|stored| event.session.as_deref() == Some(&*stored.session)) {
        event.result.get_or_insert_default().sandbox = Some(stored.outcome);
    }
    Ok(())
}

/// Removes grants that were never used, and outcomes, once they are old.
fn remove_old(store: &dyn Store, now: Timestamp, commit: &mut Commit) -> Result<(), StoreError> {
    let prefix = [SHARED_PREFIX, SANDBOXES].concat();
    let time = |value: &serde_json::Value| value.get("time")?.as_str()?.parse::<Timestamp>().ok();
    let slices = store.load_prefix("", &prefix)?;
    let old = slices.into_iter().filter(|(_, value)| time(value).is_none_or(|time| is_old(time, now)));
    for (key, _) in old.take(MAX_REMOVED) {
        commit.changes.remove(key);
    }
    Ok(())
}

/// The old slices that are removed with one use.
const MAX_REMOVED: usize = 64;

fn is_old(time: Timestamp, now: Timestamp) -> bool {
    now.duration_since(time) > SignedDuration::try_from(VALID).unwrap_or(SignedDuration::MAX)
}
