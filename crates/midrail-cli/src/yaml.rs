//! Values as YAML, for people to read.

use serde_json::Value;

use crate::output::escaped;

/// A value as lines of YAML.
pub(crate) fn lines(value: &Value) -> Vec<String> {
    let mut out = Vec::new();
    write(value, 0, &mut out);
    out
}

fn write(value: &Value, indent: usize, out: &mut Vec<String>) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                nested(&format!("{pad}{}:", scalar(&Value::from(key.as_str()))), value, indent + 2, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                nested(&format!("{pad}-"), item, indent + 2, out);
            }
        }
        other => out.push(format!("{pad}{}", scalar(other))),
    }
}

fn nested(head: &str, value: &Value, indent: usize, out: &mut Vec<String>) {
    match value {
        Value::Array(items) if !items.is_empty() && items.iter().all(is_short) => {
            let items: Vec<String> = items.iter().map(scalar).collect();
            out.push(format!("{head} [{}]", items.join(", ")));
        }
        Value::Object(_) | Value::Array(_) if !is_short(value) => {
            out.push(head.to_owned());
            write(value, indent, out);
        }
        Value::String(text)
            if text.contains('\n') && !text.ends_with('\n') && !text.starts_with([' ', '\n']) =>
        {
            out.push(format!("{head} |-"));
            let pad = " ".repeat(indent);
            out.extend(text.lines().map(|line| format!("{pad}{}", midrail::pack::diagnostic::visible(line))));
        }
        other => out.push(format!("{head} {}", scalar(other))),
    }
}

/// Whether a value is written on one line.
fn is_short(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    }
}

/// A scalar. Text that would read as something else, or could drive a terminal, is quoted as in JSON.
fn scalar(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || " _-./@*+'()=<>|".contains(c))
        && text.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '/' || c == '.')
        && !text.ends_with(' ')
        && !matches!(text.as_str(), "true" | "false" | "null" | "yes" | "no" | "on" | "off");
    // JSON leaves some characters that hide or reorder text as they are.
    if is_plain { text.clone() } else { escaped(&value.to_string()).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_read_as_yaml() {
        let value = json!({"id": "a", "tools": ["x", "*"], "n": 3, "on": "yes", "rules": [{"tool": "t\u{1b}"}], "none": {}});
        let expected = [
            "id: a",
            "n: 3",
            "none: {}",
            "\"on\": \"yes\"",
            "rules:",
            "  -",
            "    tool: \"t\\u001b\"",
            "tools: [x, \"*\"]",
        ];
        assert_eq!(lines(&value), expected);
    }
}
