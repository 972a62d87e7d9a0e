//! A commit as it waits for its turn: everything that can be worked out before the log is locked.

use jiff::Timestamp;
use serde_json::Value;

use crate::approval::ApprovalChange;
use crate::approver::ApproverChange;
use crate::draft::{Draft, home, is_shared};
use crate::error::Result;
use crate::notice::NewNotice;
use crate::postgres::cells::{Id, guardrails, json, session_id, slice_id, text};
use crate::store::Commit;

/// One commit. Texts are as they stand in their columns.
pub(super) struct Job {
    pub(super) draft: Draft,
    pub(super) time: Timestamp,
    pub(super) session: String,
    pub(super) session_id: Id,
    pub(super) tool: Option<String>,
    pub(super) guardrails: String,
    /// What was read: the row, its key for messages, and its version.
    pub(super) read: Vec<(Id, String, u64)>,
    pub(super) slices: Vec<NewSlice>,
    /// The session's slices are removed before any is written.
    pub(super) wipes: bool,
    pub(super) approvals: Vec<(ApprovalChange, String)>,
    pub(super) approvers: Vec<ApproverChange>,
    pub(super) notices: Vec<Posted>,
}

/// A slice to write, or to remove.
#[derive(Clone)]
pub(super) struct NewSlice {
    pub(super) id: Id,
    pub(super) session: String,
    pub(super) key: String,
    pub(super) value: Option<String>,
}

/// A notice for its columns.
pub(super) struct Posted {
    pub(super) to: String,
    pub(super) kind: String,
    pub(super) message: String,
    pub(super) body: String,
}

impl From<&NewNotice> for Posted {
    fn from(new: &NewNotice) -> Self {
        let cell = |value: &str| text(value).into_owned();
        Posted {
            to: cell(&new.to),
            kind: cell(&new.kind),
            message: cell(&new.message),
            body: new.body.to_string(),
        }
    }
}

impl Job {
    pub(super) fn new(commit: &Commit<'_>) -> Result<Self> {
        let session = &commit.record.session;
        let draft = Draft::new(&commit.record)?;
        let restored = commit.replace_all.iter().flatten().filter(|(key, _)| !is_shared(key));
        // What is both restored and changed is changed last.
        let restored = restored.filter(|(key, _)| !commit.changes.0.contains_key(*key));
        let restored = restored.map(|(key, value)| (key, Some(value)));
        let changed = commit.changes.0.iter().map(|(key, value)| (key, value.as_ref()));
        let slice = |(key, value): (&String, Option<&Value>)| {
            let session = home(session, key);
            let value = value.map(|value| json(value, || format!("the session's `{key}`"))).transpose()?;
            let (id, session) = (slice_id(session, key), text(session).into_owned());
            Ok(NewSlice { id, session, key: text(key).into_owned(), value })
        };
        let approval = |change: &ApprovalChange| {
            let body = json(&change.now, || format!("the approval `{}`", change.now.id))?;
            Ok((change.clone(), body))
        };
        Ok(Job {
            time: commit.record.time,
            session: text(session).into_owned(),
            session_id: session_id(session),
            tool: draft.labels.tool.as_deref().map(|tool| text(tool).into_owned()),
            guardrails: guardrails(&draft.labels.guardrails),
            read: commit
                .read
                .iter()
                .map(|(key, version)| (slice_id(home(session, key), key), key.clone(), *version))
                .collect(),
            slices: restored.chain(changed).map(slice).collect::<Result<_>>()?,
            wipes: commit.replace_all.is_some(),
            approvals: commit.approvals.iter().map(approval).collect::<Result<_>>()?,
            approvers: commit.approvers.clone(),
            notices: commit.notices.iter().map(Posted::from).collect(),
            draft,
        })
    }

    /// Whether it is written in a transaction of its own. It is rare, and others need not know what it does.
    pub(super) fn is_alone(&self) -> bool {
        self.wipes || !self.approvers.is_empty()
    }

    /// About how many bytes are sent for it.
    pub(super) fn size(&self) -> usize {
        let slices =
            self.slices.iter().map(|slice| slice.value.as_ref().map_or(0, String::len)).sum::<usize>();
        let approvals = self.approvals.iter().map(|(_, body)| body.len()).sum::<usize>();
        let notices =
            self.notices.iter().map(|notice| notice.body.len() + notice.message.len()).sum::<usize>();
        self.draft.body.len() + slices + approvals + notices
    }
}
