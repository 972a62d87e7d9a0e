//! The walk of one event: take the policy, fetch what it needs, decide, record, answer. No record, no allow.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use jiff::Timestamp;
use midrail_core::{
    Aside, Decision, Effect, Entry, Event, Fact, FactKey, Facts, HALTED, Needs, Policy, PolicyDenied, Record,
    Session, evaluate, hex,
};
use midrail_detect::{action, secrets};
use midrail_pack::PolicySource;
use midrail_store::{Commit, MemoryStore, Store, StoreError};
use serde_json::Value;

use crate::approvals;
use crate::clock::{Clock, Stopwatch, SystemClock};
use crate::files::Files;
use crate::session::SessionHandle;

/// Rounds of fetching that one decision may take. Each one asks for something that the last one made known.
const MAX_ROUNDS: usize = 8;

/// Tries against others that change the same session at the same time.
const MAX_TRIES: usize = 1_000;

/// The engine: a policy, a store and the probes, for any number of sessions and threads.
pub struct Engine {
    policy: RwLock<InForce>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    files: Arc<Files>,
    root: Option<PathBuf>,
    fingerprint_key: [u8; 32],
    listeners: RwLock<Vec<Arc<Listener>>>,
    saved_revisions: Mutex<Vec<Arc<str>>>,
}

/// Hears of every tool call that was stopped.
pub type Listener = dyn Fn(&PolicyDenied) + Send + Sync;

#[derive(Clone)]
struct InForce {
    policy: Arc<Policy>,
    /// What the packs of it say, for replay. Guardrails that a program registered are not part of it.
    source: Arc<str>,
}

/// Why a decision could not be made or recorded. Whoever asks for a [`Decision`] gets a block instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What the decision needs to know never came to an end.
    #[error("the decision still lacked something after {MAX_ROUNDS} rounds of fetching")]
    Endless,
    /// The session changed under every try.
    #[error("the session was changed by others at every one of {MAX_TRIES} tries")]
    Contended,
    /// The event could not be written as JSON.
    #[error("the event cannot be recorded: {0}")]
    Unrecordable(#[from] serde_json::Error),
    /// The event is nested deeper than can be recorded.
    #[error("the event is nested more than {} levels deep", Event::MAX_DEPTH)]
    TooDeep,
    /// There is no approval of this name, or it is not waiting for an answer.
    #[error("{0}")]
    Approval(String),
}

/// Puts an engine together.
pub struct EngineBuilder {
    policy: Policy,
    source: String,
    store: Option<Arc<dyn Store>>,
    clock: Arc<dyn Clock>,
    files: Arc<Files>,
    root: Option<PathBuf>,
}

impl EngineBuilder {
    /// Keeps sessions and the audit log here. Without one they are kept in memory.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Takes the time from here.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Takes file facts from here.
    pub fn files(mut self, files: Arc<Files>) -> Self {
        self.files = files;
        self
    }

    /// The folder that paths are resolved against. Without one it is each event's `cwd`.
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// The engine.
    pub fn build(self) -> Result<Engine, EngineError> {
        let store = match self.store {
            Some(store) => store,
            None => Arc::new(MemoryStore::new()?),
        };
        let fingerprint_key = store.fingerprint_key()?;
        Ok(Engine {
            policy: RwLock::new(InForce { policy: Arc::new(self.policy), source: self.source.into() }),
            store,
            clock: self.clock,
            files: self.files,
            root: self.root,
            fingerprint_key,
            listeners: RwLock::default(),
            saved_revisions: Mutex::default(),
        })
    }
}

impl Engine {
    /// An engine of a policy and of what its packs say.
    pub fn builder(policy: Policy, source: &PolicySource) -> EngineBuilder {
        EngineBuilder {
            policy,
            source: source.to_json(),
            store: None,
            clock: Arc::new(SystemClock),
            files: Arc::new(Files::Disk),
            root: None,
        }
    }

    /// Decides one event, and records it before answering. Whatever goes wrong, the answer is a block that says so.
    pub fn decide(&self, event: Event) -> Decision {
        self.try_decide(event).unwrap_or_else(|error| self.refusal(&error))
    }

    /// Decides one event, or says why it could not be decided and recorded. The action must not happen then.
    pub fn try_decide(&self, event: Event) -> Result<Decision, EngineError> {
        self.decide_with(event, None)
    }

    /// A session, to decide events in.
    pub fn session(self: &Arc<Self>, id: impl Into<String>) -> SessionHandle {
        SessionHandle::new(self.clone(), id.into())
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<Policy> {
        self.in_force().policy
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Where file facts come from.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// The folder that paths are resolved against, if one was set.
    pub fn root(&self) -> Option<&std::path::Path> {
        self.root.as_deref()
    }

    /// Now, by the engine's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Puts a guardrail in force, or replaces the one of the same id. It governs from the next event on.
    pub fn register(&self, entry: Entry) {
        let mut current = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        current.policy = Arc::new(current.policy.with(entry));
    }

    /// Takes a guardrail out of force. `false`: there is none of that id.
    pub fn unregister(&self, id: &str) -> bool {
        let mut current = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        match current.policy.without(id) {
            Some(policy) => {
                current.policy = Arc::new(policy);
                true
            }
            None => false,
        }
    }

    /// Calls a function for every tool call that is stopped.
    pub fn on_denied(&self, listener: impl Fn(&PolicyDenied) + Send + Sync + 'static) {
        self.listeners.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(listener));
    }

    fn in_force(&self) -> InForce {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Decides, and where a snapshot is given puts it in place of the session in the same transaction.
    pub(crate) fn decide_with(
        &self,
        mut event: Event,
        restored: Option<BTreeMap<String, Value>>,
    ) -> Result<Decision, EngineError> {
        let now = self.clock.now();
        event.time.get_or_insert(now);
        let session_id = event.session.get_or_insert_with(|| "default".to_owned()).clone();
        let in_force = self.in_force();
        let policy = &*in_force.policy;
        self.save_policy(&in_force)?;

        let mut value = serde_json::to_value(&event)?;
        if depth(&value) > Event::MAX_DEPTH {
            return Err(EngineError::TooDeep);
        }
        let findings = secrets::scan_json(&value, &self.fingerprint_key);
        let mut tags = Vec::new();
        let masked = if findings.is_empty() {
            event.clone()
        } else {
            tags = secrets::mask(&mut value, &findings);
            serde_json::from_value(value)?
        };
        let mut facts = self.first_facts(&event, !findings.is_empty());

        for _ in 0..MAX_TRIES {
            let mut session = Session::new(&*session_id);
            let mut versions = BTreeMap::new();
            match &restored {
                Some(slices) => {
                    session.slices =
                        slices.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect();
                }
                None => self.load(&mut session, &mut versions, [HALTED])?,
            }
            let decision = self.settle(policy, &event, &mut session, &mut versions, &mut facts, &findings)?;
            let read = if restored.is_some() { Vec::new() } else { versions.into_iter().collect() };
            let slices =
                if restored.is_some() { only_read(policy, &session, &facts, &event) } else { session.slices };
            let denied = PolicyDenied::of(&event, &decision, &session_id, now, unique_id());
            let record = Record {
                time: now,
                session: session_id.clone(),
                event: masked.clone(),
                slices,
                facts: as_recorded(&facts, &tags),
                decision,
                denied,
            };
            let approvals = approvals::changes(&*self.store, &record)?;
            let commit = Commit {
                record: &record,
                read,
                changes: record.decision.changes.clone(),
                replace_all: restored.clone(),
                approvals,
            };
            match self.store.commit(&commit) {
                Ok(place) => {
                    self.tell(&record);
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
    fn settle(
        &self,
        policy: &Policy,
        event: &Event,
        session: &mut Session,
        versions: &mut BTreeMap<String, u64>,
        facts: &mut Facts,
        findings: &[midrail_core::Finding],
    ) -> Result<Decision, EngineError> {
        let stopwatch = Stopwatch::start();
        for _ in 0..MAX_ROUNDS {
            let evaluation = evaluate(policy, session, facts, event, &stopwatch);
            if evaluation.needs.is_empty() {
                return Ok(evaluation.decision);
            }
            let Needs { slices, facts: wanted } = evaluation.needs;
            self.load(session, versions, slices.iter().map(String::as_str))?;
            for key in wanted {
                let fact = self.fetch(&key, event, facts.root.as_deref(), findings);
                facts.insert(key, fact);
            }
        }
        Err(EngineError::Endless)
    }

    fn load<'k>(
        &self,
        session: &mut Session,
        versions: &mut BTreeMap<String, u64>,
        keys: impl IntoIterator<Item = &'k str>,
    ) -> Result<(), StoreError> {
        let keys: Vec<&str> = keys.into_iter().collect();
        if keys.is_empty() {
            return Ok(());
        }
        for (key, slice) in keys.iter().zip(self.store.load(&session.id, &keys)?) {
            versions.insert((*key).to_owned(), slice.version);
            session.load(*key, slice.value);
        }
        Ok(())
    }

    /// What is cheap to know and nearly always asked for.
    fn first_facts(&self, event: &Event, has_secrets: bool) -> Facts {
        let root =
            self.root.as_ref().map(|root| root.to_string_lossy().into_owned()).or_else(|| event.cwd.clone());
        let mut facts = Facts { root, ..Facts::default() };
        if event.tool.is_some() {
            facts.insert(FactKey::Action, Fact::Action(action::of(event)));
        }
        if has_secrets {
            // A record shows arguments without their secrets, so the exact action is kept as a keyed digest.
            facts.action_digest = Some(self.keyed_digest(event));
        }
        facts
    }

    fn keyed_digest(&self, event: &Event) -> String {
        let action = serde_json::json!([
            event.kind,
            event.tool,
            event.text,
            event.handoff,
            event.result,
            event.output,
            event.error,
            event.session,
            event.task_id(),
        ]);
        secrets::fingerprint(&action.to_string(), &self.fingerprint_key)
    }

    fn fetch(
        &self,
        key: &FactKey,
        event: &Event,
        root: Option<&str>,
        findings: &[midrail_core::Finding],
    ) -> Fact {
        match key {
            FactKey::Action => Fact::Action(action::of(event)),
            FactKey::Secrets => Fact::Secrets(findings.to_vec()),
            FactKey::File(place) => self.files.probe(root.map(std::path::Path::new), place),
            FactKey::Answer(name) => Fact::Unavailable(format!("no probe answers `{name}`")),
        }
    }

    /// Keeps what the packs say under the revision that decides, once a process.
    fn save_policy(&self, InForce { policy, source }: &InForce) -> Result<(), StoreError> {
        let revision = policy.revision();
        let mut saved = self.saved_revisions.lock().unwrap_or_else(PoisonError::into_inner);
        if !saved.contains(revision) {
            if self.store.policy(revision)?.is_none() {
                self.store.save_policy(revision, source)?;
            }
            saved.push(revision.clone());
        }
        Ok(())
    }

    /// Tells the log and the listeners.
    fn tell(&self, record: &Record) {
        let tool = record.event.tool_name().unwrap_or("-");
        if log::log_enabled!(log::Level::Debug) {
            for said in &record.decision.verdicts {
                let effect = said.effect.map_or("skipped", Effect::word);
                log::debug!("policy check policy={} tool={tool} effect={effect}", said.guardrail);
            }
        }
        if let Some(denied) = &record.denied {
            log::warn!(
                "policy denied tool execution policy={} tool={tool} reason={:?}",
                denied.policy_name,
                denied.reason
            );
            let listeners = self.listeners.read().unwrap_or_else(PoisonError::into_inner).clone();
            for listener in listeners {
                listener(denied);
            }
        }
    }

    fn refusal(&self, error: &EngineError) -> Decision {
        log::error!("no decision: {error}");
        Decision {
            effect: Effect::Block,
            by: Some("midrail".into()),
            reason: format!("the decision could not be made and recorded, so this does not happen: {error}"),
            advice: match error {
                EngineError::Store(error) => error.help().map(str::to_owned),
                _ => None,
            },
            policy: self.policy().revision().clone(),
            ..Decision::default()
        }
    }
}

/// The facts for a record: what was found stands where the tags of the masked event do.
fn as_recorded(facts: &Facts, tags: &[midrail_core::Finding]) -> Facts {
    let mut facts = facts.clone();
    if let Some(Fact::Secrets(findings)) = facts.known.get_mut(&FactKey::Secrets) {
        *findings = tags.to_vec();
    }
    facts
}

fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(map) => map.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    below.unwrap_or(0) + 1
}

/// After a restore the whole session is at hand; the record holds what the decision read of it.
fn only_read(
    policy: &Policy,
    session: &Session,
    facts: &Facts,
    event: &Event,
) -> BTreeMap<String, Option<Value>> {
    let mut seen = Session::new(&*session.id);
    for _ in 0..MAX_ROUNDS {
        let needs = evaluate(policy, &seen, facts, event, &midrail_core::Unmetered).needs;
        if needs.slices.is_empty() {
            break;
        }
        for key in needs.slices {
            let value = session.slices.get(&key).cloned().flatten();
            seen.load(key, value);
        }
    }
    seen.slices
}

/// A random name of the form of a UUID, version 4.
fn unique_id() -> String {
    let mut bytes = [0_u8; 16];
    if getrandom::fill(&mut bytes).is_err() {
        return "00000000-0000-4000-8000-000000000000".to_owned();
    }
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
    *version = (*version & 0x0f) | 0x40;
    *variant = (*variant & 0x3f) | 0x80;
    let text = hex(&bytes);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}
