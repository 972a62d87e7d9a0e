//! Policy packs of a gateway: `policy_pack:` documents.

use std::collections::BTreeMap;

use midrail_core::{Mode, OnFault, Risk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Origin;
use crate::case::Case;
use crate::raw::{Guard, Pack, RiskRouter};
use crate::scalar::{Seconds, TextOrNumber};

/// A policy pack of a gateway.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyPack {
    /// Its name.
    pub policy_pack: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<TextOrNumber>,
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
    pub sync: SyncRuleSettings,
    /// Guardrails that take their time.
    #[serde(rename = "async")]
    pub deep: AsyncRuleSettings,
}

/// How guardrails that answer at once are run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncRuleSettings {
    /// How long they may take together.
    pub timeout_ms: Option<u64>,
    /// One that fails allows.
    pub fail_open: bool,
}

/// How guardrails that take their time are run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AsyncRuleSettings {
    /// Whether they run at all.
    pub enabled: bool,
    /// One that fails allows.
    pub fail_open: bool,
}

impl Default for AsyncRuleSettings {
    fn default() -> Self {
        AsyncRuleSettings { enabled: true, fail_open: false }
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
    /// Its settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
}

/// Milliseconds as seconds.
fn millis(millis: u64) -> f64 {
    std::time::Duration::from_millis(millis).as_secs_f64()
}

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
            origin.push((format!("{native}/on_error"), format!("/gateway/{mode}/fail_open")));
            let timeout = document.gateway.sync.timeout_ms.filter(|_| mode == "sync");
            guardrails.push(Guard {
                timeout: timeout.map(|timeout| Seconds(millis(timeout))),
                uses: Some(rule.id),
                with: rule.config,
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
    (pack, origin.into_iter().collect())
}
