//! The MCP servers in the settings of clients: read, run through `midrail mcp wrap`, and restored.

pub(super) mod changes;
mod edit;
#[cfg(test)]
mod tests;
mod tree;

use std::path::{Path, PathBuf};

use super::environment::{Environment, InstallScope};
use super::files::{self, SettingsResult};
use crate::mcp_client::McpClient;
use tree::{Node, Value};

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
        /// The address.
        url: String,
        /// Whether the settings have headers for it. A server without them may use OAuth.
        has_headers: bool,
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
}

impl<'w> ProxiedCommand<'w> {
    /// The parts of a command that starts the proxy.
    pub fn of(words: &'w [String]) -> Option<Self> {
        let [program, mcp, wrap, options @ ..] = words else { return None };
        if mcp != "mcp" || wrap != "wrap" {
            return None;
        }
        let end = options.iter().position(|word| word == "--");
        let (options, command) = match end {
            Some(at) => (options.get(..at)?, options.get(at + 1..)?),
            None => (options, Default::default()),
        };
        let mut after = options.iter().skip_while(|word| *word != "--server").skip(1);
        let joined = options.iter().find_map(|word| word.strip_prefix("--server="));
        Some(ProxiedCommand { program, server: after.next().map(String::as_str).or(joined), command })
    }
}

/// The fields with an address.
const ADDRESSES: [&str; 3] = ["url", "httpUrl", "serverUrl"];

/// The fields with headers, or with the variable of one.
const HEADERS: [&str; 4] = ["headers", "http_headers", "env_http_headers", "bearer_token_env_var"];

/// The servers of a settings file.
pub(crate) fn read(text: &str, path: &Path, client: &McpClient) -> SettingsResult<Vec<ConfiguredServer>> {
    let tree = tree::parse(text, path)?;
    Ok(entries(&tree, client.fields)?.into_iter().map(|(name, server)| configured(name, server)).collect())
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

/// The names and fields of all servers.
fn entries<'t>(tree: &'t Value, fields: &[&str]) -> SettingsResult<Vec<(&'t str, &'t Value)>> {
    let mut found = Vec::new();
    for path in fields {
        let mut level = vec![tree];
        for name in path.split('.').filter(|name| !name.is_empty()) {
            let mut next = Vec::new();
            for value in level {
                match name {
                    "*" => next.extend(value.fields().iter().map(|field| &field.value)),
                    name => next.extend(value.field(name)?.map(|field| &field.value)),
                }
            }
            level = next;
        }
        for field in level.into_iter().flat_map(Value::fields) {
            if matches!(field.value.node, Node::Table { .. }) {
                found.push((field.name.as_str(), &field.value));
            }
        }
    }
    Ok(found)
}

fn configured(name: &str, server: &Value) -> ConfiguredServer {
    let find = |names: &[&str]| server.fields().iter().find(|field| names.contains(&field.name.as_str()));
    let launch = match (words(server), find(&ADDRESSES).and_then(|field| field.value.text())) {
        (Some(words), _) => Launch::Program(words),
        (None, Some(url)) => Launch::Address { url: url.to_owned(), has_headers: find(&HEADERS).is_some() },
        (None, None) => Launch::Unknown,
    };
    ConfiguredServer { name: name.to_owned(), launch }
}

/// The words of a server's command, which is a list, or a program next to a list of arguments.
fn words(server: &Value) -> Option<Vec<String>> {
    let field =
        |name: &str| server.fields().iter().find(|field| field.name == name).map(|field| &field.value);
    let command = field("command")?;
    if let Some(program) = command.text() {
        let args = field("args").map_or(Some(Vec::new()), Value::texts)?;
        let words: Vec<String> = [program.to_owned()].into_iter().chain(args).collect();
        return (!program.is_empty()).then_some(words);
    }
    command.texts().filter(|words| !words.is_empty())
}
