//! Tools by name: what each does, whatever its host calls it.

use midrail_core::ActionType;

/// Tools by their names in the seeds' systems and in the coding agents, without the prefix of an MCP server.
pub(super) const KNOWN: &[(ActionType, &[&str])] = &[
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
            "Shell",
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
pub(super) const SEARCHES: &[&str] = &[
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

/// Editors whose name says nothing of what one call of them does: the argument does.
pub(super) const EDITORS: &[&str] =
    &["str_replace_editor", "str_replace_based_edit_tool", "text_editor", "file_ops"];

pub(super) fn kind_of_words(name: &str) -> Option<ActionType> {
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
pub fn is_known(tool: &str) -> bool {
    let name = bare_name(tool);
    EDITORS.contains(&name) || KNOWN.iter().any(|(_, names)| names.contains(&name))
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
    SEARCHES.contains(&name) || EDITORS.contains(&name) || known(name).is_some()
}

/// What a tool that is known by its name does.
pub(super) fn known(name: &str) -> Option<ActionType> {
    KNOWN.iter().find(|(_, names)| names.contains(&name)).map(|(kind, _)| *kind)
}
