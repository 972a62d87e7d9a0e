//! What all projects of one database share: the runtime, the connections and their timeouts.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime as PoolRuntime,
};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::Error;

use crate::error::{Result, StoreError};
use crate::key::StoreKey;
use crate::postgres::cells::signal;
use crate::postgres::combine::Combiner;
use crate::postgres::failure::Failure;
use crate::postgres::listen::Listener;
use crate::postgres::months::Months;
use crate::postgres::options::{PostgresOptions, Target, settings};
use crate::postgres::project_anchor::ProjectAnchor;
use crate::postgres::tls::Tls;
use crate::postgres::wait;
use crate::sql::queue::Queue;

pub(super) struct Server {
    /// INVARIANT: there is one until this is dropped.
    runtime: Option<Runtime>,
    pool: Pool,
    /// Its name for messages, without a password.
    pub(super) name: String,
    pub(super) timeout: Duration,
    pub(super) batch: usize,
    /// The key, if it is stored outside of the database, and its file.
    pub(super) key: Option<StoreKey>,
    pub(super) key_file: Option<PathBuf>,
    pub(super) months: Months,
    pub(super) listener: Listener,
    projects: Mutex<BTreeMap<String, Weak<Project>>>,
}

impl Server {
    pub(super) fn new(options: &PostgresOptions) -> Result<Self> {
        let Target { config, server: name, roots } = Target::parse(&options.url, options.timeout)?;
        let key = options.key_file.as_deref().map(read_key).transpose()?;
        let tls = Tls::new(roots.as_deref())?;
        let failed = |what: String| StoreError::Database { server: name.clone(), what };
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("midrail-postgres")
            .enable_all()
            .build()
            .map_err(|error| failed(format!("could not start its threads: {error}")))?;
        let timeout = options.timeout.max(Duration::from_millis(10));
        let manager_config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config.clone(), tls.clone(), manager_config);
        let pool = Pool::builder(manager)
            .max_size(options.pool.max(2))
            .runtime(PoolRuntime::Tokio1)
            .wait_timeout(Some(timeout))
            .create_timeout(Some(timeout))
            .recycle_timeout(Some(timeout))
            .post_create(prepare(timeout))
            .build()
            .map_err(|error| failed(error.to_string()))?;
        Ok(Server {
            listener: Listener::new(config, tls, timeout),
            runtime: Some(runtime),
            pool,
            timeout,
            batch: options.batch.max(1),
            key,
            key_file: options.key_file.clone(),
            months: Months::default(),
            projects: Mutex::default(),
            name,
        })
    }

    /// The project with a name: the same for all callers, so that they write together.
    pub(super) fn project(&self, name: &str) -> Arc<Project> {
        let mut projects = self.projects.lock();
        if let Some(project) = projects.get(name).and_then(Weak::upgrade) {
            return project;
        }
        projects.retain(|_, project| project.strong_count() > 0);
        let project = Arc::new(Project::new(name, self.key_file.as_deref()));
        projects.insert(name.to_owned(), Arc::downgrade(&project));
        project
    }

    /// Runs a future on this thread, with the timers and sockets of the runtime.
    pub(super) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let _inside = self.runtime.as_ref().map(Runtime::enter);
        wait::block_on(future)
    }

    /// Runs a future in the background, until this is dropped.
    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(future);
        }
    }

    pub(super) async fn client(&self) -> Result<Object, Failure> {
        Ok(self.in_time(self.pool.get()).await??)
    }

    /// Runs `work` on a connection, and again on another one if the connection was lost.
    pub(super) async fn retry<T>(
        &self,
        work: impl AsyncFn(&Object) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        match self.once(&work).await {
            Err(failure) if failure.is_lost() => self.once(&work).await,
            outcome => outcome,
        }
    }

    /// Runs `work` on a connection. A connection that is lost, or does not answer, is not used again.
    pub(super) async fn once<T>(
        &self,
        work: impl AsyncFn(&Object) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        let client = self.client().await?;
        let outcome = self.in_time(work(&client)).await.and_then(|outcome| Ok(outcome?));
        let is_unusable = matches!(outcome, Err(Failure::Lost(_) | Failure::Timeout(_)));
        if is_unusable || client.is_closed() {
            drop(Object::take(client));
        }
        outcome
    }

    /// Waits for an answer. The server cancels a statement after the timeout; this is for a server that hangs.
    pub(super) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        let limit = self.timeout + Duration::from_millis(500);
        let late = |_| Failure::Timeout(format!("it did not answer within {} ms", limit.as_millis()));
        timeout(limit, work).await.map_err(late)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Waiting for its threads would panic on a thread of another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Applies the settings to every new connection.
fn prepare(timeout: Duration) -> Hook {
    let settings = settings(timeout);
    Hook::async_fn(move |client, _| {
        let settings = settings.clone();
        Box::pin(async move { client.batch_execute(&settings).await.map_err(HookError::Backend) })
    })
}

/// Reads the key from a file. It is not created here: all processes that share a database must have the same key.
fn read_key(path: &Path) -> Result<StoreKey> {
    let text = std::fs::read_to_string(path).map_err(|source| StoreError::io(path, source))?;
    StoreKey::from_text(&text).ok_or_else(|| StoreError::Corrupt {
        path: path.to_owned(),
        what: "it is not a key of a store: two lines, `midrail-key-v1` and 64 hexadecimal digits".to_owned(),
    })
}

pub(super) struct Project {
    pub(super) name: String,
    /// Its name in notifications.
    pub(super) signal: String,
    /// The id of its row, once it exists.
    pub(super) id: OnceLock<i32>,
    pub(super) key: OnceLock<StoreKey>,
    pub(super) queue: Queue,
    /// Slices that several threads load: text and version by session and key.
    pub(super) loads: Combiner<(String, String), (String, u64)>,
    /// If the key is stored in a file.
    pub(super) anchor: Option<ProjectAnchor>,
}

impl Project {
    fn new(name: &str, key_file: Option<&Path>) -> Self {
        Project {
            anchor: key_file.map(|file| ProjectAnchor::new(file, name)),
            name: name.to_owned(),
            signal: signal(name),
            id: OnceLock::new(),
            key: OnceLock::new(),
            loads: Combiner::default(),
            queue: Queue::new(StoreError::Uncertain { server: "PostgreSQL".to_owned() }),
        }
    }
}
