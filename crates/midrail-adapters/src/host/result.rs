//! Results of tools, as several hosts report them.

use midrail::ToolResult;
use serde_json::Value;

/// The text of a result whose parts are all texts; otherwise the result itself. Detectors read texts, and the host gets a
/// text back.
pub(crate) fn flat(content: &Value) -> Value {
    let Value::Array(parts) = content else { return content.clone() };
    let texts: Option<Vec<&str>> =
        parts.iter().map(|part| part.as_str().or_else(|| only_text(part))).collect();
    texts
        .filter(|texts| !texts.is_empty())
        .map_or_else(|| content.clone(), |texts| Value::from(texts.join("\n")))
}

/// The text of a part that has nothing else.
fn only_text(part: &Value) -> Option<&str> {
    let part = part.as_object()?;
    let is_plain = part.keys().all(|key| matches!(key.as_str(), "text" | "type" | "annotations"));
    part.get("text").filter(|_| is_plain)?.as_str()
}

/// A result with an exit code, if there is one.
pub(crate) fn with_exit_code(result: ToolResult, code: Option<i64>) -> ToolResult {
    match code {
        Some(code) => {
            ToolResult { ok: Some(code == 0 && result.ok != Some(false)), exit_code: Some(code), ..result }
        }
        None => result,
    }
}

/// The number after a label at the start of a line.
pub(crate) fn number_after(line: &str, label: &str) -> Option<i64> {
    let rest = line.trim().strip_prefix(label)?.trim_start_matches([':', ' ']);
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_texts_are_joined() {
        assert_eq!(flat(&json!([{"text": "a"}, "b"])), json!("a\nb"));
        assert_eq!(
            flat(&json!([{"text": "a"}, {"inlineData": {}}])),
            json!([{"text": "a"}, {"inlineData": {}}])
        );
        assert_eq!(flat(&json!([])), json!([]));
        assert_eq!(flat(&json!("a")), json!("a"));
    }

    #[test]
    fn exit_code_sets_the_outcome() {
        assert_eq!(number_after("Exit code: 12", "Exit code:"), Some(12));
        assert_eq!(number_after("Exit code: ", "Exit code:"), None);
        let failed = with_exit_code(ToolResult::ok("x"), Some(1));
        assert_eq!((failed.ok, failed.exit_code), (Some(false), Some(1)));
    }
}
