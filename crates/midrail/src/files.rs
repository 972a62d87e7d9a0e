//! The file probe: what a path leads to, and what is in it. On disk, in a made-up world, or nowhere.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::time::UNIX_EPOCH;

use midrail_core::{Fact, FileState, hex};
use sha2::{Digest, Sha256};

/// Where file facts come from.
#[derive(Debug, Default)]
pub enum Files {
    /// The disk. Relative places are below the root, which is the event's `cwd` where none is set.
    #[default]
    Disk,
    /// A made-up world, for tests: place to content.
    World(Mutex<BTreeMap<String, String>>),
    /// There is no file system at hand.
    Unavailable,
}

/// Files larger than this are told apart by size and time of change.
const MAX_DIGESTED: u64 = 64 << 20;

impl Files {
    /// A made-up world.
    pub fn world(files: BTreeMap<String, String>) -> Self {
        Files::World(Mutex::new(files))
    }

    /// Writes a file of a made-up world, or one on disk below the root.
    pub fn write(&self, root: Option<&Path>, place: &str, content: &str) -> io::Result<()> {
        match self {
            Files::World(files) => {
                lock(files).insert(place.to_owned(), content.to_owned());
                Ok(())
            }
            Files::Disk => {
                let path = root.map_or_else(|| PathBuf::from(place), |root| root.join(place));
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                fs::write(path, content)
            }
            Files::Unavailable => Err(io::Error::other("there is no file system")),
        }
    }

    /// Removes a file.
    pub fn remove(&self, root: Option<&Path>, place: &str) -> io::Result<()> {
        match self {
            Files::World(files) => {
                lock(files).remove(place);
                Ok(())
            }
            Files::Disk => {
                fs::remove_file(root.map_or_else(|| PathBuf::from(place), |root| root.join(place)))
            }
            Files::Unavailable => Err(io::Error::other("there is no file system")),
        }
    }

    /// The state of the file at a place.
    pub(crate) fn probe(&self, root: Option<&Path>, place: &str) -> Fact {
        match self {
            Files::World(files) => Fact::File(match lock(files).get(place) {
                Some(content) => FileState::File { checksum: digest(content.as_bytes()), real: None },
                None => FileState::Absent { real: None },
            }),
            Files::Unavailable => Fact::Unavailable("there is no file system".to_owned()),
            Files::Disk => {
                let state = match (root, Path::new(place).is_absolute()) {
                    (_, true) => on_disk(root, Path::new(place), place),
                    (Some(root), false) => on_disk(Some(root), &root.join(place), place),
                    (None, false) => {
                        return Fact::Unavailable("neither a root nor a `cwd` is known".to_owned());
                    }
                };
                state.map_or_else(|error| Fact::Unavailable(format!("`{place}`: {error}")), Fact::File)
            }
        }
    }
}

fn lock(files: &Mutex<BTreeMap<String, String>>) -> std::sync::MutexGuard<'_, BTreeMap<String, String>> {
    files.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn on_disk(root: Option<&Path>, path: &Path, place: &str) -> io::Result<FileState> {
    let real_root = root.and_then(|root| root.canonicalize().ok());
    // The place that links lead to, told only where it is another one.
    let real_place = |real: &Path| {
        let name = match real_root.as_deref().and_then(|root| real.strip_prefix(root).ok()) {
            Some(below) => below.to_string_lossy().into_owned(),
            None => real.to_string_lossy().into_owned(),
        };
        (name != place).then_some(name)
    };
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let real = real_of_absent(path)?;
            return Ok(FileState::Absent { real: real_place(&real) });
        }
        // A path below a file cannot exist.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Ok(FileState::Absent { real: None });
        }
        Err(error) => return Err(error),
    };
    let metadata = fs::metadata(&real)?;
    if !metadata.is_file() {
        return Ok(FileState::Special);
    }
    let checksum = if metadata.len() > MAX_DIGESTED {
        let changed = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("stat:{}:{}", metadata.len(), changed.as_nanos())
    } else {
        let mut content = Vec::new();
        File::open(&real)?.take(MAX_DIGESTED + 1).read_to_end(&mut content)?;
        digest(&content)
    };
    Ok(FileState::File { checksum, real: real_place(&real) })
}

/// Where a file that does not exist would come to lie: its nearest existing folder, with links resolved. A link that
/// leads nowhere counts as what it points to.
fn real_of_absent(path: &Path) -> io::Result<PathBuf> {
    if let Ok(target) = fs::read_link(path) {
        let base = path.parent().unwrap_or(Path::new("/"));
        return Ok(normalised(&base.join(target)));
    }
    let mut tail = Vec::new();
    let mut folder = path;
    loop {
        let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
            return Ok(path.to_owned());
        };
        tail.push(name.to_owned());
        match parent.canonicalize() {
            Ok(real) => return Ok(tail.into_iter().rev().fold(real, |path, name| path.join(name))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => folder = parent,
            Err(error) => return Err(error),
        }
    }
}

fn normalised(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            other => whole.push(other),
        }
    }
    whole
}

fn digest(content: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(root: &Path, place: &str) -> FileState {
        match Files::Disk.probe(Some(root), place) {
            Fact::File(state) => state,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn links_lead_to_the_real_place() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::write(root.join("real.txt"), "x").unwrap();
        std::os::unix::fs::symlink("real.txt", root.join("link.txt")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
        std::os::unix::fs::symlink("/nowhere/x", root.join("dangling")).unwrap();
        let FileState::File { checksum, real: None } = state(&root, "real.txt") else { panic!() };
        let linked = FileState::File { checksum, real: Some("real.txt".into()) };
        assert_eq!(state(&root, "link.txt"), linked);
        assert_eq!(
            state(&root, "out/no-such-file"),
            FileState::Absent { real: Some("/etc/no-such-file".into()) }
        );
        assert_eq!(state(&root, "dangling"), FileState::Absent { real: Some("/nowhere/x".into()) });
        assert_eq!(state(&root, "new/deep/file"), FileState::Absent { real: None });
        assert_eq!(state(&root, "out"), FileState::Special);
    }
}
