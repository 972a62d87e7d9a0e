//! Budgets of a task, and the autonomy that the remaining share of them leaves to the agent.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{CallUsage, Task, Usage};

/// A resource that a task uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Tokens of models.
    Tokens,
    /// Seconds since the task began.
    Time,
    /// Calls to other machines.
    Calls,
    /// Money.
    Cost,
}

impl Resource {
    pub(crate) const ALL: [Resource; 4] = [Resource::Tokens, Resource::Time, Resource::Calls, Resource::Cost];

    /// The budget of a task. `None`: no limit.
    pub fn limit(self, task: &Task) -> Option<f64> {
        match self {
            Resource::Tokens => task.token_budget.map(float),
            Resource::Time => task.time_budget_s,
            Resource::Calls => task.api_call_budget.map(float),
            Resource::Cost => task.cost_budget,
        }
    }

    /// What the host reports as used so far.
    pub(crate) fn used(self, usage: &Usage) -> Option<f64> {
        match self {
            Resource::Tokens => usage.tokens.map(float),
            Resource::Time => usage.elapsed_s,
            Resource::Calls => usage.api_calls.map(float),
            Resource::Cost => usage.cost,
        }
    }

    /// What the host expects this action to use.
    pub(crate) fn estimated(self, usage: &Usage) -> Option<f64> {
        match self {
            Resource::Tokens => usage.estimated_tokens.map(float),
            Resource::Time => usage.estimated_s,
            Resource::Calls => None,
            Resource::Cost => usage.estimated_cost,
        }
    }

    /// What the host reports for one call.
    pub(crate) fn used_by_call(self, call: &CallUsage) -> Option<f64> {
        match self {
            Resource::Tokens => call.tokens.map(float),
            Resource::Time => None,
            Resource::Calls => call.api_calls.map(float),
            Resource::Cost => call.cost,
        }
    }
}

/// A budget of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// What has been used so far.
    pub used: f64,
    /// What this action is expected to use.
    pub estimated: f64,
    /// What may be used.
    pub limit: f64,
    /// Where `used` comes from.
    pub measure: UsageSource,
    /// Whether it is the time until a deadline, not the budget of a task.
    pub is_deadline: bool,
}

impl Budget {
    /// The share that remains, from 0 to 1. Nothing remains of an empty budget.
    pub fn remaining(&self) -> f64 {
        if self.limit > 0.0 { ((self.limit - self.used) / self.limit).max(0.0) } else { 0.0 }
    }

    /// The share that is used after this action.
    pub(crate) fn load(&self) -> f64 {
        if self.limit > 0.0 { (self.used + self.estimated) / self.limit } else { f64::INFINITY }
    }
}

/// Where a usage figure comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageSource {
    /// The host reports it with the event.
    Host,
    /// Midrail adds up what was reported and seen so far.
    Midrail,
    /// Nothing was ever reported.
    Unmeasured,
}

/// How much an agent may do without approval, by the share of its budgets that remains.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Autonomy {
    /// More than half remains: everything is as the packs say.
    #[default]
    Standard,
    /// Half or less: thresholds are tightened.
    Strict,
    /// Less than a fifth: warnings become blocks.
    Lockdown,
    /// Nothing: no action happens.
    Halt,
}

impl Autonomy {
    pub(crate) fn from_remaining(share: f64) -> Self {
        if share > 0.5 {
            Autonomy::Standard
        } else if share >= 0.2 {
            Autonomy::Strict
        } else if share > 0.0 {
            Autonomy::Lockdown
        } else {
            Autonomy::Halt
        }
    }

    /// The word in decisions.
    pub fn as_str(self) -> &'static str {
        match self {
            Autonomy::Standard => "standard",
            Autonomy::Strict => "strict",
            Autonomy::Lockdown => "lockdown",
            Autonomy::Halt => "halt",
        }
    }
}

impl fmt::Display for Autonomy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Counts are far below the 2^53 that a float holds exactly; beyond it the share is still right.
fn float(count: u64) -> f64 {
    let (high, low) = (count >> 32, count & 0xffff_ffff);
    f64::from(u32::try_from(high).unwrap_or(u32::MAX)) * 4_294_967_296.0
        + f64::from(u32::try_from(low).unwrap_or(0))
}
