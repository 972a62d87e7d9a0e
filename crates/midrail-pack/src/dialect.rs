//! Packs in the words of other systems: validation hooks (`guardrail:`, `custom_guardrail:`), policy packs
//! (`policy_pack:`) and tool policies (`policy:` with `rules:`). Each becomes a native pack and means the same.

use std::collections::BTreeMap;

use midrail_core::{Category, Effect, EventKind, Mode, OnFault, Risk};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case::Case;
use crate::decode::{Decoded, read};
use crate::diagnostic::{Problem, Span};
use crate::raw::{Bypass, Guard, Pack, RiskRouter, Rule};
use crate::scalar::{Many, Text};
use crate::yaml::Node;

/// A pack as far as it could be read, and where the parts of it that were renamed stand in the text.
pub(crate) struct Translated {
    pub(crate) pack: Option<Pack>,
    pub(crate) origin: Origin,
    /// The tree without the parts that are wrong.
    pub(crate) node: Node,
    pub(crate) problems: Vec<Problem>,
    /// Places where a further problem is an echo of one of these.
    pub(crate) echoes: Vec<Span>,
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

/// Reads a document in whichever dialect it is written. One that calls itself a `pack` is a native one.
pub(crate) fn translate(node: &Node) -> Translated {
    let has = |keys: &[&str]| keys.iter().any(|key| node.get(key).is_some());
    if node.as_map().is_none() {
        let problem = Problem::new(format!("expected a pack, found {}", node.kind()), node.span.clone())
            .with_help("a pack is a map that starts with `pack: NAME`");
        let (origin, node) = (Origin::default(), node.clone());
        return Translated { pack: None, origin, node, problems: vec![problem], echoes: Vec::new() };
    }
    if has(&["pack"]) {
        into_pack(node, native)
    } else if has(&["custom_guardrail", "guardrail"]) {
        into_pack(node, hook)
    } else if has(&["policy_pack", "sync_rules", "async_rules", "gateway"]) {
        into_pack(node, policy_pack)
    } else if has(&["policy", "rules"]) {
        into_pack(node, tool_policy)
    } else {
        into_pack(node, native)
    }
}

fn into_pack<T: DeserializeOwned>(node: &Node, of: fn(T) -> (Pack, Origin)) -> Translated {
    let Decoded { value, rest, problems, echoes } = read(node);
    let (pack, origin) = value.map(of).unzip();
    Translated { pack, origin: origin.unwrap_or_default(), node: rest, problems, echoes }
}

fn native(pack: Pack) -> (Pack, Origin) {
    (pack, Origin::default())
}

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
    #[schemars(with = "Option<crate::scalar::EffectWord>")]
    pub action_on_fail: Option<Effect>,
}

fn hook(document: HookDocument) -> (Pack, Origin) {
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
    (pack, Origin(origin))
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

fn policy_pack(document: PolicyPack) -> (Pack, Origin) {
    let mut origin = vec![
        ("/pack".to_owned(), "/policy_pack".to_owned()),
        ("/mode".to_owned(), "/gateway/mode".to_owned()),
    ];
    let mut guardrails = Vec::new();
    let sync = if document.gateway.sync.fail_open { OnFault::Allow } else { OnFault::Block };
    let deep = if document.gateway.deep.fail_open { OnFault::Allow } else { OnFault::Escalate };
    for (list, mode, rules, on_error, runs) in [
        ("sync_rules", "sync", document.sync_rules, sync, true),
        ("async_rules", "async", document.async_rules, deep, document.gateway.deep.enabled),
    ] {
        for (at, rule) in rules.into_iter().enumerate() {
            let native = format!("/guardrails/{}", guardrails.len());
            origin.push((native.clone(), format!("/{list}/{at}")));
            origin.push((format!("{native}/use"), format!("/{list}/{at}/id")));
            origin.push((format!("{native}/on_error"), format!("/gateway/{mode}/fail_open")));
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
    (pack, Origin(origin))
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

fn tool_policy(document: ToolPolicy) -> (Pack, Origin) {
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
    let origin = [
        ("/pack", "/policy"),
        ("/guardrails/0/id", "/policy"),
        ("/guardrails/0/rules", "/rules"),
        ("/guardrails/0", ""),
    ]
    .map(|(native, text)| (native.to_owned(), text.to_owned()));
    (pack, Origin(origin.into()))
}
