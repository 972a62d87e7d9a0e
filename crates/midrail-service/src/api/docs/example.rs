//! An example of an operation: a call with curl.

use serde_json::{Value, json};

use super::schema::{list, map, resolve, text};

/// How deep an example goes.
const DEEP: usize = 4;

/// A call of an operation with curl.
pub(super) fn curl(document: &Value, method: &str, path: &str, operation: &Value) -> String {
    let path = shell_variables(path);
    let mut lines = vec![format!("curl \"http://127.0.0.1:7420{path}\"")];
    if method != "get" {
        lines.push(format!("-X {}", method.to_uppercase()));
    }
    let right = text(operation, "x-midrail-right");
    match right {
        "open" => {}
        "answer" | "administer" => {
            lines.push("-b cookies.txt".to_owned());
            if method != "get" {
                lines.push("-H \"x-csrf-token: $CSRF\"".to_owned());
            }
        }
        _ => lines.push("-H \"Authorization: Bearer $MIDRAIL_KEY\"".to_owned()),
    }
    if let Some((media, body)) = map(operation.pointer("/requestBody/content")).next() {
        lines.push(format!("-H 'Content-Type: {media}'"));
        let schema = body.get("schema").unwrap_or(&Value::Null);
        let example =
            known(text(operation, "operationId")).unwrap_or_else(|| of(document, schema, DEEP).to_string());
        lines.push(format!("-d '{example}'"));
    }
    lines.join(" \\\n  ")
}

/// A path with its parameters as shell variables: `{id}` as `$ID`.
fn shell_variables(path: &str) -> String {
    match path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
        Some((before, (name, after))) => format!("{before}${}{after}", name.to_uppercase()),
        None => path.to_owned(),
    }
}

/// Examples that are more helpful than generated ones.
fn known(id: &str) -> Option<String> {
    let event =
        json!({"kind": "before_tool", "session": "s-1", "tool": {"name": "Bash", "args": {"command": "ls"}}});
    let lines = match id {
        "decide" => vec![event],
        "decide_batch" => vec![json!({"events": [event]})],
        "stream" => {
            vec![json!({"open": {"session": "s-1"}}), json!({"text": "Hello"}), json!({"finish": true})]
        }
        "add_key" => vec![json!({"name": "ci", "projects": ["default"], "rights": ["decide"]})],
        "policy_validate" => {
            vec![json!({"name": "pack.yaml", "text": "pack: mine\nguardrails:\n  - {id: no-x, tools: x}\n"})]
        }
        _ => return None,
    };
    Some(lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"))
}

/// An example value of a schema, with its required fields.
fn of(document: &Value, schema: &Value, deep: usize) -> Value {
    let schema = resolve(document, schema);
    if let Some(value) = schema.get("const").or_else(|| schema.get("default")) {
        return value.clone();
    }
    if let Some(first) = list(schema.get("enum")).next() {
        return first.clone();
    }
    let choices = schema.get("anyOf").or_else(|| schema.get("oneOf"));
    if let Some(first) = list(choices).next().filter(|_| deep > 0) {
        return of(document, first, deep - 1);
    }
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        several => list(several).filter_map(Value::as_str).next().unwrap_or("object"),
    };
    match kind {
        "string" => json!("…"),
        "integer" | "number" => json!(1),
        "boolean" => json!(true),
        "null" => Value::Null,
        "array" if deep > 0 => json!([of(document, schema.get("items").unwrap_or(&Value::Null), deep - 1)]),
        "array" => json!([]),
        _ => {
            let needed: Vec<&str> = list(schema.get("required")).filter_map(Value::as_str).collect();
            let own = map(schema.get("properties"))
                .filter(|(name, _)| deep > 0 && needed.contains(&name.as_str()))
                .map(|(name, field)| (name.clone(), of(document, field, deep - 1)));
            Value::Object(own.collect())
        }
    }
}
