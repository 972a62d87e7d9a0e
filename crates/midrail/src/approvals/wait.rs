//! Waits for the answer of a person by polling the store, because any process may write the answer.

use std::time::{Duration, Instant};

use midrail_core::{Decision, Effect, Event};
use midrail_store::Approval;

use super::handle::Approvals;
use crate::error::EngineError;

/// The interval between two reads of the store.
const INTERVAL: Duration = Duration::from_millis(150);

impl Approvals<'_> {
    /// Waits until a request is answered, grants itself or times out, at most for a time.
    pub fn wait(&self, id: &str, timeout: Duration) -> Result<Approval, EngineError> {
        self.wait_while(id, Instant::now().checked_add(timeout), &["pending"])
    }

    /// Decides an event. If it is escalated, waits for the answer and decides again with it. Without an answer in time, the
    /// decision is the escalation: the same event is allowed later, once it is approved.
    pub fn decide_and_wait(&self, event: Event, timeout: Duration) -> Decision {
        self.try_decide_and_wait(event, timeout).unwrap_or_else(|error| self.engine.block_on_error(&error))
    }

    /// The same, or why the event could not be decided and recorded. The action must not happen then.
    pub fn try_decide_and_wait(&self, mut event: Event, timeout: Duration) -> Result<Decision, EngineError> {
        let end = Instant::now().checked_add(timeout);
        let mut overridden = None;
        loop {
            let decision = self.engine.try_decide(event.clone())?;
            let id = match &decision.approval {
                Some(approval) if decision.effect == Effect::Escalate => approval.id.clone(),
                _ => return Ok(decision),
            };
            // An override that did not allow the action is not for this action: a person has to answer.
            let waiting: &[&str] =
                if overridden.as_ref() == Some(&id) { &["pending", "override"] } else { &["pending"] };
            let approval = self.wait_while(&id, end, waiting)?;
            let status = approval.status_at(self.engine.now());
            if waiting.contains(&status) {
                return Ok(decision);
            }
            if status == "override" {
                overridden = Some(id);
            }
            // The event is decided as of now: an answer may have come too late for its own time.
            event.time = None;
        }
    }

    /// Waits while an approval has one of these statuses. `end` is `None` if the timeout exceeds the clock.
    fn wait_while(&self, id: &str, end: Option<Instant>, statuses: &[&str]) -> Result<Approval, EngineError> {
        loop {
            let approval = self.settle(id)?;
            let left = end.map_or(INTERVAL, |end| end.saturating_duration_since(Instant::now()));
            if !statuses.contains(&approval.status_at(self.engine.now())) || left.is_zero() {
                return Ok(approval);
            }
            std::thread::sleep(INTERVAL.min(left));
        }
    }
}
