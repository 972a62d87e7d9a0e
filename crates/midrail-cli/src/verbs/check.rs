//! `midrail check`: decides one event.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use midrail::store::Keys;
use midrail::{Cache, Decision, Effect, Engine, Event, Load, Loaded, SqliteStore, places};
use midrail_doors::wire::{self, WireError};

use crate::decision;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::input::{self, Packs, StoreFile};
use crate::output::Output;

/// Decide one event, and record the decision.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::OF_CHECK)]
pub(crate) struct Args {
    /// The event as a JSON object; `-` or nothing: standard input
    #[arg(value_name = "EVENT.json")]
    event: Option<PathBuf>,
    #[command(flatten)]
    packs: Packs,
    #[command(flatten)]
    store: StoreFile,
    /// The folder that paths are resolved against [default: the event's cwd, else this folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

pub(crate) fn run(args: Args, output: &mut Output) -> Result<Exit, Failure> {
    let mut event = read(&args)?;
    let store = args.store.path().and_then(|path| Ok(SqliteStore::open(path)?));
    let here = env::current_dir().ok();
    let of_event = event.cwd.as_ref().map(PathBuf::from).filter(|folder| folder.is_dir());
    // A session stays in the folder that it began in, wherever the agent has moved.
    let began_in = store.as_ref().ok().and_then(|store| midrail::folder_of(store, &event).ok().flatten());
    let folder = match (began_in, of_event) {
        (Some(began_in), Some(now)) if is_below(&now, &began_in) => Some(now),
        (Some(began_in), _) => Some(began_in),
        (None, now) => now.or_else(|| here.clone()),
    };
    let cache = store.as_ref().ok().and_then(cache);
    let loaded = Load { cache, ..args.packs.of_folder(folder.clone()) }.load()?;
    if event.cwd.is_none() && args.root.is_none() {
        event.cwd = here.map(|here| here.to_string_lossy().into_owned());
    }
    let project = folder.and_then(|folder| places::project(&folder).or(Some(folder)));
    let revision = loaded.policy.revision().clone();
    let decision = match store.and_then(|store| decide(&args, store, project, loaded, event.clone())) {
        Ok(decision) => decision,
        // INVARIANT: no record, no allow.
        Err(failure) => {
            let decision = Decision { policy: revision, ..refusal(&failure) };
            print(&event, &decision, output)?;
            output.remark(&failure);
            return Ok(Exit::of(decision.effect));
        }
    };
    print(&event, &decision, output)?;
    Ok(Exit::of(decision.effect))
}

fn is_below(folder: &Path, other: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| folder.starts_with(other))
}

/// Where compiled packs are kept, sealed with the store's key.
fn cache(store: &SqliteStore) -> Option<Cache> {
    Some(Cache { folder: places::default_cache()?, key: store.fingerprint_key().ok()? })
}

fn read(args: &Args) -> Result<Event, Failure> {
    let path = args.event.as_deref();
    let event = wire::read_event(&mut *input::open(path)?);
    event.map_err(|error| match (&error, path) {
        (WireError::Io(cause), Some(path)) => {
            Failure::new(format!("could not read {}: {cause}", input::quoted(path)))
        }
        (_, Some(path)) if path.as_os_str() != "-" => Failure::from(error).about(input::quoted(path)),
        _ => error.into(),
    })
}

fn decide(
    args: &Args,
    store: SqliteStore,
    project: Option<PathBuf>,
    loaded: Loaded,
    event: Event,
) -> Result<Decision, Failure> {
    let mut engine = Engine::builder(loaded.policy, &loaded.source).store(Arc::new(store));
    if let Some(root) = &args.root {
        engine = engine.root(root);
    } else if let Some(project) = project {
        engine = engine.project(project);
    }
    Ok(engine.build()?.try_decide(event)?)
}

fn refusal(failure: &Failure) -> Decision {
    Decision {
        effect: Effect::Block,
        by: Some("midrail".into()),
        reason: format!(
            "the decision could not be made and recorded, so this does not happen: {}",
            failure.message()
        ),
        advice: failure.advice().map(str::to_owned),
        ..Decision::default()
    }
}

fn print(event: &Event, decision: &Decision, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.json_text(&wire::encode(decision));
    }
    for line in decision::block(event, decision, output) {
        output.line(line)?;
    }
    Ok(())
}
