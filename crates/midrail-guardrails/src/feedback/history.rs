//! The stored calls of a prompt, shared by all providers: the number of successes and the most recent calls.

use std::collections::BTreeMap;

use jiff::Timestamp;
use midrail_core::state_prefix;
use serde_json::{Value, json};

use super::state::ProviderState;
use crate::prelude::*;
use crate::shared::data::TOOLS;
use crate::shared::fnv::Fnv;
use crate::shared::outcome::CallOutcome;

/// Maximum number of remembered calls: enough for ten rounds of a cycle of four.
pub(super) const RECENT: usize = 40;

/// Maximum length of a remembered tool name.
const MAX_NAME: usize = 64;

/// Maximum depth of hashed arguments.
const MAX_DEPTH: usize = 32;

/// The calls of a prompt so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct History {
    /// Successful calls.
    pub(super) calls: u64,
    /// The last calls, the latest at the end.
    pub(super) recent: Vec<Call>,
}

/// A remembered call, stored as a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(String, String, bool)", into = "(String, String, bool)")]
pub(super) struct Call {
    pub(super) tool: String,
    /// A digest of its normalised arguments.
    pub(super) args: String,
    pub(super) ok: bool,
}

impl From<(String, String, bool)> for Call {
    fn from((tool, args, ok): (String, String, bool)) -> Self {
        Call { tool, args, ok }
    }
}

impl From<Call> for (String, String, bool) {
    fn from(Call { tool, args, ok }: Call) -> Self {
        (tool, args, ok)
    }
}

impl Call {
    pub(super) fn from_context(context: &Context<'_>, ok: bool) -> Option<Self> {
        let tool = context.event.tool.as_ref()?;
        let name = tool.name.chars().take(MAX_NAME).collect();
        Some(Call { tool: name, args: digest(&tool.args, context), ok })
    }
}

/// The last note of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredNote {
    pub(super) provider: String,
    pub(super) text: String,
    /// The number of calls when it was added.
    pub(super) at: u64,
}

/// The name of a slice that all providers of a prompt share.
fn shared_name(prompt: Option<&str>, name: &str) -> String {
    format!("feedback{}{name}", state_prefix("", prompt))
}

/// The slices with the calls of a prompt and the last note of its feedback providers. Scripts read them outside
/// the decision core.
pub fn feedback_slice_keys(prompt: Option<&str>) -> [String; 2] {
    ["calls", "last"].map(|name| shared_name(prompt, name))
}

/// The content of those slices as scripts see it, without the call of the event itself.
pub fn feedback_view(calls: Option<&Value>, last: Option<&Value>) -> Result<Value, Missing> {
    let [calls_name, last_name] = feedback_slice_keys(None);
    let history = Key::<History>::new(calls_name).decode(calls)?.unwrap_or_default();
    let last = Key::<StoredNote>::new(last_name).decode(last)?;
    let recent: Vec<Value> =
        history.recent.iter().map(|call| json!({"tool": call.tool, "ok": call.ok})).collect();
    Ok(json!({
        "calls": history.calls,
        "callsSince": history.calls.saturating_sub(last.as_ref().map_or(0, |last| last.at)),
        "last": last.as_ref().map(|last| &last.text),
        "lastProvider": last.as_ref().map(|last| &last.provider),
        "recentCalls": recent,
    }))
}

impl StoredNote {
    /// The slice with the last note of any provider.
    pub(super) fn last_key(context: &Context<'_>) -> Key<StoredNote> {
        Key::new(shared_name(context.event.prompt.as_deref(), "last"))
    }

    /// The slice with the last note of one provider.
    pub(super) fn provider_key(context: &Context<'_>, provider: &str) -> Key<StoredNote> {
        let name = format!("by/{}", state_prefix(provider, None));
        Key::new(shared_name(context.event.prompt.as_deref(), &name))
    }
}

impl History {
    /// The slice with the calls of the prompt.
    pub(super) fn key(context: &Context<'_>) -> Key<History> {
        Key::new(shared_name(context.event.prompt.as_deref(), "calls"))
    }

    pub(super) fn from_context(context: &Context<'_>) -> Result<Self, Missing> {
        Ok(Self::key(context).read(context)?.unwrap_or_default())
    }

    /// The history including the call of this event.
    pub(super) fn after(mut self, context: &Context<'_>, ok: bool) -> Self {
        self.calls = self.calls.saturating_add(ok.into());
        self.recent.extend(Call::from_context(context, ok));
        let over = self.recent.len().saturating_sub(RECENT);
        self.recent.drain(..over);
        self
    }
}

/// The history as the expressions of a pack see it, including the call of the event itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FeedbackHistory {
    /// Successful calls of this prompt.
    pub calls: u64,
    /// Those since the last note of this provider.
    pub calls_since: u64,
    /// Those since the last note of any provider.
    pub calls_since_any: u64,
    /// The last note.
    pub last: Option<String>,
    /// Its provider.
    pub last_provider: Option<String>,
    /// The time of the last note of this provider.
    pub last_time: Option<Timestamp>,
    /// The tools of the last calls, in order.
    pub recent: Vec<String>,
}

/// The counts and notes of a prompt. They are stored if the policy has feedback providers.
pub fn feedback_history(context: &Context<'_>) -> Result<FeedbackHistory, Missing> {
    // Request all slices before the first one is missing, so that they are fetched together.
    let (history, last) = (History::from_context(context), StoredNote::last_key(context).read(context));
    let own = ProviderState::from_context(context);
    let (mut history, last, own) = (history?, last?, own?);
    let counts = CallOutcome::from_context(context)? == CallOutcome::Success;
    if counts {
        history = history.after(context, true);
    }
    let at = last.as_ref().map_or(0, |last| last.at);
    let (text, provider) = last.map(|last| (last.text, last.provider)).unzip();
    Ok(FeedbackHistory {
        calls: history.calls,
        calls_since: if own.has_noted { own.since.saturating_add(counts.into()) } else { history.calls },
        calls_since_any: history.calls.saturating_sub(at),
        last: text,
        last_provider: provider,
        last_time: own.last,
        recent: history.recent.into_iter().map(|call| call.tool).collect(),
    })
}

/// The last note of one provider, as the expressions of others see it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProviderFeedback {
    /// Successful calls of this prompt since its last note, or all of them if there is none.
    pub calls_since: u64,
    /// Its last note.
    pub last: Option<String>,
}

/// The last note of a provider, by the name that the agent sees.
pub fn provider_feedback(context: &Context<'_>, provider: &str) -> Result<ProviderFeedback, Missing> {
    let note = StoredNote::provider_key(context, provider);
    let (history, note) = (History::from_context(context), note.read(context));
    let counts = CallOutcome::from_context(context)? == CallOutcome::Success;
    let (history, note) = (history?, note?);
    let calls = history.calls.saturating_add(counts.into());
    let calls_since = calls.saturating_sub(note.as_ref().map_or(0, |note| note.at));
    Ok(ProviderFeedback { calls_since, last: note.map(|note| note.text) })
}

/// A digest of normalised arguments: the order of keys, `1` and `1.0`, surrounding whitespace and spellings of a
/// path make no difference. It detects accidental repetition; it is not a protection against an agent that hides
/// something.
fn digest(args: &serde_json::Map<String, Value>, context: &Context<'_>) -> String {
    let mut hash = Fnv::default();
    add_map(args, context, &mut hash, MAX_DEPTH);
    format!("{:016x}", hash.0)
}

fn add_map(map: &serde_json::Map<String, Value>, context: &Context<'_>, hash: &mut Fnv, depth: usize) {
    let sorted: BTreeMap<&String, &Value> = map.iter().filter(|(_, value)| !value.is_null()).collect();
    hash.add(b"{");
    for (key, value) in sorted {
        hash.add(key.as_bytes());
        hash.add(b"\0:");
        add(Some(key), value, context, hash, depth);
    }
    hash.add(b"}");
}

fn add(key: Option<&str>, value: &Value, context: &Context<'_>, hash: &mut Fnv, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::Null => hash.add(b"n"),
        Value::Bool(true) => hash.add(b"t"),
        Value::Bool(false) => hash.add(b"f"),
        Value::Number(number) => match number.as_f64() {
            // Integers of any size are compared as written.
            Some(float) if number.is_f64() => hash.add(format!("#{float}\0").as_bytes()),
            _ => hash.add(format!("#{number}\0").as_bytes()),
        },
        Value::String(text) => {
            let text = text.trim();
            hash.add(b"\"");
            if is_path(key, text) {
                hash.add(context.place(text, None).key.as_bytes());
            } else {
                hash.add(text.as_bytes());
            }
            hash.add(b"\0");
        }
        Value::Array(items) => {
            hash.add(b"[");
            for item in items {
                add(key, item, context, hash, depth);
            }
            hash.add(b"]");
        }
        Value::Object(map) => add_map(map, context, hash, depth),
    }
}

fn is_path(key: Option<&str>, text: &str) -> bool {
    let is_one_word = text.len() <= 4_096 && !text.contains(char::is_whitespace) && !text.contains("://");
    is_one_word && !text.is_empty() && (key.is_some_and(|key| TOOLS.has("paths", key)) || text.contains('/'))
}
