//! The HTTP API, from outside: a real service in a folder of its own, and programs and people who call it.

mod approvals;
mod audit;
mod connections;
pub(crate) mod fixture;
mod live;
mod mcp;
mod mcp_endpoint;
mod observe;
mod separation;
mod sessions;
mod standing;
mod stats;
