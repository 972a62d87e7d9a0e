//! Facts about files on disk: where paths lead, what is there, and what scripts contain.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use midrail_core::{Fact, FactKey, FileState, ScriptSource, TextTest};

use super::lookup::{Lookup, MAX_SCRIPT, digest, no_probe, readable, scripts};
use crate::error::{Available, Unavailable};
use crate::paths::read_limited;
use crate::probes;

/// Larger files are identified by size and time of change.
const MAX_DIGESTED: u64 = 64 << 20;

/// The largest file whose text is read, for a script or a test of its text.
const MAX_READ: u64 = 16 << 20;

const TOO_LARGE: &str = "it is larger than 16 MiB";

/// A fact about the files below a folder.
pub(super) fn fact(root: &Path, key: &FactKey, lookup: &Lookup<'_>) -> Available<Fact> {
    match key {
        FactKey::Place(path) => Ok(Fact::Place(place(root, lookup.cwd, path))),
        FactKey::File(place) => state(&root.join(place))
            .map(Fact::File)
            .map_err(|error| Unavailable::new(format!("`{place}`: {error}"))),
        FactKey::Script(key) => {
            scripts(lookup, &ScriptSource::decode(key), |held| script(&root.join(&held.place)))
        }
        FactKey::Command(run) => probes::run(root, run, lookup.key),
        FactKey::Tree(patterns) => probes::tree(root, patterns),
        FactKey::Count(patterns) => probes::count(root, patterns),
        FactKey::Contents(patterns) => probes::contents(root, patterns),
        FactKey::Text(test) => count_texts(root, test),
        FactKey::Unsaved(place) => probes::unsaved(root, place),
        FactKey::Git => probes::git(root),
        FactKey::Answer(name) => probes::answer(root, name),
        other => Err(no_probe(other)),
    }
}

/// The text of a file below the root.
pub(super) fn read(root: &Path, place: &str) -> io::Result<String> {
    let bytes = read_limited(&root.join(place), MAX_READ)?.ok_or_else(|| io::Error::other(TOO_LARGE))?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// How often the text of a file passes a test. Bytes that are no text are replaced.
fn count_texts(root: &Path, test: &TextTest) -> Available<Fact> {
    let failed = |why: String| Unavailable::new(format!("`{}`: {why}", test.place));
    let bytes = read_limited(&root.join(&test.place), MAX_READ).map_err(|error| failed(error.to_string()))?;
    let bytes = bytes.ok_or_else(|| failed(TOO_LARGE.to_owned()))?;
    Ok(Fact::Count(test.wanted.count(&String::from_utf8_lossy(&bytes))))
}

/// The folder that paths are resolved against, with links followed, and other spellings of it.
pub(crate) struct Root {
    pub(crate) real: String,
    pub(crate) aliases: Vec<String>,
}

impl Root {
    /// A folder of the disk.
    pub(crate) fn resolve(given: &str) -> Self {
        let real = real_path(Path::new(given)).to_string_lossy().into_owned();
        let mut root = Root { real, aliases: Vec::new() };
        root.add_spelling(given);
        root
    }

    /// A folder that is not on the disk.
    pub(crate) fn as_given(given: &str) -> Self {
        Root { real: given.to_owned(), aliases: Vec::new() }
    }

    /// Takes note of another spelling of the root, or of a folder below it.
    pub(crate) fn add_spelling(&mut self, folder: &str) {
        // Most hosts spell it as it is, and the disk need not be asked again.
        if folder == self.real || self.aliases.iter().any(|alias| alias == folder) {
            return;
        }
        let real_folder = real_path(Path::new(folder));
        let Ok(below) = real_folder.strip_prefix(&self.real) else { return };
        // What the spelling adds to the root is cut off again, so that what is left is a spelling of the root.
        let Some(alias) = Path::new(folder).ancestors().nth(below.components().count()) else { return };
        let alias = alias.to_string_lossy().into_owned();
        if alias != self.real
            && real_path(Path::new(&alias)) == Path::new(&self.real)
            && !self.aliases.contains(&alias)
        {
            self.aliases.push(alias);
        }
    }
}

/// Where a path leads on disk: relative to the root where it lies inside, absolute where it does not.
fn place(root: &Path, cwd: Option<&str>, path: &str) -> String {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let key = |real: &Path| below(root, real).unwrap_or(real).to_string_lossy().into_owned();
    if let Some(below) = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        return match std::env::var_os("HOME") {
            Some(home) => key(&real_path(&Path::new(&home).join(below.trim_start_matches('/')))),
            None => path.to_owned(),
        };
    }
    let base = cwd.map_or(root, Path::new);
    let found = real_path_from(root, &base.join(path));
    let is_virtual = cwd.is_none() && path.starts_with('/') && !found.starts_with(root);
    if is_virtual {
        // A host without a folder may see the root as `/`. That is assumed if the root has such a file, or if neither
        // the file nor its folder exists elsewhere.
        let below_root = real_path(&root.join(path.trim_start_matches('/')));
        let elsewhere = found.symlink_metadata().is_ok()
            || found.parent().is_some_and(|folder| folder != Path::new("/") && folder.is_dir());
        if below_root.symlink_metadata().is_ok() || !elsewhere {
            return key(&below_root);
        }
    }
    key(&found)
}

/// Links that are followed on one path.
const MAX_LINKS: usize = 40;

/// A path with every link on it followed, one by one, as the system would, also where its end does not exist.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    let mut real = PathBuf::with_capacity(path.as_os_str().len());
    if path.is_absolute() {
        follow(path, &mut real, &mut 0);
    } else {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| Path::new("/").join(path));
        follow(&absolute, &mut real, &mut 0);
    }
    real
}

/// The same, where the links on the way to the root were followed before. Nearly every path is below it.
fn real_path_from(root: &Path, path: &Path) -> PathBuf {
    let Some(below) = below(root, path) else { return real_path(path) };
    let mut real = PathBuf::with_capacity(path.as_os_str().len());
    real.push(root);
    follow(below, &mut real, &mut 0);
    real
}

/// What follows the root in a path that is below it. Most paths begin with the letters of the root, and need not be taken apart.
fn below<'p>(root: &Path, path: &'p Path) -> Option<&'p Path> {
    match path.as_os_str().as_bytes().strip_prefix(root.as_os_str().as_bytes()) {
        Some([b'/', rest @ ..]) if !rest.starts_with(b"/") => Some(Path::new(OsStr::from_bytes(rest))),
        _ => path.strip_prefix(root).ok(),
    }
}

/// Appends a path to one whose links are followed.
fn follow(path: &Path, real: &mut PathBuf, links: &mut usize) {
    for part in path.components() {
        match part {
            Component::Prefix(_) | Component::RootDir => {
                real.clear();
                real.push(part);
            }
            Component::CurDir => {}
            Component::ParentDir => _ = real.pop(),
            Component::Normal(name) => {
                real.push(name);
                if let Ok(target) = fs::read_link(&*real)
                    && *links < MAX_LINKS
                {
                    *links += 1;
                    real.pop();
                    follow(&target, real, links);
                }
            }
        }
    }
}

/// The state of a file whose links were followed.
fn state(path: &Path) -> io::Result<FileState> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        // A path below a file cannot exist.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(FileState::Absent);
        }
        Err(error) => return Err(error),
    };
    // What the system makes up as it is read has no content of its own, and may never end.
    if !metadata.is_file() || path.starts_with("/proc") || path.starts_with("/sys") {
        return Ok(FileState::Special);
    }
    let checksum = if metadata.len() > MAX_DIGESTED {
        let changed = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("stat:{}:{}", metadata.len(), changed.as_nanos())
    } else {
        let mut content = Vec::new();
        File::open(path)?.take(MAX_DIGESTED + 1).read_to_end(&mut content)?;
        digest(&content)
    };
    Ok(FileState::File { checksum })
}

/// The text of a file, and whether there is more of it. A program in machine code is not looked into.
fn script(path: &Path) -> io::Result<Option<(String, bool)>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if !metadata.is_file() {
        return Ok(None);
    }
    let mut content = Vec::new();
    let limit = u64::try_from(MAX_SCRIPT).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)?.take(limit).read_to_end(&mut content)?;
    Ok((!is_machine_code(&content)).then(|| readable(&content)))
}

/// Whether a file is machine code. A script can begin with the same letters, but shells refuse one with a NUL in its first line.
fn is_machine_code(content: &[u8]) -> bool {
    let head = content.get(..64).unwrap_or(content);
    PROGRAMS.iter().any(|magic| content.starts_with(magic)) && head.contains(&0)
}

/// How files in machine code begin.
const PROGRAMS: &[&[u8]] = &[b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ"];

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn place(root: &Path, path: &str) -> String {
        super::place(root, Some(&root.to_string_lossy()), path)
    }

    #[test]
    fn scripts_that_begin_as_machine_code_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sh");
        for (content, is_read) in [(&b"MZ=1\nrm -rf ~\n"[..], true), (b"\x7fELF\x02\x01\x01\0\0\0", false)] {
            fs::write(&path, content).unwrap();
            assert_eq!(script(&path).unwrap().is_some(), is_read, "{content:?}");
        }
    }

    #[test]
    fn links_lead_to_the_real_place() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir_all(base.join("out/deep")).unwrap();
        fs::write(root.join("real.txt"), "x").unwrap();
        symlink("real.txt", root.join("link.txt")).unwrap();
        symlink("../out/deep", root.join("linkdir")).unwrap();
        symlink("b", root.join("aa")).unwrap();
        symlink("../out/new", root.join("b")).unwrap();
        symlink("round", root.join("round")).unwrap();
        let out = base.join("out").to_string_lossy().into_owned();
        assert_eq!(place(&root, "link.txt"), "real.txt");
        assert_eq!(place(&root, "sub/../real.txt"), "real.txt");
        assert_eq!(place(&root, "linkdir/../victim.txt"), format!("{out}/victim.txt"));
        assert_eq!(place(&root, "aa"), format!("{out}/new"));
        assert_eq!(place(&root, "new/deep/file"), "new/deep/file");
        assert_eq!(place(&root, "round"), "round");
        assert_eq!(place(&root, &format!("{}/real.txt", root.display())), "real.txt");
    }

    #[test]
    fn root_is_the_whole_file_system_for_a_host_without_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::write(root.join("a.txt"), "x").unwrap();
        let place = |path: &str| super::place(&root, None, path);
        assert_eq!(place("/a.txt"), "a.txt");
        assert_eq!(place("/new.txt"), "new.txt");
        assert_eq!(place("/etc/passwd"), "/etc/passwd");
        assert_eq!(place("/etc/brand-new"), "/etc/brand-new");
    }

    #[test]
    fn every_spelling_of_a_root_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("real/sub")).unwrap();
        symlink("real", base.join("link")).unwrap();
        let mut root = Root::resolve(&base.join("real").to_string_lossy());
        root.add_spelling(&base.join("link/sub").to_string_lossy());
        assert_eq!(root.aliases, [base.join("link").to_string_lossy()]);
    }

    #[test]
    fn system_files_are_special() {
        assert_eq!(state(Path::new("/proc/self/status")).unwrap(), FileState::Special);
        assert_eq!(state(Path::new("/dev/null")).unwrap(), FileState::Special);
    }
}
