//! Codex runs hooks only once they are trusted, and a project's hooks only if the project is trusted.

use std::path::{Path, PathBuf};

use super::app_server::known_hooks;
use super::toml;
use crate::host::{HostSpec, Installation, Trust};
use crate::setup::change::{Backup, FileChange};
use crate::setup::check::CheckResult;
use crate::setup::environment::{Environment, InstallScope};
use crate::setup::files::{self, SettingsError, SettingsResult};

pub(super) const TRUST: Trust = Trust {
    remarks,
    preview: "`--trust` then adds `trusted_hash` for each hook under `[hooks.state]` in Codex's config.toml; Codex reports \
              the hashes once the hooks are written",
    grant,
    revoke,
};

fn remarks(host: &HostSpec, env: &Environment, scope: InstallScope, is_granted: bool) -> Vec<String> {
    let mut remarks = Vec::new();
    if scope == InstallScope::Project && !is_trusted_project(host, env) {
        remarks.push(
            "Codex reads a project's hooks only if the project is trusted: start `codex` here and trust it, or protect all \
             your projects with `midrail init --agent codex`."
                .to_owned(),
        );
    }
    if !is_granted {
        remarks.push(format!(
            "Codex runs these hooks only once they are trusted: type `/hooks` in Codex and trust them, or run `midrail \
             init{} --agent codex --trust`.",
            scope.flag()
        ));
    }
    remarks
}

/// The user's configuration of Codex.
fn config(host: &HostSpec, env: &Environment) -> PathBuf {
    host.files.folder(env).join("config.toml")
}

/// Whether Codex trusts the project.
fn is_trusted_project(host: &HostSpec, env: &Environment) -> bool {
    let config = files::read(&config(host, env)).ok().flatten().unwrap_or_default();
    let folders = [Some(env.project.clone()), env.project.canonicalize().ok()];
    folders.into_iter().flatten().any(|folder| {
        let path = ["projects", &folder.display().to_string(), "trust_level"];
        toml::text_at(&config, &path).as_deref() == Some("trusted")
    })
}

const TRUST_MANUALLY: &str = "type `/hooks` in Codex and trust them there";

/// Writes the hashes of Midrail's hooks to Codex's configuration.
fn grant(host: &HostSpec, env: &Environment) -> SettingsResult<Option<FileChange>> {
    let path = config(host, env);
    let cannot = |message: String| SettingsError::new(message).help(TRUST_MANUALLY).in_file(&path);
    let program = env.on_path("codex").ok_or_else(|| {
        cannot("`codex` is not on the search path, and only Codex knows the hashes of hooks".to_owned())
    })?;
    let known = known_hooks(&program, env)
        .map_err(|error| cannot(format!("Codex does not report the hashes of hooks: {error}")))?;
    if known.is_empty() {
        let is_registered = host.settings(env).into_iter().any(|(scope, path)| {
            let text = files::read(&path).ok().flatten().filter(|_| scope != InstallScope::Project);
            text.and_then(|text| host.registered(scope, &text).ok()).is_some_and(|hooks| !hooks.is_empty())
        });
        let help = if is_registered || is_trusted_project(host, env) {
            "type `/hooks` in Codex to see what it reads, and run `midrail doctor --agent codex`"
        } else {
            "Codex reads a project's hooks only if the project is trusted: start `codex` here and trust it"
        };
        return Err(SettingsError::new("Codex does not see the hooks here").help(help).in_file(&path));
    }
    let hooks: Vec<(String, String)> =
        known.into_iter().filter(|hook| !hook.is_trusted()).map(|hook| (hook.key, hook.hash)).collect();
    let before = files::read(&path)?;
    let after =
        toml::trust(before.as_deref().unwrap_or_default(), &hooks).map_err(|error| error.in_file(&path))?;
    if hooks.is_empty() || before.as_deref() == Some(after.as_str()) {
        return Ok(None);
    }
    let backup = Backup::last(&path, env).filter(|backup| backup.after == before);
    let original = backup.map_or_else(|| before.clone(), |backup| backup.before);
    Ok(Some(FileChange { before, after: Some(after), original, ..FileChange::of("codex", &path) }))
}

/// Removes the hashes of the hooks of a file.
fn revoke(host: &HostSpec, hooks: &Path, env: &Environment) -> SettingsResult<Option<FileChange>> {
    let path = config(host, env);
    let Some(text) = files::read(&path)? else { return Ok(None) };
    let backup = Backup::last(&path, env);
    let before = backup.as_ref().and_then(|backup| backup.before.as_deref());
    let removed =
        toml::distrust(&text, &hooks.display().to_string(), before).map_err(|error| error.in_file(&path))?;
    let Some(removed) = removed else { return Ok(None) };
    let after = match backup {
        Some(backup) if backup.after.as_deref() == Some(text.as_str()) => backup.before,
        _ => Some(removed),
    };
    Ok(Some(FileChange {
        before: Some(text),
        original: after.clone(),
        after,
        ..FileChange::of("codex", &path)
    }))
}

/// Checks that Codex runs the registered hooks.
pub(super) fn check(installation: &Installation<'_>) -> Vec<CheckResult> {
    let files = installation.files;
    if files.iter().any(|file| file.scope == InstallScope::Managed) {
        return vec![CheckResult::good("managed hooks need no trust")];
    }
    let unknown = |reason: String| {
        CheckResult::bad(
            format!("could not check whether Codex trusts the hooks: {reason}"),
            "type `/hooks` in Codex and check",
        )
    };
    let Some(program) = installation.program else {
        return vec![unknown("`codex` is not on the search path".to_owned())];
    };
    let known = match known_hooks(program, installation.env) {
        Ok(known) => known,
        Err(error) => return vec![unknown(error.to_string())],
    };
    let untrusted: Vec<&str> = known
        .iter()
        .filter(|hook| !hook.is_trusted())
        .map(|hook| hook.key.rsplit(':').nth(2).unwrap_or(&hook.key))
        .collect();
    let user = if files.iter().any(|file| file.scope == InstallScope::Project) { " --project" } else { "" };
    vec![if known.is_empty()
        && installation.is_project_only()
        && !is_trusted_project(installation.host, installation.env)
    {
        CheckResult::bad(
            "Codex does not read these hooks: the project is not trusted",
            "start `codex` here and trust the project, or run `midrail init --agent codex --trust`",
        )
    } else if known.is_empty() {
        CheckResult::bad(
            "Codex does not read these hooks: it does not list any of them",
            "type `/hooks` in Codex to see what it reads, and check that its settings do not disable hooks",
        )
    } else if untrusted.is_empty() {
        CheckResult::good("Codex trusts the hooks")
    } else {
        CheckResult::bad(
            format!("Codex does not trust, and so does not run: {}", untrusted.join(", ")),
            format!(
                "type `/hooks` in Codex and trust them, or run `midrail init{user} --agent codex --trust`"
            ),
        )
    }]
}
