//! Doors: one module a host, which turns its protocol into events and decisions into its dialect. A door knows a wire
//! format and no guardrail's name.

mod gateway;
pub mod wire;
