//! Predicts what a decision needs from the last decisions about similar events. Loading it at once saves rounds, and
//! scripts that will be called are already awake. It changes no decision: what no guardrail reads is dropped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use midrail_core::{Action, Event, EventKind, Fact, FactKey, Facts};
use parking_lot::Mutex;

/// The most shapes of events that are remembered. Beyond it, all are forgotten.
const MAX_SHAPES: usize = 1_024;

/// The longest tool name that is remembered.
const MAX_NAME: usize = 256;

/// The most files of an event, and the most other facts, that are looked up before they are requested.
const MAX_FACTS: usize = 16;

/// Remembers what the decisions of an engine needed.
#[derive(Default)]
pub(crate) struct Prefetcher {
    shapes: Mutex<BTreeMap<EventShape, Lookups>>,
    evaluated: [AtomicU64; 2],
}

/// How often an engine evaluated events. An event is evaluated again when its first evaluation lacked a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Evaluations {
    /// Events that were evaluated.
    pub events: u64,
    /// Those that were evaluated more than once.
    pub repeated: u64,
}

/// The kind and the tool of an event.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EventShape(EventKind, String);

impl EventShape {
    pub(crate) fn new(event: &Event) -> Self {
        let tool = event.tool_name().filter(|name| name.len() <= MAX_NAME);
        EventShape(event.kind, tool.unwrap_or_default().to_owned())
    }
}

/// After so many decisions of a shape that did not need it, something is not predicted any more.
const MAX_AGE: u32 = 64;

/// The most keys of a kind that are remembered for a shape.
const MAX_KEYS: usize = 64;

#[derive(Default)]
struct Lookups {
    slices: RecentKeys<String>,
    facts: RecentKeys<FactKey>,
    next: Prediction,
}

/// What the last decisions of a shape needed.
struct RecentKeys<K>(Vec<RecentKey<K>>);

struct RecentKey<K> {
    key: K,
    /// Decisions since it was needed.
    age: u32,
    /// Whether it was needed more than once.
    is_repeated: bool,
}

impl<K> Default for RecentKeys<K> {
    fn default() -> Self {
        RecentKeys(Vec::new())
    }
}

impl<K: Clone + PartialEq> RecentKeys<K> {
    /// Learns what a decision needed, and updates what is predicted: what was needed repeatedly, not long ago.
    fn learn<'k>(&mut self, needed: impl Iterator<Item = &'k K>, predicted: &mut Arc<[K]>)
    where
        K: 'k,
    {
        self.0.iter_mut().for_each(|known| known.age += 1);
        self.0.retain(|known| known.age <= MAX_AGE);
        for key in needed {
            if let Some(known) = self.0.iter_mut().find(|known| known.key == *key) {
                (known.age, known.is_repeated) = (0, true);
            } else if self.0.len() < MAX_KEYS {
                self.0.push(RecentKey { key: key.clone(), age: 0, is_repeated: false });
            }
        }
        let next = || self.0.iter().filter(|known| known.is_repeated).map(|known| &known.key);
        if !next().eq(predicted.iter()) {
            *predicted = next().cloned().collect();
        }
    }
}

/// What the next event of a shape probably needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prediction {
    /// Slices.
    pub(crate) slices: Arc<[String]>,
    /// The scripts that the last decision called.
    pub(crate) scripts: Arc<[Arc<str>]>,
    /// Whether all of them passed the event without any change.
    pub(crate) passes: bool,
    pub(crate) facts: FactPrediction,
}

/// The cheap facts that the next event of a shape probably needs.
#[derive(Debug, Clone)]
pub(crate) struct FactPrediction {
    /// Decisions since the places of an event's files were needed.
    places_age: u32,
    /// The same for the states of these files.
    states_age: u32,
    /// Facts that are not about files of the event.
    others: Arc<[FactKey]>,
}

/// Of an event of a new shape, the places of its files are needed.
impl Default for FactPrediction {
    fn default() -> Self {
        FactPrediction { places_age: 0, states_age: MAX_AGE, others: Arc::default() }
    }
}

impl FactPrediction {
    /// Fetches the facts about an event that does `action`.
    pub(crate) fn fetch(
        &self,
        action: Option<&Action>,
        mut fetch: impl FnMut(&FactKey) -> Fact,
        mut put: impl FnMut(FactKey, Fact),
    ) {
        for path in files(action).filter(|_| self.places_age < MAX_AGE) {
            let key = FactKey::Place(path.clone());
            let place = fetch(&key);
            if let (true, Fact::Place(place)) = (self.states_age < MAX_AGE, &place) {
                let key = FactKey::File(place.clone());
                let state = fetch(&key);
                put(key, state);
            }
            put(key, place);
        }
        for key in &*self.others {
            put(key.clone(), fetch(key));
        }
    }

    /// Learns from the facts that a decision needed. Slow ones are never prefetched.
    fn learn(&mut self, recent: &mut RecentKeys<FactKey>, facts: &Facts, is_slow: fn(&FactKey) -> bool) {
        let action = facts.action();
        self.places_age = self.places_age.saturating_add(1);
        self.states_age = self.states_age.saturating_add(1);
        let is_other = |key: &&FactKey| match key {
            FactKey::Action | FactKey::Modified(_) => false,
            FactKey::Place(path) if files(action).any(|file| file == path) => {
                self.places_age = 0;
                false
            }
            FactKey::File(place) if is_place_of_file(place, action, facts) => {
                self.states_age = 0;
                false
            }
            key => !is_slow(key),
        };
        let others: Vec<&FactKey> = facts.known.keys().filter(is_other).collect();
        recent.learn(others.into_iter(), &mut self.others);
    }
}

/// The files of an action, as it spells them: those that it touches, sweeps over or runs.
fn files(action: Option<&Action>) -> impl Iterator<Item = &String> {
    let touched = action.and_then(|action| action.target_files.as_deref()).unwrap_or_default();
    let others = action.into_iter().flat_map(|action| action.sweeps.iter().chain(run_files(action)));
    touched.iter().chain(others).take(MAX_FACTS)
}

/// The files whose content an action runs.
pub(crate) fn run_files(action: &Action) -> impl Iterator<Item = &String> {
    action.scripts.iter().chain(&action.patches).chain(&action.feeds)
}

fn is_place_of_file(place: &str, action: Option<&Action>, facts: &Facts) -> bool {
    files(action).any(
        |file| matches!(facts.get(&FactKey::Place(file.clone())), Some(Fact::Place(known)) if known == place),
    )
}

impl Prefetcher {
    /// Counts an event that was evaluated.
    pub(crate) fn count(&self, is_repeated: bool) {
        let [events, repeated] = &self.evaluated;
        events.fetch_add(1, Ordering::Relaxed);
        repeated.fetch_add(u64::from(is_repeated), Ordering::Relaxed);
    }

    pub(crate) fn evaluations(&self) -> Evaluations {
        let [events, repeated] = &self.evaluated;
        Evaluations { events: events.load(Ordering::Relaxed), repeated: repeated.load(Ordering::Relaxed) }
    }

    /// What an event of this shape probably needs.
    pub(crate) fn predict(&self, shape: &EventShape) -> Prediction {
        self.shapes.lock().get(shape).map(|lookups| lookups.next.clone()).unwrap_or_default()
    }

    /// Learns which slices a decision needed, in order, and which facts, with the answers of scripts that it called.
    pub(crate) fn learn<'k>(
        &self,
        shape: EventShape,
        needed: impl Iterator<Item = &'k String> + Clone,
        facts: &Facts,
        is_slow: fn(&FactKey) -> bool,
    ) {
        let mut shapes = self.shapes.lock();
        if shapes.len() >= MAX_SHAPES && !shapes.contains_key(&shape) {
            shapes.clear();
        }
        let Lookups { slices, facts: recent, next } = shapes.entry(shape).or_default();
        next.facts.learn(recent, facts, is_slow);
        slices.learn(needed, &mut next.slices);
        let called = facts.known.iter().filter_map(|(key, fact)| match key {
            FactKey::Hook(call) => Some((&call.script, fact)),
            _ => None,
        });
        let scripts = || called.clone().map(|(script, _)| script);
        if !scripts().eq(next.scripts.iter()) {
            next.scripts = scripts().cloned().collect();
        }
        next.passes = called.clone().all(|(_, fact)| matches!(fact, Fact::Hook(end) if end.is_pass()));
    }
}

#[cfg(test)]
mod tests {
    use midrail_core::{FileState, HookCall, HookOutcome};

    use super::*;

    fn learn(prefetcher: &Prefetcher, shape: &EventShape, keys: &[&str]) -> Vec<String> {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        prefetcher.learn(shape.clone(), keys.iter(), &Facts::default(), |_| false);
        prefetcher.predict(shape).slices.to_vec()
    }

    #[test]
    fn slices_that_were_needed_repeatedly_are_predicted() {
        let (prefetcher, shape) =
            (Prefetcher::default(), EventShape(EventKind::BeforeTool, "Read".to_owned()));
        assert_eq!(learn(&prefetcher, &shape, &["a", "of-this-file", "z"]), [""; 0]);
        assert_eq!(learn(&prefetcher, &shape, &["a", "of-that-file", "z"]), ["a", "z"]);
        for _ in 0..MAX_AGE {
            assert_eq!(learn(&prefetcher, &shape, &["a"]), ["a", "z"]);
        }
        assert_eq!(learn(&prefetcher, &shape, &["a"]), ["a"]);
    }

    #[test]
    fn scripts_are_predicted_while_they_are_called() {
        let (prefetcher, shape) =
            (Prefetcher::default(), EventShape(EventKind::BeforeTool, "Read".to_owned()));
        let script: Arc<str> = "guardrails.js".into();
        let (pass, failed) = (Fact::Hook(HookOutcome::pass()), Fact::Unavailable("it failed".to_owned()));
        for (fact, passes) in [(&pass, true), (&failed, false), (&pass, true)] {
            let mut facts = Facts::default();
            let call = HookCall { script: script.clone(), after: Vec::new() };
            facts.insert(FactKey::Hook(call), fact.clone());
            prefetcher.learn(shape.clone(), [].iter(), &facts, |key| matches!(key, FactKey::Hook(_)));
            let prediction = prefetcher.predict(&shape);
            assert_eq!((&*prediction.scripts, prediction.passes), ([script.clone()].as_slice(), passes));
        }
        prefetcher.learn(shape.clone(), [].iter(), &Facts::default(), |_| false);
        assert!(prefetcher.predict(&shape).scripts.is_empty());
    }

    #[test]
    fn facts_about_the_files_of_an_event_are_predicted() {
        let (prefetcher, shape) =
            (Prefetcher::default(), EventShape(EventKind::BeforeTool, "Read".to_owned()));
        let action = |file: &str| Action { target_files: Some(vec![file.to_owned()]), ..Action::default() };
        for (file, place) in [("/repo/a", "a"), ("/repo/b", "b")] {
            let mut facts = Facts::default();
            facts.insert(FactKey::Action, Fact::Action(Arc::new(action(file))));
            facts.insert(FactKey::Place(file.to_owned()), Fact::Place(place.to_owned()));
            facts.insert(FactKey::File(place.to_owned()), Fact::File(FileState::Absent));
            facts.insert(FactKey::Git, Fact::Git(None));
            facts.insert(FactKey::Unsaved(place.to_owned()), Fact::Unavailable(String::new()));
            prefetcher.learn(shape.clone(), [].iter(), &facts, |key| matches!(key, FactKey::Unsaved(_)));
        }
        let mut fetched = Vec::new();
        prefetcher.predict(&shape).facts.fetch(
            Some(&action("/repo/c")),
            |key| match key {
                FactKey::Place(_) => Fact::Place("c".to_owned()),
                _ => Fact::Git(None),
            },
            |key, _| fetched.push(key.to_string()),
        );
        assert_eq!(fetched, ["file:c", "place:/repo/c", "git"]);
    }

    #[test]
    fn memory_is_bounded() {
        let prefetcher = Prefetcher::default();
        for at in 0..MAX_SHAPES + 10 {
            learn(&prefetcher, &EventShape(EventKind::BeforeTool, at.to_string()), &["a"]);
        }
        assert!(prefetcher.shapes.lock().len() <= MAX_SHAPES);
    }
}
