//! The files of recorded sessions: which there are, what belongs together, and their events in the order of time.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use jiff::Timestamp;
use midrail::replay::{ReplayError, next_line};
use midrail::{Event, EventKind};
use serde_json::Value;

use super::{Host, Transcript};

/// How deep folders are looked through.
const DEEPEST: usize = 16;

/// How much of a file is looked at to see when it begins.
const HEAD: u64 = 256 << 10;

/// Files of one session that are read side by side. Those beyond are read after them.
const SIDE_BY_SIDE: usize = 128;

/// Lines that a thread hands over at a time, and how many such batches may wait.
const BATCH: usize = 64;
const WAITING: usize = 4;

/// One recorded session: its own file, and those of its sub-agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedSession {
    /// The host that recorded it.
    pub host: Host,
    /// Its files, its own first.
    pub files: Vec<PathBuf>,
    /// All of them in bytes.
    pub bytes: u64,
    begins: Option<Timestamp>,
}

/// A line that tells nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidLine {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1. 0: the file as a whole.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// What comes of reading recordings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportItem {
    /// An event, as JSON.
    Event(String),
    /// A line that tells nothing.
    InvalidLine(InvalidLine),
    /// A session is through: its size in bytes.
    Read(u64),
}

/// The session that the name of a file tells.
pub(super) fn name_of(path: &Path) -> Option<String> {
    let name = path.file_stem()?.to_string_lossy();
    let folder = || path.parent()?.parent()?.file_name().map(|name| name.to_string_lossy().into_owned());
    match path.parent()?.file_name()?.to_str() {
        Some("subagents") => folder(),
        _ => Some(name.strip_prefix("rollout-").unwrap_or(&name).to_owned()),
    }
}

/// The sessions that a host recorded at these places, the oldest first. Those that were over before a time are left out.
pub fn find_sessions(
    host: Host,
    places: &[PathBuf],
    since: Option<Timestamp>,
) -> io::Result<Vec<RecordedSession>> {
    let mut found = Vec::new();
    for place in places {
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", place.display()));
        if fs::metadata(place).map_err(named)?.is_dir() {
            gather(host, place, 0, &mut found).map_err(named)?;
        } else {
            found.push(place.clone());
        }
    }
    found.sort();
    found.dedup();
    let mut sessions: BTreeMap<PathBuf, RecordedSession> = BTreeMap::new();
    for path in found {
        let metadata = fs::metadata(&path);
        let changed = metadata.as_ref().ok().and_then(|it| Timestamp::try_from(it.modified().ok()?).ok());
        if since.zip(changed).is_some_and(|(since, changed)| changed < since) {
            continue;
        }
        let bytes = metadata.map_or(0, |metadata| metadata.len());
        let empty = || RecordedSession { host, files: Vec::new(), bytes: 0, begins: None };
        let session = sessions.entry(whose(&path)).or_insert_with(empty);
        session.bytes = session.bytes.saturating_add(bytes);
        session.files.push(path);
    }
    let mut sessions: Vec<RecordedSession> = sessions.into_values().collect();
    for session in &mut sessions {
        // A session's own file lies above those of its sub-agents.
        session.files.sort_by_key(|path| path.components().count());
        session.begins = session.files.first().and_then(|path| begins(path));
    }
    sessions.sort_by_key(|session| session.begins.unwrap_or(Timestamp::MAX));
    Ok(sessions)
}

/// What the files of a session have in common.
fn whose(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder.file_name().is_some_and(|name| name == "subagents") => {
            folder.parent().unwrap_or(folder).to_owned()
        }
        _ => path.with_extension(""),
    }
}

fn gather(host: Host, folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && depth < DEEPEST {
            gather(host, &path, depth + 1, found)?;
        } else if kind.is_file() && host.is_recording(&path) {
            found.push(path);
        }
    }
    Ok(())
}

/// The first time that a file tells.
fn begins(path: &Path) -> Option<Timestamp> {
    let lines = BufReader::new(File::open(path).ok()?.take(HEAD)).split(b'\n');
    lines.map_while(Result::ok).find_map(|line| {
        let line: Value = serde_json::from_slice(&line).ok()?;
        line.get("timestamp")?.as_str()?.parse().ok()
    })
}

/// The events of one session, those of its sub-agents among them, in the order of time.
pub struct SessionEvents {
    sources: Vec<Source>,
    rest: VecDeque<PathBuf>,
    host: Host,
    since: Option<Timestamp>,
    has_begun: bool,
    ready: VecDeque<Result<Event, InvalidLine>>,
}

impl SessionEvents {
    /// Those of a session from a time on.
    pub fn new(session: &RecordedSession, since: Option<Timestamp>) -> Self {
        let mut merged = SessionEvents {
            sources: Vec::new(),
            rest: session.files.iter().cloned().collect(),
            host: session.host,
            since,
            has_begun: false,
            ready: VecDeque::new(),
        };
        merged.open();
        merged
    }

    fn open(&mut self) {
        while self.sources.len() < SIDE_BY_SIDE
            && let Some(path) = self.rest.pop_front()
        {
            match File::open(&path) {
                Ok(file) => self.sources.push(Source {
                    transcript: Some(Transcript::new(self.host, &path)),
                    input: BufReader::with_capacity(64 << 10, file),
                    path,
                    line: 0,
                    ready: VecDeque::new(),
                }),
                Err(error) => {
                    self.ready.push_back(Err(InvalidLine { file: path, line: 0, why: error.to_string() }));
                }
            }
        }
    }

    /// The earliest event that any file has next.
    fn earliest(&mut self) -> Option<Event> {
        for source in &mut self.sources {
            source.fill(&mut self.ready);
        }
        self.sources.retain(|source| !source.ready.is_empty());
        self.open();
        let first =
            self.sources.iter_mut().min_by_key(|source| source.ready.front().and_then(|it| it.time))?;
        first.ready.pop_front()
    }
}

impl Iterator for SessionEvents {
    type Item = Result<Event, InvalidLine>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            let Some(event) = self.earliest() else {
                if self.ready.is_empty() && self.sources.is_empty() {
                    return None;
                }
                continue;
            };
            if self.since.zip(event.time).is_some_and(|(since, time)| time < since) {
                continue;
            }
            // What began before is told to begin with the first event that is told.
            if !self.has_begun && event.kind != EventKind::SessionStart {
                let mut begins = Event::new(EventKind::SessionStart);
                begins.session.clone_from(&event.session);
                begins.cwd.clone_from(&event.cwd);
                begins.time = event.time;
                begins.extra.clone_from(&event.extra);
                self.ready.push_back(Ok(begins));
            }
            self.has_begun = true;
            self.ready.push_back(Ok(event));
        }
    }
}

/// One file that is being read.
struct Source {
    path: PathBuf,
    input: BufReader<File>,
    line: usize,
    /// `None`: it has been read to its end.
    transcript: Option<Transcript>,
    ready: VecDeque<Event>,
}

impl Source {
    /// Reads on until there is an event, or nothing more.
    fn fill(&mut self, broken: &mut VecDeque<Result<Event, InvalidLine>>) {
        while self.ready.is_empty()
            && let Some(transcript) = &mut self.transcript
        {
            self.line += 1;
            let read = next_line(&mut self.input, self.line);
            let is_over = matches!(read, Ok(None) | Err(ReplayError::Io { .. }));
            let events = match read {
                Ok(Some(text)) => transcript.line(&text),
                Ok(None) => Ok(Vec::new()),
                Err(error) => Err(error.to_string()),
            };
            match events {
                Ok(events) => self.ready.extend(events),
                Err(why) => {
                    let file = self.path.clone();
                    broken.push_back(Err(InvalidLine { file, line: self.line, why }));
                }
            }
            if is_over {
                self.ready.extend(transcript.end());
                self.transcript = None;
            }
        }
    }
}

/// Reads sessions with several threads, and hands on what comes of it in the order of the sessions. No more than a few
/// batches of lines wait at a time.
pub fn read_sessions<E>(
    sessions: &[RecordedSession],
    since: Option<Timestamp>,
    jobs: usize,
    mut sink: impl FnMut(ImportItem) -> Result<(), E>,
) -> Result<(), E> {
    let jobs = jobs.clamp(1, 64).min(sessions.len().max(1));
    thread::scope(|scope| {
        let lanes: Vec<Receiver<Vec<ImportItem>>> = (0..jobs)
            .map(|lane| {
                let (sender, receiver) = sync_channel(WAITING);
                let own = sessions.iter().skip(lane).step_by(jobs);
                scope.spawn(move || {
                    // Nobody listens any more once sending fails.
                    let _ = own.map(|session| send(session, since, &sender)).find(Result::is_err);
                });
                receiver
            })
            .collect();
        for (at, _) in sessions.iter().enumerate() {
            let Some(lane) = lanes.get(at % jobs) else { break };
            let mut is_through = false;
            while !is_through && let Ok(batch) = lane.recv() {
                for work in batch {
                    is_through |= matches!(work, ImportItem::Read(_));
                    sink(work)?;
                }
            }
        }
        Ok(())
    })
}

fn send(
    session: &RecordedSession,
    since: Option<Timestamp>,
    to: &SyncSender<Vec<ImportItem>>,
) -> Result<(), ()> {
    let mut batch = Vec::with_capacity(BATCH);
    for read in SessionEvents::new(session, since) {
        batch.push(match read.map(|event| serde_json::to_string(&event)) {
            Ok(Ok(json)) => ImportItem::Event(json),
            Ok(Err(error)) => {
                let file = session.files.first().cloned().unwrap_or_default();
                ImportItem::InvalidLine(InvalidLine { file, line: 0, why: error.to_string() })
            }
            Err(broken) => ImportItem::InvalidLine(broken),
        });
        if batch.len() >= BATCH {
            to.send(std::mem::take(&mut batch)).map_err(drop)?;
        }
    }
    batch.push(ImportItem::Read(session.bytes));
    to.send(batch).map_err(drop)
}
