//! Plans the changes of `midrail init` and `midrail uninstall`, so that they can be shown before they happen.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::change::{Backup, FileChange};
use super::command::{HookProgram, HookShell, is_found_at_login};
use super::environment::{Environment, InstallScope};
use super::files::{self, SettingsError, SettingsResult};
use super::json;
use super::mcp_servers::changes as mcp_changes;
use crate::host::HostSpec;
use crate::mcp_client::McpClient;

/// The pack that a project starts with.
pub(super) const STARTER_PACK: &str = include_str!("starter.yaml");

/// What of `.midrail` stays out of a repository.
const IGNORE: &str = "# Backups of what `midrail init` changed: they may contain secrets.\nbackup/\n# Personal settings and state.\nlocal/\n*.local.yaml\n*.db\n*.db-*\n*.key\n";

/// What to install.
#[derive(Debug, Clone)]
pub struct InstallRequest {
    /// The hosts.
    pub hosts: Vec<&'static HostSpec>,
    /// The clients whose MCP servers will run through the proxy.
    pub clients: Vec<&'static McpClient>,
    /// Who is protected.
    pub scope: InstallScope,
    /// The program that hooks run.
    pub program: HookProgram,
    /// Whether hooks are trusted afterwards, with [`trust`].
    pub trust: bool,
}

/// Changes of files, and what prevents them.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The files that change.
    pub changes: Vec<FileChange>,
    /// Files that need no change.
    pub current: Vec<(&'static HostSpec, PathBuf)>,
    /// Files that cannot be changed.
    pub errors: Vec<SettingsError>,
    /// What the user has to know or do.
    pub remarks: Vec<(&'static HostSpec, String)>,
    /// What is registered afterwards: host, file and program.
    pub(super) registered: Vec<(&'static HostSpec, InstallScope, PathBuf, String)>,
    /// Files without hooks afterwards.
    pub(super) uninstalled: Vec<PathBuf>,
    /// Whether the project's pack is removed, too.
    pub(super) purge: bool,
}

impl Plan {
    fn add(&mut self, change: SettingsResult<Option<FileChange>>) {
        match change {
            Ok(change) => self.changes.extend(change),
            Err(error) => self.errors.push(error),
        }
    }
}

/// Plans to install hooks, and to run MCP servers through the proxy.
pub fn install(request: &InstallRequest, env: &Environment) -> Plan {
    let mut plan = Plan::default();
    let scope = request.scope;
    for host in request.hosts.iter().copied() {
        let Some(path) = host.files.at(env, scope) else {
            let remark = format!(
                "{} has no settings for a whole machine: protect every user with `midrail init --agent {}`",
                host.title, host.name
            );
            plan.remarks.push((host, remark));
            continue;
        };
        let at_login = path_for_login_shell(host, &request.program.name, env);
        let program = at_login.as_ref().unwrap_or(&request.program.name);
        match install_hooks(host, scope, program, &path, env) {
            Ok(change) => {
                plan.registered.push((host, scope, path.clone(), program.clone()));
                match change {
                    Some(change) => plan.changes.push(change),
                    None => plan.current.push((host, path)),
                }
            }
            Err(error) => {
                plan.errors.push(error);
                continue;
            }
        }
        let mut remarks: Vec<String> = host
            .remarks
            .iter()
            .filter(|(only, _)| *only == scope)
            .map(|(_, text)| (*text).to_owned())
            .collect();
        if at_login.is_some() {
            remarks.push(format!(
                "{} starts hooks with your login shell, which does not find `midrail`: the file contains its path, so it \
                 works on this machine only.",
                host.title
            ));
        }
        if let Some(trust) = host.setup.trust.as_ref().filter(|_| scope != InstallScope::Managed) {
            remarks.extend((trust.remarks)(host, env, scope, request.trust));
        }
        plan.remarks.extend(remarks.into_iter().map(|remark| (host, remark)));
    }
    let program = &request.program.name;
    plan.errors.extend(mcp_changes::wrap(&request.clients, scope, program, env, &mut plan.changes));
    match scope {
        InstallScope::Project => plan.changes.extend(starter_files(env)),
        InstallScope::User => {}
        InstallScope::Managed => {
            let path = Path::new(&request.program.name);
            let is_replaceable = path.metadata().is_ok_and(|it| it.uid() != 0 || it.mode() & 0o022 != 0);
            if let Some(host) = request.hosts.first().filter(|_| is_replaceable) {
                let remark = format!(
                    "other users than root can replace {}: install Midrail where only root can write, and give its path \
                     with `--program PATH`",
                    path.display()
                );
                plan.remarks.push((*host, remark));
            }
        }
    }
    plan
}

/// Hooks whose commands say that no settings register them.
pub(super) fn in_plugin(hooks: String) -> String {
    hooks.replace(" --proof ", " --in-plugin --proof ").replace("\"--proof\"", "\"--in-plugin\", \"--proof\"")
}

/// Plans to write a plugin with the same hooks to a folder.
pub fn plugin(host: &'static HostSpec, folder: &Path, program: &str) -> Plan {
    let mut plan = Plan::default();
    let Some(plugin) = &host.plugin else {
        let error = SettingsError::new(format!("{} has no plugins with hooks", host.title));
        plan.errors.push(error.help(format!("run `midrail init --agent {}`", host.name)).in_file(folder));
        return plan;
    };
    let is_json = plugin.hooks.ends_with(".json");
    let mut manifest = json!({
        "name": "midrail", "version": env!("CARGO_PKG_VERSION"), "description": "Guardrails for AI agents",
    });
    if let Some(fields) = manifest.as_object_mut().filter(|_| !is_json) {
        fields.insert("type".to_owned(), json!("module"));
        fields.insert("main".to_owned(), json!(plugin.hooks));
    }
    let empty = if is_json { "{}\n" } else { "" };
    let manifest = Ok(format!("{manifest:#}\n"));
    let hooks = host.install(InstallScope::User, empty, program).map(in_plugin);
    let texts = [(plugin.hooks, hooks), (plugin.manifest, manifest)];
    for (name, text) in texts.into_iter().filter(|(name, _)| !name.is_empty()) {
        let path = folder.join(name);
        plan.add(text.and_then(|text| {
            let before = files::read(&path)?;
            let is_current = before.as_deref() == Some(text.as_str());
            Ok((!is_current).then(|| FileChange { before, after: Some(text), ..FileChange::own(&path) }))
        }));
    }
    let activation = plugin.activation.replace("DIR", &folder.display().to_string());
    plan.remarks.push((host, activation));
    plan
}

/// The path of a program that the host's login shell does not find by name.
fn path_for_login_shell(host: &HostSpec, name: &str, env: &Environment) -> Option<String> {
    if host.shell != HookShell::Login || name.contains('/') || is_found_at_login(name, env)? {
        return None;
    }
    env.on_path(name)?.to_str().map(str::to_owned)
}

pub(super) fn install_hooks(
    host: &HostSpec,
    scope: InstallScope,
    program: &str,
    path: &Path,
    env: &Environment,
) -> SettingsResult<Option<FileChange>> {
    if !host.follows_links && path.is_symlink() {
        return Err(SettingsError::new(format!("is a link, and {} does not follow links", host.title))
            .help("replace the link with a file, then run this command again")
            .in_file(path));
    }
    let before = files::read(path)?;
    let empty = if path.extension().is_some_and(|extension| extension == "json") { "{}\n" } else { "" };
    let text = before.as_deref().unwrap_or(empty);
    let after = host.install(scope, text, program).map_err(|error| error.in_file(path))?;
    if before.as_deref() == Some(after.as_str()) {
        return Ok(None);
    }
    let backup = Backup::last(path, env).filter(|backup| backup.after == before);
    let (original, created_folders) = match backup {
        Some(backup) => (backup.before, backup.created_folders),
        None => {
            // The file was changed since, or there is no backup: without Midrail's hooks it is the original.
            let stripped = before.as_deref().map(|text| host.remove(scope, text, None)).transpose();
            let stripped = stripped.map_err(|error| error.in_file(path))?.flatten();
            (stripped.or_else(|| before.clone()), Vec::new())
        }
    };
    let change = FileChange::of(host.name, path);
    Ok(Some(FileChange { before, after: Some(after), original, created_folders, ..change }))
}

/// The pack that a project starts with, if it has none.
fn starter_files(env: &Environment) -> Vec<FileChange> {
    let folder = env.project.join(midrail::paths::PROJECT_FOLDER);
    let is_pack = |path: PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        ["yaml", "yml", "json", "js", "mjs"].contains(&extension)
    };
    let mut entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let has_pack = entries.any(|entry| is_pack(entry.path()));
    let pack = (!has_pack).then_some(("pack.yaml", STARTER_PACK));
    let files = pack.into_iter().chain([(".gitignore", IGNORE)]);
    let files = files.map(|(name, text)| (folder.join(name), text));
    files
        .filter(|(path, _)| path.symlink_metadata().is_err())
        .map(|(path, text)| FileChange { after: Some(text.to_owned()), ..FileChange::own(&path) })
        .collect()
}

/// Plans to remove hooks, and to run MCP servers without the proxy. With `purge`, the project's pack is removed, too.
pub fn uninstall(
    hosts: &[&'static HostSpec],
    clients: &[&'static McpClient],
    scope: InstallScope,
    purge: bool,
    env: &Environment,
) -> Plan {
    let purge = purge && scope == InstallScope::Project;
    let mut plan = Plan { purge, ..Plan::default() };
    for host in hosts {
        let Some(path) = host.files.at(env, scope) else { continue };
        plan.add(remove_hooks(host, scope, &path, env));
        plan.uninstalled.push(path.clone());
        if let Some(trust) = host.setup.trust.as_ref().filter(|_| scope != InstallScope::Managed) {
            plan.add((trust.revoke)(host, &path, env));
        }
    }
    plan.errors.extend(mcp_changes::unwrap(clients, scope, env, &mut plan.changes));
    plan.uninstalled.extend(clients.iter().flat_map(|client| client.files_of(scope, env)));
    let folder = env.project.join(midrail::paths::PROJECT_FOLDER);
    for name in ["pack.yaml", ".gitignore"].iter().filter(|_| purge) {
        let path = folder.join(name);
        plan.add(files::read(&path).map(|text| {
            let created_folders = vec![folder.clone()];
            text.map(|text| FileChange { before: Some(text), created_folders, ..FileChange::own(&path) })
        }));
    }
    plan
}

/// The files in which Midrail's hooks are registered, in any scope.
pub fn registered(
    hosts: &[&'static HostSpec],
    env: &Environment,
) -> Vec<(&'static HostSpec, InstallScope, PathBuf)> {
    let mut found: Vec<(&'static HostSpec, InstallScope, PathBuf)> = Vec::new();
    for host in hosts {
        for (scope, path) in host.settings(env) {
            let Ok(Some(text)) = files::read(&path) else { continue };
            let has_hooks = host.registered(scope, &text).is_ok_and(|hooks| !hooks.is_empty());
            if has_hooks && !found.iter().any(|(_, _, known)| *known == path) {
                found.push((host, scope, path));
            }
        }
    }
    found
}

fn remove_hooks(
    host: &HostSpec,
    scope: InstallScope,
    path: &Path,
    env: &Environment,
) -> SettingsResult<Option<FileChange>> {
    let Some(text) = files::read(path)? else { return Ok(None) };
    let backup = Backup::last(path, env);
    let before = backup.as_ref().and_then(|backup| backup.before.as_deref());
    let removed = host.remove(scope, &text, before).map_err(|error| error.in_file(path))?;
    let Some(removed) = removed else { return Ok(None) };
    let created_folders = backup.as_ref().map(|backup| backup.created_folders.clone()).unwrap_or_default();
    let after = match backup {
        Some(backup) if backup.after.as_deref() == Some(text.as_str()) => backup.before,
        backup => {
            let existed = backup.is_some_and(|backup| backup.before.is_some());
            let is_obsolete = !existed && is_only_for_hooks(path) && is_empty(&removed);
            (!is_obsolete).then_some(removed)
        }
    };
    let change = FileChange::of(host.name, path);
    Ok(Some(FileChange { before: Some(text), original: after.clone(), after, created_folders, ..change }))
}

fn is_only_for_hooks(path: &Path) -> bool {
    let names = ["hooks.json", "midrail.json", "midrail.js"];
    path.file_name().is_some_and(|name| names.iter().any(|only| name == *only))
}

/// Whether a file of hooks has no content any more.
fn is_empty(text: &str) -> bool {
    let settings = json::value(text).unwrap_or_default();
    text.trim().is_empty()
        || settings.as_object().is_some_and(|fields| fields.keys().all(|key| key == "version"))
}

/// Plans that hosts trust their registered hooks.
pub fn trust(hosts: &[&'static HostSpec], env: &Environment) -> Plan {
    let mut plan = Plan::default();
    for host in hosts {
        let Some(trust) = &host.setup.trust else { continue };
        match (trust.grant)(host, env) {
            Ok(None) => plan.current.extend(host.files.at(env, InstallScope::User).map(|it| (*host, it))),
            change => plan.add(change),
        }
    }
    plan
}
