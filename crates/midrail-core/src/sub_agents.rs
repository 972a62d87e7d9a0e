//! Which agent started which, as the events of a session report it: what holds for an agent holds for its sub-agents.

use serde_json::{Map, Value};

use crate::event::Event;
use crate::inputs::Inputs;
use crate::session::Changes;

/// The slice with the parent of each sub-agent of a session.
pub const SUB_AGENT_PARENTS: &str = "sub_agents";

const MAX_SUB_AGENTS: usize = 1_000;

const MAX_ANCESTORS: usize = 16;

/// The ancestors of an agent, nearest first, starting with its parent, as far as the slice [`SUB_AGENT_PARENTS`] knows them.
pub fn ancestors(parents: Option<&Value>, parent: &str) -> Vec<String> {
    let mut all = vec![parent.to_owned()];
    let mut last = parent;
    while let Some(next) = parents.and_then(|parents| parents.get(last)).and_then(Value::as_str) {
        if all.len() >= MAX_ANCESTORS || all.iter().any(|known| known == next) {
            break;
        }
        all.push(next.to_owned());
        last = next;
    }
    all
}

/// The agents and sessions whose quarantine covers the acting agent: its ancestors, and the session that it works in.
pub(crate) fn superiors(event: &Event, session: &str, parents: Option<&Value>) -> Vec<String> {
    let ancestors = event.parent().map(|parent| ancestors(parents, parent)).unwrap_or_default();
    let mut all: Vec<String> = Vec::new();
    for name in ancestors {
        let as_session = (name != session).then(|| ["session:", &name].concat());
        all.extend(Some(name).into_iter().chain(as_session));
    }
    all.push(["session:", session].concat());
    all
}

/// Whether the parent of the acting agent is recorded with an event.
pub(crate) fn is_recorded(event: &Event) -> bool {
    event.kind.is_action() && event.is_sub_agent()
}

/// Records the parent of the acting agent.
pub(crate) fn record_parent(inputs: &Inputs<'_>, changes: &mut Changes) {
    let event = inputs.event;
    let name = event.agent.as_ref().and_then(|agent| agent.id.as_deref()).map(str::trim);
    let name = name.filter(|name| !name.is_empty() && Some(*name) != event.parent());
    let (true, Some(name), Some(parent)) = (is_recorded(event), name, event.parent()) else { return };
    // If it is not known, it is fetched and the event is evaluated again.
    let Ok(known) = inputs.slice(SUB_AGENT_PARENTS) else { return };
    let mut parents: Map<String, Value> = known.and_then(Value::as_object).cloned().unwrap_or_default();
    let before = parents.get(name).and_then(Value::as_str);
    if before != Some(parent) && (parents.len() < MAX_SUB_AGENTS || parents.contains_key(name)) {
        parents.insert(name.to_owned(), parent.into());
        changes.set(SUB_AGENT_PARENTS, parents);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_ancestors_are_found_and_circles_end() {
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
        assert_eq!(ancestors(Some(&long.into()), "0").len(), MAX_ANCESTORS);
    }
}
