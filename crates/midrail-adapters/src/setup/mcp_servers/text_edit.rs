//! Changes of the text of a settings file, and how it spells words.

use std::ops::Range;

use serde_json::Value as Json;

/// A change of the text.
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// The text with changes.
pub(super) fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.range.start);
    let mut written = String::with_capacity(text.len() + 200);
    let mut at = 0;
    for edit in edits {
        written.push_str(text.get(at..edit.range.start).unwrap_or_default());
        written.push_str(&edit.text);
        at = edit.range.end;
    }
    written + text.get(at..).unwrap_or_default()
}

/// A word as JSON and TOML spell it.
pub(super) fn quoted(word: &str) -> String {
    Json::from(word).to_string()
}

/// The start of the command of a proxy.
pub(super) fn proxy_command(program: &str, server: &str) -> Vec<String> {
    let mut words = [program, "mcp", "wrap"].map(str::to_owned).to_vec();
    // A name that begins with a hyphen would be taken for an option.
    if server.starts_with('-') {
        words.push(format!("--server={server}"));
    } else {
        words.extend(["--server".to_owned(), server.to_owned()]);
    }
    words
}
