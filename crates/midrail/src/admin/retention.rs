//! Maintenance of the audit log: archives, the erasure of a session, and a new key.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use midrail_core::HALTED;
use midrail_store::{Archive, AuditFilter, Commit, KeyChange};
use serde_json::json;

use crate::admin::event::{AdminEvent, Person};
use crate::admin::handle::Admin;
use crate::error::{EngineError, EngineResult};
use crate::session_slices::load_slice;

impl Admin<'_> {
    /// Moves the records before a time to a new file, which verifies alone. `None`: there are none. The last record of the
    /// log always stays. If the store has approvers, only a human operator or the first approver may do so.
    pub fn archive(
        &self,
        before: Timestamp,
        path: &Path,
        by: Option<&Person>,
        name: &str,
    ) -> EngineResult<Option<Archive>> {
        self.check_may_change_approvers(by)?;
        let store = self.engine.store();
        let filter =
            AuditFilter { until: Some(before), newest_first: true, limit: Some(1), ..AuditFilter::default() };
        let last = store.entries(&filter)?.first().map_or(0, |entry| entry.seq);
        let head = store.head()?.map_or(0, |head| head.seq);
        let through = last.min(head.saturating_sub(1));
        if through == 0 {
            return Ok(None);
        }
        let archive = store.archive(through, self.engine.now(), path)?;
        let event = AdminEvent::new("audit_archived")
            .with("archive", json!(archive))
            .with("file", path.to_string_lossy())
            .with("by", by.map_or(name, Person::name));
        self.engine.commit(&self.engine.admin_commit(event))?;
        Ok(Some(archive))
    }

    /// Erases the content of all records of a session, and its slices, except that a halted run stays halted. Returns the
    /// number of erased records. The record of the erasure has the reason. If the store has approvers, only a human
    /// operator or the first approver may do so.
    pub fn erase_session(
        &self,
        session: &str,
        by: Option<&Person>,
        name: &str,
        reason: &str,
    ) -> EngineResult<u64> {
        self.check_may_change_approvers(by)?;
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(EngineError::invalid("an erasure needs a reason"));
        }
        let store = self.engine.store();
        if store.session(session)?.is_none() {
            return Err(EngineError::conflict(format!("there is no session `{session}`")));
        }
        let halted = load_slice(&**store, session, HALTED)?;
        let kept: BTreeMap<_, _> = halted.value.map(|value| (HALTED.to_owned(), value)).into_iter().collect();
        let event = AdminEvent::new("session_erased")
            .in_session(session)
            .with("by", by.map_or(name, Person::name))
            .with("reason", self.engine.masked_text(reason));
        let read = vec![(HALTED.to_owned(), halted.version)];
        let commit = Commit { read, replace_all: Some(kept), ..self.engine.admin_commit(event) };
        let through = store.head()?.map_or(0, |head| head.seq);
        self.engine.commit(&commit)?;
        Ok(store.erase_session(session, through)?)
    }

    /// Replaces the key that signs the log. The old key signs the change, and the record has the reason. If the store has
    /// approvers, only a human operator or the first approver may do so.
    pub fn rotate_key(&self, by: Option<&Person>, name: &str, reason: &str) -> EngineResult<KeyChange> {
        self.check_may_change_approvers(by)?;
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(EngineError::invalid("a new key needs a reason"));
        }
        let change = self.engine.store().replace_signing_key(self.engine.now())?;
        let event = AdminEvent::new("signing_key_replaced")
            .with("change", json!(change))
            .with("by", by.map_or(name, Person::name))
            .with("reason", self.engine.masked_text(reason));
        self.engine.commit(&self.engine.admin_commit(event))?;
        Ok(change)
    }
}
