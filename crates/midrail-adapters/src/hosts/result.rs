//! What tools returned, as several hosts tell it.

use midrail::ToolResult;
use serde_json::Value;

/// A result's text where its parts are texts alone, else the result as it is: detectors read texts, and the host gets one
/// back in its place.
pub(super) fn flat(content: &Value) -> Value {
    let Value::Array(parts) = content else { return content.clone() };
    let texts: Option<Vec<&str>> =
        parts.iter().map(|part| part.as_str().or_else(|| only_text(part))).collect();
    texts
        .filter(|texts| !texts.is_empty())
        .map_or_else(|| content.clone(), |texts| Value::from(texts.join("\n")))
}

/// The text of a part that has nothing else to tell.
fn only_text(part: &Value) -> Option<&str> {
    let part = part.as_object()?;
    let is_plain = part.keys().all(|key| matches!(key.as_str(), "text" | "type" | "annotations"));
    part.get("text").filter(|_| is_plain)?.as_str()
}

/// A result that ended with an exit code, where one is told.
pub(super) fn ended(result: ToolResult, code: Option<i64>) -> ToolResult {
    match code {
        Some(code) => {
            ToolResult { ok: Some(code == 0 && result.ok != Some(false)), exit_code: Some(code), ..result }
        }
        None => result,
    }
}

/// The number behind some words, at the start of one line.
pub(super) fn number_after(line: &str, words: &str) -> Option<i64> {
    let rest = line.trim().strip_prefix(words)?.trim_start();
    let digits =
        rest.find(|c: char| !c.is_ascii_digit() && c != '-').map_or(Some(rest), |end| rest.get(..end))?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_are_joined_and_the_rest_is_left() {
        assert_eq!(flat(&json!([{"text": "a"}, "b"])), json!("a\nb"));
        assert_eq!(
            flat(&json!([{"text": "a"}, {"inlineData": {}}])),
            json!([{"text": "a"}, {"inlineData": {}}])
        );
        assert_eq!(flat(&json!([])), json!([]));
        assert_eq!(flat(&json!("a")), json!("a"));
    }

    #[test]
    fn exit_codes_are_read() {
        assert_eq!(number_after("Exit code: 12", "Exit code:"), Some(12));
        assert_eq!(number_after("Exit code: ", "Exit code:"), None);
        let failed = ended(ToolResult::ok("x"), Some(1));
        assert_eq!((failed.ok, failed.exit_code), (Some(false), Some(1)));
    }
}
