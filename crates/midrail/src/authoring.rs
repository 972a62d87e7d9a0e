//! For authors of scripts: the types of `ctx`, and a way to run a hook once.

use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;

use midrail_core::{Decision, Event, Fact, FactKey, HookOutcome};

use crate::engine::Engine;
use crate::error::EngineError;
pub use crate::error::Unavailable;
use crate::load::{Load, LoadError};

/// The TypeScript types of a script and of its `ctx`.
pub const TYPES: &str = crate::scripts::TYPES;

/// A hook that was run once.
#[derive(Debug, Clone)]
pub struct ScriptRun {
    /// The outcome, or why there is none.
    pub end: Result<HookOutcome, Unavailable>,
    /// The lines that it printed with `console`.
    pub printed: Vec<String>,
    /// The decision that follows from it.
    pub decision: Decision,
}

/// Why a hook could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptRunError {
    /// The script could not be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The event could not be decided.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Hooks run for tool calls and their results.
    #[error("no hook runs for events of the kind `{0}`")]
    NoHook(midrail_core::EventKind),
}

/// Runs the hook of a script for an event. It reads files from disk and runs commands.
pub fn run_script(path: &Path, event: Event) -> Result<ScriptRun, ScriptRunError> {
    let kind = event.kind;
    let loaded = Load { packs: vec![path.to_owned()], ..Load::default() }.load()?;
    let printed: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = printed.clone();
    let engine = Engine::builder(loaded.policy, &loaded.source)
        .on_script_output(move |line| {
            sink.lock().push(line.to_owned());
        })
        .build()?;
    let decision = engine.try_decide(event)?;
    let entry = match decision.audit.0.as_ref() {
        Some(place) => engine.store().entry(place.seq).map_err(EngineError::from)?,
        None => None,
    };
    let facts = entry.map(|entry| entry.record().map(|record| record.facts)).transpose();
    let facts = facts.map_err(EngineError::from)?.unwrap_or_default();
    let hook = facts.known.into_iter().find(|(key, _)| matches!(key, FactKey::Hook(_)));
    let end = match hook {
        Some((_, Fact::Hook(end))) => Ok(end),
        Some((_, Fact::Unavailable(why))) => Err(why.into()),
        Some(_) | None => return Err(ScriptRunError::NoHook(kind)),
    };
    let printed = printed.lock().clone();
    Ok(ScriptRun { end, printed, decision })
}
