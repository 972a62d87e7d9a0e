//! The files of a store: their permissions, and the key next to the database.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::anchor::{private, with_suffix};
use crate::error::{Result, StoreError};
use crate::key::StoreKey;

/// Creates a file unless it exists. Only the owner can access a new file and new folders.
pub(super) fn create(path: &Path) -> Result<()> {
    // Closing a file releases all locks that this process has on it, so while one thread creates the file, no other
    // may open it as a database.
    static CREATING: Mutex<()> = Mutex::new(());
    let _creating = CREATING.lock();
    match file_metadata(path) {
        Err(StoreError::NotFound { .. }) => {
            if let Some(folder) = path.parent() {
                private_folders().create(folder).map_err(|source| StoreError::io(folder, source))?;
            }
            match private(OpenOptions::new().write(true).create_new(true)).open(path) {
                Ok(_) => sync_folder(path),
                // Another process has created it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StoreError::io(path, error)),
            }
            Ok(())
        }
        outcome => outcome.map(|_| ()),
    }
}

/// Why SQLite could not create the files that it needs next to a store, if a test file shows it.
pub(super) fn creation_error(path: &Path) -> Option<StoreError> {
    let probe = with_suffix(path, ".probe");
    match OpenOptions::new().write(true).create_new(true).open(&probe) {
        Ok(_) => {
            let _ = fs::remove_file(&probe);
            None
        }
        Err(error) => Some(StoreError::io(path, error)),
    }
}

/// The metadata of a file, which must not be a folder or a device.
pub(super) fn file_metadata(path: &Path) -> Result<fs::Metadata> {
    let metadata = fs::metadata(path).map_err(|source| StoreError::io(path, source))?;
    if metadata.is_file() {
        return Ok(metadata);
    }
    let what = if metadata.is_dir() { "it is a directory" } else { "it is not a regular file" };
    Err(StoreError::Corrupt { path: path.to_owned(), what: what.to_owned() })
}

/// Makes sure that only the owner can access a file and the files of SQLite next to it.
pub(super) fn make_private(path: &Path) -> Result<()> {
    if !restrict(path, &file_metadata(path)?)? {
        return Ok(());
    }
    for suffix in ["-wal", "-shm"] {
        let side = with_suffix(path, suffix);
        match file_metadata(&side) {
            Err(StoreError::NotFound { .. }) => {}
            outcome => drop(restrict(&side, &outcome?)?),
        }
    }
    Ok(())
}

/// The key file of a store.
pub(super) fn key_path(store: &Path) -> PathBuf {
    with_suffix(store, ".key")
}

/// The anchor file of a store.
pub(super) fn anchor_path(store: &Path) -> PathBuf {
    with_suffix(store, ".head")
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
    make_private(&path)?;
    let key = std::str::from_utf8(&bytes).ok().and_then(StoreKey::from_text);
    let what = "it is not a key of a store; restore it from a backup";
    key.map(Some).ok_or_else(|| StoreError::Corrupt { path, what: what.to_owned() })
}

/// Writes a new key. The caller holds the write lock of the store, so that only one process does this at a time; the
/// key file appears complete or not at all.
pub(super) fn write_key(store: &Path, key: &StoreKey) -> Result<()> {
    let path = key_path(store);
    let draft = with_suffix(store, ".key.new");
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

/// Removes the permissions of the group and others. Returns whether there were any.
#[cfg(unix)]
fn restrict(path: &Path, metadata: &fs::Metadata) -> Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    if metadata.permissions().mode() & 0o077 == 0 {
        return Ok(false);
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
        .map_err(|source| StoreError::io(path, source))?;
    Ok(true)
}

#[cfg(not(unix))]
fn restrict(_: &Path, _: &fs::Metadata) -> Result<bool> {
    Ok(false)
}

fn private_folders() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Makes a new name durable, if the file system supports that.
fn sync_folder(path: &Path) {
    let _ = path.parent().and_then(|folder| File::open(folder).ok()).map(|folder| folder.sync_all());
}
