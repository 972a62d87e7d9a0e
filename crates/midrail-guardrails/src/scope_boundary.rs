//! builtin-003: an agent stays within the files of its task. What it means to lie in a scope is told here for the other
//! guardrails on scopes as well.

use midrail_core::{
    Action, ActionType, Context, Effect, EventKind, Fault, FileScope, Guardrail, Missing, Verdict, glob,
};
use serde_json::json;

use crate::places::is_nobodys;
use crate::touched::scripts;

/// The file scopes of the event's task and of its definitions; all of them hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct ScopeBoundary;

impl Guardrail for ScopeBoundary {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let scopes: Vec<&FileScope> = task_scopes(context).collect();
        let found = outside(context, &scopes)?;
        Ok(found.map_or_else(Verdict::allow, |it| it.verdict("is outside the scope of this task")))
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Touch only files that are in the scope of your task.".to_owned())
    }
}

/// The file scopes of the event's task and of its definitions.
pub(crate) fn task_scopes<'a>(context: &Context<'a>) -> impl Iterator<Item = &'a FileScope> {
    context.tasks().filter_map(|task| task.scope.as_ref()).map(|scope| &scope.files)
}

/// A file that an action touches and that a scope forbids.
pub(crate) struct Outside<'a, 's> {
    file: &'a str,
    script: Option<&'a str>,
    /// The part of the scope: `read`, `write`, `deny`.
    rule: &'static str,
    patterns: &'s [String],
}

impl Outside<'_, '_> {
    /// A block that says so.
    pub(crate) fn verdict(&self, what: &str) -> Verdict {
        let list = self.patterns.join(", ");
        let through = self.script.map(|script| format!(", which `{script}` touches,")).unwrap_or_default();
        Verdict::block(format!("File '{}'{through} {what} ({}: {list}).", self.file, self.rule))
            .advise("Work within the files of your task, or hand this part to an agent whose task it is.")
            .with("path", self.file)
            .with(self.rule, json!(self.patterns))
    }
}

/// The first file of the event's action, or of a script of the agent's own that it runs, that any of the scopes forbids.
pub(crate) fn outside<'a, 's>(
    context: &Context<'a>,
    scopes: &[&'s FileScope],
) -> Result<Option<Outside<'a, 's>>, Missing> {
    let is_call = matches!(context.event.kind, EventKind::BeforeTool | EventKind::AfterTool);
    if scopes.is_empty() || !(is_call || context.event.tool.is_some()) {
        return Ok(None);
    }
    let action = context.action()?;
    if action.target_files.is_none() {
        let tool = context.event.tool_name().unwrap_or_default();
        return Err(Missing(format!("which files `{tool}` touches is not known")));
    }
    // What was found stands, whatever else is not known.
    let mut fault = None;
    let mut actions = vec![(None, action)];
    match scripts(context, action) {
        Ok(scripts) => actions.extend(scripts.into_iter().map(|(script, does)| (Some(script), does))),
        Err(missing) => fault = Some(missing),
    }
    if actions.iter().any(|(_, action)| action.is_partial) {
        fault = Some(Missing("the command line is more than is looked into".to_owned()));
    }
    // Every file is asked about before giving up, so that all facts are fetched in one go.
    let mut files = Vec::new();
    for (script, action) in actions {
        for file in action.target_files.iter().flatten().filter(|file| !is_nobodys(file)) {
            let uses = uses(action, file);
            // What is read and written with all that is in it is no more than that: `black src`.
            let is_shaped = uses.iter().all(Option::is_some) && action.sweeps.contains(file);
            files.push((script, file, uses, is_shaped, context.names_of(file)));
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
                return Ok(Some(Outside { file, script, rule, patterns }));
            }
        }
    }
    fault.map_or(Ok(None), Err)
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
    // Who may read all that lies in a folder may look into the folder, and who may write it all may put it into shape.
    let holds = |pattern: &str| {
        (kind == ActionType::FileRead || is_shaped)
            && pattern.strip_suffix("/**").is_some_and(|it| is_within(it, place))
    };
    let is_allowed = allowed.iter().any(|pattern| is_within(pattern, place) || holds(pattern));
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
        assert!(decision.reason.contains("which `a.sh` touches"), "{}", decision.reason);
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
