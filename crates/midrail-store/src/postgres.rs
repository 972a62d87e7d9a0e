//! The store in a PostgreSQL database, shared by many processes on many machines, with many projects.
//!
//! A [`PostgresStore`] is one project of a database: its own log, sessions, approvals and keys. All projects of one
//! [`PostgresStore::connect`] share its connections and its small runtime. Every method blocks the calling thread, and none
//! waits for longer than [`PostgresOptions::timeout`] allows.

mod anchored;
mod cells;
mod combine;
mod commit;
mod dialect;
mod failure;
mod listen;
mod migrate;
mod months;
mod options;
mod project_anchor;
mod server;
mod session;
mod tls;
mod wait;
mod writes;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::{Result, StoreError};
use crate::key::StoreKey;
use crate::postgres::cells::{escape, unescape};
use crate::postgres::failure::Failure;
use crate::postgres::migrate::migrate;
use crate::postgres::server::{Project, Server};
use crate::postgres::session::Session;
use crate::sql::Connection;

pub use options::PostgresOptions;

/// The project of a new connection.
const DEFAULT_PROJECT: &str = "default";

/// No project has this id, so no row is found with it.
const NO_PROJECT: i32 = 0;

/// One project in a PostgreSQL database.
#[derive(Clone)]
pub struct PostgresStore {
    server: Arc<Server>,
    project: Arc<Project>,
}

impl PostgresStore {
    /// Connects to a database, creates or upgrades its tables, and returns the project `default`.
    pub fn connect(options: &PostgresOptions) -> Result<Self> {
        let server = Server::new(options)?;
        let fail = |failure: Failure| failure.into_store_error(&server.name);
        let mut client = server.run(server.client()).map_err(fail)?;
        server.run(server.in_time(migrate(&mut client, &server.name))).map_err(fail)??;
        drop(client);
        let project = server.project(DEFAULT_PROJECT);
        Ok(PostgresStore { server: Arc::new(server), project })
    }

    /// Another project of the same database. The first write creates it.
    pub fn project(&self, name: &str) -> PostgresStore {
        PostgresStore { server: self.server.clone(), project: self.server.project(name) }
    }

    /// The projects that were written to, by name.
    pub fn projects(&self) -> Result<Vec<String>> {
        let rows = self.server.retry(async |client| {
            let rows = client.query("SELECT name FROM projects ORDER BY name", &[]).await?;
            rows.iter().map(|row| row.try_get(0).map(unescape)).collect()
        });
        self.server.run(rows).map_err(|failure| failure.into_store_error(&self.server.name))
    }

    /// The name of this project.
    pub fn name(&self) -> &str {
        &self.project.name
    }

    /// The files of this instance outside of the database, which agents must not change: its key and its anchor.
    pub fn own_files(&self) -> Vec<PathBuf> {
        let anchor = self.project.anchor.as_ref().map(|anchor| anchor.path().to_owned());
        self.server.key_file.iter().cloned().chain(anchor).collect()
    }

    /// The name of the database in errors, without user and password.
    pub fn server(&self) -> &str {
        &self.server.name
    }

    /// A connection for writing. The project is created if it does not exist.
    fn session(&self) -> Result<Session<'_>> {
        let open = async { Ok((self.id_or_create().await?, self.server.client().await?)) };
        let (id, client) =
            self.server.run(open).map_err(|failure: Failure| failure.into_store_error(&self.server.name))?;
        Ok(Session::new(&self.server, client, id))
    }

    /// The id of the project, or [`NO_PROJECT`].
    async fn id(&self) -> Result<i32, Failure> {
        if let Some(id) = self.project.id.get() {
            return Ok(*id);
        }
        let name = escape(&self.project.name);
        let row = self.server.retry(async |client| {
            client
                .query_opt("SELECT id FROM projects WHERE name = $1", &[&name])
                .await?
                .map(|row| row.try_get(0))
                .transpose()
        });
        Ok(row.await?.map_or(NO_PROJECT, |id| *self.project.id.get_or_init(|| id)))
    }

    /// The id of the project, which is created if it does not exist.
    async fn id_or_create(&self) -> Result<i32, Failure> {
        let id = self.id().await?;
        if id != NO_PROJECT {
            return Ok(id);
        }
        let name = escape(&self.project.name);
        let insert = "INSERT INTO projects (name) VALUES ($1) ON CONFLICT DO NOTHING";
        self.server.once(async |client| client.execute(insert, &[&name]).await).await?;
        self.id().await
    }

    /// The key, created if it does not exist.
    fn key(&self) -> Result<&StoreKey> {
        if let Some(key) = self.project.key.get() {
            return Ok(key);
        }
        let key = match &self.server.key {
            // Signatures and hashes of one project are invalid in another.
            Some(key) if self.project.name == DEFAULT_PROJECT => key.clone(),
            Some(key) => key.for_project(&self.project.name),
            None => self.database_key(&self.session()?)?,
        };
        Ok(self.project.key.get_or_init(|| key))
    }

    /// The key that is stored in the database. If several processes create one at the same time, the first one wins.
    fn database_key(&self, connection: &dyn Connection) -> Result<StoreKey> {
        let select = "SELECT seed FROM secrets WHERE project = $1";
        let insert = "INSERT INTO secrets (project, seed) VALUES ($1, ?1) ON CONFLICT DO NOTHING";
        let mut text = connection.row(select, &[], |row| row.string(0))?;
        if text.is_none() {
            connection.execute(insert, &[StoreKey::random()?.to_text().into()])?;
            text = connection.row(select, &[], |row| row.string(0))?;
        }
        text.as_deref().and_then(StoreKey::from_text).ok_or_else(|| StoreError::Database {
            server: self.server.name.clone(),
            what: format!("the seed of the project `{}` is damaged", self.project.name),
        })
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
