//! The number of lines that a call changes, as far as its arguments show.

use midrail_core::{ActionType, Context, Missing};
use serde_json::Value;

use crate::touched::scripts;

/// Arguments with new text, old text and patches.
const NEW: &[&str] = &[
    "content",
    "contents",
    "new_string",
    "new_str",
    "file_text",
    "text",
    "new_source",
    "insert_text",
    "replacement",
    "newText",
    "newString",
    "code_edit",
    "new_text",
];
const OLD: &[&str] = &["old_string", "old_str", "oldText", "oldString", "old_text"];
const PATCHES: &[&str] = &["patch", "diff", "unified_diff", "input", "patchText", "content_diff", "command"];

/// The lines that the event's call changes: those of new and old texts and of patches; of a command that writes files,
/// those of its text beyond the first.
pub(crate) fn lines_changed(context: &Context<'_>) -> Result<u64, Missing> {
    let Some(tool) = &context.event.tool else { return Ok(0) };
    let action = context.action()?;
    let lines = match action.kind {
        ActionType::FileWrite => {
            let args = Value::Object(tool.args.clone());
            match of(&args, 0) {
                0 => every_line(&args, 0),
                lines => lines,
            }
        }
        ActionType::Command => {
            let writes = !action.writes.is_empty()
                || scripts(context, action)?.iter().any(|(_, does)| !does.writes.is_empty());
            let text = action.command.as_deref().filter(|_| writes).unwrap_or_default();
            if text.contains("*** Begin Patch") {
                of_patch(text)
            } else {
                text.lines().count().saturating_sub(1)
            }
        }
        ActionType::FileRead | ActionType::Network | ActionType::Other => 0,
    };
    Ok(u64::try_from(lines).unwrap_or(u64::MAX))
}

const MAX_DEPTH: usize = 32;

fn of(value: &Value, depth: usize) -> usize {
    if depth > MAX_DEPTH {
        return 0;
    }
    match value {
        Value::Object(map) => {
            let text = |names: &[&str]| names.iter().find_map(|name| map.get(*name)?.as_str());
            let count = |names: &[&str]| text(names).map_or(0, |text| text.lines().count());
            let patch = text(PATCHES).map_or(0, of_patch);
            let below: usize = map.values().filter(|it| !it.is_string()).map(|it| of(it, depth + 1)).sum();
            count(NEW).max(count(OLD)) + patch + below
        }
        Value::Array(list) => list.iter().map(|it| of(it, depth + 1)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn of_patch(text: &str) -> usize {
    let is_change =
        |line: &&str| line.starts_with(['+', '-']) && !line.starts_with("+++ ") && !line.starts_with("--- ");
    text.lines().filter(is_change).count()
}

/// Where no argument is known: the lines of every text of several lines.
fn every_line(value: &Value, depth: usize) -> usize {
    match value {
        _ if depth > MAX_DEPTH => 0,
        Value::String(text) => Some(text.lines().count()).filter(|lines| *lines > 1).unwrap_or(0),
        Value::Array(list) => list.iter().map(|it| every_line(it, depth + 1)).sum(),
        Value::Object(map) => map.values().map(|it| every_line(it, depth + 1)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_form_of_a_change_is_counted() {
        assert_eq!(of(&json!({"file_path": "a", "content": "1\n2\n3\n"}), 0), 3);
        assert_eq!(of(&json!({"old_string": "1\n2\n3", "new_string": "x"}), 0), 3);
        assert_eq!(
            of(&json!({"edits": [{"new_string": "1\n2"}, {"old_string": "1", "new_string": ""}]}), 0),
            3
        );
        assert_eq!(of(&json!({"diff": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n z\n"}), 0), 2);
        assert_eq!(of(&json!({"path": "a"}), 0), 0);
        assert_eq!(every_line(&json!({"path": "a", "body": "1\n2\n3"}), 0), 3);
    }
}
