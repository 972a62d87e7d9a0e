//! Where facts about the machine come from: the disk, a simulation, recorded events, or nowhere. Commands, sets of files
//! and repositories are in `probes`.

mod disk;
mod lookup;
mod recorded;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use midrail_core::{CommandOutcome, Fact, FactKey, FileState, GitState, ScriptSource, UnsavedFiles};
use midrail_pack::case::StubAnswer;
use parking_lot::Mutex;
use serde_json::Value;

pub(crate) use self::disk::{Root, real_path};
pub(crate) use self::lookup::Lookup;
use self::lookup::{digest, no_probe, readable, scripts};
pub(crate) use self::recorded::NOT_RECORDED;
pub use self::recorded::RecordedFiles;
use self::recorded::plain_place;
use crate::error::{Available, Unavailable};
use crate::probes::{self, Exec};

/// Where file facts come from.
#[derive(Debug, Default)]
pub enum Files {
    /// The disk. Relative places are below the root, which is the event's `cwd` where none is set.
    #[default]
    Disk,
    /// A simulation, for tests.
    Simulated(Box<Simulation>),
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
    git: Mutex<Option<GitState>>,
    /// The answers of external services, by guardrail.
    answers: Mutex<BTreeMap<String, StubAnswer>>,
    /// Facts of the project, by their name in expressions.
    project: Mutex<BTreeMap<String, Value>>,
}

const NO_FILES: &str = "there is no file system";
const NO_ROOT: &str = "neither a root nor a `cwd` is known";
const NOT_IN_TIME: &str = "it did not end in time and was stopped";

impl Files {
    /// A simulation with these files.
    pub fn simulated(files: BTreeMap<String, String>) -> Self {
        Files::Simulated(Box::new(Simulation { files: Mutex::new(files), ..Simulation::default() }))
    }

    /// The simulation, if this is one.
    pub fn simulation(&self) -> Option<&Simulation> {
        match self {
            Files::Simulated(simulation) => Some(simulation),
            Files::Disk | Files::Unavailable | Files::Recorded(_) => None,
        }
    }

    /// A fact about files, commands or the repository.
    pub(crate) fn fact(&self, key: &FactKey, lookup: &Lookup<'_>) -> Fact {
        let found = match (self, lookup.root) {
            (Files::Disk, Some(root)) => disk::fact(root, key, lookup),
            (Files::Disk, None) => Err(NO_ROOT.into()),
            (Files::Simulated(simulation), _) => simulation.fact(key, lookup),
            (Files::Recorded(recorded), _) => recorded.fact(key, lookup),
            (Files::Unavailable, _) => Err(NO_FILES.into()),
        };
        found.unwrap_or_else(Fact::from)
    }

    /// The text of a file inside the root.
    pub(crate) fn read(&self, root: Option<&Path>, place: &str) -> io::Result<String> {
        match (self, root) {
            (Files::Disk, Some(root)) => disk::read(root, place),
            (Files::Disk, None) => Err(io::Error::other(NO_ROOT)),
            (Files::Simulated(simulation), _) => {
                let text = simulation.files.lock().get(place).cloned();
                text.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no such file"))
            }
            (Files::Recorded(_), _) => Err(io::Error::other(NOT_RECORDED)),
            (Files::Unavailable, _) => Err(io::Error::other(NO_FILES)),
        }
    }

    /// Runs a command of a script.
    pub(crate) fn exec(
        &self,
        root: Option<&Path>,
        command: &str,
        within: Duration,
        stop: &AtomicBool,
    ) -> Available<Exec> {
        match (self, root) {
            (Files::Disk, Some(root)) => probes::exec(root, command, within, stop),
            (Files::Disk, None) => Err(NO_ROOT.into()),
            (Files::Simulated(simulation), _) => {
                let end = simulation.command(command)?;
                let exit_code = end.exit_code.unwrap_or(-1);
                Ok(Exec { exit_code, stdout: end.output, stderr: String::new() })
            }
            (Files::Recorded(_), _) => Err(NOT_RECORDED.into()),
            (Files::Unavailable, _) => Err(NO_FILES.into()),
        }
    }

    /// Whether no file can be read.
    pub(crate) fn is_unavailable(&self) -> bool {
        matches!(self, Files::Unavailable)
    }

    /// Whether file facts come from the disk.
    pub(crate) fn is_disk(&self) -> bool {
        matches!(self, Files::Disk)
    }

    /// The recorded files, if these are.
    pub(crate) fn recorded(&self) -> Option<&RecordedFiles> {
        match self {
            Files::Recorded(recorded) => Some(recorded),
            Files::Disk | Files::Simulated(_) | Files::Unavailable => None,
        }
    }
}

impl Simulation {
    /// Writes a file.
    pub fn write(&self, place: &str, content: &str) {
        self.files.lock().insert(place.to_owned(), content.to_owned());
    }

    /// Removes a file.
    pub fn remove(&self, place: &str) {
        self.files.lock().remove(place);
    }

    /// Sets the outcome of a command. `None`: it does not end in time.
    pub fn set_command(&self, command: &str, end: Option<CommandOutcome>) {
        self.commands.lock().insert(command.to_owned(), end);
    }

    /// Sets the state of the repository.
    pub fn set_git(&self, git: Option<GitState>) {
        *self.git.lock() = git;
    }

    /// Sets facts of the project, by their name in expressions.
    pub fn set_project(&self, facts: &BTreeMap<String, Value>) {
        self.project.lock().extend(facts.iter().map(|(name, value)| (name.clone(), value.clone())));
    }

    /// Sets the answer of an external service.
    pub fn set_answer(&self, guardrail: &str, answer: StubAnswer) {
        self.answers.lock().insert(guardrail.to_owned(), answer);
    }

    /// The answer of an external service.
    pub(crate) fn answer(&self, guardrail: &str) -> StubAnswer {
        let error = Some("the case has no answer for it".to_owned());
        let missing = || StubAnswer { error, ..StubAnswer::default() };
        self.answers.lock().get(guardrail).cloned().unwrap_or_else(missing)
    }

    fn command(&self, command: &str) -> Available<CommandOutcome> {
        match self.commands.lock().get(command) {
            Some(end) => end.clone().ok_or_else(|| NOT_IN_TIME.into()),
            None => Err(Unavailable::new(format!("the case has no outcome for `{command}`"))),
        }
    }

    fn fact(&self, key: &FactKey, lookup: &Lookup<'_>) -> Available<Fact> {
        let files = self.files.lock();
        Ok(match key {
            FactKey::Place(path) => plain_place(lookup.root, lookup.cwd, path),
            FactKey::File(place) => {
                let is_inside =
                    |file: &String| file.strip_prefix(place).is_some_and(|it| it.starts_with('/'));
                Fact::File(match files.get(place) {
                    Some(content) => FileState::File { checksum: digest(content.as_bytes()) },
                    None if files.keys().any(is_inside) => FileState::Special,
                    None if is_on_every_machine(place) => FileState::File { checksum: digest(b"") },
                    None => FileState::Absent,
                })
            }
            FactKey::Script(key) => scripts(lookup, &ScriptSource::decode(key), |held| {
                Ok(files.get(&held.place).map(|text| readable(text.as_bytes())))
            })?,
            FactKey::Command(run) => Fact::Command(self.command(&run.command)?),
            FactKey::Tree(patterns) => probes::tree_in(&files, patterns),
            FactKey::Count(patterns) => probes::count_in(&files, patterns),
            FactKey::Contents(patterns) => probes::contents_in(&files, patterns),
            FactKey::Text(test) => match files.get(&test.place) {
                Some(text) => Fact::Count(test.wanted.count(text)),
                None => return Err(Unavailable::new(format!("`{}`: there is no such file", test.place))),
            },
            // A simulation has no commits.
            FactKey::Unsaved(place) => {
                let folder = probes::plain(place);
                let is_below = |file: &&String| Path::new(file).starts_with(&folder);
                Fact::Unsaved(UnsavedFiles {
                    files: files.keys().filter(is_below).cloned().collect(),
                    more: false,
                })
            }
            FactKey::Git => Fact::Git(self.git.lock().clone()),
            FactKey::Answer(name) => match self.project.lock().get(name) {
                Some(value) => Fact::Answer(value.clone()),
                None => return Err(Unavailable::new(format!("the case does not set `{name}`"))),
            },
            other => return Err(no_probe(other)),
        })
    }
}

/// Whether a file exists on every machine, so that it does in a simulation, too.
fn is_on_every_machine(place: &str) -> bool {
    ["/etc/passwd", "/etc/hosts", "/.bashrc", "/.profile"].iter().any(|file| place.ends_with(file))
}
