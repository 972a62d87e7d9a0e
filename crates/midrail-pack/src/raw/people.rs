//! Alerts, approvals and notices: raw types that mirror the text.

use midrail_core::Unattended;
use midrail_guardrails::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An alert on a metric.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AlertRule {
    /// Its name, unique in the pack.
    pub name: String,
    /// A comparison of a metric with a number, such as `block_rate > 30% over 10 minute window`.
    pub condition: String,
    /// The action: `log warning`, or `notify ROLE` (several joined by commas or `and`).
    pub action: String,
    /// The minimum time between two alerts, 10 minutes unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<Seconds>,
}

/// The authorities for approvals, and the rule for unanswered emergencies.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRules {
    /// Roles in ascending order of authority: reviewer, architect, human_operator unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<String>>,
    /// Roles that may bypass a guardrail after half of the budget is used: architect, human_operator unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervisors: Option<Vec<String>>,
    /// Roles of people, the only ones that may bypass a guardrail when the budget is almost used: human_operator unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub humans: Option<Vec<String>>,
    /// The time that each authority has to answer a bypass request, 15 minutes unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypass_timeout: Option<Seconds>,
    /// The most requests of one session that wait for an answer, 20 unless set. Further actions that need one are blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_per_session: Option<u32>,
    /// The same for one agent in all of its sessions, 50 unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_per_agent: Option<u32>,
    /// When an unanswered emergency request is granted automatically. Absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emergency: Option<EmergencyRule>,
    /// What follows if no person answers an escalation of a budget guardrail. Absent: the run continues until the limit once
    /// a request has timed out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unattended: Option<UnattendedRule>,
}

/// What follows if no person answers an escalation of a budget guardrail. The limit of the budget blocks in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnattendedRule {
    /// No person is there: the run continues until the limit without a request.
    Continue,
    /// The action is blocked.
    Block,
}

impl UnattendedRule {
    pub(crate) fn to_core(self) -> Unattended {
        match self {
            UnattendedRule::Continue => Unattended::Continue,
            UnattendedRule::Block => Unattended::Block,
        }
    }
}

/// The rule for emergency overrides.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmergencyRule {
    /// An expression for the actions that stop harm, such as `tool.name == 'stop_service'`. It should match the whole
    /// action: a command line can contain more than its first program.
    pub only_for: String,
    /// The time for an answer before it is granted, 60 seconds unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Seconds>,
    /// The time until a person must review the action, 24 hours unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_within: Option<Seconds>,
}

/// A channel of notices, which are stored in any case.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// An address that receives each notice as JSON by POST: `https://…` or `http://…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// A command that runs for each notice, with the notice as JSON on its standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whether the program logs notices, `true` unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<bool>,
}
