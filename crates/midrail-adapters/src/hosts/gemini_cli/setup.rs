//! Gemini CLI: hooks in its settings. Its timeouts are in milliseconds.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::host::{Installation, Setup};
use crate::setup::check::CheckResult;
use crate::setup::command::{self, HookShell};
use crate::setup::environment::{Environment, InstallScope};
use crate::setup::json::{self, JsonFormat, Layout};

/// The name of Midrail's hooks, by which settings can disable them.
const HOOK_NAME: &str = "midrail";

const JSON: JsonFormat =
    JsonFormat { layout: Layout::Groups, strict: false, comments: true, mark: false, only_hooks: false };

pub(super) const SETUP: Setup = Setup {
    programs: &["gemini"],
    traces: |env| vec![env.project.join(".gemini"), folder(env)],
    file: |env, scope| Some(file(env, scope)),
    format: |_| &JSON,
    handler: |_, registration, command| {
        vec![
            ("type", json!("command")),
            ("name", json!(HOOK_NAME)),
            ("command", json!(command)),
            ("timeout", json!(registration.seconds.saturating_mul(1000))),
        ]
    },
    follows_links: true,
    shell: HookShell::Sh,
    remarks: |_, scope| {
        match scope {
        InstallScope::Project => vec![
            "Gemini CLI reads a project's settings only in a folder that it trusts: trust the folder when Gemini CLI asks."
                .to_owned(),
        ],
        InstallScope::User | InstallScope::Managed => Vec::new(),
    }
    },
    trust: None,
    check: |installation| {
        installation.is_project_only().then(|| trust(installation.env)).into_iter().collect()
    },
    disabled_in,
    blocks_on_timeout_since: None,
    probe: |command, folder| {
        json!({
            "session_id": "midrail-doctor", "transcript_path": "", "cwd": folder,
            "hook_event_name": "BeforeTool", "timestamp": "2026-01-01T00:00:00.000Z",
            "tool_name": "run_shell_command", "tool_input": {"command": command},
        })
    },
    is_denial: |answer| {
        answer.get("decision").is_some_and(|decision| decision == "deny" || decision == "block")
            || answer.get("continue") == Some(&Value::Bool(false))
    },
};

/// The user's folder of Gemini CLI.
fn folder(env: &Environment) -> PathBuf {
    env.folder("GEMINI_CLI_HOME", "").join(".gemini")
}

fn file(env: &Environment, scope: InstallScope) -> PathBuf {
    match scope {
        InstallScope::Project => env.project.join(".gemini/settings.json"),
        InstallScope::User => folder(env).join("settings.json"),
        InstallScope::Managed => env.system("gemini-cli", "GeminiCli").join("settings.json"),
    }
}

fn disabled_in(installation: &Installation<'_>) -> Vec<(PathBuf, &'static str)> {
    let mut disabled = Vec::new();
    for scope in InstallScope::ALL {
        let path = file(installation.env, scope);
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
fn trust(env: &Environment) -> CheckResult {
    let fix = "start `gemini` here and trust the folder, or run `midrail init --user --agent gemini-cli`";
    let is_enabled = InstallScope::ALL.into_iter().rev().find_map(|scope| {
        json::settings(&file(env, scope)).pointer("/security/folderTrust/enabled").and_then(Value::as_bool)
    });
    let levels = json::settings(&folder(env).join("trustedFolders.json"));
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
