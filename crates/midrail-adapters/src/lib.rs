//! Doors: one module a host, which turns its protocol into events and decisions into its dialect. A adapter knows a wire
//! format and no guardrail's name.

pub mod acp;
mod gateway;
pub mod hook;
pub mod host;
pub mod hosts;
mod mentions;
pub mod messages;
pub mod setup;
mod shape;
mod slips;
pub mod transcripts;
pub mod wire;
