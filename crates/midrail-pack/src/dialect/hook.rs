//! Validation hooks: `guardrail:` and `custom_guardrail:` documents.

use std::collections::BTreeMap;
use std::fmt;

use midrail_core::{Category, Effect, EventKind};
use midrail_guardrails::Builtin;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::case::Case;
use crate::dialect::origin::Origin;
use crate::raw::{AlertRule, Bypass, Guard, Pack};
use crate::scalar::OneOrMany;
use crate::words::parse_effect;

/// A document of validation hooks: a guardrail, or several of the catalogue.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HookDocument {
    /// A guardrail.
    #[serde(deserialize_with = "one_guardrail")]
    pub guardrail: Option<HookGuardrail>,
    /// A custom guardrail.
    #[serde(deserialize_with = "one_guardrail")]
    pub custom_guardrail: Option<HookGuardrail>,
    /// Safety guardrails of the catalogue, by id.
    pub safety_guardrails: Vec<CatalogueEntry>,
    /// Quality guardrails of the catalogue, by id.
    pub quality_guardrails: Vec<CatalogueEntry>,
    /// Compliance guardrails of the catalogue, by id.
    pub compliance_guardrails: Vec<CatalogueEntry>,
    /// Budget guardrails of the catalogue, by id.
    pub budget_guardrails: Vec<CatalogueEntry>,
    /// Scope guardrails of the catalogue, by id.
    pub scope_guardrails: Vec<CatalogueEntry>,
    /// Guardrails of the catalogue for the time before each call, by id.
    pub pre_execution_chain: Vec<ChainLink>,
    /// Guardrails for each result.
    pub post_execution_chain: Vec<ChainLink>,
    /// Guardrails for the time before each hand-off.
    pub pre_handoff_chain: Vec<ChainLink>,
    /// Guardrails for the time after each hand-off.
    pub post_handoff_chain: Vec<ChainLink>,
    /// Guardrails for each error.
    pub on_error_chain: Vec<ChainLink>,
    /// The built-in for the token budget.
    pub builtin_token_budget: Option<BuiltInGuardrail>,
    /// The built-in for the time budget.
    pub builtin_time_budget: Option<BuiltInGuardrail>,
    /// The built-in for the files of the task.
    pub builtin_scope_boundary: Option<BuiltInGuardrail>,
    /// The built-in for the tools of the agent.
    pub builtin_tool_allowlist: Option<BuiltInGuardrail>,
    /// Alerts on metrics of the guardrails.
    pub alerts: Vec<AlertRule>,
    /// Metrics, and alerts on them.
    pub monitoring: Option<Monitoring>,
    /// Test cases.
    pub tests: Vec<Case>,
}

/// Metrics and alerts.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Monitoring {
    /// Figures that are kept, in words.
    pub metrics: Vec<String>,
    /// Alerts on metrics of the guardrails.
    pub alerts: Vec<AlertRule>,
}

/// A guardrail in the format of validation hooks.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookGuardrail {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: Option<String>,
    /// What it protects against.
    pub description: Option<String>,
    /// The kind of event.
    #[serde(rename = "type")]
    pub kind: HookType,
    /// Lower runs first.
    pub priority: Option<u32>,
    /// Breaks ties of priority.
    pub category: Option<Category>,
    /// Off with `false`.
    pub enabled: Option<bool>,
    /// When it applies.
    #[serde(default)]
    pub condition: HookCondition,
    /// Its check.
    pub validation: HookValidation,
    /// Whether it can be bypassed for one action, and who decides.
    pub bypass: Option<Bypass>,
}

/// A guardrail as a map. Without this, a list is reported with the name of the Rust type.
fn one_guardrail<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<HookGuardrail>, D::Error> {
    struct OneMap;

    impl<'de> Visitor<'de> for OneMap {
        type Value = Option<HookGuardrail>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a map of one guardrail with `id`, `type` and `validation`")
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            let hook = HookGuardrail::deserialize(MapAccessDeserializer::new(map))?;
            if hook.has_unusable_threshold() {
                return Err(A::Error::custom(
                    "`threshold` needs a check with an upper limit, such as `usage.tokens < 1000`, or one that uses the \
                     name `threshold`",
                ));
            }
            Ok(Some(hook))
        }
    }

    deserializer.deserialize_any(OneMap)
}

/// The hook types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
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

impl HookType {
    fn kind(self) -> EventKind {
        match self {
            HookType::PreExecution => EventKind::BeforeTool,
            HookType::PostExecution => EventKind::AfterTool,
            HookType::PreHandoff => EventKind::BeforeHandoff,
            HookType::PostHandoff => EventKind::AfterHandoff,
            HookType::OnError => EventKind::OnError,
        }
    }
}

/// When a hook applies.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HookCondition {
    /// An expression.
    pub expression: Option<String>,
    /// Agents, tasks and tools.
    pub applies_to: AppliesTo,
}

/// The agents, tasks and tools that a hook applies to: glob patterns, or `"*"`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AppliesTo {
    /// Agents, by id.
    pub agents: OneOrMany,
    /// Tasks, by id.
    pub tasks: OneOrMany,
    /// Tools, by name.
    pub tools: OneOrMany,
}

/// The check of a hook.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookValidation {
    /// An expression that must hold.
    pub check: String,
    /// The share of the limit at which it warns, for a check such as `usage.tokens < 1000`. A check that contains the word
    /// `threshold` uses the number instead.
    pub threshold: Option<f64>,
    /// The effect of a violation.
    #[serde(default, deserialize_with = "crate::words::effect")]
    #[schemars(with = "Option<crate::words::EffectWord>")]
    pub action_on_fail: Option<Effect>,
}

/// The keys that identify a document of validation hooks.
const KEYS: &[&str] = &[
    "custom_guardrail",
    "guardrail",
    "monitoring",
    "safety_guardrails",
    "quality_guardrails",
    "compliance_guardrails",
    "budget_guardrails",
    "scope_guardrails",
    "pre_execution_chain",
    "post_execution_chain",
    "pre_handoff_chain",
    "post_handoff_chain",
    "on_error_chain",
    "builtin_token_budget",
    "builtin_time_budget",
    "builtin_scope_boundary",
    "builtin_tool_allowlist",
];

/// Whether a key identifies a document of validation hooks.
pub(super) fn is_hook_key(key: &str) -> bool {
    KEYS.contains(&key)
}

/// A guardrail of the catalogue in a list, identified by its id and described by its check.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CatalogueEntry {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: Option<String>,
    /// The description of its check.
    pub check: Option<String>,
    /// The share at which it warns: `0.9`, followed by any text.
    pub threshold: Option<LooseShare>,
    /// The effect of a violation, followed by any text.
    #[schemars(with = "Option<String>")]
    pub action_on_fail: Option<LooseEffect>,
}

/// A guardrail of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChainLink {
    /// The id of a guardrail of the catalogue.
    pub guardrail: String,
}

/// A built-in that is always on.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BuiltInGuardrail {
    /// Its id.
    pub id: String,
    /// The kind of event.
    #[serde(rename = "type", default)]
    pub kind: HookType,
    /// Lower runs first.
    pub priority: Option<u32>,
    /// The description of its check.
    pub check: Option<String>,
    /// Shares with an effect: `80%`, followed by any text.
    #[serde(default)]
    pub thresholds: BTreeMap<String, LooseShare>,
    /// The effect of a violation. Budgets use their thresholds instead.
    #[schemars(with = "Option<String>")]
    pub action_on_fail: Option<LooseEffect>,
}

/// A share: `0.9`, `80%`, `80% consumed`, `0.9 (warn at 90%)`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(extend("type" = ["number", "string"]))]
pub struct LooseShare(pub f64);

impl TryFrom<Value> for LooseShare {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let share = match &value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => share(text),
            _ => None,
        };
        let valid = share.filter(|share| (0.0..=1.0).contains(share)).map(LooseShare);
        valid.ok_or_else(|| format!("expected a share such as `0.9` or `80%`, found `{value}`"))
    }
}

fn share(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text.get(..end)?.parse().ok()?;
    let rest = text.get(end..)?;
    Some(if rest.starts_with('%') { number / 100.0 } else { number })
}

/// An effect, followed by any text: `escalate (at 100%)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LooseEffect(pub Effect);

impl<'de> Deserialize<'de> for LooseEffect {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let word = text.split_whitespace().next().unwrap_or_default();
        parse_effect(word).map(LooseEffect).map_err(D::Error::custom)
    }
}

pub(super) fn hook(document: HookDocument) -> (Pack, Origin) {
    let mut pack = Pack { tests: document.tests, ..Pack::default() };
    let mut origin = Vec::new();
    let mut add = |at: String, pairs: &[(&str, &str)], guard: Guard, pack: &mut Pack| {
        let native = format!("/guardrails/{}", pack.guardrails.len());
        origin.extend(pairs.iter().map(|(from, to)| (format!("{native}{from}"), format!("{at}{to}"))));
        if pack.pack.is_empty() {
            pack.pack = guard.id.clone().unwrap_or_default();
            origin.push(("/pack".to_owned(), at));
        }
        pack.guardrails.push(guard);
    };
    for (key, hook) in [("guardrail", document.guardrail), ("custom_guardrail", document.custom_guardrail)] {
        if let Some(hook) = hook {
            for guard in hook_guards(hook) {
                add(format!("/{key}"), HOOK_PLACES, guard, &mut pack);
            }
        }
    }
    for (key, list) in [
        ("safety_guardrails", document.safety_guardrails),
        ("quality_guardrails", document.quality_guardrails),
        ("compliance_guardrails", document.compliance_guardrails),
        ("budget_guardrails", document.budget_guardrails),
        ("scope_guardrails", document.scope_guardrails),
    ] {
        for (i, listed) in list.into_iter().enumerate() {
            add(format!("/{key}/{i}"), LISTED_PLACES, listed_guard(listed), &mut pack);
        }
    }
    for (key, on, list) in [
        ("pre_execution_chain", EventKind::BeforeTool, document.pre_execution_chain),
        ("post_execution_chain", EventKind::AfterTool, document.post_execution_chain),
        ("pre_handoff_chain", EventKind::BeforeHandoff, document.pre_handoff_chain),
        ("post_handoff_chain", EventKind::AfterHandoff, document.post_handoff_chain),
        ("on_error_chain", EventKind::OnError, document.on_error_chain),
    ] {
        for (i, linked) in list.into_iter().enumerate() {
            let places = &[("", ""), ("/use", "/guardrail"), ("/id", "/guardrail")];
            add(format!("/{key}/{i}"), places, linked_guard(linked, on), &mut pack);
        }
    }
    for (key, built_in) in [
        ("builtin_token_budget", document.builtin_token_budget),
        ("builtin_time_budget", document.builtin_time_budget),
        ("builtin_scope_boundary", document.builtin_scope_boundary),
        ("builtin_tool_allowlist", document.builtin_tool_allowlist),
    ] {
        if let Some(built_in) = built_in {
            add(format!("/{key}"), BUILT_IN_PLACES, built_in_guard(built_in), &mut pack);
        }
    }
    if pack.pack.is_empty() {
        // A document with alerts only has no id.
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

/// The places of the parts of a native guardrail in a hook.
const HOOK_PLACES: &[(&str, &str)] = &[
    ("", ""),
    ("/on", "/type"),
    ("/when", "/condition/expression"),
    ("/tools", "/condition/applies_to/tools"),
    ("/agents", "/condition/applies_to/agents"),
    ("/tasks", "/condition/applies_to/tasks"),
    ("/check", "/validation/check"),
    ("/effect", "/validation/action_on_fail"),
    ("/with/thresholds/warn", "/validation/threshold"),
    ("/use", "/id"),
];

const LISTED_PLACES: &[(&str, &str)] = &[
    ("", ""),
    ("/use", "/id"),
    ("/description", "/check"),
    ("/effect", "/action_on_fail"),
    ("/with", "/threshold"),
    ("/with/thresholds/warn", "/threshold"),
];

const BUILT_IN_PLACES: &[(&str, &str)] = &[
    ("", ""),
    ("/use", "/id"),
    ("/on", "/type"),
    ("/description", "/check"),
    ("/effect", "/action_on_fail"),
    ("/with/thresholds", "/thresholds"),
];

/// The effect of a guardrail. Budgets have thresholds with effects, which one effect does not replace.
fn own_effect(page: Option<&Builtin>, effect: Option<Effect>) -> Option<Effect> {
    effect.filter(|_| page.is_none_or(|page| page.category != Category::Budget))
}

impl HookGuardrail {
    /// Whether a custom guardrail has a threshold that its check cannot use.
    fn has_unusable_threshold(&self) -> bool {
        let HookValidation { check, threshold, .. } = &self.validation;
        let is_usable = |share: f64| {
            with_number(check, "threshold", share).is_some() || lower_limit(check, share).is_some()
        };
        midrail_guardrails::builtin(&self.id).is_none() && threshold.is_some_and(|share| !is_usable(share))
    }
}

/// The guardrail of a hook, and the one that warns at its threshold.
fn hook_guards(mut hook: HookGuardrail) -> Vec<Guard> {
    let is_custom = midrail_guardrails::builtin(&hook.id).is_none();
    let Some(threshold) = hook.validation.threshold.filter(|_| is_custom) else {
        return vec![hook_guard(hook)];
    };
    if let Some(check) = with_number(&hook.validation.check, "threshold", threshold) {
        hook.validation = HookValidation { check, threshold: None, ..hook.validation };
        return vec![hook_guard(hook)];
    }
    hook.validation.threshold = None;
    let Some(check) = lower_limit(&hook.validation.check, threshold) else { return vec![hook_guard(hook)] };
    let guard = hook_guard(hook);
    let warning = Guard {
        id: guard.id.as_ref().map(|id| format!("{id}:threshold")),
        description: Some(format!("Warns at {threshold} of the limit of the check.")),
        check: Some(check),
        effect: Some(Effect::Warn),
        ..guard.clone()
    };
    vec![guard, warning]
}

/// The expression with a number in the place of a name. `None`: the name is not in it.
fn with_number(expression: &str, name: &str, number: f64) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let mut out = String::new();
    let (mut rest, mut is_found) = (expression, false);
    while let Some(at) = rest.find(name) {
        let (before, after) = (rest.get(..at)?, rest.get(at + name.len()..)?);
        let is_word = !before.ends_with(is_part) && !after.starts_with(is_part);
        out.push_str(before);
        out.push_str(&if is_word { number.to_string() } else { name.to_owned() });
        is_found |= is_word;
        rest = after;
    }
    is_found.then(|| out + rest)
}

/// The check with its upper limit multiplied by a share: `a < b` becomes `a < (b) * 0.9`.
fn lower_limit(check: &str, share: f64) -> Option<String> {
    let is_joined = [" and ", " or ", "not "].iter().any(|word| check.to_lowercase().contains(word))
        || check.contains('>');
    let (left, right) = check.split_once('<').filter(|(_, right)| !is_joined && !right.contains('<'))?;
    let (sign, right) = right.strip_prefix('=').map_or(("<", right), |right| ("<=", right));
    Some(format!("{} {sign} ({}) * {share}", left.trim(), right.trim()))
}

fn hook_guard(hook: HookGuardrail) -> Guard {
    // A built-in is identified by its id, and its check is a description.
    let page = midrail_guardrails::builtin(&hook.id);
    let with = hook.validation.threshold;
    Guard {
        uses: page.map(|page| page.id.to_owned()),
        with: with.map(|share| json!({"thresholds": {"warn": share}})),
        description: hook.description.or_else(|| page.map(|_| hook.validation.check.clone())),
        check: page.is_none().then_some(hook.validation.check),
        id: Some(page.map_or(hook.id, |page| page.id.to_owned())),
        name: hook.name,
        enabled: hook.enabled,
        on: OneOrMany(vec![hook.kind.kind()]),
        tools: hook.condition.applies_to.tools,
        agents: hook.condition.applies_to.agents,
        tasks: hook.condition.applies_to.tasks,
        when: hook.condition.expression,
        priority: hook.priority,
        category: hook.category,
        effect: own_effect(page, hook.validation.action_on_fail),
        bypass: hook.bypass,
        ..Guard::default()
    }
}

fn listed_guard(listed: CatalogueEntry) -> Guard {
    let page = midrail_guardrails::builtin(&listed.id);
    Guard {
        uses: Some(listed.id.clone()),
        id: Some(page.map_or(listed.id, |page| page.id.to_owned())),
        name: listed.name,
        description: listed.check,
        with: listed.threshold.map(|LooseShare(share)| json!({"thresholds": {"warn": share}})),
        effect: own_effect(page, listed.action_on_fail.map(|LooseEffect(effect)| effect)),
        ..Guard::default()
    }
}

fn linked_guard(linked: ChainLink, on: EventKind) -> Guard {
    let page = midrail_guardrails::builtin(&linked.guardrail);
    // A guardrail keeps its own kinds of event in any chain.
    let mut kinds = page.map(|page| page.on.to_vec()).unwrap_or_default();
    if !kinds.contains(&on) {
        kinds.push(on);
    }
    Guard {
        id: Some(page.map_or_else(|| linked.guardrail.clone(), |page| page.id.to_owned())),
        uses: Some(linked.guardrail),
        on: OneOrMany(kinds),
        ..Guard::default()
    }
}

fn built_in_guard(built_in: BuiltInGuardrail) -> Guard {
    let page = midrail_guardrails::builtin(&built_in.id);
    let thresholds: BTreeMap<String, f64> =
        built_in.thresholds.into_iter().map(|(name, LooseShare(share))| (name, share)).collect();
    Guard {
        uses: Some(built_in.id.clone()),
        id: Some(page.map_or(built_in.id, |page| page.id.to_owned())),
        description: built_in.check,
        with: (!thresholds.is_empty()).then(|| json!({"thresholds": thresholds})),
        on: OneOrMany(vec![built_in.kind.kind()]),
        priority: built_in.priority,
        effect: own_effect(page, built_in.action_on_fail.map(|LooseEffect(effect)| effect)),
        ..Guard::default()
    }
}
