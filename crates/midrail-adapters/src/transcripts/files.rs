//! The files of recorded sessions: finds them, groups them by session, and merges their events by time.

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

use super::reader::{Transcript, Transcripts};

/// How deep folders are searched.
const MAX_DEPTH: usize = 16;

/// How much of a file is read to find its first time.
const HEAD: u64 = 256 << 10;

/// Files of one session that are read at the same time. Further ones are read after them.
const MAX_OPEN: usize = 128;

/// Events per batch, and batches that may wait in the channel of a thread.
const BATCH: usize = 64;
const MAX_BATCHES: usize = 4;

/// A recorded session: its own file, and those of its sub-agents.
#[derive(Debug, Clone)]
pub struct RecordedSession {
    source: Transcripts,
    /// Its files; its own is the first.
    pub files: Vec<PathBuf>,
    /// Their size in bytes.
    pub bytes: u64,
    start: Option<Timestamp>,
}

/// A line without an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidLine {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1. 0: the file as a whole.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// An item that reading recordings yields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportItem {
    /// An event, as JSON.
    Event(String),
    /// A line without an event.
    InvalidLine(InvalidLine),
    /// The end of a session: its size in bytes.
    Read(u64),
}

/// The recorded sessions in some files and folders, the oldest first. Files last changed before `since` are skipped.
pub fn find_sessions(
    source: &Transcripts,
    paths: &[PathBuf],
    since: Option<Timestamp>,
) -> io::Result<Vec<RecordedSession>> {
    let mut found = Vec::new();
    for path in paths {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()));
        if fs::metadata(path).map_err(named)?.is_dir() {
            collect(source, path, 0, &mut found).map_err(named)?;
        } else {
            found.push(path.clone());
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
        let empty = || RecordedSession { source: *source, files: Vec::new(), bytes: 0, start: None };
        let session = sessions.entry(session_path(&path)).or_insert_with(empty);
        session.bytes = session.bytes.saturating_add(bytes);
        session.files.push(path);
    }
    let mut sessions: Vec<RecordedSession> = sessions.into_values().collect();
    for session in &mut sessions {
        // The files of sub-agents are in folders below.
        session.files.sort_by_key(|path| path.components().count());
        session.start = session.files.first().and_then(|path| first_time(path));
    }
    sessions.sort_by_key(|session| session.start.unwrap_or(Timestamp::MAX));
    Ok(sessions)
}

/// The path that the files of a session have in common.
fn session_path(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder.file_name().is_some_and(|name| name == "subagents") => {
            folder.parent().unwrap_or(folder).to_owned()
        }
        _ => path.with_extension(""),
    }
}

fn collect(source: &Transcripts, folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && depth < MAX_DEPTH {
            collect(source, &path, depth + 1, found)?;
        } else if kind.is_file() && source.is_recording(&path) {
            found.push(path);
        }
    }
    Ok(())
}

/// The first time in a file.
fn first_time(path: &Path) -> Option<Timestamp> {
    let lines = BufReader::new(File::open(path).ok()?.take(HEAD)).split(b'\n');
    lines.map_while(Result::ok).find_map(|line| {
        let line: Value = serde_json::from_slice(&line).ok()?;
        line.get("timestamp")?.as_str()?.parse().ok()
    })
}

/// The events of a session and its sub-agents, ordered by time.
pub struct SessionEvents {
    sources: Vec<Source>,
    rest: VecDeque<PathBuf>,
    transcripts: Transcripts,
    since: Option<Timestamp>,
    has_begun: bool,
    ready: VecDeque<Result<Event, InvalidLine>>,
}

impl SessionEvents {
    /// The events of a session since a time.
    pub fn new(session: &RecordedSession, since: Option<Timestamp>) -> Self {
        let mut merged = SessionEvents {
            sources: Vec::new(),
            rest: session.files.iter().cloned().collect(),
            transcripts: session.source,
            since,
            has_begun: false,
            ready: VecDeque::new(),
        };
        merged.open();
        merged
    }

    fn open(&mut self) {
        while self.sources.len() < MAX_OPEN
            && let Some(path) = self.rest.pop_front()
        {
            match File::open(&path) {
                Ok(file) => self.sources.push(Source {
                    transcript: Some(Transcript::new(&self.transcripts, &path)),
                    input: BufReader::with_capacity(64 << 10, file),
                    path,
                    line: 0,
                    ready: VecDeque::new(),
                }),
                Err(error) => {
                    self.ready.push_back(Err(InvalidLine { file: path, line: 0, reason: error.to_string() }));
                }
            }
        }
    }

    /// The earliest of the next events of all files.
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
            // A session that began before `since` starts with its first event.
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

/// A file that is being read.
struct Source {
    path: PathBuf,
    input: BufReader<File>,
    line: usize,
    /// `None`: its end is reached.
    transcript: Option<Transcript>,
    ready: VecDeque<Event>,
}

impl Source {
    /// Reads until there is an event, or the end.
    fn fill(&mut self, invalid: &mut VecDeque<Result<Event, InvalidLine>>) {
        while self.ready.is_empty()
            && let Some(transcript) = &mut self.transcript
        {
            self.line += 1;
            let read = next_line(&mut self.input, self.line);
            let is_over = matches!(read, Ok(None) | Err(ReplayError::Io { .. }));
            let events = match read {
                Ok(Some(text)) => transcript.line(&text).map_err(|error| error.to_string()),
                Ok(None) => Ok(Vec::new()),
                Err(error) => Err(error.to_string()),
            };
            match events {
                Ok(events) => self.ready.extend(events),
                Err(reason) => {
                    let file = self.path.clone();
                    invalid.push_back(Err(InvalidLine { file, line: self.line, reason }));
                }
            }
            if is_over {
                self.ready.extend(transcript.end());
                self.transcript = None;
            }
        }
    }
}

/// Reads sessions with several threads, and passes the items on in the order of the sessions. Only a few batches wait at a
/// time.
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
                let (sender, receiver) = sync_channel(MAX_BATCHES);
                let own = sessions.iter().skip(lane).step_by(jobs);
                scope.spawn(move || {
                    // Sending fails once the receiver is gone.
                    let _ = own.map(|session| send(session, since, &sender)).find(Result::is_err);
                });
                receiver
            })
            .collect();
        for (at, _) in sessions.iter().enumerate() {
            let Some(lane) = lanes.get(at % jobs) else { break };
            let mut is_done = false;
            while !is_done && let Ok(batch) = lane.recv() {
                for item in batch {
                    is_done |= matches!(item, ImportItem::Read(_));
                    sink(item)?;
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
                ImportItem::InvalidLine(InvalidLine { file, line: 0, reason: error.to_string() })
            }
            Err(invalid) => ImportItem::InvalidLine(invalid),
        });
        if batch.len() >= BATCH {
            to.send(std::mem::take(&mut batch)).map_err(drop)?;
        }
    }
    batch.push(ImportItem::Read(session.bytes));
    to.send(batch).map_err(drop)
}
