//! Plays a sequence of events through an engine, to see what a policy would have decided.

mod report;

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use jiff::Timestamp;
use midrail_core::{Decision, Event, EventKind, Snapshot};
use midrail_pack::describe_serde_error;
use midrail_pack::diagnostic::excerpt;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use crate::clock::{Clock, ManualClock};
use crate::engine::Engine;
use crate::error::EngineResult;
use crate::limits::Limits;
use crate::session_slices::session_id;

pub use report::{ASSUMED, GuardrailReport, ReplayExample, ReplayReport, ReportBuilder, SHOWN, Suggestion};

/// The longest line that is read as an event.
pub const MAX_LINE: usize = 32 << 20;

/// Plays lines of JSON. The time is that of the events; it does not move between events without a time.
///
/// Next to events there are directives, which are not decided: `{"kind":"advance","seconds":N}` moves the clock,
/// `{"kind":"set","key":K,"value":V}` sets a session variable, `{"kind":"snapshot","as":NAME}` keeps the session and
/// `{"kind":"restore","from":NAME}` restores it. The last three take a `session`; without one they apply to the session
/// of the event before them, or to that of events without a session.
pub struct Replay {
    engine: Arc<Engine>,
    clock: Arc<ManualClock>,
    cwd: Option<String>,
    limits: Limits,
    snapshots: Mutex<BTreeMap<String, Snapshot>>,
    last_session: Mutex<Option<String>>,
    early: Mutex<Vec<EarlyDirective>>,
}

/// A directive before the first event that names no session. It applies to the session of that event, too.
enum EarlyDirective {
    Set(String, Value),
    Snapshot(String),
}

/// The result of one line.
pub enum ReplayStep {
    /// An event, and what was decided.
    Decided(Box<Event>, Box<Decision>),
    /// The clock was moved by so many seconds.
    Advanced(f64),
    /// A variable of a session was set.
    Set {
        /// The session.
        session: String,
        /// The variable.
        key: String,
    },
    /// A session was kept.
    Kept {
        /// The session.
        session: String,
        /// The name that it is kept under.
        name: String,
    },
    /// A session was put back.
    Restored {
        /// The session.
        session: String,
        /// The name that it was kept under.
        name: String,
    },
    /// An empty line.
    Nothing,
}

/// Why a line could not be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// It could not be read.
    #[error("line {line}: {source}")]
    Io {
        /// The line, from 1.
        line: usize,
        /// The cause.
        source: std::io::Error,
    },
    /// It is longer than an event can be.
    #[error("line {line} is longer than {MAX_LINE} bytes")]
    TooLong {
        /// The line, from 1.
        line: usize,
    },
    /// It is no event.
    #[error("line {line} is no event: {why}")]
    NoEvent {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// It could not be decided.
    #[error("line {line} could not be decided: {source}")]
    Undecided {
        /// The line, from 1.
        line: usize,
        /// The cause.
        source: crate::error::EngineError,
    },
}

impl Replay {
    /// A replay on an engine whose clock is this one.
    pub fn new(engine: Arc<Engine>, clock: Arc<ManualClock>) -> Self {
        Replay {
            engine,
            clock,
            cwd: None,
            limits: Limits::default(),
            snapshots: Mutex::default(),
            last_session: Mutex::default(),
            early: Mutex::default(),
        }
    }

    /// The same, with a folder for events without a `cwd`.
    #[must_use]
    pub fn cwd(mut self, folder: impl Into<String>) -> Self {
        self.cwd = Some(folder.into());
        self
    }

    /// The same, where these limits hold next to those of packs and events.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Plays one line.
    pub fn line(&self, line: usize, text: &[u8]) -> Result<ReplayStep, ReplayError> {
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(ReplayStep::Nothing);
        }
        let no_event = |why: String| ReplayError::NoEvent { line, why };
        let undecided = |source| ReplayError::Undecided { line, source };
        // Nearly every line is an event, and a directive is never one.
        let mut event = match serde_json::from_slice::<Event>(text) {
            Ok(event) => event,
            Err(_) => {
                let value = serde_json::from_slice(text).map_err(|error| no_event(error.to_string()))?;
                match self.directive(line, value)? {
                    Line::Event(event) => *event,
                    Line::Directive(step) => return Ok(step),
                }
            }
        };
        if event.cwd.is_none() {
            event.cwd.clone_from(&self.cwd);
        }
        self.enter_session(&event).map_err(undecided)?;
        if let Some(time) = event.time {
            self.clock.advance_to(time);
        }
        let limited = self.limits.apply(&mut event, &**self.engine.store(), self.clock.now());
        limited.map_err(|error| undecided(error.into()))?;
        let decision = self.engine.try_decide(event.clone()).map_err(undecided)?;
        Ok(ReplayStep::Decided(Box::new(event), Box::new(decision)))
    }

    /// Remembers the session of an event, and carries out the directives before the first one in it.
    fn enter_session(&self, event: &Event) -> EngineResult {
        let session = session_id(event);
        for early in std::mem::take(&mut *self.early.lock()) {
            let handle = self.engine.session(&*session);
            match early {
                EarlyDirective::Set(key, value) => handle.set(&key, value)?,
                EarlyDirective::Snapshot(name) => {
                    self.snapshots.lock().insert(name, handle.snapshot()?);
                }
            }
        }
        *self.last_session.lock() = Some(session);
        Ok(())
    }

    /// Whether a directive comes before the first event and names no session.
    fn is_early(&self, session: Option<&Name>) -> bool {
        session.is_none() && self.last_session.lock().is_none()
    }

    /// The session of a directive that names none.
    fn current_session(&self) -> String {
        let last = self.last_session.lock().clone();
        // Events without a session share one for each folder.
        let first = || session_id(&Event { cwd: self.cwd.clone(), ..Event::new(EventKind::SessionStart) });
        last.unwrap_or_else(first)
    }

    /// Carries out a directive, or reads an event.
    fn directive(&self, line: usize, value: Value) -> Result<Line, ReplayError> {
        let no_event = |why: String| ReplayError::NoEvent { line, why };
        let undecided = |source| ReplayError::Undecided { line, source };
        let unreadable = |error: serde_json::Error| {
            let (why, help) = describe_serde_error(&error.to_string());
            no_event(help.map_or(why.clone(), |help| format!("{why}; {help}")))
        };
        if value.get("kind").and_then(Value::as_str).is_some_and(|kind| DIRECTIVES.contains(&kind)) {
            let named = |session: Option<Name>| session.map_or_else(|| self.current_session(), |name| name.0);
            let step = match serde_json::from_value(value).map_err(unreadable)? {
                Directive::Advance { seconds, .. } if seconds >= 0.0 && self.clock.advance(seconds) => {
                    ReplayStep::Advanced(seconds)
                }
                Directive::Advance { seconds, .. } => {
                    return Err(no_event(format!(
                        "`advance` by {seconds} seconds is negative, or more than the clock can hold"
                    )));
                }
                Directive::Set { session, key: Name(key), value } => {
                    if self.is_early(session.as_ref()) {
                        self.early.lock().push(EarlyDirective::Set(key.clone(), value.clone()));
                    }
                    let session = named(session);
                    self.engine.session(&*session).set(&key, value).map_err(undecided)?;
                    ReplayStep::Set { session, key }
                }
                Directive::Snapshot { session, name: Name(name) } => {
                    if self.is_early(session.as_ref()) {
                        self.early.lock().push(EarlyDirective::Snapshot(name.clone()));
                    }
                    let session = named(session);
                    let snapshot = self.engine.session(&*session).snapshot().map_err(undecided)?;
                    self.snapshots.lock().insert(name.clone(), snapshot);
                    ReplayStep::Kept { session, name }
                }
                Directive::Restore { session, name: Name(name) } => {
                    let missing = || no_event(format!("there is no snapshot `{}`", excerpt(&name)));
                    let snapshot = self.snapshots.lock().get(&name).cloned().ok_or_else(missing)?;
                    let session = session.map_or_else(|| snapshot.session.clone(), |name| name.0);
                    self.engine.session(&*session).restore(&snapshot).map_err(undecided)?;
                    ReplayStep::Restored { session, name }
                }
            };
            return Ok(Line::Directive(step));
        }
        serde_json::from_value(value).map(Line::Event).map_err(unreadable)
    }
}

/// A line that is not an event at first sight.
enum Line {
    Event(Box<Event>),
    Directive(ReplayStep),
}

/// The kinds of lines that are no events.
const DIRECTIVES: [&str; 4] = ["advance", "set", "snapshot", "restore"];

/// A line that is no event, and changes what the events after it meet.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum Directive {
    Advance {
        seconds: f64,
        #[serde(rename = "session")]
        _session: Option<Name>,
    },
    Set {
        session: Option<Name>,
        key: Name,
        value: Value,
    },
    Snapshot {
        session: Option<Name>,
        #[serde(rename = "as")]
        name: Name,
    },
    Restore {
        session: Option<Name>,
        #[serde(rename = "from")]
        name: Name,
    },
}

/// A text that is not empty.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Name(String);

impl TryFrom<String> for Name {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.is_empty() { Err("a name cannot be empty") } else { Ok(Name(text)) }
    }
}

/// Reads one line of at most [`MAX_LINE`] bytes. `None`: there is none left. A longer one is passed over as a whole.
pub fn next_line(input: &mut dyn BufRead, line: usize) -> Result<Option<Vec<u8>>, ReplayError> {
    let mut text = Vec::new();
    let mut is_too_long = false;
    loop {
        let chunk = input.fill_buf().map_err(|source| ReplayError::Io { line, source })?;
        let end = memchr::memchr(b'\n', chunk);
        let taken = end.map_or(chunk.len(), |end| end + 1);
        let is_last = end.is_some() || taken == 0;
        is_too_long |= text.len() + taken > MAX_LINE;
        if !is_too_long {
            text.extend_from_slice(chunk.get(..taken).unwrap_or_default());
        }
        input.consume(taken);
        if is_last && is_too_long {
            return Err(ReplayError::TooLong { line });
        }
        if is_last {
            return Ok((!text.is_empty()).then_some(text));
        }
    }
}

/// The start of a replay whose first events have no time.
pub fn start_time() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap_or_default()
}
