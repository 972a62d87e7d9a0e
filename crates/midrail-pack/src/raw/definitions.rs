//! Definitions of agents and tasks: raw types that mirror the text.

use std::collections::BTreeMap;

use midrail_core::{Risk, Scope};
use midrail_guardrails::{Feedback, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::raw::guard::{Guard, completion_guard, guards};
use crate::scalar::{OneOrMany, TimeOrDuration, amount};

/// The definition of an agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentDefinition {
    /// Ids of its agents: names or glob patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub id: OneOrMany,
    /// The role of its agents. Without `id` and `role`, it is the name of the definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Ids of its tasks: names or glob patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub task_ids: OneOrMany,
    /// The capabilities of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// The allowed tools. Absent: no limit. Empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Further allowed tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_tools: Option<Vec<String>>,
    /// How much it may decide on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy_level: Option<Value>,
    /// The goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The risk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// The accessible files.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::words::scope")]
    #[schemars(with = "Option<crate::words::StrictScope>")]
    pub scope: Option<Scope>,
    /// The token budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<u64>,
    /// The time budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_budget: Option<Seconds>,
    /// The budget of external calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_call_budget: Option<u64>,
    /// The cost budget.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "amount")]
    #[schemars(range(min = 0))]
    pub cost_budget: Option<f64>,
    /// The deadline of its runs: a time, or a duration from the first event of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<TimeOrDuration>,
    /// What it must complete before it stops: the settings of `completion`, and `id`, `max_attempts`, `on_exhausted`,
    /// `when`, `mode`, `reason`, `advice`, `approver` of the guardrail.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "completion_guard")]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub completion: Option<Guard>,
    /// The guardrails of this agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "guards")]
    pub guardrails: Vec<Guard>,
    /// Feedback that it receives with the results of its calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feedback: Vec<Provider>,
    /// Parts of the definition with their own tools and guardrails.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sections: BTreeMap<String, Section>,
}

impl AgentDefinition {
    /// The role of its agents, if the name of the definition is `name`.
    pub fn role_or<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.role.as_deref().or_else(|| self.id.is_empty().then_some(name))
    }
}

/// A feedback provider of a definition: a guardrail with feedback only.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema)]
#[schemars(transparent)]
pub struct Provider(#[schemars(with = "Feedback")] pub Guard);

impl<'de> Deserialize<'de> for Provider {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let feedback = Feedback::deserialize(deserializer)?;
        Ok(Provider(Guard { feedback: Some(feedback), ..Guard::default() }))
    }
}

impl Serialize for Provider {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.feedback.serialize(serializer)
    }
}

/// A part of a definition: its guardrails apply to its tools, and observe the results of all tools.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Its tools: names or glob patterns.
    pub tools: OneOrMany,
    /// Its guardrails.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "guards")]
    pub guardrails: Vec<Guard>,
}

/// The definition of a task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskDefinition {
    /// Ids of its tasks: names or glob patterns. Without any, it is the name of the definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub id: OneOrMany,
    /// The goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The risk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// The accessible files.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::words::scope")]
    #[schemars(with = "Option<crate::words::StrictScope>")]
    pub scope: Option<Scope>,
    /// The token budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<u64>,
    /// The time budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_budget: Option<Seconds>,
    /// The budget of external calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_call_budget: Option<u64>,
    /// The cost budget.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "amount")]
    #[schemars(range(min = 0))]
    pub cost_budget: Option<f64>,
    /// The deadline: a time, or a duration from the first event of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<TimeOrDuration>,
    /// Tools that the task adds to those of its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_tools: Option<Vec<String>>,
}
