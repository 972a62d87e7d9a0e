//! Projects: each has its own store, engine and approvers, isolated from the others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use midrail::approvals::{policy_for_approval, policy_for_record};
use midrail::store::{Approval, Instance};
use midrail::{
    Engine, EngineError, Files, Load, LoadError, MemoryStore, Policy, PolicySource, PostgresOptions,
    PostgresStore, Reload, Reloader, SqliteStore, Store, StoreError, paths,
};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::config::{Config, FilesAt, StoreAt};
use crate::decision_queue::DecisionQueue;
use crate::live::follow::Live;
use crate::membership::{JoinError, LIVE_FOR, Membership};
use crate::observe::otlp::Exporter;
use crate::problem::{HandlerResult, Problem};
use crate::text::{random_name, short};

/// The project that holds the API keys, and whose administrators may access all others.
pub const HOME: &str = "default";

/// Read connections in addition to the write connection.
const READERS: usize = 4;

/// The most concurrent exports of one log. Each holds a thread.
const EXPORTS: usize = 4;

/// An open project.
pub(crate) struct Project {
    name: String,
    engine: Arc<Engine>,
    /// Its decision queue.
    pub(crate) queue: Arc<DecisionQueue>,
    /// Follows changes of its store.
    pub(crate) live: Live,
    /// The permit to verify its log.
    pub(crate) verifying: Arc<Semaphore>,
    /// The permits to export its log.
    pub(crate) exporting: Arc<Semaphore>,
    /// The membership among the instances that share its store.
    pub(crate) membership: Arc<Membership>,
    /// Whether other instances can share its store.
    is_shared: bool,
    /// Reloads the policy when its files change.
    reloader: Reloader,
}

impl Project {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its engine.
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Its store.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        self.engine.store()
    }

    /// Reloads its packs now.
    pub(crate) fn reload_now(&self) -> Result<Option<Arc<str>>, midrail::reload::ReloadError> {
        let reloaded = self.reloader.reload_now();
        if let Ok(Some(_)) = &reloaded {
            self.membership.changed(&self.name, &self.engine);
        }
        reloaded
    }

    /// Checks that this instance may join those of its store. Nothing is written.
    fn check_join(&self) -> Result<(), OpenError> {
        if self.is_shared { self.join_error(self.membership.check(&self.engine)) } else { Ok(()) }
    }

    /// Joins the running instances of its store. `address`: where this one listens.
    fn join(&self, address: &str) -> Result<(), OpenError> {
        if self.is_shared { self.join_error(self.membership.join(&self.engine, address)) } else { Ok(()) }
    }

    /// Ends the membership of this instance.
    pub(crate) fn leave(&self) {
        self.membership.leave(&self.name, &self.engine);
    }

    fn join_error(&self, joined: Result<(), JoinError>) -> Result<(), OpenError> {
        joined.map_err(|error| match error {
            JoinError::Differs(revision, others) => {
                OpenError::Differs(Box::new(PolicyDiffers { project: self.name.clone(), revision, others }))
            }
            JoinError::Engine(error) => OpenError::Engine(self.name.clone(), error),
        })
    }

    /// The reloads of its packs.
    pub(crate) fn reloads(&self) -> midrail::reload::ReloadStats {
        self.reloader.reloads()
    }

    /// The engine to answer a request in: with the policy that made it, which may be that of another process.
    pub(crate) fn engine_of(&self, approval: &Approval) -> HandlerResult<Arc<Engine>> {
        self.engine_under(policy_for_approval(&**self.store(), approval)?)
    }

    /// The engine for a request about a record: with the policy that decided it.
    pub(crate) fn engine_of_record(&self, seq: u64) -> HandlerResult<Arc<Engine>> {
        self.engine_under(policy_for_record(&**self.store(), seq)?)
    }

    fn engine_under(&self, policy: Option<(Policy, PolicySource)>) -> HandlerResult<Arc<Engine>> {
        match policy {
            Some((policy, _)) if policy.revision() == self.engine.policy().revision() => {
                Ok(self.engine.clone())
            }
            Some((policy, source)) => {
                let local = self.engine.policy_source();
                let engine = Engine::builder(policy, &source).store(self.store().clone()).channels(&local);
                Ok(Arc::new(engine.build()?))
            }
            None => Ok(self.engine.clone()),
        }
    }

    /// A request of this project.
    pub(crate) fn approval(&self, id: &str) -> HandlerResult<Approval> {
        let found = self.store().approval(id)?;
        found.ok_or_else(|| Problem::not_found(format!("there is no approval `{}`", short(id))))
    }
}

/// Why a project could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Its packs cannot be used.
    #[error("the packs of the project `{0}` cannot be used: {1}")]
    Packs(String, #[source] LoadError),
    /// Its store cannot be used.
    #[error("the store of the project `{0}` cannot be used: {1}")]
    Store(String, #[source] StoreError),
    /// Its engine cannot be made.
    #[error("the project `{0}` cannot be opened: {1}")]
    Engine(String, #[source] EngineError),
    /// Its packs cannot be watched.
    #[error("the packs of the project `{0}` cannot be watched: {1}")]
    Watch(String, #[source] std::io::Error),
    /// A thread cannot be started.
    #[error("a thread cannot be started: {0}")]
    Thread(#[source] std::io::Error),
    /// Running instances enforce another policy.
    #[error(transparent)]
    Differs(Box<PolicyDiffers>),
    /// Its name is invalid.
    #[error(
        "`{0}` is not a valid project name: use lower-case letters, digits, `.`, `_` and `-`, with `/` between tenant and project"
    )]
    Name(String),
}

/// The refusal of an instance whose policy differs from that of running instances on the same store.
#[derive(Debug, thiserror::Error)]
#[error(
    "the policy of the project `{project}` is {revision} here, and running instances on the same store enforce another \
     one: {}",
    places(others)
)]
pub struct PolicyDiffers {
    /// The project.
    pub project: String,
    /// The revision of the policy of this instance.
    pub revision: String,
    /// The running instances with another policy.
    pub others: Vec<Instance>,
}

impl PolicyDiffers {
    /// Advice.
    pub fn help(&self) -> String {
        let project = if self.project == HOME { String::new() } else { format!(" --in {}", self.project) };
        format!(
            "use the packs that the others use; or confirm the change as an administrator, with `midrail policy confirm \
             {}{project} --as NAME`; an instance that was killed counts as running for {} s",
            self.revision,
            LIVE_FOR.as_secs()
        )
    }
}

fn places(others: &[Instance]) -> String {
    let places = others.iter().map(|other| format!("{} at {}", other.revision, other.address));
    places.collect::<Vec<_>>().join(", ")
}

/// All projects of one storage.
pub(crate) struct Projects {
    storage: Storage,
    load: Load,
    folders: BTreeMap<String, PathBuf>,
    files: FilesAt,
    open: Mutex<BTreeMap<String, Arc<Project>>>,
    /// The id of this instance, and where it listens.
    instance: String,
    address: OnceLock<String>,
    exporter: Option<Arc<Exporter>>,
}

/// Where projects are stored.
enum Storage {
    Memory,
    Sqlite(PathBuf),
    Postgres(PostgresStore),
}

impl Projects {
    /// Opens the storage and the home project.
    pub(crate) fn open(config: &Config, exporter: Option<Arc<Exporter>>) -> Result<Self, OpenError> {
        let storage = match &config.store {
            StoreAt::Memory => Storage::Memory,
            StoreAt::Sqlite(path) => Storage::Sqlite(path.clone()),
            StoreAt::Postgres { url, key_file } => {
                let options = PostgresOptions { key_file: key_file.clone(), ..PostgresOptions::new(url) };
                let store = PostgresStore::connect(&options);
                Storage::Postgres(store.map_err(|error| OpenError::Store(HOME.to_owned(), error))?)
            }
        };
        for (name, _) in &config.projects {
            check_name(name)?;
        }
        let projects = Projects {
            storage,
            load: config.load.clone(),
            folders: config.projects.iter().cloned().collect(),
            files: config.files,
            open: Mutex::default(),
            instance: format!("{}-{}", std::process::id(), random_name()),
            address: OnceLock::new(),
            exporter,
        };
        projects.get(HOME)?;
        let named: Vec<String> = projects.folders.keys().cloned().collect();
        for name in named {
            projects.get(&name)?;
        }
        Ok(projects)
    }

    /// Joins the running instances of every open project, and of every project that is opened later.
    pub(crate) fn join(&self, address: &str) -> Result<(), OpenError> {
        let open = self.open.lock();
        // All are checked before any is joined, so that an instance that is refused changes nothing.
        open.values().try_for_each(|project| project.check_join())?;
        let joined = open.values().try_for_each(|project| project.join(address));
        match &joined {
            Ok(()) => drop(self.address.set(address.to_owned())),
            Err(_) => open.values().for_each(|project| project.leave()),
        }
        joined
    }

    /// Opens a project if needed. The caller has checked the name.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Project>, OpenError> {
        check_name(name)?;
        let mut open = self.open.lock();
        if let Some(project) = open.get(name) {
            return Ok(project.clone());
        }
        let project = Arc::new(self.opened(name)?);
        if let Some(address) = self.address.get() {
            project.join(address)?;
        }
        open.insert(name.to_owned(), project.clone());
        Ok(project)
    }

    /// A project, if it is open.
    pub(crate) fn open_already(&self, name: &str) -> Option<Arc<Project>> {
        self.open.lock().get(name).cloned()
    }

    /// The projects that are open.
    pub(crate) fn all(&self) -> Vec<Arc<Project>> {
        self.open.lock().values().cloned().collect()
    }

    /// The names of all projects.
    pub(crate) fn names(&self) -> Result<Vec<String>, StoreError> {
        let mut names: Vec<String> = self.all().iter().map(|project| project.name.clone()).collect();
        match &self.storage {
            Storage::Memory => {}
            Storage::Sqlite(home) => names_below(&projects_folder(home), "", &mut names),
            Storage::Postgres(store) => names.extend(store.projects()?),
        }
        names.retain(|name| check_name(name).is_ok());
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Whether a project exists, or is named in the configuration.
    pub(crate) fn knows(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.folders.contains_key(name) || self.names()?.iter().any(|other| other == name))
    }

    fn opened(&self, name: &str) -> Result<Project, OpenError> {
        let failed = |error| OpenError::Store(name.to_owned(), error);
        let mut own = paths::own_places(None);
        let store: Arc<dyn Store> = match &self.storage {
            Storage::Memory => Arc::new(MemoryStore::new().map_err(failed)?),
            Storage::Sqlite(home) => {
                let path = project_file(home, name)?;
                own.extend(paths::own_places(Some(home)));
                own.push(path.clone());
                Arc::new(SqliteStore::open_with_readers(path, READERS).map_err(failed)?)
            }
            Storage::Postgres(store) => {
                let store = store.project(name);
                own.extend(store.own_files());
                Arc::new(store)
            }
        };
        let folder = self.folders.get(name).cloned();
        let mut load = self.load.clone();
        if let Some(folder) = &folder {
            load.packs.clear();
            load.folder = Some(folder.clone());
        }
        let loaded = load.load().map_err(|error| OpenError::Packs(name.to_owned(), error))?;
        let mark = loaded.mark.clone();
        let files = match self.files {
            FilesAt::Here => Files::Disk,
            FilesAt::Elsewhere => Files::Unavailable,
        };
        let engine = Engine::builder(loaded.policy, &loaded.source).store(store).own_places(own);
        // Where events name no folder, a pause of the folder of the packs applies.
        let place =
            load.folder.as_ref().map(|folder| midrail::paths::project(folder).unwrap_or(folder.clone()));
        let engine = engine.folder(place);
        let engine = engine.files(Arc::new(files)).build();
        let engine = Arc::new(engine.map_err(|error| OpenError::Engine(name.to_owned(), error))?);
        if let Some(exporter) = self.exporter.clone() {
            let project = name.to_owned();
            engine.on_record(move |record, place| exporter.export(&project, record, place));
        }
        let shown = name.to_owned();
        let membership = Arc::new(Membership::new(&self.instance, &engine));
        let (of, changed) = (Arc::downgrade(&engine), membership.clone());
        let reloader = Reloader::start(&engine, load, mark, move |reload| match reload {
            Reload::Applied(revision) => {
                log::info!(project:% = shown, policy:% = revision; "a policy is in force");
                of.upgrade().iter().for_each(|engine| changed.changed(&shown, engine));
            }
            Reload::Refused(why) => log::error!(project:% = shown, error:% = why; "the packs are invalid"),
        });
        let reloader = reloader.map_err(|error| OpenError::Watch(name.to_owned(), error))?;
        Ok(Project {
            name: name.to_owned(),
            queue: DecisionQueue::new(engine.clone()),
            engine,
            live: Live::default(),
            verifying: Arc::new(Semaphore::new(1)),
            exporting: Arc::new(Semaphore::new(EXPORTS)),
            membership,
            is_shared: !matches!(self.storage, Storage::Memory),
            reloader,
        })
    }
}

/// The SQLite file of a project, next to that of the home project.
pub fn project_file(home: &Path, name: &str) -> Result<PathBuf, OpenError> {
    check_name(name)?;
    Ok(if name == HOME { home.to_owned() } else { projects_folder(home).join(format!("{name}.db")) })
}

fn projects_folder(home: &Path) -> PathBuf {
    home.parent().unwrap_or(Path::new(".")).join(paths::STORES_FOLDER)
}

/// The projects with files in a directory.
fn names_below(folder: &Path, prefix: &str, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && prefix.is_empty() {
            names_below(&entry.path(), &format!("{name}/"), names);
        } else if let Some(name) = name.strip_suffix(".db") {
            names.push(format!("{prefix}{name}"));
        }
    }
}

/// Checks the name of a project: `web`, or `acme/web`. It becomes a part of a path.
pub(crate) fn check_name(name: &str) -> Result<(), OpenError> {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c))
    };
    let parts: Vec<&str> = name.split('/').collect();
    let fits = name.len() <= 100 && parts.len() <= 2 && parts.iter().all(|part| is_part(part));
    fits.then_some(()).ok_or_else(|| OpenError::Name(short(name)))
}

impl From<OpenError> for Problem {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Name(_) => Problem::invalid(error.to_string()),
            OpenError::Store(_, error) => error.into(),
            OpenError::Differs(differs) => {
                log::error!(error:% = differs; "a project cannot be opened");
                Problem::unavailable(differs.to_string()).help(differs.help())
            }
            other => {
                log::error!(error:% = other; "a project cannot be opened");
                Problem::unavailable("the project cannot be opened; the log has the reason")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_names_stay_within_their_directory() {
        for good in ["default", "web", "acme/web", "a1/b-2.c_d", "7"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in
            ["", "/", "a/", "/a", "..", "../a", "a/..", "a/b/c", ".hidden", "A", "ä", "a b", "a\n", "-a"]
        {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
        assert!(check_name(&"a".repeat(101)).is_err());
    }
}
