//! documentation-required (compliance-004): warns if a task changes API files without changing documentation.

use std::collections::BTreeSet;

use midrail_core::StopFinding;
use serde_json::json;

use crate::prelude::*;
use crate::shared::data::{FILES, PROGRAMS};
use crate::shared::file_access::{accessed_files, agent_scripts};
use crate::shared::file_paths::path_fits;
use crate::shared::objections::all;
use crate::shared::settings::{Pattern, list, patterns};
use crate::shared::started_programs::{StartedProgram, started_programs};
use crate::shared::text::first_names;

pub(crate) const BUILTIN: Builtin = COMPLIANCE.builtin::<DocumentationRequired>(
    "compliance-004",
    &[EventKind::BeforeTool, EventKind::BeforeHandoff, EventKind::BeforeStop],
);

/// The settings of documentation-required.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DocumentationRequired {
    /// Files of the public API, as glob patterns. Empty: the guardrail does nothing.
    pub api: Vec<Pattern>,
    /// Documentation files.
    pub docs: Vec<Pattern>,
}

impl Default for DocumentationRequired {
    fn default() -> Self {
        DocumentationRequired { api: Vec::new(), docs: patterns(FILES.list("documentation")) }
    }
}

/// Maximum number of API files that are remembered per task.
const MAX_FILES: usize = 64;

impl DocumentationRequired {
    /// The API files of the event's call, and whether it changes documentation.
    fn changed(&self, context: &Context<'_>) -> Result<(BTreeSet<String>, bool), Missing> {
        let written: Vec<_> = accessed_files(context)?.into_iter().filter(|it| it.is_write).collect();
        let names: Vec<_> = all(written.iter().map(|it| context.places(it.file)))?;
        let mut api = BTreeSet::new();
        let mut has_docs = false;
        for names in names {
            let is = |list: &[Pattern]| names.iter().any(|name| list.iter().any(|it| path_fits(&it.0, name)));
            if is(&self.docs) {
                has_docs = true;
            } else if is(&self.api) {
                api.extend(names.into_iter().next());
            }
        }
        Ok((api, has_docs))
    }

    /// Whether the event's call hands work over.
    fn hands_over(context: &Context<'_>) -> Result<bool, Missing> {
        let action = context.action()?;
        let is_git = |started: &StartedProgram| {
            let subcommands = PROGRAMS.row("handing over", &started.program).unwrap_or_default();
            started.subcommand().is_some_and(|subcommand| subcommands.contains(&subcommand))
        };
        let in_script = |it: &(&str, &midrail_core::Action)| it.1.programs.iter().any(|it| it == "git");
        Ok(started_programs(context, action).iter().any(is_git)
            || agent_scripts(context, action)?.iter().any(in_script))
    }
}

/// The slice with the changed API files of the task without documentation.
fn key(context: &Context<'_>) -> Key<BTreeSet<String>> {
    Key::own(context, &format!("api/{}", context.event.task_id()))
}

impl Guardrail for DocumentationRequired {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if self.api.is_empty() {
            return Ok(Verdict::allow());
        }
        let mut waiting = key(context).read(context)?.unwrap_or_default();
        if context.event.tool.is_some() {
            if !Self::hands_over(context)? {
                return Ok(Verdict::allow());
            }
            // `sed -i … src/api.rs && git commit -a` changes and commits at once.
            let (api, has_docs) = self.changed(context)?;
            if has_docs {
                return Ok(Verdict::allow());
            }
            waiting.extend(api);
        }
        if waiting.is_empty() {
            return Ok(Verdict::allow());
        }
        let names: Vec<String> = waiting.iter().map(|file| format!("'{file}'")).collect();
        Ok(Verdict::warn(format!(
            "The public API changed in {}, but no documentation was changed since.",
            first_names(&names)
        ))
        .advise(format!("Update the documentation ({}), then continue.", list(&self.docs)))
        .with("files", json!(waiting.iter().take(3).collect::<Vec<_>>()))
        .with_stop_finding(StopFinding::new(format!("undocumented: {}", json!(waiting)))))
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if self.api.is_empty() || context.event.tool.is_none() || !context.succeeded(effect)? {
            return Ok(());
        }
        let before = key(context).read(context);
        let (api, has_docs) = self.changed(context)?;
        let before = before?.unwrap_or_default();
        if has_docs {
            if !before.is_empty() {
                key(context).remove(changes);
            }
            return Ok(());
        }
        let mut after = before.clone();
        after.extend(api);
        let after: BTreeSet<String> = after.into_iter().take(MAX_FILES).collect();
        if after != before {
            key(context).write(changes, &after)?;
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::AfterTool]
    }

    fn max_effect(&self) -> Effect {
        Effect::Warn
    }

    fn summary(&self) -> Option<String> {
        (!self.api.is_empty()).then(|| "Document what you change in the public API.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Event, Task};
    use serde_json::Value;
    use std::sync::Arc;

    fn run(settings: Value) -> Run {
        let guardrail: DocumentationRequired = serde_json::from_value(settings).unwrap();
        Run::on(
            Arc::new(guardrail),
            vec![EventKind::BeforeTool, EventKind::BeforeStop, EventKind::BeforeHandoff],
        )
    }

    fn api() -> Run {
        run(json!({"api": ["src/api/**"]}))
    }

    fn write(file: &str) -> Value {
        json!({"file_path": file})
    }

    fn stop(run: &mut Run) -> Effect {
        run.decide(&Event::new(EventKind::BeforeStop)).effect
    }

    fn commit(run: &mut Run, line: &str) -> Effect {
        run.before("Bash", json!({"command": line})).effect
    }

    #[test]
    fn undocumented_change_is_reported_when_work_is_handed_over() {
        assert_eq!(stop(&mut api()), Effect::Allow);
        let changed = || {
            let mut run = api();
            run.succeed("Write", write("src/api/users.rs"));
            run
        };
        assert_eq!(stop(&mut changed()), Effect::Warn);
        assert_eq!(changed().decide(&Event::new(EventKind::BeforeHandoff)).effect, Effect::Warn);
        for line in
            ["git -C . commit -am x", "cd src && git push", "bash -c 'git commit -m x'", "gh pr create"]
        {
            assert_eq!(commit(&mut changed(), line), Effect::Warn, "{line}");
        }
        for line in ["git status", "git log --grep commit", "cargo test", "echo git commit"] {
            assert_eq!(commit(&mut changed(), line), Effect::Allow, "{line}");
        }
    }

    #[test]
    fn documentation_since_then_settles_it() {
        let mut run = api();
        run.succeed("Write", write("docs/users.md"));
        run.succeed("Write", write("src/api/users.rs"));
        assert_eq!(stop(&mut run), Effect::Warn);
        run.succeed("Bash", json!({"command": "echo more >> docs/users.md"}));
        assert_eq!(stop(&mut run), Effect::Allow);
        run.succeed("Edit", write("src/api/users.rs"));
        assert_eq!(stop(&mut run), Effect::Warn);
    }

    #[test]
    fn only_what_happened_counts() {
        let mut run = api();
        run.fail("Write", write("src/api/users.rs"));
        run.before("Write", write("src/api/users.rs"));
        run.succeed("Read", write("src/api/users.rs"));
        run.succeed("Write", write("src/apis.rs"));
        assert_eq!(stop(&mut run), Effect::Allow);
        run.succeed("Bash", json!({"command": "sed -i s/a/b/ src/api/users.rs"}));
        assert_eq!(stop(&mut run), Effect::Warn);
    }

    #[test]
    fn command_that_changes_and_commits_is_detected() {
        assert_eq!(commit(&mut api(), "sed -i s/a/b/ src/api/a.rs && git commit -am x"), Effect::Warn);
        let both = "sed -i s/a/b/ src/api/a.rs docs/a.md && git commit -am x";
        assert_eq!(commit(&mut api(), both), Effect::Allow);
    }

    #[test]
    fn three_files_are_named_at_most() {
        let mut run = api();
        for name in ["a", "b", "c", "d", "e"] {
            run.succeed("Write", write(&format!("src/api/{name}.rs")));
        }
        let decision = run.decide(&Event::new(EventKind::BeforeStop));
        assert!(decision.reason.contains("'src/api/c.rs' and 2 more"), "{}", decision.reason);
        assert!(!decision.reason.contains("src/api/d.rs"));
    }

    #[test]
    fn tasks_are_apart_and_docs_are_settable() {
        let mut run = run(json!({"api": ["*.proto"], "docs": ["REFERENCE.txt"]}));
        let task = |id: &str| Some(Task { id: Some(id.to_owned()), ..Task::default() });
        let done = Event::after_tool("Write", write("a/b.proto"), midrail_core::ToolResult::ok(""));
        run.decide(&Event { task: task("t1"), ..done });
        assert_eq!(
            run.decide(&Event { task: task("t1"), ..Event::new(EventKind::BeforeStop) }).effect,
            Effect::Warn
        );
        assert_eq!(
            run.decide(&Event { task: task("t2"), ..Event::new(EventKind::BeforeStop) }).effect,
            Effect::Allow
        );
        let docs = |file: &str| Event::after_tool("Write", write(file), midrail_core::ToolResult::ok(""));
        run.decide(&Event { task: task("t1"), ..docs("README.md") });
        assert_eq!(
            run.decide(&Event { task: task("t1"), ..Event::new(EventKind::BeforeStop) }).effect,
            Effect::Warn
        );
        run.decide(&Event { task: task("t1"), ..docs("REFERENCE.txt") });
        assert_eq!(
            run.decide(&Event { task: task("t1"), ..Event::new(EventKind::BeforeStop) }).effect,
            Effect::Allow
        );
    }

    #[test]
    fn without_api_files_nothing_is_required() {
        let mut run = run(json!({}));
        run.succeed("Write", write("src/api/users.rs"));
        assert_eq!(stop(&mut run), Effect::Allow);
    }
}
