//! The slices that the engine itself keeps in every session, and the name of an event's session.

use std::path::PathBuf;

use jiff::Timestamp;
use midrail_core::{Event, RUN_START};
use midrail_store::{Result, Slice, Slices, Store};
use serde_json::Value;

/// The folder of a session: that of its first event. An agent can change its working directory, but not the folder to
/// which its guardrails apply.
pub(crate) const ROOT: &str = "root";

/// The policy that decided the last event of a session, and the files that it was read from.
pub(crate) const LAST_POLICY: &str = "root/policy";

/// The session of events that name neither a session nor a folder.
pub(crate) const DEFAULT_SESSION: &str = "default";

/// The folder of an event's session. `None`: the session has not started.
pub fn session_folder(store: &dyn Store, event: &Event) -> Result<Option<PathBuf>> {
    let Some(session) = &event.session else { return Ok(None) };
    Ok(text(store, session, ROOT)?.map(PathBuf::from))
}

/// When an event's session started. `None`: it has no deadline, or has not started.
pub(crate) fn session_start_time(store: &dyn Store, event: &Event) -> Result<Option<Timestamp>> {
    Ok(text(store, &session_id(event), RUN_START)?.and_then(|text| text.parse().ok()))
}

/// The session of an event. Events without a session share one for each folder.
pub(crate) fn session_id(event: &Event) -> String {
    match (&event.session, &event.cwd) {
        (Some(session), _) => session.clone(),
        (None, Some(cwd)) => format!("{DEFAULT_SESSION}:{cwd}"),
        (None, None) => DEFAULT_SESSION.to_owned(),
    }
}

/// One slice of a session.
pub(crate) fn load_slice<S: Slices + ?Sized>(store: &S, session: &str, key: &str) -> Result<Slice> {
    Ok(store.load(session, &[key])?.into_iter().next().unwrap_or_default())
}

fn text(store: &dyn Store, session: &str, key: &str) -> Result<Option<String>> {
    let slice = load_slice(store, session, key)?;
    Ok(slice.value.as_ref().and_then(Value::as_str).map(str::to_owned))
}
