//! The walk of one event: fetch what the policy needs, decide, make the record, commit. Nothing that was found secret
//! leaves it: not in the record, not in a key, not in the decision.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use jiff::Timestamp;
use midrail_core::{
    Aside, AuditRef, BEGAN, Changes, Decision, Effect, Event, EventKind, Fact, FactKey, Facts, Finding, Held,
    HookAnswer, HookCall, HookEnd, Needs, Policy, PolicyDenied, Record, Run, Session, action_text, evaluate,
    standing_keys, state_prefix, stream_of,
};
use midrail_detect::secrets::{self, Mask};
use midrail_detect::{action, of_event};
use midrail_guardrails::MODULE;
use midrail_store::{Commit, Store, StoreError};
use serde_json::Value;

use crate::approvals;
use crate::chunks::{self, Joined, held_key};
use crate::clock::Stopwatch;
use crate::engine::{Engine, EngineError, MAX_ROUNDS, MAX_TRIES, unique_id};
use crate::files::Root;
use crate::foresight::Shape;
use crate::hooks::Occasion;
use crate::kept::{self, LastPolicy, POLICY};
use crate::notices;
use crate::once::Once;
use crate::outside::{Belated, Matter};
use crate::past::GONE;

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
    let slices = store.load(&session_of(event), &[BEGAN])?;
    Ok(slices.into_iter().next().and_then(|slice| slice.value?.as_str()?.parse().ok()))
}

/// The session of an event. Events of no session are those of the folder that they come from.
pub(crate) fn session_of(event: &Event) -> String {
    match (&event.session, &event.cwd) {
        (Some(session), _) => session.clone(),
        (None, Some(cwd)) => format!("default:{cwd}"),
        (None, None) => "default".to_owned(),
    }
}

/// One event on its way.
pub(crate) struct Walk<'e> {
    engine: &'e Engine,
    policy: &'e Policy,
    now: Timestamp,
    event: Event,
    searched: Searched,
    session: String,
    /// What the session is to know of the policy, where others decide its next event.
    last_policy: Option<LastPolicy>,
    /// The slices that a restored session begins with.
    restored: Option<BTreeMap<String, Value>>,
    /// What was fetched at a price.
    dear: Mutex<BTreeMap<FactKey, Fact>>,
    /// The chunk with what was held back before it, where the event is one.
    joined: Option<Joined>,
    /// What scripts answered, and the variables that they had before.
    hooked: Mutex<BTreeMap<FactKey, (Option<Value>, Fact)>>,
    /// Answers of a made-up world that nobody waited for.
    belated: Mutex<Vec<Belated>>,
    /// Nothing is waited for: what takes time is left to another walk.
    is_hurried: bool,
}

/// A text looked through for secrets: where they are, and what replaces them.
struct Searched {
    /// The event as it is recorded, where that is not as it came.
    masked: Option<Event>,
    findings: Vec<Finding>,
    /// Where the tags of the findings stand in the masked event.
    tags: Vec<Finding>,
    mask: Mask,
}

impl Searched {
    fn of(value: Value, key: &[u8]) -> Result<Self, EngineError> {
        Searched::of_chunk(value, None, key)
    }

    /// The same, where the secrets of the text are known from its stream.
    fn of_chunk(mut value: Value, joined: Option<&Joined>, key: &[u8]) -> Result<Self, EngineError> {
        let findings = match joined {
            Some(joined) => {
                let text = value.as_object_mut().and_then(|event| event.remove("text"));
                let mut findings = secrets::scan_json(&value, key);
                findings.extend(joined.secrets.iter().cloned());
                if let (Some(event), Some(text)) = (value.as_object_mut(), text) {
                    event.insert("text".to_owned(), text);
                }
                findings
            }
            None => secrets::scan_json(&value, key),
        };
        let mask = Mask::of(&value, &findings);
        if findings.is_empty() {
            return Ok(Searched { masked: None, findings, tags: Vec::new(), mask });
        }
        let tags = secrets::mask(&mut value, &findings);
        let masked = Some(serde_json::from_value(mask.value(value))?);
        Ok(Searched { masked, findings, tags, mask })
    }

    /// The event that was searched, as it is recorded.
    fn masked<'s>(&'s self, event: &'s Event) -> &'s Event {
        self.masked.as_ref().unwrap_or(event)
    }
}

/// A chunk with what its stream has held back. `around` is the rest of its event.
fn join(
    engine: &Engine,
    policy: &Policy,
    event: &Event,
    around: &Searched,
    name: &str,
) -> Result<Joined, EngineError> {
    let key = engine.fingerprint_key();
    let session = around.masked(event).session.as_deref().unwrap_or_default();
    let name = if around.mask.is_empty() { name.to_owned() } else { around.mask.key(name, key) };
    let slice = engine.store().load(session, &[&name])?.into_iter().next().unwrap_or_default();
    Joined::new(event, policy, key, &around.mask, (format!("{session}\n{name}"), name), slice)
}

/// Commands that run at the same time for one event.
const AT_A_TIME: usize = 8;

/// Whether fetching a fact can take long.
fn is_dear(key: &FactKey) -> bool {
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

impl<'e> Walk<'e> {
    pub(crate) fn new(
        engine: &'e Engine,
        policy: &'e Policy,
        mut event: Event,
        restored: Option<BTreeMap<String, Value>>,
    ) -> Result<Self, EngineError> {
        let now = engine.now();
        event.time.get_or_insert(now);
        // Without a session there is no beginning anew, and so nothing to hold on to.
        let last_policy = event.session.as_ref().and_then(|_| engine.last_policy(policy));
        event.session = Some(session_of(&event));
        let mut value = serde_json::to_value(&event)?;
        if depth(&value) > Event::MAX_DEPTH {
            return Err(EngineError::TooDeep);
        }
        let mut joined = None;
        if let Some(name) = stream_of(&event).map(held_key) {
            // What is not decided of the text is looked at by no one, and kept nowhere but sealed.
            if let Some(around) = value.as_object_mut() {
                around.remove("text");
            }
            let around = Searched::of(value, engine.fingerprint_key())?;
            let chunk = join(engine, policy, &event, &around, &name)?;
            event.text = Some(chunk.text.clone());
            value = serde_json::to_value(&event)?;
            joined = Some(chunk);
        }
        let searched = Searched::of_chunk(value, joined.as_ref(), engine.fingerprint_key())?;
        let session = searched.masked(&event).session.clone().unwrap_or_default();
        if event.is_new_run() {
            // Nobody needs an answer for the run before it.
            engine.asking().cancel_run(&session);
        }
        let (dear, hooked, belated) = (Mutex::default(), Mutex::default(), Mutex::default());
        let is_hurried = false;
        Ok(Walk {
            engine,
            policy,
            now,
            event,
            searched,
            session,
            last_policy,
            restored,
            dear,
            joined,
            hooked,
            belated,
            is_hurried,
        })
    }

    /// The same walk in a hurry: where it would have to wait, it ends with [`EngineError::TakesTime`].
    pub(crate) fn in_a_hurry(mut self) -> Self {
        self.is_hurried = true;
        self
    }

    /// The event, to be walked again.
    pub(crate) fn into_event(self) -> Event {
        self.event
    }

    /// Walks until the decision is on record. Others may change the session meanwhile: then everything that was known
    /// is looked at again.
    pub(crate) fn run(&self, once: Option<&Once>) -> Result<Decision, EngineError> {
        let mut salt = None;
        for _ in 0..MAX_TRIES {
            let ready = match self.prepare(once, &mut salt)? {
                Prepared::Decided(decision) => return Ok(*decision),
                Prepared::Ready(ready) => ready,
            };
            match self.engine.store().commit(&ready.commit) {
                Ok(place) => return Ok(self.conclude(*ready, place)),
                // The stream may have gone on: the chunk has to be joined to it anew.
                Err(StoreError::Conflict { .. }) if self.joined.is_some() => break,
                Err(StoreError::Conflict { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::Contended)
    }

    /// Decides, and makes ready what is to be committed. Nothing is written yet.
    pub(crate) fn prepare(
        &self,
        once: Option<&Once>,
        salt: &mut Option<String>,
    ) -> Result<Prepared, EngineError> {
        self.engine.settle_requests(Some(&self.session))?;
        let (decision, mut known) = loop {
            let before = once.map(|once| once.decided(&**self.engine.store(), &self.session));
            if let Some(decision) = before.transpose()?.flatten() {
                return Ok(Prepared::Decided(Box::new(decision)));
            }
            let mut known = Known { session: Session::new(&*self.session), ..Known::default() };
            known.facts.request_salt.clone_from(salt);
            if let Some(joined) = &self.joined {
                known.facts.passed = joined.passed;
                known.facts.overlong = joined.overlong;
            }
            let decision = self.settle(&mut known)?;
            if salt.is_some() || !approvals::has_used_name(&**self.engine.store(), &decision)? {
                break (decision, known);
            }
            *salt = Some(unique_id());
        };
        let mut read: Vec<(String, u64)> = if self.restored.is_some() {
            Vec::new()
        } else {
            std::mem::take(&mut known.versions).into_iter().collect()
        };
        // Whoever sent the text of a stream gets it back, but for what guardrails replaced.
        let content = self.joined.is_some().then(|| decision.content.clone());
        let gone = known.gone.take();
        let mut record = self.record(decision, known)?;
        if let Some(joined) = &self.joined {
            read.push(joined.slice.clone());
            if !self.searched.mask.is_empty() {
                // The record shows the text without its secrets, and what passed as it follows from that.
                record.decision.content = record.replay(self.policy).content;
            }
            joined.conclude(&mut record.decision, self.engine.fingerprint_key())?;
        }
        let approvals =
            approvals::changes(&**self.engine.store(), self.policy, self.engine.fingerprint_key(), &record)?;
        let mut notices = notices::of(&record, &approvals);
        notices.extend(gone.as_ref().map(|gone| kept::notice(gone, &self.session)));
        let mut changes = record.decision.changes.clone();
        approvals::overdue::note(&**self.engine.store(), &approvals, &mut read, &mut changes)?;
        if let Some(once) = once {
            once.write(&mut read, &mut changes);
        }
        let replace_all = self.restored.clone();
        let commit = Commit { read, changes, replace_all, approvals, notices, ..Commit::of(record) };
        Ok(Prepared::Ready(Box::new(Ready { commit, content, gone })))
    }

    /// The decision, now that it is on record, after everyone who is to hear of it was told.
    pub(crate) fn conclude(&self, ready: Ready, place: AuditRef) -> Decision {
        let record = ready.commit.record.into_owned();
        self.engine.tell(&record, &place);
        self.engine.tell_others(&ready.commit.notices);
        self.engine.alert_on(&record);
        let hastened = self.engine.hasten_for_scripts(&record, place.seq);
        self.settle_outside(&record);
        let mut decision = record.decision;
        // Whoever asked is told how long there is, now that it is urgent.
        for request in decision.approval.iter_mut().chain(&mut decision.requests) {
            if let Some(approval) = hastened.iter().find(|approval| approval.id == request.id) {
                request.expires = approval.deadline();
            }
        }
        decision.audit = Aside(Some(place));
        if let Some(content) = ready.content {
            decision.content = content;
        }
        decision.feedback.splice(0..0, ready.gone.as_deref().map(kept::message));
        decision
    }

    /// What is left to do with those outside, now that the event is decided.
    fn settle_outside(&self, record: &Record) {
        for belated in self.belated.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            self.engine.late_box().put(&self.session, belated);
        }
        // Nobody needs an answer for a run that is over.
        if record.decision.effect == Effect::Halt || self.event.kind == EventKind::SessionEnd {
            self.engine.asking().cancel_run(&self.session);
        }
    }

    /// Evaluates and fetches until nothing is lacking.
    fn settle(&self, known: &mut Known) -> Result<Decision, EngineError> {
        let standing = standing_keys(&self.event, &self.session);
        let shape = Shape::of(&self.event);
        let foreseen = self.engine.foresight.of(&shape);
        if self.is_hurried && !foreseen.scripts.is_empty() {
            return Err(EngineError::TakesTime);
        }
        self.engine.scripts().rouse(&foreseen.scripts, &self.session);
        let foreseen = || foreseen.slices.iter().filter(|key| !standing.contains(key));
        let own = [ROOT].into_iter().chain(self.last_policy.as_ref().map(|_| POLICY));
        self.load(known, standing.iter().chain(foreseen()).map(String::as_str).chain(own))?;
        known.set_apart(foreseen());
        let pinned = known.session.slices.remove(ROOT).flatten();
        let before = known.session.slices.remove(POLICY).flatten();
        let root = self.root(pinned.as_ref());
        known.facts.root = root.as_ref().map(|root| root.real.clone());
        if let Some(past) = self.engine.files().past() {
            past.learn(known.facts.root.as_deref(), &self.event);
        }
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
            if evaluation.needs.is_empty() {
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
            let Needs { slices, mut facts, within_ms } = evaluation.needs;
            known.within_ms.extend(within_ms);
            self.load(known, slices.iter().map(String::as_str))?;
            let dear = facts.extract_if(.., is_dear).collect::<Vec<_>>();
            // What costs much is fetched when nothing else is lacking: it may not be needed once that is known.
            if slices.is_empty() && facts.is_empty() {
                if self.is_hurried {
                    return Err(EngineError::TakesTime);
                }
                self.fetch_dear(dear, known);
            }
            for key in facts {
                let fact = self.fetch(&key, known);
                known.facts.insert(key, fact);
            }
        }
        Err(EngineError::Endless)
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
            let called = known.facts.known.keys().filter_map(|key| match key {
                FactKey::Hook(call) => Some(&call.script),
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
        let mask = &self.searched.mask;
        if mask.is_empty() { key.to_owned() } else { mask.key(key, self.engine.fingerprint_key()) }
    }

    fn fetch(&self, key: &FactKey, known: &Known) -> Fact {
        let root = known.facts.root.as_deref().map(Path::new);
        match key {
            FactKey::Action => action::of(&self.event).map_or_else(Fact::Unavailable, Fact::Action),
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
            FactKey::Hook(call) => self.hook(key, call, known),
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
    fn fetch_dear(&self, keys: Vec<FactKey>, known: &mut Known) {
        let mut fetched = self.dear.lock().unwrap_or_else(PoisonError::into_inner);
        // A script is asked again where its variables were changed meanwhile.
        let is_lacking = |key: &&FactKey| matches!(key, FactKey::Hook(_)) || !fetched.contains_key(*key);
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
            fetched.extend(found);
        }
        for key in keys {
            if let Some(fact) = fetched.get(&key) {
                known.facts.insert(key, fact.clone());
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

    /// What a script answers. It is asked once for this event, unless its variables were changed meanwhile.
    fn hook(&self, key: &FactKey, call: &HookCall, known: &Known) -> Fact {
        let module = format!("{}{MODULE}", state_prefix(&call.script, None));
        let state = known.session.get(&module).flatten().cloned();
        let hooked = || self.hooked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((before, fact)) = hooked().get(key)
            && *before == state
        {
            return fact.clone();
        }
        let occasion = Occasion {
            engine: self.engine,
            policy: self.policy,
            event: &self.event,
            session: &self.session,
            facts: &known.facts,
            restored: self.restored.as_ref(),
        };
        let fact = occasion.run(call, state.clone());
        hooked().insert(key.clone(), (state, fact.clone()));
        fact
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

    /// The record of a decision, with everything that was found secret replaced by its tag.
    fn record(&self, mut decision: Decision, known: Known) -> Result<Record, EngineError> {
        let changes = std::mem::take(&mut decision.changes);
        let requests = std::mem::take(&mut decision.requests);
        // Where scripts replaced the result, everyone else looked at what they left.
        let rewritten = match &known.rewritten {
            Some(event) => Some(Searched::of(serde_json::to_value(event)?, self.engine.fingerprint_key())?),
            None => None,
        };
        let searched = rewritten.as_ref().unwrap_or(&self.searched);
        let mut facts = known.facts;
        if let Some(Fact::Secrets(findings)) = facts.known.get_mut(&FactKey::Secrets) {
            findings.clone_from(&searched.tags);
        }
        for fact in facts.known.values_mut() {
            match (fact, &known.rewritten) {
                (Fact::Findings(findings), _) => {
                    secrets::follow(findings, &searched.findings, &searched.tags);
                }
                // The record shows what they left as everyone's findings have it.
                (Fact::Hook(HookEnd { answer: HookAnswer::Replace { result, .. }, .. }), Some(event))
                    if content(event) == Some(result) =>
                {
                    *result = content(searched.masked(event)).cloned().unwrap_or_default();
                }
                _ => {}
            }
        }
        let masks: Vec<&Mask> = rewritten
            .iter()
            .map(|searched| &searched.mask)
            .chain([&self.searched.mask])
            .filter(|mask| !mask.is_empty())
            .collect();
        let hidden = |value: Value| masks.iter().fold(value, |value, mask| mask.value(value));
        // Most decisions stop nothing, and need no name for it.
        let id = if decision.effect >= Effect::Block { unique_id() } else { String::new() };
        let denied = PolicyDenied::of(&self.event, &decision, &self.session, self.now, id);
        let mut record = Record {
            time: self.now,
            session: self.session.clone(),
            event: self.searched.masked(&self.event).clone(),
            slices: known.session.slices,
            facts,
            decision,
            denied,
        };
        if !masks.is_empty() {
            record = serde_json::from_value(hidden(serde_json::to_value(&record)?))?;
        }
        self.hide_what_came_to_light(&mut record)?;
        let kept = changes.0.into_iter().map(|(key, value)| (self.kept_key(&key), value.map(&hidden)));
        record.decision.changes = Changes(kept.collect());
        record.decision.requests = requests;
        Ok(record)
    }
}

/// How far an event came without anything being written.
pub(crate) enum Prepared {
    /// It was decided before.
    Decided(Box<Decision>),
    /// It is decided, and takes effect once it is on record.
    Ready(Box<Ready>),
}

/// A decision that is not on record yet.
pub(crate) struct Ready {
    /// All that is to be written.
    pub(crate) commit: Commit<'static>,
    /// The text of a stream, as its sender gets it back.
    content: Option<Option<String>>,
    /// A file that is gone, of which people are told now.
    gone: Option<PathBuf>,
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
    /// The event as guardrails see it, where scripts replaced its result.
    rewritten: Option<Event>,
    /// Milliseconds that there are for a fact.
    within_ms: BTreeMap<FactKey, u64>,
    /// A file of the policy that is gone, and of which nobody was told.
    gone: Option<PathBuf>,
}

impl Known {
    fn shown<'k>(&'k self, event: &'k Event) -> &'k Event {
        self.rewritten.as_ref().unwrap_or(event)
    }

    /// Sets slices apart that were loaded although nobody has asked for them yet.
    fn set_apart<'k>(&mut self, keys: impl Iterator<Item = &'k String>) {
        for key in keys {
            if let Some((key, slice)) = self.session.slices.remove_entry(key) {
                self.session.foreseen.insert(key, slice);
            }
        }
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

/// The text of an event's result.
fn content(event: &Event) -> Option<&String> {
    match event.result.as_ref()?.content.as_ref()? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(map) => map.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    below.unwrap_or(0) + 1
}
