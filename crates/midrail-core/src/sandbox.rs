//! Calls that are contained: what packs permit in a sandbox, and how a call is rewritten so that it runs in one.
//!
//! A contained call runs as `LAUNCHER ID -- COMMAND`. The id names a slice with the rules of the sandbox and a digest of the command,
//! so that the sandbox of one call cannot be used for another one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::hex;
use crate::session::SHARED_PREFIX;

/// The box that a contained call runs in if its guardrail names none.
pub const DEFAULT_BOX: &str = "default";

/// The box for package managers that download packages.
pub const INSTALL_BOX: &str = "install";

/// A box that every policy has, unless its packs define it.
pub fn shipped_box(name: &str) -> Option<SandboxRules> {
    match name {
        DEFAULT_BOX => Some(SandboxRules::default()),
        INSTALL_BOX => Some(SandboxRules { network: SandboxNetwork::All, ..SandboxRules::default() }),
        _ => None,
    }
}

/// How a call can be made in a sandbox on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLauncher {
    /// The argument with the command, by name.
    pub argument: String,
    /// The program that starts a sandbox, and its arguments. The id of the sandbox follows.
    pub command: Vec<String>,
    /// The shell for commands that are one text.
    pub shell: String,
}

/// What a contained call may do beyond its project: a box of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxRules {
    /// The network that it reaches.
    #[serde(skip_serializing_if = "SandboxNetwork::is_none")]
    pub network: SandboxNetwork,
    /// It changes nothing but `write`: no other file of the project, and no cache.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// Further files and folders to read, relative to the project or absolute.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Further files and folders to change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// Files and folders of the project that it must not change, in addition to the settings of git, agents and editors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny_write: Vec<String>,
    /// Variables of the environment that it keeps, although their names are those of secrets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// When the processes end that it leaves in the background.
    #[serde(skip_serializing_if = "SandboxBackground::is_session")]
    pub background: SandboxBackground,
    /// How much it may use.
    #[serde(skip_serializing_if = "SandboxLimits::is_empty")]
    pub limits: SandboxLimits,
}

/// The sandbox that a guardrail requests for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxRequest {
    /// A box of the policy, by name.
    Box(String),
    /// What this call may do.
    Rules(Box<SandboxRules>),
}

impl From<&str> for SandboxRequest {
    fn from(name: &str) -> Self {
        SandboxRequest::Box(name.to_owned())
    }
}

/// The network that a contained call reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxNetwork {
    /// None.
    #[default]
    None,
    /// All that the machine reaches.
    All,
}

impl SandboxNetwork {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    fn is_none(&self) -> bool {
        *self == SandboxNetwork::None
    }
}

/// When the processes end that a contained call leaves in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxBackground {
    /// With the call.
    End,
    /// With the coding agent.
    #[default]
    Session,
}

impl SandboxBackground {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    fn is_session(&self) -> bool {
        *self == SandboxBackground::Session
    }
}

/// How much a contained call may use. Absent: as much as everyday work needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxLimits {
    /// Seconds until it is ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_s: Option<u64>,
    /// Processes and threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Bytes of memory of each process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Bytes of each file that it writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_size: Option<u64>,
}

impl SandboxLimits {
    fn is_empty(&self) -> bool {
        *self == SandboxLimits::default()
    }
}

impl SandboxRules {
    /// What both boxes permit.
    pub fn and(mut self, other: &SandboxRules) -> Self {
        let lower = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        self.network = self.network.min(other.network);
        self.read_only |= other.read_only;
        self.background = self.background.min(other.background);
        for (own, others) in
            [(&mut self.read, &other.read), (&mut self.write, &other.write), (&mut self.env, &other.env)]
        {
            own.retain(|it| others.contains(it));
        }
        for path in &other.deny_write {
            if !self.deny_write.contains(path) {
                self.deny_write.push(path.clone());
            }
        }
        self.limits = SandboxLimits {
            time_s: lower(self.limits.time_s, other.limits.time_s),
            processes: lower(self.limits.processes, other.limits.processes),
            memory: lower(self.limits.memory, other.limits.memory),
            file_size: lower(self.limits.file_size, other.limits.file_size),
        };
        self
    }
}

/// The sandbox of a contained call, as it is stored until the call is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxGrant {
    /// The digest of the command ([`command_digest`]).
    pub command: String,
    /// The folder of the session, which the command may change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The session.
    pub session: String,
    /// What the command may do.
    pub rules: SandboxRules,
    /// When it was granted.
    pub time: String,
}

/// What the sandbox of a contained call refused and restored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SandboxOutcome {
    /// Files that it probably refused to show or to change, as the messages of the command name them, and `network`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Protected files that the command changed, and that were restored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Files that the command wrote to an empty home, and that are gone with the sandbox: `~/bin`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
}

/// The outcome of a sandbox, as it is stored until it is too old to matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredOutcome {
    /// The session of the call.
    pub session: String,
    /// When the call ended.
    pub time: String,
    /// What happened.
    pub outcome: SandboxOutcome,
}

/// The most bytes of a command line that is contained.
const MAX_LINE: usize = 24 * 1024;

/// The slice with the sandbox of a contained call.
pub fn sandbox_key(id: &str) -> String {
    [SHARED_PREFIX, SANDBOXES, id].concat()
}

/// What the slices of sandboxes start with, after the prefix of shared slices.
pub const SANDBOXES: &str = "sandbox/";

/// The slice with the outcome of a sandbox.
pub fn sandbox_outcome_key(id: &str) -> String {
    [&sandbox_key(id), "/outcome"].concat()
}

/// The id of the sandbox in which a contained call is made, as its arguments name it.
pub fn started_sandbox(args: &Map<String, Value>) -> Option<&str> {
    let is_id = |word: &&str| word.len() == ID_LENGTH && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    args.values().find_map(|value| match value {
        Value::String(line) => {
            let (start, rest) = line.split_once(" --box ")?;
            let id = rest.split(' ').next().filter(is_id)?;
            (start.ends_with(" run") || start.contains(" run --")).then_some(id)
        }
        Value::Array(words) => {
            let mut words = words.iter().map(|word| word.as_str().unwrap_or_default());
            words.find(|word| *word == "--box")?;
            words.next().filter(is_id)
        }
        _ => None,
    })
}

/// The length of the id of a sandbox.
pub(crate) const ID_LENGTH: usize = 16;

/// The digest of a command with its arguments.
pub fn command_digest<'w>(words: impl IntoIterator<Item = &'w [u8]>) -> String {
    let mut hash = Sha256::new();
    for word in words {
        hash.update(word);
        hash.update([0]);
    }
    hex::encode(&hash.finalize())
}

/// A call that was rewritten to run in a sandbox.
pub(crate) struct Contained {
    pub(crate) args: Map<String, Value>,
    /// The digest of the command in the sandbox.
    pub(crate) digest: String,
    /// The id of the sandbox.
    pub(crate) id: String,
}

impl SandboxLauncher {
    /// Whether the arguments of a call have a command that can run in a sandbox.
    pub(crate) fn fits(&self, args: &Map<String, Value>) -> bool {
        match args.get(&self.argument) {
            // A longer one would not fit into the arguments of a process.
            Some(Value::String(line)) => line.len() <= MAX_LINE,
            Some(Value::Array(words)) => !words.is_empty() && words.iter().all(Value::is_string),
            _ => false,
        }
    }

    /// The arguments of a call, with its command in a sandbox. `id` makes the id of the sandbox of the digest of the command. `None`:
    /// they have no such command.
    pub(crate) fn contain(
        &self,
        mut args: Map<String, Value>,
        id: impl FnOnce(&str) -> String,
    ) -> Option<Contained> {
        if !self.fits(&args) {
            return None;
        }
        let argument = args.get_mut(&self.argument)?;
        let own = match &*argument {
            Value::String(line) => vec![self.shell.clone(), "-c".to_owned(), line.clone()],
            Value::Array(words) => {
                words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?
            }
            _ => return None,
        };
        let digest = command_digest(own.iter().map(String::as_bytes));
        let id = id(&digest);
        let words = self.command.iter().cloned().chain([id.clone(), "--".to_owned()]).chain(own);
        *argument = match &*argument {
            Value::String(_) => json!(words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")),
            _ => words.collect(),
        };
        Some(Contained { args, digest, id })
    }
}

/// A word for a POSIX shell.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@,+%".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launcher() -> SandboxLauncher {
        SandboxLauncher {
            argument: "command".into(),
            command: vec!["/opt/my tools/midrail".into(), "run".into(), "--box".into()],
            shell: "bash".into(),
        }
    }

    fn args(command: Value) -> Map<String, Value> {
        [("command".to_owned(), command), ("timeout".to_owned(), 5.into())].into_iter().collect()
    }

    #[test]
    fn a_line_is_one_quoted_word_of_the_shell() {
        let contained = launcher().contain(args(json!("make && echo 'done'")), |_| "1f".into()).unwrap();
        let line = r"'/opt/my tools/midrail' run --box 1f -- bash -c 'make && echo '\''done'\'''";
        assert_eq!(contained.args, args(json!(line)));
        let words = ["bash", "-c", "make && echo 'done'"];
        assert_eq!(contained.digest, command_digest(words.map(str::as_bytes)));
    }

    #[test]
    fn a_list_of_words_stays_one() {
        let contained = launcher().contain(args(json!(["bash", "-lc", "make"])), |_| "1f".into()).unwrap();
        let words = ["/opt/my tools/midrail", "run", "--box", "1f", "--", "bash", "-lc", "make"];
        assert_eq!(contained.args, args(json!(words)));
        assert_eq!(contained.digest, command_digest(["bash", "-lc", "make"].map(str::as_bytes)));
    }

    #[test]
    fn a_call_without_a_command_is_not_contained() {
        for command in [json!(null), json!(5), json!([]), json!(["make", 5])] {
            assert!(launcher().contain(args(command), |_| "1f".into()).is_none());
        }
        assert!(launcher().contain(Map::new(), |_| "1f".into()).is_none());
    }

    #[test]
    fn id_of_a_started_sandbox_is_in_its_arguments() {
        let id = "0123456789abcdef";
        for command in [json!("make"), json!(["bash", "-lc", "make"])] {
            let contained = launcher().contain(args(command), |_| id.into()).unwrap();
            assert_eq!(started_sandbox(&contained.args), Some(id));
        }
        for other in ["make", "echo --box 0123456789abcdef", "midrail run --box x", "midrail run -- make"] {
            assert_eq!(started_sandbox(&args(json!(other))), None, "{other}");
        }
    }

    #[test]
    fn words_are_distinct_in_the_digest() {
        assert_ne!(command_digest([&b"ab"[..], b"c"]), command_digest([&b"a"[..], b"bc"]));
        assert_ne!(command_digest([&b"a"[..]]), command_digest([&b"a"[..], b""]));
    }

    #[test]
    fn two_boxes_permit_what_both_permit() {
        let wide = SandboxRules {
            network: SandboxNetwork::All,
            write: vec!["/data".into(), "/srv".into()],
            deny_write: vec!["docs".into()],
            limits: SandboxLimits { time_s: Some(60), ..SandboxLimits::default() },
            ..SandboxRules::default()
        };
        let narrow = SandboxRules {
            write: vec!["/srv".into()],
            deny_write: vec!["src".into()],
            background: SandboxBackground::End,
            limits: SandboxLimits { time_s: Some(90), memory: Some(1), ..SandboxLimits::default() },
            ..SandboxRules::default()
        };
        let both = SandboxRules {
            network: SandboxNetwork::None,
            write: vec!["/srv".into()],
            deny_write: vec!["docs".into(), "src".into()],
            background: SandboxBackground::End,
            limits: SandboxLimits { time_s: Some(60), memory: Some(1), ..SandboxLimits::default() },
            ..SandboxRules::default()
        };
        assert_eq!(wide.clone().and(&narrow), both);
        assert_eq!(wide.clone().and(&wide), wide);
    }
}
