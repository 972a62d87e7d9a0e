//! A program whose settings files register MCP servers: where these files are, and which of their fields have servers.

use std::fs;
use std::path::{Path, PathBuf};

use crate::setup::environment::{Environment, InstallScope};

/// An MCP client. Every host is one; some clients have no hooks.
#[derive(Debug, PartialEq, Eq)]
pub struct McpClient {
    /// Its name on the command line; that of the host if it has hooks.
    pub name: &'static str,
    /// Its display name.
    pub title: &'static str,
    /// The files that define its agents or register tool servers, as globs.
    pub extension_files: &'static [&'static str],
    /// The files that register servers. A relative path is in a project; `~` and `$VARIABLE` are a user's; `/` is a machine's.
    pub files: &'static [&'static str],
    /// The fields that contain servers, as paths of names. `*` stands for any name.
    pub fields: &'static [&'static str],
    /// The files of plugins that bring servers. `*` stands for the name of a folder.
    pub plugin_files: &'static [&'static str],
    /// How a server at an address is written; `None` if the client reaches none.
    pub(crate) address: Option<AddressForm>,
}

/// How a client's files write a server at an address (Streamable HTTP), and a program in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AddressForm {
    /// The field with the address, without a `type`; empty if there has to be one.
    pub(crate) untyped: &'static str,
    /// The same with a `type`.
    pub(crate) typed: &'static str,
    /// The `type` of such a server, and that of a program.
    pub(crate) types: (&'static str, &'static str),
    /// The field with headers.
    pub(crate) headers: &'static str,
    /// The field with the variables of a program.
    pub(crate) environment: &'static str,
    /// Whether a program and its arguments are one list.
    pub(crate) one_list: bool,
    /// Whether headers can name variables: `env_http_headers`, `bearer_token_env_var`, and `env_vars` of a program.
    pub(crate) named_variables: bool,
}

impl McpClient {
    /// The files that register servers for a scope. Some of them may not exist.
    pub(crate) fn files_of(&self, scope: InstallScope, env: &Environment) -> Vec<PathBuf> {
        let files = self.files.iter().filter(|file| scope_of(file) == scope);
        let mut files: Vec<PathBuf> = files.filter_map(|file| resolve(file, env)).collect();
        files.sort();
        files.dedup();
        files
    }

    /// The files of the plugins that are installed.
    pub(crate) fn installed_plugin_files(&self, env: &Environment) -> Vec<PathBuf> {
        self.plugin_files
            .iter()
            .filter_map(|file| resolve(file, env))
            .flat_map(|file| matching(&file))
            .collect()
    }

    /// Whether any of its files exists.
    pub fn is_present(&self, env: &Environment) -> bool {
        InstallScope::ALL.iter().any(|scope| self.files_of(*scope, env).iter().any(|file| file.exists()))
    }
}

fn scope_of(file: &str) -> InstallScope {
    match file.chars().next() {
        Some('~' | '$') => InstallScope::User,
        Some('/') => InstallScope::Managed,
        _ => InstallScope::Project,
    }
}

/// The path of a file; `None` if its variable is not set.
fn resolve(file: &str, env: &Environment) -> Option<PathBuf> {
    if let Some(rest) = file.strip_prefix('$') {
        let (variable, rest) = rest.split_once('/')?;
        return Some(env.variable(variable)?.join(rest));
    }
    if let Some(rest) = file.strip_prefix("~/") {
        return Some(env.home.join(rest));
    }
    Some(match file.strip_prefix('/') {
        Some(rest) => env.root.join(rest),
        None => env.project.join(file),
    })
}

/// The most folders of plugins that are read.
const MAX_FOLDERS: usize = 1_000;

/// The files that match a path with `*`.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern {
        found = if part == "*" {
            let entries = found.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
            entries.map(|entry| entry.path()).take(MAX_FOLDERS).collect()
        } else {
            found.into_iter().map(|folder| folder.join(part)).collect()
        };
    }
    found.retain(|file| file.is_file());
    found.sort();
    found
}
