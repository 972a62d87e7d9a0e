//! Which files are locked at all, in one slice of all sessions: for actions that take whole folders, and for locks that
//! somebody took for an agent. The locks themselves say who has them until when.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

/// Files that may be locked, by their absolute paths. One that is named here may have been released since.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LockList(Map<String, Value>);

/// How many there are at most. Those beyond are not known by their names.
const MOST: usize = 4_000;

/// The name that says that there were more.
const MORE: &str = "";

/// A lock that ran out so long ago was not renewed.
const OVER: SignedDuration = SignedDuration::from_hours(24);

impl LockList {
    /// The slice that holds it.
    pub const KEY: &str = "shared/locked";

    /// The list that a slice holds.
    pub fn of(slice: Option<&Value>) -> Self {
        LockList(slice.and_then(Value::as_object).cloned().unwrap_or_default())
    }

    /// Adds a file that is locked for someone until a time. A lock that is only renewed is not noted each time.
    pub fn add(&mut self, path: &str, actor: &str, until: Option<Timestamp>, now: Timestamp) {
        let is_known = |held: &Value| held_by(held) == actor && !is_over(held, now);
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

    /// Takes a file from it.
    pub fn remove(&mut self, path: &str) {
        self.0.remove(path);
    }

    /// The files.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(|path| *path != MORE)
    }

    /// The files that were locked for someone.
    pub fn of_actor<'a>(&'a self, actor: &'a str) -> impl Iterator<Item = &'a str> {
        let own = self.0.iter().filter(move |(path, held)| *path != MORE && held_by(held) == actor);
        own.map(|(path, _)| path.as_str())
    }

    /// Whether there are others that it does not name.
    pub fn is_partial(&self) -> bool {
        self.0.contains_key(MORE)
    }

    /// The value of its slice. `None`: there is nothing in it.
    pub fn into_value(self) -> Option<Value> {
        (!self.0.is_empty()).then_some(Value::Object(self.0))
    }
}

fn held_by(held: &Value) -> &str {
    held.get(0).and_then(Value::as_str).unwrap_or_default()
}

/// Whether the lock had run out at a time, as far as it was noted. One without an end has not.
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
    fn files_come_and_go() {
        let mut list = LockList::default();
        list.add("/r/a", "ann", Some(at(60)), at(0));
        list.add("/r/b", "bob", None, at(0));
        let noted = list.clone();
        list.add("/r/a", "ann", Some(at(90)), at(30));
        assert_eq!(list, noted, "a renewal is not noted");
        list.add("/r/a", "ann", Some(at(120)), at(70));
        assert_ne!(list, noted, "unless the one before it is over");
        assert_eq!(list.of_actor("ann").collect::<Vec<_>>(), ["/r/a"]);
        list.add("/r/a", "bob", Some(at(120)), at(70));
        assert_eq!(list.of_actor("bob").count(), 2);
        list.remove("/r/a");
        list.remove("/r/b");
        assert_eq!(list.into_value(), None);
    }

    #[test]
    fn too_many_are_told() {
        let mut list = LockList::default();
        for number in 0..MOST {
            list.add(&format!("/r/{number}"), "ann", Some(at(0)), at(0));
        }
        list.add("/r/x", "ann", Some(at(7_200)), at(3_600));
        assert!(list.is_partial() && list.paths().all(|path| path != "/r/x"));
        let mut list = LockList::of(list.into_value().as_ref());
        list.add("/r/y", "ann", Some(at(200_000)), at(100_000));
        assert_eq!(list.paths().collect::<Vec<_>>(), ["/r/y"]);
    }
}
