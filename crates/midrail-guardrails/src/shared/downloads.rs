//! Files that were downloaded in this session. Running one unread is running remote code, also under another
//! name.

use std::collections::BTreeSet;

use midrail_core::{Changes, Context, FETCHED_FILES, Fault, Key, Missing};
use serde::{Deserialize, Serialize};

use super::file_paths::is_below;
use super::objections::all;

/// Maximum number of entries; the oldest are dropped.
const MAX_ENTRIES: usize = 64;

/// An entry for a file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Entry {
    /// A downloaded file, or with a trailing `/` a folder with its content.
    Downloaded(String),
    /// A file in such a folder that the agent has read.
    Known { known: String },
}

impl Entry {
    fn new(place: &str, is_folder: bool) -> Self {
        Entry::Downloaded(format!("{place}{}", if is_folder { "/" } else { "" }))
    }
}

/// The downloaded files, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Downloads(Vec<Entry>);

impl Downloads {
    fn key() -> Key<Downloads> {
        Key::new(FETCHED_FILES)
    }

    pub(crate) fn from_context(context: &Context<'_>) -> Result<Self, Missing> {
        Ok(Self::key().read(context)?.unwrap_or_default())
    }

    /// Whether a file was downloaded and has not been read since.
    pub(crate) fn contains(&self, place: &str) -> bool {
        let is_known = || self.0.iter().any(|it| matches!(it, Entry::Known { known } if known == place));
        self.0.iter().any(|entry| match entry {
            Entry::Downloaded(path) => match path.strip_suffix('/') {
                Some(folder) => folder != place && is_below(folder, place) && !is_known(),
                None => path == place,
            },
            Entry::Known { .. } => false,
        })
    }

    fn add(&mut self, entry: Entry) {
        self.0.retain(|it| match (it, &entry) {
            (Entry::Known { known }, Entry::Downloaded(path)) => known != path,
            _ => *it != entry,
        });
        self.0.push(entry);
    }

    /// Copies the entries of one place to another.
    fn copy(&mut self, from: &str, to: &str, to_folder: bool) {
        if from.is_empty() {
            return;
        }
        let copied = |entry: &Entry| match entry {
            Entry::Downloaded(path) => match path.strip_prefix(from)? {
                "" => Some(Entry::new(to, to_folder)),
                rest if rest.starts_with('/') => Some(Entry::Downloaded(format!("{to}{rest}"))),
                _ => None,
            },
            Entry::Known { .. } => None,
        };
        let mut new: Vec<Entry> = self.0.iter().filter_map(copied).collect();
        // A file of a downloaded folder.
        if new.is_empty() && self.contains(from) {
            new.push(Entry::new(to, to_folder));
        }
        new.into_iter().for_each(|entry| self.add(entry));
    }

    /// Marks a file as read.
    fn mark_read(&mut self, place: &str) {
        self.0.retain(|entry| !matches!(entry, Entry::Downloaded(file) if file == place));
        if self.contains(place) {
            self.0.push(Entry::Known { known: place.to_owned() });
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
    let before = Downloads::from_context(context)?;
    if action.fetched.is_empty() && before.0.is_empty() {
        return Ok(());
    }
    let (sources, targets): (Vec<&str>, Vec<&str>) =
        action.copies.iter().map(|it| (it.from.as_str(), it.to.as_str())).unzip();
    let new: Vec<&str> = action.fetched.iter().map(String::as_str).collect();
    let seen: Vec<&str> = action.seen.iter().map(String::as_str).collect();
    // Request all facts before the first one is missing, so that they are fetched together.
    let [sources, targets, new, seen] =
        [sources, targets, new, seen].map(|paths| real_places(context, &paths));
    let (sources, targets, new, seen) = (sources?, targets?, new?, seen?);
    let mut after = before.clone();
    for ((from, _), (to, to_folder)) in sources.iter().zip(&targets) {
        after.copy(from, to, *to_folder);
    }
    let seen: BTreeSet<&String> = seen.iter().map(|(place, _)| place).collect();
    seen.into_iter().for_each(|place| after.mark_read(place));
    new.iter().for_each(|(place, is_folder)| after.add(Entry::new(place, *is_folder)));
    after.0.drain(..after.0.len().saturating_sub(MAX_ENTRIES));
    if after != before {
        Downloads::key().write(changes, &after)?;
    }
    Ok(())
}

/// The real places of some paths, and which of them are folders by their spelling.
fn real_places(context: &Context<'_>, paths: &[&str]) -> Result<Vec<(String, bool)>, Missing> {
    all(paths.iter().map(|path| Ok((context.real_place(path, None)?.key, path.ends_with('/')))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn downloads(places: &[&str]) -> Downloads {
        serde_json::from_value(serde_json::json!(places)).unwrap()
    }

    #[test]
    fn copies_of_downloads_are_downloads() {
        let mut all = downloads(&["i.sh", "d/"]);
        all.copy("i.sh", "j.sh", false);
        all.copy("d/run", "run", false);
        all.copy("d", "e", false);
        all.copy("other", "more", false);
        for place in ["i.sh", "j.sh", "d/run", "run", "e/run"] {
            assert!(all.contains(place), "{place}");
        }
        for place in ["other", "more", "d", "dd/run"] {
            assert!(!all.contains(place), "{place}");
        }
    }

    #[test]
    fn unpacked_files_are_downloads_until_they_are_read() {
        let mut all = downloads(&["a.tgz"]);
        all.copy("a.tgz", "a", true);
        assert!(all.contains("a/install.sh") && all.contains("a/lib/x.sh") && !all.contains("b/install.sh"));
        all.mark_read("a/install.sh");
        assert!(!all.contains("a/install.sh") && all.contains("a/lib/x.sh"));
        let stored = serde_json::to_value(&all).unwrap();
        assert_eq!(stored, serde_json::json!(["a.tgz", "a/", {"known": "a/install.sh"}]));
        assert_eq!(serde_json::from_value::<Downloads>(stored).unwrap(), all);
    }
}
