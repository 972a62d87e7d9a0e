//! The anchor of a project: the last head that this instance has written, next to its key file. A database that was set
//! back, restored from an old backup or replaced does not contain it any more.
//!
//! An instance whose key is in the database has no anchor: there is no place that the owner of the database cannot change.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::anchor::{AnchorFile, with_suffix};

/// The anchor of a project, and whether the database was compared with it.
pub(super) struct ProjectAnchor {
    pub(super) file: AnchorFile,
    pub(super) is_checked: Mutex<bool>,
}

impl ProjectAnchor {
    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// The anchor of a project next to a key file.
    pub(super) fn new(key_file: &Path, project: &str) -> Self {
        ProjectAnchor { file: AnchorFile::new(path(key_file, project)), is_checked: Mutex::new(false) }
    }
}

/// Names of projects contain `/`.
fn path(key_file: &Path, project: &str) -> PathBuf {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
    with_suffix(key_file, &format!(".{}.head", utf8_percent_encode(project, ENCODED)))
}
