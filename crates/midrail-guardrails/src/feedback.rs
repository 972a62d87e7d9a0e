//! feedback: notes to the agent that come with the results of its calls, each provider in its own rhythm.
//!
//! When a provider speaks is settled here; what it says is in `providers`, what is kept of calls in `history`, and how
//! it is written in `block`.

mod block;
mod budget;
mod history;
mod providers;
mod streak;
#[cfg(test)]
mod tests;

pub(crate) use block::block;

use std::num::NonZeroU32;
use std::sync::Arc;

use midrail_core::path::Place;
use midrail_core::{
    Changes, Condition, Context, Effect, EventKind, Fault, FileState, Guardrail, Missing, Verdict,
    denied_key, state_prefix,
};
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

use crate::asked::is_asked;
use crate::seconds::Seconds;
pub use budget::BudgetNote;
pub use history::{FeedbackOf, FeedbackPast, feedback_keys, feedback_of, feedback_past, feedback_told};
use history::{History, by_key, last_key};
pub use providers::{CommandNote, DeadlineNote, NoProgress, RepeatedCalls, StalePlan};
use providers::{Own, Provide};
pub use streak::FailingStreak;

/// A feedback provider as a pack writes it: what it says (exactly one of `static`, `deadline`, `repeated_calls`,
/// `no_progress`, `budget`, `failing_streak`, `stale_plan`, `command`) and when.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Feedback {
    /// Its name in the block that the agent sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// It speaks after so many calls since it last did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every_n_calls: Option<NonZeroU32>,
    /// It speaks after this time since it last did; the first time at once.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_time")]
    pub every_n_seconds: Option<Seconds>,
    /// It speaks once a session, when this file is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_file_created: Option<String>,
    /// An expression that has to hold as well. Calls are counted while it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub should_run: Option<String>,
    /// The most characters that it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<NonZeroU32>,

    /// A text that is always the same.
    #[serde(rename = "static", skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The time used and the time left.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<DeadlineNote>")]
    pub deadline: Option<DeadlineNote>,
    /// The same call, or the same few in a circle.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<RepeatedCalls>")]
    pub repeated_calls: Option<RepeatedCalls>,
    /// Many calls with no file changed and no test run.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<NoProgress>")]
    pub no_progress: Option<NoProgress>,
    /// The shares of the budgets that are used, and how long they last.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<BudgetNote>")]
    pub budget: Option<BudgetNote>,
    /// A tool that fails again and again.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<FailingStreak>")]
    pub failing_streak: Option<FailingStreak>,
    /// A to-do list with open entries that nobody touches.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<StalePlan>")]
    pub stale_plan: Option<StalePlan>,
    /// What a command prints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandNote>,
}

/// A key that is there counts, also with nothing behind it.
fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Some(Option::<T>::deserialize(deserializer)?.unwrap_or_default()))
}

/// A rhythm needs some time between two beats.
fn some_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Seconds>, D::Error> {
    match Option::<Seconds>::deserialize(deserializer)? {
        Some(Seconds(seconds)) if seconds <= 0.0 => {
            Err(D::Error::custom("no time at all is no rhythm; `every_n_calls: 1` speaks with every call"))
        }
        every => Ok(every),
    }
}

/// What providers are called that have no name of their own, by the key of what they say.
pub const FEEDBACK_TITLES: [(&str, &str); 8] = [
    ("static", "Static"),
    ("deadline", "Deadline"),
    ("repeated_calls", "RepeatedCalls"),
    ("no_progress", "NoProgress"),
    ("budget", "Budget"),
    ("failing_streak", "FailingStreak"),
    ("stale_plan", "StalePlan"),
    ("command", "Command"),
];

impl Feedback {
    /// What it says, by key and title: exactly one, or the pack is wrong.
    pub fn says(&self) -> Vec<(&'static str, &'static str)> {
        let is_there = [
            self.text.is_some(),
            self.deadline.is_some(),
            self.repeated_calls.is_some(),
            self.no_progress.is_some(),
            self.budget.is_some(),
            self.failing_streak.is_some(),
            self.stale_plan.is_some(),
            self.command.is_some(),
        ];
        FEEDBACK_TITLES
            .into_iter()
            .zip(is_there)
            .filter_map(|(title, is_there)| is_there.then_some(title))
            .collect()
    }

    /// Whether it has a trigger: calls, time or a file.
    pub fn has_trigger(&self) -> bool {
        self.every_n_calls.is_some() || self.every_n_seconds.is_some() || self.on_file_created.is_some()
    }

    /// Whether it never says anything: what waits for a trigger has none.
    pub fn is_silent(&self) -> bool {
        let waits = self.text.is_some() || self.deadline.is_some() || self.command.is_some();
        let has_no_step = self.budget.as_ref().is_some_and(|budget| budget.at.is_empty());
        (waits || has_no_step) && !self.has_trigger()
    }

    /// Texts that must not be empty, by their keys: those that are.
    pub fn blanks(&self) -> Vec<&'static str> {
        let texts = [
            ("name", &self.name),
            ("static", &self.text),
            ("on_file_created", &self.on_file_created),
            ("should_run", &self.should_run),
        ];
        let is_blank = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
        texts.into_iter().filter_map(|(key, text)| is_blank(text).then_some(key)).collect()
    }

    /// The provider, under the name that the agent sees. `None`: it does not say what it provides.
    pub fn provider(
        &self,
        name: impl Into<String>,
        should_run: Option<Arc<dyn Condition>>,
    ) -> Option<FeedbackProvider> {
        let provide = None
            .or_else(|| self.text.clone().map(Provide::Static))
            .or_else(|| self.deadline.clone().map(Provide::Deadline))
            .or_else(|| self.repeated_calls.clone().map(Provide::RepeatedCalls))
            .or_else(|| self.no_progress.clone().map(Provide::NoProgress))
            .or_else(|| self.budget.clone().map(Provide::Budget))
            .or_else(|| self.failing_streak.clone().map(Provide::FailingStreak))
            .or_else(|| self.stale_plan.clone().map(Provide::StalePlan))
            .or_else(|| self.command.clone().map(Provide::Command))?;
        let max_chars = self.max_chars.map_or(MAX_CHARS, NonZeroU32::get);
        Some(FeedbackProvider {
            name: name.into(),
            every_n_calls: self.every_n_calls.map(|calls| calls.get().into()),
            every_n_seconds: self.every_n_seconds,
            on_file_created: self.on_file_created.clone(),
            max_chars: usize::try_from(max_chars).unwrap_or(usize::MAX),
            should_run,
            provide,
        })
    }
}

/// Characters of a block where a pack does not say.
const MAX_CHARS: u32 = 2_000;

/// A feedback provider: a guardrail that never objects, and says something from time to time.
pub struct FeedbackProvider {
    name: String,
    every_n_calls: Option<u64>,
    every_n_seconds: Option<Seconds>,
    on_file_created: Option<String>,
    max_chars: usize,
    should_run: Option<Arc<dyn Condition>>,
    provide: Provide,
}

/// The slice of a provider's own state.
pub(crate) const OWN: &str = "own";

/// How a call came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Success,
    Failure,
    /// It was stopped, or nobody knows.
    Neither,
}

impl Outcome {
    fn of(context: &Context<'_>) -> Result<Self, Missing> {
        let event = context.event;
        if event.kind != EventKind::AfterTool {
            return Ok(Outcome::Neither);
        }
        if let Some(id) = event.call_id()
            && context.slice(&denied_key(id))?.is_some()
        {
            return Ok(Outcome::Neither);
        }
        let failed = event
            .result
            .as_ref()
            .is_some_and(|result| result.ok == Some(false) || result.exit_code.is_some_and(|code| code != 0));
        Ok(match (event.is_success(), failed) {
            (true, _) => Outcome::Success,
            (false, true) => Outcome::Failure,
            (false, false) => Outcome::Neither,
        })
    }
}

/// What a provider has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) text: String,
    pub(crate) is_warning: bool,
}

impl Note {
    pub(crate) fn info(text: impl Into<String>) -> Self {
        Note { text: text.into(), is_warning: false }
    }

    pub(crate) fn warning(text: impl Into<String>) -> Self {
        Note { text: text.into(), is_warning: true }
    }
}

impl FeedbackProvider {
    /// What it says of this event, if anything.
    fn note(&self, context: &Context<'_>) -> Result<Option<Note>, Fault> {
        let outcome = Outcome::of(context)?;
        let wanted = match self.provide {
            Provide::FailingStreak(_) => Outcome::Failure,
            _ => Outcome::Success,
        };
        if outcome != wanted {
            return Ok(None);
        }
        // All that is needed is asked for before any of it is lacking, so that it is fetched in one go.
        let (own, calls) = (Own::of(context), context.slice(&History::key(context)));
        let is_file_new = self.sees_new_file(context);
        let (own, _) = (own?, calls?);
        if !(is_file_new? || self.is_due(context, &own)) {
            return Ok(None);
        }
        if let Some(should_run) = &self.should_run
            && !should_run.holds(context).unwrap_or(false)
        {
            return Ok(None);
        }
        self.provide.note(context, &own, &History::of(context)?, self.has_trigger())
    }

    fn has_trigger(&self) -> bool {
        self.every_n_calls.is_some() || self.every_n_seconds.is_some() || self.on_file_created.is_some()
    }

    /// Whether it is time to speak, by calls or by the clock.
    fn is_due(&self, context: &Context<'_>, own: &Own) -> bool {
        let calls = own.since.saturating_add(1);
        if let Provide::FailingStreak(_) = self.provide {
            return true;
        }
        if !self.has_trigger() {
            // Those that look for something speak when they find it, and then not at once again.
            return self.provide.pause().is_some_and(|pause| !own.has_spoken || calls >= pause);
        }
        let by_calls = self.every_n_calls.is_some_and(|every| calls >= every);
        let by_time = self.every_n_seconds.is_some_and(|every| match (own.last, context.event.time) {
            (Some(last), Some(now)) => every.after(last) <= now,
            (None, Some(_)) => true,
            (_, None) => false,
        });
        by_calls || by_time
    }

    /// Whether the file that it waits for is there and has not been seen before. Without a file system it is not.
    fn sees_new_file(&self, context: &Context<'_>) -> Result<bool, Missing> {
        let Some(file) = &self.on_file_created else { return Ok(false) };
        if context.slice(&file_key(context))?.is_some() {
            return Ok(false);
        }
        // The pack means its own root, wherever the agent is at work.
        let mut place = context.place(file, None);
        if !file.starts_with(['/', '~']) {
            place = Place { key: file.trim_start_matches("./").to_owned(), inside: true };
        }
        Ok(context.file(&place).is_ok_and(|state| !matches!(state, FileState::Absent)))
    }

    /// Counts a call, and keeps what was said with it. A result that is withheld brings no feedback and does not count.
    fn learn(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let outcome = Outcome::of(context)?;
        if outcome == Outcome::Neither || !effect.goes_on() {
            return Ok(());
        }
        let is_success = outcome == Outcome::Success;
        let history = History::of(context)?.after(context, is_success);
        changes.set(History::key(context), history.kept());
        if !is_asked(context) {
            return Ok(());
        }
        let note = self.note(context)?;
        let before = Own::of(context)?;
        let mut own = before.clone();
        if is_success {
            own.since = own.since.saturating_add(1);
        }
        self.provide.learn(context, is_success, note.is_some(), &mut own, changes)?;
        if let Some(note) = note {
            own.since = 0;
            own.has_spoken = true;
            own.last = context.event.time;
            if self.sees_new_file(context)? {
                changes.set(file_key(context), true);
            }
            // What a provider in shadow mode would say is no feedback that the agent got.
            if context.spec.mode == midrail_core::Mode::Enforce {
                let said = block::cut(&note.text, self.max_chars);
                let said = json!({"provider": self.name, "text": said, "at": history.calls});
                changes.set(by_key(context, &self.name), said.clone());
                changes.set(last_key(context), said);
            }
        }
        if own != before {
            changes.set(context.key(OWN), own.kept());
        }
        Ok(())
    }
}

impl Guardrail for FeedbackProvider {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some(note) = self.note(context)? else { return Ok(Verdict::allow()) };
        let severity = if note.is_warning { "warning" } else { "info" };
        let feedback = Some(block::block(&self.name, &note.text, self.max_chars));
        Ok(Verdict { feedback, ..Verdict::allow() }.with("severity", severity))
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        self.learn(context, effect, changes)
    }

    fn watches(&self) -> &[EventKind] {
        &[EventKind::AfterTool]
    }

    fn ceiling(&self) -> Effect {
        Effect::Allow
    }
}

/// The slice that says that the awaited file was seen. It belongs to the session, whatever the prompt.
fn file_key(context: &Context<'_>) -> String {
    format!("{}file", state_prefix(&context.spec.id, None))
}
