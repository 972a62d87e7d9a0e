//! What would be lost with a folder: the files at and below a place that the repository does not hold as they are. Git's
//! index is read as a file; git itself is not started.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use midrail_core::{Fact, UnsavedFiles};
use sha1::{Digest, Sha1};

use super::git;
use crate::error::{Available, Unavailable};

/// The most files that are listed.
const MAX_LISTED: usize = 256;

/// The most entries of folders that are looked at.
const MAX_ENTRIES: usize = 20_000;

/// The largest index that is read.
const MAX_INDEX: u64 = 256 << 20;

/// The largest file that is compared by its content.
const MAX_COMPARED: u64 = 4 << 20;

/// What is at and below a place, and in no commit and no index as it is.
pub(crate) fn unsaved(root: &Path, place: &str) -> Available<Fact> {
    find_unsaved(root, &root.join(plain(place))).map(Fact::Unsaved)
}

/// A place up to its first wildcard: what fits one is judged with the whole folder that it is looked for in.
pub(crate) fn plain(place: &str) -> PathBuf {
    let parts = place.split('/').take_while(|part| !part.contains(['*', '?', '[', '{']));
    let rooted = if place.starts_with('/') { "/" } else { "" };
    Path::new(rooted).join(parts.filter(|part| !matches!(*part, "" | ".")).collect::<PathBuf>())
}

fn find_unsaved(root: &Path, start: &Path) -> Available<UnsavedFiles> {
    let failed = |path: &Path, error: std::io::Error| {
        Unavailable::new(format!("what would be lost is unknown: `{}`: {error}", path.display()))
    };
    let mut found = UnsavedFiles::default();
    let Ok(metadata) = start.symlink_metadata() else { return Ok(found) };
    let saved = GitIndex::around(root).unwrap_or_default();
    let mut left = MAX_ENTRIES;
    let mut waiting = vec![(start.to_owned(), metadata)];
    while let Some((path, metadata)) = waiting.pop() {
        if metadata.is_dir() {
            for entry in fs::read_dir(&path).map_err(|error| failed(&path, error))? {
                let entry = entry.map_err(|error| failed(&path, error))?;
                let Some(fewer) = left.checked_sub(1) else {
                    found.more = true;
                    return Ok(found);
                };
                left = fewer;
                if let Ok(metadata) = entry.path().symlink_metadata() {
                    waiting.push((entry.path(), metadata));
                }
            }
        } else if !saved.holds(&path, &metadata) {
            if found.files.len() >= MAX_LISTED {
                found.more = true;
                return Ok(found);
            }
            let name = path.strip_prefix(root).unwrap_or(&path);
            found.files.push(name.to_string_lossy().into_owned());
        }
    }
    found.files.sort();
    Ok(found)
}

/// What a repository holds: the files of its index.
#[derive(Default)]
struct GitIndex {
    top: PathBuf,
    files: BTreeMap<Vec<u8>, Entry>,
}

/// A file as the index has it.
struct Entry {
    changed: (u32, u32),
    size: u32,
    id: [u8; 20],
}

impl GitIndex {
    fn around(root: &Path) -> Option<Self> {
        let (top, own) = git::folders(root)?;
        let index = own.join("index");
        if fs::metadata(&index).ok()?.len() > MAX_INDEX {
            return None;
        }
        let files = parse(&fs::read(index).ok()?)?;
        Some(GitIndex { top, files })
    }

    /// Whether a file can be had back from the repository as it is.
    fn holds(&self, path: &Path, metadata: &Metadata) -> bool {
        let Ok(name) = path.strip_prefix(&self.top) else { return false };
        let Some(entry) = self.files.get(name.as_os_str().as_bytes()) else { return false };
        if u64::from(entry.size) != metadata.len() & 0xffff_ffff {
            return false;
        }
        let changed = (u32::try_from(metadata.mtime()), u32::try_from(metadata.mtime_nsec()));
        if changed == (Ok(entry.changed.0), Ok(entry.changed.1)) {
            return true;
        }
        // The time may have changed without the content.
        metadata.is_file()
            && metadata.len() <= MAX_COMPARED
            && fs::read(path).is_ok_and(|text| blob(&text) == entry.id)
    }
}

/// The name that git gives a content.
fn blob(content: &[u8]) -> [u8; 20] {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    hash.finalize().into()
}

/// The entries of an index, by path. `None`: it is in a form that is not known here, and then nothing counts as saved.
fn parse(bytes: &[u8]) -> Option<BTreeMap<Vec<u8>, Entry>> {
    let mut rest = Reader { bytes, at: 0 };
    if rest.take(4)? != b"DIRC" {
        return None;
    }
    let version = rest.number()?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let count = rest.number()?;
    let mut files = BTreeMap::new();
    let mut last: Vec<u8> = Vec::new();
    for _ in 0..count {
        let start = rest.at;
        let fixed: Vec<u32> = (0..10).map(|_| rest.number()).collect::<Option<_>>()?;
        let id: [u8; 20] = rest.take(20)?.try_into().ok()?;
        let flags = rest.half()?;
        if flags & 0x4000 != 0 {
            rest.half()?;
        }
        let path = if version == 4 {
            let kept = last.len().checked_sub(rest.varint()?)?;
            let mut path = last.get(..kept)?.to_vec();
            path.extend_from_slice(rest.text()?);
            path
        } else {
            let path = rest.text()?.to_vec();
            // Entries are padded to eights, with at least one zero, which is read already.
            let length = rest.at.checked_sub(start)?;
            rest.take(length.next_multiple_of(8).checked_sub(length)?)?;
            path
        };
        last.clone_from(&path);
        let is_merged = (flags >> 12) & 3 == 0;
        if let (true, [_, _, seconds, nanos, .., size]) = (is_merged, fixed.as_slice()) {
            files.insert(path, Entry { changed: (*seconds, *nanos), size: *size, id });
        }
    }
    Some(files)
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn half(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    /// A text up to the zero that ends it.
    fn text(&mut self) -> Option<&'b [u8]> {
        let length = self.bytes.get(self.at..)?.iter().position(|byte| *byte == 0)?;
        let text = self.take(length)?;
        self.take(1)?;
        Some(text)
    }

    /// A number in groups of seven bits, as git packs offsets.
    fn varint(&mut self) -> Option<usize> {
        let mut byte = *self.take(1)?.first()?;
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = *self.take(1)?.first()?;
            value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(folder: &Path, args: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(args);
        assert!(git.output().unwrap().status.success(), "git {args:?}");
    }

    fn lost(root: &Path, place: &str) -> Vec<String> {
        match unsaved(root, place).unwrap() {
            Fact::Unsaved(found) => found.files,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn committed_files_are_not_lost() {
        for version in ["2", "4"] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            git(&root, &["init", "-q"]);
            git(&root, &["config", "index.version", version]);
            fs::create_dir_all(root.join("src/deep")).unwrap();
            for (file, text) in [("src/a.rs", "a"), ("src/deep/b.rs", "b"), ("src/deep/bc.rs", "bc")] {
                fs::write(root.join(file), text).unwrap();
            }
            assert_eq!(lost(&root, "src").len(), 3);
            git(&root, &["add", "."]);
            git(&root, &["commit", "-qm", "x"]);
            assert!(lost(&root, "src").is_empty(), "version {version}");
            // A time of change alone is no change.
            fs::write(root.join("src/a.rs"), "a").unwrap();
            assert!(lost(&root, "src").is_empty());
            fs::write(root.join("src/a.rs"), "z").unwrap();
            fs::write(root.join("src/new.rs"), "n").unwrap();
            assert_eq!(lost(&root, "src"), ["src/a.rs", "src/new.rs"]);
            assert_eq!(lost(&root, "src/*.rs"), ["src/a.rs", "src/new.rs"]);
            assert!(lost(&root, "src/deep").is_empty());
            assert!(lost(&root, "nothing").is_empty());
        }
    }

    #[test]
    fn no_index_is_no_reason_to_panic() {
        for bytes in [&b""[..], b"DIRC", b"DIRC\0\0\0\x02\xff\xff\xff\xff", b"DIRC\0\0\0\x04\0\0\0\x01"] {
            assert!(parse(bytes).is_none());
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "a").unwrap();
        assert_eq!(lost(folder.path(), "a"), ["a"]);
    }
}
