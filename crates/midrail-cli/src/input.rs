//! What several verbs read: packs, stores, files.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use midrail::pack::diagnostic::visible;
use midrail::store::MemoryStore;
use midrail::{Load, SqliteStore, Store, places};

use crate::failure::Failure;

/// Which packs decide.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Packs {
    /// A pack file, a folder of them, or a shipped pack such as `default`. Can be given several times. Named packs
    /// replace the layers of the folder; the always-on built-ins stay
    #[arg(long = "pack", value_name = "FILE")]
    pub(crate) packs: Vec<PathBuf>,
    /// The environment whose overlay of the packs is applied
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Option<String>,
}

impl Packs {
    /// The packs that are named, or the layers of a folder.
    pub(crate) fn of_folder(&self, folder: Option<PathBuf>) -> Load {
        Load { packs: self.packs.clone(), env: self.env.clone(), folder, cache: None }
    }

    /// The packs that are named, or the layers of this folder.
    pub(crate) fn here(&self) -> Load {
        self.of_folder(env::current_dir().ok())
    }

    /// Whether any are named.
    pub(crate) fn is_named(&self) -> bool {
        !self.packs.is_empty() || self.env.is_some()
    }
}

/// Midrail's own files, which an agent leaves alone: this store with what lies beside it, and the packs of all layers.
pub(crate) fn own_places(store: &Path) -> Vec<PathBuf> {
    let beside = ["", "-wal", "-shm", "-journal", ".key"].iter().map(|ending| {
        let mut name = store.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    });
    let layers = places::layers(None).into_iter().map(|(_, place)| place);
    let usual = places::default_store().and_then(|path| path.parent().map(Path::to_owned));
    beside.chain(layers).chain(usual).collect()
}

/// Where sessions and the audit log are kept.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct StoreFile {
    /// The store: a SQLite file [default: midrail/midrail.db in the user's state folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
}

impl StoreFile {
    /// The file that is named, or the default one.
    pub(crate) fn path(&self) -> Result<PathBuf, Failure> {
        self.store.clone().or_else(places::default_store).ok_or_else(|| {
            Failure::new("there is no place for the store: `HOME` is not set")
                .help("name one with `--store FILE`")
        })
    }

    /// The store, which has to be there.
    pub(crate) fn existing(&self) -> Result<SqliteStore, Failure> {
        let path = self.path()?;
        if !path.exists() {
            // It tells what is missing in the words of the store.
            return self.read_only();
        }
        Ok(SqliteStore::open(path)?)
    }

    /// The store, to list what is in it. Before the first decision there is none, and nothing in it; but one that is
    /// named has to be there.
    pub(crate) fn to_list(&self) -> Result<Arc<dyn Store>, Failure> {
        if self.store.is_none() && !self.path()?.exists() {
            return Ok(Arc::new(MemoryStore::new()?));
        }
        Ok(Arc::new(self.read_only()?))
    }

    /// The store, of which nothing is to be changed.
    pub(crate) fn read_only(&self) -> Result<SqliteStore, Failure> {
        Ok(SqliteStore::open_read_only(self.path()?)?)
    }
}

/// A path in a message.
pub(crate) fn quoted(path: &Path) -> String {
    format!("`{}`", visible(&path.display().to_string()))
}

/// A file to read, or standard input for `-` and for nothing.
pub(crate) fn open(path: Option<&Path>) -> Result<Box<dyn Read>, Failure> {
    let Some(path) = path.filter(|path| *path != Path::new("-")) else {
        return Ok(Box::new(io::stdin().lock()));
    };
    let cannot =
        |why: &dyn std::fmt::Display| Failure::new(format!("could not read {}: {why}", quoted(path)));
    let file = File::open(path).map_err(|error| cannot(&error))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(cannot(&"it is a folder"));
    }
    Ok(Box::new(file))
}
