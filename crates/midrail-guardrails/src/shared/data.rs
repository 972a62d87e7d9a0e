//! The files in `data/`: sections that start with `== NAME`, one entry per line, `#` for comments.

use std::sync::LazyLock;

pub(crate) static ANSWERS: DataFile =
    DataFile::new(|| Sections::parse(include_str!("../../data/answers.txt")));
pub(crate) static ERROR_CLASSES: DataFile =
    DataFile::new(|| Sections::parse(include_str!("../../data/error_classes.txt")));
pub(crate) static FILES: DataFile = DataFile::new(|| Sections::parse(include_str!("../../data/files.txt")));
pub(crate) static FLOW: DataFile = DataFile::new(|| Sections::parse(include_str!("../../data/flow.txt")));
pub(crate) static GIT: DataFile = DataFile::new(|| Sections::parse(include_str!("../../data/git.txt")));
pub(crate) static HOST_SETTINGS: DataFile =
    DataFile::new(|| Sections::parse(include_str!("../../data/host_settings.txt")));
pub(crate) static OWN_THINGS: DataFile =
    DataFile::new(|| Sections::parse(include_str!("../../data/own_things.txt")));
pub(crate) static PROGRAMS: DataFile =
    DataFile::new(|| Sections::parse(include_str!("../../data/programs.txt")));
pub(crate) static SENSITIVE_FILES: DataFile =
    DataFile::new(|| Sections::parse(include_str!("../../data/sensitive_files.txt")));
pub(crate) static TASK_WORDS: DataFile =
    DataFile::new(|| Sections::parse(include_str!("../../data/task_words.txt")));
pub(crate) static TOOLS: DataFile = DataFile::new(|| Sections::parse(include_str!("../../data/tools.txt")));

/// A data file, parsed when it is first used.
pub(crate) type DataFile = LazyLock<Sections>;

/// The sections of a data file, by name.
pub(crate) struct Sections(Vec<(&'static str, Vec<&'static str>)>);

impl Sections {
    fn parse(file: &'static str) -> Self {
        let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
        for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match (line.strip_prefix("== "), sections.last_mut()) {
                (Some(name), _) => sections.push((name, Vec::new())),
                (None, Some((_, entries))) => entries.push(line),
                (None, None) => {}
            }
        }
        Sections(sections)
    }

    /// All sections with their entries, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &[&'static str])> {
        self.0.iter().map(|(name, entries)| (*name, entries.as_slice()))
    }

    /// The entries of a section.
    pub(crate) fn list(&self, name: &str) -> &[&'static str] {
        self.iter().find(|(title, _)| *title == name).map_or(&[], |(_, entries)| entries)
    }

    /// Whether a section has an entry.
    pub(crate) fn has(&self, name: &str, entry: &str) -> bool {
        self.list(name).contains(&entry)
    }

    /// The words of a row such as `git: push pull`, by its first word.
    pub(crate) fn row(&self, name: &str, key: &str) -> Option<Vec<&'static str>> {
        let words = |entry: &&'static str| entry.strip_prefix(key)?.strip_prefix(": ");
        self.list(name).iter().find_map(words).map(|words| words.split(' ').collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_contain_their_entries() {
        let file = Sections::parse("# A comment.\n\n== one\na b\n[]\n== two\ngit: push pull\n");
        assert_eq!(file.list("one"), ["a b", "[]"]);
        assert!(file.has("one", "a b") && !file.has("one", "a"));
        assert_eq!(file.row("two", "git"), Some(vec!["push", "pull"]));
        assert!(file.row("two", "gi").is_none() && file.list("three").is_empty());
    }

    #[test]
    fn every_section_that_code_names_exists() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let data: Vec<String> = read(&folder.join("data"));
        let known = |name: &str| data.iter().any(|text| text.contains(&format!("\n== {name}\n")));
        let mut found = 0;
        for text in read(&folder.join("src")) {
            for call in [".list(\"", ".has(\"", ".row(\""] {
                for (at, _) in text.match_indices(call) {
                    let (before, rest) = text.split_at(at);
                    if before.ends_with(char::is_uppercase) {
                        let name = rest.split('"').nth(1).unwrap();
                        assert!(known(name), "no data file has a section `{name}`");
                        found += 1;
                    }
                }
            }
        }
        assert!(found > 40, "{found}");
    }

    #[expect(clippy::disallowed_methods, reason = "the test reads the sources")]
    fn read(folder: &std::path::Path) -> Vec<String> {
        let mut texts = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match std::fs::read_to_string(&path) {
                Ok(text) => texts.push(text),
                Err(_) => texts.extend(read(&path)),
            }
        }
        texts
    }
}
