//! Arguments of calls that headers repeat: which ones a tool's schema names with `x-mcp-header`, and their values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::header_text::{PARAM, decode, encode};
use crate::mcp::splice::{Edits, Span};

/// An argument that a header repeats: the header's name without its start, and the path of the argument.
struct Param {
    header: String,
    path: Vec<String>,
}

/// The arguments that headers repeat, by tool.
#[derive(Default)]
pub(super) struct ToolParams(BTreeMap<String, Vec<Param>>);

/// The most tools of a server whose headers are known.
const MAX_TOOLS: usize = 10_000;

impl ToolParams {
    /// Learns from a list of tools, and returns the line without tools whose declarations are not valid, with their names.
    pub(super) fn learn(&mut self, line: String, result: &Value) -> (String, Vec<String>) {
        let mut invalid = Vec::new();
        let mut kept = Vec::new();
        for tool in result.get("tools").and_then(Value::as_array).into_iter().flatten() {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            let params = declared(tool.get("inputSchema").unwrap_or(&Value::Null));
            kept.push(params.is_some());
            match params {
                Some(params) if params.is_empty() => drop(self.0.remove(name)),
                Some(params) if self.0.len() < MAX_TOOLS => drop(self.0.insert(name.to_owned(), params)),
                Some(_) => {}
                None => invalid.push(name.to_owned()),
            }
        }
        if invalid.is_empty() {
            return (line, invalid);
        }
        let mut edits = Edits::default();
        let root = Span::of(&line);
        let tools = root.as_ref().and_then(|root| root.member(&line, "result")?.member(&line, "tools"));
        if let Some(tools) = tools {
            tools.keep(&line, |index| kept.get(index) == Some(&true), &mut edits);
        }
        (edits.apply(&line), invalid)
    }

    /// The headers of a call.
    pub(super) fn headers(&self, tool: &str, args: &Value) -> Vec<(String, String)> {
        let params = self.0.get(tool).into_iter().flatten();
        let header = |param: &Param| {
            let value = param.path.iter().try_fold(args, |value, name| value.get(name))?;
            Some((format!("{PARAM}{}", param.header.to_ascii_lowercase()), encode(&text(value)?)))
        };
        params.filter_map(header).collect()
    }
}

/// A value as a header repeats it. `None`: a header has no such values.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Whether any argument has a value as a header repeats it.
pub(super) fn has_value(args: &Value, wanted: &str) -> bool {
    match args {
        Value::Object(members) => members.values().any(|value| has_value(value, wanted)),
        other => text(other).is_some_and(|text| text == wanted),
    }
}

/// The headers of a call whose arguments were changed. A header follows its argument; where several arguments had its value
/// and do not have the same value now, it is left out, and the server refuses the call.
pub fn rewritten_params(headers: &[(String, String)], old: &Value, new: &Value) -> Vec<(String, String)> {
    let rewritten = |(name, value): &(String, String)| {
        let mut values = BTreeSet::new();
        follow(old, new, &decode(value)?, &mut values);
        let value = (values.len() == 1).then(|| values.pop_first().flatten()).flatten()?;
        Some((name.clone(), encode(&value)))
    };
    headers.iter().filter_map(rewritten).collect()
}

/// Collects what became of the arguments that had a value.
fn follow(old: &Value, new: &Value, wanted: &str, values: &mut BTreeSet<Option<String>>) {
    match old {
        Value::Object(members) => {
            for (name, old) in members {
                follow(old, new.get(name).unwrap_or(&Value::Null), wanted, values);
            }
        }
        other if text(other).is_some_and(|text| text == wanted) => drop(values.insert(text(new))),
        _ => {}
    }
}

const KEYWORD: &str = "x-mcp-header";

/// The arguments that a schema declares. `None`: a declaration is not valid.
fn declared(schema: &Value) -> Option<Vec<Param>> {
    let (mut params, mut count) = (Vec::new(), 0);
    collect(schema, &mut Vec::new(), &mut params)?;
    count_keywords(schema, &mut count);
    let names: BTreeSet<String> = params.iter().map(|param| param.header.to_ascii_lowercase()).collect();
    // A keyword at another place than a property, or two of one name.
    (count == params.len() && names.len() == params.len()).then_some(params)
}

fn collect(schema: &Value, path: &mut Vec<String>, params: &mut Vec<Param>) -> Option<()> {
    if let Some(header) = schema.get(KEYWORD).filter(|_| !path.is_empty()) {
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let header = header.as_str().filter(|name| !name.is_empty() && name.chars().all(is_token))?;
        matches!(schema.get("type")?.as_str()?, "string" | "integer" | "boolean").then_some(())?;
        params.push(Param { header: header.to_owned(), path: path.clone() });
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        path.push(name.clone());
        collect(property, path, params)?;
        path.pop();
    }
    Some(())
}

/// Counts the schemas with the keyword, also at places where it is not valid. Values of examples and constants are not schemas.
fn count_keywords(schema: &Value, count: &mut usize) {
    match schema {
        Value::Object(members) => {
            *count += usize::from(members.contains_key(KEYWORD));
            for (name, member) in members {
                match name.as_str() {
                    KEYWORD | "default" | "enum" | "const" | "examples" => {}
                    "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => {
                        let members = member.as_object().into_iter().flat_map(|members| members.values());
                        members.for_each(|member| count_keywords(member, count));
                    }
                    _ => count_keywords(member, count),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| count_keywords(item, count)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, properties: Value) -> Value {
        json!({"name": name, "inputSchema": {"type": "object", "properties": properties}})
    }

    #[test]
    fn headers_repeat_declared_arguments() {
        let region = json!({"type": "string", "x-mcp-header": "Region"});
        let nested = json!({"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}});
        let tools = json!({"tools": [tool("a", json!({"region": region, "deep": nested, "other": {"type": "string"}}))]});
        let line = json!({"id": 1, "result": tools}).to_string();
        let mut params = ToolParams::default();
        assert_eq!(params.learn(line.clone(), &tools), (line, vec![]));
        let args = json!({"region": "é", "deep": {"n": 42}, "other": "x"});
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut headers = params.headers("a", &args);
        headers.sort();
        assert_eq!(headers, [header("mcp-param-n", "42"), header("mcp-param-region", "=?base64?w6k=?=")]);
        assert!(params.headers("a", &json!({"region": null})).is_empty());
        assert!(params.headers("b", &args).is_empty());
    }

    #[test]
    fn tools_with_invalid_declarations_are_left_out() {
        let bad = [
            json!({"a": {"type": "string", "x-mcp-header": ""}}),
            json!({"a": {"type": "string", "x-mcp-header": 1}}),
            json!({"a": {"type": "string", "x-mcp-header": "a b"}}),
            json!({"a": {"type": "string", "x-mcp-header": "Région"}}),
            json!({"a": {"type": "number", "x-mcp-header": "A"}}),
            json!({"a": {"type": "object", "x-mcp-header": "A"}}),
            json!({"a": {"x-mcp-header": "A"}}),
            json!({"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}),
            json!({"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}),
            json!({"a": {"anyOf": [{"type": "string", "x-mcp-header": "A"}]}}),
        ];
        for properties in bad {
            let tools = json!({"tools": [tool("good", json!({})), tool("bad", properties.clone())]});
            let line = json!({"id": 1, "result": tools}).to_string();
            let (line, names) = ToolParams::default().learn(line, &tools);
            assert_eq!(names, ["bad"], "{properties}");
            assert!(line.contains("\"good\"") && !line.contains("\"bad\""), "{line}");
        }
        // A property of this name is no declaration.
        let tools = json!({"tools": [tool("x", json!({"x-mcp-header": {"type": "string"}}))]});
        assert!(ToolParams::default().learn(json!({"result": tools}).to_string(), &tools).1.is_empty());
    }

    #[test]
    fn headers_follow_changed_arguments() {
        let headers = |value: &str| [("region".to_owned(), value.to_owned())];
        let old = json!({"a": "x", "b": {"c": "x", "d": "y"}});
        let new = json!({"a": "new", "b": {"c": "new", "d": "other"}});
        assert_eq!(rewritten_params(&headers("y"), &old, &new), headers("other"));
        assert_eq!(rewritten_params(&headers("x"), &old, &new), headers("new"));
        let ambiguous = json!({"a": "x", "b": {"c": "new", "d": "y"}});
        assert!(rewritten_params(&headers("x"), &old, &ambiguous).is_empty());
        assert!(rewritten_params(&headers("unknown"), &old, &new).is_empty());
    }
}
