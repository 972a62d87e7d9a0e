//! Access to the parts of an OpenAPI document.

use serde_json::Value;

pub(super) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// The definition that a schema refers to, or the schema itself.
pub(super) fn resolve<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    let pointer = value.get("$ref").and_then(Value::as_str).and_then(|place| place.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

/// The fields of an object.
pub(super) fn map(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}
