//! Checks which MCP servers of a client run through the proxy, and reports why the others do not.

use std::path::{Path, PathBuf};

use crate::hosts;
use crate::mcp_client::McpClient;
use crate::setup::check::CheckResult;
use crate::setup::command;
use crate::setup::environment::{Environment, InstallScope};
use crate::setup::files;
use crate::setup::mcp_servers::{ConfiguredServer, Launch, ProxiedCommand, read, read_plugin};

/// The results of a client; empty if it has no servers.
pub(super) fn check(client: &'static McpClient, env: &Environment) -> Vec<CheckResult> {
    let has_hooks = hosts::find(client.name).is_some();
    let mut covered = Vec::new();
    let mut results = Vec::new();
    for scope in InstallScope::ALL {
        for path in client.files_of(scope, env) {
            // In the home itself, a project's file is the user's.
            let is_same = scope == InstallScope::Project && env.is_home();
            if is_same && client.files_of(InstallScope::User, env).contains(&path) {
                continue;
            }
            let servers = match files::read(&path)
                .and_then(|text| read(&text.unwrap_or_default(), &path, client))
            {
                Ok(servers) => servers,
                Err(error) => {
                    let message = format!("the MCP servers could not be read: {}", error.in_file(&path));
                    results
                        .push(CheckResult::caution(message, "fix the file, then run `midrail doctor` again"));
                    continue;
                }
            };
            for server in servers {
                match gap(&server, scope, client, env) {
                    None => covered.push(server.name),
                    Some((why, fix)) => results.push(not_covered(&server.name, &path, &why, fix)),
                }
            }
        }
    }
    for path in client.installed_plugin_files(env) {
        let Ok(Some(text)) = files::read(&path) else { continue };
        for server in read_plugin(&text, &path).unwrap_or_default() {
            if gap(&server, InstallScope::User, client, env).is_some() {
                let why = "a plugin brings it, and an update of the plugin would replace a change";
                let fix =
                    "register the server in the settings instead of the plugin, then run `midrail init`";
                results.push(not_covered(&server.name, &path, why, fix.to_owned()));
            }
        }
    }
    if !has_hooks {
        // Without hooks, nothing else sees the calls of these servers.
        results = results.into_iter().map(CheckResult::open).collect();
    }
    if !covered.is_empty() {
        covered.sort();
        covered.dedup();
        results.insert(0, CheckResult::good(format!("MCP servers behind the proxy: {}", covered.join(", "))));
    }
    results
}

fn not_covered(server: &str, path: &Path, why: &str, fix: String) -> CheckResult {
    let message = format!("the MCP server `{server}` in {} is not behind the proxy: {why}", path.display());
    CheckResult::caution(message, fix)
}

/// Why a server does not run through this proxy, and what to do.
fn gap(
    server: &ConfiguredServer,
    scope: InstallScope,
    client: &McpClient,
    env: &Environment,
) -> Option<(String, String)> {
    let init = format!("run `midrail init{} --agent {}`", scope.flag(), client.name);
    match &server.launch {
        Launch::Program(words) => {
            let Some(proxied) = ProxiedCommand::of(words) else {
                return Some(("its command starts it directly".to_owned(), init));
            };
            if let Some(option) = proxied.unknown {
                let why = format!("its proxy has the option `{option}`, with which other policies can apply");
                return Some((why, format!("remove `{option}` from its arguments")));
            }
            let Some(path) = command::find(proxied.program, env) else {
                return Some((
                    format!("its proxy `{}` does not exist, so it does not start", proxied.program),
                    init,
                ));
            };
            let real = |path: &Path| -> PathBuf { path.canonicalize().unwrap_or_else(|_| path.to_owned()) };
            let this = env.program.as_deref()?;
            let is_other = real(&path) != real(this);
            is_other.then(|| (format!("it runs through another program, {}", path.display()), init))
        }
        Launch::Address { obstacle: None } => Some(("it is reached at an address directly".to_owned(), init)),
        Launch::Address { obstacle: Some(why) } => {
            let so_far = if hosts::find(client.name).is_some() {
                "until then, hooks of the client decide its calls, and its definitions are not checked"
            } else {
                "until then, its calls and definitions are not checked"
            };
            let by_hand = format!("mcp wrap --server {} --url URL --header-env HEADER=VARIABLE", server.name);
            let fix = format!(
                "if it needs no OAuth, start it with `midrail {by_hand}` in place of its address; {so_far}"
            );
            Some((why.clone(), fix))
        }
        Launch::Unknown => Some((
            "its settings have no command and no address that Midrail understands".to_owned(),
            "put `midrail mcp wrap --` before its command".to_owned(),
        )),
    }
}
