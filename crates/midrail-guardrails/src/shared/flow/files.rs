//! The slice `flow/files`: the labels of files that were written while a label was set. Reading one sets its labels again, also
//! after the session was cleared.

use std::collections::BTreeSet;

use midrail_core::{Context, Key, Missing};
use serde::{Deserialize, Serialize};

use crate::shared::file_paths::is_below;

/// The most entries. Beyond it, the oldest file stands for its whole folder, so that no label is lost.
const MAX_ENTRIES: usize = 256;

/// The labels of files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct FileLabels(Vec<Entry>);

/// A file or folder with its labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// Its place. With a trailing `/` a folder with its content; `/` is everything.
    place: String,
    labels: BTreeSet<String>,
}

impl Entry {
    fn covers(&self, place: &str) -> bool {
        match self.place.strip_suffix('/') {
            Some("") => true,
            Some(folder) => folder == place || is_below(folder, place),
            None => self.place == place,
        }
    }

    /// The folder that contains it.
    fn folder(&self) -> String {
        let place = self.place.trim_end_matches('/');
        place.rsplit_once('/').map_or_else(|| "/".to_owned(), |(folder, _)| format!("{folder}/"))
    }
}

impl FileLabels {
    /// The slice.
    pub(crate) fn key() -> Key<FileLabels> {
        Key::new("flow/files")
    }

    pub(crate) fn from_context(context: &Context<'_>) -> Result<Self, Missing> {
        Ok(Self::key().read(context)?.unwrap_or_default())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The labels of a file, or of the files in a folder.
    pub(crate) fn labels_of(&self, place: &str) -> BTreeSet<&str> {
        let place = place.trim_end_matches('/');
        let is_in =
            |entry: &&Entry| entry.covers(place) || is_below(place, entry.place.trim_end_matches('/'));
        self.0.iter().filter(is_in).flat_map(|entry| entry.labels.iter().map(String::as_str)).collect()
    }

    /// All labels of files.
    pub(crate) fn labels(&self) -> BTreeSet<&str> {
        self.0.iter().flat_map(|entry| entry.labels.iter().map(String::as_str)).collect()
    }

    /// Adds labels to a file, or with a trailing `/` to a folder.
    pub(crate) fn add(&mut self, place: &str, labels: &BTreeSet<String>) {
        if labels.is_empty() {
            return;
        }
        if let Some(entry) = self.0.iter_mut().find(|entry| entry.place == place) {
            entry.labels.extend(labels.iter().cloned());
        } else if !self.0.iter().any(|entry| entry.covers(place) && labels.is_subset(&entry.labels)) {
            self.0.push(Entry { place: place.to_owned(), labels: labels.clone() });
        }
        while self.0.len() > MAX_ENTRIES {
            self.fold_oldest();
        }
    }

    /// Copies the labels of one place to another.
    pub(crate) fn copy(&mut self, from: &str, to: &str) {
        let labels = self.labels_of(from).into_iter().map(str::to_owned).collect();
        self.add(to, &labels);
    }

    /// Replaces the oldest entry by its folder, which takes the place of everything in it.
    fn fold_oldest(&mut self) {
        let Some(at) = self.0.iter().position(|entry| entry.place != "/") else { return self.0.truncate(1) };
        let mut folder =
            Entry { place: self.0.get(at).map(Entry::folder).unwrap_or_default(), labels: BTreeSet::new() };
        let (inside, others): (Vec<Entry>, Vec<Entry>) =
            std::mem::take(&mut self.0).into_iter().partition(|entry| {
                entry.place == folder.place || folder.covers(entry.place.trim_end_matches('/'))
            });
        folder.labels = inside.into_iter().flat_map(|entry| entry.labels).collect();
        self.0 = others;
        self.0.push(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn untrusted() -> BTreeSet<String> {
        BTreeSet::from(["untrusted".to_owned()])
    }

    #[test]
    fn copies_and_folders_carry_labels() {
        let mut files = FileLabels::default();
        files.add("a.txt", &untrusted());
        files.add("lib/", &untrusted());
        files.copy("a.txt", "b.txt");
        files.copy("other.txt", "c.txt");
        files.copy("lib/x", "d.txt");
        for place in ["a.txt", "b.txt", "lib/x/y", "lib", "d.txt"] {
            assert!(files.labels_of(place).contains("untrusted"), "{place}");
        }
        for place in ["c.txt", "library", "src/a.txt"] {
            assert!(files.labels_of(place).is_empty(), "{place}");
        }
    }

    #[test]
    fn number_of_entries_is_bounded_and_no_label_is_lost() {
        let mut files = FileLabels::default();
        for n in 0..2_000 {
            files.add(&format!("d{}/e/f{n}", n % 300), &untrusted());
        }
        assert!(files.0.len() <= MAX_ENTRIES);
        for n in 0..2_000 {
            assert!(files.labels_of(&format!("d{}/e/f{n}", n % 300)).contains("untrusted"), "{n}");
        }
    }
}
