//! A change of a settings file.

use std::path::{Path, PathBuf};

/// A file before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        FileChange {
            host: None,
            path: path.to_owned(),
            before: None,
            after: None,
            original: None,
            created_folders: Vec::new(),
        }
    }
}
