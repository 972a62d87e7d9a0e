//! Settings of deep guardrails, strikes and scripts: raw types that mirror the text.

use std::collections::BTreeMap;

use midrail_core::{Effect, OnFault, Risk};
use midrail_guardrails::Seconds;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::scalar::OneOrMany;

/// The wait times for deep guardrails by the risk of the tool, and the effects of a timeout.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RiskRouter {
    /// Milliseconds for tools of low risk, 0 unless set: the call does not wait, and the answer applies to a later event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_risk_wait_ms: Option<u64>,
    /// Milliseconds for tools of medium risk, 100 unless set. Unlisted tools have medium risk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium_risk_wait_ms: Option<u64>,
    /// Milliseconds for tools of high risk, 200 unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_risk_wait_ms: Option<u64>,
    /// Milliseconds for tools of critical risk: those of high risk if they are set, else 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_risk_wait_ms: Option<u64>,
    /// Milliseconds for texts of the model if a tool of high risk or above is available, 100 unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_wait_ms: Option<u64>,
    /// The effect of a timeout, by risk: `allow` for low and medium, `escalate` for high, `halt` for critical unless
    /// set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "by_risk")]
    pub on_timeout: BTreeMap<Risk, TimeoutEffect>,
    /// Guardrails that are additionally evaluated for calls of such tools, by risk.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "by_risk")]
    pub require: BTreeMap<Risk, OneOrMany>,
}

/// A value for each risk. The risk is read as a text, so that problems below it have the right place.
fn by_risk<'de, D, T>(deserializer: D) -> Result<BTreeMap<Risk, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let named = BTreeMap::<RiskName, T>::deserialize(deserializer)?;
    Ok(named.into_iter().map(|(RiskName(risk), value)| (risk, value)).collect())
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RiskName(Risk);

impl<'de> Deserialize<'de> for RiskName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const ALL: [Risk; 4] = [Risk::Low, Risk::Medium, Risk::High, Risk::Critical];
        let name = String::deserialize(deserializer)?;
        let risk = ALL.into_iter().find(|risk| risk.as_str() == name);
        let unknown = || Error::unknown_field(&name, &["low", "medium", "high", "critical"]);
        risk.map(RiskName).ok_or_else(unknown)
    }
}

/// The effect of a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimeoutEffect {
    /// The event is allowed.
    Allow,
    /// An approval is required.
    #[serde(alias = "pause")]
    Escalate,
    /// The action is blocked.
    Block,
    /// The run ends.
    #[serde(alias = "stop")]
    Halt,
}

impl TimeoutEffect {
    /// The effect.
    pub fn effect(self) -> Effect {
        match self {
            TimeoutEffect::Allow => Effect::Allow,
            TimeoutEffect::Escalate => Effect::Escalate,
            TimeoutEffect::Block => Effect::Block,
            TimeoutEffect::Halt => Effect::Halt,
        }
    }
}

/// The effect of a number of strikes in a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StrikeLimit {
    /// The number.
    pub count: u64,
    /// The guardrail whose strikes count. Absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The effect.
    #[serde(deserialize_with = "crate::words::some_effect")]
    #[schemars(with = "crate::words::EffectWord")]
    pub effect: Effect,
    /// The message to the user if the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_message: Option<String>,
    /// The role that decides escalations. Default: as for guardrails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
    /// The timeout of escalations. Default: as for guardrails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_timeout: Option<Seconds>,
}

/// A further consequence of a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Consequence {
    /// Flags the session for review.
    FlagTrajectory,
    /// Counts a strike.
    IncrementStrike,
    /// Notifies the operator.
    EmitAlert,
}

impl Consequence {
    /// The name in decisions.
    pub fn as_str(self) -> &'static str {
        match self {
            Consequence::FlagTrajectory => midrail_core::FLAG_TRAJECTORY,
            Consequence::IncrementStrike => midrail_core::INCREMENT_STRIKE,
            Consequence::EmitAlert => midrail_core::EMIT_ALERT,
        }
    }
}

/// Settings of the scripts next to the packs: `guardrails.js` of the project, of the user and of the organisation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scripts {
    /// Off with `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Whether `.deft/guardrails.js` of the project and `deft/guardrails.js` in the user's configuration are read too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deft: Option<bool>,
    /// The effect of a failing script, `block` unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_error: Option<OnFault>,
    /// The timeout of the hook before a call, 1 second unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_timeout: Option<Seconds>,
    /// The timeout of the hook for a result, 10 minutes unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_timeout: Option<Seconds>,
    /// The memory limit of a script in megabytes, 64 unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u32>,
    /// How often in a row a script may replace the result of one tool by an error, 3 unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// The effect after that: `allow` unless set, with the original result and a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_exhausted: Option<OnFault>,
    /// The role that decides escalations of scripts, `reviewer` unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
}
