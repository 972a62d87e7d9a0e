//! Cases: a world, a sequence of events, and what has to come of each. Packs carry them as `tests`, the corpus is
//! made of them, and pages of guardrails show them. Running them is the engine's work.

use std::collections::BTreeMap;

use midrail_core::{CommandOutcome, Effect, Event, EventKind, GitState, Risk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::diagnostic::nearest;
use crate::raw::{AgentDefinition, Guard, RiskRouter, StrikeLimit, TaskDefinition};
use crate::scalar::OneOrMany;

/// A file of cases: the corpus, or a block of a page.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// What the cases are about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The cases.
    pub cases: Vec<Case>,
}

/// One case. In a pack's `tests` it is decided by that pack; in a case file by what it brings itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name.
    pub id: String,
    /// Where it comes from, or what it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Guardrails of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::scalar::guards")]
    pub guardrails: Vec<Guard>,
    /// Definitions of agents of its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, AgentDefinition>,
    /// Definitions of tasks of its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<String, TaskDefinition>,
    /// A pack document of its own, in any dialect, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// Packs, relative to the case's file, or names of shipped packs.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub packs: OneOrMany,
    /// The problems that loading has to report, as parts of their text. Then there are no events.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub problems: OneOrMany,
    /// The files of its world: path to content. A list makes them with empty content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Files>,
    /// `unavailable`: there is no file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<FileSystem>,
    /// How commands end in its world, by their line. Those that are not named cannot be run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commands: BTreeMap<String, StubExit>,
    /// What the repository of its world is at. Without it there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// What those outside answer in its world, by the guardrail that asks. Nobody else answers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, StubAnswer>,
    /// How much can go wrong with a tool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_risks: BTreeMap<String, Risk>,
    /// How long deep guardrails are waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_router: Option<RiskRouter>,
    /// What strikes lead to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strikes: Vec<StrikeLimit>,
    /// Variables of the session.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub session: BTreeMap<String, Value>,
    /// What happens, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<CaseStep>,
}

/// What somebody outside answers: `{answer: …}` or `{error: …}`, after `takes_ms` milliseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StubAnswer {
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it takes.
    #[serde(default)]
    pub takes_ms: u64,
}

/// The files of a case's world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Files {
    /// With their content.
    Content(BTreeMap<String, String>),
    /// Empty ones.
    Names(Vec<String>),
}

impl Files {
    /// Path to content.
    pub fn into_map(self) -> BTreeMap<String, String> {
        match self {
            Files::Content(files) => files,
            Files::Names(names) => names.into_iter().map(|name| (name, String::new())).collect(),
        }
    }
}

/// How a command ends: `{exit_code: 1, output: …}` or `timeout`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a command ends as `{exit_code: NUMBER, output: TEXT}`, `{signal: true}` or `timeout`"
)]
pub enum StubExit {
    /// By a word.
    Word(StubExitWord),
    /// By itself.
    Itself(StubExitStatus),
}

/// Ends of commands that are told by a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StubExitWord {
    /// It did not end in time.
    Timeout,
}

/// The end of a command that ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StubExitStatus {
    /// Its exit code.
    pub exit_code: i32,
    /// What it printed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// It was ended by a signal, and has no exit code.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub signal: bool,
}

impl StubExit {
    /// The end as a probe tells it. `None`: not in time.
    pub fn to_command_end(&self) -> Option<CommandOutcome> {
        match self {
            StubExit::Word(StubExitWord::Timeout) => None,
            StubExit::Itself(StubExitStatus { exit_code, output, signal }) => Some(CommandOutcome {
                exit_code: (!signal).then_some(*exit_code),
                output: output.clone(),
                took_ms: 1,
                ..CommandOutcome::default()
            }),
        }
    }
}

/// What a repository is at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Git {
    /// The branch that is checked out. Absent: none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that is checked out. Absent: there is none yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The branch that it pushes to, as `remote/branch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The top folder of the work tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<String>,
}

impl Git {
    /// The state as a probe tells it.
    pub fn to_git_state(&self) -> GitState {
        let top = self.top.clone().unwrap_or_else(|| "/repo".to_owned());
        GitState {
            branch: self.branch.clone(),
            head: self.head.clone(),
            common: format!("{top}/.git"),
            top,
            upstream: self.upstream.clone(),
            ..GitState::default()
        }
    }
}

/// What is at hand of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileSystem {
    /// None.
    Unavailable,
}

/// One thing that happens: an event, or a change of the world.
///
/// An event is its kind with the tool's name (or the text) behind it, and the fields of the wire beside it:
/// `{before_tool: Write, args: {file_path: a}, expect: block}`.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema)]
#[schemars(with = "BTreeMap<String, Value>")]
pub struct CaseStep {
    /// What happens.
    pub action: StepAction,
    /// What has to come of it.
    pub expect: Option<Expectation>,
}

/// What happens in a step.
#[derive(Debug, Clone, PartialEq)]
pub enum StepAction {
    /// An event, as it stands on the wire.
    Event(Value),
    /// Time passes.
    Advance(f64),
    /// Files are written.
    Write(BTreeMap<String, String>),
    /// A file is removed.
    Remove(String),
    /// Commands end in another way from now on.
    Commands(BTreeMap<String, StubExit>),
    /// The repository is at something else.
    Git(Git),
    /// Session variables are set.
    Set(BTreeMap<String, Value>),
    /// The session is kept under a name.
    Snapshot(String),
    /// The session is put back.
    Restore(String),
    /// A person answers the approval that was asked for last.
    Answer {
        /// Yes or no.
        approve: bool,
        /// Who.
        by: CaseApprover,
    },
    /// The agent asks for what the last event was denied.
    Request(CaseRequest),
    /// Somebody says how far tasks have come.
    Task(BTreeMap<String, String>),
    /// A person lets a quarantined agent work again.
    Lift(String),
}

/// Who answers: a name, who then has every role, or a name with a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a name, or `{by: NAME, role: ROLE}`")]
pub enum CaseApprover {
    /// Someone of every role.
    Anyone(String),
    /// Someone of one role.
    As {
        /// Their name.
        by: String,
        /// Their role.
        role: String,
    },
}

/// What an agent says for what it was denied.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseRequest {
    /// Why it is needed.
    pub reason: String,
    /// `normal`, `urgent` or `emergency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgency: Option<String>,
    /// The guardrail to lift, where it is not the one that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guardrail: Option<String>,
}

impl Default for StepAction {
    fn default() -> Self {
        StepAction::Advance(0.0)
    }
}

/// What has to come of an event. A bare effect is the same as `{effect: …}`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Expectation {
    /// The effect.
    #[serde(deserialize_with = "crate::words::effect", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::words::EffectWord>")]
    pub effect: Option<Effect>,
    /// The guardrail that decided.
    pub by: Option<String>,
    /// Parts of the reason.
    pub reason: OneOrMany,
    /// Parts of the advice.
    pub advice: OneOrMany,
    /// Parts that the content has to have.
    pub content: OneOrMany,
    /// Parts of the feedback.
    pub feedback: OneOrMany,
    /// The feedback providers that speak, in order. Empty: none does.
    pub providers: Option<Vec<String>>,
    /// Parts of what the agent is told for its next try.
    pub retry: OneOrMany,
    /// Entries that the metadata has to have.
    pub metadata: Map<String, Value>,
    /// The guardrails that were asked (not skipped), the always-on built-ins left out.
    pub evaluated: Option<Vec<String>>,
    /// The guardrails that failed.
    pub errors: Option<Vec<String>>,
    /// What shadow mode would have done.
    #[serde(deserialize_with = "crate::words::effect", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::words::EffectWord>")]
    pub would: Option<Effect>,
    /// Consequences beyond the effect.
    pub effects: Option<Vec<String>>,
    /// The denial as it stands in the audit record: policy and tool.
    pub denied: Option<PolicyDenial>,
    /// How far the agent may go on its own: `standard`, `strict`, `lockdown` or `halt`.
    pub autonomy: Option<String>,
    /// How to go on after an error: `retry`, `rollback`, `escalate` or `quarantine`.
    pub recovery: Option<String>,
    /// Who is told something, in order.
    pub notices: Option<Vec<String>>,
    /// Whether the host is asked to undo the action.
    pub rollback: Option<bool>,
    /// Parts of what is said where a step that is no event cannot be taken.
    pub refused: OneOrMany,
}

/// The PolicyDenied event of a record.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyDenial {
    /// The guardrail.
    pub policy: String,
    /// The tool.
    pub tool: String,
}

impl<'de> Deserialize<'de> for CaseStep {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = Map::deserialize(deserializer)?;
        let expect = map.remove("expect").map(expectation).transpose().map_err(serde::de::Error::custom)?;
        let action = parse_action(map).map_err(serde::de::Error::custom)?;
        Ok(CaseStep { action, expect })
    }
}

/// As it is read: an event in the long form of the wire, anything else as its directive.
impl Serialize for CaseStep {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut step = match &self.action {
            StepAction::Event(event) => event.clone(),
            StepAction::Advance(seconds) => json!({"advance": seconds}),
            StepAction::Write(files) => json!({"write": files}),
            StepAction::Remove(path) => json!({"remove": path}),
            StepAction::Commands(commands) => json!({"commands": commands}),
            StepAction::Git(git) => json!({"git": git}),
            StepAction::Set(variables) => json!({"set": variables}),
            StepAction::Snapshot(name) => json!({"snapshot": name}),
            StepAction::Restore(name) => json!({"restore": name}),
            StepAction::Answer { approve: true, by } => json!({"approve": by}),
            StepAction::Answer { approve: false, by } => json!({"deny": by}),
            StepAction::Request(request) => json!({"request": request}),
            StepAction::Task(tasks) => json!({"set_task": tasks}),
            StepAction::Lift(actor) => json!({"lift": actor}),
        };
        if let (Some(expect), Value::Object(step)) = (&self.expect, &mut step) {
            let expect = serde_json::to_value(expect).map_err(serde::ser::Error::custom)?;
            step.insert("expect".to_owned(), expect);
        }
        step.serialize(serializer)
    }
}

fn expectation(value: Value) -> Result<Expectation, String> {
    match value {
        Value::String(word) => {
            let effect = word.parse().map_err(|_| {
                let words: Vec<&str> = Effect::LADDER.iter().map(|effect| effect.as_str()).collect();
                format!("in `expect`: unknown variant `{word}`, expected one of `{}`", words.join("`, `"))
            })?;
            Ok(Expectation { effect: Some(effect), ..Expectation::default() })
        }
        map => serde_path_to_error::deserialize(map).map_err(|error| {
            let keys = error.path().iter().filter_map(|segment| match segment {
                serde_path_to_error::Segment::Map { key } => Some(format!("in `{key}`: ")),
                _ => None,
            });
            format!("in `expect`: {}{}", keys.collect::<String>(), error.inner())
        }),
    }
}

fn parse_action(mut map: Map<String, Value>) -> Result<StepAction, String> {
    fn only<T: serde::de::DeserializeOwned>(
        map: &mut Map<String, Value>,
        key: &str,
    ) -> Option<Result<T, String>> {
        let value = map.remove(key)?;
        if let Some(other) = map.keys().next() {
            return Some(Err(format!("`{other}` does not belong beside `{key}`")));
        }
        Some(serde_json::from_value(value).map_err(|error| format!("in `{key}`: {error}")))
    }
    if map.contains_key("kind") {
        return Ok(StepAction::Event(Value::Object(map)));
    }
    let directive = only(&mut map, "advance")
        .map(|seconds| seconds.map(StepAction::Advance))
        .or_else(|| only(&mut map, "write").map(|files| files.map(StepAction::Write)))
        .or_else(|| only(&mut map, "remove").map(|path| path.map(StepAction::Remove)))
        .or_else(|| only(&mut map, "commands").map(|ends| ends.map(StepAction::Commands)))
        .or_else(|| only(&mut map, "git").map(|git| git.map(StepAction::Git)))
        .or_else(|| only(&mut map, "set").map(|set| set.map(StepAction::Set)))
        .or_else(|| only(&mut map, "snapshot").map(|name| name.map(StepAction::Snapshot)))
        .or_else(|| only(&mut map, "restore").map(|name| name.map(StepAction::Restore)))
        .or_else(|| only(&mut map, "approve").map(|by| by.map(|by| StepAction::Answer { approve: true, by })))
        .or_else(|| only(&mut map, "deny").map(|by| by.map(|by| StepAction::Answer { approve: false, by })))
        .or_else(|| only(&mut map, "request").map(|request| request.map(StepAction::Request)))
        .or_else(|| only(&mut map, "set_task").map(|tasks| tasks.map(StepAction::Task)))
        .or_else(|| only(&mut map, "lift").map(|actor| actor.map(StepAction::Lift)));
    match directive {
        Some(what) => what,
        None => event(map).map(StepAction::Event),
    }
}

/// The short form of an event becomes the long one.
fn event(mut map: Map<String, Value>) -> Result<Value, String> {
    let kinds = || map.keys().filter(|key| key.parse::<EventKind>().is_ok());
    let (Some(word), None) = (kinds().next().cloned(), kinds().nth(1)) else {
        let words = EventKind::ALL.iter().map(|kind| kind.as_str()).chain(DIRECTIVES.iter().copied());
        let slip = map
            .keys()
            .find(|key| !BESIDE_A_KIND.contains(&key.as_str()) && nearest(key, words.clone()).is_some());
        if let (None, Some(slip)) = (kinds().next(), slip) {
            let words: Vec<&str> = words.clone().collect();
            return Err(format!("unknown field `{slip}`, expected one of `{}`", words.join("`, `")));
        }
        return Err("a step is one kind of event, such as `before_tool: NAME`, or one of `advance`, `write`, `remove`, \
                    `commands`, `git`, `set`, `snapshot`, `restore`, `approve`, `deny`, `request`, `set_task`, `lift`"
            .to_owned());
    };
    let subject = map.remove(&word).unwrap_or_default();
    let kind: EventKind = word.parse().map_err(|error: midrail_core::UnknownKind| error.to_string())?;
    map.insert("kind".to_owned(), Value::from(kind.as_str()));
    match kind {
        EventKind::BeforeTool | EventKind::AfterTool => {
            let mut tool = Map::from_iter([("name".to_owned(), subject)]);
            tool.extend(map.remove("args").map(|args| ("args".to_owned(), args)));
            tool.extend(map.remove("call_id").map(|id| ("call_id".to_owned(), id)));
            map.insert("tool".to_owned(), Value::Object(tool));
            let result: Map<String, Value> = ["ok", "content", "exit_code"]
                .iter()
                .filter_map(|key| Some(((*key).to_owned(), map.remove(*key)?)))
                .collect();
            if !result.is_empty() {
                map.insert("result".to_owned(), Value::Object(result));
            }
        }
        EventKind::BeforeModel | EventKind::ModelChunk | EventKind::AfterModel => {
            map.insert("text".to_owned(), subject);
        }
        EventKind::BeforeHandoff | EventKind::AfterHandoff => {
            map.insert("handoff".to_owned(), subject);
        }
        EventKind::OnError => {
            map.insert("error".to_owned(), subject);
        }
        EventKind::BeforeStop => {
            map.insert("output".to_owned(), subject);
        }
        EventKind::SessionStart
        | EventKind::SessionEnd
        | EventKind::ApprovalDecided
        | EventKind::Observed
        | EventKind::Restored
        | EventKind::Administered => {}
    }
    let event = Value::Object(map);
    let read: Event =
        serde_json::from_value(event.clone()).map_err(|error| format!("this is no event: {error}"))?;
    match read.extra.keys().next() {
        // Hosts may send what they like; in a case, what is not known is a slip.
        Some(key) => Err(format!("unknown field `{key}`, expected one of `{}`", BESIDE_A_KIND.join("`, `"))),
        None => Ok(event),
    }
}

/// The steps that are no event.
const DIRECTIVES: [&str; 13] = [
    "advance", "write", "remove", "commands", "git", "set", "snapshot", "restore", "approve", "deny",
    "request", "set_task", "lift",
];

/// The keys that may stand beside the kind in the short form of an event.
const BESIDE_A_KIND: &[&str] = &[
    "args",
    "call_id",
    "ok",
    "content",
    "exit_code",
    "expect",
    "agent",
    "task",
    "usage",
    "cwd",
    "session",
    "time",
    "prompt",
    "deadline",
    "parent",
    "stream",
    "last",
    "stop_reason",
    "history",
    "last_assistant",
    "available_tools",
    "source",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_is_the_wire() {
        let step: CaseStep = serde_json::from_value(json!({
            "after_tool": "Read", "args": {"file_path": "a"}, "ok": true, "cwd": "/r", "expect": "allow",
        }))
        .unwrap();
        let expected = json!({
            "kind": "after_tool", "tool": {"name": "Read", "args": {"file_path": "a"}}, "result": {"ok": true}, "cwd": "/r",
        });
        assert_eq!(step.action, StepAction::Event(expected));
        assert_eq!(step.expect.unwrap().effect, Some(Effect::Allow));
    }

    #[test]
    fn what_is_written_reads_back() {
        for step in [
            json!({"before_tool": "Write", "args": {"file_path": "a"}, "expect": {"effect": "block", "reason": "read"}}),
            json!({"after_model": "text", "expect": "allow"}),
            json!({"advance": 5.0}),
            json!({"write": {"a": "b"}}),
            json!({"commands": {"make": {"exit_code": 2, "output": "no"}, "sleep 9": "timeout"}}),
            json!({"git": {"branch": "main", "head": "ab"}}),
            json!({"deny": "ann"}),
        ] {
            let step: CaseStep = serde_json::from_value(step).unwrap();
            let written = serde_json::to_value(&step).unwrap();
            assert_eq!(serde_json::from_value::<CaseStep>(written).unwrap(), step);
        }
    }

    #[test]
    fn a_slip_in_a_step_is_told() {
        let error = serde_json::from_value::<CaseStep>(json!({"before_tool": "x", "argss": {}})).unwrap_err();
        assert!(error.to_string().starts_with("unknown field `argss`, expected one of `args`"), "{error}");
    }

    #[test]
    fn a_slip_in_the_end_of_a_command_is_told() {
        for end in [json!("never"), json!({"exit": 1})] {
            let error = serde_json::from_value::<CaseStep>(json!({"commands": {"make": end}})).unwrap_err();
            assert!(error.to_string().contains("in `commands`: a command ends as"), "{error}");
        }
    }

    #[test]
    fn a_step_that_is_nothing_says_what_it_could_be() {
        let error = serde_json::from_value::<CaseStep>(json!({"tool": "x"})).unwrap_err().to_string();
        assert!(error.contains("`before_tool: NAME`"), "{error}");
    }
}
