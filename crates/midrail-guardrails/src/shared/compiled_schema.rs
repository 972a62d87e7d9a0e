//! A compiled JSON Schema and its problems with a value. References must stay within the schema, and patterns
//! take linear time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(feature = "json-schema")]
use super::schema_validator::Validator;
use super::settings::SettingsProblem;

/// A JSON Schema.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Value", into = "Value")]
#[schemars(rename = "JsonSchema", extend("type" = ["object", "boolean"]))]
pub struct CompiledSchema {
    schema: Value,
    #[cfg(feature = "json-schema")]
    validator: std::sync::Arc<Validator>,
}

impl From<CompiledSchema> for Value {
    fn from(compiled: CompiledSchema) -> Self {
        compiled.schema
    }
}

/// The place of a problem, as a JSON pointer, and its description. Contains no values.
type Problem = (String, String);

impl TryFrom<Value> for CompiledSchema {
    type Error = SettingsProblem;

    #[cfg(not(feature = "json-schema"))]
    fn try_from(_: Value) -> Result<Self, SettingsProblem> {
        let message = "this build of Midrail cannot validate JSON Schemas: it was built without the feature `json-schema`";
        Err(SettingsProblem::new(message))
    }

    #[cfg(feature = "json-schema")]
    fn try_from(schema: Value) -> Result<Self, SettingsProblem> {
        if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
            return Err(SettingsProblem::new("a JSON Schema is a map"));
        }
        if let Some(reference) = external_reference(&schema, 0) {
            return Err(SettingsProblem::new(format!(
                "the reference `{reference}` points outside of the schema, and nothing is fetched"
            )));
        }
        let validator = Validator::compile(&schema).map_err(SettingsProblem::new)?;
        Ok(CompiledSchema { schema, validator: std::sync::Arc::new(validator) })
    }
}

impl CompiledSchema {
    /// The problems of a value, up to a maximum. A text is parsed as JSON if it may be one.
    #[cfg(not(feature = "json-schema"))]
    pub(crate) fn problems(&self, _: &Value, _: bool, _: usize) -> Vec<Problem> {
        // INVARIANT: without the feature there is no such value.
        vec![(String::new(), "cannot be validated by this build".to_owned())]
    }

    /// The problems of a value, up to a maximum. A text is parsed as JSON if it may be one.
    #[cfg(feature = "json-schema")]
    pub(crate) fn problems(&self, value: &Value, may_be_text: bool, most: usize) -> Vec<Problem> {
        let value = if may_be_text { self.read(value) } else { Ok(std::borrow::Cow::Borrowed(value)) };
        let Ok(value) = value else { return vec![("/".to_owned(), "is not JSON".to_owned())] };
        self.validator.problems(value.as_ref(), most)
    }

    /// The effective value: a text is parsed as JSON unless the schema requires a text; MCP answers are
    /// unwrapped.
    #[cfg(feature = "json-schema")]
    fn read<'v>(&self, value: &'v Value) -> Result<std::borrow::Cow<'v, Value>, ()> {
        use std::borrow::Cow;
        let unwrapped = unwrap(value);
        let Value::String(text) = unwrapped else { return Ok(Cow::Borrowed(unwrapped)) };
        let is_text = match self.schema.get("type") {
            Some(Value::String(kind)) => kind == "string",
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
            _ => false,
        };
        if is_text {
            return Ok(Cow::Borrowed(unwrapped));
        }
        serde_json::from_str(text).map(Cow::Owned).map_err(|_| ())
    }
}

/// The text of `[{type: text, text: …}]`, alone or under `content`; `structuredContent` takes precedence.
#[cfg(feature = "json-schema")]
fn unwrap(value: &Value) -> &Value {
    if let Some(structured) = value.get("structuredContent").filter(|it| !it.is_null()) {
        return structured;
    }
    let is_result = |map: &serde_json::Map<String, Value>| {
        map.contains_key("content")
            && map.keys().all(|key| matches!(key.as_str(), "content" | "isError" | "_meta"))
    };
    let blocks = match value {
        Value::Object(map) if is_result(map) => map.get("content").unwrap_or(value),
        other => other,
    };
    match blocks.as_array().map(Vec::as_slice) {
        Some([block]) if block.get("type").is_some_and(|kind| kind == "text") => {
            block.get("text").unwrap_or(value)
        }
        _ => value,
    }
}

/// A reference that points outside of the schema.
#[cfg(feature = "json-schema")]
fn external_reference(schema: &Value, depth: usize) -> Option<&str> {
    if depth > midrail_core::Event::MAX_DEPTH {
        return None;
    }
    match schema {
        Value::Object(map) => map.iter().find_map(|(key, value)| match (key.as_str(), value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(to)) => {
                (!to.starts_with('#')).then_some(to.as_str())
            }
            // These members are data.
            ("const" | "enum" | "default" | "examples", _) => None,
            (_, value) => external_reference(value, depth + 1),
        }),
        Value::Array(list) => list.iter().find_map(|value| external_reference(value, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
