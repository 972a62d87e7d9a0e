//! Approvals that are taken back before anyone acts on them: by whoever could have given them, or with the right to answer
//! of who gave them.

use midrail_core::{EventKind, approval_key};
use midrail_store::{Approval, ApprovalChange, ApprovalFilter, ApprovalState, Commit, StoreError};

use super::answer::told;
use super::held;
use crate::administer::Act;
use crate::engine::{Engine, EngineError};
use crate::people::Person;

impl Engine {
    /// Takes an approval back. `None`: it was used, taken back or is over meanwhile. Of those who use it and those who
    /// take it back at the same time, one wins.
    pub(super) fn take_back(
        &self,
        approved: &Approval,
        by: &Person,
        role: Option<&str>,
        note: Option<&str>,
    ) -> Result<Option<Approval>, EngineError> {
        let back = Approval {
            state: ApprovalState::Denied,
            decided_by: Some(by.name().to_owned()),
            decided_role: role.map(str::to_owned),
            decided_at: Some(self.now()),
            note: note.map(|note| self.masked_text(note)).transpose()?,
            taken_back: Some(approved.as_taken_back()),
            seal: None,
            ..approved.clone()
        };
        let act =
            Act::of("approval_taken_back").in_session(&back.session).of_kind(EventKind::ApprovalDecided);
        let record = self.administered(act.with("approval", serde_json::to_value(&back)?))?;
        let mut commit = Commit {
            approvals: vec![ApprovalChange::from(ApprovalState::Approved, back.clone())],
            notices: vec![told(&back, "taken back", by)],
            ..Commit::new(&record)
        };
        commit.changes.set(approval_key(&back.guardrail, &back.action), held(&back));
        match self.commit(&commit) {
            Ok(()) => Ok(Some(back)),
            Err(EngineError::Store(StoreError::Conflict { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes back all approvals of somebody that nobody has used, and answers how many there were.
    pub(crate) fn take_back_all(&self, name: &str, by: &Person) -> Result<usize, EngineError> {
        let mut filter = ApprovalFilter { state: Some(ApprovalState::Approved), ..ApprovalFilter::default() };
        let mut count = 0;
        loop {
            let rows = self.store().approvals(&filter)?;
            let is_full = rows.len() >= filter.page();
            filter.after = rows.last().map(|row| (row.created, row.id.clone()));
            let now = self.now();
            let theirs =
                |row: &&Approval| row.decided_by.as_deref() == Some(name) && row.status_at(now) == "approved";
            for row in rows.iter().filter(theirs) {
                let note = format!("`{name}` answers nothing any more");
                count += usize::from(self.take_back(row, by, None, Some(&note))?.is_some());
            }
            if !is_full {
                return Ok(count);
            }
        }
    }
}
