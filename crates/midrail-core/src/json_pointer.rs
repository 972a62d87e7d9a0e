//! Pointers to the texts of a JSON value: to its strings, and to the names of its members.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The end of a pointer to the name of a member. No other pointer contains it.
pub const KEY: &str = "~key";

/// The text at a pointer: a string, or the name of a member if the pointer ends with [`KEY`].
pub fn text_at<'v>(value: &'v Value, pointer: &'v str) -> Option<Cow<'v, str>> {
    match pointer.strip_suffix(KEY) {
        Some(member) => {
            let (parent, token) = member.rsplit_once('/')?;
            let name = unescape(token);
            value.pointer(parent)?.as_object()?.contains_key(&name).then(|| name.into())
        }
        None => value.pointer(pointer)?.as_str().map(Into::into),
    }
}

/// Renames the member at a pointer. Returns its new name, which differs from `name` if that one is taken.
pub fn rename(value: &mut Value, member: &str, name: &str) -> Option<String> {
    let (parent, token) = member.rsplit_once('/')?;
    let map: &mut Map<String, Value> = value.pointer_mut(parent)?.as_object_mut()?;
    let item = map.remove(&unescape(token))?;
    let mut free = name.to_owned();
    while map.contains_key(&free) {
        free.push('\'');
    }
    map.insert(free.clone(), item);
    Some(free)
}

/// Sets the value at a pointer, and adds the objects on the way to it. `None` removes it. Returns the value before. Fails if the
/// way leads through something else than objects and existing items of lists.
pub fn set(value: &mut Value, pointer: &str, new: Option<&Value>) -> Result<Option<Value>, NoSuchPlace> {
    let (parent, last) = pointer.rsplit_once('/').ok_or(NoSuchPlace)?;
    let mut at = value;
    for token in parent.split('/').skip(1).map(unescape) {
        at = match at {
            Value::Object(map) if new.is_none() && !map.contains_key(&token) => return Ok(None),
            Value::Object(map) => map.entry(token).or_insert_with(|| Map::new().into()),
            Value::Array(items) => {
                token.parse::<usize>().ok().and_then(|at| items.get_mut(at)).ok_or(NoSuchPlace)?
            }
            _ => return Err(NoSuchPlace),
        };
    }
    let last = unescape(last);
    match (at, new) {
        (Value::Object(map), Some(new)) => Ok(map.insert(last, new.clone())),
        (Value::Object(map), None) => Ok(map.remove(&last)),
        (Value::Array(items), Some(new)) => {
            let item = last.parse::<usize>().ok().and_then(|at| items.get_mut(at)).ok_or(NoSuchPlace)?;
            Ok(Some(std::mem::replace(item, new.clone())))
        }
        _ => Err(NoSuchPlace),
    }
}

/// A value has no such place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no such place")]
pub struct NoSuchPlace;

/// Appends a member's name to a pointer.
pub fn push_token(pointer: &mut String, name: &str) {
    for letter in name.chars() {
        match letter {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_on_the_way_are_added() {
        let mut value = json!({"a": 1, "list": [1, {"x": 2}]});
        assert_eq!(set(&mut value, "/b/c", Some(&json!(true))), Ok(None));
        assert_eq!(set(&mut value, "/list/1/x", Some(&json!(3))), Ok(Some(json!(2))));
        assert_eq!(set(&mut value, "/a", None), Ok(Some(json!(1))));
        assert_eq!(set(&mut value, "/none/at/all", None), Ok(None));
        assert_eq!(value, json!({"b": {"c": true}, "list": [1, {"x": 3}]}));
        assert_eq!(set(&mut value, "/b/c/d", Some(&json!(1))), Err(NoSuchPlace));
        assert_eq!(set(&mut value, "/list/9", Some(&json!(1))), Err(NoSuchPlace));
    }
}
