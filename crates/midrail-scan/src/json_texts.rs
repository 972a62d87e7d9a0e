//! The texts of a JSON value: its strings and the names of its members, each with its pointer.

use midrail_core::json_pointer::{KEY, push_token};
use serde_json::{Map, Value};

use crate::bytes::ends_with_any_case;
use crate::data::PAIR_NAMES;

/// A text and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JsonText<'v> {
    /// A JSON pointer to the string, or to the member whose name this is, followed by [`KEY`].
    pub(crate) pointer: &'v str,
    /// The name of the member whose value this is, or that contains the array that it is in. In a pair such as
    /// `{"name": "PATH", "value": "…"}`, the name of the value is `PATH`.
    pub(crate) member: Option<&'v str>,
    /// Whether the text is the name of a member.
    pub(crate) is_key: bool,
    /// The text.
    pub(crate) text: &'v str,
}

enum Level<'v> {
    Array(std::iter::Enumerate<std::slice::Iter<'v, Value>>),
    Object(&'v Map<String, Value>, serde_json::map::Iter<'v>),
}

/// Visits every text of a value in order, a member's name before its value. Does not recurse.
pub(crate) fn for_each(value: &Value, visit: &mut dyn FnMut(JsonText<'_>)) {
    let mut pointer = String::new();
    // Each level with the length of its pointer and the member that it belongs to.
    let mut levels: Vec<(Level<'_>, usize, Option<&str>)> = Vec::new();
    let mut next = Some((value, None));
    loop {
        if let Some((value, member)) = next.take() {
            match value {
                Value::String(text) => visit(JsonText { pointer: &pointer, member, is_key: false, text }),
                Value::Array(items) => {
                    levels.push((Level::Array(items.iter().enumerate()), pointer.len(), member))
                }
                Value::Object(map) => levels.push((Level::Object(map, map.iter()), pointer.len(), member)),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        let Some((level, length, member)) = levels.last_mut() else { return };
        pointer.truncate(*length);
        match level {
            Level::Array(items) => match items.next() {
                Some((index, item)) => {
                    pointer.push('/');
                    pointer.push_str(&index.to_string());
                    next = Some((item, *member));
                }
                None => _ = levels.pop(),
            },
            Level::Object(map, members) => match members.next() {
                Some((name, item)) => {
                    pointer.push('/');
                    push_token(&mut pointer, name);
                    let plain = pointer.len();
                    pointer.push_str(KEY);
                    visit(JsonText { pointer: &pointer, member: None, is_key: true, text: name });
                    pointer.truncate(plain);
                    next = Some((item, Some(effective_name(map, name))));
                }
                None => _ = levels.pop(),
            },
        }
    }
}

/// Whether a member with this name may be the value of a pair, which has its name in another member.
pub(crate) fn may_be_of_pair(member: &str) -> bool {
    ends_with_any_case(member.as_bytes(), b"value")
}

/// The name of a member: its own, or that of the pair whose value it is.
fn effective_name<'v>(map: &'v Map<String, Value>, member: &'v str) -> &'v str {
    if !may_be_of_pair(member) {
        return member;
    }
    PAIR_NAMES
        .iter()
        .find_map(|name| map.get(*name)?.as_str())
        .filter(|name| !name.is_empty())
        .unwrap_or(member)
}

#[cfg(test)]
mod tests {
    use super::*;
    use midrail_core::json_pointer::text_at;
    use serde_json::json;

    #[test]
    fn every_text_is_visited_with_its_pointer() {
        let value = json!({"a/b": ["x", {"c": "y"}], "d": 1});
        let mut seen = Vec::new();
        for_each(&value, &mut |at| {
            assert_eq!(text_at(&value, at.pointer).as_deref(), Some(at.text));
            seen.push(format!("{} {} {}", at.pointer, at.member.unwrap_or("-"), at.text));
        });
        assert_eq!(
            seen,
            ["/a~1b~key - a/b", "/a~1b/0 a/b x", "/a~1b/1/c~key - c", "/a~1b/1/c c y", "/d~key - d"]
        );
    }

    #[test]
    fn deep_value_does_not_overflow_stack() {
        let mut value = json!("deep");
        for _ in 0..2_000 {
            value = Value::Array(vec![value]);
        }
        let mut count = 0;
        for_each(&value, &mut |_| count += 1);
        assert_eq!(count, 1);
    }
}
