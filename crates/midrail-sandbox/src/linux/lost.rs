//! What a command wrote to the empty home of its sandbox. It is gone afterwards.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most paths that are reported.
const MAX_PATHS: usize = 5;

/// The most files that are looked at.
const MAX_ENTRIES: usize = 2_000;

/// What tools leave in every home, and make anew: no one misses it.
const EXPECTED: &[&str] = &[
    ".bash_history",
    ".cache",
    ".config/configstore",
    ".dotnet",
    ".gradle",
    ".lesshst",
    ".local/state",
    ".node_repl_history",
    ".npm",
    ".nuget",
    ".python_history",
    ".rustup",
    ".sqlite_history",
    ".wget-hsts",
];

/// The files that were in an empty home before the command.
pub(super) struct Home {
    folder: PathBuf,
    before: BTreeSet<PathBuf>,
}

impl Home {
    pub(super) fn new(folder: &Path) -> Self {
        let before = entries(folder, &|_| true).into_iter().collect();
        Home { folder: folder.to_owned(), before }
    }

    /// What was added since, relative to the home: folders in the place of what is in them.
    pub(super) fn lost(&self) -> Vec<PathBuf> {
        let is_expected = |path: &Path| EXPECTED.iter().any(|name| path == self.folder.join(name));
        let new = entries(&self.folder, &|path| self.before.contains(path) && !is_expected(path));
        let new = new.into_iter().filter(|path| !self.before.contains(path) && !is_expected(path));
        new.filter_map(|path| Some(path.strip_prefix(&self.folder).ok()?.to_owned()))
            .take(MAX_PATHS)
            .collect()
    }
}

/// The entries of an empty home, without what is mounted in it, and those of its folders that are to be entered.
fn entries(home: &Path, enters: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let device = |path: &Path| fs::symlink_metadata(path).map(|data| data.dev()).ok();
    let own = device(home);
    let mut found = Vec::new();
    let mut waiting = vec![home.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if found.len() >= MAX_ENTRIES {
                return found;
            }
            if device(&path) != own {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && enters(&path) {
                waiting.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_files_are_lost_and_what_tools_leave_is_not_missed() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().to_owned();
        fs::create_dir_all(home.join("src/project")).unwrap();
        let before = Home::new(&home);
        assert_eq!(before.lost(), Vec::<PathBuf>::new());
        fs::create_dir_all(home.join(".cache/pip")).unwrap();
        fs::create_dir_all(home.join("bin/tools")).unwrap();
        fs::write(home.join("bin/tools/x"), "").unwrap();
        fs::write(home.join("src/notes"), "").unwrap();
        assert_eq!(before.lost(), [PathBuf::from("bin"), PathBuf::from("src/notes")]);
    }
}
