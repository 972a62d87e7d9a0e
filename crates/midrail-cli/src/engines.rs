//! The engines of a proxy, by the folder of their project.

use std::collections::BTreeMap;
use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use midrail::{Decision, Engine, Event, Reloader, SqliteStore, paths};
use midrail_adapters::judge;
use parking_lot::Mutex;

use crate::error::{CliError, CliResult};
use crate::event_engine::{refusal, watched};
use crate::input::{DamageArgs, PackArgs, StoreArgs};

/// More projects than one client has open.
const MAX_PROJECTS: usize = 64;

/// The engines, by the folder of their project.
pub(crate) struct Engines {
    packs: PackArgs,
    store: Arc<SqliteStore>,
    damage: DamageArgs,
    engines: Mutex<BTreeMap<PathBuf, (Arc<Engine>, Reloader)>>,
}

impl Engines {
    pub(crate) fn new(packs: PackArgs, store: &StoreArgs, damage: DamageArgs) -> CliResult<Self> {
        let store = Arc::new(SqliteStore::open(store.path()?)?);
        Ok(Engines { packs, store, damage, engines: Mutex::default() })
    }

    /// The engine of the project that a folder belongs to.
    pub(crate) fn of(&self, folder: Option<&str>) -> CliResult<Arc<Engine>> {
        let folder =
            folder.map(PathBuf::from).filter(|folder| folder.is_dir()).or_else(|| env::current_dir().ok());
        let folder = folder.ok_or_else(|| CliError::new("there is no folder to work in"))?;
        let project = paths::project(&folder).unwrap_or(folder);
        let mut engines = self.engines.lock();
        if let Some((engine, _)) = engines.get(&project) {
            return Ok(engine.clone());
        }
        if engines.len() >= MAX_PROJECTS {
            engines.pop_first();
        }
        let watched = watched(&self.packs, Some(project.clone()), None, &self.store, self.damage)?;
        let engine = watched.0.clone();
        engines.insert(project, watched);
        Ok(engine)
    }

    /// Decides an event. What cannot be decided is refused.
    pub(crate) fn decide(&self, event: Event) -> Decision {
        self.with(event, |engine, event| engine.decide(event))
    }

    /// Decides an event with the answer of an approver, where one comes in time.
    pub(crate) fn decide_and_wait(&self, event: Event, at_most: Duration) -> Decision {
        self.with(event, |engine, event| engine.approvals().decide_and_wait(event, at_most))
    }

    fn with(&self, event: Event, decide: impl FnOnce(&Engine, Event) -> Decision) -> Decision {
        // INVARIANT: an internal error is a no.
        let decided = panic::catch_unwind(AssertUnwindSafe(|| self.try_with(event, decide)));
        match decided {
            Ok(Ok(decision)) => decision,
            Ok(Err(failure)) if failure.help.is_some() => refusal(&failure),
            Ok(Err(failure)) => refusal(&failure.help("run `midrail lint` in the directory of the session")),
            Err(_) => refusal(&CliError::new("an internal error")),
        }
    }

    fn try_with(&self, event: Event, decide: impl FnOnce(&Engine, Event) -> Decision) -> CliResult<Decision> {
        let engine = self.of(event.cwd.as_deref())?;
        Ok(judge::try_decide(&engine, event, decide)?)
    }
}
