//! Tools that are known by their exact names, if their arguments are the usual ones.

use midrail_core::ToolCall;
use serde_json::Value;

use crate::shared::data::TOOLS;

/// What a tool does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KnownTool<'a> {
    /// Runs a command line.
    Command(&'a str),
    /// Reads files.
    Reads,
    /// Changes files.
    Edits,
    /// Fetches from a host.
    Fetches(String),
}

/// What a tool does. `None`: not known, or its arguments can mean more.
pub(super) fn known_tool(tool: &ToolCall) -> Option<KnownTool<'_>> {
    let is_in = |list: &str| TOOLS.has(list, &tool.name);
    let has_only =
        |list: &str| tool.args.iter().all(|(name, value)| is_unset(value) || TOOLS.has(list, name));
    let text = |name: &str| tool.args.get(name).and_then(Value::as_str);
    if is_in("vouched commands") && has_only("arguments of vouched commands") {
        return text("command").map(KnownTool::Command);
    }
    if is_in("vouched reads") && !tool.args.get("pattern").is_some_and(|it| leads_out(tool, it)) {
        return Some(KnownTool::Reads);
    }
    if is_in("vouched edits") {
        return Some(KnownTool::Edits);
    }
    if is_in("vouched fetches") && has_only("arguments of vouched fetches") {
        return text("url").and_then(plain_host).map(KnownTool::Fetches);
    }
    None
}

fn is_unset(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(false)) || value.as_str().is_some_and(str::is_empty)
}

/// Whether a pattern of file names can match files outside of the folder that is searched.
fn leads_out(tool: &ToolCall, pattern: &Value) -> bool {
    let searches_text = tool.name.to_ascii_lowercase().contains("grep") || tool.name == "search_file_content";
    let is_plain = |text: &str| !text.starts_with(['/', '~']) && !text.contains("..") && !text.contains('{');
    !searches_text && !pattern.as_str().is_some_and(is_plain)
}

/// The host of an address that every program reads in the same way.
fn plain_host(url: &str) -> Option<String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let is_plain = |char: char| {
        char.is_ascii_graphic() && !matches!(char, '\\' | '@' | '<' | '>' | '"' | '{' | '}' | '^' | '`' | '|')
    };
    let host = rest.split(['/', '?', '#']).next()?;
    let is_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-');
    (url.chars().all(is_plain) && !host.is_empty() && host.chars().all(is_name))
        .then(|| host.to_ascii_lowercase())
}
