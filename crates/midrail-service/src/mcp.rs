//! The MCP endpoint: clients reach the servers of a project's packs over Streamable HTTP at `/mcp/SERVER`, and every message is judged
//! on its way. The proxy of `midrail_adapters::mcp` decides what is forwarded; this folder moves messages.

mod conversation;
mod endpoint;
mod exchange;
mod hub;
mod pieces;
mod posted;

pub(crate) use self::endpoint::routes;
