//! The handle through which approvals are requested, answered and awaited.

use midrail_core::hex;
use midrail_store::Approval;

use super::common::refused;
use crate::engine::Engine;
use crate::error::EngineError;

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
        approval.ok_or_else(|| refused(format!("there is no approval `{id}`")))
    }

    /// A random id for a new approval.
    pub(super) fn new_id(&self) -> Result<String, EngineError> {
        let mut bytes = [0_u8; 8];
        getrandom::fill(&mut bytes).map_err(|error| refused(format!("no id could be made: {error}")))?;
        Ok(hex::encode(&bytes))
    }
}
