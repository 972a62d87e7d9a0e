//! Codex: hooks in `hooks.json`, or in the requirements of a machine.

use std::path::PathBuf;

use serde_json::json;

use super::toml::{self, TomlFormat};
use super::trust;
use crate::host::{Installation, Setup};
use crate::setup::environment::InstallScope;
use crate::setup::files;
use crate::setup::json::{JsonFormat, Layout};

const JSON: JsonFormat =
    JsonFormat { layout: Layout::Groups, strict: true, comments: false, mark: false, only_hooks: true };

pub(in crate::hosts) const SETUP: Setup = Setup {
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
    trust: Some(trust::TRUST),
    check: trust::check,
    disabled_in,
    probe: include_str!("probe.json"),
    is_denial: |answer| {
        let field = |name: &str| answer.get("hookSpecificOutput")?.get(name)?.as_str();
        // Without a reason, Codex continues.
        field("permissionDecision") == Some("deny")
            && field("permissionDecisionReason").is_some_and(|reason| !reason.is_empty())
    },
};

fn disabled_in(installation: &Installation<'_>) -> Vec<(PathBuf, &'static str)> {
    let is_ours = |key: &String| {
        let files = installation.files.iter();
        let mut files = files.flat_map(|file| [Some(file.path.clone()), file.path.canonicalize().ok()]);
        files.any(|file| file.is_some_and(|file| key.starts_with(&format!("{}:", file.display()))))
    };
    let env = installation.env;
    let mut disabled = Vec::new();
    for path in
        [env.project.join(".codex/config.toml"), installation.host.files.folder(env).join("config.toml")]
    {
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
