//! A commit that waits to be written. Everything that can be computed before the log is locked is computed.

use jiff::Timestamp;
use serde_json::Value;

use crate::approval::ApprovalChange;
use crate::approver::ApproverChange;
use crate::draft::{Draft, encode};
use crate::error::Result;
use crate::notice::NewNotice;
use crate::slice_keys::is_shared;
use crate::state_digests::StateDigests;
use crate::store::Commit;

/// A commit with all values as JSON texts.
pub(crate) struct Job {
    pub(crate) draft: Draft,
    pub(crate) time: Timestamp,
    pub(crate) read: Vec<(String, u64)>,
    /// Whether the slices of the session are removed before any is written.
    pub(crate) replaces_all: bool,
    /// Slices to set or to remove, in order.
    pub(crate) slices: Vec<(String, Option<String>)>,
    pub(crate) approvals: Vec<(ApprovalChange, String)>,
    pub(crate) approvers: Vec<ApproverChange>,
    pub(crate) notices: Vec<NewNotice>,
}

impl Job {
    pub(crate) fn new(commit: &Commit<'_>) -> Result<Self> {
        let restored = commit.replace_all.iter().flatten().filter(|(key, _)| !is_shared(key));
        let restored = restored.map(|(key, value)| (key, Some(value)));
        let changed = commit.changes.0.iter().map(|(key, value)| (key, value.as_ref()));
        let slice = |(key, value): (&String, Option<&Value>)| {
            let text = value.map(|value| encode(value, || format!("the session's slice `{key}`")));
            Ok((key.clone(), text.transpose()?))
        };
        let approval = |change: &ApprovalChange| {
            let body = encode(&change.now, || format!("the approval `{}`", change.now.id))?;
            Ok((change.clone(), body))
        };
        let slices: Vec<_> = restored.chain(changed).map(slice).collect::<Result<_>>()?;
        let approvals: Vec<_> = commit.approvals.iter().map(approval).collect::<Result<_>>()?;
        let replaces_all = commit.replace_all.is_some();
        let digests = StateDigests::new(
            replaces_all,
            slices.iter().map(|(key, text)| (key, text.as_deref())),
            approvals.iter().map(|(change, body)| (&change.now.id, body.as_str())),
        );
        Ok(Job {
            draft: Draft::new(&commit.record, digests)?,
            time: commit.record.time,
            read: commit.read.clone(),
            replaces_all,
            slices,
            approvals,
            approvers: commit.approvers.clone(),
            notices: commit.notices.clone(),
        })
    }

    /// The session of the record.
    pub(crate) fn session(&self) -> &str {
        &self.draft.labels.session
    }

    /// The approximate number of bytes to write.
    pub(crate) fn bytes(&self) -> usize {
        let slices = self.slices.iter().map(|(_, value)| value.as_ref().map_or(0, String::len));
        let approvals = self.approvals.iter().map(|(_, body)| body.len());
        self.draft.body.len() + slices.chain(approvals).sum::<usize>()
    }
}
