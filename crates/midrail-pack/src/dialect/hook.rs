//! Validation hooks: `guardrail:` and `custom_guardrail:` documents.

use midrail_core::{Category, Effect, EventKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Origin;
use crate::case::Case;
use crate::raw::{AlertRule, Bypass, Guard, Pack};
use crate::scalar::Many;

/// A document of validation hooks: a guardrail, or one of each kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookDocument {
    /// A guardrail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guardrail: Option<HookGuardrail>,
    /// A guardrail of the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_guardrail: Option<HookGuardrail>,
    /// Alerts on what the guardrails do over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alerts: Vec<AlertRule>,
    /// Figures that are kept, and alerts on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitoring: Option<Monitoring>,
    /// Cases that it has to decide as they say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Case>,
}

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Monitoring {
    /// Figures that are kept, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// Alerts on what the guardrails do over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alerts: Vec<AlertRule>,
}

/// A guardrail in the words of validation hooks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookGuardrail {
    /// Its id.
    pub id: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it protects against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The kind of event.
    #[serde(rename = "type")]
    pub kind: HookType,
    /// Lower runs first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Breaks ties of priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// Off with `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// When it applies.
    #[serde(default)]
    pub condition: HookCondition,
    /// What it checks.
    pub validation: HookValidation,
    /// Whether and by whom it can be lifted for one action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypass: Option<Bypass>,
}

/// The hook types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookType {
    /// before_tool
    #[default]
    PreExecution,
    /// after_tool
    PostExecution,
    /// before_handoff
    PreHandoff,
    /// after_handoff
    PostHandoff,
    /// on_error
    OnError,
}

/// When a hook applies.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookCondition {
    /// An expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// Agents, tasks and tools.
    #[serde(default)]
    pub applies_to: AppliesTo,
}

/// The agents, tasks and tools that a hook applies to: glob patterns, or `"*"`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AppliesTo {
    /// Agents, by id.
    pub agents: Many,
    /// Tasks, by id.
    pub tasks: Many,
    /// Tools, by name.
    pub tools: Many,
}

/// What a hook checks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookValidation {
    /// An expression that has to hold.
    pub check: String,
    /// A share at which it warns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// What its objection leads to.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::words::effect")]
    #[schemars(with = "Option<crate::words::EffectWord>")]
    pub action_on_fail: Option<Effect>,
}

pub(super) fn hook(document: HookDocument) -> (Pack, Origin) {
    let hooks = [("guardrail", document.guardrail), ("custom_guardrail", document.custom_guardrail)];
    let mut pack = Pack { tests: document.tests, ..Pack::default() };
    let mut origin = Vec::new();
    for (key, hook) in hooks.into_iter().filter_map(|(key, hook)| Some((key, hook?))) {
        let native = format!("/guardrails/{}", pack.guardrails.len());
        origin.extend(
            [
                ("", ""),
                ("/on", "/type"),
                ("/when", "/condition/expression"),
                ("/tools", "/condition/applies_to/tools"),
                ("/agents", "/condition/applies_to/agents"),
                ("/tasks", "/condition/applies_to/tasks"),
                ("/check", "/validation/check"),
                ("/effect", "/validation/action_on_fail"),
                ("/use", "/id"),
            ]
            .map(|(from, to)| (format!("{native}{from}"), format!("/{key}{to}"))),
        );
        if pack.pack.is_empty() {
            pack.pack.clone_from(&hook.id);
            origin.push(("/pack".to_owned(), format!("/{key}/id")));
        }
        pack.guardrails.push(hook_guard(hook));
    }
    if pack.pack.is_empty() {
        // A document of alerts alone has no id to be called by.
        pack.pack = "monitoring".to_owned();
    }
    let monitored = document.monitoring.map(|monitoring| monitoring.alerts).unwrap_or_default();
    for (at, alerts) in [("/alerts", document.alerts), ("/monitoring/alerts", monitored)] {
        for (i, alert) in alerts.into_iter().enumerate() {
            origin.push((format!("/alerts/{}", pack.alerts.len()), format!("{at}/{i}")));
            pack.alerts.push(alert);
        }
    }
    (pack, origin.into_iter().collect())
}

fn hook_guard(hook: HookGuardrail) -> Guard {
    // A built-in is bound by its id, and its check text is its description.
    let page = midrail_guardrails::page(&hook.id);
    // The budgets of the seeds say `escalate` beside thresholds of their own, which stay.
    let effect = hook
        .validation
        .action_on_fail
        .filter(|effect| *effect != Effect::Escalate || page.is_none_or(|page| !page.always_on));
    let on = match hook.kind {
        HookType::PreExecution => EventKind::BeforeTool,
        HookType::PostExecution => EventKind::AfterTool,
        HookType::PreHandoff => EventKind::BeforeHandoff,
        HookType::PostHandoff => EventKind::AfterHandoff,
        HookType::OnError => EventKind::OnError,
    };
    Guard {
        uses: page.map(|page| page.id.to_owned()),
        check: page.is_none().then_some(hook.validation.check),
        id: Some(page.map_or(hook.id, |page| page.id.to_owned())),
        name: hook.name,
        description: hook.description,
        enabled: hook.enabled,
        on: Many(vec![on]),
        tools: hook.condition.applies_to.tools,
        agents: hook.condition.applies_to.agents,
        tasks: hook.condition.applies_to.tasks,
        when: hook.condition.expression,
        priority: hook.priority,
        category: hook.category,
        effect,
        bypass: hook.bypass,
        ..Guard::default()
    }
}
