//! Tool calls as agents show them, and the calls to decide.

use midrail::{ToolCall, ToolResult};
use serde_json::{Map, Value, json};

/// The most files of one call that are decided one by one. The rest is decided as one call that names them all.
const MAX_FILES: usize = 64;

/// What the agent has shown of a call.
#[derive(Debug, Clone, Default)]
pub(super) struct ShownCall {
    id: String,
    title: String,
    kind: String,
    input: Map<String, Value>,
    diffs: Vec<Diff>,
    locations: Vec<String>,
    /// The agent's name of the tool.
    tool: Option<String>,
    /// It was decided, because of a permission request or because it runs.
    pub(super) is_decided: bool,
    /// The calls that were decided because it runs.
    pub(super) decided_as: Option<Vec<ToolCall>>,
    /// When it counts as running without a permission request.
    pub(super) due: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
struct Diff {
    path: String,
    old: Option<String>,
    new: String,
}

impl ShownCall {
    pub(super) fn new(id: &str) -> Self {
        ShownCall { id: id.to_owned(), ..ShownCall::default() }
    }

    /// Merges an update or a permission request. What it does not contain stays as it was.
    pub(super) fn merge(&mut self, update: &Map<String, Value>) {
        let text = |name: &str| update.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(kind) = text("kind") {
            kind.clone_into(&mut self.kind);
        }
        if let Some(title) = text("title") {
            title.clone_into(&mut self.title);
        }
        match update.get("rawInput") {
            Some(Value::Object(input)) => self.input.extend(input.clone()),
            None | Some(Value::Null) => {}
            Some(other) => drop(self.input.insert("input".to_owned(), other.clone())),
        }
        if let Some(content) = update.get("content").and_then(Value::as_array) {
            let is_over = matches!(text("status"), Some("completed" | "failed"));
            if !is_over && update.get("rawInput").is_none() {
                self.input.extend(content.iter().filter_map(shown_arguments).flatten());
            }
            let diffs: Vec<Diff> = content.iter().filter_map(diff).collect();
            if !diffs.is_empty() {
                self.diffs = diffs;
            }
        }
        if let Some(locations) = update.get("locations").and_then(Value::as_array) {
            let path = |location: &Value| Some(location.get("path")?.as_str()?.to_owned());
            let locations: Vec<String> = locations.iter().filter_map(path).collect();
            if !locations.is_empty() {
                self.locations = locations;
            }
        }
        if let Some(tool) = update.get("_meta").and_then(tool_name) {
            self.tool = Some(tool.to_owned());
        }
    }

    /// Whether there is anything to decide. Agents show a call before its arguments are known.
    pub(super) fn has_content(&self) -> bool {
        !self.input.is_empty() || !self.diffs.is_empty() || !self.locations.is_empty()
    }

    pub(super) fn title(&self) -> &str {
        if self.title.is_empty() { &self.kind } else { &self.title }
    }

    /// The calls to decide: the call itself, and one for each further file that it names outside of its arguments.
    pub(super) fn tool_calls(&self) -> Vec<ToolCall> {
        let name = self.name();
        let mut args = self.input.clone();
        let mut further = Vec::new();
        let is_command = self.kind == "execute";
        if is_command {
            // Some agents show it only in one of two updates, and an approval is for the same arguments.
            args.remove("description");
        }
        if is_command && !COMMANDS.iter().any(|key| args.contains_key(*key)) {
            // Some agents show the command only in the title.
            args.insert("command".to_owned(), json!(self.title.trim_matches('`')));
        }
        for diff in &self.diffs {
            let mut own = Map::from_iter([
                ("path".to_owned(), json!(diff.path)),
                ("content".to_owned(), json!(diff.new)),
            ]);
            own.extend(diff.old.iter().map(|old| ("old_text".to_owned(), json!(old))));
            if args.is_empty() {
                args = own;
            } else if !names(&args, &diff.path) {
                further.push(own);
            } else if !contains(&args, &diff.new) {
                args.entry("new_text").or_insert(json!(diff.new));
            }
        }
        if !is_command && !matches!(self.kind.as_str(), "fetch" | "think") {
            for location in &self.locations {
                let is_named = names(&args, location) || further.iter().any(|own| names(own, location));
                if is_named {
                    continue;
                }
                let has_path = PATHS.iter().any(|key| args.contains_key(*key));
                if has_path {
                    further.push(Map::from_iter([("path".to_owned(), json!(location))]));
                } else {
                    args.insert("path".to_owned(), json!(location));
                }
            }
        }
        if further.len() > MAX_FILES {
            let rest = further.split_off(MAX_FILES);
            further.push(Map::from_iter([("files".to_owned(), json!(rest))]));
        }
        let call = |args: Map<String, Value>| ToolCall {
            call_id: Some(self.id.clone()),
            ..ToolCall::new(name.clone(), Value::Object(args))
        };
        std::iter::once(args).chain(further).map(call).collect()
    }

    /// The tool's name: the agent's, or one that fits the kind of the call.
    fn name(&self) -> String {
        if let Some(tool) = &self.tool {
            return tool.clone();
        }
        let name = match self.kind.as_str() {
            "read" => "read",
            "edit" => "edit",
            "delete" => "delete_file",
            "move" => "move_file",
            "search" => "grep",
            "execute" => "bash",
            "fetch" => "fetch",
            "think" => "think",
            "switch_mode" => "switch_mode",
            _ if is_name(&self.title) => &self.title,
            _ => "other",
        };
        name.to_owned()
    }
}

/// Arguments that contain a command.
const COMMANDS: &[&str] =
    &["command", "cmd", "commands", "script", "code", "command_line", "commandLine", "input", "chars"];

/// Arguments that contain a path.
const PATHS: &[&str] =
    &["path", "file_path", "filePath", "filepath", "absolute_path", "notebook_path", "paths"];

/// The result of a call.
pub(super) fn result(update: &Map<String, Value>, is_ok: bool) -> ToolResult {
    let output = update.get("rawOutput").filter(|output| !output.is_null());
    let content = match output {
        Some(output) => output.clone(),
        None => {
            let content = update.get("content").and_then(Value::as_array);
            let texts =
                content.into_iter().flatten().filter_map(|item| item.get("content")?.get("text")?.as_str());
            json!(texts.collect::<Vec<_>>().join("\n"))
        }
    };
    let code = ["exitCode", "exit_code"].iter().find_map(|key| output?.get(key)?.as_i64());
    let result = if is_ok { ToolResult::ok(content) } else { ToolResult::failed(content) };
    ToolResult { exit_code: code.or(result.exit_code), ..result }
}

/// The tool's name in the extensions of an agent, at the top or one level below.
fn tool_name(meta: &Value) -> Option<&str> {
    let levels = std::iter::once(meta).chain(meta.as_object()?.values());
    let mut names = levels.flat_map(|level| ["toolName", "tool_name"].map(|key| level.get(key)));
    names.find_map(|name| name?.as_str()).filter(|name| is_name(name))
}

fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':');
    !text.is_empty() && text.len() <= 128 && text.chars().all(is_plain)
}

/// The arguments of a call whose agent shows them only as a text to its user.
fn shown_arguments(item: &Value) -> Option<Map<String, Value>> {
    serde_json::from_str(item.get("content")?.get("text")?.as_str()?).ok()
}

fn diff(item: &Value) -> Option<Diff> {
    if item.get("type")?.as_str()? != "diff" {
        return None;
    }
    let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Diff {
        path: text("path")?,
        old: text("oldText").filter(|old| !old.is_empty()),
        new: text("newText").unwrap_or_default(),
    })
}

/// Whether arguments name a file, by its full or relative path.
fn names(args: &Map<String, Value>, path: &str) -> bool {
    PATHS.iter().filter_map(|key| args.get(*key)?.as_str()).any(|named| {
        let named = named.trim_start_matches("./");
        named == path || path.strip_suffix(named).is_some_and(|folder| folder.ends_with('/'))
    })
}

/// Whether a text is among the arguments.
fn contains(args: &Map<String, Value>, text: &str) -> bool {
    args.values().any(|value| value.as_str() == Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_command_has_the_same_arguments_in_every_update() {
        let call = |updates: &[Value]| {
            let mut shown = ShownCall::new("t");
            updates.iter().for_each(|update| shown.merge(update.as_object().unwrap()));
            shown.tool_calls()
        };
        let first = json!({"kind": "execute", "title": "./release.sh", "rawInput": {"cwd": "/repo"}});
        let second =
            json!({"rawInput": {"command": "./release.sh", "description": "Release", "cwd": "/repo"}});
        assert_eq!(call(std::slice::from_ref(&first)), call(&[first.clone(), second]));
    }
}
