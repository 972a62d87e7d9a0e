//! The walk of one event: fetch what the policy needs, decide, make the record, commit. Nothing that was found secret
//! leaves it: not in the record, not in a key, not in the decision.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use jiff::Timestamp;
use midrail_core::{
    Aside, BEGAN, Changes, Decision, Event, Fact, FactKey, Facts, Finding, Needs, Policy, PolicyDenied,
    Record, Session, action_text, evaluate, standing_keys,
};
use midrail_detect::secrets::{self, Mask};
use midrail_detect::{action, of_event};
use midrail_store::{Commit, Store, StoreError};
use serde_json::Value;

use crate::approvals;
use crate::clock::Stopwatch;
use crate::engine::{Engine, EngineError, MAX_ROUNDS, MAX_TRIES, unique_id};
use crate::files::Root;
use crate::notices;

/// The slice that says which folder a session works in: that of its first event. An agent can move its shell, and
/// not what its guardrails speak of.
pub(crate) const ROOT: &str = "root";

/// The folder that an event's session works in, where it has begun.
pub fn folder_of(store: &dyn Store, event: &Event) -> Result<Option<PathBuf>, StoreError> {
    let Some(session) = &event.session else { return Ok(None) };
    let slices = store.load(session, &[ROOT])?;
    Ok(slices.into_iter().next().and_then(|slice| slice.value?.as_str().map(PathBuf::from)))
}

/// When an event's session began, where it has a deadline and has begun.
pub fn beginning_of(store: &dyn Store, event: &Event) -> Result<Option<Timestamp>, StoreError> {
    let Some(session) = &event.session else { return Ok(None) };
    let slices = store.load(session, &[BEGAN])?;
    Ok(slices.into_iter().next().and_then(|slice| slice.value?.as_str()?.parse().ok()))
}

/// One event on its way.
pub(crate) struct Walk<'e> {
    engine: &'e Engine,
    policy: &'e Policy,
    now: Timestamp,
    event: Event,
    /// The event as it is recorded.
    masked: Event,
    session: String,
    findings: Vec<Finding>,
    /// Where the tags of the findings stand in the masked event.
    tags: Vec<Finding>,
    mask: Mask,
    /// The slices that a restored session begins with.
    restored: Option<BTreeMap<String, Value>>,
    /// What was fetched at a price.
    dear: Mutex<BTreeMap<FactKey, Fact>>,
}

/// Commands that run at the same time for one event.
const AT_A_TIME: usize = 8;

/// Whether fetching a fact can take long.
fn is_dear(key: &FactKey) -> bool {
    matches!(key, FactKey::Command(_) | FactKey::Tree(_) | FactKey::Count(_))
}

impl<'e> Walk<'e> {
    pub(crate) fn new(
        engine: &'e Engine,
        policy: &'e Policy,
        mut event: Event,
        restored: Option<BTreeMap<String, Value>>,
    ) -> Result<Self, EngineError> {
        let now = engine.now();
        event.time.get_or_insert(now);
        if event.session.is_none() {
            // Events of no session are those of the folder that they come from.
            event.session =
                Some(event.cwd.as_ref().map_or_else(|| "default".to_owned(), |cwd| format!("default:{cwd}")));
        }
        let mut value = serde_json::to_value(&event)?;
        if depth(&value) > Event::MAX_DEPTH {
            return Err(EngineError::TooDeep);
        }
        let key = engine.fingerprint_key();
        let findings = secrets::scan_json(&value, key);
        let mask = Mask::of(&value, &findings);
        let mut tags = Vec::new();
        let masked = if findings.is_empty() {
            event.clone()
        } else {
            tags = secrets::mask(&mut value, &findings);
            serde_json::from_value(mask.value(value))?
        };
        let session = masked.session.clone().unwrap_or_default();
        let dear = Mutex::default();
        Ok(Walk { engine, policy, now, event, masked, session, findings, tags, mask, restored, dear })
    }

    /// Walks until the decision is on record. Others may change the session meanwhile: then everything that was known
    /// is looked at again.
    pub(crate) fn run(&self) -> Result<Decision, EngineError> {
        let mut salt = None;
        for _ in 0..MAX_TRIES {
            let mut known = Known { session: Session::new(&*self.session), ..Known::default() };
            known.facts.request_salt.clone_from(&salt);
            let decision = self.settle(&mut known)?;
            if salt.is_none() && approvals::has_used_name(&**self.engine.store(), &decision)? {
                salt = Some(unique_id());
                continue;
            }
            let read = if self.restored.is_some() {
                Vec::new()
            } else {
                known.versions.clone().into_iter().collect()
            };
            let record = self.record(decision, known)?;
            let approvals = approvals::changes(
                &**self.engine.store(),
                self.policy,
                self.engine.fingerprint_key(),
                &record,
            )?;
            let notices = notices::of(&record, &approvals);
            let commit = Commit {
                read,
                changes: record.decision.changes.clone(),
                replace_all: self.restored.clone(),
                approvals,
                notices,
                ..Commit::new(&record)
            };
            match self.engine.store().commit(&commit) {
                Ok(place) => {
                    self.engine.tell(&record);
                    self.engine.tell_others(&commit.notices);
                    self.engine.alert_on(&record);
                    let mut decision = record.decision;
                    decision.audit = Aside(Some(place));
                    return Ok(decision);
                }
                Err(StoreError::Conflict { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::Contended)
    }

    /// Evaluates and fetches until nothing is lacking.
    fn settle(&self, known: &mut Known) -> Result<Decision, EngineError> {
        let standing = standing_keys(&self.event, &self.session);
        self.load(known, standing.iter().map(String::as_str).chain([ROOT]))?;
        let pinned = known.session.slices.remove(ROOT).flatten();
        let root = self.root(pinned.as_ref());
        known.facts.root = root.as_ref().map(|root| root.real.clone());
        known.facts.own_places = self.engine.own_places(known.facts.root.as_deref());
        known.facts.root_aliases = root.as_ref().map(|root| root.aliases.clone()).unwrap_or_default();
        if self.event.tool.is_some() {
            known.facts.insert(FactKey::Action, self.fetch(&FactKey::Action, known));
        }
        if !self.mask.is_empty() {
            // A record shows arguments without their secrets, so the exact action is kept as a keyed digest.
            let text = action_text(&self.event, &self.session);
            known.facts.action_digest = Some(secrets::fingerprint(&text, self.engine.fingerprint_key()));
        }
        let stopwatch = Stopwatch::start();
        for _ in 0..MAX_ROUNDS {
            let evaluation = evaluate(self.policy, &known.session, &known.facts, &self.event, &stopwatch);
            if evaluation.needs.is_empty() {
                let mut decision = evaluation.decision;
                if let (None, Some(root), None) = (&pinned, &root, self.engine.root()) {
                    decision.changes.set(ROOT, root.real.as_str());
                }
                return Ok(decision);
            }
            let Needs { slices, mut facts } = evaluation.needs;
            self.load(known, slices.iter().map(String::as_str))?;
            let dear = facts.extract_if(.., is_dear).collect::<Vec<_>>();
            // What costs much is fetched when nothing else is lacking: it may not be needed once that is known.
            if slices.is_empty() && facts.is_empty() {
                self.fetch_dear(dear, known);
            }
            for key in facts {
                let fact = self.fetch(&key, known);
                known.facts.insert(key, fact);
            }
        }
        Err(EngineError::Endless)
    }

    /// The folder that paths are resolved against: the engine's, else the session's, else that of this event.
    fn root(&self, pinned: Option<&Value>) -> Option<Root> {
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

    fn load<'k>(&self, known: &mut Known, keys: impl IntoIterator<Item = &'k str>) -> Result<(), StoreError> {
        let keys: Vec<&str> = keys.into_iter().collect();
        if let Some(slices) = &self.restored {
            for key in keys {
                known.session.load(key, slices.get(&self.kept_key(key)).cloned());
            }
            return Ok(());
        }
        if keys.is_empty() {
            return Ok(());
        }
        let kept: Vec<String> = keys.iter().map(|key| self.kept_key(key)).collect();
        let names: Vec<&str> = kept.iter().map(String::as_str).collect();
        for ((key, kept), slice) in
            keys.iter().zip(&kept).zip(self.engine.store().load(&self.session, &names)?)
        {
            known.versions.insert(kept.clone(), slice.version);
            known.session.load(*key, slice.value);
        }
        Ok(())
    }

    /// The key under which a slice is kept: without what was found secret.
    fn kept_key(&self, key: &str) -> String {
        if self.mask.is_empty() { key.to_owned() } else { self.mask.key(key, self.engine.fingerprint_key()) }
    }

    fn fetch(&self, key: &FactKey, known: &Known) -> Fact {
        let root = known.facts.root.as_deref().map(Path::new);
        match key {
            FactKey::Action => action::of(&self.event).map_or_else(Fact::Unavailable, Fact::Action),
            FactKey::Secrets => Fact::Secrets(self.findings.clone()),
            FactKey::Place(path) => self.engine.files().place(root, self.event.cwd.as_deref(), path),
            FactKey::File(place) => self.engine.files().probe(root, place),
            FactKey::PersonalData => self.findings_of(of_event::personal_data),
            FactKey::Injections => self.findings_of(of_event::injections),
            FactKey::Script(place) => self.engine.files().script(root, place),
            FactKey::Command(run) => self.engine.files().command(root, run, self.engine.fingerprint_key()),
            FactKey::Tree(patterns) => self.engine.files().tree(root, patterns),
            FactKey::Count(patterns) => self.engine.files().count(root, patterns),
            FactKey::Git => self.engine.files().git(root),
            FactKey::Answer(name) => Fact::Unavailable(format!("no probe answers `{name}`")),
        }
    }

    /// Fetches facts that cost much: once for this event, however often it is tried, and several at a time.
    fn fetch_dear(&self, keys: Vec<FactKey>, known: &mut Known) {
        let mut fetched = self.dear.lock().unwrap_or_else(PoisonError::into_inner);
        let lacking: Vec<&FactKey> = keys.iter().filter(|key| !fetched.contains_key(*key)).collect();
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
            fetched.extend(found);
        }
        for key in keys {
            if let Some(fact) = fetched.get(&key) {
                known.facts.insert(key, fact.clone());
            }
        }
    }

    /// What commands and scripts do is told with their quotes, encodings and variables resolved, and that may hold
    /// secrets which the event did not show.
    fn hide_what_came_to_light(&self, record: &mut Record) -> Result<(), EngineError> {
        let resolves = |fact: &Fact| match fact {
            Fact::Action(action) => !action.dangers.is_empty(),
            Fact::Script(_) => true,
            _ => false,
        };
        if !record.facts.known.values().any(resolves) {
            return Ok(());
        }
        let mut value = serde_json::to_value(&*record)?;
        let mut found = secrets::scan_json(&value, self.engine.fingerprint_key());
        found.retain(|finding| RESOLVED.iter().any(|place| finding.at.starts_with(place)));
        if !found.is_empty() {
            let mask = Mask::of(&value, &found);
            secrets::mask(&mut value, &found);
            *record = serde_json::from_value(mask.value(value))?;
        }
        Ok(())
    }

    fn findings_of(&self, detector: fn(&Value, &[u8]) -> Vec<Finding>) -> Fact {
        match serde_json::to_value(&self.event) {
            Ok(event) => Fact::Findings(detector(&event, self.engine.fingerprint_key())),
            Err(error) => Fact::Unavailable(error.to_string()),
        }
    }

    /// The record of a decision, with everything that was found secret replaced by its tag.
    fn record(&self, mut decision: Decision, known: Known) -> Result<Record, EngineError> {
        let changes = std::mem::take(&mut decision.changes);
        let requests = std::mem::take(&mut decision.requests);
        let mut facts = known.facts;
        if let Some(Fact::Secrets(findings)) = facts.known.get_mut(&FactKey::Secrets) {
            findings.clone_from(&self.tags);
        }
        for fact in facts.known.values_mut() {
            if let Fact::Findings(findings) = fact {
                secrets::follow(findings, &self.findings, &self.tags);
            }
        }
        let denied = PolicyDenied::of(&self.event, &decision, &self.session, self.now, unique_id());
        let mut record = Record {
            time: self.now,
            session: self.session.clone(),
            event: self.masked.clone(),
            slices: known.session.slices,
            facts,
            decision,
            denied,
        };
        if !self.mask.is_empty() {
            record = serde_json::from_value(self.mask.value(serde_json::to_value(&record)?))?;
        }
        self.hide_what_came_to_light(&mut record)?;
        let kept = changes.0.into_iter().map(|(key, value)| match self.mask.is_empty() {
            true => (key, value),
            false => (self.kept_key(&key), value.map(|value| self.mask.value(value))),
        });
        record.decision.changes = Changes(kept.collect());
        record.decision.requests = requests;
        Ok(record)
    }
}

/// Where a record tells of commands as they would run.
const RESOLVED: &[&str] = &[
    "/facts/known/action",
    "/facts/known/script",
    "/decision/reason",
    "/decision/advice",
    "/decision/metadata",
    "/decision/verdicts",
    "/decision/approval",
    "/decision/user_message",
    "/denied",
];

/// What is known so far.
#[derive(Default)]
struct Known {
    session: Session,
    versions: BTreeMap<String, u64>,
    facts: Facts,
}

fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(map) => map.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    below.unwrap_or(0) + 1
}
