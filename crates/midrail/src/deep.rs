//! Deep guardrails: questions to HTTP endpoints, LLM judges, moderation services and commands, sent on separate threads.
//! `decide` interprets the answers.

mod cache;
#[cfg(feature = "external")]
pub(crate) mod client;
mod command;
#[cfg(feature = "external")]
mod connection;
mod jobs;
mod judge;
mod ledger;
mod moderation;
#[cfg(not(feature = "external"))]
pub(crate) mod offline;
mod plan;
pub(crate) mod question;
pub(crate) mod queue;
#[cfg_attr(not(feature = "external"), allow(dead_code, reason = "no request is sent without the feature"))]
mod wire;

#[cfg(test)]
#[cfg(feature = "external")]
mod tests;

#[cfg(feature = "external")]
pub(crate) use self::connection::{CA_FILE, config as connection_config};
#[cfg(not(feature = "external"))]
pub(crate) use self::offline as client;
#[cfg(not(feature = "external"))]
use self::offline as connection;
