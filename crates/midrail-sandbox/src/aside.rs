//! Names for what is moved aside: `.git.sandbox-1`.

use std::fs;
use std::path::{Path, PathBuf};

/// The most names that are tried.
const MAX_NAMES: usize = 1_000;

/// A free name next to a path. `None`: all that are tried are in use.
pub(crate) fn free_name(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let numbered = |number: usize| {
        let mut name = name.to_owned();
        name.push(format!(".sandbox-{number}"));
        path.with_file_name(name)
    };
    (1..=MAX_NAMES).map(numbered).find(|place| fs::symlink_metadata(place).is_err())
}
