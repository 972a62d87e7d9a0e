//! The engine for verbs that look at or change what holds across sessions, without an event.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use midrail::store::{Approvals, Slices};
use midrail::{Approval, Engine, Event, EventKind, Load, Policy, PolicySource, Store};
use midrail::{due_requests, policy_of_approval};

use crate::clock;
use crate::failure::Failure;
use crate::input::{Packs, StoreFile};
use crate::output::short;
use crate::when;

/// The store and the packs of such a verb. They may stand behind the verb below it.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Desk {
    /// The store: a SQLite file, postgres://…, or env:NAME for what a variable says [default: midrail/midrail.db in the
    /// user's state folder]
    #[arg(long, value_name = "STORE", global = true)]
    store: Option<PathBuf>,
    /// The project of the store, where a service keeps several [default: default]
    #[arg(id = "in", long = "in", value_name = "PROJECT", global = true)]
    project: Option<String>,
    /// A pack file in place of the layers of this folder. Can be given several times
    #[arg(long = "pack", value_name = "FILE", global = true)]
    packs: Vec<PathBuf>,
    /// The environment whose overlay of the packs is applied
    #[arg(long, value_name = "NAME", global = true)]
    env: Option<String>,
}

impl Desk {
    /// An engine to list what a store holds. Where there is none yet, that is nothing.
    pub(crate) fn to_list(&self) -> Result<Engine, Failure> {
        engine(self.file().to_list()?, &self.packs())
    }

    /// An engine to look at a store that is there.
    pub(crate) fn to_look(&self) -> Result<Engine, Failure> {
        engine(to_look_at(&self.file())?, &self.packs())
    }

    /// An engine to change a store, which is made if there is none.
    pub(crate) fn to_change(&self) -> Result<Engine, Failure> {
        engine(self.file().to_change()?, &self.packs())
    }

    pub(crate) fn file(&self) -> StoreFile {
        StoreFile { store: self.store.clone(), project: self.project.clone() }
    }

    fn packs(&self) -> Packs {
        Packs { packs: self.packs.clone(), env: self.env.clone() }
    }
}

/// The store to look at. It must be there; it is written only where it can be, to keep what was counted.
pub(crate) fn to_look_at(file: &StoreFile) -> Result<Arc<dyn Store>, Failure> {
    let read_only = file.read_only()?;
    Ok(file.to_change().unwrap_or(read_only))
}

fn engine(store: Arc<dyn Store>, packs: &Packs) -> Result<Engine, Failure> {
    let loaded = packs.here().load()?;
    Ok(Engine::builder(loaded.policy, &loaded.source).store(store).clock(clock::clock()).build()?)
}

/// The engine in which a request is answered: under the policy that made the request, wherever it is answered.
pub(crate) fn of_request(store: Arc<dyn Store>, approval: &Approval) -> Result<Engine, Failure> {
    let policy = policy_of_approval(&*store, approval)?;
    of_policy(store, policy, &approval.session)
}

/// The engine of a policy that the store has kept, else of the folder that the session began in.
pub(crate) fn of_policy(
    store: Arc<dyn Store>,
    policy: Option<(Policy, PolicySource)>,
    session: &str,
) -> Result<Engine, Failure> {
    let (policy, source) = match policy {
        Some(found) => found,
        None => {
            let event = Event::new(EventKind::SessionStart).in_session(session);
            let folder = midrail::folder_of(&*store, &event)?;
            let loaded = Load { folder, ..Load::default() }.load()?;
            (loaded.policy, loaded.source)
        }
    };
    Ok(Engine::builder(policy, &source).store(store).clock(clock::clock()).build()?)
}

/// Puts on record what time has made of requests, each under its own policy. Where the store cannot be written they are
/// shown as they stand all the same.
pub(crate) fn settle<S: Approvals + Slices + ?Sized>(
    file: &StoreFile,
    store: &S,
    now: Timestamp,
) -> Result<(), Failure> {
    for approval in due_requests(store, now)? {
        let settled = file.existing().and_then(|store| {
            let engine = of_request(store, &approval)?;
            Ok(engine.settle_request(&approval.id)?)
        });
        if let Err(failure) = settled {
            log::warn!("what became of `{}` is not on record yet: {}", approval.id, failure.message());
        }
    }
    Ok(())
}

/// Who changes something, where they do not say: the user of this process.
pub(crate) fn someone(named: Option<&str>) -> String {
    let user = || ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let named = named.map(str::to_owned).or_else(user).filter(|name| !name.trim().is_empty());
    named.unwrap_or_else(|| "someone".to_owned())
}

/// A time of the store on the screen. What is none is shown as it is.
pub(crate) fn moment(text: &str) -> String {
    text.parse().map_or_else(|_| short(text, 40).into_owned(), when::full)
}
