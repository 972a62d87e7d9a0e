//! The store in a PostgreSQL database, shared by many processes on many machines, with many projects in it.
//!
//! A [`PostgresStore`] is one project of a database: its own log, sessions, approvals and keys. All projects of one
//! [`PostgresStore::connect`] share its connections and its small runtime. Every method blocks the thread that calls it,
//! and none waits for longer than [`PostgresOptions::timeout`] allows.

mod approvers;
mod cells;
mod commit;
mod failure;
mod family;
mod jobs;
mod listen;
mod log;
mod migrate;
mod months;
mod notices;
mod options;
mod queue;
mod read;
mod stats;
mod tls;
mod wait;
mod writes;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use deadpool_postgres::Object;
use tokio_postgres::Error;

use crate::checkpoint::PublicKey;
use crate::error::{Result, StoreError};
use crate::key::StoreKey;
use crate::postgres::cells::{signal, text, untext};
use crate::postgres::family::Family;
use crate::postgres::queue::Queue;
use crate::store::Keys;

pub use options::PostgresOptions;

/// The project that a connection begins with.
const HOME: &str = "default";

/// One project in a PostgreSQL database.
#[derive(Clone)]
pub struct PostgresStore {
    family: Arc<Family>,
    project: Arc<Project>,
}

/// What a process knows of a project.
struct Project {
    name: String,
    /// What it is called in notifications.
    signal: String,
    /// The number of its row, once there is one.
    id: OnceLock<i32>,
    key: OnceLock<StoreKey>,
    queue: Queue,
    /// Policies that are known to be kept.
    policies: Mutex<BTreeSet<String>>,
}

/// No project has this number, so nothing is found under it.
const NONE: i32 = 0;

impl PostgresStore {
    /// Connects to a database, makes its tables or brings them up to date, and gives the project `default`.
    pub fn connect(options: &PostgresOptions) -> Result<Self> {
        let family = Family::connect(options)?;
        Ok(PostgresStore::of(family, HOME))
    }

    /// Another project of the same database. It is made by the first thing that is written to it.
    pub fn project(&self, name: &str) -> PostgresStore {
        PostgresStore::of(self.family.clone(), name)
    }

    /// The projects that something was written to, by name.
    pub fn projects(&self) -> Result<Vec<String>> {
        self.read(async |client, _| {
            let rows = client.query("SELECT name FROM projects ORDER BY name", &[]).await?;
            rows.iter().map(|row| row.try_get(0).map(untext)).collect()
        })
    }

    /// The name of this project.
    pub fn name(&self) -> &str {
        &self.project.name
    }

    /// The database, as it is named in errors: without user and password.
    pub fn server(&self) -> &str {
        &self.family.server
    }

    fn of(family: Arc<Family>, name: &str) -> Self {
        let project = family.project(name, || Project {
            name: name.to_owned(),
            signal: signal(name),
            id: OnceLock::new(),
            key: OnceLock::new(),
            queue: Queue::default(),
            policies: Mutex::default(),
        });
        PostgresStore { family, project }
    }

    /// Reads with a connection and the number of the project, and again if the connection is gone.
    fn read<T>(&self, work: impl AsyncFn(&Object, i32) -> Result<T, Error>) -> Result<T> {
        let read = async {
            let id = self.id().await?;
            self.family.read(async |client| work(client, id).await).await
        };
        self.family.run(read).map_err(|trouble| trouble.told(&self.family.server))
    }

    /// Writes with one statement, or several that do not depend on each other.
    fn write<T>(&self, work: impl AsyncFn(&Object, i32) -> Result<T, Error>) -> Result<T> {
        let write = async {
            let id = self.made().await?;
            self.family.once(async |client| work(client, id).await).await
        };
        self.family.run(write).map_err(|trouble| trouble.told(&self.family.server))
    }

    /// The number of the project, or [`NONE`].
    async fn id(&self) -> Result<i32, failure::Trouble> {
        if let Some(id) = self.project.id.get() {
            return Ok(*id);
        }
        let name = text(&self.project.name);
        let row = self.family.read(async |client| {
            client
                .query_opt("SELECT id FROM projects WHERE name = $1", &[&name])
                .await?
                .map(|row| row.try_get(0))
                .transpose()
        });
        Ok(row.await?.map_or(NONE, |id| *self.project.id.get_or_init(|| id)))
    }

    /// The number of the project, which is made if there is none.
    async fn made(&self) -> Result<i32, failure::Trouble> {
        match self.id().await? {
            NONE => {
                let name = text(&self.project.name);
                let insert = "INSERT INTO projects (name) VALUES ($1) ON CONFLICT DO NOTHING";
                self.family.once(async |client| client.execute(insert, &[&name]).await).await?;
                self.id().await
            }
            id => Ok(id),
        }
    }

    /// The key, made if there is none.
    fn key(&self) -> Result<&StoreKey> {
        if let Some(key) = self.project.key.get() {
            return Ok(key);
        }
        let key = match &self.family.key {
            // What one project signs, or hashes, is worth nothing in another.
            Some(key) if self.project.name == HOME => key.again(),
            Some(key) => key.for_project(&self.project.name),
            None => self.kept_key()?,
        };
        Ok(self.project.key.get_or_init(|| key))
    }

    /// The key that is kept in the database. Of all that make one at the same time, the first is the one.
    fn kept_key(&self) -> Result<StoreKey> {
        let fresh = StoreKey::random()?.to_text();
        let kept: String = self.write(async |client, id| {
            let insert = "INSERT INTO secrets (project, seed) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            let select = "SELECT seed FROM secrets WHERE project = $1";
            if let Some(row) = client.query_opt(select, &[&id]).await? {
                return row.try_get(0);
            }
            client.execute(insert, &[&id, &fresh]).await?;
            client.query_one(select, &[&id]).await?.try_get(0)
        })?;
        StoreKey::from_text(&kept).ok_or_else(|| StoreError::Database {
            server: self.family.server.clone(),
            what: format!("the seed of the project `{}` is damaged", self.project.name),
        })
    }

    fn has_policy(&self, revision: &str) -> bool {
        self.project.policies.lock().unwrap_or_else(PoisonError::into_inner).contains(revision)
    }

    fn knows_policy(&self, revision: &str) {
        let mut known = self.project.policies.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= 1000 {
            known.clear();
        }
        known.insert(revision.to_owned());
    }
}

impl Keys for PostgresStore {
    fn fingerprint_key(&self) -> Result<[u8; 32]> {
        self.key().map(StoreKey::fingerprint_key)
    }

    fn public_key(&self) -> Result<PublicKey> {
        self.key().map(|key| key.public().clone())
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("server", &self.server())
            .field("project", &self.name())
            .finish()
    }
}
