//! Claude Code: hooks in its settings files.

use serde_json::{Value, json};

use crate::host::{OnFailure, Setup};
use crate::setup::json::{self, JsonFormat, Layout};

const JSON: JsonFormat =
    JsonFormat { layout: Layout::Groups, strict: true, comments: false, mark: true, only_hooks: false };

pub(in crate::hosts) const SETUP: Setup = Setup {
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
    trust: None,
    check: |_| Vec::new(),
    disabled_in: |installation| {
        let env = installation.env;
        let mut files = vec![env.project.join(".claude/settings.local.json")];
        files.extend(installation.host.settings(env).into_iter().map(|(_, path)| path));
        files.retain(|path| match json::settings(path).get("disableAllHooks") {
            None | Some(Value::Bool(false)) => false,
            Some(Value::Bool(true)) => true,
            // A file with a value of the wrong type is ignored, and so are the hooks in it.
            Some(_) => installation.files.iter().any(|file| file.path == *path),
        });
        files.into_iter().map(|path| (path, "`disableAllHooks`")).collect()
    },
    probe: include_str!("probe.json"),
    is_denial: |answer| {
        let decision = answer.pointer("/hookSpecificOutput/permissionDecision");
        decision.is_some_and(|decision| decision == "deny" || decision == "ask")
    },
};
