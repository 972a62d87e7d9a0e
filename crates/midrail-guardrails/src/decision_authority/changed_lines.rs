//! The number of lines that a call changes, as far as its arguments show.

use midrail_core::{ActionType, Context, Missing};
use serde_json::Value;

use crate::shared::data::TOOLS;
use crate::shared::file_access::agent_scripts;

/// The lines that the event's call changes: those of new and old texts and of patches; for a command that writes
/// files, the lines of its text after the first.
pub(super) fn changed_lines(context: &Context<'_>) -> Result<u64, Missing> {
    let Some(tool) = &context.event.tool else { return Ok(0) };
    let action = context.action()?;
    let lines = match action.kind {
        ActionType::FileWrite => {
            let args = Value::Object(tool.args.clone());
            match argument_lines(&args, 0) {
                0 => multiline_texts(&args, 0),
                lines => lines,
            }
        }
        ActionType::Command => {
            let writes = !action.writes.is_empty()
                || agent_scripts(context, action)?.iter().any(|(_, does)| !does.writes.is_empty());
            let text = action.command.as_deref().filter(|_| writes).unwrap_or_default();
            if text.contains("*** Begin Patch") {
                patch_lines(text)
            } else {
                text.lines().count().saturating_sub(1)
            }
        }
        ActionType::FileRead | ActionType::Network | ActionType::Other => 0,
    };
    Ok(u64::try_from(lines).unwrap_or(u64::MAX))
}

const MAX_DEPTH: usize = 32;

fn argument_lines(value: &Value, depth: usize) -> usize {
    if depth > MAX_DEPTH {
        return 0;
    }
    match value {
        Value::Object(map) => {
            let text = |list: &str| TOOLS.list(list).iter().find_map(|name| map.get(*name)?.as_str());
            let count = |list: &str| text(list).map_or(0, |text| text.lines().count());
            let patch = text("patches").map_or(0, patch_lines);
            let below: usize =
                map.values().filter(|it| !it.is_string()).map(|it| argument_lines(it, depth + 1)).sum();
            count("new texts").max(count("old texts")) + patch + below
        }
        Value::Array(list) => list.iter().map(|it| argument_lines(it, depth + 1)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn patch_lines(text: &str) -> usize {
    let is_change =
        |line: &&str| line.starts_with(['+', '-']) && !line.starts_with("+++ ") && !line.starts_with("--- ");
    text.lines().filter(is_change).count()
}

/// The lines of every text with several lines, for calls without a known argument.
fn multiline_texts(value: &Value, depth: usize) -> usize {
    match value {
        _ if depth > MAX_DEPTH => 0,
        Value::String(text) => Some(text.lines().count()).filter(|lines| *lines > 1).unwrap_or(0),
        Value::Array(list) => list.iter().map(|it| multiline_texts(it, depth + 1)).sum(),
        Value::Object(map) => map.values().map(|it| multiline_texts(it, depth + 1)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_form_of_a_change_is_counted() {
        assert_eq!(argument_lines(&json!({"file_path": "a", "content": "1\n2\n3\n"}), 0), 3);
        assert_eq!(argument_lines(&json!({"old_string": "1\n2\n3", "new_string": "x"}), 0), 3);
        assert_eq!(
            argument_lines(
                &json!({"edits": [{"new_string": "1\n2"}, {"old_string": "1", "new_string": ""}]}),
                0
            ),
            3
        );
        assert_eq!(argument_lines(&json!({"diff": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n z\n"}), 0), 2);
        assert_eq!(argument_lines(&json!({"path": "a"}), 0), 0);
        assert_eq!(multiline_texts(&json!({"path": "a", "body": "1\n2\n3"}), 0), 3);
    }
}
