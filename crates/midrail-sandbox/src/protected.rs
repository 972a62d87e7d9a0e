//! Protected files as they were, to restore them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, Metadata, Permissions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::aside::free_name;
use crate::error::SandboxError;

/// Protected files are few and small. More than this is not copied: the sandbox is refused.
const MAX_ENTRIES: usize = 20_000;
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// What was at a path.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    File {
        mode: u32,
        content: Vec<u8>,
    },
    Folder {
        mode: u32,
        names: Vec<PathBuf>,
    },
    Link(PathBuf),
    /// A socket, a pipe or a device: its inode, because its content cannot be copied.
    Special(u64),
}

/// What was at protected paths and below. No link is followed.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    roots: Vec<PathBuf>,
    entries: BTreeMap<PathBuf, Entry>,
}

impl Snapshot {
    /// Reads everything at and below the paths.
    pub(crate) fn take(roots: Vec<PathBuf>) -> Result<Self, SandboxError> {
        let mut snapshot = Snapshot { roots, entries: BTreeMap::new() };
        let mut bytes = 0;
        let mut waiting = snapshot.roots.clone();
        while let Some(path) = waiting.pop() {
            let entry = read(&path, &mut bytes)
                .map_err(|error| SandboxError::Protect(format!("{}: {error}", path.display())))?;
            let Some(entry) = entry else { continue };
            if let Entry::Folder { names, .. } = &entry {
                waiting.extend(names.iter().map(|name| path.join(name)));
            }
            snapshot.entries.insert(path, entry);
            if snapshot.entries.len() > MAX_ENTRIES || bytes > MAX_BYTES {
                return Err(SandboxError::Protect("they are more than 20,000 or 64 MiB".to_owned()));
            }
        }
        Ok(snapshot)
    }

    /// Makes everything as it was, and returns the paths that differed. No process of the sandbox may run meanwhile.
    pub(crate) fn restore(&self) -> Result<Vec<PathBuf>, SandboxError> {
        let mut done = Restored::default();
        for root in &self.roots {
            self.restore_path(root, &Aside::of(root), &mut done)
                .map_err(|error| SandboxError::Protect(format!("{}: {error}", root.display())))?;
        }
        let mut restored = done.paths;
        restored.sort();
        restored.dedup();
        Ok(restored)
    }

    /// The folders in which a change can be one of a protected path, with the names that count. `None`: all names.
    pub(crate) fn watched(&self) -> BTreeMap<PathBuf, Option<BTreeSet<OsString>>> {
        let mut watched: BTreeMap<PathBuf, Option<BTreeSet<OsString>>> = BTreeMap::new();
        for root in &self.roots {
            let above = root.ancestors().zip(root.ancestors().skip(1));
            let nearest = above.into_iter().find(|(_, folder)| folder.is_dir());
            if let Some((below, folder)) = nearest
                && let Some(name) = below.file_name()
                && let Some(names) = watched.entry(folder.to_owned()).or_insert(Some(BTreeSet::new()))
            {
                names.insert(name.to_owned());
            }
        }
        let folders = self.entries.iter().filter(|(_, entry)| matches!(entry, Entry::Folder { .. }));
        watched.extend(folders.map(|(path, _)| (path.clone(), None)));
        watched
    }

    fn restore_path(&self, path: &Path, aside: &Aside<'_>, done: &mut Restored) -> io::Result<()> {
        let folder = path.parent().unwrap_or(path);
        if !done.plain.contains(folder) {
            if let Some(link) = link_above(path) {
                // A folder above was exchanged for a link: what it leads to is not ours to change.
                fs::remove_file(&link)?;
                done.paths.push(link);
            }
            done.plain.insert(folder.to_owned());
        }
        let before = self.entries.get(path);
        let mut bytes = 0;
        let now = match read(path, &mut bytes) {
            // A folder above may have become a file, and a file may not be readable any more: then it has changed.
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotADirectory) => {
                Some(Entry::Special(0))
            }
            other => other?,
        };
        if before != now.as_ref() {
            done.paths.push(path.to_owned());
            match before {
                None => aside.take(path)?,
                Some(entry) => write(path, entry, now.as_ref(), aside)?,
            }
        }
        if let Some(Entry::Folder { names, .. }) = before {
            for name in names {
                self.restore_path(&path.join(name), aside, done)?;
            }
        }
        Ok(())
    }
}

/// What was restored so far.
#[derive(Default)]
struct Restored {
    paths: Vec<PathBuf>,
    /// Folders that are no links, nor are those above.
    plain: BTreeSet<PathBuf>,
}

/// The first folder above a path that is a link.
fn link_above(path: &Path) -> Option<PathBuf> {
    let above: Vec<&Path> = path.ancestors().skip(1).collect();
    let is_link = |path: &&&Path| fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
    above.iter().rev().find(is_link).map(|path| path.to_path_buf())
}

/// What is at a path.
fn read(path: &Path, bytes: &mut u64) -> io::Result<Option<Entry>> {
    let data = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let mode = data.permissions().mode();
    let kind = data.file_type();
    let entry = if kind.is_symlink() {
        Entry::Link(fs::read_link(path)?)
    } else if kind.is_dir() {
        let names: io::Result<Vec<PathBuf>> =
            fs::read_dir(path)?.map(|entry| Ok(PathBuf::from(entry?.file_name()))).collect();
        let mut names = names?;
        names.sort();
        Entry::Folder { mode, names }
    } else if kind.is_file() {
        let mut content = Vec::new();
        fs::File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut content)?;
        *bytes += u64::try_from(content.len()).unwrap_or(u64::MAX);
        Entry::File { mode, content }
    } else {
        Entry::Special(data.ino())
    };
    Ok(Some(entry))
}

/// A place next to a protected path for what is found there: it may be of another program than the command, whose user must not lose it.
struct Aside<'p> {
    root: &'p Path,
    place: PathBuf,
}

impl<'p> Aside<'p> {
    fn of(root: &'p Path) -> Self {
        // The name itself is never used: what is there stays, and that it could not be moved is an error.
        let place = free_name(root).unwrap_or_else(|| root.to_owned());
        Aside { root, place }
    }

    /// Moves what is at the protected path, or below it, to that place.
    fn take(&self, path: &Path) -> io::Result<()> {
        let below = path.strip_prefix(self.root).unwrap_or(Path::new(""));
        let to = if below.as_os_str().is_empty() { self.place.clone() } else { self.place.join(below) };
        let is_gone =
            |error: io::Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
        if fs::symlink_metadata(path).is_err_and(is_gone) {
            return Ok(());
        }
        create_folders(to.parent())?;
        fs::rename(path, to)
    }
}

/// Puts an entry where another or nothing is.
fn write(path: &Path, entry: &Entry, now: Option<&Entry>, aside: &Aside<'_>) -> io::Result<()> {
    match (entry, now) {
        (Entry::Folder { mode, names }, Some(Entry::Folder { names: found, .. })) => {
            fs::set_permissions(path, Permissions::from_mode(*mode))?;
            for name in found.iter().filter(|name| !names.contains(name)) {
                aside.take(&path.join(name))?;
            }
            Ok(())
        }
        // A socket that another process made anew cannot be restored, and holds nothing.
        (Entry::Special(_), _) => Ok(()),
        (entry, _) => {
            aside.take(path)?;
            create_folders(path.parent())?;
            match entry {
                Entry::File { mode, content } => {
                    fs::write(path, content)?;
                    fs::set_permissions(path, Permissions::from_mode(*mode))
                }
                Entry::Folder { mode, .. } => {
                    fs::create_dir(path)?;
                    fs::set_permissions(path, Permissions::from_mode(*mode))
                }
                Entry::Link(target) => symlink(target, path),
                Entry::Special(_) => Ok(()),
            }
        }
    }
}

/// Creates the folders above a path, also where a file is now.
fn create_folders(folder: Option<&Path>) -> io::Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    if fs::symlink_metadata(folder).is_ok_and(|it| it.is_dir()) {
        return Ok(());
    }
    create_folders(folder.parent())?;
    remove(folder)?;
    fs::create_dir(folder)
}

/// Removes what is at a path, if anything is.
fn remove(path: &Path) -> io::Result<()> {
    let data: Metadata = match fs::symlink_metadata(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(()),
        other => other?,
    };
    if !data.is_dir() {
        return fs::remove_file(path);
    }
    // A folder that may not be listed may belong to us all the same.
    fs::set_permissions(path, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(path)? {
        remove(&entry?.path())?;
    }
    fs::remove_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::write(root.join(".git/hooks/pre-push"), "old").unwrap();
        fs::write(root.join(".git/config"), "config").unwrap();
        (dir, root)
    }

    fn protect(root: &Path) -> Snapshot {
        Snapshot::take([".git/hooks", ".git/config", ".midrail"].map(|it| root.join(it)).to_vec()).unwrap()
    }

    #[test]
    fn every_change_is_restored() {
        let changes: [&dyn Fn(&Path); 9] = [
            &|root| fs::write(root.join(".git/hooks/pre-push"), "new").unwrap(),
            &|root| fs::remove_file(root.join(".git/config")).unwrap(),
            &|root| fs::write(root.join(".git/hooks/post-merge"), "new").unwrap(),
            &|root| fs::remove_dir_all(root.join(".git")).unwrap(),
            &|root| fs::rename(root.join(".git"), root.join("git")).unwrap(),
            &|root| {
                fs::rename(root.join(".git"), root.join("git")).unwrap();
                symlink("git", root.join(".git")).unwrap();
                fs::write(root.join("git/config"), "evil").unwrap();
            },
            &|root| {
                fs::remove_dir_all(root.join(".git")).unwrap();
                fs::write(root.join(".git"), "gitdir: elsewhere").unwrap();
            },
            &|root| fs::create_dir_all(root.join(".midrail/packs")).unwrap(),
            &|root| {
                fs::remove_dir_all(root.join(".git/hooks")).unwrap();
                symlink("/tmp", root.join(".git/hooks")).unwrap();
            },
        ];
        for (at, change) in changes.iter().enumerate() {
            let (_dir, root) = world();
            let snapshot = protect(&root);
            assert_eq!(snapshot.restore().unwrap(), Vec::<PathBuf>::new());
            change(&root);
            assert!(!snapshot.restore().unwrap().is_empty(), "change {at}");
            assert_eq!(fs::read_to_string(root.join(".git/hooks/pre-push")).unwrap(), "old", "change {at}");
            assert_eq!(fs::read_to_string(root.join(".git/config")).unwrap(), "config", "change {at}");
            assert_eq!(fs::read_dir(root.join(".git/hooks")).unwrap().count(), 1, "change {at}");
            assert!(!root.join(".midrail").exists(), "change {at}");
        }
    }

    #[test]
    fn what_appeared_is_kept_next_to_it() {
        let (_dir, root) = world();
        let snapshot = protect(&root);
        fs::create_dir_all(root.join(".midrail/packs")).unwrap();
        fs::write(root.join(".midrail/packs/a"), "of another program").unwrap();
        fs::write(root.join(".git/hooks/pre-push"), "of another program").unwrap();
        snapshot.restore().unwrap();
        for kept in [".midrail.sandbox-1/packs/a", ".git/hooks.sandbox-1/pre-push"] {
            assert_eq!(fs::read_to_string(root.join(kept)).unwrap(), "of another program", "{kept}");
        }
        fs::create_dir_all(root.join(".midrail")).unwrap();
        snapshot.restore().unwrap();
        assert!(root.join(".midrail.sandbox-2").is_dir());
    }

    #[test]
    fn modes_are_restored() {
        let (_dir, root) = world();
        let snapshot = protect(&root);
        fs::set_permissions(root.join(".git/config"), Permissions::from_mode(0o777)).unwrap();
        assert_eq!(snapshot.restore().unwrap(), [root.join(".git/config")]);
        assert_eq!(fs::metadata(root.join(".git/config")).unwrap().permissions().mode() & 0o777, 0o644);
    }
}
