//! The engine of administrative subcommands, which work without an event.

use std::sync::Arc;

use jiff::Timestamp;
use midrail::admin::Resource;
use midrail::approvals::{due_approvals, policy_for_approval};
use midrail::store::{Approval, Approvals, Slices};
use midrail::{Engine, Event, EventKind, Load, Policy, PolicySource, Store};

use crate::clock;
use crate::error::CliResult;
use crate::input::{PackArgs, StoreArgs};
use crate::list::list;
use crate::output::Output;

/// A subcommand with subcommands of its own, and the arguments that they share.
#[derive(Debug, clap::Args)]
pub(crate) struct Group<C: clap::Subcommand, A: clap::Args> {
    #[command(subcommand)]
    pub(crate) command: C,
    #[command(flatten)]
    pub(crate) shared: A,
}

/// The store and the packs of an administrative subcommand.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct AdminArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    packs: PackArgs,
}

impl AdminArgs {
    /// Prints the records of a resource. A store that does not exist yet is empty.
    pub(crate) fn list<R: Resource>(&self, output: &mut Output) -> CliResult {
        list(&R::list(self.list_engine()?.admin())?, output)
    }

    /// An engine to list records. A store that does not exist yet is empty.
    pub(crate) fn list_engine(&self) -> CliResult<Engine> {
        engine(self.store.open_for_list()?, &self.packs.here())
    }

    /// An engine on an existing store.
    pub(crate) fn read_engine(&self) -> CliResult<Engine> {
        engine(open_for_reading(&self.store)?, &self.packs.here())
    }

    /// An engine to change a store, which is created if it does not exist.
    pub(crate) fn write_engine(&self) -> CliResult<Engine> {
        engine(self.store.open_or_create()?, &self.packs.here())
    }
}

/// The name of the user who makes a change.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ChangedBy {
    /// Who makes the change [default: the current user]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl ChangedBy {
    pub(crate) fn name(&self) -> String {
        user_name(self.by.as_deref())
    }
}

/// An existing store, writable if possible, so that computed figures are saved.
pub(crate) fn open_for_reading(file: &StoreArgs) -> CliResult<Arc<dyn Store>> {
    let read_only = file.read_only()?;
    Ok(file.open_or_create().unwrap_or(read_only))
}

/// An engine with packs, on a store.
pub(crate) fn engine(store: Arc<dyn Store>, load: &Load) -> CliResult<Engine> {
    let loaded = load.load()?;
    Ok(Engine::builder(loaded.policy, &loaded.source).store(store).clock(clock::clock()).build()?)
}

/// The engine to answer a request in, with the policy that made the request.
pub(crate) fn engine_for_approval(store: Arc<dyn Store>, approval: &Approval) -> CliResult<Engine> {
    let policy = policy_for_approval(&*store, approval)?;
    engine_for_policy(store, policy, &approval.session)
}

/// The engine of a stored policy, or else of the directory in which the session started.
pub(crate) fn engine_for_policy(
    store: Arc<dyn Store>,
    policy: Option<(Policy, PolicySource)>,
    session: &str,
) -> CliResult<Engine> {
    let event = Event::new(EventKind::SessionStart).in_session(session);
    let folder = midrail::last_policy::session_folder(&*store, &event)?;
    let load = Load { folder, ..Load::default() };
    let Some((policy, source)) = policy else { return engine(store, &load) };
    // Another process stored the policy: only the packs on this machine say where its notices go.
    let local = load.load().map(|local| local.source).unwrap_or_default();
    let engine = Engine::builder(policy, &source).store(store).channels(&local);
    Ok(engine.clock(clock::clock()).build()?)
}

/// Records requests that timed out, each under its own policy. A store that cannot be written is only read.
pub(crate) fn settle<S: Approvals + Slices + ?Sized>(
    file: &StoreArgs,
    store: &S,
    now: Timestamp,
) -> CliResult<()> {
    for approval in due_approvals(store, now)? {
        let settled = file.open_existing().and_then(|store| {
            let engine = engine_for_approval(store, &approval)?;
            Ok(engine.approvals().settle(&approval.id)?)
        });
        if let Err(failure) = settled {
            log::warn!("the timeout of `{}` is not recorded yet: {}", approval.id, failure.message);
        }
    }
    Ok(())
}

/// The given name, or else the current user.
pub(crate) fn user_name(named: Option<&str>) -> String {
    let user = || ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let named = named.map(str::to_owned).or_else(user).filter(|name| !name.trim().is_empty());
    named.unwrap_or_else(|| "someone".to_owned())
}
