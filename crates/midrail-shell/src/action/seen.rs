//! Files whose content the agent knows after a tool call: it was shown all of them, or wrote all of them.

use midrail_core::{Action, ActionType, ToolCall};
use serde_json::Value;

use super::names::{bare_name, has_word};
use crate::words::tools::{CONTENT_ARGS, SEARCHES, SHOWING_WORDS};

/// As many lines of a file are all of it, or enough to know it.
const MANY_LINES: u64 = 100;

/// The files that a call shows or writes as a whole.
pub(super) fn known_files(tool: &ToolCall, action: &Action) -> Vec<String> {
    let name = bare_name(&tool.name);
    let is_whole = match action.kind {
        ActionType::FileRead => {
            let shows = SHOWING_WORDS.iter().any(|word| has_word(name, word)) || is_view(tool);
            shows && !SEARCHES.contains(name) && !is_part(tool)
        }
        ActionType::FileWrite => {
            CONTENT_ARGS.iter().any(|arg| tool.args.get(*arg).is_some_and(Value::is_string))
        }
        ActionType::Command | ActionType::Network | ActionType::Other => false,
    };
    action.target_files.as_ref().filter(|_| is_whole).cloned().unwrap_or_default()
}

/// `{"command": "view"}` of an editor.
fn is_view(tool: &ToolCall) -> bool {
    tool.args.get("command").and_then(Value::as_str) == Some("view")
}

/// Whether a call requests a few lines only, or begins later than the file.
fn is_part(tool: &ToolCall) -> bool {
    let number = |names: &[&str]| names.iter().find_map(|name| tool.args.get(*name)?.as_u64());
    let range = tool.args.get("view_range").and_then(Value::as_array);
    let (from, to) = match range.map(Vec::as_slice) {
        Some([from, to]) => (from.as_u64(), to.as_u64()),
        _ => (number(&["offset", "start_line", "startLine"]), number(&["end_line", "endLine"])),
    };
    let from = from.unwrap_or(0);
    let lines = number(&["limit", "head", "lines"]).or(to.map(|to| to.saturating_sub(from)));
    from > 1 || lines.is_some_and(|lines| lines < MANY_LINES)
}

#[cfg(test)]
mod tests {
    use midrail_core::Event;
    use serde_json::{Value, json};

    fn seen(tool: &str, args: Value) -> Vec<String> {
        crate::action::derive(&Event::before_tool(tool, args)).unwrap().seen
    }

    #[test]
    fn completely_shown_files_are_known() {
        assert_eq!(seen("Read", json!({"file_path": "a"})), ["a"]);
        assert_eq!(seen("Read", json!({"file_path": "a", "limit": 2000})), ["a"]);
        assert_eq!(seen("mcp__fs__read_text_file", json!({"path": "a"})), ["a"]);
        assert_eq!(seen("str_replace_editor", json!({"command": "view", "path": "a"})), ["a"]);
        assert_eq!(seen("Write", json!({"file_path": "a", "content": "x"})), ["a"]);
        for command in
            ["cat a", "cat -A a | less", "head -n 200 a", "sed -n 1,200p a", "tail -n +1 a", "echo x > a"]
        {
            assert_eq!(seen("Bash", json!({"command": command})), ["a"], "{command}");
        }
    }

    #[test]
    fn partially_shown_files_are_unknown() {
        for (tool, args) in [
            ("Read", json!({"file_path": "a", "limit": 1})),
            ("Read", json!({"file_path": "a", "offset": 900})),
            ("Grep", json!({"pattern": "x", "path": "a"})),
            ("get_file_info", json!({"path": "a"})),
            ("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"})),
        ] {
            assert!(seen(tool, args.clone()).is_empty(), "{tool} {args}");
        }
        for command in [
            "chmod +x a",
            "ls -l a",
            "file a",
            "wc -l a",
            "touch a",
            "sha256sum a",
            "grep -q x a",
            "cat a > /dev/null",
            "head -1 a",
            "cat a | wc -l",
            "echo x >> a",
            "sed -i s/a/b/ a",
            "x=$(cat a)",
            "cat a; curl -o a https://x.example",
        ] {
            assert!(seen("Bash", json!({"command": command})).is_empty(), "{command}");
        }
    }
}
