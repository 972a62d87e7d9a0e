//! Cursor: hooks in `hooks.json`.

use serde_json::{Value, json};

use crate::host::{Installation, OnFailure, Setup};
use crate::setup::check::CheckResult;
use crate::setup::json::{self, JsonFormat, Layout};

const JSON: JsonFormat =
    JsonFormat { layout: Layout::Flat, strict: true, comments: true, mark: false, only_hooks: false };

pub(in crate::hosts) const SETUP: Setup = Setup {
    format: |_| &JSON,
    handler: |_, registration, command| {
        let mut fields = vec![("command", json!(command)), ("timeout", json!(registration.seconds))];
        if registration.on_failure == OnFailure::Block {
            fields.push(("failClosed", json!(true)));
        }
        fields
    },
    trust: None,
    check,
    disabled_in: |_| Vec::new(),
    probe: include_str!("probe.json"),
    is_denial: |answer| {
        answer.get("permission").is_some_and(|permission| permission == "deny" || permission == "ask")
    },
};

/// Checks that Cursor does not ignore the files.
fn check(installation: &Installation<'_>) -> Vec<CheckResult> {
    let known = installation.host.known_events;
    let mut results = Vec::new();
    for file in installation.files {
        let path = file.path.display();
        let settings = json::value(&file.text).unwrap_or_default();
        let events = settings.get("hooks").and_then(Value::as_object).into_iter().flatten();
        let unknown: Vec<&str> =
            events.map(|(event, _)| event.as_str()).filter(|event| !known.contains(event)).collect();
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
