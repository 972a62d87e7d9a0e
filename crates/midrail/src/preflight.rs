//! The checks before a task starts: whether its scope, its budgets and its tools allow what it plans to do.

use std::path::Path;

use midrail_core::{Agent, Category, Effect, Event, Policy, Resource, Task, Usage};
use midrail_pack::{Diagnostic, DiagnosticReport, PolicySource, Span, decode, yaml};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::engine::Engine;
use crate::error::EngineResult;

/// What a task plans to do, as `midrail doctor --task` reads it.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaskPlan {
    /// The task with its limits, as in an event.
    pub task: Task,
    /// The agent that works on it, as in an event.
    pub agent: Option<Agent>,
    /// The tools that it needs.
    pub tools: Vec<String>,
    /// The files that it changes.
    pub writes: Vec<String>,
    /// What it is expected to use.
    pub expected: ExpectedUse,
}

/// What a task is expected to use.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectedUse {
    /// Tokens.
    pub tokens: Option<u64>,
    /// Seconds.
    pub seconds: Option<f64>,
    /// Money.
    pub cost: Option<f64>,
    /// Calls to other machines.
    pub api_calls: Option<u64>,
}

impl TaskPlan {
    /// Reads a plan, in YAML or JSON.
    pub fn read(path: &Path, text: &str) -> Result<TaskPlan, DiagnosticReport> {
        let report = |problems| DiagnosticReport::new(path.display().to_string(), text, problems);
        let nodes = yaml::parse(text).map_err(report)?;
        let empty = || vec![Diagnostic::new("the file has no task", Span::default())];
        decode(nodes.first().ok_or_else(|| report(empty()))?).map_err(report)
    }
}

/// A check of a task's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PreflightCheck {
    /// Whether the files that it changes are within its scope.
    Scope,
    /// Whether its budgets are set and large enough.
    Budget,
    /// Whether its tools are allowed.
    Tools,
}

impl PreflightCheck {
    /// All checks, in order.
    pub const ALL: [PreflightCheck; 3] =
        [PreflightCheck::Scope, PreflightCheck::Budget, PreflightCheck::Tools];

    /// What holds if there is no warning.
    pub fn summary(self) -> &'static str {
        match self {
            PreflightCheck::Scope => "scope: all planned files may be changed",
            PreflightCheck::Budget => "budget: the budgets are set and large enough",
            PreflightCheck::Tools => "tools: all planned tools are allowed",
        }
    }
}

/// Something that will stop or endanger the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PreflightWarning {
    /// The check.
    pub check: PreflightCheck,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub fix: String,
}

/// Runs the three checks of a task's start. Nothing is recorded.
pub fn preflight(
    policy: Policy,
    source: &PolicySource,
    root: &Path,
    plan: &TaskPlan,
) -> EngineResult<Vec<PreflightWarning>> {
    let engine = Engine::builder(policy, source).root(root).build()?;
    let run = Run { engine, plan, cwd: root.display().to_string() };
    let mut warnings = run.scope();
    warnings.extend(run.budget());
    warnings.extend(run.tools());
    Ok(warnings)
}

/// The built-ins that check tools by their names.
const TOOL_LISTS: [&str; 3] = ["agent-tool-allowlist", "tool-allowlist", "capability-scope"];

/// Whether a guardrail is one of these built-ins.
fn is_one_of(id: &str, names: &[&str]) -> bool {
    midrail_guardrails::builtin(id).is_some_and(|builtin| names.contains(&builtin.name))
}

struct Run<'p> {
    engine: Engine,
    plan: &'p TaskPlan,
    cwd: String,
}

impl Run<'_> {
    fn event(&self, tool: &str, args: serde_json::Value) -> Event {
        Event {
            session: Some("preflight".to_owned()),
            cwd: Some(self.cwd.clone()),
            task: Some(self.plan.task.clone()),
            agent: self.plan.agent.clone(),
            ..Event::before_tool(tool, args)
        }
    }

    /// The reasons of the guardrails that object to an event and pass a filter.
    fn objections(&self, event: Event, is_meant: impl Fn(&str, Category) -> bool) -> Vec<(Effect, String)> {
        let decision = self.engine.decide(event);
        let policy = self.engine.policy();
        let meant = decision.verdicts.into_iter().filter_map(|verdict| {
            let effect = verdict.effect.filter(|effect| *effect != Effect::Allow)?;
            let category = policy.get(&verdict.guardrail)?.spec.category;
            is_meant(&verdict.guardrail, category).then_some((effect, verdict.reason))
        });
        meant.collect()
    }

    fn scope(&self) -> Vec<PreflightWarning> {
        let check = PreflightCheck::Scope;
        let is_meant = |id: &str, category| {
            let is_about_files = matches!(category, Category::Scope | Category::Safety);
            is_about_files && !is_one_of(id, &TOOL_LISTS) || is_one_of(id, &["file-ownership"])
        };
        let mut warnings = Vec::new();
        for file in &self.plan.writes {
            let event = self.event("Write", json!({"file_path": file, "content": ""}));
            for (effect, reason) in self.objections(event, is_meant) {
                warnings.push(PreflightWarning {
                    check,
                    message: format!("`{file}`: {effect}: {reason}"),
                    fix: "Add the file to the scope of the task, or leave it out.".to_owned(),
                });
            }
        }
        if self.tasks().all(|task| task.scope.is_none()) {
            warnings.push(PreflightWarning {
                check,
                message: "the task has no scope: every file of the project may be changed".to_owned(),
                fix: "Set `scope.files.write`.".to_owned(),
            });
        }
        warnings
    }

    fn budget(&self) -> Vec<PreflightWarning> {
        let check = PreflightCheck::Budget;
        let expected = self.plan.expected;
        let mut warnings = Vec::new();
        let usage = Usage {
            estimated_tokens: expected.tokens,
            estimated_s: expected.seconds,
            estimated_cost: expected.cost,
            api_calls: expected.api_calls,
            ..Usage::default()
        };
        let event = Event { usage: Some(usage), ..self.event("preflight", json!({})) };
        let is_meant = |id: &str, category| category == Category::Budget && !is_one_of(id, &["autonomy"]);
        for (effect, reason) in self.objections(event, is_meant) {
            warnings.push(PreflightWarning {
                check,
                message: format!("{effect}: {reason}"),
                fix: "Set a larger budget, or split the task.".to_owned(),
            });
        }
        let resources = [Resource::Tokens, Resource::Time, Resource::Calls, Resource::Cost];
        let is_limited = |task: &Task| resources.iter().any(|resource| resource.limit(task).is_some());
        let has_deadline = self.definitions().any(|definition| definition.deadline.is_some());
        if !has_deadline && !self.tasks().any(|task| is_limited(&task)) {
            warnings.push(PreflightWarning {
                check,
                message: "the task has no budget: nothing ends a run that makes no progress".to_owned(),
                fix: "Set `token_budget`, `time_budget` or a deadline.".to_owned(),
            });
        }
        warnings
    }

    fn tools(&self) -> Vec<PreflightWarning> {
        let is_meant = |id: &str, _| is_one_of(id, &TOOL_LISTS);
        let mut warnings = Vec::new();
        for tool in &self.plan.tools {
            for (effect, reason) in self.objections(self.event(tool, json!({})), is_meant) {
                warnings.push(PreflightWarning {
                    check: PreflightCheck::Tools,
                    message: format!("`{tool}`: {effect}: {reason}"),
                    fix: "Add the tool to `allowed_tools` of the agent or `additional_tools` of the task."
                        .to_owned(),
                });
            }
        }
        warnings
    }

    fn definitions(&self) -> impl Iterator<Item = midrail_core::Definition> {
        let event = self.event("preflight", json!({}));
        let policy = self.engine.policy();
        let all: Vec<_> = policy.definitions().iter().filter(|it| it.applies_to(&event)).cloned().collect();
        all.into_iter()
    }

    /// The tasks whose limits apply: that of the plan and those of the definitions.
    fn tasks(&self) -> impl Iterator<Item = Task> {
        let defined = self.definitions().map(|definition| definition.task);
        std::iter::once(self.plan.task.clone()).chain(defined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Load;

    fn warnings(plan: &str) -> Vec<(PreflightCheck, String)> {
        let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load().unwrap();
        let plan = TaskPlan::read(Path::new("task.yaml"), plan).unwrap();
        let root = std::env::temp_dir();
        let found = preflight(loaded.policy, &loaded.source, &root, &plan).unwrap();
        found.into_iter().map(|warning| (warning.check, warning.message)).collect()
    }

    const SOUND: &str = "task: {goal: Add pages, token_budget: 1000, scope: {files: {write: ['src/**']}}}\n\
                         agent: {allowed_tools: [Read, Write]}\ntools: [Read, Write]\nwrites: [src/a.rs]\n\
                         expected: {tokens: 500}\n";

    #[test]
    fn sound_plan_has_no_warnings() {
        assert_eq!(warnings(SOUND), []);
    }

    #[test]
    fn each_check_warns() {
        let found = warnings(&SOUND.replace("src/a.rs", "docs/a.md"));
        assert!(matches!(&*found, [(PreflightCheck::Scope, why)] if why.contains("docs/a.md")), "{found:?}");
        let found = warnings(&SOUND.replace("tokens: 500", "tokens: 2000"));
        assert!(
            !found.is_empty() && found.iter().all(|(check, _)| *check == PreflightCheck::Budget),
            "{found:?}"
        );
        let found = warnings(&SOUND.replace("tools: [Read, Write]\nwrites", "tools: [Bash]\nwrites"));
        assert!(matches!(&*found, [(PreflightCheck::Tools, why)] if why.contains("Bash")), "{found:?}");
        let found = warnings("task: {}\n");
        let checks: Vec<_> = found.iter().map(|(check, _)| *check).collect();
        assert_eq!(checks, [PreflightCheck::Scope, PreflightCheck::Budget]);
    }

    #[test]
    fn unknown_keys_are_reported() {
        let report = TaskPlan::read(Path::new("task.yaml"), "task: {}\nfiles: [a]\n").unwrap_err();
        assert!(report.to_string().contains("files"), "{report}");
    }
}
