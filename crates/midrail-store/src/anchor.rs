//! The anchor of a store: the last heads of its log, in a file next to its key and outside of the database.
//!
//! A commit writes its head here before it is acknowledged. A database that was deleted, replaced, set back or cut off,
//! or that has lost the end of its write-ahead log, does not contain the last head any more, which is detected when the
//! store is opened. A database that is ahead of its anchor is not damaged: a process ended between the two writes.
//!
//! The file has [`SLOTS`] slots of [`SLOT_BYTES`] bytes. Each is a line `midrail-head-v1 SEQ HASH SEAL`, padded with NUL
//! bytes. A head is in the slot `SEQ % SLOTS`, so that processes that commit at the same time write different slots and
//! need no lock; the last head is the one with the highest `SEQ`. `SEAL` is `HMAC-SHA256(key, "SEQ\nHASH\n")` in
//! hexadecimal, with a key that is derived from the secret of the store.
//!
//! # Limits
//! - The file is not forced to disk for each commit, which would double the cost of a commit. A process that is killed
//!   loses nothing; after a power failure the anchor can be behind by what the system had not written yet.
//! - A user who can read the key can forge the anchor, and a database that is set back together with its anchor is
//!   consistent. Heads that are published elsewhere reveal both.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use hmac::Mac;
use midrail_core::{AuditRef, hex};
use parking_lot::Mutex;

use crate::chain::{GENESIS, unhex};
use crate::error::{Result, StoreDamage, StoreError};
use crate::key::StoreKey;

const HEADER: &str = "midrail-head-v1";

/// More than the processes that can commit between another one's commit and its write to the anchor.
const SLOTS: usize = 16;

/// A divisor of the sector size of disks, so that a slot is written completely or not at all.
const SLOT_BYTES: usize = 256;

/// The anchor file of a store. It is opened on first use and stays open.
pub(crate) struct AnchorFile {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

/// The content of an anchor file.
pub(crate) enum Anchor {
    /// There is no file.
    Missing,
    /// It has a slot that is not a head, or no heads at all.
    Unreadable,
    /// The last head in it.
    Last(SealedHead),
}

/// A head with its seal.
pub(crate) struct SealedHead {
    head: AuditRef,
    seal: String,
}

impl AnchorFile {
    /// The anchor with a path. The file need not exist.
    pub(crate) fn new(path: PathBuf) -> Self {
        AnchorFile { path, file: Mutex::new(None) }
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file.
    pub(crate) fn read(&self) -> Result<Anchor> {
        let mut file = self.file.lock();
        *file = match OpenOptions::new().read(true).write(true).open(&self.path) {
            Ok(opened) => Some(opened),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // A store that is only read may have an anchor that cannot be written.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                Some(File::open(&self.path).map_err(|error| self.error(error))?)
            }
            Err(error) => return Err(self.error(error)),
        };
        let Some(file) = file.as_ref() else { return Ok(Anchor::Missing) };
        let mut bytes = [0; SLOTS * SLOT_BYTES];
        let length = read_at(file, &mut bytes, 0).map_err(|error| self.error(error))?;
        let (content, _) = bytes.split_at(length.min(bytes.len()));
        Ok(parse(content))
    }

    /// Writes a head, unless its slot has a later one.
    pub(crate) fn advance(&self, key: &StoreKey, head: &AuditRef) -> Result<()> {
        let fail = |error| self.error(error);
        let mut file = self.file.lock();
        if file.is_none() {
            *file = Some(OpenOptions::new().read(true).write(true).open(&self.path).map_err(fail)?);
        }
        let Some(file) = file.as_ref() else { return Ok(()) };
        self.check_in_place(file).map_err(fail)?;
        let offset = offset(head.seq);
        let mut slot = [0; SLOT_BYTES];
        read_at(file, &mut slot, offset).map_err(fail)?;
        if parse_seq(&slot).is_some_and(|other| other >= head.seq) {
            return Ok(());
        }
        write_at(file, &line(key, head), offset).map_err(fail)
    }

    /// Replaces the whole content with one head. `None`: the log is empty. The file keeps its identity, so that other
    /// processes that have it open write to the same one. The caller holds the write lock of the store.
    pub(crate) fn reset(&self, key: &StoreKey, head: Option<&AuditRef>) -> Result<()> {
        let opened = match self.rewrite(key, head, OpenOptions::new().read(true).write(true)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create(key, head)?;
                return Ok(());
            }
            opened => opened.map_err(|error| self.error(error))?,
        };
        *self.file.lock() = Some(opened);
        Ok(())
    }

    /// Creates the file with one head, unless it exists. It appears with its content or not at all: an empty anchor, left
    /// by a process that was killed, would be damage.
    pub(crate) fn create(&self, key: &StoreKey, head: Option<&AuditRef>) -> Result<()> {
        let draft = AnchorFile::new(with_suffix(&self.path, &format!(".{}.new", std::process::id())));
        let created = draft
            .rewrite(
                key,
                head,
                private(OpenOptions::new().read(true).write(true).create(true).truncate(true)),
            )
            .and_then(|_| std::fs::hard_link(&draft.path, &self.path));
        let _ = std::fs::remove_file(&draft.path);
        match created {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(self.error(error)),
            _ => {
                *self.file.lock() = None;
                Ok(())
            }
        }
    }

    fn rewrite(&self, key: &StoreKey, head: Option<&AuditRef>, options: &OpenOptions) -> io::Result<File> {
        let start = AuditRef { seq: 0, hash: GENESIS.to_owned() };
        let head = head.unwrap_or(&start);
        let mut content = vec![0; SLOTS * SLOT_BYTES];
        let at = usize::try_from(offset(head.seq)).unwrap_or(0);
        content.iter_mut().skip(at).zip(line(key, head)).for_each(|(byte, new)| *byte = new);
        let file = options.open(&self.path)?;
        write_at(&file, &content, 0)?;
        file.sync_all()?;
        Ok(file)
    }

    /// Checks that the path still names the open file: a process that runs for long would write to a deleted store.
    #[cfg(unix)]
    fn check_in_place(&self, file: &File) -> io::Result<()> {
        use std::os::unix::fs::MetadataExt;
        let (open, named) = (file.metadata()?, std::fs::metadata(&self.path)?);
        if (open.dev(), open.ino()) == (named.dev(), named.ino()) {
            Ok(())
        } else {
            Err(io::Error::other("the store was replaced while it was in use; start this program again"))
        }
    }

    #[cfg(not(unix))]
    fn check_in_place(&self, _: &File) -> io::Result<()> {
        std::fs::metadata(&self.path).map(drop)
    }

    fn error(&self, source: io::Error) -> StoreError {
        StoreError::io(&self.path, source)
    }
}

impl Anchor {
    /// The last head. `Err`: it is not sealed with this key.
    pub(crate) fn last(&self, key: &StoreKey) -> Result<Option<&AuditRef>, ()> {
        match self {
            Anchor::Missing | Anchor::Unreadable => Ok(None),
            Anchor::Last(last) if last.is_sealed_with(key) => Ok(Some(&last.head)),
            Anchor::Last(_) => Err(()),
        }
    }

    /// Whether it was created for a log without records.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self, Anchor::Last(last) if last.head.seq == 0)
    }
}

impl SealedHead {
    fn is_sealed_with(&self, key: &StoreKey) -> bool {
        let is_seal = |seal: [u8; 32]| key.anchor_mac(&message(&self.head)).verify_slice(&seal).is_ok();
        unhex(&self.seal).is_some_and(is_seal)
    }
}

/// What the anchor of a store shows about its database.
///
/// `hash_of` returns the hash of a record; it must read a state of the database that is not older than the anchor.
pub(crate) fn find_damage(
    anchor: &Anchor,
    path: &Path,
    key: Option<&StoreKey>,
    found: Option<AuditRef>,
    hash_of: impl FnOnce(u64) -> Result<Option<String>>,
) -> Result<Option<StoreDamage>> {
    let shown = path.display();
    let damage = |what: String, expected: Option<&AuditRef>, found: Option<AuditRef>| {
        Ok(Some(StoreDamage { what, expected: expected.cloned(), found }))
    };
    let last = match (anchor, key) {
        (Anchor::Missing, None) if found.is_none() => return Ok(None),
        (Anchor::Missing, None) => {
            return damage(format!("its key and its anchor `{shown}` are missing"), None, found);
        }
        (Anchor::Missing, Some(_)) => {
            return damage(format!("its anchor `{shown}` is missing"), None, found);
        }
        (Anchor::Unreadable, _) => {
            return damage(format!("its anchor `{shown}` is damaged"), None, found);
        }
        // A process ended after it had created the anchor and before it had created the key.
        (Anchor::Last(_), None) if anchor.is_new() && found.is_none() => return Ok(None),
        (Anchor::Last(_), None) => return damage("its key is missing".to_owned(), None, found),
        (Anchor::Last(_), Some(key)) => match anchor.last(key) {
            Ok(last) => last,
            Err(()) => {
                let what = format!("its anchor `{shown}` and its key do not belong together");
                return damage(what, None, found);
            }
        },
    };
    let Some(last) = last.filter(|last| last.seq > 0) else { return Ok(None) };
    let end = found.as_ref().map_or(0, |head| head.seq);
    match hash_of(last.seq)? {
        Some(hash) if hash == last.hash => Ok(None),
        Some(_) => {
            let what = format!("its record {} is not the one that was acknowledged", last.seq);
            damage(what, Some(last), found)
        }
        None if end == 0 => {
            let what = format!("it has no records, and record {} was acknowledged", last.seq);
            damage(what, Some(last), found)
        }
        None => {
            let what = format!("it ends with record {end}, and record {} was acknowledged", last.seq);
            damage(what, Some(last), found)
        }
    }
}

/// The path of a file with a suffix.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Restricts a new file to its owner.
#[cfg(unix)]
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600)
}

#[cfg(not(unix))]
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

fn offset(seq: u64) -> u64 {
    let slots = u64::try_from(SLOTS).unwrap_or(1);
    let bytes = u64::try_from(SLOT_BYTES).unwrap_or(0);
    seq.checked_rem(slots).unwrap_or(0).saturating_mul(bytes)
}

fn message(AuditRef { seq, hash }: &AuditRef) -> String {
    format!("{seq}\n{hash}\n")
}

/// The bytes of a slot.
fn line(key: &StoreKey, head: &AuditRef) -> Vec<u8> {
    let seal = hex::encode(&key.anchor_mac(&message(head)).finalize().into_bytes());
    let text = format!("{HEADER} {} {} {seal}\n", head.seq, head.hash);
    let mut slot = text.into_bytes();
    slot.resize(SLOT_BYTES, 0);
    slot
}

/// Finds the last head. Only that one is parsed as a whole, because every short process does this.
fn parse(content: &[u8]) -> Anchor {
    let mut last = None;
    for slot in content.chunks(SLOT_BYTES) {
        match parse_seq(slot) {
            Some(seq) => last = last.max(Some((seq, slot))),
            // It was never written.
            None if slot.first() == Some(&0) => {}
            None => return Anchor::Unreadable,
        }
    }
    last.and_then(|(_, slot)| parse_slot(slot)).map_or(Anchor::Unreadable, Anchor::Last)
}

fn parse_seq(slot: &[u8]) -> Option<u64> {
    let rest = slot.strip_prefix(HEADER.as_bytes())?.strip_prefix(b" ")?;
    let digits = rest.split(|byte| *byte == b' ').next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn parse_slot(slot: &[u8]) -> Option<SealedHead> {
    let line = slot.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ').skip(1);
    let (seq, hash, seal) = (words.next()?, words.next()?, words.next()?);
    let is_whole = words.next().is_none() && slot.len() == SLOT_BYTES;
    let head = AuditRef { seq: seq.parse().ok()?, hash: hash.to_owned() };
    is_whole.then(|| SealedHead { head, seal: seal.to_owned() })
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(not(unix))]
fn read_at(mut file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    use std::io::{Read, Seek};
    file.seek(io::SeekFrom::Start(offset))?;
    file.read(buffer)
}

#[cfg(not(unix))]
fn write_at(mut file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    use std::io::{Seek, Write};
    file.seek(io::SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(seq: u64) -> AuditRef {
        AuditRef { seq, hash: format!("{seq:064x}") }
    }

    fn last(file: &AnchorFile, key: &StoreKey) -> Option<u64> {
        file.read().unwrap().last(key).unwrap().map(|head| head.seq)
    }

    #[test]
    fn last_head_is_found_in_any_order_of_writes() {
        let folder = tempfile::tempdir().unwrap();
        let (file, key) = (AnchorFile::new(folder.path().join("a")), StoreKey::from_seed(&[7; 32]));
        assert!(matches!(file.read().unwrap(), Anchor::Missing));
        assert!(file.advance(&key, &head(1)).is_err(), "only `reset` creates the file");
        file.reset(&key, None).unwrap();
        assert!(file.read().unwrap().is_new());
        assert_eq!(last(&file, &key), Some(0));
        for (written, expected) in [(2, 2), (1, 2), (5, 5), (3, 5), (40, 40), (24, 40), (39, 40)] {
            file.advance(&key, &head(written)).unwrap();
            assert_eq!(last(&file, &key), Some(expected), "after {written}");
        }
        file.reset(&key, Some(&head(3))).unwrap();
        assert_eq!(last(&file, &key), Some(3));
    }

    #[test]
    fn changed_slots_and_foreign_keys_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, key) = (AnchorFile::new(folder.path().join("a")), StoreKey::from_seed(&[7; 32]));
        file.reset(&key, Some(&head(9))).unwrap();
        assert!(file.read().unwrap().last(&StoreKey::from_seed(&[8; 32])).is_err());
        let bytes = std::fs::read(file.path()).unwrap();
        let text =
            String::from_utf8(bytes.clone()).unwrap().replace("midrail-head-v1 9 ", "midrail-head-v1 8 ");
        std::fs::write(file.path(), text).unwrap();
        assert!(file.read().unwrap().last(&key).is_err(), "the number is sealed");
        let names = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 1, "no draft stays");
        for wrong in [&bytes[..2_500], b"", &[0; SLOTS * SLOT_BYTES], b"midrail-head-v1 9"] {
            std::fs::write(file.path(), wrong).unwrap();
            assert!(matches!(file.read().unwrap(), Anchor::Unreadable), "{}", wrong.len());
        }
    }
}
