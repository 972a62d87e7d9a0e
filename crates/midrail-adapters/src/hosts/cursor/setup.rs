//! Cursor: hooks in `hooks.json`.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::host::{Installation, OnFailure, Setup};
use crate::setup::check::CheckResult;
use crate::setup::command::HookShell;
use crate::setup::environment::{Environment, InstallScope};
use crate::setup::json::{self, JsonFormat, Layout};

/// Every event of Cursor's hook engine. Cursor ignores a whole file that names another one.
pub(super) const EVENTS: &[&str] = &[
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "beforeShellExecution",
    "afterShellExecution",
    "beforeMCPExecution",
    "afterMCPExecution",
    "beforeReadFile",
    "afterFileEdit",
    "beforeTabFileRead",
    "afterTabFileEdit",
    "beforeSubmitPrompt",
    "afterAgentResponse",
    "afterAgentThought",
    "sessionStart",
    "sessionEnd",
    "preCompact",
    "subagentStart",
    "subagentStop",
    "stop",
    "workspaceOpen",
];

const JSON: JsonFormat =
    JsonFormat { layout: Layout::Flat, strict: true, comments: true, mark: false, only_hooks: false };

pub(super) const SETUP: Setup = Setup {
    programs: &["cursor-agent", "cursor"],
    traces: |env| vec![env.project.join(".cursor"), env.home.join(".cursor")],
    file: |env, scope| Some(file(env, scope)),
    format: |_| &JSON,
    handler: |_, registration, command| {
        let mut fields = vec![("command", json!(command)), ("timeout", json!(registration.seconds))];
        if registration.on_failure == OnFailure::Block {
            fields.push(("failClosed", json!(true)));
        }
        fields
    },
    follows_links: false,
    shell: HookShell::Login,
    remarks: |_, _| Vec::new(),
    trust: None,
    check,
    disabled_in: |_| Vec::new(),
    blocks_on_timeout_since: None,
    probe: |command, folder| {
        json!({
            "conversation_id": "midrail-doctor", "generation_id": "turn-1", "model": "",
            "session_id": "midrail-doctor", "hook_event_name": "preToolUse", "cursor_version": "",
            "workspace_roots": [folder], "user_email": null, "transcript_path": null, "tool_name": "Shell",
            "tool_input": {"command": command, "cwd": ""}, "tool_use_id": "call-1",
        })
    },
    is_denial: |answer| {
        answer.get("permission").is_some_and(|permission| permission == "deny" || permission == "ask")
    },
};

fn file(env: &Environment, scope: InstallScope) -> PathBuf {
    match scope {
        InstallScope::Project => env.project.join(".cursor/hooks.json"),
        InstallScope::User => env.home.join(".cursor/hooks.json"),
        InstallScope::Managed => env.system("cursor", "Cursor").join("hooks.json"),
    }
}

/// Checks that Cursor does not ignore the files.
fn check(installation: &Installation<'_>) -> Vec<CheckResult> {
    let mut results = Vec::new();
    for file in installation.files {
        let path = file.path.display();
        let settings = json::value(&file.text).unwrap_or_default();
        let events = settings.get("hooks").and_then(Value::as_object).into_iter().flatten();
        let unknown: Vec<&str> =
            events.map(|(event, _)| event.as_str()).filter(|event| !EVENTS.contains(event)).collect();
        if !unknown.is_empty() {
            let events = unknown.join(", ");
            results.push(CheckResult::bad(
                format!("Cursor ignores {path}, because it does not know the events {events}"),
                "remove these events from the file",
            ));
        }
        if settings.get("version") != Some(&Value::from(1)) {
            results.push(CheckResult::bad(
                format!("Cursor ignores {path}, because it lacks `\"version\": 1`"),
                "add `\"version\": 1` at the top of the file",
            ));
        }
    }
    results
}

#[cfg(test)]
mod tests {
    use super::super::HOST;
    use super::EVENTS;

    #[test]
    fn registered_events_are_known_to_cursor() {
        assert!(HOST.registrations().all(|(event, _)| EVENTS.contains(&event.name)));
    }
}
