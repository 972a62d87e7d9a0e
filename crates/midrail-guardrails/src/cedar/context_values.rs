//! JSON values as values of Cedar. Members such as `__entity`, which Cedar's own JSON format interprets, are plain members here.

use cedar_policy::RestrictedExpression;
use serde_json::{Map, Value};

use crate::shared::text::shorten;

/// How deep lists and maps may be nested.
const MAX_DEPTH: usize = 64;

/// The members of a map.
pub(super) fn members(
    at: &str,
    map: Map<String, Value>,
) -> Result<Vec<(String, RestrictedExpression)>, String> {
    map.into_iter()
        .map(|(key, value)| {
            let value = expression(&format!("{at}.{key}"), value, 1)?;
            Ok((key, value))
        })
        .collect()
}

/// A value at a place, which an error names.
pub(super) fn expression(at: &str, value: Value, depth: usize) -> Result<RestrictedExpression, String> {
    let place = || format!("`{}`", shorten(at, 120));
    if depth > MAX_DEPTH {
        return Err(format!("{} is nested more than {MAX_DEPTH} levels deep", place()));
    }
    Ok(match value {
        Value::Null => return Err(format!("{} is null, which Cedar does not have", place())),
        Value::Bool(value) => RestrictedExpression::new_bool(value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => RestrictedExpression::new_long(number),
            None if number.is_u64() => {
                return Err(format!("{} is {number}, which is too large for a number of Cedar", place()));
            }
            None => return Err(format!("{} is {number}, and Cedar has whole numbers only", place())),
        },
        Value::String(text) => RestrictedExpression::new_string(text),
        Value::Array(items) => {
            let items = items.into_iter().enumerate();
            let items = items.map(|(i, item)| expression(&format!("{at}[{i}]"), item, depth + 1));
            RestrictedExpression::new_set(items.collect::<Result<Vec<_>, _>>()?)
        }
        Value::Object(map) => {
            let members = map.into_iter().map(|(key, value)| {
                let value = expression(&format!("{at}.{key}"), value, depth + 1)?;
                Ok((key, value))
            });
            let members = members.collect::<Result<Vec<_>, String>>()?;
            RestrictedExpression::new_record(members).map_err(|error| format!("{}: {error}", place()))?
        }
    })
}
