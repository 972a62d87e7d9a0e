//! What a cleared session forgets: `session_start` with the source `clear`.

use midrail_core::{Category, Changes, Policy, state_prefix};
use midrail_guardrails::SNAPSHOT_PREFIX;

use super::Pipeline;
use crate::error::EngineResult;

impl Pipeline<'_> {
    /// Removes the state of tool policies and feedback providers if the event clears the session. The agent no longer
    /// knows what it read and which notes it received. Budgets, limits, approvals and variables stay, and so does what the event
    /// itself stores for the new run.
    pub(super) fn clear_policy_state(&self, changes: &mut Changes) -> EngineResult {
        if !(self.event.is_new_run() && self.event.source.as_deref() == Some("clear")) {
            return Ok(());
        }
        let prefixes = forgotten_prefixes(self.policy);
        for key in self.engine.store().load_prefix(&self.session, "")?.into_keys() {
            let is_forgotten = |prefix: &String| {
                key.strip_prefix(prefix.as_str()).is_some_and(|rest| rest.starts_with(['/', '@']))
            };
            let is_stored_anew = changes.0.get(&key).is_some_and(Option::is_some);
            if prefixes.iter().any(is_forgotten) && !is_stored_anew {
                changes.remove(key);
            }
        }
        Ok(())
    }
}

/// The prefixes of the forgotten slices, without the separator at their end.
fn forgotten_prefixes(policy: &Policy) -> Vec<String> {
    let is_forgotten = |category| matches!(category, Category::Compliance | Category::Quality);
    let own = policy.entries().iter().filter(|entry| is_forgotten(entry.spec.category));
    let own = own.map(|entry| state_prefix(&entry.spec.id, None));
    let shared = ["feedback/", SNAPSHOT_PREFIX].map(str::to_owned);
    own.chain(shared).map(|prefix| prefix.trim_end_matches('/').to_owned()).collect()
}
