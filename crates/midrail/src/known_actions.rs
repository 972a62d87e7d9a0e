//! The actions of calls that were analysed before: the analysis depends on nothing but the call, and agents repeat calls.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use midrail_core::{Event, EventKind, Fact, HostLimit, ToolCall};
use midrail_shell::action;
use parking_lot::Mutex;
use serde_json::{Map, Value};

/// The most calls that are remembered. Beyond it, all are forgotten.
const MAX_CALLS: usize = 512;

/// The largest call that is remembered, in bytes.
const MAX_BYTES: usize = 4_096;

/// The danger of a call that cannot be read.
const UNREADABLE: &str = "unreadable-command";

/// Remembers the actions of calls. A result finds that of its call.
#[derive(Default)]
pub(crate) struct KnownActions(Mutex<BTreeMap<u64, KnownAction>>);

struct KnownAction {
    kind: EventKind,
    name: String,
    args: Map<String, Value>,
    types: bool,
    action: Fact,
}

impl KnownAction {
    fn is_for(&self, event: &Event, tool: &ToolCall, types: bool) -> bool {
        let has_kind = self.kind == event.kind || self.is_also_after(event.kind);
        has_kind && self.types == types && self.name == tool.name && self.args == tool.args
    }

    /// Whether the action of a call is also that of its result: only a call is reported as one that cannot be read.
    fn is_also_after(&self, kind: EventKind) -> bool {
        let is_readable = || match &self.action {
            Fact::Action(action) => action.dangers.iter().all(|danger| danger.rule != UNREADABLE),
            _ => false,
        };
        (self.kind, kind) == (EventKind::BeforeTool, EventKind::AfterTool) && is_readable()
    }
}

impl KnownActions {
    /// What the call of an event does.
    pub(crate) fn derive(&self, event: &Event) -> Fact {
        let derive = || Fact::from_action(action::derive(event));
        let Some(tool) = &event.tool else { return derive() };
        let types = event.host.as_ref().is_some_and(|host| host.limits.contains(&HostLimit::Typing));
        let mut hasher = BoundedHasher { inner: DefaultHasher::new(), bytes: 0 };
        (types, &tool.name, &tool.args).hash(&mut hasher);
        if hasher.bytes > MAX_BYTES {
            return derive();
        }
        let key = hasher.finish();
        if let Some(known) = self.0.lock().get(&key).filter(|known| known.is_for(event, tool, types)) {
            return known.action.clone();
        }
        let action = derive();
        let (name, args) = (tool.name.clone(), tool.args.clone());
        let mut calls = self.0.lock();
        if calls.len() >= MAX_CALLS {
            calls.clear();
        }
        calls.insert(key, KnownAction { kind: event.kind, name, args, types, action: action.clone() });
        action
    }
}

/// A hasher that counts bytes, and ignores those that are too many.
struct BoundedHasher {
    inner: DefaultHasher,
    bytes: usize,
}

impl Hasher for BoundedHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes <= MAX_BYTES {
            self.inner.write(bytes);
        }
    }

    fn finish(&self) -> u64 {
        self.inner.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn remembered_action_is_the_derived_one() {
        let known = KnownActions::default();
        let host = |limits| Some(midrail_core::Host { limits, ..Default::default() });
        for _ in 0..2 {
            for command in ["rm -rf /", "ls", "cat > a", "a\0b", &"x ".repeat(5_000)] {
                for name in ["Bash", "Read", "write_stdin"] {
                    let args = json!({"command": command, "chars": command, "file_path": command});
                    for limits in [Vec::new(), vec![HostLimit::Typing]] {
                        let before = Event { host: host(limits), ..Event::before_tool(name, args.clone()) };
                        let after = Event { kind: EventKind::AfterTool, ..before.clone() };
                        for event in [before, after] {
                            assert_eq!(known.derive(&event), Fact::from_action(action::derive(&event)));
                        }
                    }
                }
            }
        }
        assert_eq!(known.0.lock().len(), 4 * 3 * 2);
    }

    #[test]
    fn a_result_finds_the_action_of_its_call() {
        let known = KnownActions::default();
        for (command, is_shared) in [("ls", true), ("a\0b", false)] {
            let before = Event::before_tool("Bash", json!({"command": command}));
            let after = Event { kind: EventKind::AfterTool, ..before.clone() };
            let (Fact::Action(one), Fact::Action(other)) = (known.derive(&before), known.derive(&after))
            else {
                panic!("`{command}` has an action")
            };
            assert_eq!(std::sync::Arc::ptr_eq(&one, &other), is_shared, "{command}");
        }
    }

    #[test]
    fn few_calls_are_remembered() {
        let known = KnownActions::default();
        for number in 0..2 * MAX_CALLS {
            known.derive(&Event::before_tool("Read", json!({"file_path": number.to_string()})));
        }
        assert!(known.0.lock().len() <= MAX_CALLS);
    }
}
