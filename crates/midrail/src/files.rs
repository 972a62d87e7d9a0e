//! Where facts about the machine come from: the disk, a simulation, recorded events, or nowhere. Commands, sets of files
//! and repositories are in `probes`.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, UNIX_EPOCH};

use midrail_core::path::Roots;
use midrail_core::{
    CommandOutcome, Danger, Event, Fact, FileState, GitState, PackCommand, ScriptSource, UnsavedFiles, hex,
};
use midrail_pack::case::StubAnswer;
use midrail_shell::{action, command};
use sha2::{Digest, Sha256};

use crate::probes;
use crate::recorded_files::{NOT_RECORDED, RecordedFiles};
use crate::scripts::{Exec, HostError};

/// Where file facts come from.
#[derive(Debug, Default)]
pub enum Files {
    /// The disk. Relative places are below the root, which is the event's `cwd` where none is set.
    #[default]
    Disk,
    /// A simulation, for tests.
    Simulated(Simulation),
    /// There is no file system at hand.
    Unavailable,
    /// The file system of recorded sessions, derived from their events.
    Recorded(RecordedFiles),
}

/// A simulated machine: its files, the outcomes of its commands, its repository and the answers of external services.
#[derive(Debug, Default)]
pub struct Simulation {
    /// Place to content.
    files: Mutex<BTreeMap<String, String>>,
    /// How commands end, by their line. `None`: not in time.
    commands: Mutex<BTreeMap<String, Option<CommandOutcome>>>,
    git: Mutex<Option<Box<GitState>>>,
    /// The answers of external services, by guardrail.
    answers: Mutex<BTreeMap<String, StubAnswer>>,
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
    /// A simulation with these files.
    pub fn simulated(files: BTreeMap<String, String>) -> Self {
        Files::Simulated(Simulation { files: Mutex::new(files), ..Simulation::default() })
    }

    /// Sets the outcome of a command of a simulation. `None`: it does not end in time.
    pub fn set_command_end(&self, command: &str, end: Option<CommandOutcome>) -> io::Result<()> {
        self.simulation()?.commands.lock().insert(command.to_owned(), end);
        Ok(())
    }

    /// Sets the state of the repository of a simulation.
    pub fn set_git(&self, git: Option<GitState>) -> io::Result<()> {
        *self.simulation()?.git.lock() = git.map(Box::new);
        Ok(())
    }

    /// Sets the answer of an external service of a simulation.
    pub fn set_deep_answer(&self, guardrail: &str, told: StubAnswer) -> io::Result<()> {
        self.simulation()?.answers.lock().insert(guardrail.to_owned(), told);
        Ok(())
    }

    /// The answer of an external service of a simulation. `None`: this is no simulation.
    pub(crate) fn deep_answer(&self, guardrail: &str) -> Option<StubAnswer> {
        let missing = || StubAnswer {
            error: Some("the case has no answer for it".to_owned()),
            ..StubAnswer::default()
        };
        let world = self.simulation().ok()?;
        Some(world.answers.lock().get(guardrail).cloned().unwrap_or_else(missing))
    }

    /// The text of a file inside the root.
    pub(crate) fn read(&self, root: Option<&Path>, place: &str) -> io::Result<String> {
        match self {
            Files::Simulated(Simulation { files, .. }) => {
                let text = files.lock().get(place).cloned();
                text.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no such file"))
            }
            Files::Unavailable => Err(io::Error::other("there is no file system")),
            Files::Recorded(_) => Err(io::Error::other(NOT_RECORDED)),
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
    ) -> Result<Exec, HostError> {
        match self {
            Files::Disk => {
                let root = root.ok_or("neither a root nor a `cwd` is known")?;
                Ok(probes::exec(root, command, within, stop)?)
            }
            Files::Simulated(Simulation { commands, .. }) => match commands.lock().get(command) {
                Some(Some(end)) => Ok(Exec {
                    exit_code: end.exit_code.unwrap_or(-1),
                    stdout: end.output.clone(),
                    stderr: String::new(),
                }),
                Some(None) => Err("it did not end in time and was stopped".into()),
                None => Err(format!("the case has no outcome for `{command}`").into()),
            },
            Files::Unavailable => Err("there is no file system".into()),
            Files::Recorded(_) => Err(NOT_RECORDED.into()),
        }
    }

    fn simulation(&self) -> io::Result<&Simulation> {
        match self {
            Files::Simulated(world) => Ok(world),
            Files::Disk | Files::Unavailable | Files::Recorded(_) => {
                Err(io::Error::other("this is no simulation"))
            }
        }
    }

    /// Writes a file of a simulation, or one on disk below the root.
    pub fn write(&self, root: Option<&Path>, place: &str, content: &str) -> io::Result<()> {
        match self {
            Files::Simulated(Simulation { files, .. }) => {
                files.lock().insert(place.to_owned(), content.to_owned());
                Ok(())
            }
            Files::Disk => {
                let path = root.map_or_else(|| PathBuf::from(place), |root| root.join(place));
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                fs::write(path, content)
            }
            Files::Unavailable | Files::Recorded(_) => Err(io::Error::other("there is no file system")),
        }
    }

    /// Removes a file.
    pub fn remove(&self, root: Option<&Path>, place: &str) -> io::Result<()> {
        match self {
            Files::Simulated(Simulation { files, .. }) => {
                files.lock().remove(place);
                Ok(())
            }
            Files::Disk => {
                fs::remove_file(root.map_or_else(|| PathBuf::from(place), |root| root.join(place)))
            }
            Files::Unavailable | Files::Recorded(_) => Err(io::Error::other("there is no file system")),
        }
    }

    /// Whether file facts come from the disk.
    pub(crate) fn is_disk(&self) -> bool {
        matches!(self, Files::Disk)
    }

    /// The recorded files, if these are.
    pub(crate) fn recorded(&self) -> Option<&RecordedFiles> {
        match self {
            Files::Recorded(past) => Some(past),
            Files::Disk | Files::Simulated(_) | Files::Unavailable => None,
        }
    }

    /// Where a path leads once links are followed, whether or not there is anything.
    pub(crate) fn place(&self, root: Option<&Path>, cwd: Option<&str>, path: &str) -> Fact {
        match self {
            Files::Simulated(_) => {
                let root = root.map(|root| root.to_string_lossy());
                let roots = Roots { root: root.as_deref(), aliases: &[] };
                Fact::Place(midrail_core::path::resolve(path, cwd, roots, None).key)
            }
            Files::Recorded(past) => past.place(root, cwd, path),
            Files::Unavailable => Fact::Unavailable("there is no file system".to_owned()),
            Files::Disk => match root {
                Some(root) => Fact::Place(disk_place(root, cwd, path)),
                None => Fact::Unavailable("neither a root nor a `cwd` is known".to_owned()),
            },
        }
    }

    /// What an event does by what stands in files that it runs or obeys.
    pub(crate) fn scripts(&self, root: Option<&Path>, event: &Event, files: &[ScriptSource]) -> Fact {
        match (self, root) {
            (Files::Simulated(Simulation { files: known, .. }), _) => {
                let known = known.lock();
                scripts(event, files, |held| Ok(known.get(&held.place).map(|text| (text.clone(), false))))
            }
            (Files::Recorded(_), _) => Fact::Script(Box::default()),
            (Files::Unavailable, _) => Fact::Unavailable("there is no file system".to_owned()),
            (Files::Disk, Some(root)) => scripts(event, files, |held| script(&root.join(&held.place))),
            (Files::Disk, None) => Fact::Unavailable("neither a root nor a `cwd` is known".to_owned()),
        }
    }

    /// The state of the file at a place.
    pub(crate) fn probe(&self, root: Option<&Path>, place: &str) -> Fact {
        match self {
            Files::Simulated(Simulation { files, .. }) => {
                let files = files.lock();
                let is_inside =
                    |file: &String| file.strip_prefix(place).is_some_and(|it| it.starts_with('/'));
                Fact::File(match files.get(place) {
                    Some(content) => FileState::File { checksum: digest(content.as_bytes()) },
                    None if files.keys().any(is_inside) => FileState::Special,
                    None => FileState::Absent,
                })
            }
            Files::Recorded(past) => past.probe(root, place),
            Files::Unavailable => Fact::Unavailable("there is no file system".to_owned()),
            Files::Disk => match root {
                Some(root) => state(&root.join(place))
                    .map_or_else(|error| Fact::Unavailable(format!("`{place}`: {error}")), Fact::File),
                None => Fact::Unavailable("neither a root nor a `cwd` is known".to_owned()),
            },
        }
    }

    /// How a command ends. Secrets in its output are replaced with fingerprints by this key.
    pub(crate) fn command(&self, root: Option<&Path>, run: &PackCommand, key: &[u8]) -> Fact {
        match self {
            Files::Disk => probes::run(root, run, key),
            Files::Simulated(Simulation { commands, .. }) => match commands.lock().get(&run.command) {
                Some(Some(end)) => Fact::Command(end.clone()),
                Some(None) => Fact::Unavailable("it did not end in time and was stopped".to_owned()),
                None => Fact::Unavailable("the case has no outcome for it".to_owned()),
            },
            Files::Recorded(_) => Fact::Unavailable(NOT_RECORDED.to_owned()),
            Files::Unavailable => Fact::Unavailable("there is no file system".to_owned()),
        }
    }

    /// The digest of the files that fit any of these patterns.
    pub(crate) fn tree(&self, root: Option<&Path>, patterns: &[String]) -> Fact {
        match self {
            Files::Disk => probes::tree(root, patterns),
            Files::Simulated(Simulation { files, .. }) => probes::tree_of(&files.lock(), patterns),
            Files::Recorded(_) => Fact::Unavailable(NOT_RECORDED.to_owned()),
            Files::Unavailable => Fact::Unavailable("there is no file system".to_owned()),
        }
    }

    /// How many files fit any of these patterns.
    pub(crate) fn count(&self, root: Option<&Path>, patterns: &[String]) -> Fact {
        match self {
            Files::Disk => probes::count(root, patterns),
            Files::Simulated(Simulation { files, .. }) => probes::count_of(&files.lock(), patterns),
            Files::Recorded(_) => Fact::Unavailable(NOT_RECORDED.to_owned()),
            Files::Unavailable => Fact::Unavailable("there is no file system".to_owned()),
        }
    }

    /// What would be lost with what is at and below a place.
    pub(crate) fn unsaved(&self, root: Option<&Path>, place: &str) -> Fact {
        match (self, root) {
            (Files::Disk, Some(root)) => probes::unsaved(root, place),
            (Files::Disk, None) => Fact::Unavailable("neither a root nor a `cwd` is known".to_owned()),
            // A simulation has no commits.
            (Files::Simulated(Simulation { files, .. }), _) => {
                let folder = probes::plain(place);
                let is_below = |file: &&String| Path::new(file).starts_with(&folder);
                let files = files.lock().keys().filter(is_below).cloned().collect();
                Fact::Unsaved(UnsavedFiles { files, more: false })
            }
            (Files::Recorded(_), _) => Fact::Unavailable(NOT_RECORDED.to_owned()),
            (Files::Unavailable, _) => Fact::Unavailable("there is no file system".to_owned()),
        }
    }

    /// What the repository is at.
    pub(crate) fn git(&self, root: Option<&Path>) -> Fact {
        match self {
            Files::Disk => probes::git(root),
            Files::Simulated(Simulation { git, .. }) => Fact::Git(git.lock().as_deref().cloned()),
            Files::Recorded(_) => Fact::Unavailable(NOT_RECORDED.to_owned()),
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
    pub(crate) fn resolve(given: &str) -> Self {
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
    files: &[ScriptSource],
    mut read: impl FnMut(&ScriptSource) -> io::Result<Option<(String, bool)>>,
) -> Fact {
    let mut known = Vec::new();
    let mut is_cut = None;
    for held in files {
        let text = if held.is_fetched {
            None
        } else {
            match read(held) {
                Ok(Some((text, has_more))) => {
                    if has_more && held.is_run {
                        is_cut = Some(held.path.clone());
                    }
                    Some(text).filter(|text| held.is_run || (!has_more && text.len() <= MAX_FEED))
                }
                Ok(None) => None,
                Err(error) => return Fact::Unavailable(format!("`{}`: {error}", held.place)),
            }
        };
        if text.is_some() || held.is_fetched {
            known.push(command::File { path: held.path.clone(), text });
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

fn digest(content: &[u8]) -> String {
    format!("sha256:{}", hex::encode(&Sha256::digest(content)))
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
    fn root_is_the_whole_file_system_for_a_host_without_a_folder() {
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
