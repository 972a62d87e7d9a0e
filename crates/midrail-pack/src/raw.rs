//! The native pack: raw types that mirror the text. `compile` defines their meaning.

mod boxes;
mod calls;
mod cedar;
pub(crate) mod definitions;
pub(crate) mod flow;
pub(crate) mod gateway;
pub(crate) mod guard;
mod mcp;
mod people;
mod vouch;

use std::collections::BTreeMap;

use midrail_core::{Mode, OnFault, Risk};
use midrail_guardrails::{McpDefinitions, Script, Seconds, Vouch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use boxes::{BoxLimits, BoxSettings, Bytes};
pub use calls::{CallsText, CommandText, CountText, PerText, PerWord};
pub use definitions::{AgentDefinition, Provider, Section, TaskDefinition};
pub use flow::{FlowOf, FlowText, FlowUnless, FlowUnlessWord, LabelText};
pub use gateway::{Consequence, RiskRouter, Scripts, StrikeLimit, TimeoutEffect};
pub use guard::{Bypass, Guard, KeySource, RequireBefore, Rule, StateScope};
pub use people::{AlertRule, ApprovalRules, Channel, EmergencyRule, UnattendedRule};

use crate::case::Case;
use crate::raw::guard::guards;
use crate::scalar::{OneOrMany, TextOrNumber, TimeOrDuration, amount};

/// `extends: none`: the pack does without the default pack.
pub const NO_BASE: &str = "none";

/// A pack: a versioned file of guardrails and settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pack {
    /// Its name.
    pub pack: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<TextOrNumber>,
    /// Its purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `shadow`: verdicts are recorded but not enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Lower layers cannot loosen its guardrails.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lock: bool,
    /// Base packs: files relative to it, or names of shipped packs. `none` omits the default pack, which is otherwise
    /// added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extends: OneOrMany,
    /// Overlays by environment: a deep merge onto the pack. Guardrails and other items with an `id` are merged by id,
    /// other lists are replaced.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Value>,
    /// The time zone of `time.hour` and `time.weekday`, such as `Europe/Zurich`. Otherwise UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Environment variables that its expressions may read as `env.NAME`. None of them may hold a secret.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_vars: OneOrMany,
    /// Default settings of its guardrails.
    #[serde(default, skip_serializing_if = "is_default")]
    pub defaults: Defaults,
    /// The deadline of every run: a time, or a duration from the first event of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<TimeOrDuration>,
    /// The budgets of every run: `tokens`, `time`, `api_calls`, `cost`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub budgets: Budgets,
    /// Definitions of agents: their identity, scope and budgets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, AgentDefinition>,
    /// Definitions of tasks: their scope and budgets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<String, TaskDefinition>,
    /// The guardrails.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "guards")]
    pub guardrails: Vec<Guard>,
    /// How what the agent sees is labelled, and what its calls do, for `flow` rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<LabelText>,
    /// What MCP servers may offer and ask for: the settings of mcp-definitions.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "mcp")]
    #[schemars(with = "Option<McpDefinitions>")]
    pub mcp: Option<Box<Guard>>,
    /// The calls about which no person needs to be asked if no guardrail objects: the settings of the guardrail vouch. Those of a
    /// project are not in effect.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "vouch")]
    #[schemars(with = "Option<Vouch>")]
    pub vouch: Option<Box<Guard>>,
    /// What contained calls may do, by the name of the box. There are two without this key: `default` reaches no network, `install`
    /// reaches it for package managers. A box of a project permits no more than the box of that name of the user does.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub boxes: BTreeMap<String, BoxSettings>,
    /// The authorities for approvals. The highest layer with this key counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<ApprovalRules>,
    /// The channels of notices by recipient: `orchestrator`, or the role of a person.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notify: BTreeMap<String, Channel>,
    /// Alerts on metrics of the guardrails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alerts: Vec<AlertRule>,
    /// The risks of tools, by name or glob pattern. `__default__`: the risk of unlisted tools, medium unless set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_risks: BTreeMap<String, Risk>,
    /// The wait times for deep guardrails.
    #[serde(default, skip_serializing_if = "is_default")]
    pub risk_router: RiskRouter,
    /// The effects of strikes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strikes: Vec<StrikeLimit>,
    /// Settings of the scripts next to the packs. The highest layer with this key counts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scripts: Scripts,
    /// Test cases: `midrail test`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Case>,
}

impl Pack {
    /// The scripts of its guardrails.
    pub fn scripts_mut(&mut self) -> impl Iterator<Item = &mut Script> {
        let agents = self.agents.values_mut().flat_map(|agent| {
            let sections = agent.sections.values_mut().flat_map(|section| &mut section.guardrails);
            agent.guardrails.iter_mut().chain(sections)
        });
        self.guardrails.iter_mut().chain(agents).filter_map(|guard| guard.script.as_mut())
    }

    /// The same, without changing them.
    pub fn scripts(&self) -> impl Iterator<Item = &Script> {
        let agents = self.agents.values().flat_map(|agent| {
            let sections = agent.sections.values().flat_map(|section| &section.guardrails);
            agent.guardrails.iter().chain(sections)
        });
        self.guardrails.iter().chain(agents).filter_map(|guard| guard.script.as_ref())
    }
}

/// Default settings of the guardrails of a pack.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// The effect of a failing guardrail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_error: Option<OnFault>,
    /// The effect of a missing fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_missing: Option<OnFault>,
    /// The number of warnings of one task after which a warning becomes an escalation. 0: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_limit: Option<u32>,
    /// Attempts before `on_exhausted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// The effect after the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_exhausted: Option<OnFault>,
    /// The role that decides escalations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
    /// How long an escalation waits until it becomes a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_timeout: Option<Seconds>,
}

/// The budgets of a run. Absent: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budgets {
    /// The token budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The time budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Seconds>,
    /// The budget of external calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_calls: Option<u64>,
    /// The cost budget.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "amount")]
    #[schemars(range(min = 0))]
    pub cost: Option<f64>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
