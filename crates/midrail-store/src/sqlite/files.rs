//! The files of a store on disk: who may read them, and the key that lies beside the database.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::{Result, StoreError};
use crate::key::StoreKey;

/// Makes sure that there is a file. A new one is its owner's alone, and so are new folders.
pub(super) fn make(path: &Path) -> Result<()> {
    // Closing a file gives up all locks that this process has on it. So while one thread makes the file, no other
    // may come to open it as a database.
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    match is_file(path) {
        Err(StoreError::NotFound { .. }) => {
            if let Some(folder) = path.parent() {
                private_folders().create(folder).map_err(|source| StoreError::io(folder, source))?;
            }
            match private(OpenOptions::new().write(true).create_new(true)).open(path) {
                Ok(_) => sync_folder(path),
                // Another process was as quick, and its file is the one.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StoreError::io(path, error)),
            }
            Ok(())
        }
        outcome => outcome.map(|_| ()),
    }
}

/// Why SQLite could not make the files that it needs beside a store, if it can be found out by trying.
pub(super) fn why_not(path: &Path) -> Option<StoreError> {
    let probe = beside(path, ".probe");
    match OpenOptions::new().write(true).create_new(true).open(&probe) {
        Ok(_) => {
            let _ = fs::remove_file(&probe);
            None
        }
        Err(error) => Some(StoreError::io(path, error)),
    }
}

/// Looks at a file, which must not be a folder or a device.
pub(super) fn is_file(path: &Path) -> Result<fs::Metadata> {
    let metadata = fs::metadata(path).map_err(|source| StoreError::io(path, source))?;
    if metadata.is_file() {
        return Ok(metadata);
    }
    let what = if metadata.is_dir() { "it is a directory" } else { "it is no regular file" };
    Err(StoreError::Corrupt { path: path.to_owned(), what: what.to_owned() })
}

/// Makes sure that a file, and what SQLite keeps beside it, are their owner's alone.
pub(super) fn keep_private(path: &Path) -> Result<()> {
    if !narrow(path, &is_file(path)?)? {
        return Ok(());
    }
    for suffix in ["-wal", "-shm"] {
        let side = beside(path, suffix);
        match is_file(&side) {
            Err(StoreError::NotFound { .. }) => {}
            outcome => drop(narrow(&side, &outcome?)?),
        }
    }
    Ok(())
}

/// The key file of a store.
pub(super) fn key_path(store: &Path) -> PathBuf {
    beside(store, ".key")
}

/// A file whose name is the store's with something added.
pub(super) fn beside(store: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(store);
    name.push(suffix);
    PathBuf::from(name)
}

/// The key of a store, if it has one.
pub(super) fn read_key(store: &Path) -> Result<Option<StoreKey>> {
    let path = key_path(store);
    let fail = |source| StoreError::io(&path, source);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
    };
    keep_private(&path)?;
    let key = std::str::from_utf8(&bytes).ok().and_then(StoreKey::from_text);
    let what = "it is no key of a store; without it a new key is made, and what is signed stays valid";
    key.map(Some).ok_or_else(|| StoreError::Corrupt { path, what: what.to_owned() })
}

/// Keeps a new key. The caller holds the store's write lock, so that only one process does this at a time; the key
/// appears under its name complete or not at all.
pub(super) fn write_key(store: &Path, key: &StoreKey) -> Result<()> {
    let path = key_path(store);
    let draft = beside(store, ".key.new");
    let write = || {
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private(OpenOptions::new().write(true).create_new(true)).open(&draft)?;
        file.write_all(key.to_text().as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, &path)
    };
    write().map_err(|source| StoreError::io(&path, source))?;
    sync_folder(&path);
    Ok(())
}

/// Takes away what the group and others may do, and tells whether there was something to take.
#[cfg(unix)]
fn narrow(path: &Path, metadata: &fs::Metadata) -> Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    if metadata.permissions().mode() & 0o077 == 0 {
        return Ok(false);
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
        .map_err(|source| StoreError::io(path, source))?;
    Ok(true)
}

#[cfg(not(unix))]
fn narrow(_: &Path, _: &fs::Metadata) -> Result<bool> {
    Ok(false)
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

fn private_folders() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Makes a new name durable. Where a file system has no such thing, the name is as durable as it can be.
fn sync_folder(path: &Path) {
    let _ = path.parent().and_then(|folder| File::open(folder).ok()).map(|folder| folder.sync_all());
}
