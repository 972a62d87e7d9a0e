//! Waiting for a person: a process looks at the store until the answer is there, whoever gave it and wherever.

use std::time::{Duration, Instant};

use midrail_core::{Decision, Effect, Event};
use midrail_store::Approval;

use crate::engine::{Engine, EngineError};

/// How often the store is looked at. An answer is seen well within a second.
const EVERY: Duration = Duration::from_millis(150);

impl Engine {
    /// Waits until a request is answered, grants itself, or times out, and at most for so long.
    pub fn wait(&self, id: &str, at_most: Duration) -> Result<Approval, EngineError> {
        self.wait_while(id, until(at_most), &["pending"])
    }

    /// Decides an event, and where a person is asked waits for the answer and decides again with it. With no answer in
    /// that time, the decision is the escalation: the same event passes later, once it is approved.
    pub fn decide_and_wait(&self, event: Event, at_most: Duration) -> Decision {
        self.try_decide_and_wait(event, at_most).unwrap_or_else(|error| self.refusal(&error))
    }

    /// The same, or why it could not be decided and recorded. The action must not happen then.
    pub fn try_decide_and_wait(&self, mut event: Event, at_most: Duration) -> Result<Decision, EngineError> {
        let until = until(at_most);
        let mut overridden = None;
        loop {
            let decision = self.try_decide(event.clone())?;
            let waits_for = match &decision.approval {
                Some(approval) if decision.effect == Effect::Escalate => approval.id.clone(),
                _ => return Ok(decision),
            };
            // An emergency that could grant itself and did not is not for this action: a person has to answer.
            let waiting: &[&str] =
                if overridden.as_ref() == Some(&waits_for) { &["pending", "override"] } else { &["pending"] };
            let approval = self.wait_while(&waits_for, until, waiting)?;
            let status = approval.status_at(self.now());
            if waiting.contains(&status) {
                return Ok(decision);
            }
            if status == "override" {
                overridden = Some(waits_for);
            }
            // It is decided as of now, and not as of when the host asked: an answer may have come too late.
            event.time = None;
        }
    }

    fn wait_while(
        &self,
        id: &str,
        until: Option<Instant>,
        statuses: &[&str],
    ) -> Result<Approval, EngineError> {
        loop {
            let approval = self.settle_request(id)?;
            let left = until.map_or(EVERY, |until| until.saturating_duration_since(Instant::now()));
            if !statuses.contains(&approval.status_at(self.now())) || left.is_zero() {
                return Ok(approval);
            }
            std::thread::sleep(EVERY.min(left));
        }
    }
}

/// The end of a time from now. `None`: it is beyond what this machine can count.
fn until(at_most: Duration) -> Option<Instant> {
    Instant::now().checked_add(at_most)
}
