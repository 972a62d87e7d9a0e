//! A pack as YAML, in the order in which people write it.

use serde_json::{Map, Value};

/// The order of keys.
const ORDER: &str = "pack guardrails vouch tests id use with tools command when check on_missing effect reason events \
                     before_tool args expect paths read_only except commands reads";

/// A pack as YAML.
pub(super) fn yaml(pack: &Value) -> String {
    let mut out = String::new();
    if let Value::Object(fields) = pack {
        write(fields, 0, &mut out);
    }
    out
}

fn sorted(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
    fields.sort_by_key(|(key, _)| ORDER.split(' ').position(|it| it == *key).unwrap_or(usize::MAX));
    fields
}

fn write(fields: &Map<String, Value>, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    for (key, value) in sorted(fields) {
        // The first key of an item follows its dash.
        if !out.ends_with("- ") {
            out.push_str(&pad);
        }
        let has_blocks = matches!(key.as_str(), "guardrails" | "tests");
        match value {
            Value::Object(fields) if matches!(key.as_str(), "vouch" | "with") => {
                out.push_str(&format!("{key}:\n"));
                write(fields, indent + 2, out);
            }
            Value::Array(items) if has_blocks || key == "events" || items.len() > 3 => {
                out.push_str(&format!("{key}:\n"));
                for item in items {
                    out.push_str(&format!("{pad}  - "));
                    match item {
                        Value::Object(fields) if has_blocks => write(fields, indent + 4, out),
                        _ => out.push_str(&format!("{}\n", flow_value(item))),
                    }
                }
            }
            _ => out.push_str(&format!("{key}: {}\n", flow_value(value))),
        }
    }
}

/// A value on one line.
fn flow_value(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flow_value).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let fields =
                sorted(fields).into_iter().map(|(key, value)| format!("{key}: {}", flow_value(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// A text. One that could be read as something else, or could drive a terminal, is quoted as in JSON.
fn scalar(text: &str) -> String {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !matches!(
            text.to_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if is_plain {
        return text.to_owned();
    }
    let json = Value::from(text).to_string();
    let mut out = String::new();
    for c in json.chars() {
        let hides = c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if hides { out.push_str(&format!("\\u{:04x}", u32::from(c))) } else { out.push(c) }
    }
    out
}
