//! What is kept of the calls of a prompt, for all providers together: how many went well, and the last few in short.

use std::collections::BTreeMap;

use jiff::Timestamp;
use midrail_core::{Context, Missing, state_prefix};
use serde_json::{Value, json};

use super::providers::Own;

/// The calls that are remembered. A circle of four calls that is gone round ten times fits.
pub(super) const RECENT: usize = 40;

/// Characters of a tool's name that are remembered.
const MAX_NAME: usize = 64;

/// How deep and how far arguments are looked into.
const MAX_DEPTH: usize = 32;

/// The calls of a prompt so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct History {
    /// Calls that went well.
    pub(super) calls: u64,
    /// The last calls, the latest at the end.
    pub(super) recent: Vec<Call>,
}

/// A call in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) tool: String,
    /// A digest of what its arguments mean.
    pub(super) args: String,
    pub(super) ok: bool,
}

impl Call {
    pub(super) fn of(context: &Context<'_>, ok: bool) -> Option<Self> {
        let tool = context.event.tool.as_ref()?;
        let name = tool.name.chars().take(MAX_NAME).collect();
        Some(Call { tool: name, args: digest(&tool.args, context), ok })
    }
}

/// What the keys of slices begin with that all providers of a prompt share.
fn prefix(context: &Context<'_>) -> String {
    prefix_of(context.event.prompt.as_deref())
}

fn prefix_of(prompt: Option<&str>) -> String {
    format!("feedback{}", state_prefix("", prompt))
}

/// The slices that hold the calls of a prompt, and what its feedback providers said last: for scripts, which see the
/// session from outside the law.
pub fn feedback_keys(prompt: Option<&str>) -> [String; 2] {
    ["calls", "last"].map(|name| format!("{}{name}", prefix_of(prompt)))
}

/// What those slices tell, as scripts see it. The call of the event itself is not in it yet.
pub fn feedback_told(calls: Option<&Value>, last: Option<&Value>) -> Value {
    let recent = calls.and_then(|calls| calls.get("recent")?.as_array()).into_iter().flatten();
    let recent: Vec<Value> = recent.map(|call| json!({"tool": call.get(0), "ok": call.get(2)})).collect();
    let count = calls.and_then(|calls| calls.get("calls")?.as_u64()).unwrap_or(0);
    let said = |name: &str| last.and_then(|last| last.get(name)).cloned().unwrap_or_default();
    let at = said("at").as_u64().unwrap_or(0);
    json!({
        "calls": count,
        "callsSince": count.saturating_sub(at),
        "last": said("text"),
        "lastProvider": said("provider"),
        "recentCalls": recent,
    })
}

/// The slice that holds the last feedback of any provider.
pub(super) fn last_key(context: &Context<'_>) -> String {
    format!("{}last", prefix(context))
}

/// The slice that holds the last feedback of one provider.
pub(super) fn by_key(context: &Context<'_>, provider: &str) -> String {
    format!("{}by/{}", prefix(context), state_prefix(provider, None))
}

impl History {
    pub(super) fn key(context: &Context<'_>) -> String {
        format!("{}calls", prefix(context))
    }

    pub(super) fn of(context: &Context<'_>) -> Result<Self, Missing> {
        let Some(slice) = context.slice(&Self::key(context))? else { return Ok(History::default()) };
        let recent = slice.get("recent").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let call = |value: &Value| {
            let text = |at: usize| value.get(at).and_then(Value::as_str).map(str::to_owned);
            Some(Call { tool: text(0)?, args: text(1)?, ok: value.get(2)?.as_bool()? })
        };
        Ok(History {
            calls: slice.get("calls").and_then(Value::as_u64).unwrap_or(0),
            recent: recent.iter().filter_map(call).collect(),
        })
    }

    /// With the call of this event.
    pub(super) fn after(mut self, context: &Context<'_>, ok: bool) -> Self {
        self.calls = self.calls.saturating_add(ok.into());
        self.recent.extend(Call::of(context, ok));
        let over = self.recent.len().saturating_sub(RECENT);
        self.recent.drain(..over);
        self
    }

    pub(super) fn kept(&self) -> Value {
        let recent: Vec<Value> =
            self.recent.iter().map(|call| json!([call.tool, call.args, call.ok])).collect();
        json!({"calls": self.calls, "recent": recent})
    }
}

/// What came before, as the expressions of a pack see it. The call of the event itself is counted in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FeedbackPast {
    /// Calls of this prompt that went well.
    pub calls: u64,
    /// Those since this provider last spoke.
    pub calls_since: u64,
    /// Those since any provider last spoke.
    pub calls_since_any: u64,
    /// What was said last.
    pub last: Option<String>,
    /// Who said it.
    pub last_provider: Option<String>,
    /// When this provider last spoke.
    pub last_time: Option<Timestamp>,
    /// The tools of the last calls, the latest at the end.
    pub recent: Vec<String>,
}

/// What came before this event: counts and feedback of its prompt. It is kept where a policy has feedback providers.
pub fn feedback_past(context: &Context<'_>) -> Result<FeedbackPast, Missing> {
    let (history, last) = (History::of(context), context.slice(&last_key(context)));
    let own = Own::of(context);
    let (mut history, last, own) = (history?, last?, own?);
    let counts = super::Outcome::of(context)? == super::Outcome::Success;
    if counts {
        history = history.after(context, true);
    }
    let text = |name: &str| last.and_then(|last| last.get(name)).and_then(Value::as_str).map(str::to_owned);
    let at = last.and_then(|last| last.get("at")).and_then(Value::as_u64).unwrap_or(0);
    Ok(FeedbackPast {
        calls: history.calls,
        calls_since: match own.has_spoken {
            true => own.since.saturating_add(counts.into()),
            false => history.calls,
        },
        calls_since_any: history.calls.saturating_sub(at),
        last: text("text"),
        last_provider: text("provider"),
        last_time: own.last,
        recent: history.recent.into_iter().map(|call| call.tool).collect(),
    })
}

/// What one provider said last, as the expressions of others see it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FeedbackOf {
    /// Calls of this prompt that went well since it last spoke, or all of them where it has not.
    pub calls_since: u64,
    /// What it said last.
    pub last: Option<String>,
}

/// What a provider said last, by the name that the agent sees.
pub fn feedback_of(context: &Context<'_>, provider: &str) -> Result<FeedbackOf, Missing> {
    let (history, said) = (History::of(context), context.slice(&by_key(context, provider)));
    let counts = super::Outcome::of(context)? == super::Outcome::Success;
    let (history, said) = (history?, said?);
    let at = said.and_then(|said| said.get("at")).and_then(Value::as_u64).unwrap_or(0);
    let last = said.and_then(|said| said.get("text")).and_then(Value::as_str).map(str::to_owned);
    let calls = history.calls.saturating_add(counts.into());
    Ok(FeedbackOf { calls_since: calls.saturating_sub(at), last })
}

/// A digest of what arguments mean: the order of keys, `1` and `1.0`, blanks around texts and spellings of a path make
/// no difference. It tells calls apart that agents repeat by mistake; it is no protection against one that wants to
/// hide something.
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
            // Whole numbers of any size are told apart as they are written.
            Some(float) if number.is_f64() => hash.add(format!("#{float}\0").as_bytes()),
            _ => hash.add(format!("#{number}\0").as_bytes()),
        },
        Value::String(text) => {
            let text = text.trim();
            hash.add(b"\"");
            match is_path(key, text) {
                true => hash.add(context.place(text, None).key.as_bytes()),
                false => hash.add(text.as_bytes()),
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

/// Names of arguments that hold paths.
const PATHS: &[&str] = &[
    "path",
    "paths",
    "file",
    "files",
    "file_path",
    "filename",
    "notebook_path",
    "directory",
    "dir",
    "folder",
];

fn is_path(key: Option<&str>, text: &str) -> bool {
    let is_one_word = text.len() <= 4_096 && !text.contains(char::is_whitespace) && !text.contains("://");
    is_one_word && !text.is_empty() && (key.is_some_and(|key| PATHS.contains(&key)) || text.contains('/'))
}

/// FNV-1a, 64 bits.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
