//! Predicts what a decision needs from the last decisions about similar events. Loading it at once saves rounds, and
//! scripts that will be called are already awake. It changes no decision: what no guardrail reads is dropped.

use std::collections::BTreeMap;
use std::sync::Arc;

use midrail_core::{Event, EventKind, Fact};
use parking_lot::Mutex;

/// The most shapes of events that are remembered. Beyond it, all are forgotten.
const MAX_SHAPES: usize = 1_024;

/// The longest tool name that is remembered.
const MAX_NAME: usize = 256;

/// Remembers what the decisions of an engine needed.
#[derive(Default)]
pub(crate) struct Prefetcher(Mutex<BTreeMap<EventShape, Lookups>>);

/// The kind and the tool of an event.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EventShape(EventKind, String);

impl EventShape {
    pub(crate) fn new(event: &Event) -> Self {
        let tool = event.tool_name().filter(|name| name.len() <= MAX_NAME);
        EventShape(event.kind, tool.unwrap_or_default().to_owned())
    }
}

#[derive(Default)]
struct Lookups {
    /// The slices that the last decision needed, in order.
    last: Vec<String>,
    next: Prediction,
}

/// What the next event of a shape probably needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prediction {
    /// The slices that the last two decisions had in common, in order.
    pub(crate) slices: Arc<[String]>,
    /// The scripts that the last decision called.
    pub(crate) scripts: Arc<[Arc<str>]>,
    /// Whether all of them passed the event without any change.
    pub(crate) passes: bool,
}

impl Prefetcher {
    /// What an event of this shape probably needs.
    pub(crate) fn predict(&self, shape: &EventShape) -> Prediction {
        self.0.lock().get(shape).map(|lookups| lookups.next.clone()).unwrap_or_default()
    }

    /// Learns which slices a decision needed, in order, and which scripts it called, with their answers.
    pub(crate) fn learn<'k>(
        &self,
        shape: EventShape,
        needed: impl Iterator<Item = &'k String> + Clone,
        called: impl Iterator<Item = (&'k Arc<str>, &'k Fact)> + Clone,
    ) {
        let mut shapes = self.0.lock();
        if shapes.len() >= MAX_SHAPES && !shapes.contains_key(&shape) {
            shapes.clear();
        }
        let lookups = shapes.entry(shape).or_default();
        let scripts = || called.clone().map(|(script, _)| script);
        if !scripts().eq(lookups.next.scripts.iter()) {
            lookups.next.scripts = scripts().cloned().collect();
        }
        lookups.next.passes =
            called.clone().all(|(_, fact)| matches!(fact, Fact::Hook(end) if end.is_pass()));
        let slices = &lookups.next.slices;
        if needed.clone().eq(slices.iter()) && lookups.last.len() == slices.len() {
            return;
        }
        let is_common = |key: &&String| lookups.last.binary_search(key).is_ok();
        lookups.next.slices = needed.clone().filter(is_common).cloned().collect();
        lookups.last = needed.cloned().collect();
    }
}

#[cfg(test)]
mod tests {
    use midrail_core::HookOutcome;

    use super::*;

    fn learn(prefetcher: &Prefetcher, shape: &EventShape, keys: &[&str]) -> Vec<String> {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        prefetcher.learn(shape.clone(), keys.iter(), std::iter::empty());
        prefetcher.predict(shape).slices.to_vec()
    }

    #[test]
    fn slices_that_two_decisions_share_are_predicted() {
        let (prefetcher, shape) =
            (Prefetcher::default(), EventShape(EventKind::BeforeTool, "Read".to_owned()));
        assert_eq!(learn(&prefetcher, &shape, &["a", "of-this-file", "z"]), [""; 0]);
        assert_eq!(learn(&prefetcher, &shape, &["a", "of-that-file", "z"]), ["a", "z"]);
        assert_eq!(learn(&prefetcher, &shape, &["a", "z"]), ["a", "z"]);
        assert_eq!(learn(&prefetcher, &shape, &["a", "z"]), ["a", "z"]);
        assert_eq!(learn(&prefetcher, &shape, &["a"]), ["a"]);
    }

    #[test]
    fn scripts_are_predicted_while_they_are_called() {
        let (prefetcher, shape) =
            (Prefetcher::default(), EventShape(EventKind::BeforeTool, "Read".to_owned()));
        let script: Arc<str> = "guardrails.js".into();
        let (pass, failed) = (Fact::Hook(HookOutcome::pass()), Fact::Unavailable("it failed".to_owned()));
        for (fact, passes) in [(&pass, true), (&failed, false), (&pass, true)] {
            prefetcher.learn(shape.clone(), [].iter(), [(&script, fact)].into_iter());
            let prediction = prefetcher.predict(&shape);
            assert_eq!((&*prediction.scripts, prediction.passes), ([script.clone()].as_slice(), passes));
        }
        prefetcher.learn(shape.clone(), [].iter(), std::iter::empty());
        assert!(prefetcher.predict(&shape).scripts.is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let prefetcher = Prefetcher::default();
        for at in 0..MAX_SHAPES + 10 {
            learn(&prefetcher, &EventShape(EventKind::BeforeTool, at.to_string()), &["a"]);
        }
        assert!(prefetcher.0.lock().len() <= MAX_SHAPES);
    }
}
