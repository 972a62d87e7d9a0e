//! The format of the files in `data/`: sections that start with `== NAME`, one entry per line, `#` for comments.

use std::sync::LazyLock;

/// Tools and their arguments.
pub(crate) const TOOL_ARGUMENTS: &str = include_str!("../../data/tool_arguments.txt");

/// A list of a data file.
pub(crate) type List = LazyLock<Vec<&'static str>>;

/// A list of a data file whose entries are lists: `git: push pull`.
pub(crate) type Table = LazyLock<Vec<(&'static str, Vec<&'static str>)>>;

/// The names and entries of all sections.
pub(crate) fn sections(file: &'static str) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match (line.strip_prefix("== "), sections.last_mut()) {
            (Some(name), _) => sections.push((name, Vec::new())),
            (None, Some((_, entries))) => entries.push(line),
            (None, None) => {}
        }
    }
    sections
}

/// The entries of one section.
pub(crate) fn section(file: &'static str, name: &str) -> Vec<&'static str> {
    let found = sections(file).into_iter().find(|(title, _)| *title == name);
    found.map(|(_, entries)| entries).unwrap_or_default()
}

/// Entries that are lists of words.
pub(crate) fn table(entries: Vec<&'static str>) -> Vec<(&'static str, Vec<&'static str>)> {
    let rows = entries.into_iter().filter_map(|entry| entry.split_once(": "));
    rows.map(|(name, words)| (name, words.split(' ').collect())).collect()
}

/// The words of a row of a table.
pub(crate) fn row(table: &'static Table, name: &str) -> Option<&'static [&'static str]> {
    table.iter().find(|(row, _)| *row == name).map(|(_, words)| words.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_contain_their_entries() {
        let file = "# A comment.\n\n== one\na b\n[]\n== two\ngit: push pull\n";
        assert_eq!(section(file, "one"), ["a b", "[]"]);
        assert_eq!(table(section(file, "two")), [("git", vec!["push", "pull"])]);
        assert!(section(file, "three").is_empty());
    }

    #[test]
    fn every_section_that_code_names_exists() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let data: Vec<String> = read(&folder.join("data"));
        let known = |name: &str| data.iter().any(|text| text.contains(&format!("\n== {name}\n")));
        let mut found = 0;
        for text in read(&folder.join("src")) {
            for (_, rest) in text.match_indices("section(").map(|(at, call)| text.split_at(at + call.len())) {
                let Some((_, name)) = rest.split_once(", \"") else { continue };
                let name = name.split('"').next().unwrap();
                if rest.starts_with(char::is_uppercase) {
                    assert!(known(name), "no data file has a section `{name}`");
                    found += 1;
                }
            }
        }
        assert!(found > 15, "{found}");
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
