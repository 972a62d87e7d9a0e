//! Where facts of the machine come from: the disk, a made-up world, or nowhere. What a path leads to and what is in it
//! is told here; commands, sets of files and repositories are in `probes`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, UNIX_EPOCH};

use midrail_core::path::Roots;
use midrail_core::{CommandEnd, Danger, Event, Fact, FileState, GitState, Held, Run, Unsaved, hex};
use midrail_detect::{action, shell};
use midrail_pack::case::Told;
use sha2::{Digest, Sha256};

use crate::past::{GONE, Past};
use crate::probes;
use crate::scripts::Exec;

/// Where file facts come from.
#[derive(Debug, Default)]
pub enum Files {
    /// The disk. Relative places are below the root, which is the event's `cwd` where none is set.
    #[default]
    Disk,
    /// A made-up world, for tests.
    World(World),
    /// There is no file system at hand.
    Unavailable,
    /// That of recorded sessions: what their events tell of it, and nothing of today's.
    Past(Past),
}

/// A made-up world: its files, how commands end in it, and its repository.
#[derive(Debug, Default)]
pub struct World {
    /// Place to content.
    files: Mutex<BTreeMap<String, String>>,
    /// How commands end, by their line. `None`: not in time.
    commands: Mutex<BTreeMap<String, Option<CommandEnd>>>,
    git: Mutex<Option<Box<GitState>>>,
    /// What those outside answer, by the guardrail that asks.
    answers: Mutex<BTreeMap<String, Told>>,
}

/// Files larger than this are told apart by size and time of change.
const MAX_DIGESTED: u64 = 64 << 20;

/// The largest file that a script may read.
const MAX_READ: u64 = 16 << 20;

/// Scripts are looked into up to this many bytes.
const MAX_SCRIPT: u64 = 1 << 20;

/// The longest text of a file that is only read on the way to something that runs.
const MAX_FEED: usize = 1 << 15;

impl Files {
    /// A made-up world.
    pub fn world(files: BTreeMap<String, String>) -> Self {
        Files::World(World { files: Mutex::new(files), ..World::default() })
    }

    /// Says how a command of a made-up world ends from now on. `None`: not in time.
    pub fn ends(&self, command: &str, end: Option<CommandEnd>) -> io::Result<()> {
        lock(&self.made_up()?.commands).insert(command.to_owned(), end);
        Ok(())
    }

    /// Says what the repository of a made-up world is at from now on.
    pub fn at(&self, git: Option<GitState>) -> io::Result<()> {
        *lock(&self.made_up()?.git) = git.map(Box::new);
        Ok(())
    }

    /// Says what those outside of a made-up world answer to a guardrail from now on.
    pub fn answers(&self, guardrail: &str, told: Told) -> io::Result<()> {
        lock(&self.made_up()?.answers).insert(guardrail.to_owned(), told);
        Ok(())
    }

    /// What those outside of a made-up world answer to a guardrail. `None`: this is no made-up world.
    pub(crate) fn told(&self, guardrail: &str) -> Option<Told> {
        let nobody = || Told { error: Some("it is not said what it answers".to_owned()), ..Told::default() };
        let world = self.made_up().ok()?;
        Some(lock(&world.answers).get(guardrail).cloned().unwrap_or_else(nobody))
    }

    /// The text of a file inside the root.
    pub(crate) fn read(&self, root: Option<&Path>, place: &str) -> io::Result<String> {
        match self {
            Files::World(World { files, .. }) => {
                let text = lock(files).get(place).cloned();
                text.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no such file"))
            }
            Files::Unavailable => Err(io::Error::other("there is no file system")),
            Files::Past(_) => Err(io::Error::other(GONE)),
            Files::Disk => {
                let root = root.ok_or_else(|| io::Error::other("neither a root nor a `cwd` is known"))?;
                let path = root.join(place);
                if !fs::metadata(&path)?.is_file() {
                    // A pipe would be waited for without end.
                    return Err(io::Error::other("it is no ordinary file"));
                }
                let file = fs::File::open(path)?;
                let mut text = String::new();
                let length = file.take(MAX_READ + 1).read_to_string(&mut text)?;
                if u64::try_from(length).unwrap_or(u64::MAX) > MAX_READ {
                    return Err(io::Error::other("it is larger than 16 MiB"));
                }
                Ok(text)
            }
        }
    }

    /// Runs a command of a script.
    pub(crate) fn exec(
        &self,
        root: Option<&Path>,
        command: &str,
        within: Duration,
        stop: &AtomicBool,
    ) -> Result<Exec, String> {
        match self {
            Files::Disk => {
                let root = root.ok_or("neither a root nor a `cwd` is known")?;
                probes::exec(root, command, within, stop)
            }
            Files::World(World { commands, .. }) => match lock(commands).get(command) {
                Some(Some(end)) => Ok(Exec {
                    exit_code: end.exit_code.unwrap_or(-1),
                    stdout: end.output.clone(),
                    stderr: String::new(),
                }),
                Some(None) => Err("it did not end in time and was stopped".to_owned()),
                None => Err(format!("it is not said how `{command}` ends")),
            },
            Files::Unavailable => Err("there is no file system".to_owned()),
            Files::Past(_) => Err(GONE.to_owned()),
        }
    }

    fn made_up(&self) -> io::Result<&World> {
        match self {
            Files::World(world) => Ok(world),
            Files::Disk | Files::Unavailable | Files::Past(_) => {
                Err(io::Error::other("this is no made-up world"))
            }
        }
    }

    /// Writes a file of a made-up world, or one on disk below the root.
    pub fn write(&self, root: Option<&Path>, place: &str, content: &str) -> io::Result<()> {
        match self {
            Files::World(World { files, .. }) => {
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
            Files::Unavailable | Files::Past(_) => Err(io::Error::other("there is no file system")),
        }
    }

    /// Removes a file.
    pub fn remove(&self, root: Option<&Path>, place: &str) -> io::Result<()> {
        match self {
            Files::World(World { files, .. }) => {
                lock(files).remove(place);
                Ok(())
            }
            Files::Disk => {
                fs::remove_file(root.map_or_else(|| PathBuf::from(place), |root| root.join(place)))
            }
            Files::Unavailable | Files::Past(_) => Err(io::Error::other("there is no file system")),
        }
    }

    /// Whether file facts come from the disk.
    pub(crate) fn is_disk(&self) -> bool {
        matches!(self, Files::Disk)
    }

    /// What is known of the past, where it is about that.
    pub(crate) fn past(&self) -> Option<&Past> {
        match self {
            Files::Past(past) => Some(past),
            Files::Disk | Files::World(_) | Files::Unavailable => None,
        }
    }

    /// Where a path leads once links are followed, whether or not there is anything.
    pub(crate) fn place(&self, root: Option<&Path>, cwd: Option<&str>, path: &str) -> Fact {
        match self {
            Files::World(_) => {
                let root = root.map(|root| root.to_string_lossy());
                let roots = Roots { root: root.as_deref(), aliases: &[] };
                Fact::Place(midrail_core::path::place(path, cwd, roots, None).key)
            }
            Files::Past(past) => past.place(root, cwd, path),
            Files::Unavailable => Fact::Unavailable("there is no file system".to_owned()),
            Files::Disk => match root {
                Some(root) => Fact::Place(disk_place(root, cwd, path)),
                None => Fact::Unavailable("neither a root nor a `cwd` is known".to_owned()),
            },
        }
    }

    /// What an event does by what stands in files that it runs or obeys.
    pub(crate) fn scripts(&self, root: Option<&Path>, event: &Event, files: &[Held]) -> Fact {
        match (self, root) {
            (Files::World(World { files: known, .. }), _) => {
                let known = lock(known);
                scripts(event, files, |held| Ok(known.get(&held.place).map(|text| (text.clone(), false))))
            }
            (Files::Past(_), _) => Fact::Script(Box::default()),
            (Files::Unavailable, _) => Fact::Unavailable("there is no file system".to_owned()),
            (Files::Disk, Some(root)) => scripts(event, files, |held| script(&root.join(&held.place))),
            (Files::Disk, None) => Fact::Unavailable("neither a root nor a `cwd` is known".to_owned()),
        }
    }

    /// The state of the file at a place.
    pub(crate) fn probe(&self, root: Option<&Path>, place: &str) -> Fact {
        match self {
            Files::World(World { files, .. }) => {
                let files = lock(files);
                let is_inside =
                    |file: &String| file.strip_prefix(place).is_some_and(|it| it.starts_with('/'));
                Fact::File(match files.get(place) {
                    Some(content) => FileState::File { checksum: digest(content.as_bytes()) },
                    None if files.keys().any(is_inside) => FileState::Special,
                    None => FileState::Absent,
                })
            }
            Files::Past(past) => past.probe(root, place),
            Files::Unavailable => Fact::Unavailable("there is no file system".to_owned()),
            Files::Disk => match root {
                Some(root) => state(&root.join(place))
                    .map_or_else(|error| Fact::Unavailable(format!("`{place}`: {error}")), Fact::File),
                None => Fact::Unavailable("neither a root nor a `cwd` is known".to_owned()),
            },
        }
    }

    /// How a command ends. Secrets in its output are replaced with fingerprints by this key.
    pub(crate) fn command(&self, root: Option<&Path>, run: &Run, key: &[u8]) -> Fact {
        match self {
            Files::Disk => probes::run(root, run, key),
            Files::World(World { commands, .. }) => match lock(commands).get(&run.command) {
                Some(Some(end)) => Fact::Command(end.clone()),
                Some(None) => Fact::Unavailable("it did not end in time and was stopped".to_owned()),
                None => Fact::Unavailable("it is not said how it ends".to_owned()),
            },
            Files::Past(past) => past.gone(),
            Files::Unavailable => Fact::Unavailable("there is no file system".to_owned()),
        }
    }

    /// The digest of the files that fit any of these patterns.
    pub(crate) fn tree(&self, root: Option<&Path>, patterns: &[String]) -> Fact {
        match self {
            Files::Disk => probes::tree(root, patterns),
            Files::World(World { files, .. }) => probes::tree_of(&lock(files), patterns),
            Files::Past(past) => past.gone(),
            Files::Unavailable => Fact::Unavailable("there is no file system".to_owned()),
        }
    }

    /// How many files fit any of these patterns.
    pub(crate) fn count(&self, root: Option<&Path>, patterns: &[String]) -> Fact {
        match self {
            Files::Disk => probes::count(root, patterns),
            Files::World(World { files, .. }) => probes::count_of(&lock(files), patterns),
            Files::Past(past) => past.gone(),
            Files::Unavailable => Fact::Unavailable("there is no file system".to_owned()),
        }
    }

    /// What would be lost with what is at and below a place.
    pub(crate) fn unsaved(&self, root: Option<&Path>, place: &str) -> Fact {
        match (self, root) {
            (Files::Disk, Some(root)) => probes::unsaved(root, place),
            (Files::Disk, None) => Fact::Unavailable("neither a root nor a `cwd` is known".to_owned()),
            // A made-up world has no commits.
            (Files::World(World { files, .. }), _) => {
                let folder = probes::plain(place);
                let is_below = |file: &&String| Path::new(file).starts_with(&folder);
                let files = lock(files).keys().filter(is_below).cloned().collect();
                Fact::Unsaved(Unsaved { files, more: false })
            }
            (Files::Past(past), _) => past.gone(),
            (Files::Unavailable, _) => Fact::Unavailable("there is no file system".to_owned()),
        }
    }

    /// What the repository is at.
    pub(crate) fn git(&self, root: Option<&Path>) -> Fact {
        match self {
            Files::Disk => probes::git(root),
            Files::World(World { git, .. }) => Fact::Git(lock(git).as_deref().cloned()),
            Files::Past(past) => past.gone(),
            Files::Unavailable => Fact::Unavailable("there is no file system".to_owned()),
        }
    }
}

/// The folder that paths are resolved against, with links followed, and other spellings of it.
pub(crate) struct Root {
    pub(crate) real: String,
    pub(crate) aliases: Vec<String>,
}

impl Root {
    /// A folder of the disk.
    pub(crate) fn of(given: &str) -> Self {
        let real = real(Path::new(given)).to_string_lossy().into_owned();
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
        let real_folder = real(Path::new(folder));
        let Ok(below) = real_folder.strip_prefix(&self.real) else { return };
        // What the spelling adds to the root is cut off again, so that what is left is a spelling of the root.
        let Some(alias) = Path::new(folder).ancestors().nth(below.components().count()) else { return };
        let alias = alias.to_string_lossy().into_owned();
        if alias != self.real
            && real(Path::new(&alias)) == Path::new(&self.real)
            && !self.aliases.contains(&alias)
        {
            self.aliases.push(alias);
        }
    }
}

/// Where a path leads on disk: relative to the root where it lies inside, absolute where it does not.
fn disk_place(root: &Path, cwd: Option<&str>, path: &str) -> String {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let key = |real: &Path| match real.strip_prefix(root) {
        Ok(below) => below.to_string_lossy().into_owned(),
        Err(_) => real.to_string_lossy().into_owned(),
    };
    if let Some(below) = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        return match std::env::var_os("HOME") {
            Some(home) => key(&real(&Path::new(&home).join(below.trim_start_matches('/')))),
            None => path.to_owned(),
        };
    }
    let base = cwd.map_or(root, Path::new);
    let found = real(&base.join(path));
    let is_virtual = cwd.is_none() && path.starts_with('/') && !found.starts_with(root);
    if is_virtual {
        // A host that tells no folder may see the root as `/`. That is believed where the root has such a file, or
        // where nothing of that name, nor a folder for it, is anywhere else.
        let below_root = real(&root.join(path.trim_start_matches('/')));
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
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let parts =
        |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    let mut pending = parts(&path);
    let mut done = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = pending.pop() {
        match part.to_str() {
            Some("/") => done = PathBuf::from("/"),
            Some(".") => {}
            Some("..") => {
                done.pop();
            }
            _ => {
                let next = done.join(&part);
                match fs::read_link(&next) {
                    Ok(target) if links < MAX_LINKS => {
                        links += 1;
                        pending.extend(parts(&target));
                    }
                    _ => done = next,
                }
            }
        }
    }
    done
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

/// What an event does by what stands in files. Each is read with a word on whether there is more of it.
fn scripts(
    event: &Event,
    files: &[Held],
    mut read: impl FnMut(&Held) -> io::Result<Option<(String, bool)>>,
) -> Fact {
    let mut known = Vec::new();
    let mut is_cut = None;
    for held in files {
        let text = match held.is_fetched {
            true => None,
            false => match read(held) {
                Ok(Some((text, has_more))) => {
                    if has_more && held.is_run {
                        is_cut = Some(held.path.clone());
                    }
                    Some(text).filter(|text| held.is_run || (!has_more && text.len() <= MAX_FEED))
                }
                Ok(None) => None,
                Err(error) => return Fact::Unavailable(format!("`{}`: {error}", held.place)),
            },
        };
        if text.is_some() || held.is_fetched {
            known.push(shell::File { path: held.path.clone(), text });
        }
    }
    let mut action = action::with_files(event, &known);
    if let Some(command) = is_cut {
        action.is_partial = true;
        let reason = "the script is longer than is looked into".to_owned();
        action.dangers.push(Danger { rule: "opaque".to_owned(), reason, command, ..Danger::default() });
    }
    Fact::Script(Box::new(action))
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
    File::open(path)?.take(MAX_SCRIPT).read_to_end(&mut content)?;
    if PROGRAMS.iter().any(|magic| content.starts_with(magic)) {
        return Ok(None);
    }
    // Shells pass over such bytes.
    content.retain(|byte| *byte != 0);
    Ok(Some((String::from_utf8_lossy(&content).into_owned(), metadata.len() > MAX_SCRIPT)))
}

/// How files in machine code begin.
const PROGRAMS: &[&[u8]] = &[b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ"];

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn digest(content: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(content)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn place(root: &Path, path: &str) -> String {
        let cwd = root.to_string_lossy();
        match Files::Disk.place(Some(root), Some(&cwd), path) {
            Fact::Place(place) => place,
            other => panic!("{other:?}"),
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
    fn a_host_without_a_folder_sees_the_root_as_the_whole_world() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::write(root.join("a.txt"), "x").unwrap();
        let place = |path: &str| Files::Disk.place(Some(&root), None, path);
        assert_eq!(place("/a.txt"), Fact::Place("a.txt".into()));
        assert_eq!(place("/new.txt"), Fact::Place("new.txt".into()));
        assert_eq!(place("/etc/passwd"), Fact::Place("/etc/passwd".into()));
        assert_eq!(place("/etc/brand-new"), Fact::Place("/etc/brand-new".into()));
    }

    #[test]
    fn every_spelling_of_a_root_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("real/sub")).unwrap();
        symlink("real", base.join("link")).unwrap();
        let mut root = Root::of(&base.join("real").to_string_lossy());
        root.add_spelling(&base.join("link/sub").to_string_lossy());
        assert_eq!(root.aliases, [base.join("link").to_string_lossy()]);
    }

    #[test]
    fn what_the_system_makes_up_is_no_file() {
        assert_eq!(state(Path::new("/proc/self/status")).unwrap(), FileState::Special);
        assert_eq!(state(Path::new("/dev/null")).unwrap(), FileState::Special);
    }
}
