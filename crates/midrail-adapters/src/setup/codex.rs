//! Codex: hooks in `hooks.json`, or in the requirements of a machine; and whether it trusts them.

use super::agent::{Format, Hooked, Host, InstallScope, Moment, after, before, note, prompt, stop};
use super::jsonc::Field;
use super::places::Environment;
use super::process;
use super::strict::{PLAIN, Reads, Shape};
use super::toml;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

pub(super) const HOST: Host = Host {
    name: "codex",
    title: "Codex",
    programs: &["codex"],
    traces: |places| vec![places.project.join(".codex"), places.codex.clone()],
    file: |places, scope| match scope {
        InstallScope::Project => Some(places.project.join(".codex/hooks.json")),
        InstallScope::User => Some(places.codex.join("hooks.json")),
        InstallScope::Managed => Some(places.etc("codex").join("requirements.toml")),
    },
    format: |scope| match scope {
        InstallScope::Project | InstallScope::User => Format::Groups,
        InstallScope::Managed => Format::Toml,
    },
    // Left out: PermissionRequest (PreToolUse was asked already), PreModelRequest and PostModelRequest (they only watch,
    // with a process for every request), compaction, Interrupt.
    events: &[
        note("SessionStart"),
        prompt("UserPromptSubmit"),
        before("PreToolUse"),
        after("PostToolUse"),
        note("SubagentStart"),
        stop("SubagentStop"),
        stop("Stop"),
        // Codex waits no longer than this.
        Hooked { event: "SessionEnd", moment: Moment::Note, seconds: 3 },
    ],
    handler: |hooked, command| {
        vec![
            ("type", Field::text("command")),
            ("command", Field::Text(command)),
            ("timeout", Field::Number(hooked.seconds)),
        ]
    },
    remarks: |places, scope| {
        let trust = format!(
            "Codex runs these hooks only once they are trusted: type `/hooks` in Codex and trust them, or run `midrail \
             init{} --agent codex --trust`.",
            scope.flag()
        );
        match scope {
            InstallScope::Project if !is_trusted_project(places) => vec![
                "Codex reads a project's hooks only where the project is trusted: start `codex` here and say so, or guard \
                 all your projects with `midrail init --user --agent codex`."
                    .to_owned(),
                trust,
            ],
            InstallScope::Project | InstallScope::User => vec![trust],
            InstallScope::Managed => Vec::new(),
        }
    },
    reads: Reads { only: Some(&["hooks"]), shape: Shape::Groups, ..PLAIN },
    // Codex starts hooks with the user's own shell.
    any_shell: true,
};

/// Whether Codex trusts the project.
pub(super) fn is_trusted_project(places: &Environment) -> bool {
    let Ok(text) = std::fs::read_to_string(places.codex.join("config.toml")) else { return false };
    let key = |path: &Path| path.display().to_string();
    let names = [Some(places.project.clone()), places.project.canonicalize().ok()];
    names.into_iter().flatten().any(|name| {
        toml::text_at(&text, &["projects", &key(&name), "trust_level"]).as_deref() == Some("trusted")
    })
}

/// One hook as Codex knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) key: String,
    pub(super) command: String,
    pub(super) hash: String,
    /// `trusted`, `untrusted`, `modified` or `managed`.
    pub(super) status: String,
}

/// The hooks of ours that Codex knows in a project, by its own word. Codex hashes them; nobody else can say how.
pub(super) fn known(program: &Path, places: &Environment) -> Result<Vec<Known>, String> {
    let requests = [
        json!({"id": 1, "method": "initialize", "params":
            {"clientInfo": {"name": "midrail", "title": "Midrail", "version": env!("CARGO_PKG_VERSION")}}}),
        json!({"method": "initialized"}),
        json!({"id": 2, "method": "hooks/list", "params": {"cwds": [places.project]}}),
    ];
    let mut command = std::process::Command::new(program);
    command.arg("app-server").current_dir(&places.project);
    let answer = process::converse(&mut command, &requests, 2, Duration::from_secs(20))?;
    if let Some(error) = answer.pointer("/error/message").and_then(Value::as_str) {
        return Err(format!("`codex app-server` does not list hooks: {error}"));
    }
    let folders = answer.pointer("/result/data").and_then(Value::as_array).cloned().unwrap_or_default();
    let hooks = folders.iter().filter_map(|folder| folder.get("hooks")?.as_array()).flatten();
    let text =
        |hook: &Value, name: &str| hook.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let known = hooks.map(|hook| Known {
        key: text(hook, "key"),
        command: text(hook, "command"),
        hash: text(hook, "currentHash"),
        status: text(hook, "trustStatus"),
    });
    Ok(known.filter(|known| HOST.is_ours(&known.command)).collect())
}
