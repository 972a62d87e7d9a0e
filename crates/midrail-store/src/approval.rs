//! Requests to a person, as they are kept: asked for, decided and used up. Who may decide is not known here.

use jiff::Timestamp;
use midrail_core::ApprovalKind;
use serde::{Deserialize, Serialize};

use crate::filter::MAX_PAGE;

/// One request to a person, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Its name.
    pub id: String,
    /// An escalation or a bypass.
    pub kind: ApprovalKind,
    /// How far it has come.
    pub state: ApprovalState,
    /// The session that waits for it.
    pub session: String,
    /// The task, where the host named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The guardrail that asks.
    pub guardrail: String,
    /// The exact action that it is bound to: a digest of tool, arguments, session and task.
    pub action: String,
    /// The agent that wants to act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<String>,
    /// Why a person is asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The tool, where the action is a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The arguments in short, with secrets replaced.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The role that may decide.
    pub approver: String,
    /// When it was asked for.
    pub created: Timestamp,
    /// When no answer becomes a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// When it was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
    /// What the decider had to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When the action was taken with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
}

/// How far an approval has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalState {
    /// No one has answered.
    Pending,
    /// The action may be taken, once.
    Approved,
    /// The action may not be taken.
    Denied,
    /// No one answered, or no one acted, in time.
    Expired,
    /// The action was taken.
    Used,
}

impl ApprovalState {
    /// The word for this state.
    pub fn word(self) -> &'static str {
        match self {
            ApprovalState::Pending => "pending",
            ApprovalState::Approved => "approved",
            ApprovalState::Denied => "denied",
            ApprovalState::Expired => "expired",
            ApprovalState::Used => "used",
        }
    }
}

/// A row to write, and the state that it must have had until now, so that of two deciders one wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalChange {
    /// The state it was seen in. `None`: there was none of this name.
    pub was: Option<ApprovalState>,
    /// The row as it is from now on.
    pub now: Approval,
}

impl ApprovalChange {
    /// A new request.
    pub fn ask(approval: Approval) -> Self {
        ApprovalChange { was: None, now: approval }
    }

    /// A change of a request that was seen in a state.
    pub fn from(was: ApprovalState, now: Approval) -> Self {
        ApprovalChange { was: Some(was), now }
    }
}

/// Which approvals to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// Those in this state.
    pub state: Option<ApprovalState>,
    /// Those of this session.
    pub session: Option<String>,
    /// At most so many. `None`: [`MAX_PAGE`].
    pub limit: Option<usize>,
}

impl ApprovalFilter {
    /// The size of a page.
    pub fn page(&self) -> usize {
        self.limit.unwrap_or(MAX_PAGE).min(MAX_PAGE)
    }

    /// Whether an approval is one of those.
    pub fn fits(&self, approval: &Approval) -> bool {
        self.state.is_none_or(|state| state == approval.state)
            && self.session.as_ref().is_none_or(|session| *session == approval.session)
    }
}
