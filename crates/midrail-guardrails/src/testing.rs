//! A small world to try one guardrail in: a session, some files, and the loop that fetches what is needed.

use std::collections::BTreeMap;
use std::sync::Arc;

use midrail_core::{
    Decision, Entry, Event, EventKind, Fact, FactKey, Facts, FileState, Guardrail, Policy, Session, Spec,
    ToolResult, Unmetered, evaluate,
};
use serde_json::Value;

/// A run of one guardrail.
pub(crate) struct Run {
    policy: Policy,
    slices: BTreeMap<String, Option<Value>>,
    files: Option<BTreeMap<String, (Option<String>, String)>>,
}

impl Run {
    pub(crate) fn of(guardrail: impl Guardrail + 'static) -> Self {
        Run::shared(Arc::new(guardrail))
    }

    pub(crate) fn shared(guardrail: Arc<dyn Guardrail>) -> Self {
        Run::on(guardrail, vec![EventKind::BeforeTool, EventKind::BeforeModel])
    }

    pub(crate) fn on(guardrail: Arc<dyn Guardrail>, on: Vec<EventKind>) -> Self {
        let spec = Spec { on, ..Spec::new("under-test") };
        let policy = Policy::new(vec![Entry { spec, guardrail }], Vec::new(), b"");
        Run { policy, slices: BTreeMap::new(), files: Some(BTreeMap::new()) }
    }

    pub(crate) fn with_file(mut self, path: &str, content: &str) -> Self {
        self.files.get_or_insert_default().insert(path.to_owned(), (None, content.to_owned()));
        self
    }

    pub(crate) fn with_link(mut self, path: &str, real: &str, content: &str) -> Self {
        self.files
            .get_or_insert_default()
            .insert(path.to_owned(), (Some(real.to_owned()), content.to_owned()));
        self
    }

    pub(crate) fn without_files(mut self) -> Self {
        self.files = None;
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

    /// Decides, fetching what is needed from this world until nothing is lacking.
    pub(crate) fn decide(&mut self, event: &Event) -> Decision {
        let mut session = Session::new("s");
        let mut facts = Facts::default();
        for _ in 0..8 {
            let evaluation = evaluate(&self.policy, &session, &facts, event, &Unmetered);
            if evaluation.needs.is_empty() {
                self.slices.extend(evaluation.decision.changes.0.clone());
                return evaluation.decision;
            }
            for key in evaluation.needs.slices {
                let value = self.slices.get(&key).cloned().flatten();
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
        match (key, &self.files) {
            (FactKey::Action, _) => {
                midrail_detect::action::of(event).map_or_else(Fact::Unavailable, Fact::Action)
            }
            (FactKey::Place(path), Some(files)) => {
                let place =
                    midrail_core::path::place(path, event.cwd.as_deref(), Default::default(), None).key;
                Fact::Place(files.get(&place).and_then(|(real, _)| real.clone()).unwrap_or(place))
            }
            (FactKey::Secrets, _) => {
                let value = serde_json::to_value(event).unwrap();
                Fact::Secrets(midrail_detect::secrets::scan_json(&value, b"key"))
            }
            (FactKey::PersonalData, _) => {
                let value = serde_json::to_value(event).unwrap();
                Fact::Findings(midrail_detect::of_event::personal_data(&value, b"key"))
            }
            (FactKey::Injections, _) => {
                let value = serde_json::to_value(event).unwrap();
                Fact::Findings(midrail_detect::of_event::injections(&value, b"key"))
            }
            (FactKey::Script(path), Some(files)) => {
                let content = files.get(path).map(|(_, content)| content.as_str()).unwrap_or_default();
                Fact::Script(midrail_detect::action::of_script(path, content))
            }
            (FactKey::File(path), Some(files)) => Fact::File(match files.get(path) {
                Some((_, content)) => FileState::File { checksum: content.clone() },
                None => FileState::Absent,
            }),
            (FactKey::File(_) | FactKey::Place(_) | FactKey::Script(_), None) => {
                Fact::Unavailable("there is no file system".to_owned())
            }
            (FactKey::Answer(name), _) => Fact::Unavailable(format!("nobody answers `{name}`")),
        }
    }
}
