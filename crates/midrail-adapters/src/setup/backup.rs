//! What files were before Midrail changed them, kept beside its state, so that they can be put back as they were.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::files::{self, SettingsError};
use super::places::Environment;

/// One change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) path: PathBuf,
    pub(super) time: Timestamp,
    /// What the file was without Midrail; `None`: it was not there.
    pub(super) before: Option<String>,
    /// What Midrail made of it; `None`: it was removed.
    pub(super) after: Option<String>,
    /// Folders that were made for it, the topmost first.
    #[serde(default)]
    pub(super) made: Vec<PathBuf>,
}

impl Record {
    /// The last one of a file.
    pub(super) fn last(path: &Path, places: &Environment) -> Option<Record> {
        let entries = fs::read_dir(places.backups_of(path)).ok()?;
        let begin = format!("{}.", stem(path, places));
        let mut names: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        names.retain(|name| name.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begin)));
        names.sort();
        let records = names.iter().rev().filter_map(|name| {
            let record: Record = serde_json::from_str(&files::read(name).ok()??).ok()?;
            (record.path == path).then_some(record)
        });
        records.into_iter().next()
    }

    /// Keeps it, and answers where. Settings may hold keys, so nobody else may read it. It does not end in `.json`: in
    /// `.midrail` that would be a pack.
    pub(super) fn keep(&self, places: &Environment) -> Result<PathBuf, SettingsError> {
        let folder = places.backups_of(&self.path);
        let name = format!("{}.{:020}.backup", stem(&self.path, places), self.time.as_microsecond().max(0));
        let path = folder.join(name);
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| SettingsError::of(&path, format!("could not be written: {error}")))?;
        files::write(&path, &text, Some(0o600))?;
        Ok(path)
    }
}

/// A readable name for the copies of a file.
fn stem(path: &Path, places: &Environment) -> String {
    let short =
        path.strip_prefix(&places.project).or_else(|_| path.strip_prefix(&places.home)).unwrap_or(path);
    let short = short.to_string_lossy();
    short
        .chars()
        .map(|c| if c.is_alphanumeric() || c == '.' { c } else { '-' })
        .collect::<String>()
        .replace('.', "_")
}
