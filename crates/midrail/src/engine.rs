//! The engine: a policy, a store and probes. Whatever goes wrong is a block: no record, no allow.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use midrail_core::{
    AuditRef, Decision, Effect, Entry, Event, EventKind, Policy, PolicyDenied, Record, hex, stream_of,
};
use midrail_pack::PolicySource;
use midrail_store::{MemoryStore, Store, StoreError};
use serde_json::Value;

use crate::alerts::{self, Watch};
use crate::clock::{Clock, SystemClock};
use crate::deep::Asking;
use crate::files::Files;
use crate::foresight::Foresight;
use crate::kept::{self, LastPolicy};
use crate::load::Loaded;
use crate::notices::Channels;
use crate::once::Once;
use crate::outside::{LateBox, MAX_LATE};
use crate::scripts::Scripts;
use crate::session::SessionHandle;
use crate::walk::Walk;

/// Rounds of fetching that one decision may take. Each one asks for something that the last one made known.
pub(crate) const MAX_ROUNDS: usize = 64;

/// Tries against others that change the same session at the same time.
pub(crate) const MAX_TRIES: usize = 1_000;

/// The engine: a policy, a store and the probes, for any number of sessions and threads.
pub struct Engine {
    policy: RwLock<InForce>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    files: Arc<Files>,
    pub(crate) foresight: Foresight,
    scripts: Scripts,
    script_output: Option<Arc<ScriptOutput>>,
    /// When scripts are to have answered, whatever time their settings give them.
    scripts_by: OnceLock<Instant>,
    is_last: bool,
    kept_for: Option<PathBuf>,
    asking: Asking,
    root: Option<PathBuf>,
    project: Option<PathBuf>,
    own_places: Vec<String>,
    fingerprint_key: [u8; 32],
    listeners: RwLock<Vec<Arc<Listener>>>,
    recorders: RwLock<Vec<Arc<Recorder>>>,
    saved_revisions: Mutex<Vec<Arc<str>>>,
    /// When it was last looked which reviews are overdue, and when that is to be looked at again.
    pub(crate) reviews_looked_at: Mutex<Option<(Timestamp, Timestamp)>>,
    /// Deliveries that are under way.
    background: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

/// Hears of every tool call that was stopped.
pub type Listener = dyn Fn(&PolicyDenied) + Send + Sync;

/// Hears of every record, once it is written.
type Recorder = dyn Fn(&Record, &AuditRef) + Send + Sync;

#[derive(Clone)]
pub(crate) struct InForce {
    pub(crate) policy: Arc<Policy>,
    /// What the packs of it say, for replay. Guardrails that a program registered are not part of it.
    source: Arc<str>,
    /// What the program did to it, and does again to every policy that takes its place.
    own: Arc<Own>,
    /// What the packs say beside guardrails: whom to tell, and what to be alerted to.
    rules: Arc<Rules>,
}

/// What packs say that no decision depends on.
#[derive(Default)]
struct Rules {
    /// The files that it was read from, under every name that they have.
    files: Vec<String>,
    /// Those of the user and the project that nothing else leads to.
    own_files: Vec<PathBuf>,
    channels: Arc<Channels>,
    watches: Arc<[Watch]>,
}

impl Rules {
    fn of(source: &PolicySource) -> Arc<Self> {
        let (channels, watches) = (Arc::new(Channels::of(source)), alerts::of(source).into());
        let own_files = kept::files(source);
        Arc::new(Rules { files: files_of(source), own_files, channels, watches })
    }
}

/// The files that a policy was read from: packs, scripts and what belongs to them, and where links lead to.
fn files_of(source: &PolicySource) -> Vec<String> {
    let mut source = source.clone();
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    for pack in &mut source.0 {
        files.insert(PathBuf::from(&pack.path));
        for script in pack.pack.scripts_mut() {
            files.extend(script.file.iter().chain(&script.belongs).map(PathBuf::from));
        }
    }
    let absolute = |file: PathBuf| std::path::absolute(&file).unwrap_or(file);
    let files = files.into_iter().filter(|file| !file.starts_with("midrail:")).map(absolute);
    let named = files.flat_map(|file| [file.canonicalize().unwrap_or_else(|_| file.clone()), file]);
    let named: BTreeSet<String> = named.map(|file| file.to_string_lossy().into_owned()).collect();
    named.into_iter().collect()
}

/// Guardrails that a program put in force or took out of it, by id.
#[derive(Clone, Default)]
struct Own {
    registered: BTreeMap<Arc<str>, Entry>,
    unregistered: BTreeSet<String>,
}

impl Own {
    fn applied_to(&self, mut policy: Policy) -> Policy {
        for id in &self.unregistered {
            policy = policy.without(id).unwrap_or(policy);
        }
        self.registered.values().fold(policy, |policy, entry| policy.with(entry.clone()))
    }
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
    /// A snapshot was taken of another session.
    #[error("the snapshot is of the session `{taken}`, and not of `{given}`")]
    OtherSession {
        /// The session that it is of.
        taken: String,
        /// The session that it was to be put back in.
        given: String,
    },
    /// The event is of a kind that the engine makes itself.
    #[error("events of the kind `{0}` are made by the engine itself")]
    OwnKind(EventKind),
    /// What is held back of a stream cannot be read or kept.
    #[error("what is held back of the stream `{0}` cannot be read: begin a stream of another name")]
    Stream(String),
    /// Answers came faster than events that could hear them.
    #[error("{MAX_LATE} answers of this session are waiting already")]
    TooManyLate,
    /// A key that makes an event be decided once was used for another event.
    #[error("this key was used in this session for another event")]
    OtherEvent,
    /// Something has to be waited for, and that was not wanted.
    #[error("the decision takes time: a command, a script or somebody outside has to be asked")]
    TakesTime,
    /// There is no approval of this name, or it is not waiting for an answer.
    #[error("{0}")]
    Approval(String),
    /// Whoever asks may not: another role has to, or another person.
    #[error("{0}")]
    NotAllowed(String),
    /// What was given says nothing that could be done.
    #[error("{0}")]
    Senseless(String),
}

/// Puts an engine together.
pub struct EngineBuilder {
    policy: Policy,
    source: String,
    rules: Arc<Rules>,
    store: Option<Arc<dyn Store>>,
    clock: Arc<dyn Clock>,
    files: Arc<Files>,
    root: Option<PathBuf>,
    project: Option<PathBuf>,
    own_places: Vec<PathBuf>,
    script_output: Option<Arc<ScriptOutput>>,
    is_last: bool,
    kept_for: Option<PathBuf>,
}

/// Hears what scripts print.
pub(crate) type ScriptOutput = dyn Fn(&str) + Send + Sync;

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

    /// The folder that sessions begin in. Each keeps the one that it began in; without one that is its first `cwd`.
    pub fn project(mut self, project: impl Into<PathBuf>) -> Self {
        self.project = Some(project.into());
        self
    }

    /// Files and folders of Midrail's own, which agents leave alone wherever they lie: the store, packs.
    pub fn own_places(mut self, places: impl IntoIterator<Item = PathBuf>) -> Self {
        self.own_places.extend(places);
        self
    }

    /// The process ends with the event that is decided: those outside are waited for as long as they may take, because
    /// nobody would hear what they say later.
    pub fn for_one_event(mut self) -> Self {
        self.is_last = true;
        self
    }

    /// The policy is the one that the session had ([`LastPolicy::load`]), because this file of it is gone. People are told
    /// once.
    pub fn kept_for(mut self, gone: Option<PathBuf>) -> Self {
        self.kept_for = gone;
        self
    }

    /// Calls a function with every line that scripts print with `console`. Without one it goes to the log.
    pub fn on_script_output(mut self, hear: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.script_output = Some(Arc::new(hear));
        self
    }

    /// The engine.
    pub fn build(self) -> Result<Engine, EngineError> {
        let store = match self.store {
            Some(store) => store,
            None => Arc::new(MemoryStore::new()?),
        };
        let fingerprint_key = store.fingerprint_key()?;
        // Wherever the process goes, the root stays what it was.
        let root = self.root.map(|root| std::path::absolute(&root).unwrap_or(root));
        let asking = Asking::new(store.clone(), self.clock.clone(), &fingerprint_key, self.is_last);
        Ok(Engine {
            policy: RwLock::new(InForce {
                policy: Arc::new(self.policy),
                source: self.source.into(),
                own: Arc::default(),
                rules: self.rules,
            }),
            store,
            clock: self.clock.clone(),
            files: self.files,
            scripts: Scripts::default(),
            script_output: self.script_output,
            scripts_by: OnceLock::new(),
            is_last: self.is_last,
            kept_for: self.kept_for,
            asking,
            root,
            project: self.project,
            own_places: self
                .own_places
                .iter()
                .map(|place| std::path::absolute(place).unwrap_or_else(|_| place.clone()))
                .map(|place| place.to_string_lossy().into_owned())
                .collect(),
            fingerprint_key,
            foresight: Foresight::default(),
            listeners: RwLock::default(),
            recorders: RwLock::default(),
            saved_revisions: Mutex::default(),
            reviews_looked_at: Mutex::default(),
            background: Mutex::default(),
        })
    }
}

impl Engine {
    /// An engine of a policy and of what its packs say.
    pub fn builder(policy: Policy, source: &PolicySource) -> EngineBuilder {
        EngineBuilder {
            policy,
            source: source.to_json(),
            rules: Rules::of(source),
            store: None,
            clock: Arc::new(SystemClock),
            files: Arc::new(Files::Disk),
            root: None,
            project: None,
            own_places: Vec::new(),
            script_output: None,
            is_last: false,
            kept_for: None,
        }
    }

    /// Decides one event, and records it before answering. Whatever goes wrong, the answer is a block that says so.
    pub fn decide(&self, event: Event) -> Decision {
        self.try_decide(event).unwrap_or_else(|error| self.refusal(&error))
    }

    /// Decides one event, or says why it could not be decided and recorded. The action must not happen then.
    pub fn try_decide(&self, event: Event) -> Result<Decision, EngineError> {
        if matches!(event.kind, EventKind::ApprovalDecided | EventKind::Restored | EventKind::Administered) {
            return Err(EngineError::OwnKind(event.kind));
        }
        self.decide_with(event, None, None)
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

    /// Whether the process ends with the event that is decided.
    pub(crate) fn is_last(&self) -> bool {
        self.is_last
    }

    /// What a session keeps of the policy that decides, where the next event is another process's. An engine that lives
    /// on keeps its policy itself.
    pub(crate) fn last_policy(&self, policy: &Policy) -> Option<LastPolicy> {
        let files = self.is_last.then(|| self.in_force().rules.own_files.clone())?;
        Some(LastPolicy { revision: policy.revision().clone(), files, gone: self.kept_for.clone() })
    }

    /// Those outside who are asked on behalf of guardrails.
    pub(crate) fn asking(&self) -> &Asking {
        &self.asking
    }

    /// Where answers are put that come too late for their event.
    pub(crate) fn late_box(&self) -> LateBox {
        LateBox {
            store: self.store.clone(),
            clock: self.clock.clone(),
            key: self.fingerprint_key,
            policy: self.policy().revision().clone(),
        }
    }

    /// The scripts of the policy, as they run in this process.
    pub(crate) fn scripts(&self) -> &Scripts {
        &self.scripts
    }

    /// Stops scripts at this moment, whatever time their settings give them: for a process that is waited for only so long.
    /// A script that is stopped fails as its settings say, and that is on record. The first word counts.
    pub fn stop_scripts_at(&self, moment: Instant) {
        self.scripts_by.get_or_init(|| moment);
    }

    /// How long a script may take now that would have so much time.
    pub(crate) fn time_for_script(&self, within: Duration) -> Duration {
        let left = self.scripts_by.get().map(|moment| moment.saturating_duration_since(Instant::now()));
        left.map_or(within, |left| within.min(left))
    }

    /// Who hears what scripts print, where it is not the log.
    pub(crate) fn script_output(&self) -> Option<Arc<ScriptOutput>> {
        self.script_output.clone()
    }

    /// Where file facts come from, to hold on to.
    pub(crate) fn shared_files(&self) -> Arc<Files> {
        self.files.clone()
    }

    /// Where file facts come from.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// The folder that paths are resolved against, if one was set.
    pub fn root(&self) -> Option<&std::path::Path> {
        self.root.as_deref()
    }

    /// The folder that sessions begin in, if one was set.
    pub(crate) fn project(&self) -> Option<&std::path::Path> {
        self.project.as_deref()
    }

    /// Midrail's own files and folders, as seen from a root.
    pub(crate) fn own_places(&self, root: Option<&str>) -> Vec<String> {
        let below = |place: &String| {
            let inside = root.and_then(|root| place.strip_prefix(root)?.strip_prefix('/'));
            inside.map_or_else(|| place.clone(), str::to_owned)
        };
        self.own_places.iter().chain(&self.in_force().rules.files).map(below).collect()
    }

    /// Now, by the engine's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Puts a guardrail in force, or replaces the one of the same id. It governs from the next event on.
    pub fn register(&self, entry: Entry) {
        let mut current = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        current.policy = Arc::new(current.policy.with(entry.clone()));
        let own = Arc::make_mut(&mut current.own);
        own.unregistered.remove(&*entry.spec.id);
        own.registered.insert(entry.spec.id.clone(), entry);
    }

    /// Takes a guardrail out of force. `false`: there is none of that id, or it is always on.
    pub fn unregister(&self, id: &str) -> bool {
        if midrail_guardrails::page(id).is_some_and(|page| page.always_on) {
            return false;
        }
        let mut current = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        match current.policy.without(id) {
            Some(policy) => {
                current.policy = Arc::new(policy);
                let own = Arc::make_mut(&mut current.own);
                own.registered.remove(id);
                own.unregistered.insert(id.to_owned());
                true
            }
            None => false,
        }
    }

    /// Puts a policy in the place of the one in force. What the program registered and unregistered stays so. Events
    /// that are being decided are decided by the policy that they began with; later ones by this.
    ///
    /// [`Reloader`](crate::Reloader) does this whenever the files of a policy change.
    pub fn reload(&self, policy: Policy, source: &PolicySource) {
        let rules = Rules::of(source);
        let source = source.to_json().into();
        let mut current = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        let policy = Arc::new(current.own.applied_to(policy));
        *current = InForce { policy, source, own: current.own.clone(), rules };
    }

    /// Waits until nobody outside is asked any more, so that late answers are kept, and no longer than this. A program that
    /// is about to end does so first. `false`: somebody has still not answered.
    pub fn wait_for_late_answers(&self, at_most: std::time::Duration) -> bool {
        let started = std::time::Instant::now();
        while !self.asking.idle() {
            if started.elapsed() >= at_most {
                return false;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        true
    }

    /// Puts a policy that was loaded in force: [`Engine::reload`] with both of its parts.
    pub fn apply_policy_config(&self, loaded: Loaded) {
        self.reload(loaded.policy, &loaded.source);
    }

    /// Calls a function for every tool call that is stopped.
    pub fn on_denied(&self, listener: impl Fn(&PolicyDenied) + Send + Sync + 'static) {
        self.listeners.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(listener));
    }

    /// Calls a function for every event that is decided here, once it is on record and before the answer leaves: for
    /// traces and the like. It must not take long. Secrets are replaced in what it hears.
    pub fn on_record(&self, recorder: impl Fn(&Record, &AuditRef) + Send + Sync + 'static) {
        self.recorders.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(recorder));
    }

    pub(crate) fn in_force(&self) -> InForce {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Decides, and where a snapshot is given puts it in place of the session in the same transaction.
    pub(crate) fn decide_with(
        &self,
        event: Event,
        restored: Option<BTreeMap<String, Value>>,
        once: Option<&Once>,
    ) -> Result<Decision, EngineError> {
        let in_force = self.in_force();
        self.save_policy(&in_force)?;
        if restored.is_some() || stream_of(&event).is_none() {
            return Walk::new(self, &in_force.policy, event, restored)?.run(once);
        }
        // Chunks of one stream may come from many processes. Each is joined to what the last one left.
        for _ in 0..MAX_TRIES {
            match Walk::new(self, &in_force.policy, event.clone(), None)?.run(once) {
                Err(EngineError::Contended) => continue,
                ended => return ended,
            }
        }
        Err(EngineError::Contended)
    }

    /// The files that the policy in force was read from.
    pub(crate) fn pack_files(&self) -> Vec<PathBuf> {
        self.policy_source().0.into_iter().map(|pack| PathBuf::from(pack.path)).collect()
    }

    pub(crate) fn channels(&self) -> Arc<Channels> {
        self.in_force().rules.channels.clone()
    }

    pub(crate) fn watches(&self) -> Arc<[Watch]> {
        self.in_force().rules.watches.clone()
    }

    /// Waits for the notices that are being delivered. An engine that is dropped does so itself.
    pub fn finish(&self) {
        let threads = std::mem::take(&mut *self.background.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A delivery that panicked has said so, and its notice is still there.
            let _ = thread.join();
        }
    }

    /// Does something that no decision waits for. Without a thread to be had it is done at once.
    pub(crate) fn in_background<T>(&self, work: impl FnOnce() -> T + Send + 'static) {
        let started =
            std::thread::Builder::new().name("midrail-notices".to_owned()).spawn(move || drop(work()));
        match started {
            Ok(thread) => {
                let mut threads = self.background.lock().unwrap_or_else(PoisonError::into_inner);
                threads.retain(|thread| !thread.is_finished());
                threads.push(thread);
            }
            Err(error) => log::error!("notices wait for the next delivery: {error}"),
        }
    }

    pub(crate) fn fingerprint_key(&self) -> &[u8] {
        &self.fingerprint_key
    }

    /// What the packs of the policy in force say.
    pub fn policy_source(&self) -> PolicySource {
        serde_json::from_str(&self.in_force().source).unwrap_or_default()
    }

    /// Keeps what the packs of the policy in force say, and tells its revision.
    pub(crate) fn keep_policy(&self) -> Result<Arc<str>, StoreError> {
        let in_force = self.in_force();
        self.save_policy(&in_force)?;
        Ok(in_force.policy.revision().clone())
    }

    /// Keeps what the packs say under the revision that decides, once a process.
    pub(crate) fn save_policy(&self, InForce { policy, source, .. }: &InForce) -> Result<(), StoreError> {
        let revision = policy.revision();
        let mut saved = self.saved_revisions.lock().unwrap_or_else(PoisonError::into_inner);
        if !saved.contains(revision) {
            self.store.save_policy(revision, source)?;
            saved.push(revision.clone());
        }
        Ok(())
    }

    /// Tells the log and the listeners.
    pub(crate) fn tell(&self, record: &Record, place: &AuditRef) {
        let recorders = self.recorders.read().unwrap_or_else(PoisonError::into_inner).clone();
        for recorder in recorders {
            recorder(record, place);
        }
        let tool = record.event.tool_name().unwrap_or("-");
        if log::log_enabled!(log::Level::Debug) {
            for said in &record.decision.verdicts {
                let effect = said.effect.map_or("skipped", Effect::word);
                log::debug!(
                    policy:% = said.guardrail, tool, effect, session:% = record.session, record = place.seq;
                    "policy check"
                );
            }
        }
        if let Some(denied) = &record.denied {
            log::warn!(
                policy:% = denied.policy_name, tool, reason:% = denied.reason, session:% = record.session,
                record = place.seq;
                "policy denied tool execution"
            );
            let listeners = self.listeners.read().unwrap_or_else(PoisonError::into_inner).clone();
            for listener in listeners {
                listener(denied);
            }
        }
    }

    pub(crate) fn refusal(&self, error: &EngineError) -> Decision {
        log::error!(error:%; "no decision");
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

impl Drop for Engine {
    fn drop(&mut self) {
        self.finish();
    }
}

/// A random name of the form of a UUID, version 4.
pub(crate) fn unique_id() -> String {
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
