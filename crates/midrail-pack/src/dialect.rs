//! Packs in the words of other systems: validation hooks (`guardrail:`, `custom_guardrail:`), policy packs
//! (`policy_pack:`) and tool policies (`policy:` with `rules:`). Each becomes a native pack and means the same.

use std::collections::BTreeMap;

use midrail_core::{Category, Effect, EventKind, Mode, OnFault, Risk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case::Case;
use crate::decode::decode;
use crate::diagnostic::Problem;
use crate::raw::{Bypass, Guard, Pack, RiskRouter, Rule};
use crate::scalar::{Many, Text};
use crate::yaml::Node;

/// A pack, and where the parts of it that were renamed stand in the text.
pub(crate) struct Translated {
    pub(crate) pack: Pack,
    pub(crate) origin: Origin,
}

/// Pairs of a native place and the place in the text, as JSON pointers. The longest native prefix counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin(Vec<(String, String)>);

impl Origin {
    /// The place in the text of a native place.
    pub(crate) fn of(&self, native: &str) -> String {
        let prefix = |from: &str| {
            native == from || native.strip_prefix(from).is_some_and(|rest| rest.starts_with('/'))
        };
        match self.0.iter().filter(|(from, _)| prefix(from)).max_by_key(|(from, _)| from.len()) {
            Some((from, to)) => format!("{to}{}", native.get(from.len()..).unwrap_or_default()),
            None => native.to_owned(),
        }
    }
}

/// Reads a document in whichever dialect it is written.
pub(crate) fn translate(node: &Node) -> Result<Translated, Vec<Problem>> {
    let has = |key: &str| node.get(key).is_some();
    if node.as_map().is_none() {
        return Err(vec![
            Problem::new(format!("expected a pack, found {}", node.kind()), node.span.clone())
                .with_help("a pack is a map that starts with `pack: NAME`"),
        ]);
    }
    if has("custom_guardrail") || has("guardrail") {
        decode(node).map(hook)
    } else if has("policy_pack") || has("sync_rules") || has("gateway") {
        decode(node).map(policy_pack)
    } else if has("policy") || has("rules") {
        decode(node).map(tool_policy)
    } else {
        Ok(Translated { pack: decode(node)?, origin: Origin::default() })
    }
}

/// A document of validation hooks: one guardrail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookDocument {
    /// A guardrail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guardrail: Option<HookGuardrail>,
    /// A guardrail of the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_guardrail: Option<HookGuardrail>,
    /// Cases that it has to decide as they say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Case>,
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
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::scalar::effect")]
    #[schemars(with = "Option<Effect>")]
    pub action_on_fail: Option<Effect>,
}

fn hook(document: HookDocument) -> Translated {
    let (key, hook) = match (document.custom_guardrail, document.guardrail) {
        (Some(hook), _) => ("custom_guardrail", hook),
        (None, hook) => ("guardrail", hook.unwrap_or_default()),
    };
    // A built-in is bound by its id, and its check text is its description.
    let built_in = midrail_guardrails::page(&hook.id).is_some();
    let on = match hook.kind {
        HookType::PreExecution => EventKind::BeforeTool,
        HookType::PostExecution => EventKind::AfterTool,
        HookType::PreHandoff => EventKind::BeforeHandoff,
        HookType::PostHandoff => EventKind::AfterHandoff,
        HookType::OnError => EventKind::OnError,
    };
    let guard = Guard {
        uses: built_in.then(|| hook.id.clone()),
        check: (!built_in).then_some(hook.validation.check),
        id: Some(hook.id.clone()),
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
        effect: hook.validation.action_on_fail,
        bypass: hook.bypass,
        ..Guard::default()
    };
    let pack = Pack { pack: hook.id, guardrails: vec![guard], tests: document.tests, ..Pack::default() };
    let origin = [
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
    .map(|(native, text)| (format!("/guardrails/0{native}"), format!("/{key}{text}")));
    Translated { pack, origin: Origin(origin.into()) }
}

/// A policy pack of a gateway.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyPack {
    /// Its name.
    pub policy_pack: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Text>,
    /// How it is enforced.
    #[serde(default)]
    pub gateway: Gateway,
    /// Guardrails that answer at once.
    #[serde(default)]
    pub sync_rules: Vec<RuleRef>,
    /// Guardrails that take their time.
    #[serde(default)]
    pub async_rules: Vec<RuleRef>,
    /// How much can go wrong with a tool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_risks: BTreeMap<String, Risk>,
    /// How long deep guardrails are waited for.
    #[serde(default)]
    pub risk_router: RiskRouter,
    /// Overlays by environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Value>,
    /// Cases that it has to decide as they say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Case>,
}

/// How a policy pack is enforced.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gateway {
    /// `shadow` or `enforce`.
    pub mode: Mode,
    /// Guardrails that answer at once.
    pub sync: Sync,
    /// Guardrails that take their time.
    #[serde(rename = "async")]
    pub deep: Deep,
}

/// How guardrails that answer at once are run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sync {
    /// How long they may take together.
    pub timeout_ms: Option<u64>,
    /// One that fails allows.
    pub fail_open: bool,
}

/// How guardrails that take their time are run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Deep {
    /// Whether they run at all.
    pub enabled: bool,
    /// One that fails allows.
    pub fail_open: bool,
}

impl Default for Deep {
    fn default() -> Self {
        Deep { enabled: true, fail_open: false }
    }
}

/// A guardrail of the catalogue, by id.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleRef {
    /// Its id.
    pub id: String,
    /// Off with `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

fn policy_pack(document: PolicyPack) -> Translated {
    let mut origin = Vec::new();
    let mut guardrails = Vec::new();
    let sync = if document.gateway.sync.fail_open { OnFault::Allow } else { OnFault::Block };
    let deep = if document.gateway.deep.fail_open { OnFault::Allow } else { OnFault::Escalate };
    for (list, rules, on_error, runs) in [
        ("sync_rules", document.sync_rules, sync, true),
        ("async_rules", document.async_rules, deep, document.gateway.deep.enabled),
    ] {
        for (at, rule) in rules.into_iter().enumerate() {
            let native = format!("/guardrails/{}", guardrails.len());
            origin.push((native.clone(), format!("/{list}/{at}")));
            origin.push((format!("{native}/use"), format!("/{list}/{at}/id")));
            guardrails.push(Guard {
                uses: Some(rule.id),
                enabled: Some(runs && rule.enabled != Some(false)),
                on_error: Some(on_error),
                ..Guard::default()
            });
        }
    }
    let pack = Pack {
        pack: document.policy_pack,
        version: document.version,
        mode: Some(document.gateway.mode),
        guardrails,
        tool_risks: document.tool_risks,
        risk_router: document.risk_router,
        env: document.env,
        tests: document.tests,
        ..Pack::default()
    };
    Translated { pack, origin: Origin(origin) }
}

/// A tool policy made of rules.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolPolicy {
    /// Its name, under which it denies.
    pub policy: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `shadow` or `enforce`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Its rules; the first that denies speaks.
    pub rules: Vec<Rule>,
    /// Cases that it has to decide as they say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Case>,
}

fn tool_policy(document: ToolPolicy) -> Translated {
    let guard = Guard {
        id: Some(document.policy.clone()),
        description: document.description.clone(),
        rules: Some(document.rules),
        ..Guard::default()
    };
    let pack = Pack {
        pack: document.policy,
        description: document.description,
        mode: document.mode,
        guardrails: vec![guard],
        tests: document.tests,
        ..Pack::default()
    };
    let origin = [("/guardrails/0/rules", "/rules"), ("/guardrails/0/id", "/policy"), ("/guardrails/0", "")]
        .map(|(native, text)| (native.to_owned(), text.to_owned()));
    Translated { pack, origin: Origin(origin.into()) }
}
