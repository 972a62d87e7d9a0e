//! Settings files: reading them within limits, and writing them in one step.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Why a file is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{}{}: {what}", path.display(), place.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default())]
pub struct SettingsError {
    /// The file.
    pub path: PathBuf,
    /// DiffLine and column in it, from 1.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl SettingsError {
    pub(super) fn of(path: &Path, what: impl Into<String>) -> Self {
        SettingsError { path: path.to_owned(), place: None, what: what.into(), help: None }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// The largest file that is read as settings.
const LARGEST: u64 = 4 << 20;

/// The text of a file; `None` if it is not there.
pub(super) fn read(path: &Path) -> Result<Option<String>, SettingsError> {
    let cannot = |error: io::Error| SettingsError::of(path, format!("could not be read: {error}"));
    // A pipe would be waited for without end.
    if path.metadata().is_ok_and(|it| !it.is_file()) {
        return Err(
            SettingsError::of(path, "is not an ordinary file").help("move it away, then run this again")
        );
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            if path.symlink_metadata().is_ok() {
                return Err(SettingsError::of(path, "is a link that leads nowhere")
                    .help("mend or remove the link, then run this again"));
            }
            return Ok(None);
        }
        Err(error) => return Err(cannot(error)),
    };
    let metadata = file.metadata().map_err(cannot)?;
    if !metadata.is_file() {
        return Err(
            SettingsError::of(path, "is not an ordinary file").help("move it away, then run this again")
        );
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() > usize::try_from(LARGEST).unwrap_or(usize::MAX) {
        return Err(SettingsError::of(path, format!("is larger than {LARGEST} bytes")));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let valid = String::from_utf8_lossy(error.as_bytes().get(..at).unwrap_or_default());
        let mut trouble =
            SettingsError::of(path, "is not UTF-8").help("save it as UTF-8, then run this again");
        trouble.place = Some(place(&valid, valid.len()));
        trouble
    })
}

/// DiffLine and column of an offset, from 1.
pub(super) fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    (line + 1, column + 1)
}

/// Writes a file in one step, through a link if it is one, and keeps its mode. Folders that are
/// missing are made.
pub(super) fn write(path: &Path, text: &str, mode: Option<u32>) -> Result<(), SettingsError> {
    let cannot = |error: io::Error| {
        let trouble = SettingsError::of(path, format!("could not be written: {error}"));
        match error.kind() {
            ErrorKind::PermissionDenied => trouble.help("run this as a user who may write there"),
            _ => trouble,
        }
    };
    let target = if path.symlink_metadata().is_ok_and(|it| it.is_symlink()) {
        path.canonicalize().map_err(cannot)?
    } else {
        path.to_owned()
    };
    let folder = target.parent().unwrap_or(Path::new("."));
    let private = mode.is_some_and(|mode| mode & 0o077 == 0);
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(if private { 0o700 } else { 0o777 });
    builder.create(folder).map_err(cannot)?;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.midrail-{}", std::process::id()));
    let written = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(mode.unwrap_or(0o666))
            .open(&temporary)?;
        file.write_all(text.as_bytes())?;
        if let Ok(metadata) = target.metadata() {
            file.set_permissions(metadata.permissions())?;
        }
        file.sync_all()?;
        fs::rename(&temporary, &target)
    })();
    if let Err(error) = written {
        drop(fs::remove_file(&temporary));
        return Err(cannot(error));
    }
    Ok(())
}

/// Removes a file.
pub(super) fn remove(path: &Path) -> Result<(), SettingsError> {
    fs::remove_file(path).map_err(|error| SettingsError::of(path, format!("could not be removed: {error}")))
}
