//! The engines of one proxy: one a project, whose packs are watched, on one store.

use std::collections::BTreeMap;
use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use midrail::{Decision, Effect, Engine, Event, Load, Reloader, SqliteStore, places, summary};
use midrail_doors::hook;
use midrail_doors::words;

use super::refusal;
use crate::clock;
use crate::failure::Failure;
use crate::input::{self, Packs, StoreFile};
use crate::one_event::cache;
use crate::verbs::check::tell;

/// More projects than one editor has open.
const MAX_PROJECTS: usize = 64;

/// The engines, by the folder of their project.
pub(super) struct Engines {
    packs: Packs,
    store: Arc<SqliteStore>,
    engines: Mutex<BTreeMap<PathBuf, Watched>>,
}

struct Watched {
    engine: Arc<Engine>,
    _reloader: Reloader,
}

impl Engines {
    pub(super) fn new(packs: Packs, store: &StoreFile) -> Result<Self, Failure> {
        let store = Arc::new(SqliteStore::open(store.path()?)?);
        Ok(Engines { packs, store, engines: Mutex::default() })
    }

    /// The engine of the project that a folder belongs to.
    pub(super) fn of(&self, folder: Option<&str>) -> Result<Arc<Engine>, Failure> {
        let folder =
            folder.map(PathBuf::from).filter(|folder| folder.is_dir()).or_else(|| env::current_dir().ok());
        let folder = folder.ok_or_else(|| Failure::new("there is no folder to work in"))?;
        let project = places::project(&folder).unwrap_or(folder);
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watched) = engines.get(&project) {
            return Ok(watched.engine.clone());
        }
        if engines.len() >= MAX_PROJECTS {
            engines.pop_first();
        }
        let watched = self.watched(&project)?;
        let engine = watched.engine.clone();
        engines.insert(project, watched);
        Ok(engine)
    }

    fn watched(&self, project: &Path) -> Result<Watched, Failure> {
        let load = Load { cache: cache(&self.store), ..self.packs.of_folder(Some(project.to_owned())) };
        let loaded = load.load()?;
        let engine = Engine::builder(loaded.policy, &loaded.source)
            .own_places(input::own_places(self.store.path()))
            .store(self.store.clone())
            .clock(clock::clock())
            .project(project)
            .build()?;
        let engine = Arc::new(engine);
        let reloader = Reloader::start(&engine, load, loaded.mark, tell)?;
        Ok(Watched { engine, _reloader: reloader })
    }

    /// Decides an event. What cannot be decided is refused.
    pub(super) fn decide(&self, event: Event) -> Decision {
        self.with(event, |engine, event| engine.decide(event))
    }

    /// Decides an event with the answer of an approver, where one comes in time.
    pub(super) fn decide_and_wait(&self, event: Event, at_most: Duration) -> Decision {
        self.with(event, |engine, event| engine.decide_and_wait(event, at_most))
    }

    fn with(&self, event: Event, decide: impl FnOnce(&Engine, Event) -> Decision) -> Decision {
        // INVARIANT: an internal error is a no.
        let decided = panic::catch_unwind(AssertUnwindSafe(|| self.try_with(event, decide)));
        match decided {
            Ok(Ok(decision)) => decision,
            Ok(Err(failure)) => {
                let advice =
                    failure.advice().unwrap_or("`midrail lint` in the folder of the session tells more");
                Decision { advice: Some(advice.to_owned()), ..refusal(failure.message()) }
            }
            Err(_) => refusal("an internal error"),
        }
    }

    fn try_with(
        &self,
        mut event: Event,
        decide: impl FnOnce(&Engine, Event) -> Decision,
    ) -> Result<Decision, Failure> {
        let engine = self.of(event.cwd.as_deref())?;
        let begins = hook::is_beginning(&event);
        // Where there are approvers with keys of their own, they decide, and not whoever sits before the editor.
        let has_approvers = engine.has_approvers()?;
        if let Some(host) = event.host.as_mut().filter(|_| has_approvers) {
            host.asks = false;
        }
        let mut decision = decide(&engine, event);
        if has_approvers && decision.effect == Effect::Escalate && decision.approval.is_none() {
            // Nobody was asked, and the person before the editor is not the one to ask.
            decision.effect = Effect::Block;
        }
        let mut decision = words::for_agents(engine.with_how_to_ask(decision), &engine.policy());
        if begins {
            let sentences = summary::sentences(&engine.policy());
            if !sentences.is_empty() {
                let limits =
                    format!("What Midrail holds you to in this session:\n- {}", sentences.join("\n- "));
                decision.feedback.insert(0, limits);
            }
        }
        Ok(decision)
    }
}
