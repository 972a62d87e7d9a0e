//! The MCP servers that run through the proxy after `midrail init`: their launch commands are accepted, and shown.

use std::path::PathBuf;

use midrail_adapters::mcp::{address_server, program_server};
use midrail_adapters::mcp_client::McpClient;
use midrail_adapters::setup::{Environment, InstallScope, Launch, ProxiedCommand, configured_servers};
use serde_json::{Value, json};

use crate::admin_args::{AdminArgs, user_name};
use crate::error::CliResult;
use crate::output::{Output, escaped, short};

/// A server behind the proxy, and whether its launch command is accepted now.
pub(super) struct ProxiedServer {
    name: String,
    file: PathBuf,
    command: String,
    is_accepted: bool,
}

impl ProxiedServer {
    pub(super) fn json(&self) -> Value {
        json!({"name": self.name, "file": self.file, "command": self.command, "accepted": self.is_accepted})
    }

    fn show(&self, output: &mut Output) -> CliResult<()> {
        let state = if self.is_accepted { "accepted" } else { "not new" };
        let file = self.file.display().to_string();
        let [name, command, file] = [&self.name, &self.command, &file].map(|text| escaped(text));
        output.line(format!("  {name}: {} ({state}, {file})", short(&command, 80)))
    }
}

/// Accepts the launch commands of the servers that run through the proxy: their first definitions are pinned, unless something is
/// found in them. Servers that were seen stay as they are.
pub(super) fn accept_servers(
    clients: &[&'static McpClient],
    scope: InstallScope,
    places: &Environment,
) -> CliResult<Vec<ProxiedServer>> {
    let configured = configured_servers(clients, scope, places);
    let mut servers: Vec<ProxiedServer> = Vec::new();
    let mut engine = None;
    for (_, file, server) in &configured {
        let Launch::Program(words) = &server.launch else { continue };
        let Some(proxied) = ProxiedCommand::of(words).filter(|it| it.unknown.is_none()) else { continue };
        let name = proxied.server.unwrap_or(&server.name);
        let (command, launch) = match proxied.url {
            Some(url) => (url.to_owned(), address_server(name, url)),
            None if proxied.command.is_empty() => continue,
            None => (proxied.command.join(" "), program_server(Some(name), proxied.command)),
        };
        if servers.iter().any(|known| known.name == name && known.command == command) {
            continue;
        }
        let engine = match &mut engine {
            Some(engine) => engine,
            empty => empty.insert(AdminArgs::default().write_engine()?),
        };
        // A client replaces variables before it starts the server, so the command is another one then.
        let is_known = !proxied.command.iter().any(|word| word.contains("${") || word.contains("{env:"));
        let is_accepted = is_known && engine.admin().trust_mcp_launch(&launch, &user_name(None))?;
        let file = file.clone();
        servers.push(ProxiedServer { name: name.to_owned(), file, command, is_accepted });
    }
    Ok(servers)
}

pub(super) fn show_servers(servers: &[ProxiedServer], output: &mut Output) -> CliResult<()> {
    if servers.is_empty() {
        return Ok(());
    }
    output.line(
        "\nMCP servers behind the proxy. What accepted ones offer first is pinned, unless something is found in it:",
    )?;
    servers.iter().try_for_each(|server| server.show(output))
}
