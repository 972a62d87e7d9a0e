//! Plays a sequence of events through an engine: what a pack would have decided, one decision an event.

use std::io::BufRead;
use std::sync::Arc;

use jiff::Timestamp;
use midrail_core::{Decision, Event};
use serde_json::Value;

use crate::clock::ManualClock;
use crate::engine::Engine;

/// The longest line that is read as an event.
pub const MAX_LINE: usize = 32 << 20;

/// Plays lines of JSON. Time is that of the events; between events that tell none it stands still, and
/// `{"kind":"advance","seconds":N}` moves it.
pub struct Replay {
    engine: Arc<Engine>,
    clock: Arc<ManualClock>,
}

/// What one line came to.
pub enum Played {
    /// An event, and what was decided.
    Decided(Box<Event>, Box<Decision>),
    /// The clock was moved by so many seconds.
    Advanced(f64),
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
        source: crate::engine::EngineError,
    },
}

impl Replay {
    /// A replay on an engine whose clock is this one.
    pub fn new(engine: Arc<Engine>, clock: Arc<ManualClock>) -> Self {
        Replay { engine, clock }
    }

    /// Plays one line.
    pub fn line(&self, line: usize, text: &[u8]) -> Result<Played, ReplayError> {
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(Played::Nothing);
        }
        let no_event = |why: String| ReplayError::NoEvent { line, why };
        let value: Value = serde_json::from_slice(text).map_err(|error| no_event(error.to_string()))?;
        if value.get("kind").and_then(Value::as_str) == Some("advance") {
            let seconds = value.get("seconds").and_then(Value::as_f64).filter(|seconds| *seconds >= 0.0);
            let seconds = seconds
                .ok_or_else(|| no_event("`advance` needs `seconds`, a number of 0 or more".to_owned()))?;
            self.clock.advance(seconds);
            return Ok(Played::Advanced(seconds));
        }
        let event: Event = serde_json::from_value(value).map_err(|error| no_event(error.to_string()))?;
        if let Some(time) = event.time {
            self.clock.advance_to(time);
        }
        let decision = self
            .engine
            .try_decide(event.clone())
            .map_err(|source| ReplayError::Undecided { line, source })?;
        Ok(Played::Decided(Box::new(event), Box::new(decision)))
    }
}

/// Reads one line of at most [`MAX_LINE`] bytes. `None`: there is none left. A longer one is passed over as a whole.
pub fn next_line(input: &mut dyn BufRead, line: usize) -> Result<Option<Vec<u8>>, ReplayError> {
    let mut text = Vec::new();
    let mut is_too_long = false;
    loop {
        let chunk = input.fill_buf().map_err(|source| ReplayError::Io { line, source })?;
        let end = chunk.iter().position(|byte| *byte == b'\n');
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

/// The time that a replay starts at, where its first events tell none.
pub fn start() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap_or_default()
}
