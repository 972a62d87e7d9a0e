//! Whether a request may grant itself: an emergency that the packs allow, about an action that no person has denied.

use midrail_core::{Fact, Policy, Record, Session, allows_emergency_override};
use midrail_store::{ApprovalFilter, ApprovalState, Store, StoreError, Urgency};

use super::handle::Approvals;
use crate::error::{EngineError, MAX_ROUNDS};
use crate::reproduce::recorded_fact;

/// Whether and why a request grants itself.
pub(super) struct EmergencyOverride {
    /// The request grants itself if it is not answered.
    pub(super) is_possible: bool,
    /// The request about the same action that a person denied.
    pub(super) denied_before: Option<String>,
}

/// The latest request of a session about the same action that a person denied.
pub(super) fn denied_before(
    store: &dyn Store,
    session: &str,
    guardrail: &str,
    action: &str,
) -> Result<Option<String>, StoreError> {
    let mut filter = ApprovalFilter {
        state: Some(ApprovalState::Denied),
        session: Some(session.to_owned()),
        ..ApprovalFilter::default()
    };
    loop {
        let rows = store.approvals(&filter)?;
        let is_full = rows.len() >= filter.page();
        filter.after = rows.last().map(|row| (row.created, row.id.clone()));
        let mut rows = rows.into_iter();
        let found = rows.find(|row| row.guardrail == guardrail && row.action == action);
        if found.is_some() || !is_full {
            return Ok(found.map(|row| row.id));
        }
    }
}

impl Approvals<'_> {
    /// Whether a request about a stopped action may grant itself, as far as it is known now.
    pub(super) fn emergency_override(
        &self,
        policy: &Policy,
        record: &Record,
        urgency: Urgency,
        guardrail: &str,
        action: &str,
    ) -> Result<EmergencyOverride, EngineError> {
        let store = &**self.engine.store();
        let denied_before = denied_before(store, &record.session, guardrail, action)?;
        let is_possible = urgency == Urgency::Emergency
            && denied_before.is_none()
            && self.is_emergency_action(policy, record, guardrail)?;
        Ok(EmergencyOverride { is_possible, denied_before })
    }

    /// Whether the emergency rule of the packs covers the stopped action. Facts that were not recorded are unavailable.
    fn is_emergency_action(
        &self,
        policy: &Policy,
        record: &Record,
        guardrail: &str,
    ) -> Result<bool, EngineError> {
        let mut session = Session::new(&*record.session);
        let mut facts = record.facts.clone();
        for _ in 0..MAX_ROUNDS {
            let (is_covered, needs) =
                allows_emergency_override(policy, &session, &facts, &record.event, guardrail);
            if needs.is_empty() {
                return Ok(is_covered);
            }
            let keys: Vec<&str> = needs.slices.iter().map(String::as_str).collect();
            let slices = self.engine.store().load(&record.session, &keys)?;
            for (key, slice) in keys.into_iter().zip(slices) {
                session.load(key, slice.value);
            }
            for key in needs.facts {
                let unavailable = || Fact::Unavailable("it was not recorded".to_owned());
                let fact = recorded_fact(&key, record).unwrap_or_else(unavailable);
                facts.insert(key, fact);
            }
        }
        Ok(false)
    }
}
