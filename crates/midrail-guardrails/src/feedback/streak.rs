//! A tool that fails again and again.

use midrail_core::Context;
use midrail_detect::secrets::shown;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Note;
use super::block::cut;
use super::providers::{Own, at_least_one};

/// A tool that fails again and again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FailingStreak {
    /// How many failures in a row.
    #[serde(deserialize_with = "at_least_one")]
    #[schemars(range(min = 1))]
    pub failures: u64,
}

impl Default for FailingStreak {
    fn default() -> Self {
        FailingStreak { failures: 3 }
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Streak {
    tool: String,
    failures: u64,
    /// The last errors, in short and without secrets.
    errors: Vec<String>,
}

/// Tools whose failures are counted at a time, and errors that are told of each.
const MAX_STREAKS: usize = 16;
const MAX_ERRORS: usize = 3;

/// Characters of an error that are told.
const MAX_ERROR: usize = 200;

impl FailingStreak {
    pub(super) fn note(&self, context: &Context<'_>, own: &Own) -> Option<Note> {
        let tool = context.event.tool_name()?;
        let mut own = own.clone();
        learn_streak(context, false, &mut own);
        let streak = own.streaks.last()?;
        let is_full = streak.failures.is_multiple_of(self.failures);
        if !is_full {
            return None;
        }
        let errors: Vec<String> = streak.errors.iter().map(|error| format!("- {error}")).collect();
        let told = if errors.is_empty() { String::new() } else { " The last errors:\n".to_owned() };
        Some(Note::warning(format!(
            "`{}` has failed {} times in a row.{told}{}\n\n-> Find out why before you call it again.",
            shown(&cut(tool, 64)),
            streak.failures,
            errors.join("\n")
        )))
    }
}

/// Adds a failure to those of its tool, or forgets them after a success.
pub(super) fn learn_streak(context: &Context<'_>, is_success: bool, own: &mut Own) {
    let Some(tool) = context.event.tool_name() else { return };
    let tool = cut(tool, 64);
    let at = own.streaks.iter().position(|streak| streak.tool == tool);
    let mut streak = at.map(|at| own.streaks.remove(at)).unwrap_or_default();
    if is_success {
        return;
    }
    streak.tool = tool;
    streak.failures = streak.failures.saturating_add(1);
    let content = context.event.result.as_ref().and_then(|result| result.content.as_ref());
    let text = match content {
        Some(Value::String(text)) => first_line(text),
        Some(Value::Null) | None => String::new(),
        Some(other) => first_line(&other.to_string()),
    };
    streak.errors.retain(|error| *error != text);
    streak.errors.extend(Some(text).filter(|text| !text.is_empty()));
    let over = streak.errors.len().saturating_sub(MAX_ERRORS);
    streak.errors.drain(..over);
    own.streaks.push(streak);
    let over = own.streaks.len().saturating_sub(MAX_STREAKS);
    own.streaks.drain(..over);
}

/// The first line of an error, in short and without secrets.
fn first_line(error: &str) -> String {
    let line = error.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    cut(&shown(&cut(line, MAX_ERROR * 4)), MAX_ERROR)
}
