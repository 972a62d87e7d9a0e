//! builtin-003: an agent stays within the files of its task.

use midrail_core::{
    Action, ActionType, Context, Effect, EventKind, Fault, FileScope, Guardrail, Missing, Verdict, glob,
};
use serde_json::json;

/// The file scopes of the event's task and of its definitions; all of them hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct ScopeBoundary;

impl Guardrail for ScopeBoundary {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let mut scopes =
            context.tasks().filter_map(|task| task.scope.as_ref()).map(|scope| &scope.files).peekable();
        let is_call = matches!(context.event.kind, EventKind::BeforeTool | EventKind::AfterTool);
        if scopes.peek().is_none() || !(is_call || context.event.tool.is_some()) {
            return Ok(Verdict::allow());
        }
        let action = context.action()?;
        let Some(files) = &action.target_files else {
            let tool = context.event.tool_name().unwrap_or_default();
            return Err(Missing(format!("which files `{tool}` touches is not known")).into());
        };
        let names: Vec<_> = files.iter().map(|file| (file, context.names_of(file))).collect();
        let mut fault = None;
        for scope in scopes {
            for (file, names) in &names {
                let names = match names {
                    Ok(names) => names,
                    Err(missing) => {
                        fault = Some(missing.clone());
                        continue;
                    }
                };
                let uses = uses(action, file);
                let objects = names.iter().find_map(|name| {
                    uses.into_iter().flatten().find_map(|kind| objection(scope, kind, name))
                });
                if let Some((rule, patterns)) = objects {
                    let list = patterns.join(", ");
                    return Ok(Verdict::block(format!(
                        "File '{file}' is outside the scope of this task ({rule}: {list})."
                    ))
                    .advise(
                        "Work within the files of your task, or hand this part to an agent whose task it is.",
                    )
                    .with("path", file.as_str())
                    .with(rule, json!(patterns)));
                }
            }
        }
        fault.map_or_else(|| Ok(Verdict::allow()), |missing| Err(missing.into()))
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Touch only files that are in the scope of your task.".to_owned())
    }
}

/// What an action does to one of its files: a command may read one and write another.
fn uses(action: &Action, file: &String) -> [Option<ActionType>; 2] {
    if action.kind != ActionType::Command {
        return [Some(action.kind), None];
    }
    let is_used = |list: &[String], kind| list.contains(file).then_some(kind);
    match (is_used(&action.reads, ActionType::FileRead), is_used(&action.writes, ActionType::FileWrite)) {
        (None, None) => [Some(ActionType::Command), None],
        (read, write) => [read, write],
    }
}

/// The part of a scope that forbids a file, if any.
fn objection<'s>(
    scope: &'s FileScope,
    kind: ActionType,
    place: &str,
) -> Option<(&'static str, &'s [String])> {
    let denied = scope.deny.as_deref().unwrap_or_default();
    if denied.iter().any(|pattern| is_denied(pattern, place)) {
        return Some(("deny", denied));
    }
    let (rule, allowed) = match kind {
        ActionType::FileRead => ("read", scope.read.as_deref()?),
        ActionType::FileWrite => ("write", scope.write.as_deref()?),
        ActionType::Command | ActionType::Network | ActionType::Other => return None,
    };
    let is_allowed = allowed.iter().any(|pattern| is_within(pattern, place));
    (!is_allowed).then_some((rule, allowed))
}

/// A pattern speaks of files below the root; only one that starts with `/` reaches beyond it.
fn is_within(pattern: &str, place: &str) -> bool {
    let beyond = place.starts_with('/') || place.starts_with("../");
    (!beyond || pattern.starts_with('/')) && glob::path_matches(pattern, place)
}

/// A pattern without `/` denies files of that name in every folder. On some disks `.ENV` is `.env`, so that case does
/// not count.
fn is_denied(pattern: &str, place: &str) -> bool {
    let (pattern, place) = (pattern.to_lowercase(), place.to_lowercase());
    let (pattern, place) = (pattern.as_str(), place.as_str());
    let name = place.rsplit('/').next().unwrap_or(place);
    glob::path_matches(pattern, place) || (!pattern.contains('/') && glob::path_matches(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use midrail_core::{Event, Scope, Task};
    use serde_json::Value;

    fn effect(tool: &str, args: Value) -> Effect {
        let files = serde_json::from_value(json!({
            "read": ["src/**", "tests/**"], "write": ["src/**"], "deny": ["*.env", "secrets/*"],
        }));
        let task = Task { scope: Some(Scope { files: files.unwrap() }), ..Task::default() };
        let event = Event { task: Some(task), ..Event::before_tool(tool, args) };
        Run::of(ScopeBoundary).decide(&event).effect
    }

    #[test]
    fn writes_and_reads_have_their_own_patterns() {
        assert_eq!(effect("Write", json!({"file_path": "src/foo.py"})), Effect::Allow);
        assert_eq!(effect("Write", json!({"file_path": "tests/test.py"})), Effect::Block);
        assert_eq!(effect("Read", json!({"file_path": "tests/test.py"})), Effect::Allow);
        assert_eq!(effect("Read", json!({"file_path": "docs/a.md"})), Effect::Block);
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
        assert_eq!(effect("Bash", json!({"command": "cat docs/a.md"})), Effect::Block);
        assert_eq!(effect("Bash", json!({"command": "echo x > tests/a.rs"})), Effect::Block);
        assert_eq!(effect("Bash", json!({"command": "cp tests/a.rs src/app.env"})), Effect::Block);
    }

    #[test]
    fn unknown_targets_fail_closed() {
        assert_eq!(effect("Write", json!({})), Effect::Block);
        assert_eq!(effect("think", json!({})), Effect::Allow);
    }
}
