//! feedback: adds notes for the agent to the results of its calls, each provider with its own cadence.
//!
//! This file decides when a provider adds a note; `providers` has the sources and `history` the stored calls.

mod budget;
mod history;
mod providers;
mod state;
mod streak;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;
use std::sync::Arc;

use midrail_core::path::Place;
use midrail_core::{Condition, FileState, state_prefix};
use serde::Deserializer;
use serde::de::Error;

use crate::builtin::PackKey;
use crate::prelude::*;
use crate::shared::applicability::is_checked;
use crate::shared::durations::Seconds;
use crate::shared::feedback_block::feedback_block;
use crate::shared::missing_classifier::MissingClassifier;
use crate::shared::outcome::CallOutcome;
use crate::shared::settings::present;
use crate::shared::text::shorten;
use budget::BudgetNote;
pub use history::{
    FeedbackHistory, ProviderFeedback, feedback_history, feedback_slice_keys, feedback_view,
    provider_feedback,
};
use history::{History, StoredNote};
use providers::{CommandNote, DeadlineNote, FeedbackSource, NoProgress, RepeatedCalls, StalePlan};
use state::{Note, ProviderState};
use streak::FailingStreak;

pub(crate) const BUILTIN: Builtin = Builtin {
    pack_key: PackKey::Feedback,
    ..Builtin::without_settings::<MissingClassifier>(
        "feedback",
        Category::Quality,
        99,
        &[EventKind::AfterTool],
    )
    .aliases(&["feedback_provider"])
};

/// The settings of a feedback provider: its source (exactly one of `static`, `deadline`, `repeated_calls`,
/// `no_progress`, `budget`, `failing_streak`, `stale_plan`, `command`) and its triggers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Feedback {
    /// The name in the block that the agent sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Trigger after this many calls since the last note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every_n_calls: Option<NonZeroU32>,
    /// Trigger after this time since the last note, and at the first call.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_time")]
    pub every_n_seconds: Option<Seconds>,
    /// Trigger once per session, when this file exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_file_created: Option<String>,
    /// The calls that count for `every_n_calls`, and whose results carry its notes.
    #[serde(skip_serializing_if = "CountedCalls::is_default")]
    pub counts: CountedCalls,
    /// An expression that must be true as well. Calls are counted while it is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub should_run: Option<String>,
    /// Maximum length of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<NonZeroU32>,

    /// A fixed text.
    #[serde(rename = "static", skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The time used and the time left.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<DeadlineNote>")]
    pub deadline: Option<DeadlineNote>,
    /// Repeated calls, or repeated cycles of calls.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<RepeatedCalls>")]
    pub repeated_calls: Option<RepeatedCalls>,
    /// Many calls with no file changed and no test run.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<NoProgress>")]
    pub no_progress: Option<NoProgress>,
    /// The used shares of the budgets, and how many calls they last.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<BudgetNote>")]
    pub budget: Option<BudgetNote>,
    /// A tool that fails repeatedly.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<FailingStreak>")]
    pub failing_streak: Option<FailingStreak>,
    /// A to-do list with open entries that is not updated.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<StalePlan>")]
    pub stale_plan: Option<StalePlan>,
    /// The output of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandNote>,
}

/// The calls that a provider counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountedCalls {
    /// All calls, also failed and denied ones.
    #[default]
    All,
    /// Successful calls only.
    Successful,
}

impl CountedCalls {
    fn is_default(&self) -> bool {
        *self == CountedCalls::default()
    }
}

/// A positive duration.
fn some_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Seconds>, D::Error> {
    match Option::<Seconds>::deserialize(deserializer)? {
        Some(Seconds(seconds)) if seconds <= 0.0 => Err(D::Error::custom(
            "the interval must be longer than zero; use `every_n_calls: 1` for a note with every call",
        )),
        every => Ok(every),
    }
}

/// The default names of providers by the key of their source.
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
    /// Its sources, in the order of [`FEEDBACK_TITLES`]. A valid provider has exactly one.
    fn all_sources(&self) -> [Option<FeedbackSource>; 8] {
        [
            self.text.clone().map(FeedbackSource::Static),
            self.deadline.clone().map(FeedbackSource::Deadline),
            self.repeated_calls.clone().map(FeedbackSource::RepeatedCalls),
            self.no_progress.clone().map(FeedbackSource::NoProgress),
            self.budget.clone().map(FeedbackSource::Budget),
            self.failing_streak.clone().map(FeedbackSource::FailingStreak),
            self.stale_plan.clone().map(FeedbackSource::StalePlan),
            self.command.clone().map(FeedbackSource::Command),
        ]
    }

    /// Its sources by key and title.
    pub fn sources(&self) -> Vec<(&'static str, &'static str)> {
        let all = FEEDBACK_TITLES.into_iter().zip(self.all_sources());
        all.filter_map(|(title, source)| source.is_some().then_some(title)).collect()
    }

    /// Whether it has a trigger: calls, time or a file.
    pub fn has_trigger(&self) -> bool {
        self.every_n_calls.is_some() || self.every_n_seconds.is_some() || self.on_file_created.is_some()
    }

    /// Whether it can never add a note, because its source needs a trigger and there is none.
    pub fn is_silent(&self) -> bool {
        let waits = self.text.is_some() || self.deadline.is_some() || self.command.is_some();
        let has_no_step = self.budget.as_ref().is_some_and(|budget| budget.at.is_empty());
        (waits || has_no_step) && !self.has_trigger()
    }

    /// The keys of texts that are empty and must not be.
    pub fn empty_texts(&self) -> Vec<&'static str> {
        let texts = [
            ("name", &self.name),
            ("static", &self.text),
            ("on_file_created", &self.on_file_created),
            ("should_run", &self.should_run),
        ];
        let is_blank = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
        texts.into_iter().filter_map(|(key, text)| is_blank(text).then_some(key)).collect()
    }

    /// The provider with the name that the agent sees. `None`: it has no source.
    pub fn provider(
        &self,
        name: impl Into<String>,
        should_run: Option<Arc<dyn Condition>>,
    ) -> Option<FeedbackProvider> {
        let source = self.all_sources().into_iter().flatten().next()?;
        Some(FeedbackProvider { name: name.into(), settings: self.clone(), should_run, source })
    }

    fn max_chars(&self) -> usize {
        let max_chars = self.max_chars.map_or(MAX_CHARS, NonZeroU32::get);
        usize::try_from(max_chars).unwrap_or(usize::MAX)
    }
}

/// Default of `max_chars`.
const MAX_CHARS: u32 = 2_000;

/// A feedback provider: a guardrail that never blocks and adds notes from time to time.
pub struct FeedbackProvider {
    name: String,
    settings: Feedback,
    should_run: Option<Arc<dyn Condition>>,
    source: FeedbackSource,
}

impl FeedbackProvider {
    /// The note for this event, if any.
    fn note(&self, context: &Context<'_>) -> Result<Option<Note>, Fault> {
        if context.event.kind != EventKind::AfterTool {
            return Ok(None);
        }
        let outcome = CallOutcome::from_context(context)?;
        let is_counted = self.counts(outcome);
        if !is_counted && self.settings.every_n_seconds.is_none() {
            return Ok(None);
        }
        // Request all slices before the first one is missing, so that they are fetched together.
        let (own, history) = (ProviderState::from_context(context), History::from_context(context));
        let is_file_new = self.sees_new_file(context);
        let (own, history) = (own?, history?);
        let is_due = if is_counted {
            is_file_new? || self.is_due(context, &own)
        } else {
            self.is_due_by_time(context, &own)
        };
        if !is_due {
            return Ok(None);
        }
        if let Some(should_run) = &self.should_run
            && !should_run.holds(context).unwrap_or(false)
        {
            return Ok(None);
        }
        self.source.note(context, &own, &history, self.settings.has_trigger())
    }

    /// Whether a call with this outcome counts for the provider.
    fn counts(&self, outcome: CallOutcome) -> bool {
        match self.source {
            FeedbackSource::FailingStreak(_) => outcome == CallOutcome::Failure,
            FeedbackSource::Static(_) | FeedbackSource::Deadline(_) | FeedbackSource::Command(_) => {
                self.settings.counts == CountedCalls::All || outcome == CallOutcome::Success
            }
            FeedbackSource::RepeatedCalls(_)
            | FeedbackSource::NoProgress(_)
            | FeedbackSource::Budget(_)
            | FeedbackSource::StalePlan(_) => outcome == CallOutcome::Success,
        }
    }

    /// Whether a note is due, by calls or by time.
    fn is_due(&self, context: &Context<'_>, own: &ProviderState) -> bool {
        let calls = own.since.saturating_add(1);
        if let FeedbackSource::FailingStreak(_) = self.source {
            return true;
        }
        if !self.settings.has_trigger() {
            // Sources that look for a condition add a note when they find it, and then pause.
            return self.source.pause().is_some_and(|pause| !own.has_noted || calls >= pause);
        }
        let by_calls = self.settings.every_n_calls.is_some_and(|every| calls >= every.get().into());
        by_calls || self.is_due_by_time(context, own)
    }

    fn is_due_by_time(&self, context: &Context<'_>, own: &ProviderState) -> bool {
        self.settings.every_n_seconds.is_some_and(|every| match (own.last, context.event.time) {
            (Some(last), Some(now)) => every.after(last) <= now,
            (None, Some(_)) => true,
            (_, None) => false,
        })
    }

    /// Whether the awaited file exists and was not seen before. Without a file system it does not exist.
    fn sees_new_file(&self, context: &Context<'_>) -> Result<bool, Missing> {
        let Some(file) = &self.settings.on_file_created else { return Ok(false) };
        if file_key(context).exists(context)? {
            return Ok(false);
        }
        // The path is relative to the root, not to the agent's working directory.
        let mut place = context.place(file, None);
        if !file.starts_with(['/', '~']) {
            place = Place { key: file.trim_start_matches("./").to_owned(), inside: true };
        }
        Ok(context.file(&place).is_ok_and(|state| !matches!(state, FileState::Absent)))
    }

    /// Counts a call and stores its note. A withheld result carries no feedback and does not count.
    fn record(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let outcome = CallOutcome::from_context(context)?;
        if !effect.allows() {
            return Ok(());
        }
        let is_success = outcome == CallOutcome::Success;
        let history = History::from_context(context)?.after(context, outcome);
        History::key(context).write(changes, &history)?;
        if !is_checked(context) {
            return Ok(());
        }
        let note = self.note(context)?;
        let before = ProviderState::from_context(context)?;
        let mut own = before.clone();
        if is_success || self.counts(outcome) {
            own.since = own.since.saturating_add(1);
        }
        // A denied call is neither a success nor a failure of its tool.
        if outcome != CallOutcome::Neither {
            self.source.record(context, is_success, note.is_some(), &mut own, changes)?;
        }
        if let Some(note) = note {
            own.since = 0;
            own.has_noted = true;
            own.last = context.event.time;
            if self.sees_new_file(context)? {
                file_key(context).write(changes, &true)?;
            }
            // The agent does not receive notes of providers in shadow mode.
            if context.spec.mode == midrail_core::Mode::Enforce {
                let text = shorten(&note.text, self.settings.max_chars());
                let note = StoredNote { provider: self.name.clone(), text, at: history.calls };
                StoredNote::provider_key(context, &self.name).write(changes, &note)?;
                StoredNote::last_key(context).write(changes, &note)?;
            }
        }
        if own != before {
            ProviderState::key(context).write(changes, &own)?;
        }
        Ok(())
    }
}

impl Guardrail for FeedbackProvider {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some(note) = self.note(context)? else { return Ok(Verdict::allow()) };
        let severity = if note.is_warning { "warning" } else { "info" };
        let feedback = Some(feedback_block(&self.name, &note.text, self.settings.max_chars()));
        Ok(Verdict { feedback, ..Verdict::allow() }.with("severity", severity))
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        self.record(context, effect, changes)
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::AfterTool]
    }

    fn max_effect(&self) -> Effect {
        Effect::Allow
    }
}

/// The slice that records that the awaited file was seen. It belongs to the session, not to the prompt.
fn file_key(context: &Context<'_>) -> Key<bool> {
    Key::new(format!("{}file", state_prefix(&context.spec.id, None)))
}
