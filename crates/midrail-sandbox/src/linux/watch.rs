//! Whether protected files change while processes are left in the background.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::protected::Snapshot;

/// The folders in which protected files are.
pub(super) struct Watch {
    changes: OwnedFd,
    /// The names that count in each folder. `None`: all.
    folders: BTreeMap<i32, Option<BTreeSet<OsString>>>,
}

impl Watch {
    /// Watches protected files. It fails if the user has too many watches.
    pub(super) fn new(snapshot: &Snapshot) -> Result<Self, Errno> {
        let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let kinds = WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::DONT_FOLLOW
            | WatchFlags::ONLYDIR;
        let mut folders = BTreeMap::new();
        for (folder, names) in snapshot.watched() {
            folders.insert(inotify::add_watch(&changes, &folder, kinds)?, names);
        }
        Ok(Watch { changes, folders })
    }

    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.changes.as_fd()
    }

    /// Whether there was a change that counts since the last call.
    pub(super) fn has_change(&self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.changes, &mut buffer);
        let mut counts = false;
        while let Ok(event) = reader.next() {
            // The folder itself changed, or changes were lost.
            let is_own = event.file_name().is_none() || event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes())).unwrap_or_default();
            let names = self.folders.get(&event.wd());
            counts |= is_own || names.is_none_or(|names| names.as_ref().is_none_or(|it| it.contains(name)));
        }
        counts
    }
}
