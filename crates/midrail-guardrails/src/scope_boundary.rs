//! scope-boundary (builtin-003): blocks access to files outside the scope of the task.

use midrail_core::FileScope;

use crate::prelude::*;
use crate::shared::file_scopes::{scope_violation, task_scopes};

pub(crate) const BUILTIN: Builtin =
    Builtin::without_settings::<ScopeBoundary>("builtin-003", Category::Scope, 3, &[EventKind::BeforeTool])
        .min_risk(Risk::Low)
        .always_on()
        .aliases(&["builtin_scope_boundary"])
        .supports(CALLS);

/// Applies the file scopes of the event's task and of its definitions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ScopeBoundary;

impl Guardrail for ScopeBoundary {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let scopes: Vec<&FileScope> = task_scopes(context).collect();
        let found = scope_violation(context, &scopes)?;
        Ok(found.map_or_else(Verdict::allow, |it| it.verdict("is outside the scope of this task")))
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Access only files in the scope of your task.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Event, Scope, Task};
    use serde_json::{Value, json};

    fn effect(tool: &str, args: Value) -> Effect {
        let files = serde_json::from_value(json!({
            "read": ["src/**", "tests/**"], "write": ["src/**"], "deny": ["*.env", "secrets/*"],
        }));
        let task = Task { scope: Some(Scope { files: files.unwrap() }), ..Task::default() };
        let event = Event { task: Some(task), ..Event::before_tool(tool, args) };
        Run::of(ScopeBoundary).decide(&event).effect
    }

    #[test]
    fn writes_and_reads_have_separate_patterns() {
        assert_eq!(effect("Write", json!({"file_path": "src/foo.py"})), Effect::Allow);
        assert_eq!(effect("Write", json!({"file_path": "tests/test.py"})), Effect::Block);
        assert_eq!(effect("Read", json!({"file_path": "tests/test.py"})), Effect::Allow);
        assert_eq!(effect("Read", json!({"file_path": "docs/a.md"})), Effect::Block);
        assert_eq!(effect("Bash", json!({"command": "ls src tests/"})), Effect::Allow);
        assert_eq!(effect("Bash", json!({"command": "ls ."})), Effect::Block);
        assert_eq!(effect("Bash", json!({"command": "rm -r src"})), Effect::Block);
    }

    #[test]
    fn denied_names_are_denied_in_every_folder() {
        assert_eq!(effect("Write", json!({"file_path": "app.env"})), Effect::Block);
        assert_eq!(effect("Read", json!({"file_path": "src/deep/app.env"})), Effect::Block);
        assert_eq!(effect("Read", json!({"file_path": "src/app.environment"})), Effect::Allow);
    }

    #[test]
    fn every_spelling_and_every_target_counts() {
        assert_eq!(effect("Write", json!({"file_path": "src/../tests/a"})), Effect::Block);
        assert_eq!(effect("Write", json!({"file_path": "../src/a"})), Effect::Block);
        assert_eq!(effect("patch", json!({"diff": "--- a/src/a\n+++ b/tests/a\n"})), Effect::Block);
    }

    #[test]
    fn files_of_commands_count() {
        assert_eq!(effect("Bash", json!({"command": "cat src/a.rs"})), Effect::Allow);
        assert_eq!(effect("Bash", json!({"command": "cat src/a.rs 2>/dev/null"})), Effect::Allow);
        assert_eq!(effect("Bash", json!({"command": "cat docs/a.md"})), Effect::Block);
        assert_eq!(effect("Bash", json!({"command": "echo x > tests/a.rs"})), Effect::Block);
        assert_eq!(effect("Bash", json!({"command": "cp tests/a.rs src/app.env"})), Effect::Block);
    }

    #[test]
    fn scripts_that_the_agent_wrote_are_checked() {
        let files = serde_json::from_value(json!({"write": ["src/**", "*.sh"]})).unwrap();
        let task = Task { scope: Some(Scope { files }), ..Task::default() };
        let event = |command: &str| Event {
            task: Some(task.clone()),
            ..Event::before_tool("Bash", json!({"command": command}))
        };
        let mut run = Run::of(ScopeBoundary)
            .with_file("a.sh", "echo x > tests/a.rs")
            .with_slice("written/a.sh", json!(true));
        let decision = run.decide(&event("bash a.sh"));
        assert_eq!(decision.effect, Effect::Block);
        assert!(decision.reason.contains("which `a.sh` accesses"), "{}", decision.reason);
        let mut run = Run::of(ScopeBoundary)
            .with_file("a.sh", "echo x > src/a.rs")
            .with_slice("written/a.sh", json!(true));
        assert_eq!(run.decide(&event("bash a.sh")).effect, Effect::Allow);
    }

    #[test]
    fn unknown_targets_fail_closed() {
        assert_eq!(effect("Write", json!({})), Effect::Block);
        assert_eq!(effect("think", json!({})), Effect::Allow);
    }
}
