//! Gemini CLI: hooks in its settings. Its timeouts are in milliseconds.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::host::{Installation, Setup};
use crate::setup::check::CheckResult;
use crate::setup::command;
use crate::setup::json::{self, JsonFormat, Layout};

/// The name of Midrail's hooks, by which settings can disable them.
const HOOK_NAME: &str = "midrail";

const JSON: JsonFormat =
    JsonFormat { layout: Layout::Groups, strict: false, comments: true, mark: false, only_hooks: false };

pub(in crate::hosts) const SETUP: Setup = Setup {
    format: |_| &JSON,
    handler: |_, registration, command| {
        vec![
            ("type", json!("command")),
            ("name", json!(HOOK_NAME)),
            ("command", json!(command)),
            ("timeout", json!(registration.seconds.saturating_mul(1000))),
        ]
    },
    trust: None,
    check: |installation| installation.is_project_only().then(|| trust(installation)).into_iter().collect(),
    disabled_in,
    probe: include_str!("probe.json"),
    is_denial: |answer| {
        answer.get("decision").is_some_and(|decision| decision == "deny" || decision == "block")
            || answer.get("continue") == Some(&Value::Bool(false))
    },
};

fn disabled_in(installation: &Installation<'_>) -> Vec<(PathBuf, &'static str)> {
    let mut disabled = Vec::new();
    for (_, path) in installation.host.settings(installation.env) {
        let settings = json::settings(&path);
        if settings.pointer("/hooksConfig/enabled") == Some(&Value::Bool(false)) {
            disabled.push((path.clone(), "`hooksConfig.enabled: false`"));
        }
        let lists = ["/hooksConfig/disabled", "/hooks/disabled"];
        let names = lists.iter().filter_map(|list| settings.pointer(list)?.as_array()).flatten();
        let is_ours = |name: &str| name == HOOK_NAME || command::is_ours(name, "gemini-cli");
        if names.filter_map(Value::as_str).any(is_ours) {
            disabled.push((path, "the list of disabled hooks"));
        }
    }
    disabled
}

/// Gemini CLI keeps one level of trust per folder; the nearest folder counts.
fn trust(installation: &Installation<'_>) -> CheckResult {
    let (host, env) = (installation.host, installation.env);
    let fix = "start `gemini` here and trust the folder, or run `midrail init --user --agent gemini-cli`";
    let is_enabled = host.settings(env).iter().rev().find_map(|(_, path)| {
        json::settings(path).pointer("/security/folderTrust/enabled").and_then(Value::as_bool)
    });
    let levels = json::settings(&host.files.folder(env).join("trustedFolders.json"));
    let project = env.project.canonicalize().unwrap_or_else(|_| env.project.clone());
    let levels = levels.as_object().into_iter().flatten().filter_map(|(folder, level)| {
        let (folder, level) = (Path::new(folder), level.as_str()?);
        let folder = if level == "TRUST_PARENT" { folder.parent().unwrap_or(folder) } else { folder };
        project.starts_with(folder).then(|| (folder.components().count(), level))
    });
    let nearest = levels.max_by_key(|(depth, _)| *depth).map(|(_, level)| level);
    match (is_enabled, nearest) {
        (Some(false), _) => CheckResult::good("Gemini CLI does not require trusted folders"),
        (_, Some("TRUST_FOLDER" | "TRUST_PARENT")) => CheckResult::good("Gemini CLI trusts this folder"),
        (_, Some(_)) => {
            CheckResult::bad("Gemini CLI does not trust this folder, and so does not read its hooks", fix)
        }
        (Some(true), None) => {
            CheckResult::bad("Gemini CLI does not trust this folder yet, and reads its hooks only then", fix)
        }
        (None, None) => CheckResult::caution(
            "Gemini CLI reads the hooks of this folder only if it trusts the folder, or requires no trust",
            fix,
        )
        .open(),
    }
}
