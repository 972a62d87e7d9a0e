//! What providers say: fixed texts, the deadline, and what they notice about the way that the work goes.

use jiff::Timestamp;
use midrail_core::{ActionType, Changes, Context, Fault, Missing, Run, glob};
use midrail_detect::secrets::shown;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::block::duration;
use super::budget::BudgetNote;
use super::history::{Call, History};
use super::streak::{FailingStreak, Streak, learn_streak};
use super::{Note, OWN};
use crate::ran::{CommandLine, Timeout};
use crate::seconds::Seconds;
use crate::settings::Pattern;
use crate::todo_list::{self, TodoList};

/// The slice of a to-do list that a provider follows.
const LIST: &str = "list";

/// What a provider says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Provide {
    Static(String),
    Deadline(DeadlineNote),
    RepeatedCalls(RepeatedCalls),
    NoProgress(NoProgress),
    Budget(BudgetNote),
    FailingStreak(FailingStreak),
    StalePlan(StalePlan),
    Command(CommandNote),
}

/// What a provider keeps for itself. Its size is bounded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Own {
    /// Calls since it last spoke.
    pub(super) since: u64,
    /// It has spoken.
    pub(super) has_spoken: bool,
    /// When it last spoke.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last: Option<Timestamp>,
    /// Calls since something moved: a file, a test, the list.
    #[serde(skip_serializing_if = "is_zero")]
    idle: u64,
    /// Open entries of the list.
    #[serde(skip_serializing_if = "is_zero")]
    open: u64,
    /// Steps of the budgets that were told.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) steps: u64,
    /// Tools that fail, the latest at the end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) streaks: Vec<Streak>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Own {
    pub(super) fn of(context: &Context<'_>) -> Result<Self, Missing> {
        let slice = context.state(OWN)?;
        Ok(slice.and_then(|slice| Own::deserialize(slice).ok()).unwrap_or_default())
    }

    pub(super) fn kept(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The time used and the time left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeadlineNote {
    /// With this much time left or less, it also says what to do.
    #[serde(alias = "warning_threshold_seconds")]
    pub warning_threshold: Seconds,
}

impl Default for DeadlineNote {
    fn default() -> Self {
        DeadlineNote { warning_threshold: Seconds(120.0) }
    }
}

/// The same call, or the same few in a circle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RepeatedCalls {
    /// How many times in a row.
    #[serde(deserialize_with = "two_to_ten")]
    #[schemars(range(min = 2, max = 10))]
    pub times: usize,
    /// The most calls of a circle. 1: only the same call again.
    #[serde(deserialize_with = "up_to_four")]
    #[schemars(range(min = 1, max = 4))]
    pub circle: usize,
    /// Tools that may be called again and again: names or glob patterns.
    pub ignore: Vec<Pattern>,
}

impl Default for RepeatedCalls {
    fn default() -> Self {
        RepeatedCalls { times: 3, circle: 4, ignore: Vec::new() }
    }
}

/// Many calls with no file changed and no test run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NoProgress {
    /// How many.
    #[serde(deserialize_with = "at_least_one")]
    #[schemars(range(min = 1))]
    pub calls: u64,
    /// Further tools that are progress: names or glob patterns.
    pub tools: Vec<Pattern>,
}

impl Default for NoProgress {
    fn default() -> Self {
        NoProgress { calls: 20, tools: Vec::new() }
    }
}

/// A to-do list with open entries that nobody touches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StalePlan {
    /// For how many calls.
    #[serde(deserialize_with = "at_least_one")]
    #[schemars(range(min = 1))]
    pub calls: u64,
    /// The tools that keep the list: names or glob patterns.
    pub tools: Vec<Pattern>,
}

impl Default for StalePlan {
    fn default() -> Self {
        let tools = todo_list::TOOLS.iter().map(|tool| Pattern((*tool).to_owned()));
        StalePlan { calls: 20, tools: tools.collect() }
    }
}

/// What a command prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandNote {
    /// The command.
    pub run: CommandLine,
    /// How long it may take.
    #[serde(default = "thirty_seconds")]
    pub timeout: Timeout,
    /// Whether it says something only where the command does not end well.
    #[serde(default)]
    pub failing_only: bool,
}

fn thirty_seconds() -> Timeout {
    Timeout::seconds(30)
}

pub(super) fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match u64::deserialize(deserializer)? {
        0 => Err(D::Error::custom("`0` is no number from 1 on")),
        count => Ok(count),
    }
}

fn two_to_ten<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        count @ 2..=10 => Ok(count),
        count => Err(D::Error::custom(format!("`{count}` is no number from 2 to 10"))),
    }
}

fn up_to_four<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        count @ 1..=4 => Ok(count),
        count => Err(D::Error::custom(format!("`{count}` is no number from 1 to 4"))),
    }
}

fn any_fits(patterns: &[Pattern], name: &str) -> bool {
    patterns.iter().any(|pattern| glob::name_matches(&pattern.0, name))
}

impl Provide {
    /// For those that look for something and need no trigger: the calls for which they are silent once they spoke.
    pub(super) fn pause(&self) -> Option<u64> {
        match self {
            Provide::Static(_) | Provide::Deadline(_) | Provide::Command(_) => None,
            Provide::RepeatedCalls(settings) => u64::try_from(settings.times).ok(),
            Provide::NoProgress(settings) => Some(settings.calls),
            Provide::StalePlan(settings) => Some(settings.calls),
            Provide::Budget(_) | Provide::FailingStreak(_) => Some(1),
        }
    }

    /// What it has to say of a call, where it is its turn.
    pub(super) fn note(
        &self,
        context: &Context<'_>,
        own: &Own,
        history: &History,
        has_trigger: bool,
    ) -> Result<Option<Note>, Fault> {
        Ok(match self {
            Provide::Static(text) => Some(Note::info(text)),
            Provide::Deadline(settings) => settings.note(context)?,
            Provide::RepeatedCalls(settings) => settings.note(context, history),
            Provide::NoProgress(settings) => settings.note(context, own)?,
            Provide::Budget(settings) => settings.note(context, own, history, has_trigger)?,
            Provide::FailingStreak(settings) => settings.note(context, own),
            Provide::StalePlan(settings) => settings.note(context, own),
            Provide::Command(settings) => settings.note(context),
        })
    }

    /// Keeps what it needs to know of a call later.
    pub(super) fn learn(
        &self,
        context: &Context<'_>,
        is_success: bool,
        has_spoken: bool,
        own: &mut Own,
        changes: &mut Changes,
    ) -> Result<(), Fault> {
        match self {
            Provide::NoProgress(settings) => {
                // A test that fails is progress as well.
                if settings.is_progress(context) {
                    own.idle = 0;
                } else if is_success {
                    own.idle = own.idle.saturating_add(1);
                }
            }
            Provide::StalePlan(settings) if is_success => {
                if settings.is_list(context) {
                    own.idle = 0;
                    let before = TodoList::kept(context.state(LIST)?);
                    if let Some(after) = before.after_any(context.event) {
                        own.open = u64::try_from(after.open().len()).unwrap_or(u64::MAX);
                        let after = serde_json::to_value(after);
                        changes
                            .set(context.key(LIST), after.map_err(|error| Fault::Failed(error.to_string()))?);
                    }
                } else if own.open > 0 {
                    own.idle = own.idle.saturating_add(1);
                }
            }
            Provide::Budget(settings) if has_spoken => own.steps = settings.reached(context),
            Provide::FailingStreak(_) => learn_streak(context, is_success, own),
            Provide::Static(_)
            | Provide::Deadline(_)
            | Provide::RepeatedCalls(_)
            | Provide::Budget(_)
            | Provide::StalePlan(_)
            | Provide::Command(_) => {}
        }
        Ok(())
    }
}

impl DeadlineNote {
    fn note(&self, context: &Context<'_>) -> Result<Option<Note>, Missing> {
        let Some(deadline) = context.deadline()? else { return Ok(None) };
        let now = context.now()?;
        let began = context.began()?;
        let took = duration(now.duration_since(began).as_secs());
        let left = deadline.duration_since(now);
        if !left.is_positive() {
            return Ok(Some(Note::warning(format!(
                "The work took {took}. You have reached the time deadline.\n\n-> Wrap up immediately."
            ))));
        }
        let text = format!(
            "The work so far took {took}. You have {} remaining to complete the task.",
            duration(left.as_secs())
        );
        Ok(Some(if left.as_secs_f64() > self.warning_threshold.0 {
            Note::info(text)
        } else {
            Note::warning(format!(
                "{text}\n\n-> Prioritize completing critical remaining work.\n-> Write down what is done and what is \
                 left."
            ))
        }))
    }
}

impl RepeatedCalls {
    fn note(&self, context: &Context<'_>, history: &History) -> Option<Note> {
        let this = Call::of(context, true)?;
        if any_fits(&self.ignore, &this.tool) {
            return None;
        }
        let mut calls: Vec<&Call> =
            history.recent.iter().filter(|call| !any_fits(&self.ignore, &call.tool)).collect();
        calls.push(&this);
        let around = (1..=self.circle).find(|around| self.goes_round(&calls, *around))?;
        let times = self.times;
        if around == 1 {
            let tool = shown(&this.tool);
            return Some(Note::warning(format!(
                "You have called `{tool}` with the same arguments {times} times in a row. Its answer will hardly \
                 change.\n\n-> Use what it told you, or try something else."
            )));
        }
        let first = calls.len().saturating_sub(around);
        let tools: Vec<String> =
            calls.iter().skip(first).map(|call| format!("`{}`", shown(&call.tool))).collect();
        Some(Note::warning(format!(
            "You are going in a circle: the same {around} calls ({}) came {times} times in a row.\n\n-> Step back, and \
             choose another way.",
            tools.join(", ")
        )))
    }

    /// Whether the last calls are the same few, again and again.
    fn goes_round(&self, calls: &[&Call], around: usize) -> bool {
        let Some(first) = calls.len().checked_sub(around.saturating_mul(self.times)) else { return false };
        let last = calls.iter().skip(first);
        last.clone()
            .zip(last.skip(around))
            .all(|(one, other)| one.tool == other.tool && one.args == other.args)
    }
}

/// Words that run tests where they stand in a command line.
const TESTS: &[&str] =
    &["test", "pytest", "jest", "vitest", "ctest", "nextest", "tox", "rspec", "phpunit", "unittest", "mocha"];

impl NoProgress {
    fn note(&self, context: &Context<'_>, own: &Own) -> Result<Option<Note>, Missing> {
        let calls = own.idle.saturating_add(1);
        if calls < self.calls {
            return Ok(None);
        }
        // What a call does that nobody understands is not known to be progress.
        if self.is_progress(context) {
            return Ok(None);
        }
        Ok(Some(Note::warning(format!(
            "The last {calls} calls changed no file and ran no test.\n\n-> Decide what the next change is, and make it; \
             or say what keeps you from it."
        ))))
    }

    fn is_progress(&self, context: &Context<'_>) -> bool {
        if context.event.tool_name().is_some_and(|tool| any_fits(&self.tools, tool)) {
            return true;
        }
        let Ok(action) = context.action() else { return false };
        let runs_tests = |command: &str| {
            command.split([' ', '\t', '\n', ';', '&', '|', '(', ')']).any(|word| {
                let name = word.rsplit('/').next().unwrap_or(word);
                TESTS.contains(&name) || name.starts_with("test:")
            })
        };
        action.kind == ActionType::FileWrite
            || !action.writes.is_empty()
            || action.command.as_deref().is_some_and(runs_tests)
    }
}

impl StalePlan {
    fn note(&self, context: &Context<'_>, own: &Own) -> Option<Note> {
        let calls = own.idle.saturating_add(1);
        if own.open == 0 || calls < self.calls || self.is_list(context) {
            return None;
        }
        let entries = if own.open == 1 { "1 entry".to_owned() } else { format!("{} entries", own.open) };
        Some(Note::info(format!(
            "Your to-do list has {entries} open and was not touched for {calls} calls.\n\n-> Bring it up to date, and go \
             on with what is open."
        )))
    }

    fn is_list(&self, context: &Context<'_>) -> bool {
        context.event.tool_name().is_some_and(|tool| any_fits(&self.tools, tool))
    }
}

impl CommandNote {
    fn note(&self, context: &Context<'_>) -> Option<Note> {
        let run = Run { command: self.run.0.clone(), timeout_ms: self.timeout.0 };
        let line = &self.run.0;
        let end = match context.command(&run) {
            Ok(end) => end,
            // Said as well, so that a command that hangs is not run with every call from now on.
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
