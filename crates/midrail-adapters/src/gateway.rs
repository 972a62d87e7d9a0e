//! Events in the format of a gateway: `event_type`, `text_content`, `tool_name`, `tool_args` and a payload.

use midrail::EventKind;
use serde_json::{Map, Value, json};

/// Fields that only such events have.
const FIELDS: [&str; 4] = ["\"event_type\"", "\"text_content\"", "\"tool_name\"", "\"tool_args\""];

/// Whether a text could be such an event.
pub(crate) fn may_be(text: &str) -> bool {
    FIELDS.iter().any(|field| text.contains(field))
}

/// The values of `kind` and `event_type`, if they are different kinds.
pub(crate) fn conflicting_kinds(event: &Map<String, Value>) -> Option<(String, String)> {
    let (kind, other) = (event.get("kind")?, event.get("event_type")?);
    let known = |value: &Value| value.as_str().and_then(|word| word.parse::<EventKind>().ok());
    let is_same = kind == other || known(kind).is_some_and(|kind| known(other) == Some(kind));
    let short = |value: &Value| match value {
        Value::String(word) => word.chars().take(60).collect(),
        other => other.to_string().chars().take(60).collect::<String>(),
    };
    (!is_same).then(|| (short(kind), short(other)))
}

/// Translates an event into the wire format. Fields of the wire format take precedence.
pub(crate) fn translate(event: &mut Map<String, Value>) {
    let kind = event.remove("event_type");
    if let Some(kind) = kind {
        event.entry("kind").or_insert(kind);
    }
    if let Some(Value::Object(payload)) = event.remove("payload") {
        for name in ["last_assistant", "available_tools", "task_scope", "run_id"] {
            if let Some(value) = payload.get(name) {
                event.entry(name).or_insert(value.clone());
            }
        }
        event.entry("payload").or_insert(Value::Object(payload));
    }
    if let Some(run) = event.remove("run_id").filter(|run| !run.is_null()) {
        event.entry("session").or_insert(run);
    }
    // Guardrails need the scope in any form.
    match event.remove("task_scope") {
        None | Some(Value::Null) => {}
        Some(Value::String(scope)) => _ = event.entry("task").or_insert(json!({"goal": scope})),
        Some(scope) => _ = event.entry("task").or_insert(json!({"goal": scope.to_string()})),
    }
    let (name, args) = (event.remove("tool_name"), event.remove("tool_args"));
    let args = args.filter(|args| !args.is_null());
    match name {
        Some(name) if !event.contains_key("tool") => {
            let args = args.unwrap_or_else(|| json!({}));
            event.insert("tool".to_owned(), json!({"name": name, "args": args}));
        }
        // Arguments that belong to no tool are misplaced, and must not be lost.
        _ => event.extend(args.map(|args| ("tool_args".to_owned(), args))),
    }
    let is_result = event.get("kind").and_then(Value::as_str).is_some_and(|kind| RESULTS.contains(&kind));
    match event.remove("text_content") {
        None | Some(Value::Null) => {}
        Some(text) if is_result && !event.contains_key("result") => {
            event.insert("result".to_owned(), json!({"content": text}));
        }
        Some(text) => {
            event.entry("text").or_insert(text);
        }
    }
}

/// The kinds of event whose text is the result of a tool.
const RESULTS: [&str; 5] = ["after_tool", "tool_call_result", "post_execution", "output", "PostToolUse"];

#[cfg(test)]
mod tests {
    use crate::wire::decode;

    #[test]
    fn texts_calls_and_results_are_translated() {
        let event = decode(br#"{"event_type":"llm_before","text_content":"hi","payload":{"task_scope":"invoices","available_tools":["a"]}}"#).unwrap();
        assert_eq!(event.text.as_deref(), Some("hi"));
        assert_eq!(event.task.unwrap().goal.as_deref(), Some("invoices"));
        assert_eq!(event.available_tools.unwrap(), ["a"]);
        let event = decode(br#"{"event_type":"llm_before","run_id":"r-1","task_scope":{"area":"invoices"}}"#)
            .unwrap();
        assert_eq!(event.session.as_deref(), Some("r-1"));
        assert_eq!(event.task.unwrap().goal.as_deref(), Some(r#"{"area":"invoices"}"#));
        let event = decode(br#"{"kind":"tool_call_start","tool_name":"Bash","tool_args":{"path":"x"},"text_content":"I list"}"#).unwrap();
        assert_eq!((event.tool_name(), event.text.as_deref()), (Some("Bash"), Some("I list")));
        let event =
            decode(br#"{"kind":"tool_call_result","tool_name":"Bash","text_content":"key"}"#).unwrap();
        assert_eq!(event.result.unwrap().content.unwrap(), "key");
        assert_eq!(event.text, None);
    }

    #[test]
    fn fields_of_the_wire_format_take_precedence() {
        let event = decode(br#"{"kind":"before_tool","tool":{"name":"a"},"tool_name":"b"}"#).unwrap();
        assert_eq!(event.tool_name(), Some("a"));
        assert!(decode(br#"{"event_type":7,"text_content":"x"}"#).is_err());
        let error = decode(br#"{"kind":"after_tool","event_type":"tool_call_start","tool_name":"Bash"}"#)
            .unwrap_err();
        assert!(
            error.to_string().contains("`kind` is `after_tool`, but `event_type` is `tool_call_start`"),
            "{error}"
        );
        assert!(decode(br#"{"kind":"before_tool","event_type":7,"tool_name":"Bash"}"#).is_err());
        assert!(
            decode(br#"{"kind":"before_tool","event_type":"tool_call_start","tool_name":"Bash"}"#).is_ok()
        );
    }
}
