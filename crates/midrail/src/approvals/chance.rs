//! Whether a request could grant itself: an emergency that the packs know, about an action that they name, to which nobody
//! has said no.

use midrail_core::{Fact, Policy, Record, Session, grants_itself};
use midrail_store::{ApprovalFilter, ApprovalState, Store, StoreError, Urgency};

use crate::engine::{Engine, EngineError, MAX_ROUNDS};
use crate::redecide::fact;

/// What there is to know about that.
pub(super) struct Chance {
    /// It grants itself, where nobody answers.
    pub(super) may_override: bool,
    /// The request about the same action that a person has denied.
    pub(super) denied_before: Option<String>,
}

/// The latest request of a session about the same action that a person has denied.
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

impl Engine {
    /// Whether a request about what a record stopped could grant itself, as far as it can be told now.
    pub(super) fn chance(
        &self,
        policy: &Policy,
        record: &Record,
        urgency: Urgency,
        guardrail: &str,
        action: &str,
    ) -> Result<Chance, EngineError> {
        let denied_before = denied_before(&**self.store(), &record.session, guardrail, action)?;
        let is_open = urgency == Urgency::Emergency && denied_before.is_none();
        let may_override = is_open && self.is_for(policy, record, guardrail)?;
        Ok(Chance { may_override, denied_before })
    }

    /// Whether the emergencies of the packs are for what was stopped. What is not on record, and not in the session, is
    /// not known.
    fn is_for(&self, policy: &Policy, record: &Record, guardrail: &str) -> Result<bool, EngineError> {
        let mut session = Session::new(&*record.session);
        let mut facts = record.facts.clone();
        for _ in 0..MAX_ROUNDS {
            let (fits, needs) = grants_itself(policy, &session, &facts, &record.event, guardrail);
            if needs.is_empty() {
                return Ok(fits);
            }
            let keys: Vec<&str> = needs.slices.iter().map(String::as_str).collect();
            let slices = self.store().load(&record.session, &keys)?;
            for (key, slice) in keys.into_iter().zip(slices) {
                session.load(key, slice.value);
            }
            for key in needs.facts {
                let known = fact(&key, record);
                facts.insert(
                    key,
                    known.unwrap_or_else(|| Fact::Unavailable("it is not on record".to_owned())),
                );
            }
        }
        Ok(false)
    }
}
