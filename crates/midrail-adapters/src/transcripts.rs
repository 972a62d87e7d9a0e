//! Sessions that coding agents have recorded, turned into events: line by line, with no more in memory than the calls
//! that are still open.

mod claude_code;
mod codex;
mod files;

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use midrail::{Agent, Event, EventKind, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

pub use files::{ImportItem, InvalidLine, RecordedSession, SessionEvents, find_sessions, read_sessions};

/// A coding agent whose recordings can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// Claude Code: `~/.claude/projects/**/*.jsonl`.
    ClaudeCode,
    /// Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`.
    Codex,
}

impl Host {
    /// All of them.
    pub const ALL: [Host; 2] = [Host::ClaudeCode, Host::Codex];

    /// Its name on the command line and in events.
    pub fn word(self) -> &'static str {
        match self {
            Host::ClaudeCode => "claude-code",
            Host::Codex => "codex",
        }
    }

    /// Where it keeps recordings, below a home folder.
    pub fn place(self) -> &'static str {
        match self {
            Host::ClaudeCode => ".claude/projects",
            Host::Codex => ".codex/sessions",
        }
    }

    /// Whether a file of this name is one of its recordings.
    fn is_recording(self, path: &Path) -> bool {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        match self {
            Host::ClaudeCode => name.ends_with(".jsonl"),
            Host::Codex => name.starts_with("rollout-") && name.ends_with(".jsonl"),
        }
    }
}

/// Calls that may be open at a time. Beyond that the oldest results are told without their arguments.
const MOST_CALLS: usize = 10_000;

/// The longest text of a result that is told. Hosts cut theirs far below.
const LONGEST_TEXT: usize = 4 << 20;

/// Reads one recording, a line at a time.
pub struct Transcript {
    host: Host,
    about: About,
    claude: claude_code::State,
}

/// What all hosts have in common: where a session stands.
#[derive(Default)]
struct About {
    session: Option<String>,
    /// The agent and its parent, where it is a sub-agent.
    agent: Option<(Agent, String)>,
    cwd: Option<String>,
    time: Option<Timestamp>,
    has_begun: bool,
    calls: BTreeMap<String, ToolCall>,
    /// Tokens that no event has told yet.
    tokens: u64,
    /// The last words of a turn, which may be its end.
    ending: Option<Ending>,
    events: Vec<Event>,
}

/// How a turn ends.
struct Ending {
    words: String,
    reason: String,
    time: Option<Timestamp>,
}

impl Transcript {
    /// A recording of a host. The name of its file tells the session where its lines do not.
    pub fn new(host: Host, path: &Path) -> Self {
        let about = About { session: files::name_of(path), ..About::default() };
        Transcript { host, about, claude: claude_code::State::of(path) }
    }

    /// The events that a line adds, or what is wrong with it.
    pub fn line(&mut self, text: &[u8]) -> Result<Vec<Event>, String> {
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(Vec::new());
        }
        let line: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if !line.is_object() {
            return Err("it is no JSON object".to_owned());
        }
        if let Some(time) = text_at(&line, "/timestamp") {
            let time: Timestamp = time.parse().map_err(|_| "its `timestamp` is no time".to_owned())?;
            self.about.time = Some(time);
        }
        match self.host {
            Host::ClaudeCode => self.claude.line(&line, &mut self.about)?,
            Host::Codex => codex::line(&line, &mut self.about)?,
        }
        Ok(std::mem::take(&mut self.about.events))
    }

    /// The events that were still to come when the recording ended.
    pub fn end(&mut self) -> Vec<Event> {
        self.about.stop(self.host);
        std::mem::take(&mut self.about.events)
    }
}

impl About {
    /// Adds an event, and before the first one that the session begins.
    fn push(&mut self, host: Host, event: Event) {
        if !self.has_begun {
            self.has_begun = true;
            if self.agent.is_none() {
                let begins = self.dressed(host, Event::new(EventKind::SessionStart));
                self.events.push(begins);
            }
        }
        let event = self.dressed(host, event);
        self.events.push(event);
    }

    fn dressed(&self, host: Host, mut event: Event) -> Event {
        event.session.clone_from(&self.session);
        event.cwd.clone_from(&self.cwd);
        event.time = self.time;
        if let Some((agent, parent)) = &self.agent {
            event.agent = Some(agent.clone());
            event.parent = Some(parent.clone());
        }
        event.extra.insert("host".to_owned(), json!({"name": host.word()}));
        event
    }

    /// A prompt goes to the model.
    fn prompt(&mut self, host: Host, text: String, prompt: Option<&str>) {
        self.stop(host);
        let mut event = Event::new(EventKind::BeforeModel);
        event.text = Some(text);
        event.prompt = prompt.map(str::to_owned);
        self.push(host, event);
    }

    /// A tool is called.
    fn call(&mut self, host: Host, id: Option<&str>, name: &str, args: Value) {
        self.ending = None;
        let mut tool = ToolCall::new(name, args);
        tool.call_id = id.map(str::to_owned);
        if let Some(id) = id {
            if self.calls.len() >= MOST_CALLS {
                self.calls.pop_first();
            }
            self.calls.insert(id.to_owned(), tool.clone());
        }
        let mut event = Event::new(EventKind::BeforeTool);
        event.tool = Some(tool);
        self.push(host, event);
    }

    /// A tool has answered.
    fn answered(&mut self, host: Host, id: &str, result: ToolResult) {
        // An answer to a call that nobody saw tells nothing.
        let Some(tool) = self.calls.remove(id) else { return };
        let mut event = Event::new(EventKind::AfterTool);
        event.tool = Some(tool);
        event.result = Some(result);
        self.spend(&mut event);
        self.push(host, event);
    }

    /// The turn is over, where its last words were heard.
    fn stop(&mut self, host: Host) {
        let Some(Ending { words, reason, time }) = self.ending.take() else { return };
        let mut event = Event::new(EventKind::BeforeStop);
        event.output = Some(Value::from(words));
        event.stop_reason = Some(reason);
        self.spend(&mut event);
        // It was over when the last words were said, however late the next line came.
        let now = std::mem::replace(&mut self.time, time);
        self.push(host, event);
        self.time = now;
    }

    /// Tells the tokens that were used since they were last told.
    fn spend(&mut self, event: &mut Event) {
        let tokens = std::mem::take(&mut self.tokens);
        if tokens > 0 {
            let usage = event.usage.get_or_insert_with(Default::default);
            usage.call.get_or_insert_with(Default::default).tokens = Some(tokens);
        }
    }
}

fn text_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn number_at(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// The text of a message or of a result: as it is, or that of its parts. What is no text is named.
fn text_of(content: &Value) -> String {
    let mut text = match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of_part).collect::<Vec<_>>().join("\n"),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    if text.len() > LONGEST_TEXT {
        let end = (0..=LONGEST_TEXT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

fn text_of_part(part: &Value) -> String {
    match (part.get("text").and_then(Value::as_str), part.get("type").and_then(Value::as_str)) {
        (Some(text), _) => text.to_owned(),
        (None, Some(kind)) => format!("[{kind}]"),
        (None, None) => part.as_str().map_or_else(|| part.to_string(), str::to_owned),
    }
}

/// Arguments that are written as a text.
fn args_of(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Object(args)) => Value::Object(args),
        _ => Value::Object(Map::from_iter([("input".to_owned(), Value::from(text))])),
    }
}

/// The number behind some words, on one of the first lines of a text.
fn exit_code(text: &str, words: &[&str]) -> Option<i64> {
    text.lines().take(8).find_map(|line| {
        let rest = words.iter().find_map(|words| line.trim_start().strip_prefix(words))?;
        let rest = rest.trim_start_matches([':', ' ']);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
        rest.get(..end)?.parse().ok()
    })
}

#[cfg(test)]
mod tests;
