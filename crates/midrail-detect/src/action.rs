//! What a tool call does, whatever its host calls it: the kind of action, the files it touches, its command line.
//!
//! Limit: a command line is not looked into here; files that it reads or writes are not among the targets, unless
//! it carries a patch.

use std::collections::BTreeSet;

use midrail_core::{Action, ActionType, Event, EventKind, ToolCall};
use serde_json::Value;

use crate::patch;

/// Derives the action of an event, or says why it cannot be told. Events that are no calls do nothing to files.
pub fn of(event: &Event) -> Result<Action, String> {
    let is_call = matches!(event.kind, EventKind::BeforeTool | EventKind::AfterTool);
    let tool = match event.tool.as_ref().filter(|tool| !tool.name.is_empty()) {
        Some(tool) => tool,
        None if is_call => return Err("the event names no tool".to_owned()),
        None => return Ok(Action { target_files: Some(Vec::new()), ..Action::default() }),
    };
    let mut targets = Targets::default();
    targets.collect(&Value::Object(tool.args.clone()), 0);
    if targets.are_too_many {
        return Err(format!("`{}` names more files than can be looked at", tool.name));
    }
    let command = command_line(tool);
    let kind = kind_of(tool, &targets, command.is_some());
    let is_search = SEARCHES.contains(&bare_name(&tool.name));
    let target_files = match (targets.files.is_empty(), kind) {
        (false, _) => Some(targets.files),
        // A search without a path looks at the folder that the agent is in.
        (true, ActionType::FileRead) if is_search => Some(vec![".".to_owned()]),
        (true, ActionType::FileRead | ActionType::FileWrite) => None,
        (true, ActionType::Command | ActionType::Network | ActionType::Other) => Some(Vec::new()),
    };
    Ok(Action { kind, target_files, command })
}

/// The most files that one call may name.
const MAX_TARGETS: usize = 10_000;

/// How deep arguments are looked into.
const MAX_DEPTH: usize = 8;

/// The files that a call names, wherever in its arguments.
#[derive(Default)]
struct Targets {
    files: Vec<String>,
    known: BTreeSet<String>,
    /// Some of them are named by a patch.
    has_patch: bool,
    are_too_many: bool,
}

impl Targets {
    fn collect(&mut self, value: &Value, depth: usize) {
        let Value::Object(map) = value else { return };
        for (name, value) in map {
            let is_path = PATH_ARGS.contains(&name.as_str()) || PATH_LIST_ARGS.contains(&name.as_str());
            match value {
                Value::String(text) if is_path => self.add(text),
                Value::String(text) if PATCH_ARGS.contains(&name.as_str()) => self.add_patch(text),
                Value::Array(items) => {
                    for item in items {
                        match item {
                            Value::String(text) if is_path => self.add(text),
                            Value::String(text) if PATCH_ARGS.contains(&name.as_str()) => {
                                self.add_patch(text)
                            }
                            nested if depth < MAX_DEPTH => self.collect(nested, depth + 1),
                            _ => {}
                        }
                    }
                }
                Value::Object(_) if depth < MAX_DEPTH => self.collect(value, depth + 1),
                _ => {}
            }
        }
    }

    fn add(&mut self, path: &str) {
        self.are_too_many |= self.files.len() >= MAX_TARGETS;
        if !path.is_empty() && !self.are_too_many && self.known.insert(path.to_owned()) {
            self.files.push(path.to_owned());
        }
    }

    fn add_patch(&mut self, text: &str) {
        for file in patch::targets(text) {
            self.has_patch = true;
            self.add(&file);
        }
    }
}

/// Argument names under which tools take one path.
pub const PATH_ARGS: &[&str] = &[
    "path",
    "file_path",
    "filepath",
    "notebook_path",
    "filePath",
    "file",
    "filename",
    "target_file",
    "absolute_path",
    "source",
    "destination",
    "old_path",
    "new_path",
    "directory",
    "folder",
    "dir",
];

/// Argument names under which tools take several paths.
const PATH_LIST_ARGS: &[&str] = &["paths", "files", "file_paths", "sources", "destinations"];

/// Argument names under which tools take a diff or patch.
const PATCH_ARGS: &[&str] =
    &["unified_diff", "diff", "patch", "input", "command", "patchText", "content_diff"];

/// Tools by their names in the seeds' systems and in the coding agents, without the prefix of an MCP server.
const KNOWN: &[(ActionType, &[&str])] = &[
    (
        ActionType::FileRead,
        &[
            "read_file",
            "vfs_read_file",
            "Read",
            "read",
            "view",
            "read_many_files",
            "read_text_file",
            "read_media_file",
            "read_multiple_files",
            "NotebookRead",
            "view_file",
            "open_file",
            "get_file_contents",
            "get_file_info",
        ],
    ),
    (
        ActionType::FileWrite,
        &[
            "write_file",
            "edit_file",
            "vfs_write_file",
            "vfs_edit_file",
            "Write",
            "Edit",
            "MultiEdit",
            "NotebookEdit",
            "write",
            "edit",
            "multiedit",
            "patch",
            "apply_patch",
            "replace",
            "create",
            "create_file",
            "str_replace",
            "insert",
            "search_replace",
            "edit_lines",
            "delete_file",
            "vfs_delete_file",
            "move_file",
            "create_directory",
            "edit_notebook",
        ],
    ),
    (
        ActionType::Command,
        &[
            "Bash",
            "bash",
            "shell",
            "run_shell_command",
            "exec_command",
            "exec",
            "execute_command",
            "run_command",
            "run_terminal_cmd",
            "terminal",
            "local_shell",
            "powershell",
            "write_bash",
            "write_stdin",
            "command",
        ],
    ),
    (
        ActionType::Network,
        &[
            "WebFetch",
            "WebSearch",
            "web_fetch",
            "web_search",
            "google_web_search",
            "webfetch",
            "fetch",
            "http_request",
            "navigate_page",
            "browser_navigate",
            "url_fetch",
        ],
    ),
];

/// Words of a tool's name that tell what it does to the path that it is given.
const WRITING_WORDS: &[&str] = &[
    "write",
    "edit",
    "update",
    "patch",
    "create",
    "delete",
    "remove",
    "move",
    "rename",
    "replace",
    "append",
    "save",
    "insert",
    "overwrite",
    "put",
    "upload",
];
const READING_WORDS: &[&str] =
    &["read", "view", "open", "get", "list", "search", "find", "grep", "load", "show", "stat"];

/// Tools that look through a folder, and take the current one where they are given none.
const SEARCHES: &[&str] = &[
    "Grep",
    "Glob",
    "LS",
    "grep",
    "glob",
    "list",
    "list_directory",
    "list_dir",
    "search_file_content",
    "grep_search",
    "file_search",
    "directory_tree",
];

fn kind_of(tool: &ToolCall, targets: &Targets, has_command: bool) -> ActionType {
    if targets.has_patch {
        return ActionType::FileWrite;
    }
    let name = bare_name(&tool.name);
    if SEARCHES.contains(&name) {
        return ActionType::FileRead;
    }
    // What is known of a tool stands, whatever else its arguments say.
    if let Some((kind, _)) = KNOWN.iter().find(|(_, names)| names.contains(&name)) {
        return *kind;
    }
    // Tools that do several things say which in an argument; of the name and the argument, what does more counts.
    let operation = ["operation", "command", "action"].iter().find_map(|arg| tool.args.get(*arg)?.as_str());
    let has_files = !targets.files.is_empty();
    let said =
        operation.filter(|text| has_files && text.len() < 32 && !text.contains(' ')).and_then(kind_of_words);
    match (said, kind_of_words(name).filter(|_| has_files)) {
        (Some(ActionType::FileRead), Some(ActionType::FileWrite)) if EDITORS.contains(&name) => {
            ActionType::FileRead
        }
        (Some(ActionType::FileWrite), _) | (_, Some(ActionType::FileWrite)) => ActionType::FileWrite,
        _ if has_command && said.is_none() => ActionType::Command,
        (Some(kind), _) | (None, Some(kind)) => kind,
        (None, None) => ActionType::Other,
    }
}

/// Editors whose name says nothing of what one call of them does: the argument does.
const EDITORS: &[&str] = &["str_replace_editor", "str_replace_based_edit_tool", "text_editor", "file_ops"];

fn kind_of_words(name: &str) -> Option<ActionType> {
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
fn has_word(name: &str, word: &str) -> bool {
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
pub fn is_known(tool: &str) -> bool {
    let name = bare_name(tool);
    EDITORS.contains(&name) || KNOWN.iter().any(|(_, names)| names.contains(&name))
}

/// The tool's name without the prefix of its MCP server: `mcp__fs__read_text_file` is `read_text_file`.
pub fn bare_name(name: &str) -> &str {
    match name.strip_prefix("mcp__") {
        Some(rest) => rest.rsplit_once("__").map_or(rest, |(_, tool)| tool),
        None => name,
    }
}

/// The command line. One that is given as a list of words is joined by blanks.
fn command_line(tool: &ToolCall) -> Option<String> {
    ["command", "cmd", "script", "code"].iter().find_map(|arg| match tool.args.get(*arg)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Some(words.join(" ")).filter(|text| !text.is_empty())
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn action(name: &str, args: Value) -> (ActionType, Option<Vec<String>>) {
        let action = of(&Event::before_tool(name, args)).unwrap();
        (action.kind, action.target_files)
    }

    fn files(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn hosts_names_mean_the_same() {
        assert_eq!(action("Write", json!({"file_path": "a"})), (ActionType::FileWrite, files(&["a"])));
        assert_eq!(action("write_file", json!({"path": "a"})), (ActionType::FileWrite, files(&["a"])));
        assert_eq!(
            action("mcp__fs__read_text_file", json!({"path": "a"})),
            (ActionType::FileRead, files(&["a"]))
        );
        assert_eq!(
            action("NotebookEdit", json!({"notebook_path": "n"})),
            (ActionType::FileWrite, files(&["n"]))
        );
        assert_eq!(action("Bash", json!({"command": "ls"})), (ActionType::Command, files(&[])));
        assert_eq!(action("deploy", json!({"env": "prod"})), (ActionType::Other, files(&[])));
    }

    #[test]
    fn names_that_nobody_listed_are_read_by_their_words() {
        assert_eq!(action("saveDocument", json!({"path": "a"})), (ActionType::FileWrite, files(&["a"])));
        assert_eq!(action("fs.view_text", json!({"path": "a"})), (ActionType::FileRead, files(&["a"])));
        assert_eq!(action("credit_check", json!({"path": "a"})), (ActionType::Other, files(&["a"])));
        assert_eq!(action("runner", json!({"command": "ls"})), (ActionType::Command, files(&[])));
    }

    #[test]
    fn an_argument_can_tell_the_operation() {
        assert_eq!(action("file_ops", json!({"operation": "write", "path": "f"})).0, ActionType::FileWrite);
        assert_eq!(
            action("str_replace_editor", json!({"command": "view", "path": "f"})).0,
            ActionType::FileRead
        );
        assert_eq!(
            action("str_replace_editor", json!({"command": "create", "path": "f"})).0,
            ActionType::FileWrite
        );
    }

    #[test]
    fn a_write_without_a_path_has_unknown_targets() {
        assert_eq!(action("write_file", json!({"content": "x"})), (ActionType::FileWrite, None));
    }

    #[test]
    fn patches_name_their_files() {
        let diff = "--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-x\n+y\n";
        assert_eq!(action("patch", json!({"unified_diff": diff})), (ActionType::FileWrite, files(&["a.ts"])));
        let body = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** End Patch";
        assert_eq!(
            action("apply_patch", json!({"command": body})),
            (ActionType::FileWrite, files(&["src/a.rs"]))
        );
        assert_eq!(
            action("MultiEdit", json!({"edits": [{"file_path": "b"}]})),
            (ActionType::FileWrite, files(&["b"]))
        );
    }

    #[test]
    fn an_argument_never_makes_a_known_tool_harmless() {
        let args = json!({"file_path": ".midrail/p.yaml", "content": "", "action": "view"});
        assert_eq!(action("Write", args).0, ActionType::FileWrite);
        assert_eq!(
            action("Bash", json!({"command": "rm -rf /", "operation": "read", "path": "x"})).0,
            ActionType::Command
        );
    }

    #[test]
    fn files_are_found_wherever_they_are_named() {
        assert_eq!(
            action("mcp__fs__write_files", json!({"files": [{"file_path": ".env"}]})).1,
            files(&[".env"])
        );
        assert_eq!(
            action("mcp__fs__save", json!({"request": {"target": {"path": ".env"}}})).1,
            files(&[".env"])
        );
        let patch = ["apply_patch", "*** Begin Patch\n*** Update File: .env\n*** End Patch"];
        assert_eq!(action("shell", json!({"command": patch})), (ActionType::FileWrite, files(&[".env"])));
        assert_eq!(action("mcp__my__fs__write_file", json!({"path": "a"})).0, ActionType::FileWrite);
    }

    #[test]
    fn a_search_without_a_path_is_of_the_folder() {
        assert_eq!(action("Grep", json!({"pattern": "x"})), (ActionType::FileRead, files(&["."])));
    }

    #[test]
    fn a_call_without_a_tool_is_not_known() {
        assert!(of(&Event::new(EventKind::BeforeTool)).is_err());
        assert!(of(&Event::before_tool("", json!({}))).is_err());
        assert!(of(&Event::new(EventKind::BeforeModel)).is_ok());
    }
}
