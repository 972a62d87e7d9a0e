//! A small world to try packs in: a session, some files, and the loop that fetches what is needed.

use std::collections::BTreeMap;

use midrail_core::{
    Agent, Decision, Effect, Event, EventKind, Fact, FactKey, Facts, FileState, NoMeter, Policy, Session,
    ToolResult, evaluate,
};
use midrail_pack::{Layer, PackDocument, compile_policy};
use serde_json::Value;

use crate::checker;

/// The documents of a text, which have to be valid and to fit the schema.
pub(crate) fn read(path: &str, source: &str) -> Vec<PackDocument> {
    read_in(path, source, None)
}

/// The same, in an environment.
pub(crate) fn read_in(path: &str, source: &str, env: Option<&str>) -> Vec<PackDocument> {
    let documents = PackDocument::read(path, source, env).unwrap_or_else(|report| panic!("{report}"));
    checker::accepts(source);
    documents
}

/// One project pack.
pub(crate) fn project(source: &str) -> Vec<(Layer, PackDocument)> {
    in_layers(&[(Layer::Project, "pack.yaml", source)])
}

/// Packs in their layers.
pub(crate) fn in_layers(packs: &[(Layer, &str, &str)]) -> Vec<(Layer, PackDocument)> {
    packs
        .iter()
        .flat_map(|(layer, path, source)| read(path, source).into_iter().map(|document| (*layer, document)))
        .collect()
}

/// The policy of documents that fit together.
pub(crate) fn policy_of(documents: &[(Layer, PackDocument)]) -> Policy {
    match compile_policy(documents) {
        Ok((policy, _)) => policy,
        Err(reports) => panic!("{}", reports.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
}

/// Why a text is no pack.
pub(crate) fn refused(source: &str) -> String {
    match PackDocument::read("pack.yaml", source, None) {
        Ok(_) => panic!("this was accepted:\n{source}"),
        Err(report) => report.render(false),
    }
}

/// A run under a policy.
pub(crate) struct World {
    policy: Policy,
    slices: BTreeMap<String, Value>,
    files: BTreeMap<String, String>,
}

impl World {
    /// Under one project pack.
    pub(crate) fn of(source: &str) -> World {
        World::under(&project(source))
    }

    pub(crate) fn under(documents: &[(Layer, PackDocument)]) -> World {
        World { policy: policy_of(documents), slices: BTreeMap::new(), files: BTreeMap::new() }
    }

    pub(crate) fn with_file(mut self, path: &str, content: &str) -> World {
        self.files.insert(path.to_owned(), content.to_owned());
        self
    }

    pub(crate) fn before(&mut self, tool: &str, args: Value) -> Decision {
        self.decide(&Event::before_tool(tool, args))
    }

    pub(crate) fn succeed(&mut self, tool: &str, args: Value) -> Decision {
        self.decide(&Event::after_tool(tool, args, ToolResult::ok("done")))
    }

    pub(crate) fn fail(&mut self, tool: &str, args: Value) -> Decision {
        self.decide(&Event::after_tool(tool, args, ToolResult::failed("no")))
    }

    /// The effect of a call before it happens.
    pub(crate) fn effect(&mut self, tool: &str, args: Value) -> Effect {
        self.before(tool, args).effect
    }

    /// The content of a slice.
    pub(crate) fn slice(&self, key: &str) -> Option<&Value> {
        self.slices.get(key)
    }

    pub(crate) fn set(&mut self, variable: &str, value: impl Into<Value>) {
        self.slices.insert(midrail_core::variable_key(variable), value.into());
    }

    /// Decides, fetching what is needed from this world until nothing is lacking.
    pub(crate) fn decide(&mut self, event: &Event) -> Decision {
        let mut session = Session::new("s");
        let mut facts = Facts::default();
        for _ in 0..16 {
            let evaluation = evaluate(&self.policy, &session, &facts, event, &NoMeter);
            if evaluation.needs.is_empty() {
                for (key, value) in evaluation.decision.changes.0.clone() {
                    match value {
                        Some(value) => self.slices.insert(key, value),
                        None => self.slices.remove(&key),
                    };
                }
                return evaluation.decision;
            }
            for key in evaluation.needs.slices {
                let value = self.slices.get(&key).cloned();
                session.load(key, value);
            }
            for key in evaluation.needs.facts {
                let fact = self.fact(&key, event);
                facts.insert(key, fact);
            }
        }
        panic!("needs never end");
    }

    fn fact(&self, key: &FactKey, event: &Event) -> Fact {
        match key {
            // The packs of these tests change no call.
            FactKey::Modified(_) => Fact::Unavailable("the call is as it was".to_owned()),
            FactKey::Action => Fact::from_action(midrail_shell::action::derive(event)),
            FactKey::Place(path) => Fact::Place(
                midrail_core::path::resolve(path, event.cwd.as_deref(), Default::default(), None).key,
            ),
            FactKey::Secrets => {
                let value = serde_json::to_value(event).unwrap();
                Fact::Secrets(midrail_scan::secrets::scan_json(&value, b"key"))
            }
            FactKey::PersonalData => {
                let value = serde_json::to_value(event).unwrap();
                Fact::Findings(midrail_scan::event::find_personal_data(&value, b"key"))
            }
            FactKey::Injections => {
                let value = serde_json::to_value(event).unwrap();
                let action = midrail_shell::action::derive(event).ok();
                let origin = midrail_guardrails::text_origin(event, action.as_ref(), None);
                Fact::Findings(midrail_scan::event::find_injections(&value, origin, b"key"))
            }
            FactKey::Names => {
                let value = serde_json::to_value(event).unwrap();
                Fact::Names(midrail_scan::names::digests_in_event(&value, b"key"))
            }
            FactKey::Destination(text) => Fact::Names(midrail_scan::names::destination_digests(text, b"key")),
            FactKey::Command(_)
            | FactKey::Tree(_)
            | FactKey::Count(_)
            | FactKey::Contents(_)
            | FactKey::Text(_) => Fact::Unavailable("not in this world".to_owned()),
            FactKey::Git => Fact::Git(None),
            FactKey::Sandbox => Fact::Sandbox(None),
            FactKey::Unsaved(_) => Fact::Unsaved(midrail_core::UnsavedFiles::default()),
            FactKey::Script(key) => {
                let known: Vec<_> = midrail_core::ScriptSource::decode(key)
                    .into_iter()
                    .map(|held| midrail_shell::command::File {
                        text: Some(self.files.get(&held.place).cloned().unwrap_or_default()),
                        path: held.path,
                    })
                    .collect();
                Fact::Script(Box::new(midrail_shell::action::with_files(event, &known)))
            }
            FactKey::File(path) => Fact::File(match self.files.get(path) {
                Some(content) => FileState::File { checksum: content.clone() },
                None => FileState::Absent,
            }),
            FactKey::Hook(_) | FactKey::Deep(_) => Fact::Unavailable("nobody is asked".to_owned()),
            // The machine of a complete event is known.
            FactKey::Answer(_) if event.cwd.is_some() => Fact::Answer(Value::from("x")),
            FactKey::Answer(name) => Fact::Unavailable(format!("nobody answers `{name}`")),
        }
    }
}

/// A call by an agent of an id and a role.
pub(crate) fn call_by(id: &str, role: &str, tool: &str, args: Value) -> Event {
    let agent = Agent { id: Some(id.to_owned()), role: Some(role.to_owned()), ..Agent::default() };
    Event { agent: Some(agent), ..Event::before_tool(tool, args) }
}

/// A text on its way to the model.
pub(crate) fn prompt(text: &str) -> Event {
    Event { text: Some(text.to_owned()), ..Event::new(EventKind::BeforeModel) }
}
