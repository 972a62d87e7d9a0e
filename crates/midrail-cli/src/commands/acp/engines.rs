//! The engines of one proxy: one a project, whose packs are watched, on one store.

use std::collections::BTreeMap;
use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use midrail::{Decision, Effect, Engine, Event, Load, Reloader, SqliteStore, paths, summary};
use midrail_adapters::hook;
use midrail_adapters::messages;
use parking_lot::Mutex;

use crate::clock;
use crate::commands::check::report_reload;
use crate::error::CliError;
use crate::event_engine::cache;
use crate::input::{self, PackArgs, StoreArgs};

/// More projects than one editor has open.
const MAX_PROJECTS: usize = 64;

/// The engines, by the folder of their project.
pub(super) struct Engines {
    packs: PackArgs,
    store: Arc<SqliteStore>,
    engines: Mutex<BTreeMap<PathBuf, Watched>>,
}

struct Watched {
    engine: Arc<Engine>,
    _reloader: Reloader,
}

impl Engines {
    pub(super) fn new(packs: PackArgs, store: &StoreArgs) -> Result<Self, CliError> {
        let store = Arc::new(SqliteStore::open(store.path()?)?);
        Ok(Engines { packs, store, engines: Mutex::default() })
    }

    /// The engine of the project that a folder belongs to.
    pub(super) fn of(&self, folder: Option<&str>) -> Result<Arc<Engine>, CliError> {
        let folder =
            folder.map(PathBuf::from).filter(|folder| folder.is_dir()).or_else(|| env::current_dir().ok());
        let folder = folder.ok_or_else(|| CliError::new("there is no folder to work in"))?;
        let project = paths::project(&folder).unwrap_or(folder);
        let mut engines = self.engines.lock();
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

    fn watched(&self, project: &Path) -> Result<Watched, CliError> {
        let load = Load { cache: cache(&self.store), ..self.packs.in_folder(Some(project.to_owned())) };
        let loaded = load.load()?;
        let engine = Engine::builder(loaded.policy, &loaded.source)
            .own_places(input::own_places(self.store.path()))
            .store(self.store.clone())
            .clock(clock::clock())
            .project(project)
            .build()?;
        let engine = Arc::new(engine);
        let reloader = Reloader::start(&engine, load, loaded.mark, report_reload)?;
        Ok(Watched { engine, _reloader: reloader })
    }

    /// Decides an event. What cannot be decided is refused.
    pub(super) fn decide(&self, event: Event) -> Decision {
        self.with(event, |engine, event| engine.decide(event))
    }

    /// Decides an event with the answer of an approver, where one comes in time.
    pub(super) fn decide_and_wait(&self, event: Event, at_most: Duration) -> Decision {
        self.with(event, |engine, event| engine.approvals().decide_and_wait(event, at_most))
    }

    fn with(&self, event: Event, decide: impl FnOnce(&Engine, Event) -> Decision) -> Decision {
        // INVARIANT: an internal error is a no.
        let decided = panic::catch_unwind(AssertUnwindSafe(|| self.try_with(event, decide)));
        match decided {
            Ok(Ok(decision)) => decision,
            Ok(Err(failure)) => {
                let advice = failure.advice().unwrap_or("run `midrail lint` in the directory of the session");
                Decision { advice: Some(advice.to_owned()), ..refusal(failure.message()) }
            }
            Err(_) => refusal("an internal error"),
        }
    }

    fn try_with(
        &self,
        mut event: Event,
        decide: impl FnOnce(&Engine, Event) -> Decision,
    ) -> Result<Decision, CliError> {
        let engine = self.of(event.cwd.as_deref())?;
        let begins = hook::is_agent_start(&event);
        // If there are approvers with keys, they decide, not the user of the editor.
        let has_approvers = engine.admin().has_approvers()?;
        if let Some(host) = event.host.as_mut().filter(|_| has_approvers) {
            host.asks_user = false;
        }
        let mut decision = decide(&engine, event);
        if has_approvers && decision.effect == Effect::Escalate && decision.approval.is_none() {
            // No approver was asked, and the user of the editor may not decide.
            decision.effect = Effect::Block;
        }
        let mut decision = messages::for_agent(engine.approvals().with_guidance(decision), &engine.policy());
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

/// The decision where none could be made: a block.
pub(super) fn refusal(why: &str) -> Decision {
    Decision {
        effect: Effect::Block,
        by: Some("midrail".into()),
        reason: format!("the decision could not be made and recorded, so this does not happen: {why}"),
        ..Decision::default()
    }
}
