//! Facts that probes fetched from outside the decision core, and the facts that a decision still needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::action::Action;
use crate::hit::{Confidence, Severity};
use crate::sandbox::SandboxLauncher;
use crate::text_test::TextTest;

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
    /// Keyed digests of the names of destinations in the event's texts.
    Names,
    /// Keyed digests of the spellings of one destination.
    Destination(String),
    /// What the event does through the content of files that it runs or obeys ([`crate::ScriptSource`]).
    Script(String),
    /// The place of a path with symbolic links followed, by the path as the caller spelt it.
    Place(String),
    /// The state of a file, by its place relative to the root (see [`crate::path`]).
    File(String),
    /// The outcome of a command of a pack.
    Command(PackCommand),
    /// The state of the files below the root that match any of these glob patterns, as one digest.
    Tree(Vec<String>),
    /// The number of files below the root that match any of these glob patterns.
    Count(Vec<String>),
    /// The content of the files below the root that match any of these glob patterns, as one digest. Empty: no file matches.
    Contents(Vec<String>),
    /// How often the text of a file passes a test.
    Text(TextTest),
    /// The unsaved files at and below a place.
    Unsaved(String),
    /// The state of the repository around the root.
    Git,
    /// How the call can be made in a sandbox.
    Sandbox,
    /// The outcome of a script's hook on the event.
    Hook(HookCall),
    /// The answer of an external service about the event, for a guardrail.
    Deep(DeepCall),
    /// Any other answer of a probe, by the probe's own name for it.
    Answer(String),
    /// A fact about the call with the arguments that guardrails changed.
    Modified(Box<FactKey>),
}

impl FactKey {
    /// Whether it is a fact about the event itself, so that it differs for changed arguments. Answers of scripts have a key of
    /// their own for them ([`HookCall::after`]).
    pub(crate) fn is_about_event(&self) -> bool {
        use FactKey::{Action, Deep, Injections, Names, PersonalData, Script, Secrets};
        matches!(self, Action | Secrets | PersonalData | Injections | Names | Script(_) | Deep(_))
    }
}

impl fmt::Display for FactKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FactKey::Action => f.write_str("action"),
            FactKey::Secrets => f.write_str("secrets"),
            FactKey::PersonalData => f.write_str("personal_data"),
            FactKey::Injections => f.write_str("injections"),
            FactKey::Names => f.write_str("names"),
            FactKey::Destination(text) => write!(f, "destination:{text}"),
            FactKey::Script(path) => write!(f, "script:{path}"),
            FactKey::Place(path) => write!(f, "place:{path}"),
            FactKey::File(path) => write!(f, "file:{path}"),
            FactKey::Command(run) => write!(f, "command:{}:{}", run.timeout_ms, run.command),
            FactKey::Tree(patterns) => write!(f, "tree:{}", Value::from(patterns.as_slice())),
            FactKey::Count(patterns) => write!(f, "count:{}", Value::from(patterns.as_slice())),
            FactKey::Contents(patterns) => write!(f, "contents:{}", Value::from(patterns.as_slice())),
            FactKey::Text(test) => write!(f, "text:{}", serde_json::to_string(test).map_err(|_| fmt::Error)?),
            FactKey::Unsaved(place) => write!(f, "unsaved:{place}"),
            FactKey::Git => f.write_str("git"),
            FactKey::Sandbox => f.write_str("sandbox"),
            FactKey::Hook(call) if call.after.is_empty() => write!(f, "hook:{}", call.script),
            FactKey::Hook(call) => write!(f, "hook:{}<{}", call.script, call.after.join("<")),
            FactKey::Deep(call) => write!(f, "deep:{}:{}", call.wait_ms, call.guardrail),
            FactKey::Answer(name) => write!(f, "answer:{name}"),
            FactKey::Modified(key) => write!(f, "modified:{key}"),
        }
    }
}

/// The name of an unknown fact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown fact `{0}`")]
pub struct UnknownFact(pub String);

impl FromStr for FactKey {
    type Err = UnknownFact;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownFact(text.to_owned());
        let Some((name, argument)) = text.split_once(':') else {
            return match text {
                "action" => Ok(FactKey::Action),
                "secrets" => Ok(FactKey::Secrets),
                "personal_data" => Ok(FactKey::PersonalData),
                "injections" => Ok(FactKey::Injections),
                "names" => Ok(FactKey::Names),
                "git" => Ok(FactKey::Git),
                "sandbox" => Ok(FactKey::Sandbox),
                _ => Err(unknown()),
            };
        };
        let timed = || {
            let (milliseconds, rest) = argument.split_once(':').ok_or_else(unknown)?;
            Ok((milliseconds.parse().map_err(|_| unknown())?, rest))
        };
        let patterns = || serde_json::from_str(argument).map_err(|_| unknown());
        Ok(match name {
            "script" => FactKey::Script(argument.to_owned()),
            "destination" => FactKey::Destination(argument.to_owned()),
            "place" => FactKey::Place(argument.to_owned()),
            "file" => FactKey::File(argument.to_owned()),
            "unsaved" => FactKey::Unsaved(argument.to_owned()),
            "answer" => FactKey::Answer(argument.to_owned()),
            "modified" => FactKey::Modified(Box::new(argument.parse()?)),
            "tree" => FactKey::Tree(patterns()?),
            "count" => FactKey::Count(patterns()?),
            "contents" => FactKey::Contents(patterns()?),
            "text" => FactKey::Text(serde_json::from_str(argument).map_err(|_| unknown())?),
            "command" => timed().map(|(timeout_ms, command)| {
                FactKey::Command(PackCommand { command: command.to_owned(), timeout_ms })
            })?,
            "deep" => timed().map(|(wait_ms, guardrail)| {
                FactKey::Deep(DeepCall { guardrail: guardrail.into(), wait_ms })
            })?,
            "hook" => {
                let mut parts = argument.split('<').map(Arc::from);
                let script = parts.next().unwrap_or_default();
                FactKey::Hook(HookCall { script, after: parts.collect() })
            }
            _ => return Err(unknown()),
        })
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
    /// Milliseconds after which it is stopped with all processes that it started.
    pub timeout_ms: u64,
}

/// The outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommandOutcome {
    /// Its exit code. `None`: a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The end of its output on both streams, with secrets replaced.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// A digest of its whole output, without parts that differ from run to run. Empty if `output` is complete.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// How long it took.
    #[serde(default)]
    pub took_ms: u64,
}

/// A call of a script's hook: `input` before a tool call, `output` with its result.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HookCall {
    /// The guardrail of the script.
    pub script: Arc<str>,
    /// The guardrails before it that changed the arguments or replaced the result, in order. It sees what the last one left.
    pub after: Vec<Arc<str>>,
}

/// The outcome of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookOutcome {
    /// Its answer.
    pub answer: HookAnswer,
    /// The script's own variables afterwards, if they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// Files that the script marks as read, with the checksum of what was read, or as not read. By place.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub snapshot: BTreeMap<String, Option<String>>,
    /// A failure after its answer. It does not revoke an objection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl HookOutcome {
    /// The outcome without objection and without changes.
    pub fn pass() -> Self {
        HookOutcome { answer: HookAnswer::Pass, state: None, snapshot: BTreeMap::new(), failure: None }
    }

    /// Whether it is an outcome without objection and without changes.
    pub fn is_pass(&self) -> bool {
        *self == HookOutcome::pass()
    }
}

/// The answer of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookAnswer {
    /// No objection. Also if the script has no such hook.
    Pass,
    /// Block the call.
    Refuse {
        /// Why.
        message: String,
        /// What to do instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        suggestion: Option<String>,
        /// The request to an approver, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<HookRequest>,
    },
    /// Replace the result.
    Replace {
        /// The new text.
        result: String,
        /// Whether the call counts as failed, so that the agent fixes it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// The request of a script that blocks a call to an approver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRequest {
    /// Why the call is needed.
    pub reason: String,
    /// How urgent it is: `normal`, `urgent` or `emergency`.
    pub urgency: String,
}

/// A call of an external service for a guardrail.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeepCall {
    /// The guardrail.
    pub guardrail: Arc<str>,
    /// Milliseconds that the event waits for the answer.
    pub wait_ms: u64,
}

/// The outcome of a call of an external service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeepOutcome {
    /// It answered in time.
    Answered(Value),
    /// It did not answer in time. The answer counts for a later event.
    Late,
}

/// The state of a git repository.
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
    /// The branch that the current one pushes to, as `remote/branch`, if one is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// Aliases of the repository's own configuration. Of those that start other programs, only their git words are included, after a
    /// `!`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub aliases: BTreeMap<String, String>,
    /// The addresses of its remotes by name, without passwords.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub remotes: BTreeMap<String, String>,
    /// The remote that a push without a remote goes to, if one is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_remote: Option<String>,
    /// What a push without a branch pushes, if the repository's own configuration sets it: `matching`, `current`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_default: Option<String>,
}

/// A fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// What the event does.
    Action(Arc<Action>),
    /// Places of secrets in the event's texts.
    Secrets(Vec<Finding>),
    /// The findings of a detector in the event's texts.
    Findings(Vec<Finding>),
    /// Keyed digests of names.
    Names(Vec<String>),
    /// What the scripts and other files do that a command runs.
    Script(Box<Action>),
    /// The place of a path: relative to the root if it is inside, absolute if it is not.
    Place(String),
    /// The state of a file.
    File(FileState),
    /// The outcome of a command. One that did not end in time is unavailable.
    Command(CommandOutcome),
    /// The digest of a set of files.
    Tree(String),
    /// The number of files, or of places in a file's text.
    Count(u64),
    /// The unsaved files.
    Unsaved(UnsavedFiles),
    /// The state of the repository. `None`: the root is in no repository.
    Git(Option<GitState>),
    /// How the call can be made in a sandbox. `None`: it cannot.
    Sandbox(Option<SandboxLauncher>),
    /// The outcome of a script's hook.
    Hook(HookOutcome),
    /// The outcome of a call of an external service.
    Deep(DeepOutcome),
    /// A probe's answer.
    Answer(Value),
    /// It could not be fetched, for this reason.
    Unavailable(String),
}

impl Fact {
    /// What an event does, or why it is not known.
    pub fn from_action(action: Result<Action, impl std::error::Error>) -> Self {
        action.map_or_else(
            |error| Fact::Unavailable(error.to_string()),
            |action| Fact::Action(Arc::new(action)),
        )
    }
}

/// Files whose content the repository does not have.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UnsavedFiles {
    /// Their places, relative to the root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// There are more files than listed or checked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// The state of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// There is nothing at this place.
    Absent,
    /// A folder, or anything else that is not a regular file.
    Special,
    /// A regular file.
    File {
        /// A digest of the content.
        checksum: String,
    },
}

/// A finding of a detector in a text.
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
    /// The severity.
    #[serde(default)]
    pub severity: Severity,
    /// The confidence of the detector.
    #[serde(default)]
    pub confidence: Confidence,
    /// What it is, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub explanation: String,
    /// A keyed fingerprint of what was found, in hexadecimal. Never the thing itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
}

/// The facts that a decision is made from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The folder that file facts are read from, and that paths are resolved against. Absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Other spellings of the root, through symbolic links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub root_aliases: Vec<String>,
    /// The folder of the session where no root is known, because files are not read or the event names no folder. Only pauses
    /// depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The digest of the exact action, if the record does not contain the event unchanged. Approvals are bound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_digest: Option<String>,
    /// The engine's own files, in addition to the usual places: absolute, or relative to the root.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "own_places")]
    pub engine_paths: Vec<String>,
    /// Distinguishes an approval request from an earlier one for the same action at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_salt: Option<String>,
    /// Why no further approval is requested: too many requests wait already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_limit: Option<String>,
    /// The approvals of the same action that other calls have used, by the key of their slice.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub used_approvals: BTreeMap<String, String>,
    /// The number of bytes of a chunk's text that were already passed on. They are context for the rest.
    #[serde(default, skip_serializing_if = "is_zero", rename = "passed")]
    pub sent_bytes: usize,
    /// More of a stream would have to be held back than can be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overlong: bool,
    /// The process ends with this event, so a late answer cannot be applied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not", rename = "is_last")]
    pub is_one_shot: bool,
    /// The facts themselves.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub known: BTreeMap<FactKey, Fact>,
    /// The expected values of facts that are still being fetched. A guardrail reads one as if it were known, and it is still a need
    /// ([`crate::Needs`]): the decision is valid if the value turns out as expected. Only for events whose result cannot be
    /// rewritten.
    #[serde(skip)]
    pub expected: Vec<(FactKey, Fact)>,
    /// Facts that were fetched before they were requested. Only those that are read count as known
    /// ([`crate::Evaluation::prefetched`]).
    #[serde(skip)]
    pub prefetched: BTreeMap<FactKey, Fact>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Facts {
    /// Adds a fact, or replaces it.
    pub fn insert(&mut self, key: FactKey, fact: Fact) {
        self.known.insert(key, fact);
    }

    /// The folder of the session, which a pause may cover.
    pub(crate) fn session_folder(&self) -> Option<&str> {
        self.root.as_deref().or(self.folder.as_deref())
    }

    /// What the event does, if it is known.
    pub fn action(&self) -> Option<&Action> {
        match self.get(&FactKey::Action) {
            Some(Fact::Action(action)) => Some(action),
            _ => None,
        }
    }

    /// A fact, if it was fetched.
    pub fn get(&self, key: &FactKey) -> Option<&Fact> {
        self.known.get(key)
    }

    /// The expected value of a fact, if there is one.
    pub(crate) fn expected(&self, key: &FactKey) -> Option<&Fact> {
        self.expected.iter().find(|(expected, _)| expected == key).map(|(_, fact)| fact)
    }

    /// Whether a fact is known and has its expected value.
    pub fn is_as_expected(&self, key: &FactKey) -> bool {
        self.expected(key).is_some_and(|expected| self.known.get(key) == Some(expected))
    }
}

/// The prefetched values that a decision read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PrefetchedReads {
    /// Slices of the session, by key.
    pub slices: BTreeSet<String>,
    /// The facts.
    pub facts: BTreeSet<FactKey>,
}

impl PrefetchedReads {
    /// Whether nothing prefetched was read.
    pub fn is_empty(&self) -> bool {
        self.slices.is_empty() && self.facts.is_empty()
    }

    pub(crate) fn append(&mut self, other: &mut PrefetchedReads) {
        self.slices.append(&mut other.slices);
        self.facts.append(&mut other.facts);
    }
}

/// The values that a decision lacks: slices of the session to load and facts to fetch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Slices of the session, by key.
    pub slices: BTreeSet<String>,
    /// The facts.
    pub facts: BTreeSet<FactKey>,
    /// The milliseconds to fetch a fact in, if all guardrails that need it have a limit.
    pub within_ms: BTreeMap<FactKey, u64>,
}

impl Needs {
    pub(crate) fn append(&mut self, other: &mut Needs) {
        self.slices.append(&mut other.slices);
        self.facts.append(&mut other.facts);
        self.within_ms.append(&mut other.within_ms);
    }

    /// Adds a fact that a guardrail needs within so many milliseconds. The longest limit counts, and none if any guardrail sets none.
    pub(crate) fn add_fact(&mut self, key: FactKey, within_ms: Option<u64>) {
        let limit = if self.facts.insert(key.clone()) {
            within_ms
        } else {
            self.within_ms.get(&key).zip(within_ms).map(|(known, new)| new.max(*known))
        };
        match limit {
            Some(limit) => self.within_ms.insert(key, limit),
            None => self.within_ms.remove(&key),
        };
    }

    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.slices.is_empty() && self.facts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_test::WantedText;

    #[test]
    fn facts_survive_the_audit_record() {
        let mut facts = Facts { root: Some("/repo".into()), ..Facts::default() };
        facts.insert(FactKey::File("a:b.rs".into()), Fact::File(FileState::Absent));
        facts.insert(FactKey::Tree(vec!["src/**".into()]), Fact::Tree("ab".into()));
        facts.insert(FactKey::Count(vec!["out/*.md".into()]), Fact::Count(2));
        facts.insert(FactKey::Contents(vec!["docs/**".into()]), Fact::Tree("cd".into()));
        for wanted in [WantedText::Contains("b:\"c\"".into()), WantedText::Matches("## *".into())] {
            facts.insert(FactKey::Text(TextTest { place: "a:b.md".into(), wanted }), Fact::Count(1));
        }
        facts.insert(FactKey::Git, Fact::Git(None));
        facts.insert(FactKey::Sandbox, Fact::Sandbox(None));
        facts.insert(FactKey::Names, Fact::Names(vec!["0a".into()]));
        facts.insert(FactKey::Destination("https://a:b".into()), Fact::Names(Vec::new()));
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
        facts.insert(FactKey::Action, Fact::Action(Arc::default()));
        facts.insert(FactKey::Answer("tests".into()), Fact::Unavailable("timed out".into()));
        let text = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<Facts>(&text).unwrap(), facts);
    }
}
