//! The middle of a walk: evaluate, fetch what is lacking, and evaluate again, until nothing is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use midrail_core::{
    Decision, Event, EventKind, Fact, FactKey, Facts, HookCall, HookEnd, Needs, Session, action_text,
    evaluate, standing_keys,
};
use midrail_detect::secrets;
use midrail_store::StoreError;
use serde_json::Value;

use super::facts::is_dear;
use super::{ROOT, Walk};
use crate::clock::Stopwatch;
use crate::engine::{EngineError, MAX_ROUNDS};
use crate::files::Root;
use crate::foresight::{Foreseen, Shape};
use crate::kept::POLICY;

/// What is known so far.
#[derive(Default)]
pub(super) struct Known {
    pub(super) session: Session,
    pub(super) versions: BTreeMap<String, u64>,
    pub(super) facts: Facts,
    /// The event as guardrails see it, where scripts replaced its result.
    pub(super) rewritten: Option<Event>,
    /// Milliseconds that there are for a fact.
    pub(super) within_ms: BTreeMap<FactKey, u64>,
    /// A file of the policy that is gone, and of which nobody was told.
    pub(super) gone: Option<PathBuf>,
}

impl Known {
    pub(super) fn shown<'k>(&'k self, event: &'k Event) -> &'k Event {
        self.rewritten.as_ref().unwrap_or(event)
    }

    /// Somebody has asked for slices that were set apart.
    fn take_up(&mut self, keys: BTreeSet<String>) {
        for key in keys {
            if let Some(slice) = self.session.foreseen.remove(&key) {
                self.session.load(key, slice);
            }
        }
    }
}

impl Walk<'_> {
    /// Evaluates and fetches until nothing is lacking.
    pub(super) fn settle(&self, known: &mut Known) -> Result<Decision, EngineError> {
        let standing = standing_keys(&self.event, &self.session);
        let shape = Shape::of(&self.event);
        let ahead = self.engine.foresight.of(&shape);
        if self.is_hurried && !ahead.scripts.is_empty() {
            return Err(EngineError::TakesTime);
        }
        self.engine.scripts().rouse(&ahead.scripts, &self.session);
        let asked = standing.iter().map(String::as_str).chain([ROOT]);
        let asked = asked.chain(self.last_policy.as_ref().map(|_| POLICY)).collect::<Vec<_>>();
        let foreseen = ahead.slices.iter().filter(|key| !standing.contains(key)).map(String::as_str);
        self.load(known, &asked, foreseen)?;
        let pinned = known.session.slices.remove(ROOT).flatten();
        let before = known.session.slices.remove(POLICY).flatten();
        let root = self.root(pinned.as_ref());
        known.facts.root = root.as_ref().map(|root| root.real.clone());
        if let Some(past) = self.engine.files().past() {
            past.learn(known.facts.root.as_deref(), &self.event);
        }
        self.call_ahead(&ahead, known);
        known.facts.is_last = self.engine.is_last();
        known.facts.own_places = self.engine.own_places(known.facts.root.as_deref());
        known.facts.root_aliases = root.as_ref().map(|root| root.aliases.clone()).unwrap_or_default();
        if self.event.tool.is_some() {
            known.facts.insert(FactKey::Action, self.fetch(&FactKey::Action, known));
        }
        if !self.searched.mask.is_empty() {
            // A record shows arguments without their secrets, so the exact action is kept as a keyed digest.
            let text = action_text(&self.event, &self.session);
            known.facts.action_digest = Some(secrets::fingerprint(&text, self.engine.fingerprint_key()));
        }
        let stopwatch = Stopwatch::start();
        for _ in 0..MAX_ROUNDS {
            let evaluation = evaluate(self.policy, &known.session, &known.facts, &self.event, &stopwatch);
            known.rewritten = evaluation.rewritten;
            known.take_up(evaluation.foreseen);
            let Needs { slices, mut facts, within_ms } = evaluation.needs;
            known.within_ms.extend(within_ms);
            self.load(known, &slices.iter().map(String::as_str).collect::<Vec<_>>(), [].into_iter())?;
            let dear = facts.extract_if(.., is_dear).collect::<Vec<_>>();
            let lacks_nothing_else = slices.is_empty() && facts.is_empty();
            // What costs much is fetched when nothing else is lacking: it may not be needed once that is known.
            if lacks_nothing_else && !dear.is_empty() {
                if self.is_hurried {
                    return Err(EngineError::TakesTime);
                }
                self.fetch_dear(&dear, known);
            }
            if lacks_nothing_else && dear.iter().all(|key| known.facts.is_as_expected(key)) {
                known.facts.expected.clear();
                self.foresee(shape, known, &standing);
                let mut decision = evaluation.decision;
                if let (None, Some(root), None) = (&pinned, &root, self.engine.root()) {
                    decision.changes.set(ROOT, root.real.as_str());
                }
                if let Some(last) = &self.last_policy {
                    known.gone = last.news(before.as_ref()).map(Path::to_owned);
                    if let Some(slice) = last.change(before.as_ref()) {
                        decision.changes.set(POLICY, slice);
                    }
                }
                return Ok(decision);
            }
            for key in facts {
                let fact = self.fetch(&key, known);
                known.facts.insert(key, fact);
            }
        }
        Err(EngineError::Endless)
    }

    /// Calls the script that the last event like this one called, so that it answers while the event is evaluated.
    fn call_ahead(&self, ahead: &Foreseen, known: &mut Known) {
        let [script] = &*ahead.scripts else { return };
        let call = HookCall { script: script.clone(), after: Vec::new() };
        self.begin_hook(&call, known);
        if self.event.kind == EventKind::BeforeTool && ahead.passes {
            // The law is pure, and does not ask how facts are come by: what it says of the usual answer holds where
            // that answer comes.
            known.facts.expected.push((FactKey::Hook(call), Fact::Hook(HookEnd::pass())));
        }
    }

    /// Remembers what this event needed, for the next one like it.
    fn foresee(&self, shape: Shape, known: &mut Known, standing: &[String]) {
        // What was loaded in vain may change without changing anything here.
        for key in std::mem::take(&mut known.session.foreseen).into_keys() {
            known.versions.remove(&self.kept_key(&key));
        }
        // A key may hold what was found secret, which the next event need not know to be one.
        if self.searched.mask.is_empty() {
            let needed = known.session.slices.keys().filter(|key| !standing.contains(key));
            let called = known.facts.known.iter().filter_map(|(key, fact)| match (key, fact) {
                (FactKey::Hook(call), fact) => Some((&call.script, fact)),
                _ => None,
            });
            self.engine.foresight.learn(shape, needed, called);
        }
    }

    /// The folder that paths are resolved against: the engine's, else the session's, else that of this event.
    fn root(&self, pinned: Option<&Value>) -> Option<Root> {
        if self.engine.files().past().is_some() {
            let pinned = pinned.and_then(Value::as_str).or(self.event.cwd.as_deref());
            return pinned.map(Root::as_given);
        }
        if !self.engine.files().is_disk() {
            return self.engine.root().map(|root| Root::as_given(&root.to_string_lossy()));
        }
        let own = self.engine.root().map(|root| root.to_string_lossy().into_owned());
        let pinned = pinned.and_then(Value::as_str).map(str::to_owned);
        let first = || self.engine.project().map(|folder| folder.to_string_lossy().into_owned());
        let mut root = Root::of(&own.or(pinned).or_else(first).or_else(|| self.event.cwd.clone())?);
        // The event's own folder may be another spelling of it.
        if let Some(cwd) = &self.event.cwd {
            root.add_spelling(cwd);
        }
        Some(root)
    }

    /// Loads slices: those that are asked for, and apart from them those that may well be.
    fn load<'k>(
        &self,
        known: &mut Known,
        asked: &[&'k str],
        foreseen: impl Iterator<Item = &'k str>,
    ) -> Result<(), StoreError> {
        let Known { session, versions, .. } = known;
        let mut put = |at: usize, key: &str, value: Option<Value>| {
            let slices = if at < asked.len() { &mut session.slices } else { &mut session.foreseen };
            slices.insert(key.to_owned(), value);
        };
        let keys: Vec<&str> = asked.iter().copied().chain(foreseen).collect();
        if keys.is_empty() {
            return Ok(());
        }
        if let Some(slices) = &self.restored {
            for (at, key) in keys.into_iter().enumerate() {
                put(at, key, slices.get(&self.kept_key(key)).cloned());
            }
            return Ok(());
        }
        let kept: Vec<String> = keys.iter().map(|key| self.kept_key(key)).collect();
        let names: Vec<&str> = kept.iter().map(String::as_str).collect();
        let slices = self.engine.store().load(&self.session, &names)?;
        for (at, ((key, kept), slice)) in keys.into_iter().zip(kept).zip(slices).enumerate() {
            versions.insert(kept, slice.version);
            put(at, key, slice.value);
        }
        Ok(())
    }

    /// The key under which a slice is kept: without what was found secret.
    pub(super) fn kept_key(&self, key: &str) -> String {
        let mask = &self.searched.mask;
        if mask.is_empty() { key.to_owned() } else { mask.key(key, self.engine.fingerprint_key()) }
    }
}
