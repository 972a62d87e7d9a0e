//! Fetches the facts that guardrails ask for.

use std::path::Path;
use std::thread;

use midrail_core::{Event, EventKind, Fact, FactKey, Finding, HookCall, PackCommand, Session, state_prefix};
use midrail_guardrails::{MODULE_STATE, text_origin};
use midrail_scan::event::OutlinedEvent;
use midrail_scan::{names, secrets};
use serde_json::Value;

use super::inputs::DecisionInputs;
use super::{HookRun, PendingHook, Pipeline};
use crate::chunks;
use crate::files::Lookup;
use crate::files::NOT_RECORDED;
use crate::hooks::HookContext;
use crate::late_answers::DeepRequest;
use crate::sandboxes::Sandboxes;

/// The most slow facts that are fetched at the same time.
const MAX_PARALLEL: usize = 8;

/// Whether fetching a fact can take long.
pub(super) fn is_slow(key: &FactKey) -> bool {
    match key {
        FactKey::Modified(key) => is_slow(key),
        FactKey::Command(_)
        | FactKey::Tree(_)
        | FactKey::Count(_)
        | FactKey::Contents(_)
        | FactKey::Unsaved(_)
        | FactKey::Hook(_)
        | FactKey::Deep(_)
        | FactKey::Answer(_) => true,
        _ => false,
    }
}

impl Pipeline<'_> {
    pub(super) fn fetch(&self, key: &FactKey, inputs: &DecisionInputs) -> Fact {
        match key {
            // Only facts about the call as it is changed have such a key.
            FactKey::Modified(key) => self.fetch_about(inputs.shown(&self.event), key, inputs),
            key => self.fetch_about(&self.event, key, inputs),
        }
    }

    fn fetch_about(&self, event: &Event, key: &FactKey, inputs: &DecisionInputs) -> Fact {
        let lookup = Lookup {
            root: inputs.facts.root.as_deref().map(Path::new),
            cwd: event.cwd.as_deref(),
            event: Some(event),
            key: &self.engine.fingerprint_key,
        };
        let files = &self.engine.files;
        match key {
            FactKey::Modified(key) => self.fetch_about(event, key, inputs),
            FactKey::Action => self.engine.known_actions.derive(event),
            FactKey::Sandbox => Sandboxes::fact(self.engine.sandboxes.as_ref(), event, lookup.root),
            FactKey::Secrets => match &inputs.rewritten {
                Some(event) => {
                    let find = |event: &OutlinedEvent, key: &[u8]| secrets::scan_json(event.json(), key);
                    self.scan_with(event, find, Fact::Secrets)
                }
                None => Fact::Secrets(self.scan.findings.clone()),
            },
            FactKey::PersonalData => {
                let event = inputs.shown(&self.event);
                let fact = self.scan_with(event, OutlinedEvent::find_personal_data, Fact::Findings);
                self.in_new_text(fact, self.joined.as_ref().and_then(|joined| joined.personal.as_deref()))
            }
            FactKey::Injections => {
                let event = inputs.shown(&self.event);
                let derived;
                let action = match inputs.facts.action().filter(|_| inputs.rewritten.is_none()) {
                    Some(action) => Some(action),
                    None => {
                        derived = self.engine.known_actions.derive(event);
                        if let Fact::Action(action) = &derived { Some(action.as_ref()) } else { None }
                    }
                };
                let origin = text_origin(event, action, inputs.facts.root.as_deref());
                let find = |event: &OutlinedEvent, key: &[u8]| event.find_injections(origin, key);
                self.in_new_text(self.scan_with(event, find, Fact::Findings), None)
            }
            FactKey::Names => {
                let event = inputs.shown(&self.event);
                let find = |event: &OutlinedEvent, key: &[u8]| names::digests_in_event(event.json(), key);
                self.scan_with(event, find, Fact::Names)
            }
            FactKey::Destination(text) => {
                Fact::Names(names::destination_digests(text, &self.engine.fingerprint_key))
            }
            FactKey::Command(run) => {
                let within = inputs.within_ms.get(key).copied().unwrap_or(u64::MAX);
                let run = PackCommand { timeout_ms: run.timeout_ms.min(within), ..run.clone() };
                files.fact(&FactKey::Command(run), &lookup)
            }
            FactKey::Place(_)
            | FactKey::File(_)
            | FactKey::Script(_)
            | FactKey::Tree(_)
            | FactKey::Count(_)
            | FactKey::Contents(_)
            | FactKey::Text(_)
            | FactKey::Git
            | FactKey::Unsaved(_)
            | FactKey::Answer(_) => files.fact(key, &lookup),
            FactKey::Hook(call) => self.hook(call, inputs),
            FactKey::Deep(_) if files.recorded().is_some() => Fact::Unavailable(NOT_RECORDED.to_owned()),
            FactKey::Deep(call) => {
                let modified = inputs.rewritten.as_ref().filter(|_| event.kind == EventKind::BeforeTool);
                let scan = match modified.map(|event| self.scan_rewritten(event)).transpose() {
                    Ok(scan) => scan,
                    Err(error) => return Fact::Unavailable(error.to_string()),
                };
                let shown = scan.as_ref().map_or(&self.scan, |scan| scan).masked(event);
                let (fact, late) = self.deep_request(shown, inputs).send(call);
                self.late_answers.lock().extend(late);
                fact
            }
        }
    }

    /// The findings in the new text of a chunk. `of_text`: the findings that its stream already has for the text.
    fn in_new_text(&self, fact: Fact, of_text: Option<&[Finding]>) -> Fact {
        match (&self.joined, fact) {
            (Some(joined), Fact::Findings(findings)) => {
                let mut findings = joined.new_ones(findings);
                if let Some(of_text) = of_text {
                    findings.retain(|finding| finding.at != chunks::TEXT);
                    findings.extend(of_text.iter().cloned());
                }
                Fact::Findings(findings)
            }
            (_, fact) => fact,
        }
    }

    /// Fetches slow facts: once for this event, however often it is evaluated, and several at a time.
    pub(super) fn fetch_slow(&self, keys: &[FactKey], inputs: &mut DecisionInputs) {
        // A hook that was started and is not needed does not run until the other facts are there.
        let is_needed =
            |call: &HookCall| keys.iter().any(|key| matches!(key, FactKey::Hook(key) if key == call));
        drop(self.started.lock().take_if(|pending| !is_needed(&pending.call)));
        let mut fetched = self.slow.lock();
        // The answers of hooks are kept separately: a hook runs again when its variables were changed.
        let is_hook = |key: &FactKey| matches!(key, FactKey::Hook(_));
        let is_missing = |key: &&FactKey| is_hook(key) || !fetched.contains_key(*key);
        let missing: Vec<&FactKey> = keys.iter().filter(is_missing).collect();
        for batch in missing.chunks(MAX_PARALLEL) {
            for (key, fact) in self.fetch_parallel(batch, inputs) {
                if !is_hook(&key) {
                    fetched.insert(key.clone(), fact.clone());
                }
                inputs.facts.insert(key, fact);
            }
        }
        for key in keys {
            if let Some(fact) = fetched.get(key) {
                inputs.facts.insert(key.clone(), fact.clone());
            }
        }
    }

    fn fetch_parallel(&self, keys: &[&FactKey], inputs: &DecisionInputs) -> Vec<(FactKey, Fact)> {
        if let [key] = keys {
            return vec![((*key).clone(), self.fetch(key, inputs))];
        }
        thread::scope(|scope| {
            let threads: Vec<_> =
                keys.iter().map(|key| (*key, scope.spawn(|| self.fetch(key, inputs)))).collect();
            let failed = |_| Fact::Unavailable("its probe failed".to_owned());
            let facts = threads.into_iter();
            facts.map(|(key, thread)| (key.clone(), thread.join().unwrap_or_else(failed))).collect()
        })
    }

    fn deep_request<'k>(&'k self, event: &'k Event, inputs: &'k DecisionInputs) -> DeepRequest<'k> {
        DeepRequest {
            engine: self.engine,
            policy: self.policy,
            event,
            session: &self.session,
            root: inputs.facts.root.as_deref(),
        }
    }

    /// Starts a hook before its answer is needed.
    pub(super) fn start_hook(&self, call: &HookCall, inputs: &DecisionInputs) {
        let Some(variables) = self.hook_variables(call, inputs) else { return };
        if self.hook_answer(call, &variables).is_some() {
            return;
        }
        let hook = self.hook_context(inputs).start(call, variables.clone()).ok();
        *self.started.lock() = hook.map(|hook| PendingHook { call: call.clone(), variables, hook });
    }

    /// The answer of a hook. It runs once for this event, unless its variables were changed meanwhile.
    fn hook(&self, call: &HookCall, inputs: &DecisionInputs) -> Fact {
        let started = self.started.lock().take_if(|pending| pending.call == *call);
        let (variables, fact) = match started.filter(|pending| pending.hook.is_recent()) {
            Some(pending) => (pending.variables, self.hook_context(inputs).finish(pending.hook)),
            None => {
                let variables = self.hook_variables(call, inputs).flatten();
                if let Some(fact) = self.hook_answer(call, &variables) {
                    return fact;
                }
                let fact = self.hook_context(inputs).run(call, variables.clone());
                (variables, fact)
            }
        };
        let mut answers = self.hook_answers.lock();
        answers.retain(|run| run.call != *call);
        answers.push(HookRun { call: call.clone(), variables, fact: fact.clone() });
        fact
    }

    /// The answer that a hook already gave with these variables.
    fn hook_answer(&self, call: &HookCall, variables: &Option<Value>) -> Option<Fact> {
        let answers = self.hook_answers.lock();
        let run = answers.iter().find(|run| run.call == *call && run.variables == *variables);
        run.map(|run| run.fact.clone())
    }

    /// The variables of a script in this session or prompt. `None`: the slice is not loaded.
    fn hook_variables(&self, call: &HookCall, inputs: &DecisionInputs) -> Option<Option<Value>> {
        let is_per_prompt = self.policy.get(&call.script)?.spec.per_prompt;
        let prompt = self.event.prompt.as_deref().filter(|_| is_per_prompt);
        let key = state_prefix(&call.script, prompt) + MODULE_STATE;
        let Session { slices, prefetched, .. } = &inputs.session;
        let slice = slices.get(&key).or_else(|| prefetched.get(&key))?;
        Some(slice.clone().filter(|value| !value.is_null()))
    }

    /// The event that scripts see. Before a call, it is the call as guardrails changed it.
    fn hook_event<'k>(&'k self, inputs: &'k DecisionInputs) -> &'k Event {
        if self.event.kind == EventKind::BeforeTool { inputs.shown(&self.event) } else { &self.event }
    }

    fn hook_context<'k>(&'k self, inputs: &'k DecisionInputs) -> HookContext<'k> {
        HookContext {
            engine: self.engine,
            policy: self.policy,
            event: self.hook_event(inputs),
            session: &self.session,
            facts: &inputs.facts,
            mask: &self.scan.mask,
            restored: self.restored.as_ref(),
        }
    }

    fn scan_with<T>(
        &self,
        event: &Event,
        detector: impl Fn(&OutlinedEvent, &[u8]) -> Vec<T>,
        fact: fn(Vec<T>) -> Fact,
    ) -> Fact {
        let to_json = |event: &Event| match serde_json::to_value(event) {
            Ok(event) => Ok(OutlinedEvent::new(event)),
            Err(error) => Err(error.to_string()),
        };
        let scan = |event: &OutlinedEvent| fact(detector(event, &self.engine.fingerprint_key));
        let found = if std::ptr::eq(event, &self.event) {
            self.json.get_or_init(|| to_json(event)).as_ref().map(scan).map_err(String::clone)
        } else {
            to_json(event).map(|event| scan(&event))
        };
        found.unwrap_or_else(Fact::Unavailable)
    }
}
