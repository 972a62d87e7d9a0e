//! The changes of settings files with which servers run through the proxy, or without it again.

use std::path::Path;

use super::edit;
use crate::mcp_client::McpClient;
use crate::setup::change::{Backup, FileChange};
use crate::setup::environment::{Environment, InstallScope};
use crate::setup::files::{self, SettingsError, SettingsResult};

/// Adds the changes with which the servers of clients run through a proxy. A file can have other changes already.
pub(crate) fn wrap(
    clients: &[&'static McpClient],
    scope: InstallScope,
    program: &str,
    env: &Environment,
    changes: &mut Vec<FileChange>,
) -> Vec<SettingsError> {
    let change = |client: &McpClient, path: &Path, changes: &mut Vec<FileChange>| -> SettingsResult {
        let Some((text, at)) = current(path, changes)? else { return Ok(()) };
        let after = edit::wrap(&text, path, client, program)?;
        if after == text {
            return Ok(());
        }
        let unwrapped = |text: &str| edit::unwrap(text, path, client, None);
        match at.and_then(|at| changes.get_mut(at)) {
            Some(change) => {
                change.original = change.original.as_deref().map(unwrapped).transpose()?;
                change.after = Some(after);
            }
            None => {
                let before = Some(text);
                let backup = Backup::last(path, env).filter(|backup| backup.after == before);
                let (original, created_folders) = match backup {
                    Some(backup) => (backup.before, backup.created_folders),
                    None => (before.as_deref().map(unwrapped).transpose()?, Vec::new()),
                };
                let change = FileChange::of(client.name, path);
                changes.push(FileChange { before, after: Some(after), original, created_folders, ..change });
            }
        }
        Ok(())
    };
    for_each_file(clients, scope, env, |client, path| change(client, path, changes))
}

/// Adds the changes with which the servers of clients run without a proxy.
pub(crate) fn unwrap(
    clients: &[&'static McpClient],
    scope: InstallScope,
    env: &Environment,
    changes: &mut Vec<FileChange>,
) -> Vec<SettingsError> {
    let change = |client: &McpClient, path: &Path, changes: &mut Vec<FileChange>| -> SettingsResult {
        let Some((text, at)) = current(path, changes)? else { return Ok(()) };
        let backup = Backup::last(path, env);
        let before = backup.as_ref().and_then(|backup| backup.before.as_deref());
        if at.is_some() && before == Some(text.as_str()) {
            // The file is restored from its backup already.
            return Ok(());
        }
        let after = edit::unwrap(&text, path, client, before)?;
        if after == text {
            return Ok(());
        }
        if let Some(change) = at.and_then(|at| changes.get_mut(at)) {
            change.original = Some(after.clone());
            change.after = Some(after);
            return Ok(());
        }
        let after = match backup {
            Some(backup) if backup.after.as_deref() == Some(text.as_str()) => backup.before,
            _ => Some(after),
        };
        let change = FileChange::of(client.name, path);
        changes.push(FileChange { before: Some(text), original: after.clone(), after, ..change });
        Ok(())
    };
    for_each_file(clients, scope, env, |client, path| change(client, path, changes))
}

/// The text of a file after the changes so far, and the change that it has. `None`: it does not exist then.
fn current(path: &Path, changes: &[FileChange]) -> SettingsResult<Option<(String, Option<usize>)>> {
    match changes.iter().position(|change| change.path == path) {
        Some(at) => Ok(changes.get(at).and_then(|change| Some((change.after.clone()?, Some(at))))),
        None => Ok(files::read(path)?.map(|text| (text, None))),
    }
}

fn for_each_file(
    clients: &[&'static McpClient],
    scope: InstallScope,
    env: &Environment,
    mut change: impl FnMut(&McpClient, &Path) -> SettingsResult,
) -> Vec<SettingsError> {
    let mut errors = Vec::new();
    for client in clients {
        for path in client.files_of(scope, env) {
            errors.extend(change(client, &path).map_err(|error| error.in_file(&path)).err());
        }
    }
    errors
}
