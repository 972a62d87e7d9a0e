//! Tool calls as agents show them: what is known of one so far, and the calls that are judged for it.

use midrail::{ToolCall, ToolResult};
use serde_json::{Map, Value, json};

/// The most files of one call that are judged one by one. What is beyond is judged as one call that names them all.
const MAX_FILES: usize = 64;

/// A call as far as the agent has told of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Shown {
    id: String,
    title: String,
    kind: String,
    input: Map<String, Value>,
    diffs: Vec<Diff>,
    places: Vec<String>,
    /// The agent's own name of the tool.
    tool: Option<String>,
    /// It was decided, by a request for permission or because it runs.
    pub(super) is_judged: bool,
    /// What was judged, where it was judged because it runs.
    pub(super) seen: Option<Vec<ToolCall>>,
    /// When it counts as running, though nobody was asked.
    pub(super) due: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
struct Diff {
    path: String,
    old: Option<String>,
    new: String,
}

impl Shown {
    pub(super) fn new(id: &str) -> Self {
        Shown { id: id.to_owned(), ..Shown::default() }
    }

    /// Takes what an update or a request for permission tells. What it does not tell stays as it was.
    pub(super) fn take(&mut self, update: &Map<String, Value>) {
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
            let diffs: Vec<Diff> = content.iter().filter_map(diff).collect();
            if !diffs.is_empty() {
                self.diffs = diffs;
            }
        }
        if let Some(places) = update.get("locations").and_then(Value::as_array) {
            let places: Vec<String> =
                places.iter().filter_map(|place| Some(place.get("path")?.as_str()?.to_owned())).collect();
            if !places.is_empty() {
                self.places = places;
            }
        }
        if let Some(tool) = update.get("_meta").and_then(tool_name) {
            self.tool = Some(tool.to_owned());
        }
    }

    /// Whether there is anything to judge yet. Agents show a call before its arguments are there.
    pub(super) fn is_told(&self) -> bool {
        !self.input.is_empty() || !self.diffs.is_empty() || !self.places.is_empty()
    }

    pub(super) fn title(&self) -> &str {
        if self.title.is_empty() { &self.kind } else { &self.title }
    }

    /// The calls that are judged: the call itself, and one for each further file that it names beside its arguments.
    pub(super) fn calls(&self) -> Vec<ToolCall> {
        let name = self.name();
        let mut args = self.input.clone();
        let mut beside = Vec::new();
        let is_command = self.kind == "execute";
        if is_command && !COMMANDS.iter().any(|key| args.contains_key(*key)) {
            // Some agents tell the command in the title alone.
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
                beside.push(own);
            } else if !tells(&args, &diff.new) {
                args.entry("new_text").or_insert(json!(diff.new));
            }
        }
        if !is_command && !matches!(self.kind.as_str(), "fetch" | "think") {
            for place in &self.places {
                let is_named = names(&args, place) || beside.iter().any(|own| names(own, place));
                if is_named {
                    continue;
                }
                let has_path = PATHS.iter().any(|key| args.contains_key(*key));
                if has_path {
                    beside.push(Map::from_iter([("path".to_owned(), json!(place))]));
                } else {
                    args.insert("path".to_owned(), json!(place));
                }
            }
        }
        if beside.len() > MAX_FILES {
            let rest = beside.split_off(MAX_FILES);
            beside.push(Map::from_iter([("files".to_owned(), json!(rest))]));
        }
        let call = |args: Map<String, Value>| ToolCall {
            call_id: Some(self.id.clone()),
            ..ToolCall::new(name.clone(), Value::Object(args))
        };
        std::iter::once(args).chain(beside).map(call).collect()
    }

    /// The tool's name: the agent's own, where it tells, and else one that fits what it does.
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

/// Arguments that hold a command.
const COMMANDS: &[&str] =
    &["command", "cmd", "commands", "script", "code", "command_line", "commandLine", "input", "chars"];

/// Arguments that hold a path.
const PATHS: &[&str] =
    &["path", "file_path", "filePath", "filepath", "absolute_path", "notebook_path", "paths"];

/// What a call led to.
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

/// The tool's name among what an agent tells beside the protocol.
fn tool_name(meta: &Value) -> Option<&str> {
    let own = |value: &'_ Value| -> Option<()> { value.as_object().map(|_| ()) };
    let direct = ["toolName", "tool_name"].iter().find_map(|key| meta.get(key)?.as_str());
    let nested = || {
        let parts = meta.as_object()?.values().filter(|part| own(part).is_some());
        parts
            .into_iter()
            .find_map(|part| ["toolName", "tool_name"].iter().find_map(|key| part.get(key)?.as_str()))
    };
    direct.or_else(nested).filter(|name| is_name(name))
}

fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':');
    !text.is_empty() && text.len() <= 128 && text.chars().all(is_plain)
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

/// Whether arguments name a file already, in full or from the folder that the agent is in.
fn names(args: &Map<String, Value>, path: &str) -> bool {
    PATHS.iter().filter_map(|key| args.get(*key)?.as_str()).any(|named| {
        let named = named.trim_start_matches("./");
        named == path || path.strip_suffix(named).is_some_and(|folder| folder.ends_with('/'))
    })
}

/// Whether a text is among the arguments.
fn tells(args: &Map<String, Value>, text: &str) -> bool {
    args.values().any(|value| value.as_str() == Some(text))
}
