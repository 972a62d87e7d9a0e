//! A change of a settings file, and the backup from which `midrail uninstall` restores it.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::environment::Environment;
use super::files::{self, SettingsError, SettingsResult};

/// A file before and after a change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileChange {
    /// The name of the host that reads it; `None`: Midrail itself.
    pub host: Option<&'static str>,
    /// The file.
    pub path: PathBuf,
    /// Its text; `None`: it does not exist.
    pub before: Option<String>,
    /// Its new text; `None`: it is removed.
    pub after: Option<String>,
    /// Its text before Midrail first changed it, if known.
    pub(crate) original: Option<String>,
    /// Folders that were created for it earlier.
    pub(crate) created_folders: Vec<PathBuf>,
}

impl FileChange {
    /// A change of a host's file, without its texts.
    pub(crate) fn of(host: &'static str, path: &Path) -> Self {
        FileChange { host: Some(host), ..FileChange::own(path) }
    }

    /// A change of one of Midrail's files, without its texts.
    pub(crate) fn own(path: &Path) -> Self {
        FileChange { path: path.to_owned(), ..FileChange::default() }
    }
}

/// One change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Backup {
    pub(crate) path: PathBuf,
    pub(crate) time: Timestamp,
    /// The file without Midrail; `None`: it did not exist.
    pub(crate) before: Option<String>,
    /// The file after the change; `None`: it was removed.
    pub(crate) after: Option<String>,
    /// Folders that were created for it, the topmost first.
    #[serde(default)]
    pub(crate) created_folders: Vec<PathBuf>,
}

impl Backup {
    /// The last backup of a file.
    pub(crate) fn last(path: &Path, env: &Environment) -> Option<Backup> {
        Self::all(path, env).pop().map(|(_, backup)| backup)
    }

    /// Removes all backups of a file, and their folders if they are empty then.
    pub(crate) fn remove_all(path: &Path, env: &Environment) {
        for (file, _) in Self::all(path, env) {
            drop(fs::remove_file(file));
        }
        for folder in env.backup_folder(path).ancestors().take(2) {
            drop(fs::remove_dir(folder));
        }
    }

    /// All backups of a file, the last one last.
    fn all(path: &Path, env: &Environment) -> Vec<(PathBuf, Backup)> {
        let entries = fs::read_dir(env.backup_folder(path)).into_iter().flatten();
        let prefix = format!("{}.", stem(path, env));
        let mut names: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        names.retain(|name| name.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)));
        names.sort();
        let read = |name: PathBuf| {
            let backup: Backup = serde_json::from_str(&files::read(&name).ok()??).ok()?;
            (backup.path == path).then_some((name, backup))
        };
        names.into_iter().filter_map(read).collect()
    }

    /// Writes the backup and returns its path. Only the owner can read it, because settings may contain keys. Its name does
    /// not end in `.json`: that would be a pack in `.midrail`.
    pub(crate) fn write(&self, env: &Environment) -> SettingsResult<PathBuf> {
        let name = format!("{}.{:020}.backup", stem(&self.path, env), self.time.as_microsecond().max(0));
        let path = env.backup_folder(&self.path).join(name);
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| SettingsError::new(format!("could not be written: {error}")).in_file(&path))?;
        files::write(&path, &text, Some(0o600))?;
        Ok(path)
    }
}

/// A readable name for the backups of a file.
fn stem(path: &Path, env: &Environment) -> String {
    let short = path.strip_prefix(&env.project).or_else(|_| path.strip_prefix(&env.home)).unwrap_or(path);
    let short = short.to_string_lossy();
    short
        .chars()
        .map(|c| match c {
            '.' => '_',
            c if c.is_alphanumeric() => c,
            _ => '-',
        })
        .collect()
}
