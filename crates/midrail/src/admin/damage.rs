//! A store that was damaged or replaced: it is reported, and a person accepts what is lost.

use midrail_core::AuditRef;
use midrail_store::{Commit, StoreDamage};
use serde_json::json;

use crate::admin::event::{AdminEvent, Person, notice};
use crate::admin::handle::Admin;
use crate::engine::Engine;
use crate::error::{EngineError, EngineResult};

impl Admin<'_> {
    /// Accepts a store that was damaged or replaced, and returns the damage and the record of this. `None`: it is intact.
    ///
    /// If the store has approvers, only a human operator or the first approver may do so.
    pub fn acknowledge_damage(
        &self,
        by: Option<&Person>,
        name: &str,
        reason: &str,
    ) -> EngineResult<Option<(StoreDamage, AuditRef)>> {
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(EngineError::invalid("an acknowledgement needs a reason"));
        }
        self.check_may_change_approvers(by)?;
        let Some(damage) = self.engine.store().damage()? else { return Ok(None) };
        let name = by.map_or(name, Person::name);
        let event = AdminEvent::new("store_damage_acknowledged")
            .with("damage", json!(damage))
            .with("by", name)
            .with("reason", self.engine.masked_text(reason));
        let message = format!("{name} accepted a store that was damaged or replaced: {damage}");
        let place = self.engine.record_damage(event, &damage, message)?;
        Ok(Some((damage, place)))
    }
}

impl Engine {
    /// Records the damage of the store, if there is any, and continues with the store as it is.
    pub(crate) fn report_damage(&self) -> EngineResult {
        let Some(damage) = self.store().damage()? else { return Ok(()) };
        log::error!(damage:%; "the store was damaged or replaced");
        let event = AdminEvent::new("store_damage_reported").with("damage", json!(damage));
        let message = format!("the store was damaged or replaced, and decisions continue: {damage}");
        self.record_damage(event, &damage, message).map(drop)
    }

    fn record_damage(
        &self,
        event: AdminEvent,
        damage: &StoreDamage,
        message: String,
    ) -> EngineResult<AuditRef> {
        let notices = vec![notice("human_operator", "store_damage", message, json!(damage))];
        let commit = Commit { notices, ..self.admin_commit(event) };
        let place = self.store().acknowledge_damage(&commit)?;
        self.send_notices(&commit.notices);
        Ok(place)
    }
}
