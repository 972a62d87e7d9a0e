//! MCP servers over HTTP: their pins, what waits for a person, and the person's answer.

use std::collections::BTreeMap;

use midrail::admin::{McpDefinition, PinnedServer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Caller, Right};
use crate::api::input::{Body, Named, Page, check_length};
use crate::api::router::Api;
use crate::problem::{HandlerResult, Problem};
use crate::text::short;

/// The longest key of a server, in bytes.
const MAX_KEY: usize = 100;

pub(super) fn routes(api: Api) -> Api {
    api.group("mcp")
        .get("/v1/mcp", "list_mcp_servers", "List MCP servers")
        .json(Right::ReadAll, servers)
        .get("/v1/mcp/{key}", "show_mcp_server", "Show the definitions of an MCP server")
        .json(Right::ReadAll, show)
        .post("/v1/mcp/trust", "trust_mcp_definitions", "Accept definitions of an MCP server that wait")
        .act(Right::Answer, trust)
        .post("/v1/mcp/forget", "forget_mcp_server", "Remove the pins of an MCP server")
        .no_content()
        .act(Right::Answer, forget)
}

fn servers(caller: &Caller, (): ()) -> HandlerResult<Page<PinnedServer>> {
    Ok(Page { items: caller.project.engine().admin().list::<PinnedServer>()?, next: None })
}

/// A server with its definitions.
#[derive(Debug, Serialize, JsonSchema)]
struct McpServerView {
    /// The server.
    server: PinnedServer,
    /// Its definitions.
    definitions: Vec<McpDefinition>,
}

fn show(caller: &Caller, Named(key): Named<String>) -> HandlerResult<McpServerView> {
    let server = find(caller, &key)?;
    let definitions = caller.project.engine().admin().mcp_definitions(&server)?;
    Ok(McpServerView { server, definitions })
}

/// The server with a key.
fn find(caller: &Caller, key: &str) -> HandlerResult<PinnedServer> {
    check_length("server", key, MAX_KEY)?;
    let servers = caller.project.engine().admin().list::<PinnedServer>()?;
    let found = servers.into_iter().find(|server| server.key == key);
    found.ok_or_else(|| Problem::not_found(format!("no MCP server with the key `{}` was seen", short(key))))
}

/// Definitions to accept.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "McpTrust")]
struct Trust {
    /// The key of the server.
    server: String,
    /// The names of the definitions, each with the hash of the text that the person has read.
    definitions: BTreeMap<String, String>,
}

/// Definitions that are accepted now.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "McpTrusted")]
struct Trusted {
    /// Their names.
    accepted: Vec<String>,
}

fn trust(caller: &Caller, Body(trust): Body<Trust>) -> HandlerResult<Trusted> {
    let server = find(caller, &trust.server)?;
    if trust.definitions.is_empty() {
        return Err(Problem::invalid("`definitions` names no definition"));
    }
    let accepted =
        caller.project.engine().admin().trust_mcp_as_read(&server, &trust.definitions, caller.person()?)?;
    Ok(Trusted { accepted })
}

/// A server to forget.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "McpForget")]
struct Forget {
    /// The key of the server.
    server: String,
}

fn forget(caller: &Caller, Body(forget): Body<Forget>) -> HandlerResult<()> {
    let server = find(caller, &forget.server)?;
    Ok(caller.project.engine().admin().forget_mcp(&server, caller.person()?)?)
}
