//! Cases: a simulated machine, a sequence of events, and the expected decisions. Packs contain them as `tests`, the corpus
//! consists of them, and pages of guardrails show them. The engine runs them.

use std::collections::BTreeMap;

use midrail_core::{CommandOutcome, Effect, Event, EventKind, GitState, Risk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::decode::describe_serde_error;
use crate::diagnostic::nearest;
use crate::hints::{is_command_word, step_without_kind};
use crate::raw::definitions::{AgentDefinition, TaskDefinition};
use crate::raw::flow::LabelText;
use crate::raw::gateway::{RiskRouter, StrikeLimit};
use crate::raw::guard::Guard;
use crate::scalar::OneOrMany;
use crate::words::parse_effect;

/// A file of cases: the corpus, or a block of a page.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// What the cases test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The cases.
    pub cases: Vec<Case>,
}

/// One case. In the `tests` of a pack, that pack decides; in a case file, the guardrails of the case itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name.
    pub id: String,
    /// Its origin, or what it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Its guardrails.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::raw::guard::guards")]
    pub guardrails: Vec<Guard>,
    /// Its labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<LabelText>,
    /// Its definitions of agents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, AgentDefinition>,
    /// Its definitions of tasks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<String, TaskDefinition>,
    /// A pack document as text, in any dialect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// Packs: paths relative to the case file, or names of shipped packs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packs: OneOrMany,
    /// The problems that loading must report, as parts of their text. Such a case has no events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: OneOrMany,
    /// The files of the simulated machine: path to content. A list creates empty files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Files>,
    /// `unavailable`: the machine has no file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<FileSystem>,
    /// Whether calls can be made in a sandbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sandbox: bool,
    /// The results of commands, by command line. Other commands cannot be run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commands: BTreeMap<String, StubExit>,
    /// The state of the git repository. Without it, there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// Facts of the project and the machine, by their name in expressions: `{kube.context: prod}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Value>,
    /// The answers of external services, by guardrail. Other services do not answer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, StubAnswer>,
    /// The risks of tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_risks: BTreeMap<String, Risk>,
    /// The wait times for deep guardrails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_router: Option<RiskRouter>,
    /// The effects of strikes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strikes: Vec<StrikeLimit>,
    /// Variables of the session.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub session: BTreeMap<String, Value>,
    /// The steps, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<CaseStep>,
}

impl Case {
    /// The tools that its events call.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &str> {
        self.events.iter().filter_map(|step| match &step.action {
            StepAction::Event(event) => event.pointer("/tool/name")?.as_str(),
            _ => None,
        })
    }
}

/// The answer of an external service: `{answer: …}` or `{error: …}`, after `takes_ms` milliseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StubAnswer {
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// The error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The duration in milliseconds.
    #[serde(default)]
    pub takes_ms: u64,
}

/// The files of the simulated machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected the files of the test; write `{a.txt: CONTENT}`, or `[a.txt]` for empty files"
)]
pub enum Files {
    /// Files with content.
    Content(BTreeMap<String, String>),
    /// Empty files.
    Names(Vec<String>),
}

impl Files {
    /// The files by path.
    pub fn into_map(self) -> BTreeMap<String, String> {
        match self {
            Files::Content(files) => files,
            Files::Names(names) => names.into_iter().map(|name| (name, String::new())).collect(),
        }
    }
}

/// The result of a command: `{exit_code: 1, output: …}` or `timeout`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a command ends as `{exit_code: NUMBER, output: TEXT}`, `{signal: true}` or `timeout`"
)]
pub enum StubExit {
    /// A keyword.
    Word(StubExitWord),
    /// An exit status.
    Status(StubExitStatus),
}

/// Results of commands that are keywords.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StubExitWord {
    /// The command did not end in time.
    Timeout,
}

/// The exit status of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StubExitStatus {
    /// Its exit code.
    pub exit_code: i32,
    /// Its output.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Whether a signal ended it, so that it has no exit code.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub signal: bool,
}

impl StubExit {
    /// The outcome as a probe reports it. `None`: not in time.
    pub fn to_command_outcome(&self) -> Option<CommandOutcome> {
        match self {
            StubExit::Word(StubExitWord::Timeout) => None,
            StubExit::Status(StubExitStatus { exit_code, output, signal }) => Some(CommandOutcome {
                exit_code: (!signal).then_some(*exit_code),
                output: output.clone(),
                took_ms: 1,
                ..CommandOutcome::default()
            }),
        }
    }
}

/// The state of a git repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Git {
    /// The current branch. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The current commit. Absent: none yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The upstream branch, as `remote/branch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The top directory of the work tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<String>,
    /// The addresses of its remotes, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub remotes: BTreeMap<String, String>,
}

impl Git {
    /// The state as a probe reports it.
    pub fn to_git_state(&self) -> GitState {
        let top = self.top.clone().unwrap_or_else(|| "/repo".to_owned());
        GitState {
            branch: self.branch.clone(),
            head: self.head.clone(),
            common: format!("{top}/.git"),
            top,
            upstream: self.upstream.clone(),
            remotes: self.remotes.clone(),
            ..GitState::default()
        }
    }
}

/// The availability of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileSystem {
    /// There is none.
    Unavailable,
}

/// One step: an event, or a change of the simulated machine.
///
/// An event is written as its kind with the name of the tool (or the text), next to the fields of the wire format:
/// `{before_tool: Write, args: {file_path: a}, expect: block}`.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema)]
#[schemars(with = "BTreeMap<String, Value>")]
pub struct CaseStep {
    /// The action.
    pub action: StepAction,
    /// The expected result.
    pub expect: Option<Expectation>,
}

/// The action of a step. All but an event are written as `{ACTION: VALUE}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepAction {
    /// An event in the wire format.
    #[serde(skip)]
    Event(Value),
    /// Advances the clock by seconds.
    Advance(f64),
    /// Writes files.
    Write(BTreeMap<String, String>),
    /// Removes a file.
    Remove(String),
    /// Changes the results of commands.
    Commands(BTreeMap<String, StubExit>),
    /// Changes the state of the repository.
    Git(Git),
    /// Changes facts of the project and the machine.
    Facts(BTreeMap<String, Value>),
    /// Sets variables of the session.
    Set(BTreeMap<String, Value>),
    /// Takes a snapshot of the session.
    Snapshot(String),
    /// Restores a snapshot.
    Restore(String),
    /// Approves the last request.
    Approve(CaseApprover),
    /// Denies the last request.
    Deny(CaseApprover),
    /// Requests a bypass for the last event.
    Request(CaseRequest),
    /// Sets the status of tasks.
    SetTask(BTreeMap<String, String>),
    /// Releases a quarantined agent.
    Lift(String),
}

/// The approver: a name with every role, or a name with one role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a name, or `{by: NAME, role: ROLE}`")]
pub enum CaseApprover {
    /// An approver with every role.
    Anyone(String),
    /// An approver with one role.
    As {
        /// Their name.
        by: String,
        /// Their role.
        role: String,
    },
}

/// A bypass request of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseRequest {
    /// Its justification.
    pub reason: String,
    /// `normal`, `urgent` or `emergency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgency: Option<String>,
    /// The guardrail to bypass, if it is not the one that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guardrail: Option<String>,
}

impl Default for StepAction {
    fn default() -> Self {
        StepAction::Advance(0.0)
    }
}

/// The expected result of an event. A bare effect is the same as `{effect: …}`.
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
    /// Whether no person needs to be asked.
    pub vouched: Option<bool>,
    /// Parts of the grounds why no person needs to be asked.
    pub grounds: OneOrMany,
    /// Parts of the content.
    pub content: OneOrMany,
    /// Parts of the feedback.
    pub feedback: OneOrMany,
    /// The providers of feedback, in order. Empty: none.
    pub providers: Option<Vec<String>>,
    /// Parts of the message for the next attempt.
    pub retry: OneOrMany,
    /// Entries of the metadata.
    pub metadata: Map<String, Value>,
    /// The guardrails that were evaluated (not skipped), without the always-on built-ins.
    pub evaluated: Option<Vec<String>>,
    /// The guardrails that failed.
    pub errors: Option<Vec<String>>,
    /// The effect that shadow mode suppressed.
    #[serde(deserialize_with = "crate::words::effect", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::words::EffectWord>")]
    pub would: Option<Effect>,
    /// Further consequences.
    pub effects: Option<Vec<String>>,
    /// The denial in the audit record: policy and tool.
    pub denied: Option<PolicyDenial>,
    /// The autonomy of the agent: `standard`, `strict`, `lockdown` or `halt`.
    pub autonomy: Option<String>,
    /// The recovery after an error: `retry`, `rollback`, `escalate` or `quarantine`.
    pub recovery: Option<String>,
    /// The recipients of notices, in order.
    pub notices: Option<Vec<String>>,
    /// Whether the host must undo the action.
    pub rollback: Option<bool>,
    /// Parts of the message if a step that is not an event is refused.
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

/// An event is written in the wire format, any other action as it is read.
impl Serialize for CaseStep {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut step = match &self.action {
            StepAction::Event(event) => event.clone(),
            action => serde_json::to_value(action).map_err(serde::ser::Error::custom)?,
        };
        if let (Some(expect), Value::Object(step)) = (&self.expect, &mut step) {
            let expect = serde_json::to_value(expect).map_err(serde::ser::Error::custom)?;
            step.insert("expect".to_owned(), expect);
        }
        step.serialize(serializer)
    }
}

fn expectation(value: Value) -> Result<Expectation, StepError> {
    match value {
        Value::String(word) => {
            let effect = parse_effect(&word).map_err(|error| StepError::inside("expect", error))?;
            Ok(Expectation { effect: Some(effect), ..Expectation::default() })
        }
        map => serde_path_to_error::deserialize(map).map_err(|error| {
            let keys = error.path().iter().filter_map(|segment| match segment {
                serde_path_to_error::Segment::Map { key } => Some(format!("in `{key}`: ")),
                _ => None,
            });
            StepError(format!("in `expect`: {}{}", keys.collect::<String>(), error.inner()))
        }),
    }
}

fn parse_action(map: Map<String, Value>) -> Result<StepAction, StepError> {
    if map.contains_key("kind") {
        return Ok(StepAction::Event(Value::Object(map)));
    }
    let Some(action) = ACTIONS.into_iter().find(|action| map.contains_key(*action)) else {
        return event(map).map(StepAction::Event);
    };
    if let Some(other) = map.keys().find(|key| *key != action) {
        return Err(StepError(format!("`{other}` cannot be combined with `{action}`")));
    }
    StepAction::deserialize(Value::Object(map)).map_err(|error| StepError::inside(action, error))
}

/// Why a step cannot be read. [`decode`](crate::decode()) finds the place by the keys at its start.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct StepError(String);

impl StepError {
    fn inside(key: &str, error: impl std::fmt::Display) -> Self {
        StepError(format!("in `{key}`: {error}"))
    }

    fn unknown_field(field: &str, known: &[&str]) -> Self {
        StepError(format!("unknown field `{field}`, expected one of `{}`", known.join("`, `")))
    }
}

/// Converts the short form of an event to the wire format.
fn event(mut map: Map<String, Value>) -> Result<Value, StepError> {
    let kinds = || map.keys().filter(|key| key.parse::<EventKind>().is_ok());
    let (Some(word), None) = (kinds().next().cloned(), kinds().nth(1)) else {
        let words: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).chain(ACTIONS).collect();
        // A command is no event, although `command` is nearly one of the actions.
        let is_misspelt = |key: &&String| {
            !EVENT_KEYS.contains(&key.as_str())
                && (is_command_word(key) || nearest(key, words.iter().copied()).is_some())
        };
        return Err(match map.keys().find(is_misspelt).filter(|_| kinds().next().is_none()) {
            Some(key) if is_command_word(key) => StepError::unknown_field(key, &EVENT_KEYS),
            Some(key) => StepError::unknown_field(key, &words),
            None => {
                let kinds: Vec<&str> = kinds().map(String::as_str).collect();
                StepError(step_without_kind(&kinds, map.contains_key("tool"), &ACTIONS))
            }
        });
    };
    let subject = map.remove(&word).unwrap_or_default();
    let kind: EventKind =
        word.parse().map_err(|error: midrail_core::UnknownKind| StepError(error.to_string()))?;
    map.insert("kind".to_owned(), Value::from(kind.as_str()));
    let mut part = |keys: &[&str]| -> Map<String, Value> {
        keys.iter().filter_map(|key| Some(((*key).to_owned(), map.remove(*key)?))).collect()
    };
    let subject = match kind {
        EventKind::BeforeTool | EventKind::AfterTool => {
            let (mut tool, result) =
                (part(&["args", "call_id"]), part(&["ok", "content", "exit_code", "box"]));
            tool.insert("name".to_owned(), subject);
            map.extend((!result.is_empty()).then(|| ("result".to_owned(), Value::Object(result))));
            Some(("tool", Value::Object(tool)))
        }
        EventKind::BeforeModel | EventKind::ModelChunk | EventKind::AfterModel => Some(("text", subject)),
        EventKind::BeforeHandoff | EventKind::AfterHandoff => Some(("handoff", subject)),
        EventKind::OnError => Some(("error", subject)),
        EventKind::BeforeStop => Some(("output", subject)),
        EventKind::ToolsOffered => Some(("tools", subject)),
        EventKind::SessionStart
        | EventKind::SessionEnd
        | EventKind::ApprovalDecided
        | EventKind::Observed
        | EventKind::Restored
        | EventKind::Administered => None,
    };
    map.extend(subject.map(|(key, value)| (key.to_owned(), value)));
    let event = Value::Object(map);
    let read: Event = serde_path_to_error::deserialize(event.clone()).map_err(|error| {
        let (message, _) = describe_serde_error(&error.inner().to_string());
        let help = "write it as in `{before_tool: NAME, args: {…}, agent: {role: NAME}, expect: EFFECT}`";
        StepError(format!("not a valid event: `{}`: {message}; {help}", error.path()))
    })?;
    match read.extra.keys().next() {
        // Hosts may send unknown fields; in a case, an unknown field is a mistake.
        Some(key) => Err(StepError::unknown_field(key, &EVENT_KEYS)),
        None => Ok(event),
    }
}

/// The actions that are not events.
const ACTIONS: [&str; 14] = [
    "advance", "write", "remove", "commands", "git", "facts", "set", "snapshot", "restore", "approve",
    "deny", "request", "set_task", "lift",
];

/// The keys that are allowed next to the kind in the short form of an event.
const EVENT_KEYS: [&str; 25] = [
    "args",
    "call_id",
    "ok",
    "content",
    "exit_code",
    "box",
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
    "server",
    "host",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn short_form_becomes_the_wire_format() {
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
    fn steps_round_trip() {
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
    fn misspelt_key_of_a_step_is_reported() {
        let error = serde_json::from_value::<CaseStep>(json!({"before_tool": "x", "argss": {}})).unwrap_err();
        assert!(error.to_string().starts_with("unknown field `argss`, expected one of `args`"), "{error}");
    }

    #[test]
    fn misspelt_result_of_a_command_is_reported() {
        for end in [json!("never"), json!({"exit": 1})] {
            let error = serde_json::from_value::<CaseStep>(json!({"commands": {"make": end}})).unwrap_err();
            assert!(error.to_string().contains("in `commands`: a command ends as"), "{error}");
        }
    }

    #[test]
    fn unknown_step_lists_the_alternatives() {
        let error = serde_json::from_value::<CaseStep>(json!({"tool": "x"})).unwrap_err().to_string();
        assert!(error.contains("`before_tool: NAME`"), "{error}");
    }
}
