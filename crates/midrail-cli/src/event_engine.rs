//! The engines that decide events: of a one-shot process, and of a process that watches its packs.

use std::env;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use midrail::last_policy::{LastPolicy, SessionContext};
use midrail::load::{PolicyCache, StoredPolicyError};
use midrail::pack::diagnostic::visible;
use midrail::sandboxes::Sandboxes;
use midrail::store::Keys;
use midrail::{Decision, Effect, Engine, Event, Load, LoadedPolicy, Reload, Reloader, SqliteStore, paths};

use crate::clock;
use crate::error::{CliError, CliResult};
use crate::input::{self, DamageArgs, PackArgs, StoreArgs};

/// An engine that reloads the packs of a directory when they change, with its reloader.
pub(crate) fn watched(
    packs: &PackArgs,
    folder: Option<PathBuf>,
    root: Option<&Path>,
    store: &Arc<SqliteStore>,
    damage: DamageArgs,
) -> CliResult<(Arc<Engine>, Reloader)> {
    let load = Load { cache: cache(store), ..packs.in_folder(folder.clone()) };
    let loaded = load.load()?;
    let mut engine = Engine::builder(loaded.policy, &loaded.source)
        .own_places(paths::own_places(Some(store.path())))
        .store(store.clone())
        .on_damage(damage.reaction())
        .clock(clock::clock());
    if let Some(root) = root {
        engine = engine.root(root);
    } else if let Some(folder) = folder {
        engine = engine.project(paths::project(&folder).unwrap_or(folder));
    }
    let engine = Arc::new(engine.build()?);
    let reloader = Reloader::start(&engine, load, loaded.mark, report_reload)?;
    Ok((engine, reloader))
}

/// Reports reloaded packs on standard error.
fn report_reload(reload: &Reload) {
    // If the terminal is gone, the reload cannot be reported.
    let _ = match reload {
        Reload::Applied(revision) => {
            writeln!(io::stderr(), "note: the packs changed; the policy {revision} is in force")
        }
        Reload::Refused(why) => {
            let lines: Vec<String> = why.lines().map(|line| visible(line).into_owned()).collect();
            let why = lines.join("\n");
            writeln!(
                io::stderr(),
                "error: the packs changed and cannot be used; the policy in force stays\n{why}"
            )
        }
    };
}

/// The decision if none could be made: a block.
pub(crate) fn refusal(failure: &CliError) -> Decision {
    Decision {
        effect: Effect::Block,
        by: Some("midrail".into()),
        reason: format!(
            "the decision could not be made and recorded, so the action is blocked: {}",
            failure.message
        ),
        advice: failure.help.clone(),
        ..Decision::default()
    }
}

/// The policy in force for an event, also if the store cannot be opened.
pub(crate) struct PolicyInForce {
    pub(crate) loaded: LoadedPolicy,
    pub(crate) store: CliResult<SqliteStore>,
    project: Option<PathBuf>,
    /// The sandboxes of contained calls.
    sandboxes: Option<Sandboxes>,
    /// The missing pack file, if the session's last policy is used.
    kept_for: Option<PathBuf>,
    /// Packs that are not used, and why.
    pub(crate) remark: Option<String>,
}

/// Loads the policy in force for an event, and sets the event's working directory if it has none.
pub(crate) fn load(
    event: &mut Event,
    packs: &PackArgs,
    store: &StoreArgs,
    has_root: bool,
) -> CliResult<PolicyInForce> {
    let mut store = store.path().and_then(|path| Ok(SqliteStore::open(path)?));
    let here = env::current_dir().ok();
    event.cwd = event.cwd.take().filter(|cwd| !cwd.is_empty());
    let event_folder = event.cwd.as_ref().map(PathBuf::from).filter(|folder| folder.is_dir());
    // A session keeps the directory in which it started, wherever the agent moves.
    let context = store.as_ref().ok().and_then(|store| SessionContext::load(store, event).ok());
    let SessionContext { folder: began_in, policy: last } = context.unwrap_or_default();
    let mut folder = match (&began_in, event_folder) {
        (Some(began_in), Some(now)) if now == *began_in || is_below(&now, began_in) => Some(now),
        (Some(began_in), _) => Some(began_in.clone()),
        (None, now) => now.or_else(|| here.clone()),
    };
    let cache = store.as_ref().ok().and_then(cache);
    let mut load = Load { cache: cache.clone(), ..packs.in_folder(folder.clone()) };
    let mut loaded = load.load();
    let mut remark = None;
    let has_other_layers = |began_in: &PathBuf| {
        folder.as_ref() != Some(began_in) && paths::layers(Some(began_in)) != paths::layers(folder.as_deref())
    };
    if let Some(began_in) = began_in.filter(has_other_layers) {
        let first = Load { cache, ..packs.in_folder(Some(began_in.clone())) };
        if let Some(why) = weakens(loaded.as_ref().ok(), &first.load()?) {
            let now = folder.replace(began_in).unwrap_or_default();
            let text = format!("the packs in {} are not used in this session: {why}", now.display());
            log::warn!("{text}");
            remark = Some(text);
            load = first;
            loaded = load.load();
        }
    }
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
    Ok(PolicyInForce { loaded, store, project, sandboxes: None, kept_for, remark })
}

/// Why the packs of a folder below that in which a session began may not be used for it: an agent can make such a folder.
/// They may only add to its policy.
fn weakens(below: Option<&LoadedPolicy>, first: &LoadedPolicy) -> Option<String> {
    let Some(below) = below else { return Some("they are not valid".to_owned()) };
    match below.source.losses(&first.source) {
        Ok(losses) if losses.is_empty() => None,
        Ok(losses) => {
            let ids: Vec<&str> = losses.iter().map(|(id, _)| id.as_str()).collect();
            let ids = ids.join(", ");
            Some(format!("they protect less than those of the folder in which it began ({ids})"))
        }
        Err(error) => Some(error.to_string()),
    }
}

/// The last policy of the session, before one of its files went missing.
fn kept(
    last: &LastPolicy,
    gone: &Path,
    store: &SqliteStore,
    now: Option<&LoadedPolicy>,
) -> CliResult<LoadedPolicy> {
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
    /// The same policy, which can put calls into these sandboxes.
    pub(crate) fn with_sandboxes(self, sandboxes: Sandboxes) -> Self {
        PolicyInForce { sandboxes: Some(sandboxes), ..self }
    }

    /// The engine, if the store could be opened.
    pub(crate) fn engine(self, root: Option<&Path>, damage: DamageArgs) -> CliResult<OneShotEngine> {
        let PolicyInForce { loaded, store, project, sandboxes, kept_for, .. } = self;
        let store = store?;
        let own = paths::own_places(Some(store.path()));
        let mut engine = Engine::builder(loaded.policy, &loaded.source)
            .store(Arc::new(store))
            .clock(clock::clock())
            .own_places(own)
            .on_damage(damage.reaction())
            .missing_pack(kept_for);
        if let Some(root) = root {
            engine = engine.root(root);
        } else if let Some(project) = project {
            engine = engine.project(project);
        }
        if let Some(sandboxes) = sandboxes {
            engine = engine.sandboxes(sandboxes);
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
fn cache(store: &SqliteStore) -> Option<PolicyCache> {
    Some(PolicyCache { folder: paths::default_cache()?, key: store.fingerprint_key().ok()? })
}
