//! Inputs of several subcommands: packs, stores, files.

use std::convert::Infallible;
use std::env;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use midrail::pack::diagnostic::visible;
use midrail::store::MemoryStore;
use midrail::{Load, OnDamage, PostgresOptions, PostgresStore, SqliteStore, Store, StoreError, paths};

use crate::error::{CliError, CliResult};

/// Parses the name of a guardrail: its id, or the readable name of a numbered one.
pub(crate) fn guardrail_name(name: &str) -> Result<String, Infallible> {
    Ok(midrail::guardrails::guardrail_id(name))
}

/// The packs of the policy.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PackArgs {
    /// A pack file, a directory of packs, or a shipped pack such as `default`. Can be given several times. These
    /// packs replace the layers of the directory; always-on guardrails stay in force
    #[arg(long = "pack", value_name = "FILE", global = true)]
    pub(crate) packs: Vec<PathBuf>,
    /// The environment whose overlay is applied
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) env: Option<String>,
}

impl PackArgs {
    /// The packs that are named, or the layers of a folder.
    pub(crate) fn in_folder(&self, folder: Option<PathBuf>) -> Load {
        Load { packs: self.packs.clone(), env: self.env.clone(), folder, ..Load::default() }
    }

    /// The packs that are named, or the layers of this folder.
    pub(crate) fn here(&self) -> Load {
        self.in_folder(env::current_dir().ok())
    }

    /// Whether packs are given.
    pub(crate) fn is_named(&self) -> bool {
        !self.packs.is_empty() || self.env.is_some()
    }
}

/// The store of sessions and the audit log.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct StoreArgs {
    /// The store: a SQLite file, postgres://…, or env:NAME to read it from a variable [default: midrail/midrail.db
    /// in the user's state directory]
    #[arg(long, value_name = "STORE", global = true)]
    pub(crate) store: Option<PathBuf>,
    /// The project, if the store has several [default: default]
    #[arg(id = "in", long = "in", value_name = "PROJECT", global = true)]
    pub(crate) project: Option<String>,
    /// The file of the key that signs the audit log of a PostgreSQL store [default: in the database]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) store_key: Option<PathBuf>,
}

/// The reaction to a damaged store, of subcommands that decide events.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct DamageArgs {
    /// What to do if the store has lost records or was replaced: `block` every event until `midrail audit acknowledge`,
    /// or `report` it and continue
    #[arg(long, value_name = "REACTION", default_value = "block")]
    on_damage: DamageReaction,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum DamageReaction {
    #[default]
    Block,
    Report,
}

impl DamageArgs {
    pub(crate) fn reaction(self) -> OnDamage {
        match self.on_damage {
            DamageReaction::Block => OnDamage::Block,
            DamageReaction::Report => OnDamage::Report,
        }
    }
}

/// Where a store is.
pub(crate) enum StorePlace {
    File(PathBuf),
    Postgres(String),
}

impl StoreArgs {
    /// Where it is: as it is named, or the default file.
    pub(crate) fn place(&self) -> CliResult<StorePlace> {
        let Some(named) = &self.store else {
            return Ok(StorePlace::File(self.in_project(&default_file()?)?));
        };
        let named: PathBuf = match named.to_string_lossy().strip_prefix("env:") {
            Some(name) => env::var_os(name).map(PathBuf::from).ok_or_else(|| {
                CliError::new(format!("the variable `{name}` that `--store` names is not set"))
                    .help("set it to a SQLite file or to postgres://…")
            })?,
            None => named.clone(),
        };
        let text = named.to_string_lossy();
        match text.split_once("://") {
            Some(("postgres" | "postgresql", _)) => Ok(StorePlace::Postgres(text.into_owned())),
            Some((scheme, _)) => {
                Err(CliError::new(format!("there is no store of the kind `{}`", visible(scheme)))
                    .help("name a SQLite file by its path, or a database as postgres://…"))
            }
            None => Ok(StorePlace::File(self.in_project(&named)?)),
        }
    }

    /// The file that is named, or the default one.
    pub(crate) fn path(&self) -> CliResult<PathBuf> {
        match self.place()? {
            StorePlace::File(path) => Ok(path),
            StorePlace::Postgres(_) => Err(CliError::new("this subcommand needs a SQLite store")
                .help("use `midrail serve --store postgres://…` instead")),
        }
    }

    /// What it is called in messages. An address may hold a password, which is not shown.
    pub(crate) fn display_path(&self) -> CliResult<PathBuf> {
        match self.place()? {
            StorePlace::File(path) => Ok(path),
            StorePlace::Postgres(url) => {
                let shown = url.split_once('@').map_or(url.as_str(), |(_, shown)| shown);
                let shown = shown.strip_prefix("postgres://").unwrap_or(shown);
                Ok(PathBuf::from(format!("postgres://{}", shown.split('?').next().unwrap_or_default())))
            }
        }
    }

    /// The store, which is made if there is none.
    pub(crate) fn open_or_create(&self) -> CliResult<Arc<dyn Store>> {
        self.open(SqliteStore::open)
    }

    /// The store, which has to be there.
    pub(crate) fn open_existing(&self) -> CliResult<Arc<dyn Store>> {
        match self.place()? {
            // The error of the store says what is missing.
            StorePlace::File(path) if !path.exists() => self.read_only(),
            _ => self.open_or_create(),
        }
    }

    /// The store, to list what is in it. Before the first decision there is none, and nothing in it; but one that is
    /// named has to be there.
    pub(crate) fn open_for_list(&self) -> CliResult<Arc<dyn Store>> {
        if self.store.is_none() && !self.path()?.exists() {
            return Ok(Arc::new(MemoryStore::new()?));
        }
        self.read_only()
    }

    /// The store, read-only.
    pub(crate) fn read_only(&self) -> CliResult<Arc<dyn Store>> {
        self.open(SqliteStore::open_read_only)
    }

    fn open(&self, sqlite: impl Fn(PathBuf) -> Result<SqliteStore, StoreError>) -> CliResult<Arc<dyn Store>> {
        match self.place()? {
            StorePlace::File(path) => Ok(Arc::new(sqlite(path)?)),
            StorePlace::Postgres(url) => {
                let options =
                    PostgresOptions { key_file: self.store_key.clone(), ..PostgresOptions::new(&url) };
                let store = PostgresStore::connect(&options)?;
                self.in_project(Path::new(""))?;
                Ok(Arc::new(store.project(self.project.as_deref().unwrap_or(midrail_service::HOME))))
            }
        }
    }

    /// The file of the project. Its name is checked.
    fn in_project(&self, home: &Path) -> CliResult<PathBuf> {
        let Some(name) = &self.project else { return Ok(home.to_owned()) };
        midrail_service::project_file(home, name).map_err(|error| CliError::new(error.to_string()))
    }
}

fn default_file() -> CliResult<PathBuf> {
    paths::default_store().ok_or_else(|| {
        CliError::new("the default store has no path: `HOME` is not set").help("name one with `--store FILE`")
    })
}

/// A path in a message.
pub(crate) fn quoted(path: impl AsRef<Path>) -> String {
    format!("`{}`", visible(&path.as_ref().display().to_string()))
}

/// A file to read, or standard input for `-` and if none is given.
pub(crate) fn open(path: Option<&Path>) -> CliResult<Box<dyn Read + Send>> {
    open_file(path, None)
}

/// The same, with help for a text in place of the name of a file.
pub(crate) fn open_or(path: Option<&Path>, help: &str) -> CliResult<Box<dyn Read + Send>> {
    open_file(path, Some(help))
}

fn open_file(path: Option<&Path>, help: Option<&str>) -> CliResult<Box<dyn Read + Send>> {
    let Some(path) = path.filter(|path| *path != Path::new("-")) else {
        return Ok(Box::new(io::stdin()));
    };
    let cannot =
        |why: &dyn std::fmt::Display| CliError::new(format!("could not read {}: {why}", quoted(path)));
    let file = File::open(path).map_err(|error| match error.kind() {
        // A long text is not even the name of a file.
        ErrorKind::NotFound | ErrorKind::InvalidFilename | ErrorKind::NotADirectory => {
            CliError::new(format!("there is no file {}", quoted(path))).maybe_help(help)
        }
        _ => cannot(&error),
    })?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(cannot(&"it is a folder"));
    }
    Ok(Box::new(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guardrails_have_two_spellings() {
        for name in ["safety-001", "destructive-command", "destructive_command"] {
            assert_eq!(guardrail_name(name).unwrap(), "safety-001");
        }
        assert_eq!(guardrail_name("my-own").unwrap(), "my-own");
    }
}
