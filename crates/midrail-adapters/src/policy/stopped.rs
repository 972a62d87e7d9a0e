//! The calls that a guardrail names in a pack, given as JSON, and those that it may stop.

use midrail::core::glob;
use serde_json::{Map, Value};

use super::rule::{CommandPattern, Subject};

/// The calls that a guardrail may stop which no host can express. Built-ins without a selector judge what a call does, as those of
/// the default pack, and are not among them.
pub(super) fn stopped_calls(guard: &Map<String, Value>) -> Vec<Subject> {
    let has = |key: &str| guard.contains_key(key);
    let effect = guard.get("effect").and_then(Value::as_str);
    let events = texts(guard.get("on"));
    let is_elsewhere = if events.is_empty() {
        ["completion", "feedback", "redact"].into_iter().any(has)
    } else {
        events.iter().all(|kind| kind != "before_tool")
    };
    let is_shadow = guard.get("mode").and_then(Value::as_str) == Some("shadow");
    if is_elsewhere || is_shadow || matches!(effect, Some("allow" | "warn" | "redact")) {
        return Vec::new();
    }
    let everything = || vec![Subject::Tool("*".to_owned())];
    // What waits for other calls.
    let gate = guard.values().find(|value| value.get("requires").is_some());
    let of_gate = |key: &str| gate.and_then(|gate| gate.get(key));
    let command = guard.get("command").or(of_gate("command"));
    let tools = texts(guard.get("tools").or(of_gate("tool")));
    if command.is_some() {
        commands(command).unwrap_or_else(|_| everything())
    } else if !tools.is_empty() {
        tools.iter().flat_map(|tool| calls_of(tool)).collect()
    } else if has("use") {
        Vec::new()
    } else {
        everything()
    }
}

/// The calls of a tool, also as hosts name them.
fn calls_of(tool: &str) -> Vec<Subject> {
    let all = || "**".to_owned();
    let kinds = [
        ("Bash", Subject::every_command()),
        ("Read", Subject::Read(all())),
        ("Edit", Subject::Edit(all())),
        ("Write", Subject::Edit(all())),
        ("WebFetch", Subject::Host("*".to_owned())),
    ];
    let named = kinds.into_iter().filter(|(name, _)| glob::name_matches(tool, name)).map(|(_, calls)| calls);
    std::iter::once(Subject::Tool(tool.to_owned())).chain(named).collect()
}

/// The values of a key with one or several.
pub(super) fn items(value: Option<&Value>) -> Vec<&Value> {
    match value {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(Value::Null) | None => Vec::new(),
        Some(other) => vec![other],
    }
}

pub(super) fn texts(value: Option<&Value>) -> Vec<String> {
    items(value).into_iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The commands of `command:`: texts, or a program with subcommands.
pub(super) fn commands(command: Option<&Value>) -> Result<Vec<Subject>, String> {
    let mut subjects = Vec::new();
    for item in items(command) {
        match item {
            Value::String(words) => {
                // Anything may follow the words of a command anyway.
                let words = words.trim();
                let words = words.strip_suffix(" *").unwrap_or(words);
                subjects.push(Subject::Command(CommandPattern::prefix(words)));
            }
            Value::Object(fields) => {
                let known = |key: &String| key == "program" || key == "subcommand";
                if let Some(key) =
                    fields.iter().find(|(key, value)| !known(key) && !is_empty(value)).map(|it| it.0)
                {
                    return Err(format!("hosts have nothing like `{key}` of a command"));
                }
                let subcommands = texts(fields.get("subcommand"));
                for program in texts(fields.get("program")) {
                    if subcommands.is_empty() {
                        subjects.push(Subject::Command(CommandPattern::prefix(program.as_str())));
                    }
                    let words = subcommands.iter().map(|subcommand| format!("{program} {subcommand}"));
                    subjects.extend(words.map(|words| Subject::Command(CommandPattern::prefix(words))));
                }
            }
            _ => return Err("its `command` is not a text".to_owned()),
        }
    }
    if subjects.is_empty() { Err("its `command` is empty".to_owned()) } else { Ok(subjects) }
}

pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Null => true,
        _ => false,
    }
}
