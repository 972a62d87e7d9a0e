//! The list of locked files of all sessions, in one slice: for actions on whole folders, and for locks that were
//! taken for an agent. The locks themselves contain holder and expiry.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use midrail_core::{Changes, Key, Missing};
use serde::{Deserialize, Serialize};

/// Files that may be locked, by absolute path. A listed lock may have been released since.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LockList(BTreeMap<String, Option<Entry>>);

/// The holder of a lock and its expiry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry(String, Option<Timestamp>);

/// Maximum number of entries.
const MOST: usize = 4_000;

/// The path that marks an incomplete list.
const MORE: &str = "";

/// Entries that expired this long ago are dropped.
const OVER: SignedDuration = SignedDuration::from_hours(24);

impl LockList {
    /// The slice with the list.
    pub const KEY: &str = "shared/locked";

    pub(crate) fn key() -> Key<LockList> {
        Key::new(Self::KEY)
    }

    /// Adds a file that is locked for an actor until a time. Renewals are not recorded.
    pub fn add(&mut self, path: &str, actor: &str, until: Option<Timestamp>, now: Timestamp) {
        let is_over = |entry: &Entry, now: Timestamp| entry.1.is_some_and(|until| now >= until);
        if self.0.get(path).and_then(Option::as_ref).is_some_and(|it| it.0 == actor && !is_over(it, now)) {
            return;
        }
        if self.0.len() >= MOST {
            let then = now.checked_sub(OVER).unwrap_or(now);
            self.0.retain(|_, entry| !entry.as_ref().is_some_and(|entry| is_over(entry, then)));
        }
        if self.0.len() >= MOST {
            self.0.insert(MORE.to_owned(), None);
        } else {
            self.0.insert(path.to_owned(), Some(Entry(actor.to_owned(), until)));
        }
    }

    /// Removes a file.
    pub(crate) fn remove(&mut self, path: &str) {
        self.0.remove(path);
    }

    /// The files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(|path| *path != MORE)
    }

    /// The files that are locked for an actor.
    pub(crate) fn held_by<'a>(&'a self, actor: &'a str) -> impl Iterator<Item = &'a str> {
        let own = self.0.iter().filter(move |(_, entry)| entry.as_ref().is_some_and(|it| it.0 == actor));
        own.map(|(path, _)| path.as_str())
    }

    /// Whether the list is incomplete.
    pub(crate) fn is_partial(&self) -> bool {
        self.0.contains_key(MORE)
    }

    /// Stores the list if it differs from the one before.
    pub(crate) fn store(&self, before: &LockList, changes: &mut Changes) -> Result<(), Missing> {
        match self {
            _ if self == before => Ok(()),
            _ if self.0.is_empty() => {
                Self::key().remove(changes);
                Ok(())
            }
            _ => Self::key().write(changes, self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).unwrap()
    }

    #[test]
    fn files_are_added_and_removed() {
        let mut list = LockList::default();
        list.add("/r/a", "ann", Some(at(60)), at(0));
        list.add("/r/b", "bob", None, at(0));
        let noted = list.clone();
        list.add("/r/a", "ann", Some(at(90)), at(30));
        assert_eq!(list, noted, "a renewal is not recorded");
        list.add("/r/a", "ann", Some(at(120)), at(70));
        assert_ne!(list, noted, "unless the previous lock has expired");
        assert_eq!(list.held_by("ann").collect::<Vec<_>>(), ["/r/a"]);
        list.add("/r/a", "bob", Some(at(120)), at(70));
        assert_eq!(list.held_by("bob").count(), 2);
        list.remove("/r/a");
        list.remove("/r/b");
        let mut changes = Changes::default();
        list.store(&noted, &mut changes).unwrap();
        assert_eq!(changes.0.get(LockList::KEY), Some(&None), "an empty list is removed");
    }

    #[test]
    fn overflow_marks_the_list_incomplete() {
        let mut list = LockList::default();
        for number in 0..MOST {
            list.add(&format!("/r/{number}"), "ann", Some(at(0)), at(0));
        }
        list.add("/r/x", "ann", Some(at(7_200)), at(3_600));
        assert!(list.is_partial() && list.paths().all(|path| path != "/r/x"));
        let stored = serde_json::to_value(&list).unwrap();
        assert_eq!(stored["/r/0"], serde_json::json!(["ann", at(0)]));
        let mut list: LockList = serde_json::from_value(stored).unwrap();
        list.add("/r/y", "ann", Some(at(200_000)), at(100_000));
        assert_eq!(list.paths().collect::<Vec<_>>(), ["/r/y"]);
    }
}
