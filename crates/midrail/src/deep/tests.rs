//! Questions to servers and commands that behave, and to some that do not.

mod command;
mod judge;
mod kinds;
mod ledger;
mod misbehaving;
mod queue;
mod server;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use midrail_guardrails::DeepSettings;
use midrail_store::{MemoryStore, Store};
use serde_json::{Value, json};

use super::ledger::Ledger;
use super::question::{Answer, Question, Ticket};
use super::queue::DeepQueue;
use crate::clock::ManualClock;
use crate::error::{Available, Unavailable};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// The key that the variable `TEST_KEY` holds.
const KEY: &str = "key-of-the-tests-0123456789";

fn lookup(name: &str) -> Option<String> {
    match name {
        "TEST_KEY" => Some(KEY.to_owned()),
        "TEST_EMPTY" => Some(" ".to_owned()),
        "TEST_LINES" => Some("a\nb".to_owned()),
        _ => None,
    }
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at("2026-11-15T10:00:00Z".parse::<Timestamp>().unwrap()))
}

fn asking() -> DeepQueue {
    on_clock(clock())
}

fn on_clock(clock: Arc<ManualClock>) -> DeepQueue {
    on_store(Arc::new(MemoryStore::new().unwrap()), clock, false)
}

/// Questions of a process on a store.
fn on_store(store: Arc<dyn Store>, clock: Arc<ManualClock>, is_last: bool) -> DeepQueue {
    DeepQueue::with(Ledger { store, key: b"key".to_vec(), is_last }, clock, lookup)
}

fn settings(value: Value) -> Arc<DeepSettings> {
    Arc::new(serde_json::from_value(value).unwrap())
}

/// A question about a text.
fn question(run: &str, text: &str) -> Question {
    let event = json!({
        "kind": "before_tool", "session": run, "time": "2026-11-15T10:00:00Z",
        "tool": {"name": "Write", "call_id": "c-1", "args": {"path": "a.rs", "content": text}},
        "task": {"goal": "write a parser", "scope": {"files": {"write": ["src/**"]}}},
        "available_tools": ["Read", "Write"]
    });
    let policy = "sha256:0".into();
    Question { run: run.to_owned(), policy, event, text: text.to_owned(), root: None }
}

fn answered(ticket: Available<Ticket>) -> Result<Answer, String> {
    match ticket.map_err(|error| error.to_string())?.wait(LONG) {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => panic!("no answer came"),
    }
}

/// What comes of one question, with a queue of its own.
fn asked(value: Value, text: &str) -> Result<Answer, String> {
    let asking = asking();
    answered(asking.ask("g", &settings(value), question("s", text)))
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = std::time::Instant::now();
    while !is_so() {
        assert!(started.elapsed() < LONG, "it never came to this: {what}");
        std::thread::yield_now();
    }
}

/// Whether no question is waiting or running.
fn is_idle(queue: &DeepQueue) -> bool {
    queue.wait_until_idle(std::time::Instant::now())
}

impl std::ops::Deref for Unavailable {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}
