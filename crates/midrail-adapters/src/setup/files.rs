//! Settings files: reads them within limits, and replaces them atomically.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Why a file was not changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{}{message}", prefix(path, *place))]
pub struct SettingsError {
    /// The file.
    pub path: PathBuf,
    /// Line and column, from 1.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// The place of an error, if it is known.
fn prefix(path: &Path, place: Option<(usize, usize)>) -> String {
    let place = place.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
    if path.as_os_str().is_empty() { place } else { format!("{}{place}: ", path.display()) }
}

/// What became of a file, or why it was not changed.
pub(crate) type SettingsResult<T = ()> = Result<T, SettingsError>;

/// The end of a help text.
pub(crate) const LEFT_UNCHANGED: &str = "the file was not changed";

impl SettingsError {
    /// An error in a text whose file is not known yet.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        SettingsError { path: PathBuf::new(), place: None, message: message.into(), help: None }
    }

    pub(crate) fn in_file(self, path: &Path) -> Self {
        SettingsError { path: path.to_owned(), ..self }
    }

    pub(crate) fn at(self, place: (usize, usize)) -> Self {
        SettingsError { place: Some(place), ..self }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        SettingsError { help: Some(help.into()), ..self }
    }
}

/// The largest settings file that is read.
const MAX_BYTES: u64 = 4 << 20;

/// The text of a file; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> SettingsResult<Option<String>> {
    let failed = |message: &str, help: &str| Err(SettingsError::new(message).help(help).in_file(path));
    let cannot = |error: io::Error| SettingsError::new(format!("could not be read: {error}")).in_file(path);
    // Reading a pipe would never end.
    if path.metadata().is_ok_and(|it| !it.is_file()) {
        return failed("is not a regular file", "move it away, then run this command again");
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            if path.symlink_metadata().is_ok() {
                return failed("is a broken link", "fix or remove the link, then run this command again");
            }
            return Ok(None);
        }
        Err(error) => return Err(cannot(error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() > usize::try_from(MAX_BYTES).unwrap_or(usize::MAX) {
        return Err(SettingsError::new(format!("is larger than {MAX_BYTES} bytes")).in_file(path));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let valid = String::from_utf8_lossy(error.as_bytes().get(..at).unwrap_or_default());
        SettingsError::new("is not UTF-8")
            .at(position(&valid, valid.len()))
            .help("save it as UTF-8, then run this command again")
            .in_file(path)
    })
}

/// Line and column of an offset, from 1.
pub(crate) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    (line + 1, column + 1)
}

/// Replaces a file atomically, or the target of a link, and keeps its mode. Creates missing folders.
pub(crate) fn write(path: &Path, text: &str, mode: Option<u32>) -> SettingsResult {
    let cannot = |error: io::Error| {
        let failed = SettingsError::new(format!("could not be written: {error}")).in_file(path);
        match error.kind() {
            ErrorKind::PermissionDenied => failed.help("run this command as a user with write access"),
            _ => failed,
        }
    };
    let is_link = path.symlink_metadata().is_ok_and(|it| it.is_symlink());
    let target = if is_link { path.canonicalize().map_err(cannot)? } else { path.to_owned() };
    let folder = target.parent().unwrap_or(Path::new("."));
    let is_private = mode.is_some_and(|mode| mode & 0o077 == 0);
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(if is_private { 0o700 } else { 0o777 });
    builder.create(folder).map_err(cannot)?;
    let prefix = format!(".{}.midrail-", target.file_name().unwrap_or_default().to_string_lossy());
    let write = || {
        let permissions = fs::Permissions::from_mode(mode.unwrap_or(0o666));
        let mut file =
            tempfile::Builder::new().prefix(&prefix).permissions(permissions).tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        if let Ok(metadata) = target.metadata() {
            file.as_file().set_permissions(metadata.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(&target)?;
        Ok(())
    };
    write().map_err(cannot)
}

/// Removes a file.
pub(crate) fn remove(path: &Path) -> SettingsResult {
    let cannot = |error| SettingsError::new(format!("could not be removed: {error}")).in_file(path);
    fs::remove_file(path).map_err(cannot)
}
