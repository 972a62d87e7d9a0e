//! scope-boundary (builtin-003): blocks access to files outside the scope of the task. Also defines what it means
//! for a file to be in a scope.

use midrail_core::{
    Action, ActionType, Category, Context, Effect, EventKind, Fault, FileScope, Guardrail, Missing, Risk,
    Verdict, glob,
};
use serde_json::json;

use crate::builtin::Builtin;
use crate::places::is_device;
use crate::touched::scripts;

pub(crate) const BUILTIN: Builtin =
    Builtin::without_settings::<ScopeBoundary>("builtin-003", Category::Scope, 3, &[EventKind::BeforeTool])
        .min_risk(Risk::Low)
        .always_on()
        .aliases(&["builtin_scope_boundary"]);

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

/// The file scopes of the event's task and of its definitions.
pub(crate) fn task_scopes<'a>(context: &Context<'a>) -> impl Iterator<Item = &'a FileScope> {
    context.tasks().filter_map(|task| task.scope.as_ref()).map(|scope| &scope.files)
}

/// A file of an action that a scope forbids.
pub(crate) struct ScopeViolation<'a, 's> {
    file: &'a str,
    script: Option<&'a str>,
    /// The part of the scope: `read`, `write`, `deny`.
    rule: &'static str,
    patterns: &'s [String],
}

impl ScopeViolation<'_, '_> {
    /// The verdict.
    pub(crate) fn verdict(&self, what: &str) -> Verdict {
        let list = self.patterns.join(", ");
        let through = self.script.map(|script| format!(", which `{script}` accesses,")).unwrap_or_default();
        Verdict::block(format!("File '{}'{through} {what} ({}: {list}).", self.file, self.rule))
            .advise("Use only files of your task, or hand this part to an agent whose scope includes them.")
            .with("path", self.file)
            .with(self.rule, json!(self.patterns))
    }
}

/// The first file of the event's action, or of a script that the agent wrote, that any of the scopes forbids.
pub(crate) fn scope_violation<'a, 's>(
    context: &Context<'a>,
    scopes: &[&'s FileScope],
) -> Result<Option<ScopeViolation<'a, 's>>, Missing> {
    let is_call = matches!(context.event.kind, EventKind::BeforeTool | EventKind::AfterTool);
    if scopes.is_empty() || !(is_call || context.event.tool.is_some()) {
        return Ok(None);
    }
    let action = context.action()?;
    if action.target_files.is_none() {
        let tool = context.event.tool_name().unwrap_or_default();
        return Err(Missing(format!("the files that `{tool}` accesses are unknown")));
    }
    // A known violation counts even if other parts are unknown.
    let mut fault = None;
    let mut actions = vec![(None, action)];
    match scripts(context, action) {
        Ok(scripts) => actions.extend(scripts.into_iter().map(|(script, does)| (Some(script), does))),
        Err(missing) => fault = Some(missing),
    }
    if actions.iter().any(|(_, action)| action.is_partial) {
        fault = Some(Missing("the command line is too long to analyse".to_owned()));
    }
    // Request all facts before the first one is missing, so that they are fetched together.
    let mut files = Vec::new();
    for (script, action) in actions {
        for file in action.target_files.iter().flatten().filter(|file| !is_device(file)) {
            let uses = uses(action, file);
            // A formatter reads and writes everything in a folder: `black src`.
            let is_shaped = uses.iter().all(Option::is_some) && action.sweeps.contains(file);
            files.push((script, file, uses, is_shaped, context.path_aliases(file)));
        }
    }
    for (script, file, uses, is_shaped, names) in files {
        let names = match names {
            Ok(names) => names,
            Err(missing) => {
                fault = Some(missing);
                continue;
            }
        };
        for scope in scopes {
            let objects = names.iter().find_map(|name| {
                uses.into_iter().flatten().find_map(|kind| objection(scope, kind, name, is_shaped))
            });
            if let Some((rule, patterns)) = objects {
                return Ok(Some(ScopeViolation { file, script, rule, patterns }));
            }
        }
    }
    fault.map_or(Ok(None), Err)
}

/// How an action uses one of its files: a command may read one and write another.
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
    is_shaped: bool,
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
    // A pattern for the content of a folder also allows listing it, and formatting it if it may be written.
    let holds = |pattern: &str| {
        (kind == ActionType::FileRead || is_shaped)
            && pattern.strip_suffix("/**").is_some_and(|it| is_within(it, place))
    };
    let is_allowed = allowed.iter().any(|pattern| is_within(pattern, place) || holds(pattern));
    (!is_allowed).then_some((rule, allowed))
}

/// Whether a pattern matches. Only a pattern that starts with `/` matches files outside the root.
fn is_within(pattern: &str, place: &str) -> bool {
    let beyond = place.starts_with('/') || place.starts_with("../");
    (!beyond || pattern.starts_with('/')) && glob::path_matches(pattern, place)
}

/// Whether a pattern denies a file. A pattern without `/` matches in every folder. Case is ignored, because some
/// file systems ignore it.
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
    fn scripts_of_the_agents_own_count() {
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
