//! Code that tools are given: in which language, by their names.

use super::names::{bare_name, has_word, kind_of_words};

/// The language of a tool that runs code, by a word of its name, as the name of a file in it.
const LANGUAGES: &[(&str, &str)] = &[
    ("python", "code.py"),
    ("python3", "code.py"),
    ("ipython", "code.py"),
    ("jupyter", "code.py"),
    ("notebook", "code.py"),
    ("pyodide", "code.py"),
    ("code_interpreter", "code.py"),
    ("codeinterpreter", "code.py"),
    ("javascript", "code.js"),
    ("typescript", "code.js"),
    ("node", "code.js"),
    ("nodejs", "code.js"),
    ("js", "code.js"),
    ("deno", "code.js"),
    ("ruby", "code.rb"),
    ("perl", "code.pl"),
    ("php", "code.php"),
    ("lua", "code.lua"),
    ("sql", "code.sql"),
];

/// The name of a file in the language that a tool runs. `None`: its name does not tell.
pub(super) fn file_of(tool: &str) -> Option<&'static str> {
    // A node may be one of a tree as well.
    let is_other = |word: &str| word == "node" && kind_of_words(bare_name(tool)).is_some();
    LANGUAGES.iter().find(|(word, _)| has_word(tool, word) && !is_other(word)).map(|(_, file)| *file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tools_name_tells_its_language() {
        for (tool, file) in [
            ("mcp__python__run", Some("code.py")),
            ("run_python", Some("code.py")),
            ("code_interpreter", Some("code.py")),
            ("mcp__jupyter__execute_cell", Some("code.py")),
            ("runJavascript", Some("code.js")),
            ("mcp__pythonic-docs__search", None),
            ("mcp__jsonrpc__send", None),
            ("mcp__figma__get_node", None),
            ("mcp__node__run", Some("code.js")),
            ("Bash", None),
        ] {
            assert_eq!(file_of(tool), file, "{tool}");
        }
    }

    #[test]
    fn only_python_has_cells() {
        let dangers = |tool: &str| {
            let event = midrail_core::Event::before_tool(tool, serde_json::json!({"code": "!rm -rf ~"}));
            crate::action::of(&event).unwrap().dangers
        };
        assert!(!dangers("run_python").is_empty());
        assert!(dangers("run_javascript").is_empty());
    }
}
