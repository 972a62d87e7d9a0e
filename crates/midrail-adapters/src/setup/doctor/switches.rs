//! Files in which hooks are switched off.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{CheckResult, Registered};
use crate::setup::agent::{Agent, InstallScope};
use crate::setup::files;
use crate::setup::places::Environment;
use crate::setup::{claude_code, cursor, gemini_cli, jsonc, toml};

/// What switches the hooks of an agent off.
pub(super) fn findings(agent: Agent, registered: &[Registered], places: &Environment) -> Vec<CheckResult> {
    let managed = registered.iter().find(|file| file.scope == InstallScope::Managed).map(|file| &file.path);
    let off = match agent {
        Agent::ClaudeCode => claude(registered, places),
        Agent::Codex => codex(registered, places),
        Agent::GeminiCli => gemini(places),
        Agent::CopilotCli => copilot(registered, places),
        Agent::Cursor => return cursor(registered),
        Agent::OpenCode => Vec::new(),
    };
    if off.is_empty() {
        return vec![CheckResult::good("no file switches hooks off")];
    }
    let finding = |(path, what): (PathBuf, &str)| {
        let told = format!("{what} in {} switches hooks off", path.display());
        let mend = format!("take {what} out of {}", path.display());
        // What an administrator switches off is off.
        match managed.is_some_and(|managed| *managed != path) {
            true => CheckResult::caution(format!("{told}; the managed hooks stay"), mend),
            false => CheckResult::bad(told, mend),
        }
    };
    off.into_iter().map(finding).collect()
}

/// A file of settings; what cannot be read is told elsewhere.
pub(super) fn json(path: &Path) -> Value {
    files::read(path).ok().flatten().and_then(|text| jsonc::value(&text).ok()).unwrap_or_default()
}

const SWITCH: &str = "disableAllHooks";

fn claude(registered: &[Registered], places: &Environment) -> Vec<(PathBuf, &'static str)> {
    let is_off = |path: &PathBuf| match json(path).get(SWITCH) {
        None | Some(Value::Bool(false)) => false,
        Some(Value::Bool(true)) => true,
        // A file with a value of the wrong kind is passed over, and our hooks with it.
        Some(_) => registered.iter().any(|file| file.path == *path),
    };
    let files = claude_code::switches(places).into_iter().filter(is_off);
    files.map(|path| (path, "`disableAllHooks`")).collect()
}

fn codex(registered: &[Registered], places: &Environment) -> Vec<(PathBuf, &'static str)> {
    let files = [places.project.join(".codex/config.toml"), places.codex.join("config.toml")];
    let mut off = Vec::new();
    for path in files {
        let text = files::read(&path).ok().flatten().unwrap_or_default();
        if matches!(toml::flag_at(&text, &["features", "hooks"]), Ok(Some(false))) {
            off.push((path.clone(), "`features.hooks = false`"));
        }
        let is_ours = |key: &str| {
            let files =
                registered.iter().flat_map(|file| [Some(file.path.clone()), file.path.canonicalize().ok()]);
            files.flatten().any(|file| key.starts_with(&format!("{}:", file.display())))
        };
        if toml::switched_off(&text).iter().any(|key| is_ours(key)) {
            off.push((path, "`enabled = false` of a hook of ours under `hooks.state`"));
        }
    }
    off
}

fn gemini(places: &Environment) -> Vec<(PathBuf, &'static str)> {
    let mut off = Vec::new();
    for scope in InstallScope::ALL {
        let Some(path) = (gemini_cli::HOST.file)(places, scope) else { continue };
        let settings = json(&path);
        if settings.pointer("/hooksConfig/enabled") == Some(&Value::Bool(false)) {
            off.push((path.clone(), "`hooksConfig.enabled: false`"));
        }
        let lists = ["/hooksConfig/disabled", "/hooks/disabled"];
        let names = lists.iter().filter_map(|list| settings.pointer(list)?.as_array()).flatten();
        let is_ours = |name: &str| name == gemini_cli::NAME || gemini_cli::HOST.is_ours(name);
        if names.into_iter().filter_map(Value::as_str).any(is_ours) {
            off.push((path, "the list of disabled hooks"));
        }
    }
    off
}

/// Copilot CLI heeds the switch in any settings that it reads, Claude Code's among them, and in a file of hooks itself.
fn copilot(registered: &[Registered], places: &Environment) -> Vec<(PathBuf, &'static str)> {
    let mut files: Vec<PathBuf> = [".github/copilot", ".claude"]
        .iter()
        .flat_map(|folder| {
            ["settings.json", "settings.local.json"].map(|name| places.project.join(folder).join(name))
        })
        .collect();
    let entries = std::fs::read_dir(&places.copilot).into_iter().flatten().flatten();
    let mut own: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    own.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    own.sort();
    files.extend(own);
    files.extend(registered.iter().map(|file| file.path.clone()));
    let is_off = |path: &PathBuf| json(path).get(SWITCH).is_some_and(|value| *value != Value::Bool(false));
    files.into_iter().filter(is_off).map(|path| (path, "`disableAllHooks`")).collect()
}

/// Cursor takes nothing from a file in which it does not know one of the events.
fn cursor(registered: &[Registered]) -> Vec<CheckResult> {
    let mut findings = Vec::new();
    for file in registered {
        let value = jsonc::value(&file.text).unwrap_or_default();
        let events = value.get("hooks").and_then(Value::as_object).into_iter().flatten();
        let unknown: Vec<&str> =
            events.map(|(event, _)| event.as_str()).filter(|event| !cursor::EVENTS.contains(event)).collect();
        if !unknown.is_empty() {
            findings.push(CheckResult::bad(
                format!(
                    "Cursor passes over all of {}, because it does not know: {}",
                    file.path.display(),
                    unknown.join(", ")
                ),
                "take these events out of the file",
            ));
        }
        if value.get("version") != Some(&Value::from(1)) {
            findings.push(CheckResult::bad(
                format!(
                    "Cursor passes over all of {}, because it lacks `\"version\": 1`",
                    file.path.display()
                ),
                "put `\"version\": 1` at the top of the file",
            ));
        }
        if file.path.symlink_metadata().is_ok_and(|it| it.is_symlink()) {
            findings.push(CheckResult::bad(
                format!("{} is a link, and Cursor reads no links", file.path.display()),
                "put a file in its place",
            ));
        }
    }
    if findings.is_empty() {
        findings.push(CheckResult::good("no file switches hooks off"));
    }
    findings
}
