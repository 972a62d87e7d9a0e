//! A question to a command on this machine: the event on its standard input, a JSON object on its standard output.

use std::path::Path;

use midrail_guardrails::{CommandLine, UNREADABLE_MEMBER};
use serde_json::{Value, json};

use super::wire::{Call, is_too_deep};
use crate::error::{Available, Unavailable};
use crate::probes::converse;
use crate::unique_keys::UniqueKeys;

/// Runs the command. Without a JSON object, the answer is how it ended and what it printed.
pub(super) fn ask(
    call: &Call<'_>,
    CommandLine(command): &CommandLine,
    root: Option<&Path>,
    event: &Value,
) -> Available<Value> {
    let fail = |problem: &str| Unavailable::new(format!("`{command}` gave no answer: {problem}"));
    let root = root.ok_or_else(|| fail("neither a root nor a `cwd` is known where it could run"))?;
    let left = call.left().ok_or_else(|| fail("there was no time left to run it; raise `timeout`"))?;
    let input = serde_json::to_vec(event).map_err(|error| fail(&error.to_string()))?;
    let limit = call.settings.max_answer_bytes;
    let output = converse(root, command, left, &input, limit, call.stop.flag(), call.key);
    let ran = output.map_err(|error| fail(&error.to_string()))?;
    let Some(exit_code) = ran.exit_code else {
        return Err(fail("it was ended by a signal"));
    };
    let Some(output) = ran.output else {
        return Err(fail(&format!("it printed more than {limit} bytes; raise `max_answer_bytes`")));
    };
    let shown = ran.shown;
    match printed(&output) {
        OutputForm::Object(value) if is_too_deep(&value) => {
            Err(fail("the JSON that it printed is nested too deep"))
        }
        OutputForm::Object(Value::Object(members))
            if exit_code != 0 && members.get("allowed") == Some(&json!(true)) =>
        {
            Err(fail(&format!("it says that this is allowed, and ended with {exit_code}")))
        }
        OutputForm::Object(Value::Object(members))
            if exit_code != 0 && members.get("exit_code") == Some(&json!(0)) =>
        {
            Err(fail(&format!("it says that it ended with 0, and ended with {exit_code}")))
        }
        OutputForm::Object(Value::Object(mut members)) => {
            members.entry("exit_code").or_insert(json!(exit_code));
            Ok(Value::Object(members))
        }
        // As shells have it: not there, or not a program.
        _ if matches!(exit_code, 126 | 127) => Err(fail(&format!("it could not be run ({})", shown.trim()))),
        OutputForm::Unread(why) => {
            Ok(json!({"exit_code": exit_code, "output": shown, UNREADABLE_MEMBER: why}))
        }
        OutputForm::Object(_) | OutputForm::Words => Ok(json!({"exit_code": exit_code, "output": shown})),
    }
}

/// What a command printed.
enum OutputForm {
    /// A JSON object: the last one.
    Object(Value),
    /// Something that looks like JSON, and is no object that can be read.
    Unread(String),
    /// Anything else, or nothing.
    Words,
}

/// Reads what a command printed. JSON begins a line, and may continue over several; other lines, such as those of a log, are
/// passed over. Once something looks like JSON and cannot be read, nothing else counts: it may be the answer.
fn printed(output: &[u8]) -> OutputForm {
    let text = String::from_utf8_lossy(output);
    let mut found = OutputForm::Words;
    if serde_json::from_str::<Vec<Value>>(&text).is_ok() {
        found = OutputForm::Unread("the JSON that it printed is no object".to_owned());
    }
    let mut rest = &*text;
    while !rest.is_empty() {
        let line = rest.trim_start();
        if !looks_like_json(line) {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(line).into_iter::<Value>();
        let value = values.next();
        let (json, after) = line.split_at_checked(values.byte_offset()).unwrap_or((line, ""));
        let once = serde_json::from_str::<UniqueKeys>(json);
        let (behind, next) = after.split_once('\n').unwrap_or((after, ""));
        found = match (value, once) {
            (Some(Ok(value @ Value::Object(_))), Ok(_)) if behind.trim().is_empty() => {
                OutputForm::Object(value)
            }
            (Some(Ok(Value::Object(_))), Ok(_)) => {
                return OutputForm::Unread(
                    "there is more on the line of the JSON that it printed".to_owned(),
                );
            }
            (Some(Ok(_)), Ok(_)) => OutputForm::Unread("the JSON that it printed is no object".to_owned()),
            (Some(Ok(_)), Err(_)) => {
                return OutputForm::Unread("the JSON that it printed has a duplicate key".to_owned());
            }
            (Some(Err(_)) | None, _) => {
                return OutputForm::Unread("it printed JSON that cannot be read".to_owned());
            }
        };
        rest = next;
    }
    found
}

/// Lines of logs begin with brackets, too: `[info]`, `[12:00]`.
fn looks_like_json(line: &str) -> bool {
    let inside = line.strip_prefix('[').map(str::trim_start);
    line.starts_with('{') || inside.is_some_and(|inside| inside.starts_with(['{', '[', '"']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match printed(text.as_bytes()) {
            OutputForm::Object(value) => value.to_string(),
            OutputForm::Unread(why) => why,
            OutputForm::Words => "words".to_owned(),
        }
    }

    #[test]
    fn the_last_object_counts() {
        for text in [
            "{\"allowed\":false}",
            "loading\n{\"allowed\":false}\n",
            "[info] loading\n[12:00] ready\n  {\"allowed\":false}\ndone\n",
            "{\"allowed\":true}\n{\"allowed\":false}",
            "log\n{\n\"allowed\":\nfalse\n}\n",
        ] {
            assert_eq!(read(text), "{\"allowed\":false}", "{text}");
        }
        // A member of an object is not an answer of its own.
        let nested = "log\n{\"why\": [\n{\"allowed\": true}\n],\n\"allowed\": false}";
        assert!(read(nested).starts_with("{\"allowed\":false"), "{}", read(nested));
    }

    #[test]
    fn unreadable_json_is_not_taken_for_text() {
        for (text, part) in [
            ("{\"allowed\": fal", "cannot be read"),
            ("{'allowed': False}", "cannot be read"),
            ("{\"allowed\":true}\n{\"allowed\":fal", "cannot be read"),
            ("{\"allowed\":true} {\"allowed\":false}", "more on the line"),
            ("{\"allowed\":false,\"allowed\":true}", "duplicate key"),
            ("[{\"allowed\":false}]", "no object"),
            ("[1]", "no object"),
            ("log\n[\"a\"]", "no object"),
        ] {
            assert!(read(text).contains(part), "{text}: {}", read(text));
        }
        for text in ["", "\n", "fine", "[info] fine", "3 {} passed", "true"] {
            assert_eq!(read(text), "words", "{text}");
        }
    }
}
