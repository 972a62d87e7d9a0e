//! Fields of an event that stand in the wrong place, or under another name. Hosts may send more than the wire has words
//! for; but what is meant for a field that is judged, and stands where nobody looks, would pass unjudged.

use midrail::Event;

/// Names under which a call's arguments are looked for in vain, beside `tool` and inside of it, with where they belong.
const OF_CALLS: &[(&str, &str)] = &[
    ("args", "tool.args"),
    ("arguments", "tool.args"),
    ("input", "tool.args"),
    ("parameters", "tool.args"),
    ("params", "tool.args"),
    ("toolinput", "tool.args"),
    ("command", "tool.args.command"),
];

/// Further names at the top.
const AT_TOP: &[(&str, &str)] = &[
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

/// The first field that was meant for another place, which is empty.
pub(crate) fn of(event: &Event) -> Option<(String, &'static str)> {
    let at_top = event.extra.keys().map(|name| ("", name, AT_TOP));
    let in_tool = event.tool.iter().flat_map(|tool| tool.extra.keys()).map(|name| ("tool.", name, &[][..]));
    at_top.chain(in_tool).find_map(|(place, name, further)| {
        let word: String =
            name.chars().filter(|letter| !matches!(letter, '_' | '-')).flat_map(char::to_lowercase).collect();
        let (_, meant) = OF_CALLS.iter().chain(further).find(|(slip, _)| *slip == word)?;
        is_empty(event, meant)
            .then(|| (format!("{place}{}", name.chars().take(60).collect::<String>()), *meant))
    })
}

/// Whether an event that would have a field there has none.
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
    fn what_stands_where_nobody_looks_is_an_error() {
        for (event, field, meant) in [
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
            (r#"{"kind":"before_model","Text":"k"}"#, "Text", "text"),
        ] {
            let error = decode(event.as_bytes()).unwrap_err().to_string();
            assert_eq!(error, format!("unknown field `{field}`: did you mean `{meant}`?"), "{event}");
        }
    }

    #[test]
    fn what_hosts_send_beside_is_carried() {
        for event in [
            r#"{"kind":"before_tool","tool":{"name":"Bash","args":{"command":"ls"}},"args":["--verbose"]}"#,
            r#"{"kind":"before_tool","tool":{"name":"list"},"transcript_path":"/t","permission_mode":"plan"}"#,
            r#"{"kind":"before_stop","content":"x","input":{}}"#,
            r#"{"kind":"before_tool","tool":{"name":"list","title":"List"}}"#,
        ] {
            let event = decode(event.as_bytes()).unwrap();
            assert!(of(&event).is_none());
        }
    }
}
