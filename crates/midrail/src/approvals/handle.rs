//! The handle through which approvals are requested, answered and awaited.

use midrail_core::approval_key;
use midrail_store::{Approval, ApprovalChange, Commit, NewNotice};

use super::common::approval_slice;
use crate::admin::event::AdminEvent;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::session_slices::load_slice;

/// The approvals of an engine. See [`Engine::approvals`].
#[derive(Clone, Copy)]
pub struct Approvals<'e> {
    pub(super) engine: &'e Engine,
}

impl Engine {
    /// The approvals: requests to people and their answers.
    pub fn approvals(&self) -> Approvals<'_> {
        Approvals { engine: self }
    }
}

impl Approvals<'_> {
    /// An approval by its id.
    pub fn get(&self, id: &str) -> Result<Approval, EngineError> {
        let approval = self.engine.store().approval(id)?;
        approval.ok_or_else(|| EngineError::conflict(format!("there is no approval `{id}`")))
    }

    /// The request about an action that a session holds, and the version of its slice.
    pub(super) fn held(
        &self,
        session: &str,
        guardrail: &str,
        action: &str,
    ) -> Result<(Option<Approval>, u64), EngineError> {
        let store = &**self.engine.store();
        let slice = load_slice(store, session, &approval_key(guardrail, action))?;
        let id = slice.value.as_ref().and_then(|value| value.get("id")?.as_str());
        let approval = id.map(|id| store.approval(id)).transpose()?;
        Ok((approval.flatten(), slice.version))
    }

    /// Records a change of an approval, and sets the slice that `decide` reads, if it still has a version.
    pub(super) fn write(
        &self,
        event: AdminEvent,
        change: ApprovalChange,
        version: Option<u64>,
        notices: Vec<NewNotice>,
    ) -> Result<Approval, EngineError> {
        let approval = change.now.clone();
        let key = approval_key(&approval.guardrail, &approval.action);
        let read = version.map(|version| (key.clone(), version)).into_iter().collect();
        let own = self.engine.admin_commit(event.about(&approval)?);
        let mut commit = Commit { read, approvals: vec![change], notices, ..own };
        commit.changes.set(key, approval_slice(&approval));
        self.engine.commit(&commit)?;
        Ok(approval)
    }
}
