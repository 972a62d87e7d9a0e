//! Fields of an event with a wrong name or place. Hosts may send additional fields, but no guardrail would check a
//! misplaced argument.

use midrail::Event;

/// Wrong names for the arguments of a call, at the top and in `tool`, with the right path.
const CALL_FIELDS: &[(&str, &str)] = &[
    ("args", "tool.args"),
    ("arguments", "tool.args"),
    ("input", "tool.args"),
    ("parameters", "tool.args"),
    ("params", "tool.args"),
    ("toolinput", "tool.args"),
    ("toolinputs", "tool.args"),
    ("toolargs", "tool.args"),
    ("toolarguments", "tool.args"),
    ("toolparams", "tool.args"),
    ("toolparameters", "tool.args"),
    ("inputs", "tool.args"),
    ("argument", "tool.args"),
    ("kwargs", "tool.args"),
    ("payload", "tool.args"),
    ("command", "tool.args.command"),
    ("cmd", "tool.args.command"),
    ("commandline", "tool.args.command"),
];

/// Further fields of `tool` that are no arguments.
const TOOL_FIELDS: &[&str] =
    &["annotations", "meta", "metadata", "schema", "inputschema", "outputschema", "server"];

/// Further wrong names at the top.
const TOP_FIELDS: &[(&str, &str)] = &[
    ("name", "tool.name"),
    ("toolcall", "tool"),
    ("tools", "tool"),
    ("content", "result.content"),
    ("toolresult", "result"),
    ("results", "result"),
    ("toolresponse", "result"),
    ("tool", "tool"),
    ("result", "result"),
    ("text", "text"),
    ("prompttext", "text"),
];

/// Wrong names in `result`.
const RESULT_FIELDS: &[(&str, &str)] =
    &[("iserror", "result.ok"), ("success", "result.ok"), ("exitcode", "result.exit_code")];

/// The first misplaced field, with the right path, if that is empty.
pub(crate) fn field(event: &Event) -> Option<(String, &'static str)> {
    misplaced_call(event).or_else(|| misplaced_outcome(event))
}

/// Without it, a failed call would count as one that succeeded.
fn misplaced_outcome(event: &Event) -> Option<(String, &'static str)> {
    let result = event.result.as_ref().filter(|result| result.ok.is_none() && result.exit_code.is_none())?;
    result.extra.keys().find_map(|name| {
        let (_, expected) = RESULT_FIELDS.iter().find(|(wrong, _)| *wrong == letters(name))?;
        Some((format!("result.{}", name.chars().take(60).collect::<String>()), *expected))
    })
}

/// A name in lowercase, without separators.
fn letters(name: &str) -> String {
    name.chars().filter(|letter| !matches!(letter, '_' | '-')).flat_map(char::to_lowercase).collect()
}

fn misplaced_call(event: &Event) -> Option<(String, &'static str)> {
    let at_top = event.extra.keys().map(|name| ("", name, TOP_FIELDS));
    let in_tool = event.tool.iter().flat_map(|tool| tool.extra.keys()).map(|name| ("tool.", name, &[][..]));
    let named = at_top.chain(in_tool).find_map(|(parent, name, further)| {
        let word = letters(name);
        let (_, expected) = CALL_FIELDS.iter().chain(further).find(|(wrong, _)| *wrong == word)?;
        is_empty(event, expected)
            .then(|| (format!("{parent}{}", name.chars().take(60).collect::<String>()), *expected))
    });
    named.or_else(|| unnamed_arguments(event))
}

/// An object in `tool` under another name than `args`, for a call without arguments. It may well be its arguments.
fn unnamed_arguments(event: &Event) -> Option<(String, &'static str)> {
    let tool = event.tool.as_ref().filter(|_| is_empty(event, "tool.args"))?;
    let is_other = |name: &str| TOOL_FIELDS.contains(&letters(name).trim_start_matches('$'));
    let (name, _) = tool.extra.iter().find(|(name, value)| {
        !is_other(name) && value.as_object().is_some_and(|fields| !fields.is_empty())
    })?;
    Some((format!("tool.{}", name.chars().take(60).collect::<String>()), "tool.args"))
}

/// Whether an event lacks a field that its kind has.
fn is_empty(event: &Event, field: &str) -> bool {
    let kind = event.kind.as_str();
    match field.split('.').next() {
        Some("tool") => {
            kind.ends_with("_tool") && event.tool.as_ref().is_none_or(|tool| tool.args.is_empty())
        }
        Some("result") => kind == "after_tool" && event.result.is_none(),
        _ => kind.contains("model") && event.text.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::decode;

    #[test]
    fn misplaced_field_is_an_error() {
        for (event, name, expected) in [
            (r#"{"kind":"before_tool","tool":{"name":"Bash"},"args":{"command":"ls"}}"#, "args", "tool.args"),
            (r#"{"kind":"PreToolUse","Tool":{"name":"Bash"}}"#, "Tool", "tool"),
            (
                r#"{"kind":"before_tool","tool":{"name":"Bash","input":{"command":"ls"}}}"#,
                "tool.input",
                "tool.args",
            ),
            (
                r#"{"kind":"before_tool","tool":{"name":"Bash"},"command":"ls"}"#,
                "command",
                "tool.args.command",
            ),
            (
                r#"{"kind":"after_tool","tool":{"name":"x","args":{"a":1}},"content":"k"}"#,
                "content",
                "result.content",
            ),
            (
                r#"{"kind":"before_tool","tool":{"name":"Bash","cmd":"rm -rf ~"}}"#,
                "tool.cmd",
                "tool.args.command",
            ),
            (
                r#"{"kind":"before_tool","tool":{"name":"x","tool_args":{"command":"ls"}}}"#,
                "tool.tool_args",
                "tool.args",
            ),
            (
                r#"{"kind":"before_tool","tool":{"name":"x","kwargs":{"command":"ls"}}}"#,
                "tool.kwargs",
                "tool.args",
            ),
            (
                r#"{"kind":"before_tool","tool":{"name":"x","with":{"command":"ls"}}}"#,
                "tool.with",
                "tool.args",
            ),
            (
                r#"{"kind":"before_tool","tool":{"name":"x"},"tool_args":{"command":"ls"}}"#,
                "tool_args",
                "tool.args",
            ),
            (r#"{"kind":"before_model","Text":"k"}"#, "Text", "text"),
            (
                r#"{"kind":"after_tool","tool":{"name":"x"},"result":{"is_error":true,"content":"k"}}"#,
                "result.is_error",
                "result.ok",
            ),
        ] {
            let error = decode(event.as_bytes()).unwrap_err().to_string();
            assert_eq!(error, format!("unknown field `{name}`: did you mean `{expected}`?"), "{event}");
        }
    }

    #[test]
    fn additional_fields_are_kept() {
        for event in [
            r#"{"kind":"before_tool","tool":{"name":"Bash","args":{"command":"ls"}},"args":["--verbose"]}"#,
            r#"{"kind":"before_tool","tool":{"name":"list"},"transcript_path":"/t","permission_mode":"plan"}"#,
            r#"{"kind":"before_stop","content":"x","input":{}}"#,
            r#"{"kind":"before_tool","tool":{"name":"list","title":"List"}}"#,
            r#"{"kind":"before_tool","tool":{"name":"list","annotations":{"readOnlyHint":true}}}"#,
        ] {
            let event = decode(event.as_bytes()).unwrap();
            assert!(field(&event).is_none());
        }
    }
}
