//! Approvals that also name the destination of a call for the rest of its session.

use midrail_core::variable_key;
use midrail_guardrails::NAMED_DESTINATIONS;
use midrail_store::Approval;
use serde_json::{Value, json};

use super::handle::Approvals;
use super::policies::record_for_approval;
use crate::admin::event::{AdminEvent, Person};
use crate::error::{EngineError, EngineResult};
use crate::session_slices::load_slice;

/// The most destinations that approvers can name in one session.
const MAX_NAMED: usize = 256;

impl Approvals<'_> {
    /// The destination that an approval is about. `None`: a rule about information flow did not request it, or the destination is
    /// not known.
    pub fn destination(&self, approval: &Approval) -> EngineResult<Option<String>> {
        let Some(entry) = record_for_approval(&**self.engine.store(), approval)? else { return Ok(None) };
        let Ok(record) = entry.record() else { return Ok(None) };
        let decided = record.decision.by.as_deref() == Some(approval.guardrail.as_str());
        let destination = record.decision.metadata.get("destination").filter(|_| decided);
        Ok(destination.and_then(Value::as_str).map(str::to_owned))
    }

    /// Approves a request, and treats the destination of its call as named for the rest of the session. Both are recorded.
    pub fn approve_and_name(&self, id: &str, by: &Person, note: Option<&str>) -> EngineResult<Approval> {
        let Some(destination) = self.destination(&self.get(id)?)? else {
            return Err(EngineError::conflict(format!(
                "the approval `{id}` is not about a known destination"
            )));
        };
        let approval = self.answer(id, true, by, note)?;
        let key = variable_key(NAMED_DESTINATIONS);
        let slice = load_slice(&**self.engine.store(), &approval.session, &key)?;
        let mut named: Vec<Value> =
            slice.value.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
        let destination = Value::from(destination);
        if named.contains(&destination) {
            return Ok(approval);
        }
        named.push(destination);
        named.drain(..named.len().saturating_sub(MAX_NAMED));
        let named = self.engine.masked(named.into());
        let event = AdminEvent::new("destination_named").in_session(&approval.session).by(Some(by));
        let mut commit = self.engine.admin_commit(event.with("set", json!({NAMED_DESTINATIONS: named})));
        commit.changes.set(key, named);
        self.engine.commit(&commit)?;
        Ok(approval)
    }
}
