//! What is known of the world outside: facts that probes fetched, and what a decision still needs to know.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::action::Action;
use crate::severity::{Confidence, Severity};

/// The name of a fact. On the wire it is a text such as `file:src/a.rs`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactKey {
    /// What the event does ([`Action`]).
    Action,
    /// The secrets in the event's texts.
    Secrets,
    /// Personal data in the event's texts.
    PersonalData,
    /// Attempts in the event's texts to take over a model.
    Injections,
    /// What the event does beyond its own text by what stands in files that it runs or obeys ([`crate::ScriptSource`]).
    Script(String),
    /// Where a path leads once symbolic links are followed, by the path as the caller spelt it.
    Place(String),
    /// The state of a file, by its place relative to the root (see [`crate::path`]).
    File(String),
    /// How a command ends that a pack names.
    Command(PackCommand),
    /// The state of the files below the root that fit any of these glob patterns, as one digest.
    Tree(Vec<String>),
    /// How many files below the root fit any of these glob patterns.
    Count(Vec<String>),
    /// What would be lost with all that is at and below a place.
    Unsaved(String),
    /// What the repository around the root is at.
    Git,
    /// What the hook of a script answers to the event.
    Hook(HookCall),
    /// What somebody outside says about the event, on behalf of a guardrail.
    Deep(DeepCall),
    /// Anything else that a probe of the engine answers, by the probe's own name for it.
    Answer(String),
}

impl fmt::Display for FactKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FactKey::Action => f.write_str("action"),
            FactKey::Secrets => f.write_str("secrets"),
            FactKey::PersonalData => f.write_str("personal_data"),
            FactKey::Injections => f.write_str("injections"),
            FactKey::Script(path) => write!(f, "script:{path}"),
            FactKey::Place(path) => write!(f, "place:{path}"),
            FactKey::File(path) => write!(f, "file:{path}"),
            FactKey::Command(run) => write!(f, "command:{}:{}", run.timeout_ms, run.command),
            FactKey::Tree(patterns) => write!(f, "tree:{}", Value::from(patterns.as_slice())),
            FactKey::Count(patterns) => write!(f, "count:{}", Value::from(patterns.as_slice())),
            FactKey::Unsaved(place) => write!(f, "unsaved:{place}"),
            FactKey::Git => f.write_str("git"),
            FactKey::Hook(call) if call.after.is_empty() => write!(f, "hook:{}", call.script),
            FactKey::Hook(call) => write!(f, "hook:{}<{}", call.script, call.after.join("<")),
            FactKey::Deep(call) => write!(f, "deep:{}:{}", call.wait_ms, call.guardrail),
            FactKey::Answer(name) => write!(f, "answer:{name}"),
        }
    }
}

/// A text that names no fact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown fact `{0}`")]
pub struct UnknownFact(pub String);

impl FromStr for FactKey {
    type Err = UnknownFact;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            None if text == "action" => Ok(FactKey::Action),
            None if text == "secrets" => Ok(FactKey::Secrets),
            None if text == "personal_data" => Ok(FactKey::PersonalData),
            None if text == "injections" => Ok(FactKey::Injections),
            None if text == "git" => Ok(FactKey::Git),
            Some(("command", run)) => run
                .split_once(':')
                .and_then(|(timeout, command)| {
                    Some(PackCommand { command: command.to_owned(), timeout_ms: timeout.parse().ok()? })
                })
                .map(FactKey::Command)
                .ok_or_else(|| UnknownFact(text.to_owned())),
            Some(("tree", patterns)) => {
                serde_json::from_str(patterns).map(FactKey::Tree).map_err(|_| UnknownFact(text.to_owned()))
            }
            Some(("count", patterns)) => {
                serde_json::from_str(patterns).map(FactKey::Count).map_err(|_| UnknownFact(text.to_owned()))
            }
            Some(("deep", call)) => call
                .split_once(':')
                .and_then(|(wait, guardrail)| {
                    Some(DeepCall { guardrail: guardrail.into(), wait_ms: wait.parse().ok()? })
                })
                .map(FactKey::Deep)
                .ok_or_else(|| UnknownFact(text.to_owned())),
            Some(("hook", call)) => {
                let mut parts = call.split('<').map(Arc::from);
                Ok(FactKey::Hook(HookCall {
                    script: parts.next().unwrap_or_default(),
                    after: parts.collect(),
                }))
            }
            Some(("script", path)) => Ok(FactKey::Script(path.to_owned())),
            Some(("unsaved", place)) => Ok(FactKey::Unsaved(place.to_owned())),
            Some(("place", path)) => Ok(FactKey::Place(path.to_owned())),
            Some(("file", path)) => Ok(FactKey::File(path.to_owned())),
            Some(("answer", name)) => Ok(FactKey::Answer(name.to_owned())),
            _ => Err(UnknownFact(text.to_owned())),
        }
    }
}

impl Serialize for FactKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FactKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A command of a pack, as the shell of the machine runs it in the session's folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackCommand {
    /// The command line.
    pub command: String,
    /// Milliseconds after which it is stopped, with all that it started.
    pub timeout_ms: u64,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommandOutcome {
    /// Its exit code. `None`: a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The end of what it printed on both streams, with secrets replaced.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// A digest of all that it printed, without what differs from run to run. Empty where `output` is all of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// How long it took.
    #[serde(default)]
    pub took_ms: u64,
}

/// A call of a script's hook: `input` before a tool call, `output` with its result.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HookCall {
    /// The guardrail that the script is.
    pub script: Arc<str>,
    /// The scripts before it that replaced the result, in their order. It sees what the last of them made of it.
    pub after: Vec<Arc<str>>,
}

/// How a hook ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookOutcome {
    /// What it answered.
    pub answer: HookAnswer,
    /// The script's own variables afterwards, where they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// Files that the script counts as read from now on, with the checksum of what was read, or as not read. By place.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub snapshot: BTreeMap<String, Option<String>>,
    /// What went wrong after it had answered, which takes back no objection of its.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl HookOutcome {
    /// The end of one that has nothing to object to, and leaves nothing behind.
    pub fn pass() -> Self {
        HookOutcome { answer: HookAnswer::Pass, state: None, snapshot: BTreeMap::new(), failure: None }
    }

    /// Whether it is such an end.
    pub fn is_pass(&self) -> bool {
        *self == HookOutcome::pass()
    }
}

/// What a hook answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookAnswer {
    /// Nothing to object to. Also where the script has no such hook.
    Pass,
    /// The call may not happen.
    Refuse {
        /// Why.
        message: String,
        /// What to do instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        suggestion: Option<String>,
        /// What a person is asked, where one is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<HookRequest>,
    },
    /// The agent is shown another result.
    Replace {
        /// The text of it.
        result: String,
        /// Whether the call counts as failed, so that the agent mends what it did.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// What a script that refuses a call asks of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRequest {
    /// Why the call is needed.
    pub reason: String,
    /// How urgent it is: `normal`, `urgent` or `emergency`.
    pub urgency: String,
}

/// A question to somebody outside, on behalf of a guardrail.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeepCall {
    /// The guardrail.
    pub guardrail: Arc<str>,
    /// Milliseconds that the event waits for the answer.
    pub wait_ms: u64,
}

/// What became of a question to somebody outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeepOutcome {
    /// It was answered in time.
    Answered(Value),
    /// Nobody answered in time. The answer counts for a later event.
    Late,
}

/// What a git repository is at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GitState {
    /// The branch that is checked out. `None`: no branch is (a detached head).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that is checked out. `None`: there is none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The top folder of the work tree, absolute.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub top: String,
    /// The folder that all work trees of the repository share, absolute.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub common: String,
    /// The branch that the current one pushes to, as `remote/branch`, where one is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// Names for commands that the repository's own configuration gives. Of those that start other programs only the
    /// words of git that they hold are told, behind a `!`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub aliases: BTreeMap<String, String>,
    /// What a push without a branch pushes, where the repository's own configuration says: `matching`, `current`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_default: Option<String>,
}

/// Something known of the outside world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// What the event does.
    Action(Box<Action>),
    /// Places of secrets in the event's texts.
    Secrets(Vec<Finding>),
    /// What a detector found in the event's texts.
    Findings(Vec<Finding>),
    /// What scripts and other files do that a command runs.
    Script(Box<Action>),
    /// The place that a path leads to: relative to the root where it lies inside, absolute where it does not.
    Place(String),
    /// The state of a file.
    File(FileState),
    /// How a command ended. One that did not end in time is unavailable.
    Command(CommandOutcome),
    /// The digest of a set of files.
    Tree(String),
    /// How many files there are.
    Count(u64),
    /// What would be lost.
    Unsaved(UnsavedFiles),
    /// What the repository is at. `None`: the root is in no repository.
    Git(Option<GitState>),
    /// How the hook of a script ended.
    Hook(HookOutcome),
    /// What somebody outside said.
    Deep(DeepOutcome),
    /// A probe's answer.
    Answer(Value),
    /// It was asked for and could not be had, for this reason.
    Unavailable(String),
}

impl Fact {
    /// What an event does, or why that is not known.
    pub fn from_action(action: Result<Action, String>) -> Self {
        action.map_or_else(Fact::Unavailable, |action| Fact::Action(Box::new(action)))
    }
}

/// Files that are nowhere else: the repository does not hold them as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UnsavedFiles {
    /// Their places, relative to the root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// There are more than are told, or than were looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// The state of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// There is nothing at this place.
    Absent,
    /// A folder, or something else that is no ordinary file.
    Special,
    /// An ordinary file.
    File {
        /// A digest of the content.
        checksum: String,
    },
}

/// Something that a detector found in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was found: `aws-access-key`.
    pub kind: String,
    /// Where in the event, as a JSON pointer to the text.
    pub at: String,
    /// First byte in that text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// How bad it is.
    #[serde(default)]
    pub severity: Severity,
    /// How sure the detector is.
    #[serde(default)]
    pub confidence: Confidence,
    /// What it is, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub explanation: String,
    /// A keyed fingerprint of what was found, in hexadecimal. Never the thing itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
}

/// All that is known of the outside when a decision is made.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The folder that file facts are read from, and that paths are resolved against. Absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Other spellings of the root, through symbolic links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub root_aliases: Vec<String>,
    /// A digest of the exact action, where the record does not show the event as it was. Approvals are bound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_digest: Option<String>,
    /// Where the engine keeps its own files, beyond the usual places: absolute, or relative to the root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "own_places")]
    pub engine_paths: Vec<String>,
    /// What tells a request to people from an earlier one for the same action at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_salt: Option<String>,
    /// How many bytes of a chunk's text have passed on already. They are there to be read with what follows.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[serde(rename = "passed")]
    pub sent_bytes: usize,
    /// More of a stream would have to be held back than can be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overlong: bool,
    /// The process ends with this event: nobody is there to hear answers that come later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(rename = "is_last")]
    pub is_one_shot: bool,
    /// The facts themselves.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub known: BTreeMap<FactKey, Fact>,
    /// Facts as they will probably be once they are fetched. Whoever reads one goes on as if it were known, and it is told as
    /// lacking all the same ([`crate::Needs`]): the decision holds where it turns out to be so. Only for events without a
    /// result that could be replaced.
    #[serde(skip)]
    pub expected: Vec<(FactKey, Fact)>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Facts {
    /// Adds a fact, or replaces it.
    pub fn insert(&mut self, key: FactKey, fact: Fact) {
        self.known.insert(key, fact);
    }

    /// The fact of a name, if it was asked for.
    pub fn get(&self, key: &FactKey) -> Option<&Fact> {
        self.known.get(key)
    }

    /// A fact as it was expected to be, if it was.
    pub(crate) fn expected(&self, key: &FactKey) -> Option<&Fact> {
        self.expected.iter().find(|(expected, _)| expected == key).map(|(_, fact)| fact)
    }

    /// Whether a fact is known, and is what it was expected to be.
    pub fn is_as_expected(&self, key: &FactKey) -> bool {
        self.expected(key).is_some_and(|expected| self.known.get(key) == Some(expected))
    }
}

/// What a decision lacks: slices of the session to load and facts to fetch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Slices of the session, by key.
    pub slices: BTreeSet<String>,
    /// Facts of the outside.
    pub facts: BTreeSet<FactKey>,
    /// Milliseconds that there are for a fact, where everyone who asked for it can wait only so long.
    pub within_ms: BTreeMap<FactKey, u64>,
}

impl Needs {
    /// Adds a fact that a guardrail needs within so many milliseconds. The longest limit counts, and none if any guardrail sets none.
    pub(crate) fn add_fact(&mut self, key: FactKey, within_ms: Option<u64>) {
        let is_first = !self.facts.contains(&key);
        match within_ms {
            Some(limit) if is_first => {
                self.within_ms.insert(key.clone(), limit);
            }
            Some(limit) => {
                if let Some(longest) = self.within_ms.get_mut(&key) {
                    *longest = limit.max(*longest);
                }
            }
            None => {
                self.within_ms.remove(&key);
            }
        }
        self.facts.insert(key);
    }

    /// Whether nothing is lacking.
    pub fn is_empty(&self) -> bool {
        self.slices.is_empty() && self.facts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_survive_the_audit_record() {
        let mut facts = Facts { root: Some("/repo".into()), ..Facts::default() };
        facts.insert(FactKey::File("a:b.rs".into()), Fact::File(FileState::Absent));
        facts.insert(FactKey::Tree(vec!["src/**".into()]), Fact::Tree("ab".into()));
        facts.insert(FactKey::Count(vec!["out/*.md".into()]), Fact::Count(2));
        facts.insert(FactKey::Git, Fact::Git(None));
        let lost = UnsavedFiles { files: vec!["b:c".into()], more: true };
        facts.insert(FactKey::Unsaved("b:c".into()), Fact::Unsaved(lost));
        let deep = FactKey::Deep(DeepCall { guardrail: "a:b".into(), wait_ms: 7 });
        facts.insert(deep, Fact::Deep(DeepOutcome::Late));
        let answer = HookAnswer::Replace { result: "x".into(), is_error: true };
        for after in [vec![], vec!["a".into(), "b".into()]] {
            let end = HookOutcome { answer: answer.clone(), ..HookOutcome::pass() };
            facts.insert(FactKey::Hook(HookCall { script: "c".into(), after }), Fact::Hook(end));
        }
        facts.insert(
            FactKey::Command(PackCommand { command: "a:b c".into(), timeout_ms: 50 }),
            Fact::Command(CommandOutcome { exit_code: Some(1), ..CommandOutcome::default() }),
        );
        facts.insert(FactKey::Action, Fact::Action(Box::default()));
        facts.insert(FactKey::Answer("tests".into()), Fact::Unavailable("timed out".into()));
        let text = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<Facts>(&text).unwrap(), facts);
    }
}
