//! Files that were downloaded in this session. Running one unread is running remote code, also under another
//! name.

use std::collections::BTreeSet;

use midrail_core::{Changes, Context, FETCHED_FILES, Fault, Missing};
use serde_json::{Value, json};

use crate::places::is_below;

/// Maximum number of entries; the oldest are dropped.
const MAX_FETCHED: usize = 64;

/// An entry for a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kept {
    /// A downloaded file.
    File(String),
    /// A downloaded folder with its content.
    Folder(String),
    /// A file in such a folder that the agent has read.
    Known(String),
}

impl Kept {
    fn of(value: &Value) -> Option<Self> {
        let known = |value: &Value| Some(Kept::Known(value.get("known")?.as_str()?.to_owned()));
        match value.as_str() {
            Some(place) => match place.strip_suffix('/') {
                Some(folder) => Some(Kept::Folder(folder.to_owned())),
                None => Some(Kept::File(place.to_owned())),
            },
            None => known(value),
        }
    }

    fn value(&self) -> Value {
        match self {
            Kept::File(place) => json!(place),
            Kept::Folder(place) => json!(format!("{place}/")),
            Kept::Known(place) => json!({"known": place}),
        }
    }
}

/// The downloaded files, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fetched(Vec<Kept>);

impl Fetched {
    pub(crate) fn of(context: &Context<'_>) -> Result<Self, Missing> {
        let kept = context.slice(FETCHED_FILES)?.and_then(Value::as_array);
        Ok(Fetched(kept.into_iter().flatten().filter_map(Kept::of).collect()))
    }

    /// Whether a file was downloaded and has not been read since.
    pub(crate) fn holds(&self, place: &str) -> bool {
        let is_known = || self.0.iter().any(|kept| matches!(kept, Kept::Known(known) if known == place));
        self.0.iter().any(|kept| match kept {
            Kept::File(file) => file == place,
            Kept::Folder(folder) => folder != place && is_below(folder, place) && !is_known(),
            Kept::Known(_) => false,
        })
    }

    fn add(&mut self, kept: Kept) {
        self.0.retain(|it| *it != kept);
        if let Kept::File(place) = &kept {
            self.0.retain(|it| !matches!(it, Kept::Known(known) if known == place));
        }
        self.0.push(kept);
    }

    /// Copies the entries of one place to another.
    fn copy(&mut self, from: &str, to: &str, to_folder: bool) {
        let moved = |place: &str| match place.strip_prefix(from)? {
            "" => Some(to.to_owned()),
            rest if rest.starts_with('/') => Some(format!("{to}{rest}")),
            _ => None,
        };
        if from.is_empty() {
            return;
        }
        let mut new: Vec<Kept> = Vec::new();
        for kept in &self.0 {
            match kept {
                Kept::File(place) if place == from && to_folder => new.push(Kept::Folder(to.to_owned())),
                Kept::File(place) => new.extend(moved(place).map(Kept::File)),
                Kept::Folder(place) => new.extend(moved(place).map(Kept::Folder)),
                Kept::Known(_) => {}
            }
        }
        // A file of a folder that goes elsewhere.
        if new.is_empty() && self.holds(from) {
            new.push(if to_folder { Kept::Folder(to.to_owned()) } else { Kept::File(to.to_owned()) });
        }
        new.into_iter().for_each(|kept| self.add(kept));
    }

    /// Marks a file as read.
    fn know(&mut self, place: &str) {
        self.0.retain(|kept| !matches!(kept, Kept::File(file) if file == place));
        if self.holds(place) {
            self.0.push(Kept::Known(place.to_owned()));
        }
    }
}

/// Records downloads and copies. A file that the agent has read as a whole, or rewritten, is no longer
/// remote code.
pub(crate) fn observe(context: &Context<'_>, changes: &mut Changes) -> Result<(), Fault> {
    let action = context.action()?;
    if action.fetched.is_empty() && action.seen.is_empty() && action.copies.is_empty() {
        return Ok(());
    }
    let before = Fetched::of(context)?;
    if action.fetched.is_empty() && before.0.is_empty() {
        return Ok(());
    }
    let (sources, targets): (Vec<&str>, Vec<&str>) =
        action.copies.iter().map(|it| (it.from.as_str(), it.to.as_str())).unzip();
    let new: Vec<&str> = action.fetched.iter().map(String::as_str).collect();
    let seen: Vec<&str> = action.seen.iter().map(String::as_str).collect();
    // All are asked for before giving up, so that what they need is fetched in one go.
    let [sources, targets, new, seen] = [sources, targets, new, seen].map(|paths| keys(context, &paths));
    let (sources, targets, new, seen) = (sources?, targets?, new?, seen?);
    let mut after = before.clone();
    for (from, (to, to_folder)) in sources.iter().map(|(from, _)| from).zip(&targets) {
        after.copy(from, to, *to_folder);
    }
    let seen: BTreeSet<&String> = seen.iter().map(|(place, _)| place).collect();
    seen.into_iter().for_each(|place| after.know(place));
    for (place, is_folder) in new {
        after.add(if is_folder { Kept::Folder(place) } else { Kept::File(place) });
    }
    after.0.drain(..after.0.len().saturating_sub(MAX_FETCHED));
    if after != before {
        changes.set(FETCHED_FILES, after.0.iter().map(Kept::value).collect::<Value>());
    }
    Ok(())
}

/// The real places of some paths, and which of them are folders by their spelling.
fn keys(context: &Context<'_>, paths: &[&str]) -> Result<Vec<(String, bool)>, Missing> {
    let asked: Vec<_> =
        paths.iter().map(|path| (context.real_place(path, None), path.ends_with('/'))).collect();
    asked.into_iter().map(|(place, is_folder)| Ok((place?.key, is_folder))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetched(places: &[&str]) -> Fetched {
        Fetched(places.iter().filter_map(|place| Kept::of(&json!(place))).collect())
    }

    #[test]
    fn a_copy_is_what_the_original_is() {
        let mut all = fetched(&["i.sh", "d/"]);
        all.copy("i.sh", "j.sh", false);
        all.copy("d/run", "run", false);
        all.copy("d", "e", false);
        all.copy("other", "more", false);
        for place in ["i.sh", "j.sh", "d/run", "run", "e/run"] {
            assert!(all.holds(place), "{place}");
        }
        for place in ["other", "more", "d", "dd/run"] {
            assert!(!all.holds(place), "{place}");
        }
    }

    #[test]
    fn what_is_unpacked_is_a_folder_until_a_file_of_it_was_read() {
        let mut all = fetched(&["a.tgz"]);
        all.copy("a.tgz", "a", true);
        assert!(all.holds("a/install.sh") && all.holds("a/lib/x.sh") && !all.holds("b/install.sh"));
        all.know("a/install.sh");
        assert!(!all.holds("a/install.sh") && all.holds("a/lib/x.sh"));
        let again: Vec<Value> = all.0.iter().map(Kept::value).collect();
        assert_eq!(again.iter().filter_map(Kept::of).collect::<Vec<_>>(), all.0);
    }
}
