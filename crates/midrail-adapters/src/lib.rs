//! Adapters: translate the protocols of hosts into events, and decisions into their answers.
//!
//! Everything about a host is in one folder below `hosts`. Adapters contain no names of guardrails.

pub mod acp;
mod gateway;
pub mod hook;
pub mod host;
pub mod hosts;
pub mod judge;
pub mod mcp;
pub mod mcp_client;
mod mentions;
pub mod messages;
mod misplaced;
pub mod policy;
pub mod relay;
mod rpc;
pub mod setup;
mod shape;
pub mod transcripts;
pub mod wire;
