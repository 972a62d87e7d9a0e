//! A test environment for one guardrail: a session, some files, and the loop that fetches facts.

use std::collections::BTreeMap;
use std::sync::Arc;

use midrail_core::{
    CommandOutcome, Decision, Event, EventKind, Fact, FactKey, Facts, FileState, GitState, Guardrail,
    NoMeter, Policy, PolicyEntry, SHARED_PREFIX, Session, Spec, ToolResult, evaluate,
};
use serde_json::Value;

/// A run of one guardrail.
pub(crate) struct Run {
    policy: Policy,
    slices: BTreeMap<String, Option<Value>>,
    files: Option<BTreeMap<String, (Option<String>, String)>>,
    pub(crate) git: Option<GitState>,
    /// The results of commands by command line, and the digest of the relevant files.
    commands: BTreeMap<String, CommandOutcome>,
    tree: String,
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
        let policy = Policy::new(vec![PolicyEntry::new(spec, guardrail)], Vec::new(), b"");
        Run {
            policy,
            slices: BTreeMap::new(),
            files: Some(BTreeMap::new()),
            git: None,
            commands: BTreeMap::new(),
            tree: "0".to_owned(),
        }
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

    /// A slice of the session at the start.
    pub(crate) fn with_slice(mut self, key: &str, value: Value) -> Self {
        self.slices.insert(key.to_owned(), Some(value));
        self
    }

    /// Sets the branch and the commit of the repository.
    #[allow(dead_code)]
    pub(crate) fn with_git(mut self, branch: &str, head: &str) -> Self {
        let (branch, head) = (Some(branch.to_owned()), Some(head.to_owned()));
        let folders = ("/repo".to_owned(), "/repo/.git".to_owned());
        self.git = Some(GitState { branch, head, top: folders.0, common: folders.1, ..GitState::default() });
        self
    }

    /// Sets the result of a command.
    pub(crate) fn ends(&mut self, command: &str, exit_code: i32, output: &str) {
        let output = output.to_owned();
        let end =
            CommandOutcome { exit_code: Some(exit_code), output, took_ms: 1, ..CommandOutcome::default() };
        self.ends_as(command, end);
    }

    pub(crate) fn ends_as(&mut self, command: &str, end: CommandOutcome) {
        self.commands.insert(command.to_owned(), end);
    }

    /// Sets the digest of the relevant files.
    pub(crate) fn tree(&mut self, digest: &str) {
        self.tree = digest.to_owned();
    }

    /// Sets a slice.
    pub(crate) fn set(&mut self, key: &str, value: Value) {
        self.slices.insert(key.to_owned(), Some(value));
    }

    /// The content of a slice.
    pub(crate) fn slice(&self, key: &str) -> Option<&Value> {
        self.slices.get(key)?.as_ref()
    }

    /// The sizes of the slices whose keys begin so, in bytes of JSON.
    pub(crate) fn sizes<'r>(&'r self, prefix: &'r str) -> impl Iterator<Item = usize> + 'r {
        let slices = self.slices.iter().filter(move |(key, _)| key.starts_with(prefix));
        slices.filter_map(|(_, value)| value.as_ref()).map(|value| value.to_string().len())
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

    /// Decides, and fetches facts until none is missing.
    pub(crate) fn decide(&mut self, event: &Event) -> Decision {
        let name = event.session.as_deref().unwrap_or("s");
        let kept = |key: &str| {
            if name == "s" || key.starts_with(SHARED_PREFIX) {
                key.to_owned()
            } else {
                format!("{name}: {key}")
            }
        };
        let mut session = Session::new(name);
        let mut facts = Facts::default();
        for _ in 0..16 {
            let evaluation = evaluate(&self.policy, &session, &facts, event, &NoMeter);
            if evaluation.needs.is_empty() {
                let changes = evaluation.decision.changes.0.clone();
                self.slices.extend(changes.into_iter().map(|(key, value)| (kept(&key), value)));
                return evaluation.decision;
            }
            for key in evaluation.needs.slices {
                let value = self.slices.get(&kept(&key)).cloned().flatten();
                session.load(key, value);
            }
            for key in evaluation.needs.facts {
                let fact = self.fact(&key, event);
                facts.insert(key, fact);
            }
        }
        panic!("the guardrail needs facts again and again");
    }

    fn fact(&self, key: &FactKey, event: &Event) -> Fact {
        match (key, &self.files) {
            (FactKey::Action, _) => Fact::from_action(midrail_shell::action::derive(event)),
            (FactKey::Sandbox, _) => Fact::Sandbox(None),
            (FactKey::Place(path), Some(files)) => {
                let place =
                    midrail_core::path::resolve(path, event.cwd.as_deref(), Default::default(), None).key;
                Fact::Place(files.get(&place).and_then(|(real, _)| real.clone()).unwrap_or(place))
            }
            (FactKey::Secrets, _) => {
                let value = serde_json::to_value(event).unwrap();
                Fact::Secrets(midrail_scan::secrets::scan_json(&value, b"key"))
            }
            (FactKey::PersonalData, _) => {
                let value = serde_json::to_value(event).unwrap();
                Fact::Findings(midrail_scan::event::find_personal_data(&value, b"key"))
            }
            (FactKey::Injections, _) => {
                let value = serde_json::to_value(event).unwrap();
                let action = midrail_shell::action::derive(event).ok();
                let origin = crate::text_origin(event, action.as_ref(), None);
                Fact::Findings(midrail_scan::event::find_injections(&value, origin, b"key"))
            }
            (FactKey::Names, _) => {
                let value = serde_json::to_value(event).unwrap();
                Fact::Names(midrail_scan::names::digests_in_event(&value, b"key"))
            }
            (FactKey::Destination(text), _) => {
                Fact::Names(midrail_scan::names::destination_digests(text, b"key"))
            }
            (FactKey::Script(key), Some(files)) => {
                let known: Vec<_> = midrail_core::ScriptSource::decode(key)
                    .into_iter()
                    .map(|held| midrail_shell::command::File {
                        text: Some(
                            files.get(&held.place).map(|(_, content)| content.clone()).unwrap_or_default(),
                        ),
                        path: held.path,
                    })
                    .collect();
                Fact::Script(Box::new(midrail_shell::action::with_files(event, &known)))
            }
            (FactKey::File(path), Some(files)) => Fact::File(match files.get(path) {
                Some((_, content)) => FileState::File { checksum: content.clone() },
                None => FileState::Absent,
            }),
            (FactKey::File(_) | FactKey::Place(_) | FactKey::Script(_), None) => {
                Fact::Unavailable("there is no file system".to_owned())
            }
            (FactKey::Git, _) => Fact::Git(self.git.clone()),
            (FactKey::Command(run), _) => match self.commands.get(&run.command) {
                Some(end) => Fact::Command(end.clone()),
                None => Fact::Unavailable("it did not end in time".to_owned()),
            },
            (FactKey::Tree(_), _) => Fact::Tree(self.tree.clone()),
            (FactKey::Count(patterns), Some(files)) => {
                let fits =
                    |path: &&String| patterns.iter().any(|it| midrail_core::glob::path_matches(it, path));
                Fact::Count(u64::try_from(files.keys().filter(fits).count()).unwrap())
            }
            (FactKey::Contents(patterns), Some(files)) => {
                let fits =
                    |path: &&String| patterns.iter().any(|it| midrail_core::glob::path_matches(it, path));
                let contents = files.iter().filter(|(path, _)| fits(path));
                Fact::Tree(contents.map(|(path, (_, content))| format!("{path}:{content};")).collect())
            }
            (FactKey::Text(test), Some(files)) => match files.get(&test.place) {
                Some((_, content)) => Fact::Count(test.wanted.count(content)),
                None => Fact::Unavailable("there is no such file".to_owned()),
            },
            (FactKey::Count(_) | FactKey::Contents(_) | FactKey::Text(_), None) => {
                Fact::Unavailable("there is no file system".to_owned())
            }
            (FactKey::Hook(_) | FactKey::Deep(_), _) => {
                Fact::Unavailable("there is no external service".to_owned())
            }
            (FactKey::Answer(name), _) => Fact::Unavailable(format!("there is no answer to `{name}`")),
            (FactKey::Modified(_), _) => Fact::Unavailable("the call is as it was".to_owned()),
            (FactKey::Unsaved(_), _) => Fact::Unavailable("there is no repository here".to_owned()),
        }
    }
}
