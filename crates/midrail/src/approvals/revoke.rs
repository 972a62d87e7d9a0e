//! Revokes approvals before they are used: on the denial of a person who may answer, or when the approver is removed.

use midrail_core::EventKind;
use midrail_store::{Approval, ApprovalChange, ApprovalFilter, ApprovalState};

use super::answer::answer_notice;
use super::handle::Approvals;
use crate::admin::event::AdminEvent;
use crate::admin::person::Person;
use crate::error::EngineError;

impl Approvals<'_> {
    /// Revokes an approval. `None`: it was used, revoked or expired meanwhile.
    pub(super) fn revoke(
        &self,
        approved: &Approval,
        by: &Person,
        role: Option<&str>,
        note: Option<&str>,
    ) -> Result<Option<Approval>, EngineError> {
        let revoked = Approval {
            state: ApprovalState::Denied,
            decided_by: Some(by.name().to_owned()),
            decided_role: role.map(str::to_owned),
            decided_at: Some(self.engine.now()),
            note: note.map(|note| self.engine.masked_text(note.trim())),
            taken_back: Some(approved.revoked_answer()),
            seal: None,
            ..approved.clone()
        };
        let event = AdminEvent::new("approval_taken_back").with_kind(EventKind::ApprovalDecided);
        let notices = vec![answer_notice(&revoked, "taken back", by)];
        match self.write(event, ApprovalChange::update(ApprovalState::Approved, revoked), None, notices) {
            Err(error) if error.is_contention() => Ok(None),
            written => written.map(Some),
        }
    }

    /// Revokes all unused approvals of an approver, and returns how many there were.
    pub(crate) fn revoke_all(&self, name: &str, by: &Person) -> Result<usize, EngineError> {
        let mut filter = ApprovalFilter { state: Some(ApprovalState::Approved), ..ApprovalFilter::default() };
        let mut count = 0;
        loop {
            let rows = self.engine.store().approvals(&filter)?;
            let is_full = rows.len() >= filter.page();
            filter.after = rows.last().map(|row| (row.created, row.id.clone()));
            let now = self.engine.now();
            let is_unused =
                |row: &&Approval| row.decided_by.as_deref() == Some(name) && row.status_at(now) == "approved";
            for row in rows.iter().filter(is_unused) {
                let note = format!("`{name}` is no approver any more");
                count += usize::from(self.revoke(row, by, None, Some(&note))?.is_some());
            }
            if !is_full {
                return Ok(count);
            }
        }
    }
}
