//! Deep guardrails' questions to the outside: HTTP endpoints, judges, moderation and commands, asked on threads of
//! their own. What an answer means is the law's.

mod asking;
mod books;
mod cache;
mod client;
mod command;
mod desk;
mod http;
mod judge;
mod moderation;
mod render;
mod ticket;
mod wire;
mod worker;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

pub(crate) use asking::Asking;
pub(crate) use client::post;
pub(crate) use ticket::{Ticket, Waited};

/// What is asked about.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// The session. Its answers are its own.
    pub(crate) run: String,
    /// The revision of the policy that asks.
    pub(crate) policy: Arc<str>,
    /// The event as JSON, with its secrets replaced.
    pub(crate) event: Value,
    /// The text that matters, with its secrets replaced.
    pub(crate) text: String,
    /// The session's folder.
    pub(crate) root: Option<PathBuf>,
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// The answer, in the form of its kind.
    pub(crate) value: Value,
    /// How long it took.
    pub(crate) took_ms: u64,
    /// Whether it is the answer to the same question, asked before.
    pub(crate) cached: bool,
    /// What it cost, where that is known. An answer that was asked before costs nothing.
    pub(crate) cost: Option<f64>,
    /// Whether a part of the text was too long and was left out.
    pub(crate) cut: bool,
}
