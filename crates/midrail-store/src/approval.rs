//! Requests to a person, as they are kept: asked for, decided and used up. Who may decide is not known here.

use std::str::FromStr;

use jiff::Timestamp;
use midrail_core::{ApprovalKind, EventKind, Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::filter::MAX_PAGE;

/// One request to a person, and what became of it. See [`Approval::status_at`] for how it stands at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Its name.
    pub id: String,
    /// An escalation or a bypass.
    pub kind: ApprovalKind,
    /// How far it has come.
    pub state: ApprovalState,
    /// How urgent it is.
    #[serde(default)]
    pub urgency: Urgency,
    /// How bad the action would be, or how serious this record of it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The session that waits for it.
    pub session: String,
    /// The task, where the host named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The guardrail that asks.
    pub guardrail: String,
    /// The exact action that it is bound to: a digest of tool, arguments, session and task.
    pub action: String,
    /// The audit record of the decision that it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The request whose place this one takes, because the call was edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revises: Option<String>,
    /// The agent that wants to act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<String>,
    /// Why a person is asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why the action is needed, as the requester says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
    /// The tool, where the action is a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the agent wants to do, where that is no call of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventKind>,
    /// The arguments in short, with secrets replaced.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The role that may decide: the first of `approvers`, where there are several.
    pub approver: String,
    /// The roles that it goes to one after the other. Empty: `approver` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// How many seconds each of them has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// How often it has moved on to the next of them, as far as that is on record.
    #[serde(default, skip_serializing_if = "is_first")]
    pub turn: u32,
    /// When it was asked for.
    pub created: Timestamp,
    /// When it became urgent, where that was later. The turns of the authorities count from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hastened: Option<Timestamp>,
    /// When no answer becomes a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// From when an emergency request that no one has answered grants itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_at: Option<Timestamp>,
    /// The request about the same action that a person denied before. This one never grants itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied_before: Option<String>,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// In which role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_role: Option<String>,
    /// When it was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
    /// What the decider had to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The approval that the decision took back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_back: Option<RevokedAnswer>,
    /// When the action was taken with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
    /// The review that is owed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    /// A keyed digest of the answer, which only who has the store's key can make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
}

impl Default for Approval {
    /// A pending escalation of nothing, to be filled in.
    fn default() -> Self {
        Approval {
            id: String::new(),
            kind: ApprovalKind::Escalation,
            state: ApprovalState::Pending,
            urgency: Urgency::Normal,
            severity: None,
            session: String::new(),
            task: None,
            guardrail: String::new(),
            action: String::new(),
            seq: None,
            revises: None,
            requested_by: None,
            reason: String::new(),
            justification: None,
            tool: None,
            event: None,
            summary: String::new(),
            approver: String::new(),
            approvers: Vec::new(),
            timeout_s: None,
            turn: 0,
            created: Timestamp::UNIX_EPOCH,
            hastened: None,
            expires: None,
            override_at: None,
            denied_before: None,
            decided_by: None,
            decided_role: None,
            decided_at: None,
            note: None,
            taken_back: None,
            used_at: None,
            review: None,
            seal: None,
        }
    }
}

impl Approval {
    /// What is asked for, in a word or two: the tool, or what else the agent wants to do.
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

    /// The answer that it has, as one that is taken back.
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

/// How far an approval has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
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

/// How urgent a request is, which says what happens when no one answers.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Urgency {
    /// No answer is a denial.
    #[default]
    Normal,
    /// It goes to the next authority.
    Urgent,
    /// It may grant itself, where a pack allows that.
    Emergency,
}

impl Urgency {
    /// All of them, the least urgent first.
    pub const ALL: [Urgency; 3] = [Urgency::Normal, Urgency::Urgent, Urgency::Emergency];

    /// The word in outputs and requests.
    pub fn word(self) -> &'static str {
        match self {
            Urgency::Normal => "normal",
            Urgency::Urgent => "urgent",
            Urgency::Emergency => "emergency",
        }
    }
}

/// A word that names no urgency.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown urgency `{0}`")]
pub struct UnknownUrgency(pub String);

impl FromStr for Urgency {
    type Err = UnknownUrgency;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Urgency::ALL.into_iter().find(|urgency| urgency.word() == word);
        found.ok_or_else(|| UnknownUrgency(word.to_owned()))
    }
}

/// An approval that was taken back before anyone acted on it.
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
    /// What they had to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A review that is owed after an action that no one approved beforehand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// Until when.
    pub due: Timestamp,
    /// Who filed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filed_by: Option<String>,
    /// When it was filed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filed_at: Option<Timestamp>,
    /// What was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Review {
    /// A review that is owed until a time.
    pub fn due(due: Timestamp) -> Self {
        Review { due, filed_by: None, filed_at: None, text: None }
    }

    /// Whether it was filed.
    pub fn is_filed(&self) -> bool {
        self.filed_at.is_some()
    }

    /// How it stands at a moment: `filed`, `due` or `overdue`.
    pub fn status_at(&self, now: Timestamp) -> &'static str {
        match self.filed_at {
            Some(_) => "filed",
            None if now >= self.due => "overdue",
            None => "due",
        }
    }
}

/// A row to write, and how it must have stood until now, so that of two who change it one wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalChange {
    /// The state it was seen in. `None`: there was none of this name.
    pub was: Option<ApprovalState>,
    /// The turn it was seen in.
    pub turn: u32,
    /// The row as it is from now on.
    pub now: Approval,
}

impl ApprovalChange {
    /// A new request.
    pub fn create(approval: Approval) -> Self {
        ApprovalChange { was: None, turn: 0, now: approval }
    }

    /// A change of a request that was seen in a state, and stays with the same authority.
    pub fn update(was: ApprovalState, now: Approval) -> Self {
        ApprovalChange { was: Some(was), turn: now.turn, now }
    }

    /// A request that moves on to the next authority.
    pub fn advance(waiting: Approval) -> Self {
        let now = Approval { turn: waiting.turn.saturating_add(1), ..waiting };
        ApprovalChange { was: Some(ApprovalState::Pending), turn: now.turn.saturating_sub(1), now }
    }
}

/// Which approvals to list. Everything that is set must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// Those in this state.
    pub state: Option<ApprovalState>,
    /// Those of this session.
    pub session: Option<String>,
    /// Escalations or bypasses.
    pub kind: Option<ApprovalKind>,
    /// Those of this urgency.
    pub urgency: Option<Urgency>,
    /// Those that this agent asked for.
    pub requested_by: Option<String>,
    /// Those that were asked for after this time.
    pub created_after: Option<Timestamp>,
    /// Those for which a review is owed and not filed.
    pub needs_review: bool,
    /// Go on after this one: the time and the name of the last of the page before.
    pub after: Option<(Timestamp, String)>,
    /// At most so many. `None`: [`MAX_PAGE`].
    pub limit: Option<usize>,
}

impl ApprovalFilter {
    /// The size of a page.
    pub fn page(&self) -> usize {
        self.limit.unwrap_or(MAX_PAGE).min(MAX_PAGE)
    }

    /// Whether an approval is one of those.
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

/// How many requests of a guardrail there are in a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApprovalCount {
    /// The guardrail.
    pub guardrail: String,
    /// Escalations or bypasses.
    pub kind: ApprovalKind,
    /// How far they have come.
    pub state: ApprovalState,
    /// How many.
    pub count: u64,
}

/// Counts rows by guardrail, kind and state.
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
