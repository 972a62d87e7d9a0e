//! Fetches the facts that guardrails ask for, each from where it is to be had.

use std::path::Path;
use std::sync::{MutexGuard, PoisonError};
use std::thread;

use midrail_core::{Event, Fact, FactKey, Finding, Held, HookCall, Run, Session, state_prefix};
use midrail_detect::secrets;
use midrail_detect::{action, of_event};
use midrail_guardrails::MODULE;
use serde_json::Value;

use super::settle::Known;
use super::{Ahead, Walk};
use crate::chunks;
use crate::hooks::Occasion;
use crate::outside::Matter;
use crate::past::GONE;

/// Commands that run at the same time for one event.
const AT_A_TIME: usize = 8;

/// Whether fetching a fact can take long.
pub(super) fn is_dear(key: &FactKey) -> bool {
    matches!(
        key,
        FactKey::Command(_)
            | FactKey::Tree(_)
            | FactKey::Count(_)
            | FactKey::Unsaved(_)
            | FactKey::Hook(_)
            | FactKey::Deep(_)
    )
}

impl Walk<'_> {
    pub(super) fn fetch(&self, key: &FactKey, known: &Known) -> Fact {
        let root = known.facts.root.as_deref().map(Path::new);
        match key {
            FactKey::Action => Fact::of_action(action::of(&self.event)),
            FactKey::Secrets => match &known.rewritten {
                Some(event) => self.found_in(event, secrets::scan_json, Fact::Secrets),
                None => Fact::Secrets(self.searched.findings.clone()),
            },
            FactKey::Place(path) => self.engine.files().place(root, self.event.cwd.as_deref(), path),
            FactKey::File(place) => self.engine.files().probe(root, place),
            FactKey::PersonalData => {
                let fact = self.found_in(known.shown(&self.event), of_event::personal_data, Fact::Findings);
                self.of_chunk(fact, self.joined.as_ref().and_then(|joined| joined.personal.as_deref()))
            }
            FactKey::Injections => self.of_chunk(
                self.found_in(known.shown(&self.event), of_event::injections, Fact::Findings),
                None,
            ),
            FactKey::Script(key) => self.engine.files().scripts(root, &self.event, &Held::of_key(key)),
            FactKey::Command(run) => {
                let within = known.within_ms.get(key).copied().unwrap_or(u64::MAX);
                let run = Run { timeout_ms: run.timeout_ms.min(within), ..run.clone() };
                self.engine.files().command(root, &run, self.engine.fingerprint_key())
            }
            FactKey::Tree(patterns) => self.engine.files().tree(root, patterns),
            FactKey::Count(patterns) => self.engine.files().count(root, patterns),
            FactKey::Git => self.engine.files().git(root),
            FactKey::Unsaved(place) => self.engine.files().unsaved(root, place),
            FactKey::Hook(call) => self.hook(call, known),
            FactKey::Deep(_) if self.engine.files().past().is_some() => Fact::Unavailable(GONE.to_owned()),
            FactKey::Deep(call) => {
                let (fact, belated) = self.matter(known).ask(call);
                self.belated.lock().unwrap_or_else(PoisonError::into_inner).extend(belated);
                fact
            }
            FactKey::Answer(name) => Fact::Unavailable(format!("no probe answers `{name}`")),
        }
    }

    /// Findings less those in text that has passed, and those of the text as its stream tells them, where it does.
    fn of_chunk(&self, fact: Fact, of_text: Option<&[Finding]>) -> Fact {
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

    /// Fetches facts that cost much: once for this event, however often it is tried, and several at a time.
    pub(super) fn fetch_dear(&self, keys: &[FactKey], known: &mut Known) {
        // A script that was called ahead of its time does not wait for what may take long.
        let is_asked =
            |call: &HookCall| keys.iter().any(|key| matches!(key, FactKey::Hook(key) if key == call));
        drop(self.begun().take_if(|(call, ..)| !is_asked(call)));
        let mut fetched = self.dear.lock().unwrap_or_else(PoisonError::into_inner);
        // What scripts answered is kept elsewhere: they are asked again where their variables were changed meanwhile.
        let is_hook = |key: &FactKey| matches!(key, FactKey::Hook(_));
        let is_lacking = |key: &&FactKey| is_hook(key) || !fetched.contains_key(*key);
        let lacking: Vec<&FactKey> = keys.iter().filter(is_lacking).collect();
        for batch in lacking.chunks(AT_A_TIME) {
            let facts = &*known;
            let found: Vec<(FactKey, Fact)> = match batch {
                [key] => vec![((*key).clone(), self.fetch(key, facts))],
                _ => thread::scope(|scope| {
                    let running: Vec<_> = batch
                        .iter()
                        .map(|key| ((*key).clone(), scope.spawn(|| self.fetch(key, facts))))
                        .collect();
                    let ended = running.into_iter().map(|(key, thread)| {
                        let fact = thread.join();
                        (key, fact.unwrap_or_else(|_| Fact::Unavailable("its probe failed".to_owned())))
                    });
                    ended.collect()
                }),
            };
            for (key, fact) in found {
                if !is_hook(&key) {
                    fetched.insert(key.clone(), fact.clone());
                }
                known.facts.insert(key, fact);
            }
        }
        for key in keys {
            if let Some(fact) = fetched.get(key) {
                known.facts.insert(key.clone(), fact.clone());
            }
        }
    }

    /// The event, as those outside are asked about it.
    fn matter<'k>(&'k self, known: &'k Known) -> Matter<'k> {
        Matter {
            engine: self.engine,
            policy: self.policy,
            event: self.searched.masked(&self.event),
            session: &self.session,
            root: known.facts.root.as_deref(),
        }
    }

    /// Calls a script that will be asked for, while there is something else to do.
    pub(super) fn begin_hook(&self, call: &HookCall, known: &Known) {
        let Some(state) = self.variables_of(call, known) else { return };
        if self.hooked(call, &state).is_some() {
            return;
        }
        let begun = self.occasion(known).begin(call, state.clone()).ok();
        *self.begun() = begun.map(|begun| (call.clone(), state, begun));
    }

    /// The script that was called before its answer is asked for.
    pub(super) fn begun(&self) -> MutexGuard<'_, Option<Ahead>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a script answers. It is asked once for this event, unless its variables were changed meanwhile.
    fn hook(&self, call: &HookCall, known: &Known) -> Fact {
        // Called for this very evaluation, it had the variables that it has now.
        let begun = self.begun().take_if(|(begun, ..)| begun == call);
        let begun = begun.filter(|(.., begun)| begun.is_recent());
        let (state, fact) = match begun {
            Some((_, state, begun)) => (state, self.occasion(known).end(begun)),
            None => {
                let state = self.variables_of(call, known).flatten();
                if let Some(fact) = self.hooked(call, &state) {
                    return fact;
                }
                let fact = self.occasion(known).run(call, state.clone());
                (state, fact)
            }
        };
        let mut hooked = self.hooked.lock().unwrap_or_else(PoisonError::into_inner);
        hooked.retain(|(hooked, ..)| hooked != call);
        hooked.push((call.clone(), state, fact.clone()));
        fact
    }

    /// What a script has answered that had these variables.
    fn hooked(&self, call: &HookCall, state: &Option<Value>) -> Option<Fact> {
        let hooked = self.hooked.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |before: &&(HookCall, Option<Value>, Fact)| before.0 == *call && before.1 == *state;
        hooked.iter().find(is_it).map(|(_, _, fact)| fact.clone())
    }

    /// The variables of a script, as its session or its prompt has them, if that is known.
    fn variables_of(&self, call: &HookCall, known: &Known) -> Option<Option<Value>> {
        let is_per_prompt = self.policy.get(&call.script)?.spec.per_prompt;
        let prompt = self.event.prompt.as_deref().filter(|_| is_per_prompt);
        let key = state_prefix(&call.script, prompt) + MODULE;
        let Session { slices, foreseen, .. } = &known.session;
        let slice = slices.get(&key).or_else(|| foreseen.get(&key))?;
        Some(slice.clone().filter(|value| !value.is_null()))
    }

    fn occasion<'k>(&'k self, known: &'k Known) -> Occasion<'k> {
        Occasion {
            engine: self.engine,
            policy: self.policy,
            event: &self.event,
            session: &self.session,
            facts: &known.facts,
            mask: &self.searched.mask,
            restored: self.restored.as_ref(),
        }
    }

    fn found_in(
        &self,
        event: &Event,
        detector: fn(&Value, &[u8]) -> Vec<Finding>,
        fact: fn(Vec<Finding>) -> Fact,
    ) -> Fact {
        match serde_json::to_value(event) {
            Ok(event) => fact(detector(&event, self.engine.fingerprint_key())),
            Err(error) => Fact::Unavailable(error.to_string()),
        }
    }
}
