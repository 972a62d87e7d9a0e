//! An engine for one event, and for the process that ends with it: the store, the packs of the event's folder.

use std::env;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use midrail::store::Keys;
use midrail::{Cache, Engine, Event, LastPolicy, Load, Loaded, SqliteStore, Standpoint, places};

use crate::clock;
use crate::failure::Failure;
use crate::input::{self, Packs, StoreFile};

/// What decides an event: the packs that are in force for it. They are known also where the store cannot be had.
pub(crate) struct InForce {
    pub(crate) loaded: Loaded,
    pub(crate) store: Result<SqliteStore, Failure>,
    project: Option<PathBuf>,
    /// The file that is gone, where they are those that the session had.
    kept_for: Option<PathBuf>,
}

/// Loads what is in force for an event, and tells the event where it happens if it does not know.
pub(crate) fn load(
    event: &mut Event,
    packs: &Packs,
    store: &StoreFile,
    has_root: bool,
) -> Result<InForce, Failure> {
    let mut store = store.path().and_then(|path| Ok(SqliteStore::open(path)?));
    let here = env::current_dir().ok();
    let of_event = event.cwd.as_ref().map(PathBuf::from).filter(|folder| folder.is_dir());
    // A session stays in the folder that it began in, wherever the agent has moved.
    let standpoint = store.as_ref().ok().and_then(|store| Standpoint::of(store, event).ok());
    let Standpoint { folder: began_in, policy: last } = standpoint.unwrap_or_default();
    let folder = match (began_in, of_event) {
        (Some(began_in), Some(now)) if is_below(&now, &began_in) => Some(now),
        (Some(began_in), _) => Some(began_in),
        (None, now) => now.or_else(|| here.clone()),
    };
    let cache = store.as_ref().ok().and_then(cache);
    let load = Load { cache, ..packs.of_folder(folder.clone()) };
    let mut loaded = load.load();
    // Whoever begins anew begins with what is there.
    let last = last.filter(|_| !event.is_new_run());
    let kept_for = last.as_ref().and_then(|last| last.gone(&load)).map(Path::to_owned);
    if let (Some(last), Some(gone), Ok(of_session)) = (&last, &kept_for, &store) {
        match kept(last, gone, of_session, loaded.as_ref().ok()) {
            Ok(kept) => loaded = Ok(kept),
            Err(failure) => store = Err(failure),
        }
    }
    let loaded = loaded?;
    if event.cwd.is_none() && !has_root {
        event.cwd = here.map(|here| here.to_string_lossy().into_owned());
    }
    let project = folder.and_then(|folder| places::project(&folder).or(Some(folder)));
    Ok(InForce { loaded, store, project, kept_for })
}

/// The policy that the session had before a file of it was gone.
fn kept(
    last: &LastPolicy,
    gone: &Path,
    store: &SqliteStore,
    now: Option<&Loaded>,
) -> Result<Loaded, Failure> {
    let help = "put the file back, or begin a new session";
    let file = input::quoted(gone);
    log::warn!("{file} is gone; the policy {} that the session had stays in force; {help}", last.revision);
    last.load(store, now.map(|now| &now.source))?.map_err(|why| {
        let what = format!("{file} is gone, and the policy that the session had cannot be had: {why}");
        Failure::new(what).help(help)
    })
}

impl InForce {
    /// The engine, where the store can be had.
    pub(crate) fn engine(self, root: Option<&Path>) -> Result<LastEngine, Failure> {
        let InForce { loaded, store, project, kept_for } = self;
        let store = store?;
        let own = input::own_places(store.path());
        let mut engine = Engine::builder(loaded.policy, &loaded.source)
            .store(Arc::new(store))
            .clock(clock::clock())
            .own_places(own)
            .kept_for(kept_for);
        if let Some(root) = root {
            engine = engine.root(root);
        } else if let Some(project) = project {
            engine = engine.project(project);
        }
        Ok(LastEngine(ManuallyDrop::new(engine.for_one_event().build()?)))
    }
}

/// The engine of a process that ends with it. What it holds is not taken apart piece by piece, but left to the system, which
/// takes it back at once: all that was answered is on record already.
pub(crate) struct LastEngine(ManuallyDrop<Engine>);

impl Deref for LastEngine {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.0
    }
}

impl Drop for LastEngine {
    fn drop(&mut self) {
        self.0.finish();
    }
}

fn is_below(folder: &Path, other: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| folder.starts_with(other))
}

/// Where compiled packs are kept, sealed with the store's key.
pub(crate) fn cache(store: &SqliteStore) -> Option<Cache> {
    Some(Cache { folder: places::default_cache()?, key: store.fingerprint_key().ok()? })
}
