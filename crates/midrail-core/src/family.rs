//! Who started whom, as the events of a session tell it: what holds for an agent holds for all who work for it.

use serde_json::{Map, Value};

use crate::context::World;
use crate::event::{Event, EventKind};
use crate::session::Changes;

/// The slice of a session that says who started each of its sub-agents.
pub const SUB_AGENT_PARENTS: &str = "sub_agents";

/// How many sub-agents of one session are kept in mind.
const MOST: usize = 1_000;

/// How far up it is looked.
const HIGHEST: usize = 16;

/// Who started the agent of an event, where it was started by anybody.
pub(crate) fn parent_of(event: &Event) -> Option<&str> {
    event.parent.as_deref().map(str::trim).filter(|parent| !parent.is_empty())
}

/// All above an agent, the nearest first: who started it, who started that one, as far as the session's slice
/// ([`SUB_AGENT_PARENTS`]) tells.
pub fn ancestors(started: Option<&Value>, parent: &str) -> Vec<String> {
    let mut all = vec![parent.to_owned()];
    let mut last = parent;
    while let Some(next) = started.and_then(|started| started.get(last)).and_then(Value::as_str) {
        if all.len() >= HIGHEST || all.iter().any(|known| known == next) {
            break;
        }
        all.push(next.to_owned());
        last = next;
    }
    all
}

/// Whom the acting agent belongs to: the agents or sessions that started it, and the session that it works in.
pub(crate) fn answers_to(event: &Event, session: &str, started: Option<&Value>) -> Vec<String> {
    let above = parent_of(event).map(|parent| ancestors(started, parent)).unwrap_or_default();
    let mut all: Vec<String> = Vec::new();
    for who in above {
        let started_in = (who != session).then(|| format!("session:{who}"));
        all.extend(Some(who).into_iter().chain(started_in));
    }
    all.push(format!("session:{session}"));
    all
}

/// Whether an event is kept in mind for who started its agent.
pub(crate) fn is_noted(event: &Event) -> bool {
    matches!(event.kind, EventKind::BeforeTool | EventKind::BeforeHandoff) && parent_of(event).is_some()
}

/// Keeps in mind who started the agent of an event.
pub(crate) fn note(world: &World<'_>, changes: &mut Changes) {
    let event = world.event;
    let name = event.agent.as_ref().and_then(|agent| agent.id.as_deref()).map(str::trim);
    let name = name.filter(|name| !name.is_empty() && Some(*name) != parent_of(event));
    let (true, Some(name), Some(parent)) = (is_noted(event), name, parent_of(event)) else { return };
    // What is not known is asked for, and the event decided again.
    let Ok(known) = world.slice(SUB_AGENT_PARENTS) else { return };
    if known.and_then(|known| known.get(name)).and_then(Value::as_str) == Some(parent) {
        return;
    }
    let mut started: Map<String, Value> = known.and_then(Value::as_object).cloned().unwrap_or_default();
    if started.len() < MOST || started.contains_key(name) {
        started.insert(name.to_owned(), parent.into());
        changes.set(SUB_AGENT_PARENTS, started);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_above_are_found_and_circles_end() {
        let started = json!({"c3": "c2", "c2": "c1", "a": "b", "b": "a", "self": "self"});
        for (parent, all) in [
            ("c2", vec!["c2", "c1"]),
            ("c3", vec!["c3", "c2", "c1"]),
            ("c1", vec!["c1"]),
            ("a", vec!["a", "b"]),
            ("self", vec!["self"]),
            ("unknown", vec!["unknown"]),
        ] {
            assert_eq!(ancestors(Some(&started), parent), all);
        }
        assert_eq!(ancestors(None, "c2"), ["c2"]);
        let long: Map<String, Value> =
            (0..100).map(|n| (n.to_string(), (n + 1).to_string().into())).collect();
        assert_eq!(ancestors(Some(&long.into()), "0").len(), HIGHEST);
    }
}
