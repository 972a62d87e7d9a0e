//! Tools by name: what each does, whatever its host calls it.

use midrail_core::ActionType;

use crate::tables::LANGUAGES;
use crate::words::tools::{
    COMMAND_RUNNERS, EDITORS, FILE_READERS, FILE_WRITERS, NETWORK_TOOLS, READING_WORDS, SEARCHES,
    WRITING_WORDS,
};
use crate::words::{Words, host_tools};

pub(super) fn kind_by_words(name: &str) -> Option<ActionType> {
    let has = |words: &[&str]| words.iter().any(|word| has_word(name, word));
    // A name that says both, such as `read_and_update`, writes.
    if has(WRITING_WORDS) {
        Some(ActionType::FileWrite)
    } else if has(READING_WORDS) {
        Some(ActionType::FileRead)
    } else {
        None
    }
}

/// Whether a name such as `fs.write_text` or `writeText` has a word in it.
pub(super) fn has_word(name: &str, word: &str) -> bool {
    name.match_indices(|c: char| c.eq_ignore_ascii_case(&word.chars().next().unwrap_or('\0'))).any(
        |(at, _)| {
            let Some(found) = name.get(at..at + word.len()) else { return false };
            let before = name.get(..at).and_then(|text| text.chars().next_back());
            let after = name.get(at + word.len()..).and_then(|text| text.chars().next());
            let starts =
                before.is_none_or(|c| !c.is_alphabetic() || found.starts_with(|c: char| c.is_uppercase()));
            let ends = after.is_none_or(|c| !c.is_lowercase());
            found.eq_ignore_ascii_case(word) && starts && ends
        },
    )
}

/// Whether a tool is known by its name to work on files of this machine. A tool of an MCP server that is not may well
/// mean files elsewhere, in a repository or a bucket.
pub fn is_local_file_tool(tool: &str) -> bool {
    let name = bare_name(tool);
    EDITORS.contains(name) || known(name).is_some()
}

/// The tool's name without the prefix of its MCP server: `mcp__fs__read_text_file` is `read_text_file`, and so are the
/// names that some hosts give it, `mcp_fs_read_text_file`, `fs_read_text_file` and `fs-read_text_file`. In those nothing
/// says where the server's name ends, so they are taken apart only where what remains is a tool that is known.
pub fn bare_name(name: &str) -> &str {
    if let Some(rest) = name.strip_prefix("mcp__") {
        return rest.rsplit_once("__").map_or(rest, |(_, tool)| tool);
    }
    let ends = name.match_indices(['_', '-', '/', '.']).filter_map(|(at, _)| name.get(at + 1..));
    // A single word such as `create` may be anybody's.
    let tool = ends.filter(|end| end.contains('_')).find(|end| is_listed(end));
    tool.filter(|_| !is_listed(name)).unwrap_or(name)
}

fn is_listed(name: &str) -> bool {
    SEARCHES.contains(name) || EDITORS.contains(name) || known(name).is_some()
}

/// What a tool that is known by its name does.
pub(super) fn known(name: &str) -> Option<ActionType> {
    KNOWN.into_iter().find(|(_, names)| names.contains(name)).map(|(kind, _)| kind)
}

/// Whether a tool is known to run commands, in any spelling.
pub(super) fn is_shell(name: &str) -> bool {
    let lists = [COMMAND_RUNNERS, host_tools::COMMAND_RUNNERS];
    lists.into_iter().flat_map(Words::all).any(|known| known.eq_ignore_ascii_case(name))
}

const KNOWN: [(ActionType, &Words); 8] = [
    (ActionType::FileRead, FILE_READERS),
    (ActionType::FileWrite, FILE_WRITERS),
    (ActionType::Command, COMMAND_RUNNERS),
    (ActionType::Network, NETWORK_TOOLS),
    (ActionType::FileRead, host_tools::FILE_READERS),
    (ActionType::FileWrite, host_tools::FILE_WRITERS),
    (ActionType::Command, host_tools::COMMAND_RUNNERS),
    (ActionType::Network, host_tools::NETWORK_TOOLS),
];

/// The names of tools that are known.
pub fn known_tools() -> impl Iterator<Item = &'static str> {
    let lists = KNOWN.into_iter().map(|(_, names)| names);
    lists.chain([SEARCHES, EDITORS]).flat_map(Words::all).copied()
}

/// The ending of files in the language that a tool runs. `None`: its name does not say it.
pub(super) fn file_ending(tool: &str) -> Option<&'static str> {
    // A node may be one of a tree as well.
    let is_other = |word: &str| word == "node" && kind_by_words(bare_name(tool)).is_some();
    let is_named = |word: &&str| has_word(tool, word) && !is_other(word);
    LANGUAGES.iter().find(|row| row.tools.iter().any(is_named)).and_then(|row| row.endings.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tools_name_contains_its_language() {
        for (tool, ending) in [
            ("mcp__python__run", Some("py")),
            ("run_python", Some("py")),
            ("code_interpreter", Some("py")),
            ("mcp__jupyter__execute_cell", Some("py")),
            ("runJavascript", Some("js")),
            ("mcp__pythonic-docs__search", None),
            ("mcp__jsonrpc__send", None),
            ("mcp__figma__get_node", None),
            ("mcp__node__run", Some("js")),
            ("Bash", None),
        ] {
            assert_eq!(file_ending(tool), ending, "{tool}");
        }
    }

    #[test]
    fn only_python_has_cells() {
        let dangers = |tool: &str| {
            let event = midrail_core::Event::before_tool(tool, serde_json::json!({"code": "!rm -rf ~"}));
            crate::action::derive(&event).unwrap().dangers
        };
        assert!(!dangers("run_python").is_empty());
        assert!(dangers("run_javascript").is_empty());
    }
}
