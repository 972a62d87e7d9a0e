//! The sources of feedback: fixed texts, the deadline, and observations about the progress of the work.

use midrail_core::{ActionType, PackCommand};
use midrail_scan::secrets::redact;

use super::budget::BudgetNote;
use super::history::{Call, History};
use super::state::{Note, ProviderState};
use super::streak::{FailingStreak, record_streak};
use crate::prelude::*;
use crate::shared::data::{PROGRAMS, TOOLS};
use crate::shared::durations::{Seconds, Timeout};
use crate::shared::feedback_block::duration;
use crate::shared::settings::{CommandLine, Pattern, any_matches, at_least_one, patterns, within};
use crate::shared::todo_list::TodoList;

/// The slice with the to-do list that a provider follows.
fn list_key(context: &Context<'_>) -> Key<TodoList> {
    Key::own(context, "list")
}

/// The source of a provider.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FeedbackSource {
    Static(String),
    Deadline(DeadlineNote),
    RepeatedCalls(RepeatedCalls),
    NoProgress(NoProgress),
    Budget(BudgetNote),
    FailingStreak(FailingStreak),
    StalePlan(StalePlan),
    Command(CommandNote),
}

/// Reports the time used and the time left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeadlineNote {
    /// From this remaining time on, the note also says what to do.
    #[serde(alias = "warning_threshold_seconds")]
    pub warning_threshold: Seconds,
}

impl Default for DeadlineNote {
    fn default() -> Self {
        DeadlineNote { warning_threshold: Seconds(120.0) }
    }
}

/// Reports repeated calls, or repeated cycles of calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RepeatedCalls {
    /// Repetitions in a row.
    #[serde(deserialize_with = "within::<_, _, 2, 10>")]
    #[schemars(range(min = 2, max = 10))]
    pub times: usize,
    /// Maximum length of a cycle. 1: only the same call.
    #[serde(deserialize_with = "within::<_, _, 1, 4>")]
    #[schemars(range(min = 1, max = 4))]
    pub circle: usize,
    /// Tools that may be called repeatedly: names or glob patterns.
    pub ignore: Vec<Pattern>,
}

impl Default for RepeatedCalls {
    fn default() -> Self {
        RepeatedCalls { times: 3, circle: 4, ignore: Vec::new() }
    }
}

/// Reports many calls that changed no file and ran no test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NoProgress {
    /// Number of calls.
    #[serde(deserialize_with = "at_least_one")]
    #[schemars(range(min = 1))]
    pub calls: u64,
    /// Further tools that count as progress: names or glob patterns.
    pub tools: Vec<Pattern>,
}

impl Default for NoProgress {
    fn default() -> Self {
        NoProgress { calls: 20, tools: Vec::new() }
    }
}

/// Reports a to-do list with open entries that is not updated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StalePlan {
    /// Number of calls.
    #[serde(deserialize_with = "at_least_one")]
    #[schemars(range(min = 1))]
    pub calls: u64,
    /// The tools that manage the list: names or glob patterns.
    pub tools: Vec<Pattern>,
}

impl Default for StalePlan {
    fn default() -> Self {
        StalePlan { calls: 20, tools: patterns(TOOLS.list("to-do tools")) }
    }
}

/// Reports the output of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandNote {
    /// The command.
    pub run: CommandLine,
    /// The time limit.
    #[serde(default = "Timeout::seconds::<30>")]
    pub timeout: Timeout,
    /// Whether it adds a note only if the command fails.
    #[serde(default)]
    pub failing_only: bool,
}

impl FeedbackSource {
    /// For sources that need no trigger: the number of calls without a note after each note.
    pub(super) fn pause(&self) -> Option<u64> {
        match self {
            FeedbackSource::Static(_) | FeedbackSource::Deadline(_) | FeedbackSource::Command(_) => None,
            FeedbackSource::RepeatedCalls(settings) => u64::try_from(settings.times).ok(),
            FeedbackSource::NoProgress(settings) => Some(settings.calls),
            FeedbackSource::StalePlan(settings) => Some(settings.calls),
            FeedbackSource::Budget(_) | FeedbackSource::FailingStreak(_) => Some(1),
        }
    }

    /// The note for a call, if it is due.
    pub(super) fn note(
        &self,
        context: &Context<'_>,
        own: &ProviderState,
        history: &History,
        has_trigger: bool,
    ) -> Result<Option<Note>, Fault> {
        Ok(match self {
            FeedbackSource::Static(text) => Some(Note::info(text)),
            FeedbackSource::Deadline(settings) => settings.note(context)?,
            FeedbackSource::RepeatedCalls(settings) => settings.note(context, history),
            FeedbackSource::NoProgress(settings) => settings.note(context, own)?,
            FeedbackSource::Budget(settings) => settings.note(context, own, history, has_trigger)?,
            FeedbackSource::FailingStreak(settings) => settings.note(context, own),
            FeedbackSource::StalePlan(settings) => settings.note(context, own),
            FeedbackSource::Command(settings) => settings.note(context),
        })
    }

    /// Stores what later notes need to know about a call.
    pub(super) fn record(
        &self,
        context: &Context<'_>,
        is_success: bool,
        has_noted: bool,
        own: &mut ProviderState,
        changes: &mut Changes,
    ) -> Result<(), Fault> {
        match self {
            FeedbackSource::NoProgress(settings) => {
                // A failing test is progress as well.
                if settings.is_progress(context) {
                    own.idle = 0;
                } else if is_success {
                    own.idle = own.idle.saturating_add(1);
                }
            }
            FeedbackSource::StalePlan(settings) if is_success => {
                if settings.is_list(context) {
                    own.idle = 0;
                    let before = list_key(context).read(context)?.unwrap_or_default();
                    if let Some(after) = before.after_any(context.event) {
                        own.open = u64::try_from(after.open().len()).unwrap_or(u64::MAX);
                        list_key(context).write(changes, &after)?;
                    }
                } else if own.open > 0 {
                    own.idle = own.idle.saturating_add(1);
                }
            }
            FeedbackSource::Budget(settings) if has_noted => own.steps = settings.reached(context),
            FeedbackSource::FailingStreak(_) => record_streak(context, is_success, own),
            FeedbackSource::Static(_)
            | FeedbackSource::Deadline(_)
            | FeedbackSource::RepeatedCalls(_)
            | FeedbackSource::Budget(_)
            | FeedbackSource::StalePlan(_)
            | FeedbackSource::Command(_) => {}
        }
        Ok(())
    }
}

/// The share of the warning threshold from which on the note is most urgent.
const LAST_SHARE: f64 = 0.25;

impl DeadlineNote {
    fn note(&self, context: &Context<'_>) -> Result<Option<Note>, Missing> {
        let Some(deadline) = context.deadline()? else { return Ok(None) };
        let now = context.now()?;
        let began = context.run_start()?;
        let took = duration(now.duration_since(began).as_secs());
        let left = deadline.duration_since(now);
        if !left.is_positive() {
            return Ok(Some(Note::warning(format!(
                "The work took {took}. You have reached the time deadline.\n\n-> Wrap up immediately."
            ))));
        }
        let text = format!("The work so far took {took}. You have {} remaining", duration(left.as_secs()));
        let share = left.as_secs_f64() / self.warning_threshold.0;
        if share.is_nan() || share > 1.0 {
            return Ok(Some(Note::info(format!("{text} to complete the task."))));
        }
        let mut note = format!(
            "{text}.\n\n-> Prioritize completing critical remaining work.\n-> Write down what is done and what is left."
        );
        if share <= LAST_SHARE {
            note.push_str("\n-> Start nothing new.");
        }
        Ok(Some(Note::warning(note)))
    }
}

impl RepeatedCalls {
    fn note(&self, context: &Context<'_>, history: &History) -> Option<Note> {
        let this = Call::from_context(context, true)?;
        if any_matches(&self.ignore, &this.tool) {
            return None;
        }
        let mut calls: Vec<&Call> =
            history.recent.iter().filter(|call| !any_matches(&self.ignore, &call.tool)).collect();
        calls.push(&this);
        let around = (1..=self.circle).find(|around| self.is_cycle(&calls, *around))?;
        let times = self.times;
        if around == 1 {
            let tool = redact(&this.tool);
            return Some(Note::warning(format!(
                "You have called `{tool}` with the same arguments {times} times in a row. Its answer is unlikely to \
                 change.\n\n-> Use the previous answer, or try another approach."
            )));
        }
        let first = calls.len().saturating_sub(around);
        let tools: Vec<String> =
            calls.iter().skip(first).map(|call| format!("`{}`", redact(&call.tool))).collect();
        Some(Note::warning(format!(
            "You are repeating a cycle: the same {around} calls ({}) came {times} times in a row.\n\n-> Choose another \
             approach.",
            tools.join(", ")
        )))
    }

    /// Whether the last calls repeat a cycle of this length.
    fn is_cycle(&self, calls: &[&Call], around: usize) -> bool {
        let Some(first) = calls.len().checked_sub(around.saturating_mul(self.times)) else { return false };
        let last = calls.iter().skip(first);
        last.clone()
            .zip(last.skip(around))
            .all(|(one, other)| one.tool == other.tool && one.args == other.args)
    }
}

impl NoProgress {
    fn note(&self, context: &Context<'_>, own: &ProviderState) -> Result<Option<Note>, Missing> {
        let calls = own.idle.saturating_add(1);
        if calls < self.calls {
            return Ok(None);
        }
        // An unknown call does not count as progress.
        if self.is_progress(context) {
            return Ok(None);
        }
        Ok(Some(Note::warning(format!(
            "The last {calls} calls changed no file and ran no test.\n\n-> Decide on the next change and make it, \
             or report what prevents it."
        ))))
    }

    fn is_progress(&self, context: &Context<'_>) -> bool {
        if context.event.tool_name().is_some_and(|tool| any_matches(&self.tools, tool)) {
            return true;
        }
        let Ok(action) = context.action() else { return false };
        let runs_tests = |command: &str| {
            command.split([' ', '\t', '\n', ';', '&', '|', '(', ')']).any(|word| {
                let name = word.rsplit('/').next().unwrap_or(word);
                PROGRAMS.has("test runners", name) || name.starts_with("test:")
            })
        };
        action.kind == ActionType::FileWrite
            || !action.writes.is_empty()
            || action.command.as_deref().is_some_and(runs_tests)
    }
}

impl StalePlan {
    fn note(&self, context: &Context<'_>, own: &ProviderState) -> Option<Note> {
        let calls = own.idle.saturating_add(1);
        if own.open == 0 || calls < self.calls || self.is_list(context) {
            return None;
        }
        let entries = if own.open == 1 { "1 entry".to_owned() } else { format!("{} entries", own.open) };
        Some(Note::info(format!(
            "Your to-do list has {entries} open and was not updated for {calls} calls.\n\n-> Update it, and continue \
             with the open entries."
        )))
    }

    fn is_list(&self, context: &Context<'_>) -> bool {
        context.event.tool_name().is_some_and(|tool| any_matches(&self.tools, tool))
    }
}

impl CommandNote {
    fn note(&self, context: &Context<'_>) -> Option<Note> {
        let run = PackCommand { command: self.run.0.clone(), timeout_ms: self.timeout.0 };
        let line = &self.run.0;
        let end = match context.command(&run) {
            Ok(end) => end,
            // A note, so that a hanging command does not run again with the next call.
            Err(missing) => return Some(Note::warning(format!("`{line}` could not be run: {missing}"))),
        };
        let output = end.output.trim();
        match end.exit_code {
            Some(0) if self.failing_only || output.is_empty() => None,
            Some(0) => Some(Note::info(output)),
            Some(code) => Some(Note::warning(format!("`{line}` exited with code {code}.\n{output}"))),
            None => Some(Note::warning(format!("`{line}` was ended by a signal.\n{output}"))),
        }
    }
}
