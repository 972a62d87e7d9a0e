//! What a tool call does, whatever its host calls it: the kind of action, the files it touches, its command line.
//!
//! Limit: a command line is not looked into here; files that it reads or writes are not among the targets, unless
//! it carries a patch.

use midrail_core::{Action, ActionType, Event, ToolCall};
use serde_json::{Map, Value};

use crate::patch;

/// Derives the action of an event. Events without a tool do nothing to files.
pub fn of(event: &Event) -> Action {
    let Some(tool) = &event.tool else {
        return Action { target_files: Some(Vec::new()), ..Action::default() };
    };
    let files = target_files(tool);
    let command = command_line(tool);
    let kind = kind_of(tool, !files.is_empty(), command.is_some());
    let touches_files = matches!(kind, ActionType::FileRead | ActionType::FileWrite);
    Action {
        kind,
        target_files: if files.is_empty() && touches_files { None } else { Some(files) },
        command: command.filter(|_| kind == ActionType::Command).map(str::to_owned),
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
];

/// Argument names under which tools take several paths.
const PATH_LIST_ARGS: &[&str] = &["paths", "files", "file_paths"];

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

fn kind_of(tool: &ToolCall, has_files: bool, has_command: bool) -> ActionType {
    let name = bare_name(&tool.name);
    // Tools that do several things say which in an argument.
    let operation = ["operation", "command", "action"].iter().find_map(|arg| tool.args.get(*arg)?.as_str());
    if let Some(kind) = operation.filter(|text| has_files && !text.contains(' ')).and_then(kind_of_words) {
        return kind;
    }
    if let Some((kind, _)) = KNOWN.iter().find(|(_, names)| names.contains(&name)) {
        return *kind;
    }
    match kind_of_words(name) {
        Some(kind) if has_files => kind,
        _ if has_command => ActionType::Command,
        _ => ActionType::Other,
    }
}

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

/// The tool's name without the prefix of its MCP server: `mcp__fs__read_text_file` is `read_text_file`.
pub fn bare_name(name: &str) -> &str {
    match name.strip_prefix("mcp__") {
        Some(rest) => rest.split_once("__").map_or(rest, |(_, tool)| tool),
        None => name,
    }
}

fn command_line(tool: &ToolCall) -> Option<&str> {
    ["command", "cmd", "script", "code"].iter().find_map(|arg| tool.args.get(*arg)?.as_str())
}

fn target_files(tool: &ToolCall) -> Vec<String> {
    let mut files = Vec::new();
    paths_in(&tool.args, &mut files);
    for item in tool.args.get("edits").and_then(Value::as_array).into_iter().flatten() {
        if let Some(edit) = item.as_object() {
            paths_in(edit, &mut files);
        }
    }
    for text in PATCH_ARGS.iter().filter_map(|arg| tool.args.get(*arg)?.as_str()) {
        for file in patch::targets(text) {
            push_new(&mut files, file);
        }
    }
    files
}

fn paths_in(args: &Map<String, Value>, files: &mut Vec<String>) {
    for path in PATH_ARGS.iter().filter_map(|arg| args.get(*arg)?.as_str()) {
        push_new(files, path);
    }
    let lists = PATH_LIST_ARGS.iter().filter_map(|arg| args.get(*arg)?.as_array());
    for item in lists.flatten() {
        if let Some(path) = item.as_str().or_else(|| item.get("path")?.as_str()) {
            push_new(files, path);
        }
    }
}

fn push_new(files: &mut Vec<String>, path: &str) {
    if !path.is_empty() && !files.iter().any(|known| known == path) {
        files.push(path.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn action(name: &str, args: Value) -> (ActionType, Option<Vec<String>>) {
        let action = of(&Event::before_tool(name, args));
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
}
