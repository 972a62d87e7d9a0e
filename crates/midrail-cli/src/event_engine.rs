//! The engine of a one-shot process: the store, and the packs of the event's directory.

use std::env;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use midrail::last_policy::{LastPolicy, SessionContext};
use midrail::load::{PolicyCache, StoredPolicyError};
use midrail::store::Keys;
use midrail::{Engine, Event, Load, LoadedPolicy, SqliteStore, paths};

use crate::clock;
use crate::error::CliError;
use crate::input::{self, PackArgs, StoreArgs};

/// The policy in force for an event, also if the store cannot be opened.
pub(crate) struct PolicyInForce {
    pub(crate) loaded: LoadedPolicy,
    pub(crate) store: Result<SqliteStore, CliError>,
    project: Option<PathBuf>,
    /// The missing pack file, if the session's last policy is used.
    kept_for: Option<PathBuf>,
}

/// Loads the policy in force for an event, and sets the event's working directory if it has none.
pub(crate) fn load(
    event: &mut Event,
    packs: &PackArgs,
    store: &StoreArgs,
    has_root: bool,
) -> Result<PolicyInForce, CliError> {
    let mut store = store.path().and_then(|path| Ok(SqliteStore::open(path)?));
    let here = env::current_dir().ok();
    let event_folder = event.cwd.as_ref().map(PathBuf::from).filter(|folder| folder.is_dir());
    // A session keeps the directory in which it started, wherever the agent moves.
    let context = store.as_ref().ok().and_then(|store| SessionContext::load(store, event).ok());
    let SessionContext { folder: began_in, policy: last } = context.unwrap_or_default();
    let folder = match (began_in, event_folder) {
        (Some(began_in), Some(now)) if is_below(&now, &began_in) => Some(now),
        (Some(began_in), _) => Some(began_in),
        (None, now) => now.or_else(|| here.clone()),
    };
    let cache = store.as_ref().ok().and_then(cache);
    let load = Load { cache, ..packs.in_folder(folder.clone()) };
    let mut loaded = load.load();
    // A new run uses the current packs.
    let last = last.filter(|_| !event.is_new_run());
    let kept_for = last.as_ref().and_then(|last| last.missing_file(&load)).map(Path::to_owned);
    if let (Some(last), Some(gone), Ok(session_store)) = (&last, &kept_for, &store) {
        match kept(last, gone, session_store, loaded.as_ref().ok()) {
            Ok(kept) => loaded = Ok(kept),
            Err(failure) => store = Err(failure),
        }
    }
    let loaded = loaded?;
    if event.cwd.is_none() && !has_root {
        event.cwd = here.map(|here| here.to_string_lossy().into_owned());
    }
    let project = folder.and_then(|folder| paths::project(&folder).or(Some(folder)));
    Ok(PolicyInForce { loaded, store, project, kept_for })
}

/// The last policy of the session, before one of its files went missing.
fn kept(
    last: &LastPolicy,
    gone: &Path,
    store: &SqliteStore,
    now: Option<&LoadedPolicy>,
) -> Result<LoadedPolicy, CliError> {
    let help = "restore the file, or start a new session";
    let file = input::quoted(gone);
    log::warn!("{file} is missing; the policy {} of the session stays in force; {help}", last.revision);
    last.load(store, now.map(|now| &now.source)).map_err(|error| match error {
        StoredPolicyError::Store(error) => error.into(),
        other => {
            let message =
                format!("{file} is missing, and the session's last policy cannot be loaded: {other}");
            CliError::new(message).help(help)
        }
    })
}

impl PolicyInForce {
    /// The engine, if the store could be opened.
    pub(crate) fn engine(self, root: Option<&Path>) -> Result<OneShotEngine, CliError> {
        let PolicyInForce { loaded, store, project, kept_for } = self;
        let store = store?;
        let own = input::own_places(store.path());
        let mut engine = Engine::builder(loaded.policy, &loaded.source)
            .store(Arc::new(store))
            .clock(clock::clock())
            .own_places(own)
            .missing_pack(kept_for);
        if let Some(root) = root {
            engine = engine.root(root);
        } else if let Some(project) = project {
            engine = engine.project(project);
        }
        Ok(OneShotEngine(ManuallyDrop::new(engine.for_one_event().build()?)))
    }
}

/// The engine of a one-shot process. It is not dropped, because the process ends with it and everything is
/// recorded.
pub(crate) struct OneShotEngine(ManuallyDrop<Engine>);

impl Deref for OneShotEngine {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.0
    }
}

impl Drop for OneShotEngine {
    fn drop(&mut self) {
        self.0.background().finish();
    }
}

fn is_below(folder: &Path, other: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| folder.starts_with(other))
}

/// Where compiled packs are kept, sealed with the store's key.
pub(crate) fn cache(store: &SqliteStore) -> Option<PolicyCache> {
    Some(PolicyCache { folder: paths::default_cache()?, key: store.fingerprint_key().ok()? })
}
