//! The engine: a policy, a store and the state that decisions share.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use midrail_core::{AuditRef, Policy, PolicyDenied, PolicyEntry, Record};
use midrail_pack::PolicySource;
use midrail_scan::secrets::{self, Mask};
use midrail_store::{MemoryStore, Result, Store};
use parking_lot::{Mutex, RwLock};
use serde_json::Value;

use crate::active_policy::{ActivePolicy, McpUpstream, PackSettings};
use crate::clean_texts::CleanTexts;
use crate::clock::{Clock, SystemClock};
use crate::deep::queue::DeepQueue;
use crate::error::EngineResult;
use crate::features::{self, MissingFeature};
use crate::files::{Files, real_path};
use crate::known_actions::KnownActions;
use crate::last_policy::LastPolicy;
use crate::on_damage::OnDamage;
use crate::prefetch::{Evaluations, Prefetcher};
use crate::sandboxes::Sandboxes;
use crate::scripts::Scripts;

/// A policy, a store and the probes, for any number of sessions and threads.
pub struct Engine {
    active: RwLock<ActivePolicy>,
    store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) files: Arc<Files>,
    pub(crate) prefetcher: Prefetcher,
    pub(crate) known_actions: KnownActions,
    pub(crate) clean_texts: CleanTexts,
    pub(crate) scripts: Scripts,
    pub(crate) script_output: Option<Arc<ScriptOutput>>,
    /// Where calls can be made in a sandbox.
    pub(crate) sandboxes: Option<Sandboxes>,
    /// When all scripts have to end, whatever their timeouts are.
    pub(crate) script_deadline: OnceLock<Instant>,
    /// Whether the process ends with the event that is decided.
    pub(crate) is_one_shot: bool,
    missing_pack: Option<PathBuf>,
    pub(crate) deep_queue: DeepQueue,
    pub(crate) root: Option<PathBuf>,
    pub(crate) project: Option<PathBuf>,
    /// The folder of sessions whose events name none.
    pub(crate) folder: Option<String>,
    own_places: Vec<String>,
    /// The key for fingerprints of secrets.
    pub(crate) fingerprint_key: [u8; 32],
    record_listeners: RwLock<Vec<Arc<RecordListener>>>,
    saved_revisions: Mutex<Vec<Arc<str>>>,
    /// When overdue reviews were last checked, and when they are checked next.
    pub(crate) review_check: Mutex<Option<(Timestamp, Timestamp)>>,
    /// The threads that deliver notices.
    pub(crate) deliveries: Mutex<Vec<JoinHandle<()>>>,
}

/// A function that is called for every record, once it is written.
type RecordListener = dyn Fn(&Record, &AuditRef) + Send + Sync;

/// A function that receives the lines that scripts print.
pub(crate) type ScriptOutput = dyn Fn(&str) + Send + Sync;

/// Builds an [`Engine`].
pub struct EngineBuilder {
    active: ActivePolicy,
    has_features: Result<(), MissingFeature>,
    store: Option<Arc<dyn Store>>,
    clock: Arc<dyn Clock>,
    files: Arc<Files>,
    root: Option<PathBuf>,
    project: Option<PathBuf>,
    folder: Option<PathBuf>,
    own_places: Vec<PathBuf>,
    script_output: Option<Arc<ScriptOutput>>,
    sandboxes: Option<Sandboxes>,
    is_one_shot: bool,
    missing_pack: Option<PathBuf>,
    on_damage: OnDamage,
}

impl EngineBuilder {
    /// Stores sessions and the audit log here. The default is in memory.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Takes the time from this clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Takes facts about files from here.
    pub fn files(mut self, files: Arc<Files>) -> Self {
        self.files = files;
        self
    }

    /// Resolves paths against this folder. The default is each event's `cwd`.
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// Starts sessions in this folder. A session keeps its folder; the default is the `cwd` of its first event.
    pub fn project(mut self, project: impl Into<PathBuf>) -> Self {
        self.project = Some(project.into());
        self
    }

    /// Adds files and folders of Midrail itself, such as the store, that agents must not change.
    pub fn own_places(mut self, places: impl IntoIterator<Item = PathBuf>) -> Self {
        self.own_places.extend(places);
        self
    }

    /// Delivers notices through the channels of these packs, in place of those that the policy was compiled from. For a
    /// policy that comes from the store: only the packs of this machine say where its notices go.
    pub fn channels(mut self, source: &PolicySource) -> Self {
        self.active = self.active.with_channels(source);
        self
    }

    /// Names the folder of sessions whose events name none, so that a pause of this folder applies to them.
    pub fn folder(mut self, folder: Option<PathBuf>) -> Self {
        self.folder = folder;
        self
    }

    /// Waits for the full timeout of external services, because the process ends with this event and cannot apply a late
    /// answer.
    pub fn for_one_event(mut self) -> Self {
        self.is_one_shot = true;
        self
    }

    /// Names the pack file that is missing, where the policy is the last one of the session
    /// ([`LastPolicy::load`](crate::last_policy::LastPolicy::load)). A notice reports it once.
    pub fn missing_pack(mut self, file: Option<PathBuf>) -> Self {
        self.missing_pack = file;
        self
    }

    /// What happens if the store was damaged or replaced. The default is to block every event until a person acknowledges
    /// it.
    pub fn on_damage(mut self, reaction: OnDamage) -> Self {
        self.on_damage = reaction;
        self
    }

    /// Contains calls in these sandboxes. The default is none: a policy that requires one sends calls back.
    pub fn sandboxes(mut self, sandboxes: Sandboxes) -> Self {
        self.sandboxes = Some(sandboxes);
        self
    }

    /// Calls a function with every line that scripts print with `console`. The default is the log.
    pub fn on_script_output(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.script_output = Some(Arc::new(listener));
        self
    }

    /// Builds the engine.
    pub fn build(self) -> EngineResult<Engine> {
        self.has_features?;
        let store = match self.store {
            Some(store) => store,
            None => Arc::new(MemoryStore::new()?),
        };
        let fingerprint_key = store.fingerprint_key()?;
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        let own_places = self.own_places.into_iter().map(absolute);
        let own_places = own_places.map(|place| place.to_string_lossy().into_owned()).collect();
        let deep_queue =
            DeepQueue::new(store.clone(), self.clock.clone(), &fingerprint_key, self.is_one_shot);
        let engine = Engine {
            active: RwLock::new(self.active),
            store,
            clock: self.clock,
            files: self.files,
            prefetcher: Prefetcher::default(),
            known_actions: KnownActions::default(),
            clean_texts: CleanTexts::default(),
            scripts: Scripts::default(),
            script_output: self.script_output,
            sandboxes: self.sandboxes,
            script_deadline: OnceLock::new(),
            is_one_shot: self.is_one_shot,
            missing_pack: self.missing_pack,
            deep_queue,
            // The root stays the same when the process changes its folder.
            root: self.root.map(absolute),
            project: self.project,
            folder: self.folder.map(|folder| real_path(&folder).to_string_lossy().into_owned()),
            own_places,
            fingerprint_key,
            record_listeners: RwLock::default(),
            saved_revisions: Mutex::default(),
            review_check: Mutex::default(),
            deliveries: Mutex::default(),
        };
        if self.on_damage == OnDamage::Report {
            engine.report_damage()?;
        }
        Ok(engine)
    }
}

impl Engine {
    /// Starts building an engine with a policy and the packs that it was compiled from.
    pub fn builder(policy: Policy, source: &PolicySource) -> EngineBuilder {
        EngineBuilder {
            has_features: features::check(&policy, source),
            active: ActivePolicy::new(policy, source, Arc::default()),
            store: None,
            clock: Arc::new(SystemClock),
            files: Arc::new(Files::Disk),
            root: None,
            project: None,
            folder: None,
            own_places: Vec::new(),
            script_output: None,
            sandboxes: None,
            is_one_shot: false,
            missing_pack: None,
            on_damage: OnDamage::default(),
        }
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<Policy> {
        self.active.read().policy.clone()
    }

    /// The packs of the policy in force.
    pub fn policy_source(&self) -> PolicySource {
        PolicySource::clone(&self.active.read().source)
    }

    /// An MCP server that the packs in force name with its address.
    pub fn mcp_server(&self, name: &str) -> Option<McpUpstream> {
        self.active.read().settings.mcp_servers.get(name).cloned()
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The current time of the engine's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Registers a guardrail, in place of one with the same id. It applies from the next event on.
    pub fn register(&self, entry: PolicyEntry) {
        self.active.write().register(entry);
    }

    /// Removes a guardrail. `false`: there is none with this id, or it is always on.
    pub fn unregister(&self, id: &str) -> bool {
        let is_always_on = midrail_guardrails::builtin(id).is_some_and(|builtin| builtin.always_on);
        !is_always_on && self.active.write().unregister(id)
    }

    /// Replaces the policy in force. Guardrails that the program registered or removed stay so. An event that is being
    /// decided keeps the policy that it started with.
    ///
    /// [`Reloader`](crate::Reloader) does this whenever the files of a policy change.
    pub fn reload(&self, policy: Policy, source: &PolicySource) -> EngineResult {
        features::check(&policy, source)?;
        let mut active = self.active.write();
        *active = ActivePolicy::new(policy, source, active.changes.clone());
        Ok(())
    }

    /// Calls a function for every tool call that is stopped.
    pub fn on_denied(&self, listener: impl Fn(&PolicyDenied) + Send + Sync + 'static) {
        self.on_record(move |record, _| record.denied.iter().for_each(&listener));
    }

    /// Calls a function for every event that this engine decides, after it is recorded and before the answer is returned,
    /// for example to write traces. It must be fast. Secrets in the record are replaced.
    pub fn on_record(&self, listener: impl Fn(&Record, &AuditRef) + Send + Sync + 'static) {
        self.record_listeners.write().push(Arc::new(listener));
    }

    pub(crate) fn active_policy(&self) -> ActivePolicy {
        self.active.read().clone()
    }

    /// The policy to store in a session whose next event is decided by another process. A long-lived engine keeps its
    /// policy itself.
    pub(crate) fn last_policy(&self, policy: &Policy) -> Option<LastPolicy> {
        let files = self.is_one_shot.then(|| self.active.read().settings.own_files.clone())?;
        Some(LastPolicy { revision: policy.revision().clone(), files, gone: self.missing_pack.clone() })
    }

    /// The time that a script with this timeout has now.
    pub(crate) fn script_timeout(&self, timeout: Duration) -> Duration {
        let left = self.script_deadline.get().map(|end| end.saturating_duration_since(Instant::now()));
        left.map_or(timeout, |left| timeout.min(left))
    }

    /// How often events had to be evaluated, for measurements.
    pub fn evaluations(&self) -> Evaluations {
        self.prefetcher.evaluations()
    }

    /// Midrail's own files and folders, relative to a root where they are below it.
    pub(crate) fn own_places(&self, root: Option<&str>) -> Vec<String> {
        let relative = |place: &String| {
            let inside = root.and_then(|root| place.strip_prefix(root)?.strip_prefix('/'));
            inside.map_or_else(|| place.clone(), str::to_owned)
        };
        self.own_places.iter().chain(&self.active.read().settings.files).map(relative).collect()
    }

    /// The settings of the packs in force that no decision depends on.
    pub(crate) fn pack_settings(&self) -> Arc<PackSettings> {
        self.active.read().settings.clone()
    }

    /// A value with its secrets replaced.
    pub(crate) fn masked(&self, value: Value) -> Value {
        let found = secrets::scan_json(&value, &self.fingerprint_key);
        Mask::new(&value, &found).value(value)
    }

    /// A key of a slice as decisions store it: with the fingerprint of a secret in its place.
    pub(crate) fn stored_key(&self, key: &str) -> String {
        let value = Value::from(key);
        let found = secrets::scan_json(&value, &self.fingerprint_key);
        Mask::new(&value, &found).key(key, &self.fingerprint_key)
    }

    /// A text with its secrets replaced.
    pub(crate) fn masked_text(&self, text: &str) -> String {
        match self.masked(Value::from(text)) {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }

    /// Stores packs under the revision of their policy, once in each process.
    pub(crate) fn save_policy(&self, active: &ActivePolicy) -> Result<()> {
        let revision = active.policy.revision();
        let mut saved = self.saved_revisions.lock();
        if !saved.contains(revision) {
            // Nearly every process finds it stored, and need not encode it.
            if self.store.policy(revision)?.is_none() {
                self.store.save_policy(revision, &active.source.to_json())?;
            }
            saved.push(revision.clone());
        }
        Ok(())
    }

    /// Calls the listeners for a record that was written.
    pub(crate) fn call_listeners(&self, record: &Record, place: &AuditRef) {
        let listeners = self.record_listeners.read().clone();
        listeners.iter().for_each(|listener| listener(record, place));
    }

    /// Waits for the threads that deliver notices.
    pub(crate) fn join_deliveries(&self) {
        let threads = std::mem::take(&mut *self.deliveries.lock());
        for thread in threads {
            // A panic was already reported, and the notice is still stored.
            let _ = thread.join();
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.join_deliveries();
    }
}
