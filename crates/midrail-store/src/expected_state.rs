//! The state that the records of a log lead to, and how the rows of a store differ from it.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::approval::Approval;
use crate::approver::StoredApprover;
use crate::slice_keys::{is_shared, storage_session};
use crate::state_digests::{StateDigests, approver_digest, approver_id, text_digest};

/// The state that the records of a log lead to.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct ExpectedState {
    /// The last record without digests. Rows that were written up to there are not covered.
    uncovered: u64,
    /// By session and key: the last record, and the digest.
    slices: BTreeMap<String, BTreeMap<String, (u64, String)>>,
    approvals: BTreeMap<String, String>,
    approvers: BTreeMap<String, String>,
    /// The first record that changed a slice which was not as the records before it left it, and the mismatch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    broken: Option<(u64, String)>,
}

/// A row that is not as the records left it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mismatch {
    /// The record that wrote it last; 0: unknown.
    pub(crate) seq: u64,
    /// The mismatch as a sentence.
    pub(crate) what: String,
    row: Row,
}

impl Mismatch {
    /// A mismatch of a record that no later record explains.
    pub(crate) fn record(seq: u64, what: String) -> Option<Self> {
        Row::Record(seq).mismatch(seq, what)
    }
}

/// The columns of an approval.
pub(crate) struct ApprovalColumns {
    pub(crate) id: String,
    pub(crate) state: String,
    pub(crate) session: String,
    /// In microseconds since 1970.
    pub(crate) created: i64,
    pub(crate) body: String,
}

/// A row of the state.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Row {
    /// Session and key.
    Slice(String, String),
    /// A record itself.
    Record(u64),
    Approval(String),
    Approver(String),
}

impl Row {
    fn slice(session: &str, key: &str) -> Self {
        Row::Slice(session.to_owned(), key.to_owned())
    }

    fn mismatch(self, seq: u64, what: String) -> Option<Mismatch> {
        Some(Mismatch { seq, what, row: self })
    }
}

impl ExpectedState {
    /// Adds a record. `None`: it has no digests.
    pub(crate) fn add(&mut self, seq: u64, session: &str, digests: Option<StateDigests>) {
        let Some(digests) = digests else {
            self.uncovered = self.uncovered.max(seq);
            return;
        };
        self.check_before(seq, session, &digests);
        if digests.replaced {
            // A session may have the name under which shared slices are stored.
            self.slices.entry(session.to_owned()).or_default().retain(|key, _| is_shared(key));
        }
        for (key, digest) in digests.slices {
            let slices = self.slices.entry(storage_session(session, &key).to_owned()).or_default();
            match digest {
                Some(digest) => drop(slices.insert(key, (seq, digest))),
                None => drop(slices.remove(&key)),
            }
        }
        self.approvals.extend(digests.approvals);
        self.approvers.extend(digests.approvers);
    }

    /// Checks that the slices that a record changed were as the records before it left them.
    fn check_before(&mut self, seq: u64, session: &str, digests: &StateDigests) {
        let Some(before) = digests.before.as_ref().filter(|_| self.broken.is_none()) else { return };
        self.broken = digests.slices.keys().find_map(|key| {
            let stored = storage_session(session, key);
            let expected = self.slices.get(stored).and_then(|slices| slices.get(key));
            let name = slice_name(stored, key);
            let what = match (expected, before.get(key)) {
                (Some((_, digest)), Some(found)) if digest == found => return None,
                (Some((last, _)), Some(_)) => format!("{name} was changed after record {last}"),
                (Some((last, _)), None) => format!("{name} was removed after record {last}"),
                (None, Some(_)) if self.uncovered == 0 => format!("{name} was added or brought back"),
                (None, _) => return None,
            };
            Some((seq, format!("{what}, and record {seq} is based on that")))
        });
    }

    /// The first record that is based on a slice which was changed without a record, and the mismatch.
    pub(crate) fn broken(&mut self) -> Option<Mismatch> {
        let (seq, what) = self.broken.take()?;
        Mismatch::record(seq, what)
    }

    /// Checks a slice by the digest of its value, and removes it from the expected ones.
    pub(crate) fn check_slice(
        &mut self,
        session: &str,
        key: &str,
        value: &str,
        version: u64,
    ) -> Option<Mismatch> {
        let row = || Row::slice(session, key);
        let name = slice_name(session, key);
        match self.slices.get_mut(session).and_then(|slices| slices.remove(key)) {
            Some((seq, digest)) if seq == version && digest == value => None,
            Some((seq, _)) if seq == version => row().mismatch(seq, format!("{name} was changed")),
            Some((seq, _)) => {
                let what = format!("{name} is that of record {version}, and record {seq} changed it");
                row().mismatch(seq, what)
            }
            None if version <= self.uncovered => None,
            None => row().mismatch(version, format!("{name} was added or brought back")),
        }
    }

    /// Checks an approval, and removes it from the expected ones.
    pub(crate) fn check_approval(&mut self, columns: &ApprovalColumns) -> Option<Mismatch> {
        let ApprovalColumns { id, state, session, created, body } = columns;
        let row = || Row::Approval(id.clone());
        let wrong = match serde_json::from_str::<Approval>(body) {
            Ok(body) if body.state.as_str() != state => Some("state"),
            Ok(body) if body.session != *session => Some("session"),
            Ok(body) if body.created.as_microsecond() != *created => Some("created"),
            Ok(_) => None,
            Err(_) => Some("body"),
        };
        match self.approvals.remove(id.as_str()) {
            Some(digest) if digest != text_digest(body) => {
                row().mismatch(0, format!("the approval `{id}` was changed"))
            }
            None if self.uncovered == 0 => row().mismatch(0, format!("the approval `{id}` was added")),
            _ => {
                let column = wrong?;
                row().mismatch(0, format!("the column `{column}` of the approval `{id}` was changed"))
            }
        }
    }

    /// Checks an approver, and removes them from the expected ones.
    pub(crate) fn check_approver(&mut self, row: &StoredApprover) -> Option<Mismatch> {
        let id = approver_id(&row.hash);
        let name = &row.approver.name;
        let what = match self.approvers.remove(&id) {
            Some(digest) if digest == approver_digest(row) => return None,
            Some(_) => format!("the approver `{name}` was changed or reinstated"),
            None if self.uncovered > 0 => return None,
            None => format!("the approver `{name}` was added"),
        };
        Row::Approver(id).mismatch(0, what)
    }

    /// The rows that were not checked: they are missing.
    pub(crate) fn missing(self) -> impl Iterator<Item = Mismatch> {
        let slices = self.slices.into_iter().flat_map(|(session, slices)| {
            slices.into_iter().filter_map(move |(key, (seq, _))| {
                let what = format!("{} was removed", slice_name(&session, &key));
                Row::slice(&session, &key).mismatch(seq, what)
            })
        });
        let approvals = self.approvals.into_keys().filter_map(|id| {
            let what = format!("the approval `{id}` was removed");
            Row::Approval(id).mismatch(0, what)
        });
        let approvers = self.approvers.into_keys().filter_map(|id| {
            let what = format!("an approver was removed ({id})");
            Row::Approver(id).mismatch(0, what)
        });
        slices.chain(approvals).chain(approvers)
    }
}

/// Rows that changed after the verified part of the log.
#[derive(Default)]
pub(crate) struct ChangedLater {
    sessions: HashSet<String>,
    rows: HashSet<Row>,
}

impl ChangedLater {
    /// Adds a record after the verified ones.
    pub(crate) fn add(&mut self, session: &str, digests: Option<StateDigests>) {
        let Some(digests) = digests else { return };
        if digests.replaced {
            self.sessions.insert(session.to_owned());
        }
        let slices = digests.slices.into_keys();
        self.rows.extend(slices.map(|key| Row::slice(storage_session(session, &key), &key)));
        self.rows.extend(digests.approvals.into_keys().map(Row::Approval));
        self.rows.extend(digests.approvers.into_keys().map(Row::Approver));
    }

    /// Whether a mismatch is explained by a later record.
    pub(crate) fn explains(&self, mismatch: &Mismatch) -> bool {
        let is_replaced = matches!(&mismatch.row, Row::Slice(session, _) if self.sessions.contains(session));
        is_replaced || self.rows.contains(&mismatch.row)
    }
}

fn slice_name(session: &str, key: &str) -> String {
    if session.is_empty() {
        format!("the shared slice `{key}`")
    } else {
        format!("the slice `{key}` of session `{session}`")
    }
}
