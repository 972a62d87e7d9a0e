//! The state of a set of files as one digest: which there are, how large they are and when they last changed, or their
//! content. Also how many they are.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use midrail_core::{Fact, glob, hex};
use sha2::{Digest, Sha256};

use crate::error::{Available, Unavailable};

/// Folders that are passed over unless a pattern names them.
const PASSED_OVER: &[&str] = &[".git", ".midrail", "node_modules", "target"];

/// Entries of folders that are looked at.
const MAX_ENTRIES: usize = 200_000;

/// The most bytes of files whose content is compared.
const MAX_CONTENT: u64 = 32 << 20;

/// How long it may take.
const MAX_TIME: Duration = Duration::from_secs(10);

/// The digest of the files below a folder that fit any of these patterns.
pub(crate) fn digest(root: &Path, patterns: &[String]) -> Available<Fact> {
    Walk::new(patterns, MAX_ENTRIES).digest(root)
}

/// How many files below a folder fit any of these patterns.
pub(crate) fn count(root: &Path, patterns: &[String]) -> Available<Fact> {
    Walk::new(patterns, MAX_ENTRIES).count(root)
}

/// The digest of the content of the files below a folder that fit any of these patterns. Empty: none does.
pub(crate) fn contents(root: &Path, patterns: &[String]) -> Available<Fact> {
    Walk::new(patterns, MAX_ENTRIES).contents(root, MAX_CONTENT)
}

/// The same of made-up files.
pub(crate) fn contents_in(files: &BTreeMap<String, String>, patterns: &[String]) -> Fact {
    match count_in(files, patterns) {
        Fact::Count(0) => Fact::Tree(String::new()),
        _ => digest_in(files, patterns),
    }
}

/// How many made-up files fit.
pub(crate) fn count_in(files: &BTreeMap<String, String>, patterns: &[String]) -> Fact {
    let walk = Walk::new(patterns, MAX_ENTRIES);
    let fitting = files.keys().filter(|path| walk.includes(path));
    Fact::Count(u64::try_from(fitting.count()).unwrap_or(u64::MAX))
}

/// The digest of made-up files.
pub(crate) fn digest_in(files: &BTreeMap<String, String>, patterns: &[String]) -> Fact {
    let walk = Walk::new(patterns, MAX_ENTRIES);
    let mut hash = Sha256::new();
    for (path, content) in files.iter().filter(|(path, _)| walk.includes(path)) {
        hash.update(format!("{}:{path}{}:{content}", path.len(), content.len()));
    }
    Fact::Tree(hex::encode(&hash.finalize()))
}

struct Walk<'p> {
    patterns: &'p [String],
    entries_left: usize,
    started: Instant,
}

impl<'p> Walk<'p> {
    fn new(patterns: &'p [String], entries_left: usize) -> Self {
        Walk { patterns, entries_left, started: Instant::now() }
    }

    fn digest(self, root: &Path) -> Available<Fact> {
        let mut hash = Sha256::new();
        self.each(root, |path, full, metadata| {
            add(&mut hash, path, full, metadata);
            Ok(())
        })?;
        Ok(Fact::Tree(hex::encode(&hash.finalize())))
    }

    /// Links count where a file is behind them. Times and permissions do not.
    fn contents(self, root: &Path, mut bytes_left: u64) -> Available<Fact> {
        let mut hash = Sha256::new();
        let mut has_any = false;
        self.each(root, |path, full, metadata| {
            if !(if metadata.is_symlink() { full.is_file() } else { metadata.is_file() }) {
                return Ok(());
            }
            let mut content = Vec::new();
            let file = File::open(full).map_err(|error| failed(full, &error))?;
            let most = bytes_left.saturating_add(1);
            file.take(most).read_to_end(&mut content).map_err(|error| failed(full, &error))?;
            let length = u64::try_from(content.len()).unwrap_or(u64::MAX);
            bytes_left = bytes_left
                .checked_sub(length)
                .ok_or_else(|| format!("the files have more than {} MiB", MAX_CONTENT >> 20))?;
            let name = path.as_os_str().as_bytes();
            hash.update(format!("{}:{length}:", name.len()));
            hash.update(name);
            hash.update(content);
            has_any = true;
            Ok(())
        })?;
        Ok(Fact::Tree(if has_any { hex::encode(&hash.finalize()) } else { String::new() }))
    }

    /// Links count where a file is behind them.
    fn count(self, root: &Path) -> Available<Fact> {
        let mut count = 0_u64;
        self.each(root, |_, full, metadata| {
            let is_file = if metadata.is_symlink() { full.is_file() } else { metadata.is_file() };
            count = count.saturating_add(u64::from(is_file));
            Ok(())
        })?;
        Ok(Fact::Count(count))
    }

    /// Visits every file that fits, in a fixed order.
    fn each(mut self, root: &Path, mut visit: impl FnMut(&Path, &Path, &Metadata) -> Available) -> Available {
        // Folders still to be looked at, the next one last.
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let mut below = Vec::new();
            for name in self.entries(&root.join(&folder))? {
                let path = folder.join(&name);
                let text = path.to_string_lossy();
                let full = root.join(&path);
                let Some(metadata) = found(full.symlink_metadata(), &full)? else { continue };
                if metadata.is_dir() {
                    let is_passed_over = self.passes_over(&name.to_string_lossy());
                    if !is_passed_over && self.may_hold(&text) {
                        below.push(path);
                    }
                } else if self.fits(&text) {
                    visit(&path, &full, &metadata)?;
                }
            }
            folders.extend(below.into_iter().rev());
        }
        Ok(())
    }

    /// The names in a folder, in order. One that is gone has none.
    fn entries(&mut self, folder: &Path) -> Available<Vec<std::ffi::OsString>> {
        let mut names = Vec::new();
        let Some(entries) = found(fs::read_dir(folder), folder)? else { return Ok(names) };
        for entry in entries {
            let entry = entry.map_err(|error| failed(folder, &error))?;
            self.entries_left = self
                .entries_left
                .checked_sub(1)
                .ok_or_else(|| format!("there are more than {MAX_ENTRIES} files to look at"))?;
            if self.started.elapsed() > MAX_TIME {
                return Err(format!("looking at the files took longer than {MAX_TIME:?}").into());
            }
            names.push(entry.file_name());
        }
        names.sort();
        Ok(names)
    }

    /// Whether a file of a simulation fits.
    fn includes(&self, path: &str) -> bool {
        self.fits(path) && !path.split('/').any(|part| self.passes_over(part))
    }

    fn fits(&self, path: &str) -> bool {
        self.patterns.iter().any(|pattern| glob::path_matches(pattern, path))
    }

    fn passes_over(&self, name: &str) -> bool {
        let names_it = |pattern: &String| pattern.split('/').any(|part| part == name);
        PASSED_OVER.contains(&name) && !self.patterns.iter().any(names_it)
    }

    /// Whether a folder may contain a file that fits: the part of a pattern before its first wildcard leads there.
    fn may_hold(&self, folder: &str) -> bool {
        self.patterns.iter().any(|pattern| {
            if pattern.contains('{') {
                return true;
            }
            let is_plain = |part: &str| !glob::is_pattern(part) && !part.contains('\\');
            // The last part is the file's own name, unless it is `**`.
            let parents = match pattern.rsplit_once('/') {
                _ if pattern.ends_with("**") => pattern,
                Some((parents, _)) => parents,
                None => return false,
            };
            let mut wanted = parents.split('/');
            for part in folder.split('/') {
                match wanted.next() {
                    Some(name) if name == part => {}
                    Some(name) => return !is_plain(name),
                    None => return false,
                }
            }
            true
        })
    }
}

/// Takes a file in: its path, and what changes whenever it does. The time of the last change of its entry cannot be
/// set back, so that every change of a file is noticed.
fn add(hash: &mut Sha256, path: &Path, full: &Path, metadata: &Metadata) {
    let bytes = path.as_os_str().as_bytes();
    hash.update(format!("\n{}:", bytes.len()));
    hash.update(bytes);
    hash.update(stamp(metadata));
    if metadata.is_symlink() {
        // What a link leads to counts, if it is a file.
        if let Ok(target) = full.metadata()
            && target.is_file()
        {
            hash.update(stamp(&target));
        }
    }
}

fn stamp(metadata: &Metadata) -> String {
    format!(
        " {} {} {}.{} {}.{} {:o}",
        metadata.len(),
        metadata.ino(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
        metadata.mode()
    )
}

/// What was found; nothing, where it has gone meanwhile.
fn found<T>(result: io::Result<T>, path: &Path) -> Available<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path, &error)),
    }
}

fn failed(path: &Path, error: &io::Error) -> Unavailable {
    Unavailable::new(format!("`{}` could not be looked at: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn patterns(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(ToString::to_string).collect()
    }

    fn of(root: &Path, these: &[&str]) -> String {
        match digest(root, &patterns(these)).unwrap() {
            Fact::Tree(digest) => digest,
            other => panic!("{other:?}"),
        }
    }

    fn write(root: &Path, name: &str, content: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[test]
    fn only_files_that_fit_count() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["src/a.rs", "src/deep/b.rs", "docs/x.md", "Cargo.toml", "target/debug/a.rs", ".git/c.rs"]
        {
            write(root, name, "1");
        }
        let rust = of(root, &["**/*.rs"]);
        let src = of(root, &["src/**"]);
        let top = of(root, &["Cargo.toml"]);
        assert_eq!(of(root, &["**/*.rs"]), rust);
        write(root, "docs/x.md", "2");
        write(root, "target/debug/a.rs", "22");
        write(root, ".git/c.rs", "22");
        write(root, "node_modules/m/z.rs", "22");
        assert_eq!(of(root, &["**/*.rs"]), rust);
        assert_eq!(of(root, &["src/**"]), src);
        write(root, "src/deep/b.rs", "2");
        assert_ne!(of(root, &["**/*.rs"]), rust);
        assert_ne!(of(root, &["src/**"]), src);
        assert_eq!(of(root, &["Cargo.toml"]), top);
        write(root, "Cargo.toml", "22");
        assert_ne!(of(root, &["Cargo.toml"]), top);
    }

    #[test]
    fn added_removed_and_renamed_files_count() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "a/x", "1");
        let first = of(root, &["**"]);
        write(root, "a/y", "1");
        let second = of(root, &["**"]);
        fs::rename(root.join("a/y"), root.join("a/z")).unwrap();
        let third = of(root, &["**"]);
        fs::remove_file(root.join("a/z")).unwrap();
        assert_eq!(of(root, &["**"]), first);
        assert!(first != second && second != third);
    }

    #[test]
    fn a_change_that_hides_its_time_still_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.rs");
        fs::write(&path, "good").unwrap();
        let before = of(folder.path(), &["**"]);
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let changed = (0..500).any(|_| {
            fs::write(&path, "evil").unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), time);
            of(folder.path(), &["**"]) != before
        });
        assert!(changed);
    }

    #[test]
    fn folder_named_by_a_pattern_is_included() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "target/spec.json", "1");
        let named = of(folder.path(), &["target/*.json"]);
        let unnamed = of(folder.path(), &["**"]);
        write(folder.path(), "target/spec.json", "22");
        assert_ne!(of(folder.path(), &["target/*.json"]), named);
        assert_eq!(of(folder.path(), &["**"]), unnamed);
    }

    #[test]
    fn linked_folders_are_not_followed_and_linked_files_are() {
        let folder = tempfile::tempdir().unwrap();
        let (root, out) = (folder.path().join("root"), folder.path().join("out"));
        write(&out, "deep/x", "1");
        write(&out, "y", "1");
        fs::create_dir_all(&root).unwrap();
        symlink(&out, root.join("folder")).unwrap();
        symlink(out.join("y"), root.join("y")).unwrap();
        symlink(&root, root.join("round")).unwrap();
        let before = of(&root, &["**"]);
        write(&out, "deep/x", "22");
        assert_eq!(of(&root, &["**"]), before);
        write(&out, "y", "22");
        assert_ne!(of(&root, &["**"]), before);
    }

    #[test]
    fn too_many_files_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        (0..4).for_each(|number| write(folder.path(), &number.to_string(), ""));
        let all = patterns(&["**"]);
        assert!(Walk::new(&all, 4).digest(folder.path()).is_ok());
        assert!(Walk::new(&all, 3).digest(folder.path()).unwrap_err().to_string().contains("more than"));
    }

    #[test]
    fn folders_that_cannot_matter_are_not_entered() {
        for (pattern, folder, expected) in [
            ("src/**", "src", true),
            ("src/**", "src/a", true),
            ("src/**", "docs", false),
            ("src/*.rs", "src", true),
            ("src/*.rs", "src/a", false),
            ("**/*.rs", "any/where", true),
            ("a/b/**", "a", true),
            ("a/b/**", "a/c", false),
            ("a/*/c.rs", "a/x", true),
            ("{src,tests}/**", "tests", true),
            ("Cargo.toml", "src", false),
        ] {
            let these = patterns(&[pattern]);
            assert_eq!(Walk::new(&these, 1).may_hold(folder), expected, "{pattern} in {folder}");
        }
    }

    #[test]
    fn unreadable_folder_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "file", "");
        let error = digest(&folder.path().join("file"), &patterns(&["**"])).unwrap_err();
        assert!(error.to_string().contains("could not be looked at"), "{error}");
    }

    #[test]
    fn files_that_fit_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["out/a.md", "out/deep/b.md", "out/c.txt", "target/d.md"] {
            write(root, name, "1");
        }
        fs::create_dir_all(root.join("out/folder.md")).unwrap();
        symlink(root.join("out/a.md"), root.join("out/link.md")).unwrap();
        symlink(root.join("nowhere"), root.join("out/dangling.md")).unwrap();
        let counted = |these: &[&str]| count(root, &patterns(these)).unwrap();
        assert_eq!(counted(&["out/**/*.md"]), Fact::Count(3));
        assert_eq!(counted(&["**/*.md"]), Fact::Count(3));
        assert_eq!(counted(&["nothing/**"]), Fact::Count(0));
        let files = ["out/a.md", "target/d.md"].map(|name| (name.to_owned(), String::new())).into();
        assert_eq!(count_in(&files, &patterns(&["**/*.md"])), Fact::Count(1));
    }

    #[test]
    fn only_content_and_names_count_for_contents() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let docs = patterns(&["docs/**"]);
        let of = || contents(root, &docs).unwrap();
        assert_eq!(of(), Fact::Tree(String::new()));
        write(root, "docs/a.md", "1");
        write(root, "docs/deep/b.md", "2");
        let first = of();
        File::options()
            .write(true)
            .open(root.join("docs/a.md"))
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH)
            .unwrap();
        assert_eq!(of(), first);
        write(root, "docs/a.md", "3");
        assert_ne!(of(), first);
        write(root, "docs/a.md", "1");
        write(root, "src/a.rs", "1");
        assert_eq!(of(), first);
        fs::rename(root.join("docs/a.md"), root.join("docs/c.md")).unwrap();
        assert_ne!(of(), first);
    }

    #[test]
    fn too_much_content_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        ["a", "b"].iter().for_each(|name| write(folder.path(), name, "12345"));
        let all = patterns(&["*"]);
        assert!(Walk::new(&all, 9).contents(folder.path(), 10).is_ok());
        let error = Walk::new(&all, 9).contents(folder.path(), 9).unwrap_err();
        assert_eq!(error.to_string(), "the files have more than 32 MiB");
    }

    #[test]
    fn made_up_files_have_a_digest_of_their_own() {
        let files = |content: &str| BTreeMap::from([("src/a.rs".to_owned(), content.to_owned())]);
        let src = patterns(&["src/**"]);
        assert_eq!(digest_in(&files("1"), &src), digest_in(&files("1"), &src));
        assert_ne!(digest_in(&files("1"), &src), digest_in(&files("2"), &src));
        let docs = patterns(&["docs/**"]);
        assert_eq!(digest_in(&files("1"), &docs), digest_in(&files("2"), &docs));
    }
}
