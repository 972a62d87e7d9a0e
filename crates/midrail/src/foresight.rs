//! What a decision will need to know, going by the last ones like it. Fetched at once, it spares rounds of asking, and
//! scripts that will be called are awake when they are. It changes no decision: what nobody reads of it is dropped.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use midrail_core::{Event, EventKind, Fact};

/// Kinds of events that are remembered. Beyond, all are forgotten, and learnt anew.
const MAX_SHAPES: usize = 1_024;

/// The longest name of a tool that is remembered.
const MAX_NAME: usize = 256;

/// What the decisions of an engine needed to know.
#[derive(Default)]
pub(crate) struct Foresight(Mutex<BTreeMap<Shape, Lookups>>);

/// Events that are alike: of one kind, about one tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape(EventKind, String);

impl Shape {
    pub(crate) fn of(event: &Event) -> Self {
        let tool = event.tool_name().filter(|name| name.len() <= MAX_NAME);
        Shape(event.kind, tool.unwrap_or_default().to_owned())
    }
}

struct Lookups {
    /// The slices that the last one needed, in order.
    last: Vec<String>,
    /// What is foreseen for the next one.
    next: Foreseen,
}

/// What an event probably needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Foreseen {
    /// The slices that the last two had in common, in order.
    pub(crate) slices: Arc<[String]>,
    /// The scripts that the last one called.
    pub(crate) scripts: Arc<[Arc<str>]>,
    /// Whether all of them let it pass, and left nothing behind.
    pub(crate) passes: bool,
}

impl Foresight {
    /// What an event of this shape probably needs.
    pub(crate) fn of(&self, shape: &Shape) -> Foreseen {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(shape).map(|lookups| lookups.next.clone()).unwrap_or_default()
    }

    /// Learns which slices one needed, in order, and which scripts it called, with what they answered.
    pub(crate) fn learn<'k>(
        &self,
        shape: Shape,
        needed: impl Iterator<Item = &'k String> + Clone,
        called: impl Iterator<Item = (&'k Arc<str>, &'k Fact)> + Clone,
    ) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_SHAPES && !known.contains_key(&shape) {
            known.clear();
        }
        let lookups =
            known.entry(shape).or_insert_with(|| Lookups { last: Vec::new(), next: Foreseen::default() });
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
    use midrail_core::HookEnd;

    use super::*;

    fn needs(foresight: &Foresight, shape: &Shape, keys: &[&str]) -> Vec<String> {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        foresight.learn(shape.clone(), keys.iter(), std::iter::empty());
        foresight.of(shape).slices.to_vec()
    }

    #[test]
    fn what_comes_back_is_foreseen() {
        let (foresight, shape) = (Foresight::default(), Shape(EventKind::BeforeTool, "Read".to_owned()));
        assert_eq!(needs(&foresight, &shape, &["a", "of-this-file", "z"]), [""; 0]);
        assert_eq!(needs(&foresight, &shape, &["a", "of-that-file", "z"]), ["a", "z"]);
        assert_eq!(needs(&foresight, &shape, &["a", "z"]), ["a", "z"]);
        assert_eq!(needs(&foresight, &shape, &["a", "z"]), ["a", "z"]);
        assert_eq!(needs(&foresight, &shape, &["a"]), ["a"]);
    }

    #[test]
    fn scripts_are_foreseen_as_long_as_they_are_called() {
        let (foresight, shape) = (Foresight::default(), Shape(EventKind::BeforeTool, "Read".to_owned()));
        let script: Arc<str> = "guardrails.js".into();
        let (pass, failed) = (Fact::Hook(HookEnd::pass()), Fact::Unavailable("it failed".to_owned()));
        for (fact, passes) in [(&pass, true), (&failed, false), (&pass, true)] {
            foresight.learn(shape.clone(), [].iter(), [(&script, fact)].into_iter());
            let foreseen = foresight.of(&shape);
            assert_eq!((&*foreseen.scripts, foreseen.passes), ([script.clone()].as_slice(), passes));
        }
        foresight.learn(shape.clone(), [].iter(), std::iter::empty());
        assert!(foresight.of(&shape).scripts.is_empty());
    }

    #[test]
    fn it_forgets_before_it_grows_too_large() {
        let foresight = Foresight::default();
        for at in 0..MAX_SHAPES + 10 {
            needs(&foresight, &Shape(EventKind::BeforeTool, at.to_string()), &["a"]);
        }
        assert!(foresight.0.lock().unwrap().len() <= MAX_SHAPES);
    }
}
