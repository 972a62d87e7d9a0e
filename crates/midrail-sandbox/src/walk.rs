//! The walk through the files of a project.

use std::collections::VecDeque;
use std::fs::{self, DirEntry};
use std::path::Path;

/// Folders without files of the project's own, which are not searched.
const FOREIGN: &[&str] = &["node_modules", "target", ".venv", "venv"];

/// A folder with more entries is not searched to its end.
pub(crate) const MAX_ENTRIES: usize = 20_000;

/// Visits the entries of a project, those near the root first. `false`: it has more than are visited.
pub(crate) fn walk(root: &Path, visit: &mut dyn FnMut(&DirEntry)) -> bool {
    let mut seen: usize = 0;
    let mut waiting = VecDeque::from([root.to_owned()]);
    while let Some(folder) = waiting.pop_front() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            seen = seen.saturating_add(1);
            if seen > MAX_ENTRIES {
                return false;
            }
            visit(&entry);
            let is_foreign = || FOREIGN.iter().any(|name| entry.file_name() == *name);
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir())
                && !is_foreign()
                && !path.ends_with(".git/objects")
            {
                waiting.push_back(path);
            }
        }
    }
    true
}
