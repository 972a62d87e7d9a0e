//! Replaces the text of a result and keeps its shape: hosts ignore a result of another shape.

use serde_json::{Map, Value, json};

/// Fields that contain the text of a result, the most likely first.
const TEXT_FIELDS: &[&str] =
    &["stdout", "content", "text", "output", "result", "llmContent", "textResultForLlm"];

/// Fields that contain the type of a result, and nothing of its content.
const TYPE_FIELDS: &[&str] = &["type", "mode", "resultType", "status"];

/// Paths of a text that the model sees: a whole result, and those of commands, reads and fetches.
const TEXT_PATHS: &[&str] = &["", "/stdout", "/file/content", "/result"];

/// Paths of a list of parts, each of which can be a text.
const PART_PATHS: &[&str] = &["", "/content"];

/// A result of the same shape with one text that the model sees. `None`: there is no such place.
pub(crate) fn with_text(value: &Value, text: &str) -> Option<Value> {
    let mut result = empty(value);
    let shown = TEXT_PATHS.iter().find(|place| result.pointer(place).is_some_and(Value::is_string));
    let parts = PART_PATHS.iter().find(|place| result.pointer(place).is_some_and(is_parts));
    let (place, new) = match (shown, parts) {
        (Some(place), _) => (place, Value::from(text)),
        (None, Some(place)) => (place, json!([{"type": "text", "text": text}])),
        (None, None) => return None,
    };
    *result.pointer_mut(place)? = new;
    Some(result)
}

fn is_parts(value: &Value) -> bool {
    let first = value.as_array().and_then(|parts| parts.first());
    first.is_some_and(|part| part.get("type").is_some_and(Value::is_string))
}

/// Whether a value has the shape of another: the same fields with the same types. Lists may differ in length if there is an
/// item to compare with.
pub(crate) fn is_like(value: &Value, other: &Value) -> bool {
    match (value, other) {
        (Value::Null, Value::Null)
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::String(_), Value::String(_)) => true,
        (Value::Array(items), Value::Array(others)) => items.iter().enumerate().all(|(at, item)| {
            others.get(at).or_else(|| others.first()).is_some_and(|other| is_like(item, other))
        }),
        (Value::Object(map), Value::Object(others)) => {
            map.len() == others.len()
                && map.iter().all(|(key, field)| others.get(key).is_some_and(|other| is_like(field, other)))
        }
        _ => false,
    }
}

/// A result of the same shape with one text in the most likely place, and without the others.
pub(crate) fn emptied(value: &Value, text: &str) -> Value {
    let mut emptied = empty(value);
    if !place(&mut emptied, text) {
        // There is no place for a text.
        return match emptied {
            Value::Object(mut map) => {
                map.insert("content".to_owned(), Value::from(text));
                Value::Object(map)
            }
            _ => Value::from(text),
        };
    }
    emptied
}

fn empty(value: &Value) -> Value {
    match value {
        Value::String(_) => Value::from(""),
        Value::Array(items) => Value::Array(items.iter().take(1).map(empty).collect()),
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| {
                let is_kind = TYPE_FIELDS.contains(&key.as_str()) && value.as_str().is_some_and(is_word);
                (key.clone(), if is_kind { value.clone() } else { empty(value) })
            });
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn is_word(text: &str) -> bool {
    text.len() <= 24 && text.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '_' | '-'))
}

/// Puts a text in the most likely place. `false`: there is none.
fn place(value: &mut Value, text: &str) -> bool {
    match value {
        Value::String(own) => {
            text.clone_into(own);
            true
        }
        Value::Array(items) => items.iter_mut().any(|item| place(item, text)),
        Value::Object(map) => {
            for key in TEXT_FIELDS {
                if let Some(field) = map.get_mut(*key)
                    && place(field, text)
                {
                    return true;
                }
            }
            map.iter_mut().any(|(key, field)| !TYPE_FIELDS.contains(&key.as_str()) && place(field, text))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn emptied_result_keeps_no_text() {
        let read = json!({"type": "text", "file": {"filePath": "/a", "content": "key", "numLines": 3}});
        assert_eq!(
            emptied(&read, "gone"),
            json!({"type": "text", "file": {"filePath": "", "content": "gone", "numLines": 3}})
        );
        assert_eq!(emptied(&json!("key"), "gone"), json!("gone"));
        assert_eq!(emptied(&json!({"type": "AKIA SECRET"}), "gone"), json!({"type": "", "content": "gone"}));
        let list = json!({"filenames": ["a", "b"], "mode": "files_with_matches", "numFiles": 2});
        assert_eq!(
            emptied(&list, "gone"),
            json!({"filenames": ["gone"], "mode": "files_with_matches", "numFiles": 2})
        );
        assert_eq!(emptied(&json!(null), "gone"), json!("gone"));
    }

    #[test]
    fn text_is_where_the_model_reads() {
        let replaced = |value: Value| with_text(&value, "new");
        assert_eq!(
            replaced(json!({"stdout": "a", "stderr": "b", "interrupted": false})),
            Some(json!({"stdout": "new", "stderr": "", "interrupted": false}))
        );
        assert_eq!(replaced(json!("a")), Some(json!("new")));
        let text = json!([{"type": "text", "text": "new"}]);
        assert_eq!(
            replaced(json!([{"type": "image", "data": "aGk="}, {"type": "text", "text": "a"}])),
            Some(text.clone())
        );
        assert_eq!(
            replaced(json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"k": "a"}})),
            Some(json!({"content": text, "structuredContent": {"k": ""}}))
        );
        // The host shows the model only that a file was written, not these fields.
        for hidden in [
            json!({"type": "create", "filePath": "/a", "content": "a", "structuredPatch": []}),
            json!({"type": "image", "file": {"base64": "aGk=", "type": "image/png"}}),
            json!({"filenames": ["a"], "numFiles": 1}),
            json!([]),
            json!(7),
        ] {
            assert_eq!(replaced(hidden.clone()), None, "{hidden}");
        }
    }

    #[test]
    fn shapes_are_distinguished() {
        let bash = json!({"stdout": "a", "stderr": "", "interrupted": false, "n": null, "list": [{"a": 1}]});
        for (like, is_it) in [
            (json!({"stdout": "*", "stderr": "x", "interrupted": true, "n": null, "list": []}), true),
            (
                json!({"stdout": "*", "stderr": "", "interrupted": true, "n": null, "list": [{"a": 2}, {"a": 3}]}),
                true,
            ),
            (
                json!({"stdout": "*", "stderr": "", "interrupted": true, "n": null, "list": [{"a": "2"}]}),
                false,
            ),
            (json!({"stdout": "*", "stderr": "", "interrupted": true, "n": null, "list": [{"b": 2}]}), false),
            (json!({"stdout": "*", "stderr": "", "interrupted": "no", "n": null, "list": []}), false),
            (json!({"stdout": "*"}), false),
            (json!("a"), false),
            (json!(null), false),
        ] {
            assert_eq!(is_like(&like, &bash), is_it, "{like}");
        }
        assert!(!is_like(&json!([1]), &json!([])));
    }
}
