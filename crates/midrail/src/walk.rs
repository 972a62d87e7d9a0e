//! The walk of one event: fetch what the policy needs, decide, make the record, commit. Nothing that was found secret
//! leaves it: not in the record, not in a key, not in the decision.

mod facts;
mod record;
mod settle;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use midrail_core::{
    Aside, AuditRef, BEGAN, Decision, Effect, Event, EventKind, Fact, FactKey, Finding, HookCall, Policy,
    RESERVED_IDS, Record, Session, standing_keys, stream_of,
};
use midrail_detect::secrets::{self, Mask};
use midrail_store::{Commit, Store, StoreError};
use serde_json::Value;

use self::settle::Known;
use crate::approvals;
use crate::chunks::{Joined, held_key};
use crate::engine::{Engine, EngineError, MAX_TRIES, unique_id};
use crate::hooks::Begun;
use crate::kept::{self, LastPolicy};
use crate::notices;
use crate::once::Once;
use crate::outside::Belated;

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
    hooked: Mutex<Vec<(HookCall, Option<Value>, Fact)>>,
    /// The script that was called before its answer is asked for.
    begun: Mutex<Option<Ahead>>,
    /// Answers of a made-up world that nobody waited for.
    belated: Mutex<Vec<Belated>>,
    /// Nothing is waited for: what takes time is left to another walk.
    is_hurried: bool,
}

/// A call of a script, the variables that it has, and where it is at.
type Ahead = (HookCall, Option<Value>, Begun);

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
    fn of(value: Value, of: Of<'_>) -> Result<Self, EngineError> {
        Searched::of_chunk(value, None, of)
    }

    /// The same, where the secrets of the text are known from its stream.
    fn of_chunk(mut value: Value, joined: Option<&Joined>, of: Of<'_>) -> Result<Self, EngineError> {
        let Of { engine, policy } = of;
        let key = engine.fingerprint_key();
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
        let named: Event = serde_json::from_value(value.clone())?;
        let standing = standing_keys(&named, named.session.as_deref().unwrap_or_default());
        let names = names_of(&named).into_iter().chain(standing.iter().map(String::as_str));
        let ids = policy.entries().iter().map(|entry| &*entry.spec.id).chain(RESERVED_IDS.iter().copied());
        let mask = mask.sparing(&names.chain(ids).filter(|name| !name.is_empty()).collect::<Vec<_>>());
        // Which session it is does not follow from what else is in the event.
        let masked = Event { session: named.session, ..serde_json::from_value(mask.value(value))? };
        Ok(Searched { masked: Some(masked), findings, tags, mask })
    }

    /// The event that was searched, as it is recorded.
    fn masked<'s>(&'s self, event: &'s Event) -> &'s Event {
        self.masked.as_ref().unwrap_or(event)
    }
}

/// Who searches: an engine, and the policy that it decides with.
#[derive(Clone, Copy)]
struct Of<'e> {
    engine: &'e Engine,
    policy: &'e Policy,
}

/// What an event calls those who take part in it.
fn names_of(event: &Event) -> Vec<&str> {
    let agent = event.agent.as_ref().and_then(|agent| agent.id.as_deref());
    let task = event.task.as_ref().and_then(|task| task.id.as_deref());
    let (prompt, parent) = (event.prompt.as_deref(), event.parent.as_deref());
    let names = [event.session.as_deref(), agent, task, prompt, parent, event.tool_name(), event.call_id()];
    names.into_iter().flatten().collect()
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
            let around = Searched::of(value, Of { engine, policy })?;
            let chunk = join(engine, policy, &event, &around, &name)?;
            event.text = Some(chunk.text.clone());
            value = serde_json::to_value(&event)?;
            joined = Some(chunk);
        }
        let searched = Searched::of_chunk(value, joined.as_ref(), Of { engine, policy })?;
        let session = searched.masked(&event).session.clone().unwrap_or_default();
        if event.is_new_run() {
            // Nobody needs an answer for the run before it.
            engine.asking().cancel_run(&session);
        }
        let (dear, hooked) = (Mutex::default(), Mutex::default());
        let (begun, belated) = (Mutex::default(), Mutex::default());
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
            begun,
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
            // A script that was called in vain need not go on.
            drop(self.begun().take());
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

fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(map) => map.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    below.unwrap_or(0) + 1
}
