//! Codex: hooks in `hooks.json`, or in the requirements of a machine.

use std::path::PathBuf;

use serde_json::json;

use super::toml::{self, TomlFormat};
use crate::host::{Installation, Setup};
use crate::setup::command::HookShell;
use crate::setup::environment::{Environment, InstallScope};
use crate::setup::files;
use crate::setup::json::{JsonFormat, Layout};

const JSON: JsonFormat =
    JsonFormat { layout: Layout::Groups, strict: true, comments: false, mark: false, only_hooks: true };

pub(super) const SETUP: Setup = Setup {
    programs: &["codex"],
    traces: |env| vec![env.project.join(".codex"), folder(env)],
    file: |env, scope| {
        Some(match scope {
            InstallScope::Project => env.project.join(".codex/hooks.json"),
            InstallScope::User => folder(env).join("hooks.json"),
            InstallScope::Managed => env.etc("codex").join("requirements.toml"),
        })
    },
    format: |scope| match scope {
        InstallScope::Project | InstallScope::User => &JSON,
        InstallScope::Managed => &TomlFormat,
    },
    handler: |_, registration, command| {
        vec![
            ("type", json!("command")),
            ("command", json!(command)),
            ("timeout", json!(registration.seconds)),
        ]
    },
    follows_links: true,
    shell: HookShell::User,
    remarks: |env, scope| {
        if scope != InstallScope::Project || is_trusted_project(env) {
            return Vec::new();
        }
        vec![
            "Codex reads a project's hooks only if the project is trusted: start `codex` here and trust it, or protect all \
             your projects with `midrail init --user --agent codex`."
                .to_owned(),
        ]
    },
    trust: None,
    check: |_| Vec::new(),
    disabled_in,
    blocks_on_timeout_since: None,
    probe: |command, folder| {
        json!({
            "session_id": "midrail-doctor", "turn_id": "turn-1", "transcript_path": null, "cwd": folder,
            "hook_event_name": "PreToolUse", "model": "", "permission_mode": "default", "tool_name": "Bash",
            "tool_input": {"command": command}, "tool_use_id": "call-1",
        })
    },
    is_denial: |answer| {
        let field = |name: &str| answer.get("hookSpecificOutput")?.get(name)?.as_str();
        // Without a reason, Codex continues.
        field("permissionDecision") == Some("deny")
            && field("permissionDecisionReason").is_some_and(|reason| !reason.is_empty())
    },
};

/// The user's folder of Codex.
pub(super) fn folder(env: &Environment) -> PathBuf {
    env.folder("CODEX_HOME", ".codex")
}

/// Whether Codex trusts the project.
pub(super) fn is_trusted_project(env: &Environment) -> bool {
    let config = files::read(&folder(env).join("config.toml")).ok().flatten().unwrap_or_default();
    let folders = [Some(env.project.clone()), env.project.canonicalize().ok()];
    folders.into_iter().flatten().any(|folder| {
        let path = ["projects", &folder.display().to_string(), "trust_level"];
        toml::text_at(&config, &path).as_deref() == Some("trusted")
    })
}

fn disabled_in(installation: &Installation<'_>) -> Vec<(PathBuf, &'static str)> {
    let is_ours = |key: &String| {
        let files = installation.files.iter();
        let mut files = files.flat_map(|file| [Some(file.path.clone()), file.path.canonicalize().ok()]);
        files.any(|file| file.is_some_and(|file| key.starts_with(&format!("{}:", file.display()))))
    };
    let env = installation.env;
    let mut disabled = Vec::new();
    for path in [env.project.join(".codex/config.toml"), folder(env).join("config.toml")] {
        let text = files::read(&path).ok().flatten().unwrap_or_default();
        if matches!(toml::flag_at(&text, &["features", "hooks"]), Ok(Some(false))) {
            disabled.push((path.clone(), "`features.hooks = false`"));
        }
        if toml::disabled_hooks(&text).iter().any(is_ours) {
            disabled.push((path, "`enabled = false` of one of Midrail's hooks under `hooks.state`"));
        }
    }
    disabled
}
