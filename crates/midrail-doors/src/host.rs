//! What every door has: the moments of its host, what the host can do at each, and the two translations.

use std::time::Duration;

use midrail::{Decision, Event, EventKind, Lack};
use serde_json::{Map, Value};

use crate::words;

/// One host's protocol.
pub trait Door: Sync {
    /// What it is called, when it asks, and how long it waits.
    fn about(&self) -> &'static About;

    /// Its name on the command line and in records.
    fn name(&self) -> &'static str {
        self.about().name
    }

    /// Its name for people.
    fn title(&self) -> &'static str {
        self.about().title
    }

    /// The moments at which the host asks or tells.
    fn moments(&self) -> &'static [Moment] {
        self.about().moments
    }

    /// How long the host waits for an answer where its settings do not say.
    fn patience(&self) -> Duration {
        self.about().patience
    }

    /// The same at one moment, where the host is in a hurry.
    fn patience_at(&self, _moment: Option<&str>) -> Duration {
        self.patience()
    }

    /// What the host calls the moment, where the payload tells.
    fn moment_in<'p>(&self, payload: &'p Payload) -> Option<&'p str> {
        payload.text("hook_event_name")
    }

    /// Fills an event of the moment's kind from the payload. The rest (host, kind) is filled in already.
    fn decode(&self, moment: &Moment, payload: &Payload, event: &mut Event) -> Result<(), String>;

    /// Further events that the payload tells of beside the one that it is: each has to pass as well.
    fn beside(&self, _moment: &Moment, _payload: &Payload) -> Vec<Event> {
        Vec::new()
    }

    /// A decision in the host's words.
    fn encode(&self, moment: &Moment, payload: &Payload, decision: &Decision) -> Answer;

    /// The answer of a moment that is not known, or that nothing is to be said to.
    fn pass(&self) -> Answer {
        Answer::default()
    }

    /// The answer where no decision could be made. What can be stopped is stopped.
    fn refuse(&self, _moment: Option<&Moment>, why: &str) -> Answer {
        Answer::refusal(why)
    }

    /// Whether the agent wants to stop and was sent back to work before. Only so often: see [`Hook::refuse`].
    ///
    /// [`Hook::refuse`]: crate::hook::Hook::refuse
    fn is_sent_back(&self, payload: &Payload) -> bool {
        payload.get("stop_hook_active").and_then(Value::as_bool).unwrap_or(false)
    }
}

/// What a host is called, when it asks, and how long it waits.
#[derive(Debug)]
pub struct About {
    /// Its name on the command line and in records.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The moments at which it asks or tells.
    pub moments: &'static [Moment],
    /// How long it waits for an answer where its settings do not say.
    pub patience: Duration,
}

/// One moment at which a host asks or tells.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// What the host calls it.
    pub name: &'static str,
    /// What it is to us.
    pub kind: EventKind,
    /// What the host can do with the answer.
    pub can: Can,
}

/// A moment, for the tables of hosts.
pub(crate) const fn moment(name: &'static str, kind: EventKind, can: Can) -> Moment {
    Moment { name, kind, can }
}

/// What a host can do with an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Can {
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

impl Can {
    /// Nothing: the host only tells.
    pub const NOTHING: Can = Can { block: false, ask: false, redact: false, notes: false, halt: false };

    /// What is missing from everything.
    pub fn lacks(self) -> Vec<Lack> {
        let all = [
            (self.notes, Lack::Notes),
            (self.redact, Lack::Redact),
            (self.block, Lack::Block),
            (self.halt, Lack::Halt),
        ];
        all.into_iter().filter(|(can, _)| !can).map(|(_, lack)| lack).collect()
    }
}

/// What a hook process answers its host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

impl Answer {
    /// A JSON object on standard output.
    pub fn json(value: &Value) -> Self {
        Answer { stdout: format!("{value}\n"), ..Answer::default() }
    }

    /// The one refusal that every host understands: a text on standard error, nothing on standard output, exit code 2.
    pub fn refusal(why: &str) -> Self {
        let why = if why.trim().is_empty() { words::NO_REASON } else { why };
        Answer { stdout: String::new(), stderr: format!("{}\n", why.trim_end()), code: 2 }
    }

    /// A text for people beside an answer that stops nothing.
    pub fn remark(text: &str) -> Self {
        Answer { stderr: format!("{}\n", text.trim_end()), ..Answer::default() }
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
