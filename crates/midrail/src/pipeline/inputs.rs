//! What is known while an event is evaluated.

use std::collections::BTreeMap;
use std::path::PathBuf;

use midrail_core::{Changes, Event, FactKey, Facts, PrefetchedReads, Session};

/// The inputs of a decision, as far as they are fetched.
#[derive(Default)]
pub(super) struct DecisionInputs {
    pub(super) session: Session,
    /// The slices that were loaded, by the keys under which they are stored, with their versions.
    pub(super) versions: Vec<(String, u64)>,
    pub(super) facts: Facts,
    /// The event as guardrails see it, after scripts replaced its result.
    pub(super) rewritten: Option<Event>,
    /// The milliseconds that fetching a fact may take.
    pub(super) within_ms: BTreeMap<FactKey, u64>,
    /// The engine's own slices that change with the event, and that no decision depends on.
    pub(super) own_changes: Changes,
    /// A missing pack file that was not reported yet.
    pub(super) missing_pack: Option<PathBuf>,
}

impl DecisionInputs {
    pub(super) fn new(session: &str) -> Self {
        DecisionInputs { session: Session::new(session), ..DecisionInputs::default() }
    }

    /// Keeps the version of a slice that was loaded.
    pub(super) fn add_version(&mut self, key: &str, version: u64) {
        match self.versions.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => *known = version,
            None => self.versions.push((key.to_owned(), version)),
        }
    }

    /// The event as guardrails see it.
    pub(super) fn shown<'k>(&'k self, event: &'k Event) -> &'k Event {
        self.rewritten.as_ref().unwrap_or(event)
    }

    /// Counts prefetched slices as loaded and prefetched facts as known, because a guardrail read them.
    pub(super) fn promote(&mut self, read: PrefetchedReads) {
        for key in read.slices {
            if let Some(slice) = self.session.prefetched.remove(&key) {
                self.session.load(key, slice);
            }
        }
        for key in read.facts {
            if let Some(fact) = self.facts.prefetched.remove(&key) {
                self.facts.insert(key, fact);
            }
        }
    }
}
