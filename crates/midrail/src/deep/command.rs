//! A question to a command on this machine: the event on its standard input, a JSON object on its standard output.

use std::path::Path;

use midrail_guardrails::CommandLine;
use serde_json::{Value, json};

use super::wire::{Call, is_too_deep};
use crate::probes::converse;

/// Runs the command. Without a JSON object, the answer is how it ended and what it printed.
pub(super) fn ask(
    call: &Call<'_>,
    CommandLine(command): &CommandLine,
    root: Option<&Path>,
    event: &Value,
) -> Result<Value, String> {
    let fail = |what: &str| format!("`{command}` gave no answer: {what}");
    let root = root.ok_or_else(|| fail("neither a root nor a `cwd` is known where it could run"))?;
    let left = call.left().ok_or_else(|| fail("there was no time left to run it; raise `timeout`"))?;
    let input = serde_json::to_vec(event).map_err(|error| fail(&error.to_string()))?;
    let limit = call.settings.max_answer_bytes;
    let heard = converse(root, command, left, &input, limit, call.stop.flag(), call.key);
    let heard = heard.map_err(|why| fail(&why))?;
    let Some(exit_code) = heard.exit_code else {
        return Err(fail("it was ended by a signal"));
    };
    let Some(output) = heard.output else {
        return Err(fail(&format!("it printed more than {limit} bytes; raise `max_answer_bytes`")));
    };
    match serde_json::from_slice(&output) {
        Ok(value @ Value::Object(_)) if is_too_deep(&value) => {
            Err(fail("the JSON that it printed is nested too deep"))
        }
        Ok(Value::Object(members)) if exit_code != 0 && members.get("allowed") == Some(&json!(true)) => {
            Err(fail(&format!("it says that this is allowed, and ended with {exit_code}")))
        }
        Ok(Value::Object(mut members)) => {
            members.entry("exit_code").or_insert(json!(exit_code));
            Ok(Value::Object(members))
        }
        // As shells have it: not there, or not a program.
        _ if matches!(exit_code, 126 | 127) => {
            Err(fail(&format!("it could not be run ({})", heard.told.trim())))
        }
        _ => Ok(json!({"exit_code": exit_code, "output": heard.told})),
    }
}
