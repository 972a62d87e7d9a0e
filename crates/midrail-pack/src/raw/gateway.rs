//! What a pack says around guardrails that take their time, and of those that are scripts: raw types that mirror the
//! text.

use std::collections::BTreeMap;

use midrail_core::{Effect, OnFault, Risk};
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::scalar::{OneOrMany, Seconds};

/// How long deep guardrails are waited for by the risk of the tool, and what follows where they do not answer in time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RiskRouter {
    /// Milliseconds for tools of low risk, 0 unless set: nobody waits, and the answer counts for a later event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_risk_wait_ms: Option<u64>,
    /// Milliseconds for tools of medium risk, 100 unless set. Tools that nobody lists have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium_risk_wait_ms: Option<u64>,
    /// Milliseconds for tools of high risk, 200 unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_risk_wait_ms: Option<u64>,
    /// Milliseconds for tools of critical risk: those of high risk where they are set, else 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_risk_wait_ms: Option<u64>,
    /// Milliseconds that texts of the model wait where a tool of high risk or above is at hand, 100 unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_wait_ms: Option<u64>,
    /// What follows where no answer came in time, by risk: `allow` for low and medium, `escalate` for high, `halt` for
    /// critical unless set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "by_risk")]
    pub on_timeout: BTreeMap<Risk, TimeoutWord>,
    /// Guardrails that are asked about calls of such tools, whatever else they are asked about, by risk.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "by_risk")]
    pub require: BTreeMap<Risk, OneOrMany>,
}

/// Something for each risk. The risk is read as a text, so that what is wrong below it is found there.
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

/// What follows where nobody answered in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimeoutWord {
    /// The event goes on.
    Allow,
    /// A person decides.
    #[serde(alias = "pause")]
    Escalate,
    /// The action does not happen.
    Block,
    /// The run ends.
    #[serde(alias = "stop")]
    Halt,
}

impl TimeoutWord {
    /// The step of the ladder.
    pub fn effect(self) -> Effect {
        match self {
            TimeoutWord::Allow => Effect::Allow,
            TimeoutWord::Escalate => Effect::Escalate,
            TimeoutWord::Block => Effect::Block,
            TimeoutWord::Halt => Effect::Halt,
        }
    }
}

/// What a number of strikes in a session leads to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StrikeLimit {
    /// The number.
    pub count: u64,
    /// The guardrail whose strikes count. Absent: those of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// What follows.
    #[serde(deserialize_with = "crate::words::some_effect")]
    #[schemars(with = "crate::words::EffectWord")]
    pub effect: Effect,
    /// What the user is told, where the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_message: Option<String>,
    /// Who is asked, where a person decides. Default: as for guardrails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
    /// How long they have to answer. Default: as for guardrails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_timeout: Option<Seconds>,
}

/// A consequence of an objection beyond its effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Consequence {
    /// People are to look at the session.
    FlagTrajectory,
    /// A strike is counted.
    IncrementStrike,
    /// Whoever runs the agents is told.
    EmitAlert,
}

impl Consequence {
    /// The word in decisions.
    pub fn word(self) -> &'static str {
        match self {
            Consequence::FlagTrajectory => midrail_core::FLAG_TRAJECTORY,
            Consequence::IncrementStrike => midrail_core::INCREMENT_STRIKE,
            Consequence::EmitAlert => midrail_core::EMIT_ALERT,
        }
    }
}

/// What holds for the scripts that lie beside the packs: `guardrails.js` of the project, of the user and of the
/// organisation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scripts {
    /// Off with `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Whether `.deft/guardrails.js` of the project and `deft/guardrails.js` in the user's configuration are read too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deft: Option<bool>,
    /// What a script that fails asks for, `block` unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_error: Option<OnFault>,
    /// How long the hook before a call may take, 1 second unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_timeout: Option<Seconds>,
    /// How long the hook that sees a result may take, 10 minutes unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_timeout: Option<Seconds>,
    /// Megabytes that a script may use, 64 unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u32>,
    /// Errors in a row that a script may put in place of the results of one tool, 3 unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// What follows then: `allow` unless set, with the result as it was and a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_exhausted: Option<OnFault>,
    /// The role of the person who is asked where a script asks for one, `reviewer` unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
}
