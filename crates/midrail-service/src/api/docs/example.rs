//! An example of an operation: a call with curl.

use serde_json::{Map, Value, json};

use super::schema::{fields, list, resolve, text};

/// How deep an example goes.
const DEEP: usize = 4;

/// A call of an operation with curl.
pub(super) fn curl(document: &Value, method: &str, path: &str, operation: &Value) -> String {
    let path = path.replace('{', "$").replace('}', "").to_uppercase_variables();
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
    let content = operation.pointer("/requestBody/content").and_then(Value::as_object);
    if let Some((media, body)) = content.into_iter().flatten().next() {
        lines.push(format!("-H 'Content-Type: {media}'"));
        let schema = body.get("schema").unwrap_or(&Value::Null);
        let example =
            known(text(operation, "operationId")).unwrap_or_else(|| of(document, schema, DEEP).to_string());
        lines.push(format!("-d '{example}'"));
    }
    lines.join(" \\\n  ")
}

trait Variables {
    fn to_uppercase_variables(&self) -> String;
}

impl Variables for String {
    /// `$id` as `$ID`, as a shell has it.
    fn to_uppercase_variables(&self) -> String {
        let mut is_variable = false;
        let shown = self.chars().map(|c| {
            is_variable = c == '$' || (is_variable && (c.is_ascii_alphanumeric() || c == '_'));
            if is_variable { c.to_ascii_uppercase() } else { c }
        });
        shown.collect()
    }
}

/// Examples that are more helpful than generated ones.
fn known(id: &str) -> Option<String> {
    let event =
        json!({"kind": "before_tool", "session": "s-1", "tool": {"name": "Bash", "args": {"command": "ls"}}});
    Some(match id {
        "decide" => event.to_string(),
        "decide_batch" => json!({"events": [event]}).to_string(),
        "stream" => {
            let lines =
                [json!({"open": {"session": "s-1"}}), json!({"text": "Hello"}), json!({"finish": true})];
            lines.map(|line| line.to_string()).join("\n")
        }
        "add_key" => json!({"name": "ci", "projects": ["default"], "rights": ["decide"]}).to_string(),
        "policy_validate" => {
            json!({"name": "pack.yaml", "text": "pack: mine\nguardrails:\n  - {id: no-x, tools: x}\n"})
                .to_string()
        }
        _ => return None,
    })
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
            let own =
                fields(schema).into_iter().flatten().filter(|(name, _)| needed.contains(&name.as_str()));
            let values =
                own.filter(|_| deep > 0).map(|(name, field)| (name.clone(), of(document, field, deep - 1)));
            Value::Object(values.collect::<Map<String, Value>>())
        }
    }
}
