//! Cursor.

use midrail_adapters::policy::FileScope;

use crate::samples::settings;
use crate::world::{file, import, policy, rules};

const HOST: &str = "cursor";

/// The list of the project replaces that of the user; denies of both are kept.
#[test]
fn deeper_files_replace_the_allowed_calls() {
    let imported = policy(HOST).import(&[
        file("project", FileScope::Project, r#"{"permissions": {"allow": ["Shell(ls)"]}}"#),
        file("user", FileScope::User, r#"{"permissions": {"allow": ["Shell(git)"], "deny": ["Shell(rm)"]}}"#),
    ]);
    assert_eq!(rules(&imported.dead), ["Shell(git)"]);
    assert_eq!(imported.pack["vouch"]["commands"], serde_json::json!(["ls"]));
    assert_eq!(imported.pack["guardrails"][0]["command"], "rm");
}

#[test]
fn lists_of_the_editor_are_vouched_for() {
    let imported = import(HOST, &settings(HOST, "lists of the editor"));
    let vouch = serde_json::json!({"commands": ["git status", "cargo test"], "tools": ["mcp__docs__search", "mcp__github__*"]});
    assert_eq!(imported.pack["vouch"], vouch);
}
