//! Results that tell another text, or none, in their own shape: hosts take another shape for none.

use serde_json::{Map, Value, json};

/// Fields that hold what a result tells, the likeliest first.
const TELLING: &[&str] = &["stdout", "content", "text", "output", "result", "llmContent", "textResultForLlm"];

/// Fields that say what a result is, and nothing of what is in it.
const KINDS: &[&str] = &["type", "mode", "resultType", "status"];

/// Places of one text that hosts show the model as it is: a whole result, and those of commands, reads and fetches.
const SHOWN: &[&str] = &["", "/stdout", "/file/content", "/result"];

/// Places of a list of parts, any of which can be a text.
const PARTS: &[&str] = &["", "/content"];

/// A result of the same shape that tells one text alone, where the model gets to see it. `None`: nobody knows such a place.
pub(crate) fn telling(value: &Value, text: &str) -> Option<Value> {
    let mut telling = empty(value);
    let shown = SHOWN.iter().find(|place| telling.pointer(place).is_some_and(Value::is_string));
    let parts = PARTS.iter().find(|place| telling.pointer(place).is_some_and(is_parts));
    let (place, new) = match (shown, parts) {
        (Some(place), _) => (place, Value::from(text)),
        (None, Some(place)) => (place, json!([{"type": "text", "text": text}])),
        (None, None) => return None,
    };
    *telling.pointer_mut(place)? = new;
    Some(telling)
}

fn is_parts(value: &Value) -> bool {
    let first = value.as_array().and_then(|parts| parts.first());
    first.is_some_and(|part| part.get("type").is_some_and(Value::is_string))
}

/// Whether a value has the shape of another: the same fields, with the same kind of value in each. A list may be longer or
/// shorter, if there is an item to compare with.
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

/// A result of the same shape without its texts, with one text in the place where a reader looks.
pub(crate) fn emptied(value: &Value, text: &str) -> Value {
    let mut emptied = empty(value);
    if !place(&mut emptied, text) {
        // There is no place for a text: it stands for the whole.
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
                let is_kind = KINDS.contains(&key.as_str()) && value.as_str().is_some_and(is_word);
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

/// Puts a text where the result tells the most. `false`: there is no such place.
fn place(value: &mut Value, text: &str) -> bool {
    match value {
        Value::String(own) => {
            text.clone_into(own);
            true
        }
        Value::Array(items) => items.iter_mut().any(|item| place(item, text)),
        Value::Object(map) => {
            for key in TELLING {
                if let Some(field) = map.get_mut(*key)
                    && place(field, text)
                {
                    return true;
                }
            }
            map.iter_mut().any(|(key, field)| !KINDS.contains(&key.as_str()) && place(field, text))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_is_left_of_what_a_result_told() {
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
    fn a_text_stands_where_the_model_reads() {
        let told = |value: Value| telling(&value, "new");
        assert_eq!(
            told(json!({"stdout": "a", "stderr": "b", "interrupted": false})),
            Some(json!({"stdout": "new", "stderr": "", "interrupted": false}))
        );
        assert_eq!(told(json!("a")), Some(json!("new")));
        let text = json!([{"type": "text", "text": "new"}]);
        assert_eq!(
            told(json!([{"type": "image", "data": "aGk="}, {"type": "text", "text": "a"}])),
            Some(text.clone())
        );
        assert_eq!(
            told(json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"k": "a"}})),
            Some(json!({"content": text, "structuredContent": {"k": ""}}))
        );
        // A host tells of these that a file was written, and nothing of what is in the fields.
        for silent in [
            json!({"type": "create", "filePath": "/a", "content": "a", "structuredPatch": []}),
            json!({"type": "image", "file": {"base64": "aGk=", "type": "image/png"}}),
            json!({"filenames": ["a"], "numFiles": 1}),
            json!([]),
            json!(7),
        ] {
            assert_eq!(told(silent.clone()), None, "{silent}");
        }
    }

    #[test]
    fn shapes_are_told_apart() {
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
