//! An engine behind JSON: options, events and approvals go in as text, decisions come out as text.

use std::env;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use midrail::admin::ApprovalView;
use midrail::load::PolicyCache;
use midrail::store::Keys;
use midrail::{
    Decision, Effect, Engine, EngineError, Event, Load, LoadError, MemoryStore, Reload, Reloader,
    SqliteStore, Store, StoreError, paths,
};
use midrail_adapters::wire::{self, WireError};
use serde::Deserialize;

use crate::function::{Function, FunctionSpec, in_one_decision};

/// How to open a [`Guard`].
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Pack files, folders of packs, or shipped packs. They replace the layers of the folder.
    pub packs: Vec<PathBuf>,
    /// The environment whose overlay is applied.
    pub env: Option<String>,
    /// `:memory:`, or a SQLite file. The default is the store of the program.
    pub store: Option<PathBuf>,
    /// The folder whose packs apply and that agents work in. The default is that of the process.
    pub cwd: Option<PathBuf>,
}

/// The name of a store in memory.
const MEMORY: &str = ":memory:";

/// Why a guard cannot be opened or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// The options are not valid.
    #[error("invalid options: {0}")]
    Options(#[source] serde_json::Error),
    /// The settings of a guardrail are not valid.
    #[error("invalid guardrail: {0}")]
    Guardrail(#[source] serde_json::Error),
    /// A guardrail has the id of a built-in one.
    #[error("`{0}` is the id of a built-in guardrail")]
    BuiltInId(String),
    /// A guardrail has no id.
    #[error("a guardrail needs an id")]
    NoId,
    /// The folder is not known.
    #[error("the working folder cannot be used: {0}")]
    Folder(#[source] std::io::Error),
    /// The default store has no path.
    #[error("the default store has no path: `HOME` is not set")]
    NoHome,
    /// The packs cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The packs cannot be watched.
    #[error("the packs cannot be watched: {0}")]
    Watch(#[source] std::io::Error),
}

impl GuardError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            GuardError::NoHome => Some("set `HOME`, or name a store".to_owned()),
            GuardError::BuiltInId(_) | GuardError::NoId => Some("choose an id of your own".to_owned()),
            GuardError::Load(error) => error.help(),
            GuardError::Store(error) => error.help().map(str::to_owned),
            _ => None,
        }
    }
}

/// An engine, with the packs and the store that its options name.
pub struct Guard {
    parts: Arc<Parts>,
    /// The process that opened it.
    process: u32,
}

struct Parts {
    engine: Arc<Engine>,
    /// The folder of events that name none.
    folder: String,
    _reloader: Reloader,
}

impl Guard {
    /// Opens an engine. Its packs are reloaded when their files change.
    pub fn open(options: &str) -> Result<Self, GuardError> {
        let options: Options = serde_json::from_str(options).map_err(GuardError::Options)?;
        let folder = match options.cwd {
            Some(folder) => std::path::absolute(folder),
            None => env::current_dir(),
        }
        .map_err(GuardError::Folder)?;
        let (store, place, cache) = open_store(options.store)?;
        let load = Load {
            packs: options.packs,
            env: options.env,
            folder: Some(folder.clone()),
            cache,
            ..Load::default()
        };
        let loaded = load.load()?;
        let engine = Engine::builder(loaded.policy, &loaded.source)
            .store(store)
            .own_places(paths::own_places(place.as_deref()))
            .project(paths::project(&folder).unwrap_or_else(|| folder.clone()))
            .build()?;
        let engine = Arc::new(engine);
        let reloader = Reloader::start(&engine, load, loaded.mark, log_reload).map_err(GuardError::Watch)?;
        let folder = folder.to_string_lossy().into_owned();
        let parts = Parts { engine, folder, _reloader: reloader };
        Ok(Guard { parts: Arc::new(parts), process: process::id() })
    }

    /// Whether this process opened it. After a `fork`, the child has neither its threads nor its locks and must not use
    /// it.
    pub fn is_usable(&self) -> bool {
        self.process == process::id()
    }

    /// Decides an event. Whatever goes wrong, the answer is a decision: a block with the reason.
    pub fn decide(&self, event: &[u8]) -> String {
        if !self.is_usable() {
            return refusal("the process was forked after its engine was opened", Some("open a new guard"));
        }
        // INVARIANT: an internal error is a block.
        let decided = catch_unwind(AssertUnwindSafe(|| match self.decode(event) {
            Ok(event) => text(&in_one_decision(|| self.parts.engine.decide(event))),
            Err(error) => refusal(&error.to_string(), error.help().as_deref()),
        }));
        decided.unwrap_or_else(|_| refusal("the engine failed", None))
    }

    /// Decides the messages of a conversation that arrives whole each time, up to the first that stops it. The last `new` were not
    /// there before. Whatever goes wrong, the last answer is a block with the reason.
    pub fn decide_conversation(&self, events: &[String], new: usize) -> Vec<String> {
        let mut made = Vec::new();
        if !self.is_usable() {
            return vec![self.decide(b"")];
        }
        // INVARIANT: an internal error is a block.
        let decided = catch_unwind(AssertUnwindSafe(|| {
            let decoded: Result<Vec<Event>, WireError> =
                events.iter().map(|event| self.decode(event.as_bytes())).collect();
            match decoded {
                Ok(events) => {
                    let mut decisions = self.parts.engine.decide_conversation(events, new);
                    while let Some(decision) = in_one_decision(|| decisions.next()) {
                        made.push(text(&decision));
                    }
                }
                Err(error) => made.push(refusal(&error.to_string(), error.help().as_deref())),
            }
        }));
        if decided.is_err() {
            made.push(refusal("the engine failed", None));
        }
        made
    }

    /// The request for an approval, once it is answered or the time is up.
    pub fn approval(&self, id: &str, timeout: Duration) -> Result<String, GuardError> {
        let engine = &self.parts.engine;
        let approval = engine.approvals().wait(id, timeout)?;
        let view = ApprovalView::new(approval, engine.now());
        serde_json::to_string(&view).map_err(GuardError::Options)
    }

    /// Registers a guardrail that is a function, in place of one with the same id.
    pub fn register(&self, spec: &str, function: Arc<dyn Function>) -> Result<(), GuardError> {
        let spec: FunctionSpec = serde_json::from_str(spec).map_err(GuardError::Guardrail)?;
        if spec.id.trim().is_empty() {
            return Err(GuardError::NoId);
        }
        if midrail::guardrails::builtin(&midrail::guardrails::guardrail_id(&spec.id)).is_some() {
            return Err(GuardError::BuiltInId(spec.id));
        }
        self.parts.engine.register(spec.entry(function));
        Ok(())
    }

    /// Removes a guardrail. `false`: there is none with this id, or it is always on.
    pub fn unregister(&self, id: &str) -> bool {
        self.parts.engine.unregister(id)
    }

    fn decode(&self, event: &[u8]) -> Result<Event, WireError> {
        let mut event = wire::decode_strict(event)?;
        event.cwd.get_or_insert_with(|| self.parts.folder.clone());
        Ok(event)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // In a forked process, dropping would wait for threads that are not there and close files that the parent uses.
        if !self.is_usable() {
            mem::forget(self.parts.clone());
        }
    }
}

/// The store, its file, and where its compiled packs are kept.
#[expect(clippy::type_complexity, reason = "it is used once")]
fn open_store(
    named: Option<PathBuf>,
) -> Result<(Arc<dyn Store>, Option<PathBuf>, Option<PolicyCache>), GuardError> {
    if named.as_deref().is_some_and(|named| named.as_os_str() == MEMORY) {
        return Ok((Arc::new(MemoryStore::new()?), None, None));
    }
    let path = match named {
        Some(path) => std::path::absolute(path).map_err(GuardError::Folder)?,
        None => paths::default_store().ok_or(GuardError::NoHome)?,
    };
    let store = SqliteStore::open(&path)?;
    let key = store.fingerprint_key()?;
    let cache = paths::default_cache().map(|folder| PolicyCache { folder, key });
    Ok((Arc::new(store), Some(path), cache))
}

/// Writes reloads of packs to the log.
fn log_reload(reload: &Reload) {
    match reload {
        Reload::Applied(revision) => log::info!("the packs changed; the policy {revision} is in force"),
        Reload::Refused(why) => {
            log::error!("the packs changed and cannot be used; the policy in force stays: {why}");
        }
    }
}

/// The decision if none could be made: a block.
fn refusal(why: &str, help: Option<&str>) -> String {
    text(&Decision {
        effect: Effect::Block,
        by: Some("midrail".into()),
        reason: format!("the decision could not be made and recorded, so this does not happen: {why}"),
        advice: help.map(str::to_owned),
        ..Decision::default()
    })
}

fn text(decision: &Decision) -> String {
    wire::encode(decision)
}

#[cfg(test)]
mod tests;
