//! A tool that fails repeatedly.

use midrail_scan::secrets::redact;

use super::state::{Note, ProviderState};
use crate::prelude::*;
use crate::shared::outcome::error_text;
use crate::shared::settings::at_least_one;
use crate::shared::text::{first_error_line, shorten};

/// Reports a tool that fails repeatedly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FailingStreak {
    /// Failures in a row.
    #[serde(deserialize_with = "at_least_one")]
    #[schemars(range(min = 1))]
    pub failures: u64,
}

impl Default for FailingStreak {
    fn default() -> Self {
        FailingStreak { failures: 3 }
    }
}

/// Maximum number of tracked tools, and of reported errors per tool.
const MAX_STREAKS: usize = 16;
const MAX_ERRORS: usize = 3;

impl FailingStreak {
    pub(super) fn note(&self, context: &Context<'_>, own: &ProviderState) -> Option<Note> {
        let tool = context.event.tool_name()?;
        let mut own = own.clone();
        record_streak(context, false, &mut own);
        let streak = own.streaks.last()?;
        let is_full = streak.failures.is_multiple_of(self.failures);
        if !is_full {
            return None;
        }
        let errors: Vec<String> = streak.errors.iter().map(|error| format!("- {error}")).collect();
        let intro = if errors.is_empty() { String::new() } else { " The last errors:\n".to_owned() };
        Some(Note::warning(format!(
            "`{}` has failed {} times in a row.{intro}{}\n\n-> Find out why before you call it again.",
            redact(&shorten(tool, 64)),
            streak.failures,
            errors.join("\n")
        )))
    }
}

/// Counts a failure of a tool, or resets the count after a success.
pub(super) fn record_streak(context: &Context<'_>, is_success: bool, own: &mut ProviderState) {
    let Some(tool) = context.event.tool_name() else { return };
    let tool = shorten(tool, 64);
    let at = own.streaks.iter().position(|streak| streak.tool == tool);
    let mut streak = at.map(|at| own.streaks.remove(at)).unwrap_or_default();
    if is_success {
        return;
    }
    streak.tool = tool;
    streak.failures = streak.failures.saturating_add(1);
    let text = first_error_line(&error_text(context.event));
    streak.errors.retain(|error| *error != text);
    streak.errors.extend(Some(text).filter(|text| !text.is_empty()));
    let over = streak.errors.len().saturating_sub(MAX_ERRORS);
    streak.errors.drain(..over);
    own.streaks.push(streak);
    let over = own.streaks.len().saturating_sub(MAX_STREAKS);
    own.streaks.drain(..over);
}
