//! Evaluates an event and fetches what is missing, until nothing is.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use midrail_core::{
    Decision, EventKind, Fact, FactKey, HookCall, HookOutcome, Needs, action_text, builtin_slice_keys,
    evaluate, written_key,
};
use midrail_guardrails::slices_of_names;
use midrail_scan::secrets;
use midrail_store::Result;
use serde_json::Value;

use super::Pipeline;
use super::fetch::is_slow;
use super::inputs::DecisionInputs;
use crate::clock::Stopwatch;
use crate::error::{EngineError, EngineResult, MAX_ROUNDS};
use crate::files::Root;
use crate::prefetch::{EventShape, Prediction, run_files};
use crate::session_slices::{self, AGENTS, FOLDER, LAST_POLICY, ROOT};

/// The slices of the engine itself, as they were before the event.
struct Before {
    root: Option<Value>,
    last_policy: Option<Value>,
    folder: Option<Value>,
    agents: Option<Value>,
}

impl Pipeline<'_> {
    /// Evaluates and fetches until nothing is missing.
    pub(super) fn evaluate(&self, inputs: &mut DecisionInputs) -> EngineResult<Decision> {
        let builtin = builtin_slice_keys(&self.event, &self.session);
        let shape = EventShape::new(&self.event);
        let prediction = self.engine.prefetcher.predict(&shape);
        if self.nonblocking && !prediction.scripts.is_empty() {
            return Err(EngineError::WouldBlock);
        }
        self.engine.scripts.prewarm(&prediction.scripts, &self.session);
        let before = self.load_first(inputs, &builtin, &prediction)?;
        let root = self.root(before.root.as_ref());
        inputs.facts.folder = self.folder(root.as_ref(), before.folder.as_ref());
        self.set_environment(inputs, root.as_ref(), &prediction);
        self.prefetch_facts(inputs, &prediction)?;
        let stopwatch = Stopwatch(&*self.engine.clock);
        for round in 0..MAX_ROUNDS {
            let evaluation = evaluate(self.policy, &inputs.session, &inputs.facts, &self.event, &stopwatch);
            inputs.rewritten = evaluation.rewritten;
            inputs.promote(evaluation.prefetched);
            if self.fetch_needs(inputs, evaluation.needs)? {
                self.engine.prefetcher.count(round > 0);
                inputs.facts.expected.clear();
                inputs.facts.prefetched.clear();
                self.learn_needs(shape, inputs, &builtin);
                let mut decision = evaluation.decision;
                self.set_own_slices(inputs, &mut decision, root.as_ref(), &before);
                return Ok(decision);
            }
        }
        Err(EngineError::TooManyRounds)
    }

    /// Loads the slices that every decision reads, and those that the prediction names.
    fn load_first(
        &self,
        inputs: &mut DecisionInputs,
        builtin: &[String],
        prediction: &Prediction,
    ) -> Result<Before> {
        let own = [ROOT, AGENTS].into_iter().chain(self.last_policy.as_ref().map(|_| LAST_POLICY));
        let own = own.chain(self.engine.files.is_unavailable().then_some(FOLDER));
        let asked: Vec<&str> = builtin.iter().map(String::as_str).chain(own).collect();
        let predicted = prediction.slices.iter().filter(|key| !builtin.contains(key)).map(String::as_str);
        self.load(inputs, &asked, predicted)?;
        let mut take = |key| inputs.session.slices.remove(key).flatten();
        let (root, last_policy) = (take(ROOT), take(LAST_POLICY));
        Ok(Before { root, last_policy, folder: take(FOLDER), agents: take(AGENTS) })
    }

    /// Sets the facts that every decision has.
    fn set_environment(&self, inputs: &mut DecisionInputs, root: Option<&Root>, prediction: &Prediction) {
        inputs.facts.root = root.map(|root| root.real.clone());
        if let Some(recorded) = self.engine.files.recorded() {
            recorded.learn(inputs.facts.root.as_deref(), &self.event);
        }
        self.start_predicted_hook(prediction, inputs);
        inputs.facts.is_one_shot = self.engine.is_one_shot;
        inputs.facts.engine_paths = self.engine.own_places(inputs.facts.root.as_deref());
        inputs.facts.root_aliases = root.map(|root| root.aliases.clone()).unwrap_or_default();
        if self.event.tool.is_some() {
            inputs.facts.insert(FactKey::Action, self.fetch(&FactKey::Action, inputs));
        }
        if !self.scan.mask.is_empty() {
            // The record holds arguments without their secrets, so a keyed digest identifies the exact action.
            let text = action_text(&self.event, &self.session);
            inputs.facts.action_digest = Some(secrets::fingerprint(&text, &self.engine.fingerprint_key));
        }
    }

    /// Fetches the facts that the prediction names, who wrote the files that the event runs, and what is known about the names in
    /// its text.
    fn prefetch_facts(&self, inputs: &mut DecisionInputs, prediction: &Prediction) -> Result<()> {
        let mut prefetched = BTreeMap::new();
        let action = inputs.facts.action();
        prediction.facts.fetch(
            action,
            |key| self.fetch(key, inputs),
            |key, fact| drop(prefetched.insert(key, fact)),
        );
        let place = |path: &String| match prefetched.get(&FactKey::Place(path.clone())) {
            Some(Fact::Place(place)) => Some(written_key(place)),
            _ => None,
        };
        let written = action.into_iter().flat_map(run_files).filter_map(place);
        let names = match prefetched.get(&FactKey::Names) {
            Some(Fact::Names(digests)) => slices_of_names(digests),
            _ => BTreeSet::new(),
        };
        let slices: Vec<String> = written.chain(names).collect();
        inputs.facts.prefetched = prefetched;
        self.load(inputs, &[], slices.iter().map(String::as_str))
    }

    /// Fetches what an evaluation needs. `true`: nothing was missing, so its decision holds.
    fn fetch_needs(&self, inputs: &mut DecisionInputs, needs: Needs) -> EngineResult<bool> {
        let Needs { slices, mut facts, within_ms } = needs;
        inputs.within_ms.extend(within_ms);
        self.load(inputs, &slices.iter().map(String::as_str).collect::<Vec<_>>(), [].into_iter())?;
        let slow = facts.extract_if(.., is_slow).collect::<Vec<_>>();
        if !slices.is_empty() || !facts.is_empty() {
            // Slow facts wait: they may not be needed once the others are known.
            for key in facts {
                let fact = self.fetch(&key, inputs);
                inputs.facts.insert(key, fact);
            }
            return Ok(false);
        }
        if !slow.is_empty() {
            if self.nonblocking {
                return Err(EngineError::WouldBlock);
            }
            self.fetch_slow(&slow, inputs);
        }
        Ok(slow.iter().all(|key| inputs.facts.is_as_expected(key)))
    }

    /// Starts the hook that the last event of this shape called, so that it runs while the event is evaluated.
    fn start_predicted_hook(&self, prediction: &Prediction, inputs: &mut DecisionInputs) {
        let [script] = &*prediction.scripts else { return };
        let call = HookCall { script: script.clone(), after: Vec::new() };
        self.start_hook(&call, inputs);
        if self.event.kind == EventKind::BeforeTool && prediction.passes {
            // `decide` is pure: its result for the expected answer holds if that answer arrives.
            inputs.facts.expected.push((FactKey::Hook(call), Fact::Hook(HookOutcome::pass())));
        }
    }

    /// Remembers what this event needed, for the next one of its shape.
    fn learn_needs(&self, shape: EventShape, inputs: &mut DecisionInputs, builtin: &[String]) {
        // Prefetched slices that no guardrail read cannot cause a conflict.
        for key in std::mem::take(&mut inputs.session.prefetched).into_keys() {
            let key = self.stored_key(&key);
            inputs.versions.retain(|(known, _)| *known != key);
        }
        // A key may hold a secret of this event, which is unknown to the next one.
        if self.scan.mask.is_empty() {
            let needed = inputs.session.slices.keys().filter(|key| !builtin.contains(key));
            self.engine.prefetcher.learn(shape, needed, &inputs.facts, is_slow);
        }
    }

    /// Adds the engine's own slices to the changes of a decision.
    fn set_own_slices(
        &self,
        inputs: &mut DecisionInputs,
        decision: &mut Decision,
        root: Option<&Root>,
        before: &Before,
    ) {
        if let (None, Some(root), None) = (&before.root, root, &self.engine.root) {
            decision.changes.set(ROOT, root.real.as_str());
        }
        if self.engine.files.is_unavailable() && before.folder.is_none() {
            self.own_folder().into_iter().for_each(|folder| inputs.own_changes.set(FOLDER, folder));
        }
        if let Some(agents) = session_slices::with_agent(before.agents.as_ref(), self.agent()) {
            inputs.own_changes.set(AGENTS, agents);
        }
        if let Some(last) = &self.last_policy {
            let stored = before.last_policy.as_ref();
            inputs.missing_pack = last.newly_missing(stored).map(Path::to_owned);
            if let Some(slice) = last.change(stored) {
                decision.changes.set(LAST_POLICY, slice);
            }
        }
    }

    /// The folder that paths are resolved against: that of the engine, else of the session, else of this event.
    fn root(&self, pinned: Option<&Value>) -> Option<Root> {
        let pinned = pinned.and_then(Value::as_str);
        let files = &self.engine.files;
        if files.recorded().is_some() {
            return pinned.or(self.event.cwd.as_deref()).map(Root::as_given);
        }
        let own = self.engine.root.as_ref().map(|root| root.to_string_lossy().into_owned());
        if !files.is_disk() {
            return own.map(|root| Root::as_given(&root));
        }
        let first = || self.engine.project.as_ref().map(|folder| folder.to_string_lossy().into_owned());
        let folder = own.or(pinned.map(str::to_owned)).or_else(first);
        let mut root = Root::resolve(&folder.or_else(|| self.event.cwd.clone())?);
        // The event's own folder may be another spelling of it.
        if let Some(cwd) = &self.event.cwd {
            root.add_spelling(cwd);
        }
        Some(root)
    }

    /// The folder that a pause may cover, where there is no root. A session keeps its folder.
    fn folder(&self, root: Option<&Root>, pinned: Option<&Value>) -> Option<String> {
        if root.is_some() {
            return None;
        }
        let pinned = pinned.and_then(Value::as_str).map(str::to_owned);
        let own = || self.own_folder().filter(|_| self.engine.files.is_unavailable());
        pinned.or_else(own).or_else(|| self.engine.folder.clone())
    }

    /// The folder of the event on its own machine, as it is recorded.
    fn own_folder(&self) -> Option<String> {
        let cwd = self.scan.masked(&self.event).cwd.as_deref().filter(|cwd| cwd.starts_with('/'))?;
        Some(lexical(cwd))
    }

    /// Loads the slices that are needed, and separately those that probably are.
    fn load<'k>(
        &self,
        inputs: &mut DecisionInputs,
        needed: &[&'k str],
        predicted: impl Iterator<Item = &'k str>,
    ) -> Result<()> {
        let keys: Vec<&str> = needed.iter().copied().chain(predicted).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let stored: Vec<Cow<'_, str>> = keys.iter().map(|key| self.stored_key(key)).collect();
        let slices = match &self.restored {
            Some(slices) => stored.iter().map(|key| slices.get(&**key).cloned()).collect(),
            None => {
                let names: Vec<&str> = stored.iter().map(|key| &**key).collect();
                let slices = self.engine.store().load(&self.session, &names)?.into_iter();
                let slices = slices.zip(names).map(|(slice, name)| {
                    inputs.add_version(name, slice.version);
                    slice.value
                });
                slices.collect::<Vec<_>>()
            }
        };
        for (at, (key, value)) in keys.into_iter().zip(slices).enumerate() {
            let session = &mut inputs.session;
            let known = if at < needed.len() { &mut session.slices } else { &mut session.prefetched };
            known.insert(key.to_owned(), value);
        }
        Ok(())
    }

    /// The key under which a slice is stored: without secrets.
    pub(super) fn stored_key<'k>(&self, key: &'k str) -> Cow<'k, str> {
        self.scan.stored_key(key, &self.engine.fingerprint_key)
    }
}

/// An absolute path without `.`, `..` and repeated slashes.
fn lexical(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
