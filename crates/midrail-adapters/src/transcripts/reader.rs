//! Reads one recording: what hosts have in common, and the state of a session.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use midrail::{Agent, Event, EventKind, ToolCall, ToolResult};
use serde_json::{Value, json};

use crate::host::result::number_after;

/// How the recordings of a host are found and read.
#[derive(Debug, Clone, Copy)]
pub struct Transcripts {
    pub(crate) host: &'static str,
    /// The folder of recordings below the folder of a user.
    pub(crate) folder: &'static str,
    /// The prefix of its recordings' file names. They end in `.jsonl`.
    pub(crate) prefix: &'static str,
    pub(crate) reader: fn(&Path) -> Box<dyn LineReader>,
}

impl Transcripts {
    /// Whether a file is a recording of the host.
    pub(super) fn is_recording(&self, path: &Path) -> bool {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        name.starts_with(self.prefix) && name.ends_with(".jsonl")
    }

    /// The session that the name of a file contains.
    pub(super) fn session_of(&self, path: &Path) -> Option<String> {
        let name = path.file_stem()?.to_string_lossy();
        let folder = || path.parent()?.parent()?.file_name().map(|name| name.to_string_lossy().into_owned());
        match path.parent()?.file_name()?.to_str() {
            Some("subagents") => folder(),
            _ => Some(name.strip_prefix(self.prefix).unwrap_or(&name).to_owned()),
        }
    }
}

/// Reads the lines of one recording.
pub(crate) trait LineReader: Send {
    /// Adds the events of a line to the recording.
    fn line(&mut self, line: &Value, recording: &mut Recording) -> Result<(), LineError>;
}

/// Why a line has no events.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// It is not JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It is not an object.
    #[error("not a JSON object")]
    NotAnObject,
    /// Its timestamp is not one.
    #[error("`timestamp` is not a time")]
    Timestamp,
    /// A field is absent.
    #[error("the line has no `{0}`")]
    MissingField(&'static str),
}

/// The most calls that are kept open. The results of older ones are dropped.
const MAX_CALLS: usize = 10_000;

/// The longest text of a result. Hosts cut theirs far below.
const MAX_TEXT: usize = 4 << 20;

/// Reads one recording, a line at a time.
pub struct Transcript {
    recording: Recording,
    reader: Box<dyn LineReader>,
}

/// The state of a recorded session.
#[derive(Default)]
pub(crate) struct Recording {
    host: &'static str,
    pub(crate) session: Option<String>,
    /// The agent and its parent, for a sub-agent.
    pub(crate) agent: Option<(Agent, String)>,
    pub(crate) cwd: Option<String>,
    pub(crate) time: Option<Timestamp>,
    pub(crate) has_begun: bool,
    calls: BTreeMap<String, ToolCall>,
    /// Tokens that no event has reported yet.
    pub(crate) tokens: u64,
    /// The last text of a turn, which may be its end.
    pub(crate) turn_end: Option<TurnEnd>,
    events: Vec<Event>,
}

/// How a turn ends.
pub(crate) struct TurnEnd {
    pub(crate) text: String,
    pub(crate) reason: String,
    pub(crate) time: Option<Timestamp>,
}

impl Transcript {
    /// A recording of a host. The name of its file contains the session if its lines do not.
    pub fn new(source: &Transcripts, path: &Path) -> Self {
        let session = source.session_of(path);
        let recording = Recording { host: source.host, session, ..Recording::default() };
        Transcript { recording, reader: (source.reader)(path) }
    }

    /// The events of a line.
    pub fn line(&mut self, text: &[u8]) -> Result<Vec<Event>, LineError> {
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(Vec::new());
        }
        let line: Value = serde_json::from_slice(text)?;
        if !line.is_object() {
            return Err(LineError::NotAnObject);
        }
        if let Some(time) = text_at(&line, "/timestamp") {
            self.recording.time = Some(time.parse().map_err(|_| LineError::Timestamp)?);
        }
        self.reader.line(&line, &mut self.recording)?;
        Ok(std::mem::take(&mut self.recording.events))
    }

    /// The events that are left at the end of the recording.
    pub fn end(&mut self) -> Vec<Event> {
        self.recording.stop();
        std::mem::take(&mut self.recording.events)
    }
}

impl Recording {
    /// Adds an event; before the first one, the start of the session.
    fn push(&mut self, event: Event) {
        if !std::mem::replace(&mut self.has_begun, true) && self.agent.is_none() {
            let start = self.complete(Event::new(EventKind::SessionStart));
            self.events.push(start);
        }
        let event = self.complete(event);
        self.events.push(event);
    }

    fn complete(&self, mut event: Event) -> Event {
        event.session.clone_from(&self.session);
        event.cwd.clone_from(&self.cwd);
        event.time = self.time;
        if let Some((agent, parent)) = &self.agent {
            event.agent = Some(agent.clone());
            event.parent = Some(parent.clone());
        }
        event.extra.insert("host".to_owned(), json!({"name": self.host}));
        event
    }

    /// A prompt.
    pub(crate) fn prompt(&mut self, text: String, prompt: Option<&str>) {
        self.stop();
        let prompt = prompt.map(str::to_owned);
        self.push(Event { text: Some(text), prompt, ..Event::new(EventKind::BeforeModel) });
    }

    /// A tool call.
    pub(crate) fn call(&mut self, id: Option<&str>, name: &str, args: Value) {
        self.turn_end = None;
        let tool = ToolCall { call_id: id.map(str::to_owned), ..ToolCall::new(name, args) };
        if let Some(id) = id {
            if self.calls.len() >= MAX_CALLS {
                self.calls.pop_first();
            }
            self.calls.insert(id.to_owned(), tool.clone());
        }
        self.push(Event { tool: Some(tool), ..Event::new(EventKind::BeforeTool) });
    }

    /// The host refused a call, so it has no result.
    pub(crate) fn refused(&mut self, id: &str) {
        self.calls.remove(id);
    }

    /// The result of a call. A result without a call is dropped.
    pub(crate) fn result(&mut self, id: &str, result: ToolResult) {
        let Some(tool) = self.calls.remove(id) else { return };
        let event = Event { tool: Some(tool), result: Some(result), ..Event::new(EventKind::AfterTool) };
        self.push_with_usage(event);
    }

    /// The end of the turn, if its last text is known.
    pub(crate) fn stop(&mut self) {
        let Some(TurnEnd { text, reason, time }) = self.turn_end.take() else { return };
        let (output, stop_reason) = (Some(Value::from(text)), Some(reason));
        // The turn ended with its last text, however late the next line is.
        let now = std::mem::replace(&mut self.time, time);
        self.push_with_usage(Event { output, stop_reason, ..Event::new(EventKind::BeforeStop) });
        self.time = now;
    }

    /// Adds an event that reports the tokens since the last report.
    fn push_with_usage(&mut self, mut event: Event) {
        let tokens = std::mem::take(&mut self.tokens);
        if tokens > 0 {
            let usage = event.usage.get_or_insert_default();
            usage.call.get_or_insert_default().tokens = Some(tokens);
        }
        self.push(event);
    }
}

pub(crate) fn text_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
}

pub(crate) fn number_at(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// The text of a message or result, or of its parts. A part without text is shown by its type.
pub(crate) fn text_of(content: &Value) -> String {
    let mut text = match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of_part).collect::<Vec<_>>().join("\n"),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    text.truncate(text.floor_char_boundary(MAX_TEXT));
    text
}

fn text_of_part(part: &Value) -> String {
    match (part.get("text").and_then(Value::as_str), part.get("type").and_then(Value::as_str)) {
        (Some(text), _) => text.to_owned(),
        (None, Some(kind)) => format!("[{kind}]"),
        (None, None) => part.as_str().map_or_else(|| part.to_string(), str::to_owned),
    }
}

/// The number after a label, on one of the first lines of a text.
pub(crate) fn exit_code(text: &str, labels: &[&str]) -> Option<i64> {
    let mut lines = text.lines().take(8);
    lines.find_map(|line| labels.iter().find_map(|label| number_after(line, label)))
}
