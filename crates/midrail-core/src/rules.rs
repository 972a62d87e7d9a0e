//! The rules of a policy that concern no single guardrail: who decides approvals, and what strikes lead to.

use std::sync::Arc;

use crate::effect::Effect;
use crate::guardrail::Condition;

/// Who decides approvals, in which order, and what happens in an emergency without an answer.
#[derive(Clone)]
pub struct Authorities {
    /// Roles, each with more authority than the one before. A later role may decide what is addressed to an earlier one.
    pub order: Vec<String>,
    /// Roles that may bypass a guardrail while the budgets run low.
    pub supervisors: Vec<String>,
    /// Roles of people, who alone may bypass a guardrail while almost no budget is left.
    pub humans: Vec<String>,
    /// Seconds that each authority has to answer a bypass request.
    pub bypass_timeout_s: u32,
    /// The most requests of one session that wait for an answer. Further actions that need one are blocked.
    pub waiting_per_session: u32,
    /// The same for one agent, in all of its sessions.
    pub waiting_per_agent: u32,
    /// The rule for emergencies. `None`: only a person can bypass a guardrail.
    pub emergency: Option<Emergency>,
    /// What follows if no person answers an escalation of a budget guardrail.
    pub unattended: Unattended,
}

/// What follows if no person answers an escalation of a budget guardrail. The limit of the budget blocks in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unattended {
    /// The run continues until the limit once a request has timed out.
    #[default]
    Wait,
    /// No person is there: the run continues until the limit without a request.
    Continue,
    /// The action is blocked, as for other guardrails.
    Block,
}

impl Default for Authorities {
    fn default() -> Self {
        let roles = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Authorities {
            order: roles(&["reviewer", "architect", "human_operator"]),
            supervisors: roles(&["architect", "human_operator"]),
            humans: roles(&["human_operator"]),
            bypass_timeout_s: 15 * 60,
            waiting_per_session: 20,
            waiting_per_agent: 50,
            emergency: None,
            unattended: Unattended::Wait,
        }
    }
}

impl Authorities {
    /// Whether an approver of a role may decide what is addressed to another role.
    pub fn may_decide(&self, role: &str, addressed: &str) -> bool {
        let rank = |name: &str| self.order.iter().position(|other| other == name);
        role == addressed
            || match (rank(role), rank(addressed)) {
                (Some(own), Some(other)) => own > other,
                // People answer for a role outside the order.
                (_, None) => self.humans.iter().any(|human| human == role),
                (None, Some(_)) => false,
            }
    }

    /// The addressed role, and those that follow it.
    pub fn escalation_path(&self, addressed: &str) -> Vec<String> {
        let at = self.order.iter().position(|role| role == addressed);
        let after = at.map_or(self.humans.as_slice(), |at| self.order.get(at + 1..).unwrap_or_default());
        let mut path = vec![addressed.to_owned()];
        path.extend(after.iter().filter(|role| *role != addressed).cloned());
        path
    }
}

/// The rule by which an unanswered bypass request grants itself, for actions that stop harm.
#[derive(Clone)]
pub struct Emergency {
    /// The actions that it is for.
    pub only_for: Arc<dyn Condition>,
    /// The same in words, for people.
    pub description: String,
    /// Seconds in which an approver may answer.
    pub wait_s: u32,
    /// Seconds within which a person must review the action.
    pub review_within_s: u32,
}

/// The effect of a number of strikes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrikeRule {
    /// The number of strikes in the session.
    pub count: u64,
    /// The guardrail whose strikes count. `None`: those of all guardrails.
    pub guardrail: Option<String>,
    /// The effect.
    pub effect: Effect,
    /// The message for the user, if the run ends.
    pub user_message: Option<String>,
    /// The role that decides, if the effect is an escalation.
    pub approver: String,
    /// Seconds that the approver has to answer.
    pub approval_timeout_s: u32,
}
