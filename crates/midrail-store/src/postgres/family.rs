//! What all projects of one database share: the runtime, the connections, and how long anyone waits for them.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime as PoolRuntime,
};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::Error;

use crate::error::{Result, StoreError};
use crate::key::StoreKey;
use crate::postgres::failure::Trouble;
use crate::postgres::listen::Ears;
use crate::postgres::months::Months;
use crate::postgres::options::{PostgresOptions, Target};
use crate::postgres::tls::Tls;
use crate::postgres::{Project, migrate, wait};

pub(super) struct Family {
    /// Always there until this is dropped.
    runtime: Option<Runtime>,
    pool: Pool,
    /// For messages. There is no password in it.
    pub(super) server: String,
    pub(super) limit: Duration,
    pub(super) batch: usize,
    /// The key that is kept outside of the database.
    pub(super) key: Option<StoreKey>,
    pub(super) months: Months,
    pub(super) ears: Ears,
    projects: Mutex<BTreeMap<String, Weak<Project>>>,
}

impl Family {
    pub(super) fn connect(options: &PostgresOptions) -> Result<Arc<Self>> {
        let Target { config, server, roots } = Target::parse(&options.url, options.timeout)?;
        let key = options.key_file.as_deref().map(read_key).transpose()?;
        let tls = Tls::new(roots.as_deref())?;
        let failed = |what: String| StoreError::Database { server: server.clone(), what };
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("midrail-postgres")
            .enable_all()
            .build()
            .map_err(|error| failed(format!("no threads for it: {error}")))?;
        let limit = options.timeout.max(Duration::from_millis(10));
        let settings = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config.clone(), tls.clone(), settings);
        let pool = Pool::builder(manager)
            .max_size(options.pool.max(2))
            .runtime(PoolRuntime::Tokio1)
            .wait_timeout(Some(limit))
            .create_timeout(Some(limit))
            .recycle_timeout(Some(limit))
            .post_create(prepare(limit))
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let family = Family {
            ears: Ears::new(config, tls, limit),
            runtime: Some(runtime),
            pool,
            limit,
            batch: options.batch.max(1),
            key,
            months: Months::default(),
            projects: Mutex::default(),
            server,
        };
        family.run(migrate::up_to_date(&family))?;
        Ok(Arc::new(family))
    }

    /// The project of a name: the same for all that ask for it, so that they write together.
    pub(super) fn project(&self, name: &str, new: impl FnOnce() -> Project) -> Arc<Project> {
        let mut projects = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(project) = projects.get(name).and_then(Weak::upgrade) {
            return project;
        }
        projects.retain(|_, project| project.strong_count() > 0);
        let project = Arc::new(new());
        projects.insert(name.to_owned(), Arc::downgrade(&project));
        project
    }

    /// Runs a future on this thread, with the timers and sockets of the runtime.
    pub(super) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let _inside = self.runtime.as_ref().map(Runtime::enter);
        wait::block_on(future)
    }

    /// Runs a future in the background, for as long as the family lives.
    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(future);
        }
    }

    pub(super) async fn client(&self) -> Result<Object, Trouble> {
        self.in_time(self.pool.get()).await?.map_err(|error| Trouble::of_pool(&error))
    }

    /// Asks a connection. Is it gone, then another is asked, and it is the same as if it had been asked at first.
    pub(super) async fn read<T>(
        &self,
        work: impl AsyncFn(&Object) -> Result<T, Error>,
    ) -> Result<T, Trouble> {
        match self.once(&work).await {
            Err(trouble) if trouble.is_gone() => self.once(&work).await,
            outcome => outcome,
        }
    }

    /// Asks a connection once. A connection that failed, or did not answer, is not used again.
    pub(super) async fn once<T>(
        &self,
        work: impl AsyncFn(&Object) -> Result<T, Error>,
    ) -> Result<T, Trouble> {
        let client = self.client().await?;
        match self.in_time(work(&client)).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                let trouble = Trouble::of(&error);
                if trouble.is_gone() || client.is_closed() {
                    drop(Object::take(client));
                }
                Err(trouble)
            }
            Err(late) => {
                drop(Object::take(client));
                Err(late)
            }
        }
    }

    /// Waits for an answer. The server gives up by itself after the limit; this is for one that hangs.
    pub(super) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Trouble> {
        let limit = self.limit + Duration::from_millis(500);
        let late = |_| Trouble::Late(format!("it did not answer within {} ms", limit.as_millis()));
        timeout(limit, work).await.map_err(late)
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        // Waiting for its threads would panic on a thread of another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What every connection is told at first.
fn prepare(limit: Duration) -> Hook {
    let settings = settings(limit);
    Hook::async_fn(move |client, _| {
        let settings = settings.clone();
        Box::pin(async move { client.batch_execute(&settings).await.map_err(HookError::Backend) })
    })
}

/// The settings of a connection. A commit is durable when it returns, whatever the database is set to.
pub(super) fn settings(limit: Duration) -> String {
    let limit = limit.as_millis();
    format!(
        "SET search_path = midrail; SET statement_timeout = {limit}; SET lock_timeout = {limit};
         SET idle_in_transaction_session_timeout = {}; SET client_encoding = 'UTF8';
         SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
        limit * 2
    )
}

/// The key of a file. It is not made here: all who share a database must have the same.
fn read_key(path: &Path) -> Result<StoreKey> {
    let text = std::fs::read_to_string(path).map_err(|source| StoreError::io(path, source))?;
    StoreKey::from_text(&text).ok_or_else(|| StoreError::Corrupt {
        path: path.to_owned(),
        what: "it is no key of a store: two lines, `midrail-key-v1` and 64 hexadecimal digits".to_owned(),
    })
}
