//! Claude Code: hooks in its settings files.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::host::{OnFailure, Setup};
use crate::setup::command::HookShell;
use crate::setup::environment::{Environment, InstallScope};
use crate::setup::json::{self, JsonFormat, Layout};

const JSON: JsonFormat =
    JsonFormat { layout: Layout::Groups, strict: true, comments: false, mark: true, only_hooks: false };

pub(super) const SETUP: Setup = Setup {
    programs: &["claude"],
    traces: |env| vec![env.project.join(".claude"), folder(env)],
    file: |env, scope| Some(file(env, scope)),
    format: |_| &JSON,
    handler: |_, registration, command| {
        let mut fields = vec![
            ("type", json!("command")),
            ("command", json!(command)),
            ("timeout", json!(registration.seconds)),
        ];
        if registration.on_failure != OnFailure::Allow {
            // Supported since 2.1.295: blocks a call whose hook exceeds the timeout. Older versions ignore it.
            fields.push(("onFailure", json!("block")));
        }
        fields
    },
    follows_links: true,
    shell: HookShell::Sh,
    remarks: |_, scope| {
        match scope {
        InstallScope::Project => vec![
            "Cursor and Copilot CLI also read this file and then call the hooks twice per call. Both decisions are \
             recorded, and the stricter one applies."
                .to_owned(),
        ],
        InstallScope::User | InstallScope::Managed => Vec::new(),
    }
    },
    trust: None,
    check: |_| Vec::new(),
    disabled_in: |installation| {
        let env = installation.env;
        let mut files = vec![env.project.join(".claude/settings.local.json")];
        files.extend(InstallScope::ALL.map(|scope| file(env, scope)));
        files.retain(|path| match json::settings(path).get("disableAllHooks") {
            None | Some(Value::Bool(false)) => false,
            Some(Value::Bool(true)) => true,
            // A file with a value of the wrong type is ignored, and so are the hooks in it.
            Some(_) => installation.files.iter().any(|file| file.path == *path),
        });
        files.into_iter().map(|path| (path, "`disableAllHooks`")).collect()
    },
    blocks_on_timeout_since: Some([2, 1, 295]),
    probe: |command, folder| {
        json!({
            "session_id": "midrail-doctor", "transcript_path": "", "cwd": folder, "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command},
            "tool_use_id": "call-1",
        })
    },
    is_denial: |answer| {
        let decision = answer.pointer("/hookSpecificOutput/permissionDecision");
        decision.is_some_and(|decision| decision == "deny" || decision == "ask")
    },
};

/// The user's folder of Claude Code.
pub(super) fn folder(env: &Environment) -> PathBuf {
    env.folder("CLAUDE_CONFIG_DIR", ".claude")
}

fn file(env: &Environment, scope: InstallScope) -> PathBuf {
    match scope {
        InstallScope::Project => env.project.join(".claude/settings.json"),
        InstallScope::User => folder(env).join("settings.json"),
        InstallScope::Managed => env.system("claude-code", "ClaudeCode").join("managed-settings.json"),
    }
}
