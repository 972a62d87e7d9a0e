//! Approval requests: requested, decided and used. Who may decide is not checked here.

use std::str::FromStr;

use jiff::Timestamp;
use midrail_core::{ApprovalKind, EventKind, Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::filter::MAX_PAGE;

/// An approval request and its outcome. [`Approval::status_at`] returns its status at a time. The default is a pending
/// escalation without content.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Its id.
    pub id: String,
    /// An escalation or a bypass.
    pub kind: ApprovalKind,
    /// Its state.
    pub state: ApprovalState,
    /// How urgent it is.
    #[serde(default)]
    pub urgency: Urgency,
    /// The severity of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The session that waits for it.
    pub session: String,
    /// The task, if the host named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The guardrail that requires it.
    pub guardrail: String,
    /// The exact action that it is bound to: a digest of tool, arguments, session and task.
    pub action: String,
    /// The audit record of the decision that requires it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The request that this one replaces, because the call was edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revises: Option<String>,
    /// The agent that wants to act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<String>,
    /// Why an approval is required.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why the action is needed, according to the requester.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
    /// The tool, if the action is a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The kind of event, if the action is not a tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventKind>,
    /// A summary of the arguments, with secrets replaced.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The role that may decide: the first of `approvers`, if there are several.
    pub approver: String,
    /// The roles that it is passed to one after the other. Empty: `approver` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// The seconds that each of them has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// How often it was passed to the next of them, according to the records.
    #[serde(default, skip_serializing_if = "is_first")]
    pub turn: u32,
    /// When it was requested.
    pub created: Timestamp,
    /// When it became urgent, if that was later. The turns of the authorities count from then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hastened: Option<Timestamp>,
    /// When a missing answer becomes a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// When an unanswered emergency request is granted automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_at: Option<Timestamp>,
    /// The earlier request about the same action that was denied. This one is never granted automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied_before: Option<String>,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// The role in which they decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_role: Option<String>,
    /// When it was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
    /// The note of the person who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The approval that the decision revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_back: Option<RevokedAnswer>,
    /// When it was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
    /// The review that it requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    /// A keyed digest of the answer, which requires the key of the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
}

impl Approval {
    /// A short name of the action: the tool, or what else the agent wants to do.
    pub fn subject(&self) -> &str {
        match (&self.tool, self.event) {
            (Some(tool), _) => tool,
            (None, Some(EventKind::BeforeStop)) => "stopping",
            (None, Some(EventKind::BeforeHandoff | EventKind::AfterHandoff)) => "handing over",
            (None, Some(EventKind::BeforeModel)) => "a prompt",
            (None, Some(EventKind::AfterModel | EventKind::ModelChunk)) => "an answer",
            (None, _) => "an action",
        }
    }

    /// Its answer, as a revoked one.
    pub fn revoked_answer(&self) -> RevokedAnswer {
        RevokedAnswer {
            by: self.decided_by.clone(),
            role: self.decided_role.clone(),
            at: self.decided_at,
            note: self.note.clone(),
        }
    }
}

fn is_first(turn: &u32) -> bool {
    *turn == 0
}

/// The state of an approval.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalState {
    /// It is not answered.
    #[default]
    Pending,
    /// It is approved: the action may be taken once.
    Approved,
    /// It is denied.
    Denied,
    /// It was not answered, or not used, in time.
    Expired,
    /// It was used: the action was taken.
    Used,
}

impl ApprovalState {
    /// The name of this state.
    pub fn as_str(self) -> &'static str {
        match self {
            ApprovalState::Pending => "pending",
            ApprovalState::Approved => "approved",
            ApprovalState::Denied => "denied",
            ApprovalState::Expired => "expired",
            ApprovalState::Used => "used",
        }
    }
}

/// The urgency of a request, which determines what happens if it is not answered.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Urgency {
    /// A missing answer is a denial.
    #[default]
    Normal,
    /// It is passed to the next authority.
    Urgent,
    /// It may be granted automatically, if a pack allows that.
    Emergency,
}

impl Urgency {
    /// All values, the least urgent first.
    pub const ALL: [Urgency; 3] = [Urgency::Normal, Urgency::Urgent, Urgency::Emergency];

    /// The name in outputs and requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Urgency::Normal => "normal",
            Urgency::Urgent => "urgent",
            Urgency::Emergency => "emergency",
        }
    }
}

/// A name that is not an urgency.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown urgency `{0}`")]
pub struct UnknownUrgency(pub String);

impl FromStr for Urgency {
    type Err = UnknownUrgency;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Urgency::ALL.into_iter().find(|urgency| urgency.as_str() == name);
        found.ok_or_else(|| UnknownUrgency(name.to_owned()))
    }
}

/// An approval that was revoked before it was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevokedAnswer {
    /// Who had approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// In which role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Their note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A review that is required after an action that was not approved in advance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// When it is due.
    pub due: Timestamp,
    /// Who filed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filed_by: Option<String>,
    /// When it was filed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filed_at: Option<Timestamp>,
    /// Its findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Review {
    /// A review that is due at a time.
    pub fn due(due: Timestamp) -> Self {
        Review { due, filed_by: None, filed_at: None, text: None }
    }

    /// Whether it was filed.
    pub fn is_filed(&self) -> bool {
        self.filed_at.is_some()
    }

    /// Its status at a time: `filed`, `due` or `overdue`.
    pub fn status_at(&self, now: Timestamp) -> &'static str {
        match self.filed_at {
            Some(_) => "filed",
            None if now >= self.due => "overdue",
            None => "due",
        }
    }
}

/// A changed approval, and the state in which it was read, so that one of two concurrent changes wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalChange {
    /// The state in which it was read. `None`: it did not exist.
    pub was: Option<ApprovalState>,
    /// The turn in which it was read.
    pub turn: u32,
    /// The approval after the change.
    pub now: Approval,
}

impl ApprovalChange {
    /// A new request.
    pub fn create(approval: Approval) -> Self {
        ApprovalChange { was: None, turn: 0, now: approval }
    }

    /// A change of a request that stays with the same authority.
    pub fn update(was: ApprovalState, now: Approval) -> Self {
        ApprovalChange { was: Some(was), turn: now.turn, now }
    }

    /// A request that is passed to the next authority.
    pub fn advance(waiting: Approval) -> Self {
        let now = Approval { turn: waiting.turn.saturating_add(1), ..waiting };
        ApprovalChange { was: Some(ApprovalState::Pending), turn: now.turn.saturating_sub(1), now }
    }
}

/// A filter of approvals. All set fields must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// Approvals in this state.
    pub state: Option<ApprovalState>,
    /// Approvals of this session.
    pub session: Option<String>,
    /// Escalations or bypasses.
    pub kind: Option<ApprovalKind>,
    /// Approvals of this urgency.
    pub urgency: Option<Urgency>,
    /// Approvals that this agent requested.
    pub requested_by: Option<String>,
    /// Approvals that were requested after this time.
    pub created_after: Option<Timestamp>,
    /// Approvals whose review is not filed.
    pub needs_review: bool,
    /// Continue after this one: the time and id of the last approval of the previous page.
    pub after: Option<(Timestamp, String)>,
    /// The maximum number of approvals. `None`: [`MAX_PAGE`].
    pub limit: Option<usize>,
}

impl ApprovalFilter {
    /// The size of a page.
    pub fn page(&self) -> usize {
        self.limit.unwrap_or(MAX_PAGE).min(MAX_PAGE)
    }

    /// Whether an approval matches.
    pub fn matches(&self, approval: &Approval) -> bool {
        self.state.is_none_or(|state| state == approval.state)
            && self.session.as_ref().is_none_or(|session| *session == approval.session)
            && self.kind.is_none_or(|kind| kind == approval.kind)
            && self.urgency.is_none_or(|urgency| urgency == approval.urgency)
            && self.requested_by.as_ref().is_none_or(|by| approval.requested_by.as_ref() == Some(by))
            && self.created_after.is_none_or(|after| approval.created > after)
            && (!self.needs_review || approval.needs_review())
            && self
                .after
                .as_ref()
                .is_none_or(|(created, id)| (approval.created, &approval.id) < (*created, id))
    }
}

/// The number of requests of a guardrail in a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApprovalCount {
    /// The guardrail.
    pub guardrail: String,
    /// Escalations or bypasses.
    pub kind: ApprovalKind,
    /// Their state.
    pub state: ApprovalState,
    /// Their number.
    pub count: u64,
}

/// Counts approvals by guardrail, kind and state.
pub(crate) fn counts(rows: impl Iterator<Item = Approval>) -> Vec<ApprovalCount> {
    let mut counts = std::collections::BTreeMap::new();
    for row in rows {
        let is_bypass = row.kind == ApprovalKind::Bypass;
        let (_, count) = counts.entry((row.guardrail, is_bypass, row.state)).or_insert((row.kind, 0));
        *count += 1;
    }
    let row = |((guardrail, _, state), (kind, count))| ApprovalCount { guardrail, kind, state, count };
    counts.into_iter().map(row).collect()
}
