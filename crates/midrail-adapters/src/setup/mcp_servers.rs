//! The MCP servers in the settings of clients: read, run through `midrail mcp wrap`, and restored.

mod address;
pub(super) mod changes;
mod edit;
mod entries;
#[cfg(test)]
mod tests;
mod text_edit;
mod tree;

use std::path::{Path, PathBuf};

use super::environment::{Environment, InstallScope};
use super::files::{self, SettingsResult};
use crate::mcp_client::McpClient;
use entries::{ADDRESSES, entries, words};
use tree::Value;

/// An MCP server in a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredServer {
    /// Its name.
    pub name: String,
    /// How it is started or reached.
    pub launch: Launch,
}

/// How an MCP server is started or reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    /// A program and its arguments.
    Program(Vec<String>),
    /// An address.
    Address {
        /// Why the proxy cannot take its place; `None` if `init` puts it there.
        obstacle: Option<String>,
    },
    /// Neither is understood.
    Unknown,
}

/// A server that runs through the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxiedCommand<'w> {
    /// The program of the proxy.
    pub program: &'w str,
    /// The name that the proxy gives the server.
    pub server: Option<&'w str>,
    /// The command of the server; empty if the proxy reaches it at an address.
    pub command: &'w [String],
    /// The address of the server, if it has one.
    pub url: Option<&'w str>,
    /// An option that `init` does not write, such as `--pack`.
    pub unknown: Option<&'w str>,
}

impl<'w> ProxiedCommand<'w> {
    /// The parts of a command that starts the proxy.
    pub fn of(words: &'w [String]) -> Option<Self> {
        let [program, mcp, wrap, options @ ..] = words else { return None };
        if mcp != "mcp" || wrap != "wrap" {
            return None;
        }
        let mut proxied = ProxiedCommand { program, server: None, command: &[], url: None, unknown: None };
        let mut rest = options;
        while let [option, after @ ..] = rest {
            if !option.starts_with('-') || option == "--" {
                // The command needs no `--` before it.
                proxied.command = if option == "--" { after } else { rest };
                break;
            }
            let (name, value, after) = match (option.split_once('='), after) {
                (Some((name, value)), _) => (name, Some(value), after),
                (None, [value, after @ ..]) => (option.as_str(), Some(value.as_str()), after),
                (None, []) => (option.as_str(), None, after),
            };
            match name {
                "--server" => proxied.server = value,
                "--url" => proxied.url = value,
                "--header-env" | "--bearer-env" | "--wait" => {}
                _ => {
                    // It may have a value or none.
                    proxied.unknown = Some(name);
                    let end = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
                    proxied.command = rest.get(end + 1..).unwrap_or_default();
                    break;
                }
            }
            rest = after;
        }
        Some(proxied)
    }
}

/// The servers of a settings file.
pub(crate) fn read(text: &str, path: &Path, client: &McpClient) -> SettingsResult<Vec<ConfiguredServer>> {
    let tree = tree::parse(text, path)?;
    let entries = entries(&tree, client.fields)?.into_iter().enumerate();
    let configured = entries.map(|(at, (name, server))| {
        let mut configured = configured(name, server);
        if let Launch::Address { obstacle } = &mut configured.launch {
            let file = address::SettingsFile { text, path, client };
            *obstacle = address::wrap(file, at, name, server, "midrail").err().map(|it| it.to_string());
        }
        configured
    });
    Ok(configured.collect())
}

/// The servers of a plugin's file. Some plugins have them at the top.
pub(crate) fn read_plugin(text: &str, path: &Path) -> SettingsResult<Vec<ConfiguredServer>> {
    let tree = tree::parse(text, path)?;
    let servers = |fields: &[&str]| -> SettingsResult<Vec<ConfiguredServer>> {
        Ok(entries(&tree, fields)?.into_iter().map(|(name, server)| configured(name, server)).collect())
    };
    let mut found = servers(&["mcpServers"])?;
    if found.is_empty() {
        found = servers(&[""])?;
        found.retain(|server| server.launch != Launch::Unknown);
    }
    Ok(found)
}

/// The servers in the files of clients for a scope. A file that cannot be read has none.
pub fn configured_servers(
    clients: &[&'static McpClient],
    scope: InstallScope,
    env: &Environment,
) -> Vec<(&'static McpClient, PathBuf, ConfiguredServer)> {
    let mut found = Vec::new();
    for client in clients {
        for path in client.files_of(scope, env) {
            let text = files::read(&path).ok().flatten().unwrap_or_default();
            let servers = read(&text, &path, client).unwrap_or_default();
            found.extend(servers.into_iter().map(|server| (*client, path.clone(), server)));
        }
    }
    found
}

fn configured(name: &str, server: &Value) -> ConfiguredServer {
    let find = |names: &[&str]| server.fields().iter().find(|field| names.contains(&field.name.as_str()));
    let launch = match (words(server), find(&ADDRESSES).and_then(|field| field.value.text())) {
        (Some(words), _) => Launch::Program(words),
        (None, Some(_)) => Launch::Address { obstacle: None },
        (None, None) => Launch::Unknown,
    };
    ConfiguredServer { name: name.to_owned(), launch }
}
