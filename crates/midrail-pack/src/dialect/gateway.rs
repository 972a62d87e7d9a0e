//! Policy packs of a gateway: `policy_pack:` documents.

use std::collections::BTreeMap;
use std::time::Duration;

use midrail_core::{Effect, EventKind, Mode, OnFault, Risk};
use midrail_guardrails::Seconds;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::case::Case;
use crate::dialect::origin::Origin;
use crate::raw::{Consequence, Guard, Pack, RiskRouter};
use crate::scalar::{OneOrMany, TextOrNumber};

/// A policy pack of a gateway.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyPack {
    /// Its name.
    pub policy_pack: String,
    /// Its version.
    pub version: Option<TextOrNumber>,
    /// Its enforcement.
    #[serde(default)]
    pub gateway: Gateway,
    /// Synchronous guardrails.
    #[serde(default)]
    pub sync_rules: Vec<RuleRef>,
    /// Asynchronous guardrails.
    #[serde(default)]
    pub async_rules: Vec<RuleRef>,
    /// The risks of tools. `__default__`: the risk of unlisted tools, medium unless set.
    #[serde(default)]
    pub tool_risks: BTreeMap<String, Risk>,
    /// The wait times for deep guardrails.
    #[serde(default)]
    pub risk_router: RiskRouter,
    /// Overlays by environment.
    #[serde(default)]
    pub env: BTreeMap<String, Value>,
    /// Another name for `env`.
    #[serde(default)]
    pub environments: BTreeMap<String, Value>,
    /// Test cases.
    #[serde(default)]
    pub tests: Vec<Case>,
}

/// The enforcement of a policy pack.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gateway {
    /// `shadow` or `enforce`.
    pub mode: Mode,
    /// Synchronous guardrails.
    pub sync: SyncRuleSettings,
    /// Asynchronous guardrails.
    #[serde(rename = "async")]
    pub deep: AsyncRuleSettings,
}

/// Settings of synchronous guardrails.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncRuleSettings {
    /// Their timeout in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Whether a failure allows the event.
    pub fail_open: bool,
}

/// Settings of asynchronous guardrails.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AsyncRuleSettings {
    /// Whether they run at all.
    pub enabled: bool,
    /// Whether a failure allows the event.
    pub fail_open: bool,
}

impl Default for AsyncRuleSettings {
    fn default() -> Self {
        AsyncRuleSettings { enabled: true, fail_open: false }
    }
}

/// A guardrail of the catalogue, by id.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleRef {
    /// Its id.
    pub id: String,
    /// Off with `false`.
    pub enabled: Option<bool>,
    /// Its settings.
    pub config: Option<Value>,
    /// Its action: `ALLOW`, `REDACT`, `RETRY`, `PAUSE` or `STOP`.
    #[serde(default, deserialize_with = "crate::words::effect")]
    #[schemars(with = "Option<crate::words::EffectWord>")]
    pub action: Option<Effect>,
    /// The events that it checks.
    #[serde(default)]
    #[schemars(with = "OneOrMany<crate::words::KindWord>")]
    pub events: OneOrMany<EventKind>,
    /// The tools whose calls it checks.
    #[serde(default)]
    pub tools: OneOrMany,
    /// The reason of its decisions.
    pub reason: Option<String>,
    /// The guidance for another attempt.
    pub retry: Option<RetrySpec>,
    /// The message at the end of the run.
    pub stop: Option<StopSpec>,
    /// Its consequences, such as `increment_strike`.
    #[serde(default)]
    pub effects: OneOrMany<Consequence>,
    /// Its timeout in milliseconds. Absent: that of the gateway.
    pub timeout_ms: Option<u64>,
    /// Whether its failure allows the event. Absent: as the gateway says.
    pub fail_open: Option<bool>,
}

/// The guidance for another attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetrySpec {
    /// The message for the model.
    pub corrective_message: Option<String>,
    /// The number of attempts.
    pub max_attempts: Option<u32>,
}

/// The message at the end of the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopSpec {
    /// The message for the user.
    pub user_message: Option<String>,
}

/// The parts of a native guardrail that a rule gives under another name.
const RULE_PLACES: &[(&str, &str)] = &[
    ("effect", "action"),
    ("on", "events"),
    ("tools", "tools"),
    ("reason", "reason"),
    ("corrective_message", "retry/corrective_message"),
    ("max_attempts", "retry/max_attempts"),
    ("user_message", "stop/user_message"),
    ("effects", "effects"),
    ("timeout", "timeout_ms"),
];

pub(super) fn policy_pack(document: PolicyPack) -> (Pack, Origin) {
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
            origin.push((format!("{native}/with"), format!("/{list}/{at}/config")));
            let on_fault = match rule.fail_open {
                Some(_) => format!("/{list}/{at}/fail_open"),
                None => format!("/gateway/{mode}/fail_open"),
            };
            origin.push((format!("{native}/on_error"), on_fault));
            for (own, name) in RULE_PLACES {
                origin.push((format!("{native}/{own}"), format!("/{list}/{at}/{name}")));
            }
            let timeout = rule.timeout_ms.or(document.gateway.sync.timeout_ms.filter(|_| mode == "sync"));
            let on_error = match rule.fail_open {
                Some(true) => OnFault::Allow,
                Some(false) => OnFault::Block,
                None => on_error,
            };
            let retry = rule.retry.unwrap_or_default();
            guardrails.push(Guard {
                timeout: timeout.map(|timeout| Seconds(Duration::from_millis(timeout).as_secs_f64())),
                uses: Some(rule.id),
                with: rule.config,
                enabled: Some(runs && rule.enabled != Some(false)),
                on_error: Some(on_error),
                effect: rule.action,
                on: rule.events,
                tools: rule.tools,
                reason: rule.reason,
                corrective_message: retry.corrective_message,
                max_attempts: retry.max_attempts,
                user_message: rule.stop.and_then(|stop| stop.user_message),
                effects: rule.effects,
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
        env: if document.env.is_empty() { document.environments } else { document.env },
        tests: document.tests,
        ..Pack::default()
    };
    (pack, origin.into_iter().collect())
}
