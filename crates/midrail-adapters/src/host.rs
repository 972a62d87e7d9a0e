//! What every adapter has: the hook_events of its host, what the host can do at each, and the two translations.

use std::time::Duration;

use midrail::core::HostLimit;
use midrail::{Decision, Event, EventKind};
use serde_json::{Map, Value};

use crate::messages;

/// One host's protocol.
pub trait Adapter: Sync {
    /// What it is called, when it asks, and how long it waits.
    fn info(&self) -> &'static HostInfo;

    /// Its name on the command line and in records.
    fn name(&self) -> &'static str {
        self.info().name
    }

    /// Its name for people.
    fn title(&self) -> &'static str {
        self.info().title
    }

    /// The hook_events at which the host asks or tells.
    fn hook_events(&self) -> &'static [HookEvent] {
        self.info().hook_events
    }

    /// How long the host waits for an answer where its settings do not say.
    fn timeout(&self) -> Duration {
        self.info().timeout
    }

    /// The same at one hook_event, where the host is in a hurry.
    fn timeout_at(&self, _moment: Option<&str>) -> Duration {
        self.timeout()
    }

    /// What the host calls the hook_event, where the payload tells.
    fn hook_event_name<'p>(&self, payload: &'p Payload) -> Option<&'p str> {
        payload.text("hook_event_name")
    }

    /// Fills an event of the hook_event's kind from the payload. The rest (host, kind) is filled in already.
    fn decode(&self, hook_event: &HookEvent, payload: &Payload, event: &mut Event) -> Result<(), String>;

    /// Further events that the payload tells of beside the one that it is: each has to pass as well.
    fn implied_events(&self, _moment: &HookEvent, _payload: &Payload) -> Vec<Event> {
        Vec::new()
    }

    /// A decision in the host's words.
    fn encode(&self, hook_event: &HookEvent, payload: &Payload, decision: &Decision) -> HookOutput;

    /// The answer of a hook_event that is not known, or that nothing is to be said to.
    fn allow(&self) -> HookOutput {
        HookOutput::default()
    }

    /// The answer where no decision could be made. What can be stopped is stopped.
    fn refuse(&self, _moment: Option<&HookEvent>, why: &str) -> HookOutput {
        HookOutput::refusal(why)
    }

    /// Whether the agent wants to stop and was sent back to work before. Only so often: see [`Hook::refuse`].
    ///
    /// [`Hook::refuse`]: crate::hook::Hook::refuse
    fn is_continuation(&self, payload: &Payload) -> bool {
        payload.get("stop_hook_active").and_then(Value::as_bool).unwrap_or(false)
    }
}

/// What a host is called, when it asks, and how long it waits.
#[derive(Debug)]
pub struct HostInfo {
    /// Its name on the command line and in records.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The hook_events at which it asks or tells.
    pub hook_events: &'static [HookEvent],
    /// How long it waits for an answer where its settings do not say.
    pub timeout: Duration,
}

/// One hook_event at which a host asks or tells.
#[derive(Debug, Clone, Copy)]
pub struct HookEvent {
    /// What the host calls it.
    pub name: &'static str,
    /// What it is to us.
    pub kind: EventKind,
    /// What the host can do with the answer.
    pub capabilities: Capabilities,
}

/// A hook_event, for the tables of hosts.
pub(crate) const fn hook_event(name: &'static str, kind: EventKind, capabilities: Capabilities) -> HookEvent {
    HookEvent { name, kind, capabilities }
}

/// What a host can do with an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Stop what is about to happen, withhold a result, or keep the agent at work.
    pub block: bool,
    /// Ask its own user.
    pub ask: bool,
    /// Pass on a changed text.
    pub redact: bool,
    /// Tell the agent something beside an answer that lets pass.
    pub notes: bool,
    /// End the run.
    pub halt: bool,
}

impl Capabilities {
    /// Nothing: the host only tells.
    pub const NOTHING: Capabilities =
        Capabilities { block: false, ask: false, redact: false, notes: false, halt: false };

    /// What is missing from everything.
    pub fn lacks(self) -> Vec<HostLimit> {
        let all = [
            (self.notes, HostLimit::Notes),
            (self.redact, HostLimit::Redact),
            (self.block, HostLimit::Block),
            (self.halt, HostLimit::Halt),
        ];
        all.into_iter().filter(|(can, _)| !can).map(|(_, lack)| lack).collect()
    }
}

/// What a hook process answers its host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookOutput {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

impl HookOutput {
    /// A JSON object on standard output.
    pub fn json(value: &Value) -> Self {
        HookOutput { stdout: format!("{value}\n"), ..HookOutput::default() }
    }

    /// The one refusal that every host understands: a text on standard error, nothing on standard output, exit code 2.
    pub fn refusal(why: &str) -> Self {
        let why = if why.trim().is_empty() { messages::NO_REASON } else { why };
        HookOutput { stdout: String::new(), stderr: format!("{}\n", why.trim_end()), code: 2 }
    }

    /// A text for people beside an answer that stops nothing.
    pub fn remark(text: &str) -> Self {
        HookOutput { stderr: format!("{}\n", text.trim_end()), ..HookOutput::default() }
    }
}

/// What a host sent.
#[derive(Debug, Clone, Default)]
pub struct Payload(pub Map<String, Value>);

impl Payload {
    /// A field.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    /// A field that is a text, and not an empty one.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str().filter(|text| !text.is_empty())
    }

    /// The same, on its own.
    pub fn owned(&self, key: &str) -> Option<String> {
        self.text(key).map(str::to_owned)
    }

    /// A field that is an object. One that holds JSON as a text is read.
    pub fn object(&self, key: &str) -> Map<String, Value> {
        match self.get(key) {
            Some(Value::Object(map)) => map.clone(),
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Object(map)) => map,
                // Detection looks into `input`, whether it holds a command line or a patch.
                _ => Map::from_iter([("input".to_owned(), Value::from(text.as_str()))]),
            },
            Some(other) => Map::from_iter([("value".to_owned(), other.clone())]),
            None => Map::new(),
        }
    }
}
