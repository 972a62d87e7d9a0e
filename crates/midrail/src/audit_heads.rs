//! Signed heads of the audit log, published where the owner of the store cannot change them, and compared with it later.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use jiff::Timestamp;
use midrail_store::{Checkpoint, Misfit, MisfitKind, PublicKey, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::deep::client::post;

/// How long to wait for an address.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The ref of git notes with heads.
const NOTES: &str = "--ref=midrail";

/// A signed head with the key that verifies it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedHead {
    /// The head.
    pub head: Checkpoint,
    /// The key that signed it.
    pub key: PublicKey,
}

/// A place where heads are published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadPlace {
    /// A file, to which a line is appended.
    File(PathBuf),
    /// An address, to which the head is posted as JSON.
    Http(String),
    /// A note of the current commit of a git repository, under `refs/notes/midrail`.
    Git(PathBuf),
}

/// Why a head could not be published or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeadError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log has no records.
    #[error("the audit log is empty")]
    Empty,
    /// A file or git could not be used.
    #[error("could not use `{0}`: {1}")]
    Io(String, #[source] io::Error),
    /// Git failed.
    #[error("git failed: {0}")]
    Git(String),
    /// An address did not accept the head.
    #[error("`{0}` did not accept the head: {1}")]
    Http(String, String),
    /// There are no published heads, so nothing can be compared.
    #[error("there are no published heads in `{0}`")]
    NoHeads(String),
    /// A published head cannot be read.
    #[error("line {0} is not a published head: {1}")]
    Line(usize, #[source] serde_json::Error),
}

impl HeadPlace {
    /// Parses a place: `https://…`, `git:FOLDER`, or a file.
    pub fn parse(text: &str) -> Self {
        match text.split_once(':') {
            Some(("http" | "https", _)) => HeadPlace::Http(text.to_owned()),
            Some(("git", folder)) => {
                HeadPlace::Git(PathBuf::from(if folder.is_empty() { "." } else { folder }))
            }
            _ => HeadPlace::File(PathBuf::from(text)),
        }
    }

    /// Signs the current head of a log, and publishes it.
    pub fn publish(&self, store: &dyn Store, time: Timestamp) -> Result<PublishedHead, HeadError> {
        let head = store.checkpoint_now(time)?.ok_or(HeadError::Empty)?;
        let keys = store.public_keys()?;
        let key = keys.into_iter().find(|key| key.id == head.key).ok_or(HeadError::Empty)?;
        let published = PublishedHead { head, key };
        let line = serde_json::to_string(&published).map_err(|error| HeadError::Line(1, error))?;
        match self {
            HeadPlace::File(path) => append(path, &line)?,
            HeadPlace::Http(address) => match post(address, &line, TIMEOUT) {
                Ok(200..=299) => {}
                Ok(status) => return Err(HeadError::Http(address.clone(), format!("status {status}"))),
                Err(error) => return Err(HeadError::Http(address.clone(), error.to_string())),
            },
            HeadPlace::Git(folder) => {
                git(folder, &["notes", NOTES, "append", "-m", &line])?;
            }
        }
        Ok(published)
    }

    /// Reads published heads. Those at an address have to be downloaded first.
    pub fn read(&self) -> Result<Vec<PublishedHead>, HeadError> {
        let text = match self {
            HeadPlace::File(path) => {
                let read = if path == Path::new("-") {
                    io::read_to_string(io::stdin())
                } else {
                    std::fs::read_to_string(path)
                };
                read.map_err(|error| HeadError::Io(path.display().to_string(), error))?
            }
            HeadPlace::Http(address) => {
                let what = io::Error::new(io::ErrorKind::Unsupported, "download it, and name the file");
                return Err(HeadError::Io(address.clone(), what));
            }
            HeadPlace::Git(folder) => git(folder, &["log", "--all", "--notes=midrail", "--format=%N"])?,
        };
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let heads: Vec<PublishedHead> = lines
            .map(|(nth, line)| serde_json::from_str(line).map_err(|error| HeadError::Line(nth, error)))
            .collect::<Result<_, _>>()?;
        if heads.is_empty() { Err(HeadError::NoHeads(self.name())) } else { Ok(heads) }
    }

    /// The place as text.
    fn name(&self) -> String {
        match self {
            HeadPlace::File(path) | HeadPlace::Git(path) => path.display().to_string(),
            HeadPlace::Http(address) => address.clone(),
        }
    }
}

/// The comparison of a log with published heads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HeadComparison {
    /// The heads that are in the log.
    pub matching: u64,
    /// The heads whose records were archived, and that could not be compared.
    pub archived: u64,
    /// The first head that the log does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misfit: Option<Misfit>,
}

/// Compares a log with heads that were published earlier. The chain itself is not verified.
pub fn compare(store: &dyn Store, heads: &[PublishedHead]) -> Result<HeadComparison, StoreError> {
    let cut = store.archived()?;
    let first = cut.as_ref().map_or(0, |cut| cut.seq);
    let mut known = store.public_keys()?;
    known.extend(store.public_key());
    let mut found = HeadComparison::default();
    for PublishedHead { head, key } in heads {
        let Checkpoint { seq, hash, .. } = head;
        let misfit = |kind, detail: String| Some(Misfit { seq: *seq, kind, detail });
        let in_log = match &cut {
            Some(cut) if cut.seq == *seq => Some(cut.hash.clone()),
            _ => store.entry(*seq)?.map(|entry| entry.hash),
        };
        found.misfit = match in_log {
            _ if head.check(std::slice::from_ref(key)).is_err() => misfit(
                MisfitKind::Signature,
                format!("the published head of record {seq} is not signed by its key"),
            ),
            _ if !known.contains(key) => misfit(
                MisfitKind::Signature,
                format!(
                    "the published head of record {seq} was signed with `{}`, which is not a key of this log",
                    key.id
                ),
            ),
            Some(other) if other != *hash => misfit(
                MisfitKind::Head,
                format!("record {seq} has the hash {other}, and {hash} was published"),
            ),
            None if *seq > first => {
                misfit(MisfitKind::Truncated, format!("record {seq} was published, and is not in the log"))
            }
            None => {
                found.archived += 1;
                continue;
            }
            Some(_) => {
                found.matching += 1;
                continue;
            }
        };
        break;
    }
    Ok(found)
}

fn append(path: &Path, line: &str) -> Result<(), HeadError> {
    let write = || {
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        file.write_all(format!("{line}\n").as_bytes())?;
        file.sync_all()
    };
    write().map_err(|error| HeadError::Io(path.display().to_string(), error))
}

fn git(folder: &Path, args: &[&str]) -> Result<String, HeadError> {
    let output = Command::new("git").arg("-C").arg(folder).args(args).output();
    let Output { status, stdout, stderr } = output.map_err(|error| HeadError::Io("git".to_owned(), error))?;
    if !status.success() {
        return Err(HeadError::Git(String::from_utf8_lossy(&stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}
