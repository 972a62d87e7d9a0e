//! What all kinds of questions share while they are sent: headers, the time that is left, cancellation and
//! retries. Keys are added to headers here and nowhere else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{mem, thread};

use midrail_guardrails::{DeepSettings, EnvVariable, HeaderPiece, Headers};
use parking_lot::Mutex;
use serde_json::Value;

use super::connection::Connections;
use crate::error::Available;

/// The first pause before something is tried again. Each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// How often a pause checks for cancellation.
const LOOK: Duration = Duration::from_millis(20);

/// How deep an answer may be nested: a record holds it deeper still, and has to be read back.
const MAX_DEPTH: usize = 60;

/// Looks up an environment variable.
pub(crate) type Lookup = fn(&str) -> Option<String>;

/// One question that is being sent, with its limits.
pub(super) struct Call<'c> {
    pub(super) settings: &'c DeepSettings,
    pub(super) deadline: Instant,
    pub(super) stop: &'c Stop,
    pub(super) lookup: Lookup,
    /// The key under which secrets in answers are tagged.
    pub(super) key: &'c [u8],
}

impl Call<'_> {
    /// The time that is left. `None`: none.
    pub(super) fn left(&self) -> Option<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// The timeout of the question.
    pub(super) fn limit(&self) -> Duration {
        Duration::from_millis(self.settings.timeout.0)
    }

    /// Tries until it succeeds, a retry cannot help, or the retries or the time are used up. No error shows the value of a
    /// variable in the headers.
    pub(super) fn tries<T>(
        &self,
        retries: u8,
        headers: &RequestHeaders,
        mut once: impl FnMut() -> Result<T, RequestError>,
    ) -> Available<T> {
        let mut pause = FIRST_PAUSE;
        let mut tried: u32 = 0;
        loop {
            tried += 1;
            let RequestError { message, retry } = match once() {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let message = headers.hide(&message);
            let message = if tried > 1 { format!("{message} (tried {tried} times)") } else { message };
            let wait = match retry {
                Retry::Never => return Err(message.into()),
                Retry::Now => Duration::ZERO,
                Retry::Soon => pause,
                Retry::After(wait) => wait,
            };
            let has_time = self.left().is_some_and(|left| left > wait);
            if tried > u32::from(retries) || !has_time || !self.sleep(wait) {
                return Err(message.into());
            }
            pause *= 2;
        }
    }

    /// Waits. `false`: it was stopped.
    fn sleep(&self, wait: Duration) -> bool {
        let until = Instant::now() + wait;
        loop {
            if self.stop.is_raised() {
                return false;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            thread::sleep(left.min(LOOK));
        }
    }
}

/// What went wrong in one try.
pub(super) struct RequestError {
    pub(super) message: String,
    pub(super) retry: Retry,
}

/// An error that a retry cannot help.
impl From<String> for RequestError {
    fn from(message: String) -> Self {
        RequestError { message, retry: Retry::Never }
    }
}

/// When a request is sent again.
pub(super) enum Retry {
    Never,
    /// At once.
    Now,
    /// After a short pause.
    Soon,
    /// When the service asks for it.
    After(Duration),
}

/// Cancels the work of a worker: a flag for pauses and commands, and the worker's connections.
#[derive(Default)]
pub(super) struct Stop {
    is_raised: AtomicBool,
    connections: Mutex<Connections>,
}

impl Stop {
    pub(super) fn flag(&self) -> &AtomicBool {
        &self.is_raised
    }

    pub(super) fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::SeqCst)
    }

    /// Cancels the work.
    pub(super) fn raise(&self) {
        self.is_raised.store(true, Ordering::SeqCst);
        mem::take(&mut *self.connections.lock()).close();
    }

    /// Uses the connections of this worker. `None`: it was stopped.
    pub(super) fn with_connections<T>(&self, work: impl FnOnce(&mut Connections) -> T) -> Option<T> {
        let mut connections = self.connections.lock();
        (!self.is_raised()).then(|| work(&mut connections))
    }

    /// Passes the connections on to the next question of the same worker.
    pub(super) fn next(&self) -> Self {
        let connections = mem::take(&mut *self.connections.lock());
        Stop { is_raised: AtomicBool::new(false), connections: Mutex::new(connections) }
    }
}

/// Whether a value is nested deeper than can be kept.
pub(super) fn is_too_deep(value: &Value) -> bool {
    fn deeper(value: &Value, left: usize) -> bool {
        let Some(left) = left.checked_sub(1) else { return true };
        match value {
            Value::Array(values) => values.iter().any(|value| deeper(value, left)),
            Value::Object(members) => members.values().any(|value| deeper(value, left)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
    deeper(value, MAX_DEPTH)
}

/// A text of an external service for display: one short line without control characters.
pub(super) fn shown(text: &str, limit: usize) -> String {
    let mut out: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    out.retain(|c| !c.is_control());
    if out.chars().count() > limit {
        out = out.chars().take(limit).collect();
        out.push('…');
    }
    out
}

/// Shorter values of variables cannot be distinguished from other text.
const LEAST_SECRET: usize = 8;

/// Headers with the values of their variables.
pub(super) struct RequestHeaders {
    pub(super) values: Vec<(String, String)>,
    /// What must not come back, in an answer or in an error.
    secrets: Vec<String>,
}

impl RequestHeaders {
    /// Reads the variables that the headers name.
    pub(super) fn resolve(headers: &Headers, lookup: Lookup) -> Available<Self> {
        let mut resolved = RequestHeaders { values: Vec::new(), secrets: Vec::new() };
        for (name, pieces) in headers.iter() {
            let mut value = String::new();
            for piece in pieces {
                match piece {
                    HeaderPiece::Words(words) => value.push_str(words),
                    HeaderPiece::Variable(variable) => value.push_str(&resolved.read(variable, lookup)?),
                }
            }
            resolved.values.push((name.to_owned(), value));
        }
        Ok(resolved)
    }

    /// Adds a header that holds a key.
    pub(super) fn key(
        &mut self,
        name: &str,
        before: &str,
        variable: Option<&EnvVariable>,
        lookup: Lookup,
    ) -> Available {
        if let Some(variable) = variable {
            let key = self.read(variable.as_str(), lookup)?;
            self.values.push((name.to_owned(), format!("{before}{key}")));
        }
        Ok(())
    }

    /// Adds a header that is no secret.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        self.values.push((name.to_owned(), value.to_owned()));
    }

    fn read(&mut self, variable: &str, lookup: Lookup) -> Available<String> {
        let value = lookup(variable).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let unset = || format!("the environment variable `{variable}` is not set; set it where Midrail runs");
        let value = value.ok_or_else(unset)?;
        if !value.chars().all(|c| (' '..='~').contains(&c)) {
            let why =
                format!("the environment variable `{variable}` has characters that a header cannot have");
            return Err(why.into());
        }
        if value.len() >= LEAST_SECRET {
            self.secrets.push(value.clone());
        }
        Ok(value)
    }

    /// A text without the values of the variables.
    pub(super) fn hide(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "…"))
    }

    /// Whether a value of a variable is in these bytes.
    pub(super) fn is_in(&self, bytes: &[u8]) -> bool {
        self.secrets.iter().any(|secret| bytes.windows(secret.len()).any(|part| part == secret.as_bytes()))
    }
}
