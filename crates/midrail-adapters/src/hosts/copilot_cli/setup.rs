//! Copilot CLI: a file of hooks that is Midrail's own.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::host::{Installation, Setup};
use crate::setup::check::CheckResult;
use crate::setup::json::{self, JsonFormat, Layout};

const JSON: JsonFormat =
    JsonFormat { layout: Layout::Flat, strict: false, comments: false, mark: false, only_hooks: false };

pub(in crate::hosts) const SETUP: Setup = Setup {
    format: |_| &JSON,
    handler: |_, registration, command| {
        vec![
            ("type", json!("command")),
            ("bash", json!(command)),
            ("timeoutSec", json!(registration.seconds)),
        ]
    },
    trust: None,
    check: |installation| installation.is_project_only().then(|| trust(installation)).into_iter().collect(),
    disabled_in,
    probe: include_str!("probe.json"),
    is_denial: |answer| {
        answer.get("permissionDecision").is_some_and(|decision| decision == "deny" || decision == "ask")
    },
};

/// Copilot CLI reads the setting in any settings file, also in those of Claude Code, and in a file of hooks.
fn disabled_in(installation: &Installation<'_>) -> Vec<(PathBuf, &'static str)> {
    let env = installation.env;
    let mut files: Vec<PathBuf> = [".github/copilot", ".claude"]
        .iter()
        .flat_map(|folder| {
            ["settings.json", "settings.local.json"].map(|name| env.project.join(folder).join(name))
        })
        .collect();
    let entries = std::fs::read_dir(installation.host.files.folder(env)).into_iter().flatten().flatten();
    let mut own: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    own.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    own.sort();
    files.extend(own);
    files.extend(installation.files.iter().map(|file| file.path.clone()));
    files.retain(|path| {
        json::settings(path).get("disableAllHooks").is_some_and(|value| *value != Value::Bool(false))
    });
    files.into_iter().map(|path| (path, "`disableAllHooks`")).collect()
}

/// Copilot CLI keeps a list of trusted folders.
fn trust(installation: &Installation<'_>) -> CheckResult {
    let env = installation.env;
    let folder = installation.host.files.folder(env);
    let project = env.project.canonicalize().unwrap_or_else(|_| env.project.clone());
    let is_trusted = ["config.json", "settings.json"].iter().any(|name| {
        let settings = json::settings(&folder.join(name));
        let lists =
            ["trusted_folders", "trustedFolders"].iter().filter_map(|key| settings.get(key)?.as_array());
        let mut folders = lists.flatten().filter_map(Value::as_str);
        folders.any(|folder| project.starts_with(folder) || env.project.starts_with(folder))
    });
    if is_trusted {
        return CheckResult::good("Copilot CLI trusts this folder");
    }
    CheckResult::caution(
        "Copilot CLI does not trust this folder yet, and reads its hooks only then",
        "start `copilot` here and trust the folder, or run `midrail init --user --agent copilot-cli`",
    )
    .open()
}
