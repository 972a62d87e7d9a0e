//! Checks that documents and identifiers use plain technical English: no word of the list below.

use std::fs;
use std::path::{Path, PathBuf};

use crate::architecture::repository;

/// Words and phrases that documents do not use, with the word to use instead.
const WORDS: &[(&str, &str)] = &[
    ("told", "reported, shown, logged, documented"),
    ("whoever", "the user, the caller, the approver"),
    ("nobody", "no user, no one"),
    ("somebody", "a user, an external service"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("mends", "fixes"),
    ("dear", "slow, expensive"),
    ("dearer", "slower, more expensive"),
    ("belated", "late"),
    ("heard", "evaluated, received"),
    ("beside", "next to, in addition to"),
    ("reckon", "count, calculate"),
    ("in a hurry", "non-blocking"),
    ("look whether", "check that"),
    ("looks whether", "checks that"),
    ("the law", "the decision core"),
    ("the house", "the workspace"),
    ("object to", "an issue with"),
    ("says so", "requires it, states it"),
    ("let pass", "allow"),
    ("lets pass", "allows"),
    ("let it pass", "allow it"),
];

/// Words that no identifier and no file name contains.
const PARTS: &[&str] = &[
    "told", "tell", "tells", "telling", "whoever", "nobody", "nobodys", "somebody", "mend", "mended",
    "mends", "dear", "dearer", "belated", "heard", "hears", "beside", "hurry", "law", "laws", "house",
    "door", "doors", "desk", "verb", "verbs", "wish", "wishes", "clerk", "clerks", "rouse",
];

#[test]
fn documents_use_plain_words() {
    let mut found = Vec::new();
    for path in documents() {
        for (number, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            let text = format!(" {} ", words(line).join(" "));
            for (word, instead) in WORDS {
                if text.contains(&format!(" {word} ")) {
                    let file = path.strip_prefix(repository()).unwrap().display();
                    found.push(format!("{file}:{}: `{word}`: write {instead}", number + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn identifiers_use_plain_words() {
    let mut found = Vec::new();
    for path in files(&repository().join("crates"), &["rs"]) {
        let file = path.strip_prefix(repository()).unwrap();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let names =
            text.lines().enumerate().filter_map(|(number, line)| Some((number + 1, definition(line)?)));
        for (number, name) in names.chain([(1, stem.as_str())]) {
            for part in parts(name) {
                if PARTS.contains(&part.as_str()) {
                    found.push(format!("{}:{number}: `{name}` contains `{part}`", file.display()));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The pages that users read. CLI help is part of `docs/reference/commands.md`.
fn documents() -> Vec<PathBuf> {
    let root = repository();
    let mut found: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
            .iter()
            .map(|name| root.join(name))
            .collect();
    found.extend(files(&root.join("docs"), &["md"]));
    found.extend(files(&root.join("packs"), &["md", "yaml"]));
    found.extend(files(&root.join("crates/midrail-guardrails/src"), &["md"]));
    found
}

pub fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, endings));
        } else if path.extension().is_some_and(|ending| endings.iter().any(|wanted| ending == *wanted)) {
            found.push(path);
        }
    }
    found
}

/// The words of a line in lower case.
fn words(line: &str) -> Vec<String> {
    line.split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The name that a line defines, a local variable included.
fn definition(line: &str) -> Option<&str> {
    let keywords =
        ["fn ", "struct ", "enum ", "trait ", "mod ", "type ", "const ", "static ", "let mut ", "let "];
    let (before, after) = keywords.iter().find_map(|keyword| line.split_once(keyword))?;
    let is_code = before.chars().all(|c| c.is_ascii_lowercase() || " ()".contains(c));
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
    is_code.then(|| &after[..end])
}

/// The words of an identifier, in lower case.
fn parts(name: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut previous = '_';
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && previous.is_lowercase()) {
            found.push(String::new());
        }
        if c != '_' {
            found.last_mut().unwrap().extend(c.to_lowercase());
        }
        previous = c;
    }
    found
}
