//! Enough of JSON Schema to hold packs against the schema that editors use. No formats, no numbers' bounds.

use std::sync::OnceLock;

use midrail_pack::yaml::{parse, to_json};
use serde_json::{Map, Value};

/// Fails where a document of a text does not fit the schema of packs.
pub(crate) fn accepts(source: &str) {
    for node in parse(source).unwrap() {
        let value = to_json(&node);
        if value.is_null() {
            continue;
        }
        if let Err(why) = check(pack_schema(), pack_schema(), &value, "") {
            panic!("the schema refuses a valid pack: {why}\n{source}");
        }
    }
}

/// Whether a value fits the schema of packs.
pub(crate) fn fits(value: &Value) -> bool {
    check(pack_schema(), pack_schema(), value, "").is_ok()
}

pub(crate) fn pack_schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(midrail_pack::schema::pack)
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let schema = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(schema) => schema,
        _ => return Err(format!("{at}: nothing fits here")),
    };
    known_keywords(schema);
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(name.trim_start_matches('#')).expect(name);
        check(root, target, value, at)?;
    }
    if let Some(kinds) = schema.get("type") {
        let kinds: Vec<&str> = match kinds {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            kind => kind.as_str().into_iter().collect(),
        };
        if !kinds.iter().any(|kind| is_of(kind, value)) {
            return Err(format!("{at}: {value} is none of {kinds:?}"));
        }
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array)
        && !values.contains(value)
    {
        return Err(format!("{at}: {value} is none of {values:?}"));
    }
    if let Some(constant) = schema.get("const")
        && constant != value
    {
        return Err(format!("{at}: {value} is not {constant}"));
    }
    for word in ["anyOf", "oneOf"] {
        if let Some(schemas) = schema.get(word).and_then(Value::as_array) {
            let outcomes: Vec<_> = schemas.iter().map(|schema| check(root, schema, value, at)).collect();
            if outcomes.iter().all(Result::is_err) {
                let whys: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
                return Err(whys.join("\n"));
            }
        }
    }
    for schema in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        check(root, schema, value, at)?;
    }
    if let (Some(condition), Some(then)) = (schema.get("if"), schema.get("then"))
        && check(root, condition, value, at).is_ok()
    {
        check(root, then, value, at)?;
    }
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                check(root, schema.get("items").unwrap_or(&Value::Bool(true)), item, &format!("{at}/{i}"))?;
            }
            Ok(())
        }
        Value::Object(map) => check_map(root, schema, map, at),
        _ => Ok(()),
    }
}

fn check_map(
    root: &Value,
    schema: &Map<String, Value>,
    map: &Map<String, Value>,
    at: &str,
) -> Result<(), String> {
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        if !map.contains_key(name.as_str().unwrap()) {
            return Err(format!("{at}: {name} is missing"));
        }
    }
    let others = schema.get("additionalProperties").unwrap_or(&Value::Bool(true));
    for (key, value) in map {
        let of_key = schema.get("properties").and_then(|properties| properties.get(key));
        check(root, of_key.unwrap_or(others), value, &format!("{at}/{key}"))?;
    }
    Ok(())
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("unknown type {other}"),
    }
}

/// A keyword that is not checked here must not go unnoticed.
fn known_keywords(schema: &Map<String, Value>) {
    const CHECKED: &[&str] = &[
        "$ref",
        "type",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "allOf",
        "if",
        "then",
        "items",
        "required",
        "properties",
        "additionalProperties",
    ];
    const NOTES: &[&str] = &[
        "$schema",
        "$defs",
        "title",
        "description",
        "default",
        "format",
        "minimum",
        "exclusiveMinimum",
        "maximum",
        "pattern",
    ];
    for word in schema.keys() {
        assert!(CHECKED.contains(&word.as_str()) || NOTES.contains(&word.as_str()), "unknown keyword {word}");
    }
}
