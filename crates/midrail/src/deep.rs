//! Deep guardrails: questions to HTTP endpoints, LLM judges, moderation services and commands, sent on separate threads.
//! `decide` interprets the answers.

mod cache;
pub(crate) mod client;
mod command;
mod concurrency;
mod connection;
mod http;
mod jobs;
mod judge;
mod ledger;
mod moderation;
mod plan;
pub(crate) mod question;
pub(crate) mod queue;
mod render;
pub(crate) mod ticket;
mod wire;
mod worker;

#[cfg(test)]
mod tests;
