//! Results emptied of all that they tell, in their own shape: hosts take another shape for none.

use serde_json::{Map, Value};

/// Fields that hold what a result tells, the likeliest first.
const TELLING: &[&str] = &["stdout", "content", "text", "output", "result", "llmContent", "textResultForLlm"];

/// Fields that say what a result is, and nothing of what is in it.
const KINDS: &[&str] = &["type", "mode", "resultType", "status"];

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
}
