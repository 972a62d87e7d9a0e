//! The list of locked files of all sessions, in one slice: for actions on whole folders, and for locks that were
//! taken for an agent. The locks themselves contain holder and expiry.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

/// Files that may be locked, by absolute path. A listed lock may have been released since.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LockList(Map<String, Value>);

/// Maximum number of entries.
const MOST: usize = 4_000;

/// The key that marks an incomplete list.
const MORE: &str = "";

/// Entries that expired this long ago are dropped.
const OVER: SignedDuration = SignedDuration::from_hours(24);

impl LockList {
    /// The slice with the list.
    pub const KEY: &str = "shared/locked";

    /// Reads the list from its slice.
    pub fn from_slice(slice: Option<&Value>) -> Self {
        LockList(slice.and_then(Value::as_object).cloned().unwrap_or_default())
    }

    /// Adds a file that is locked for an actor until a time. Renewals are not recorded.
    pub fn add(&mut self, path: &str, actor: &str, until: Option<Timestamp>, now: Timestamp) {
        let is_known = |held: &Value| holder(held) == actor && !is_over(held, now);
        if self.0.get(path).is_some_and(is_known) {
            return;
        }
        if self.0.len() >= MOST {
            self.0.retain(|_, held| !is_over(held, now.checked_sub(OVER).unwrap_or(now)));
        }
        if self.0.len() >= MOST {
            self.0.insert(MORE.to_owned(), Value::Null);
            return;
        }
        self.0.insert(path.to_owned(), json!([actor, until.map(|until| until.to_string())]));
    }

    /// Removes a file.
    pub fn remove(&mut self, path: &str) {
        self.0.remove(path);
    }

    /// The files.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(|path| *path != MORE)
    }

    /// The files that are locked for an actor.
    pub fn held_by<'a>(&'a self, actor: &'a str) -> impl Iterator<Item = &'a str> {
        let own = self.0.iter().filter(move |(path, held)| *path != MORE && holder(held) == actor);
        own.map(|(path, _)| path.as_str())
    }

    /// Whether the list is incomplete.
    pub fn is_partial(&self) -> bool {
        self.0.contains_key(MORE)
    }

    /// The value of its slice. `None`: the list is empty.
    pub fn into_value(self) -> Option<Value> {
        (!self.0.is_empty()).then_some(Value::Object(self.0))
    }
}

fn holder(held: &Value) -> &str {
    held.get(0).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a lock had expired at a time. A lock without an end never expires.
fn is_over(held: &Value, now: Timestamp) -> bool {
    let until = held.get(1).and_then(Value::as_str).and_then(|text| text.parse::<Timestamp>().ok());
    until.is_some_and(|until| now >= until)
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
        assert_eq!(list.into_value(), None);
    }

    #[test]
    fn overflow_marks_the_list_incomplete() {
        let mut list = LockList::default();
        for number in 0..MOST {
            list.add(&format!("/r/{number}"), "ann", Some(at(0)), at(0));
        }
        list.add("/r/x", "ann", Some(at(7_200)), at(3_600));
        assert!(list.is_partial() && list.paths().all(|path| path != "/r/x"));
        let mut list = LockList::from_slice(list.into_value().as_ref());
        list.add("/r/y", "ann", Some(at(200_000)), at(100_000));
        assert_eq!(list.paths().collect::<Vec<_>>(), ["/r/y"]);
    }
}
