//! The slices that the engine itself keeps in every session, and the name of an event's session.

use std::path::PathBuf;

use jiff::Timestamp;
use midrail_core::{Event, RUN_START};
use midrail_store::{Result, Slice, Slices, Store};
use serde::Deserialize;
use serde_json::Value;

/// The folder of a session: that of its first event. An agent can change its working directory, but not the folder to
/// which its guardrails apply.
pub(crate) const ROOT: &str = "root";

/// The policy that decided the last event of a session, and the files that it was read from.
pub(crate) const LAST_POLICY: &str = "root/policy";

/// The folder of a session whose files are on another machine: the `cwd` of its first event that has one.
pub(crate) const FOLDER: &str = "root/folder";

/// The ids of the agents that acted in a session, with an empty one for an agent without an id.
pub(crate) const AGENTS: &str = "root/agents";

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
pub fn session_id(event: &Event) -> String {
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

/// The most agents of a session that are remembered by name.
const MAX_AGENTS: usize = 64;

/// Stands for all agents beyond the most that are remembered. No agent has this name.
const MORE_AGENTS: &str = "…";

/// The slice of a session's agents with one more. `None`: it does not change.
pub(crate) fn with_agent(slice: Option<&Value>, agent: Option<&str>) -> Option<Value> {
    let mut agents: Vec<String> = slice.and_then(|value| Vec::deserialize(value).ok()).unwrap_or_default();
    let mut agent = agent.unwrap_or_default();
    if !agents.iter().any(|known| known == agent) && agents.len() >= MAX_AGENTS {
        agent = MORE_AGENTS;
    }
    if agents.iter().any(|known| known == agent) {
        return None;
    }
    agents.push(agent.to_owned());
    Some(agents.into())
}

/// The agents that acted in a session, where an empty name is an agent without an id. `None`: the session has not started.
pub(crate) fn session_agents(store: &dyn Store, session: &str) -> Result<Option<Vec<String>>> {
    let slice = load_slice(store, session, AGENTS)?.value;
    match slice.map(|value| Vec::deserialize(&value).unwrap_or_else(|_| vec![String::new()])) {
        None if store.session(session)?.is_some() => Ok(Some(vec![String::new()])),
        agents => Ok(agents),
    }
}
