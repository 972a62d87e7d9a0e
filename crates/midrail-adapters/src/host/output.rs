//! The output of a hook process.

use serde_json::Value;

use crate::messages;

/// The output of a hook process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookOutput {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

impl HookOutput {
    /// A JSON object on standard output.
    pub fn json(value: &Value) -> Self {
        HookOutput { stdout: format!("{value}\n"), ..HookOutput::default() }
    }

    /// The refusal that every host understands: a reason on standard error, nothing on standard output, exit code 2.
    pub fn refusal(reason: &str) -> Self {
        let reason = if reason.trim().is_empty() { messages::NO_REASON } else { reason };
        HookOutput { stdout: String::new(), stderr: format!("{}\n", reason.trim_end()), code: 2 }
    }

    /// Adds a message for the user, in a field that the host shows. An exit code other than 0 shows only the refusal.
    pub fn with_user_message(mut self, field: &str, text: &str) -> Self {
        let answer = if self.stdout.is_empty() { "{}" } else { &self.stdout };
        if self.code == 0
            && let Ok(Value::Object(mut answer)) = serde_json::from_str(answer)
        {
            let lines = answer.get(field).and_then(Value::as_str).into_iter().chain([text]);
            let lines: Vec<&str> = lines.collect();
            answer.insert(field.to_owned(), Value::from(lines.join("\n")));
            self.stdout = format!("{}\n", Value::Object(answer));
        }
        self
    }

    /// A message for people with an answer that allows.
    pub fn remark(text: &str) -> Self {
        HookOutput { stderr: format!("{}\n", text.trim_end()), ..HookOutput::default() }
    }
}
