//! Code that tools are given: in which language, by their names.

use super::names::{bare_name, has_word, kind_by_words};
use crate::tables::LANGUAGES;

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
