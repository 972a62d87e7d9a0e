//! Reports what a policy would have stopped in replayed events, and which settings would allow it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use midrail_core::{Decision, Effect, Event, EventKind};
use midrail_guardrails::relaxing_settings;
use midrail_scan::secrets::redact;
use serde::Serialize;

use crate::admin::records::summarize_event;

/// The most distinct events of one guardrail. Others are not listed.
const MOST_KINDS: usize = 2_000;

/// The most distinct sessions.
const MOST_SESSIONS: usize = 100_000;

/// Suggestions of one guardrail that are shown, and its examples by default.
pub const SHOWN: usize = 5;

/// The longest value that is suggested for a setting.
const LONGEST_VALUE: usize = 200;

/// The assumptions of a report.
pub const ASSUMED: &[&str] = &[
    "events are those that happened: a stopped call is followed by its result all the same",
    "a file exists once the agent has read or written it, and no other program changed it; nothing is read from the disk",
    "no command of a pack is run and no external service is called; what depends on them, or on git, is not judged",
];

/// Gathers what was decided, one event after the other.
#[derive(Debug, Default)]
pub struct ReportBuilder {
    sessions: BTreeSet<String>,
    days: BTreeSet<String>,
    report: ReplayReport,
    guardrails: BTreeMap<String, GuardrailTally>,
    grounds: BTreeMap<String, u64>,
}

#[derive(Debug, Default)]
struct GuardrailTally {
    of: GuardrailReport,
    sessions: BTreeSet<String>,
    examples: BTreeMap<String, ReplayExample>,
    settings: BTreeMap<(&'static str, String), Setting>,
}

#[derive(Debug, Default)]
struct Setting {
    stops: u64,
    /// The distinct events that it would allow.
    whats: BTreeSet<String>,
}

/// What a policy would have stopped.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ReplayReport {
    /// Sessions.
    pub sessions: usize,
    /// Events that were decided.
    pub events: u64,
    /// Calls of tools among them.
    pub calls: u64,
    /// Prompts among them.
    pub prompts: u64,
    /// Days on which anything happened.
    pub days: usize,
    /// The time of the first event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Timestamp>,
    /// The time of the last event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    /// Events by what would have been decided.
    pub effects: BTreeMap<Effect, u64>,
    /// Events that would have been stopped.
    pub stopped: u64,
    /// Calls of tools among them.
    pub stopped_calls: u64,
    /// Calls that would have been vouched for, so that no user is asked about them.
    pub vouched: u64,
    /// The same by their grounds, the most frequent first.
    pub grounds: Vec<(String, u64)>,
    /// Events that could not be judged, because what was needed is not recorded. They are not counted as stopped.
    pub unjudged: u64,
    /// By guardrail, those that would have stopped most first.
    pub guardrails: Vec<GuardrailReport>,
    /// Settings that would allow what was stopped most.
    pub suggestions: Vec<Suggestion>,
    /// The assumptions.
    pub assumed: Vec<&'static str>,
}

/// What one guardrail would have done.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct GuardrailReport {
    /// The guardrail.
    pub guardrail: String,
    /// Decisions that it made, by effect.
    pub effects: BTreeMap<Effect, u64>,
    /// Those that were stopped.
    pub stopped: u64,
    /// Stopped calls among all calls, in percent.
    pub share: f64,
    /// Those that it could not judge.
    pub unjudged: u64,
    /// In how many sessions.
    pub sessions: usize,
    /// What it stopped most.
    pub examples: Vec<ReplayExample>,
    #[serde(skip)]
    calls: u64,
}

/// Something that would have been stopped.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplayExample {
    /// What it was, with secrets replaced.
    pub what: String,
    /// How often.
    pub count: u64,
    /// What would have been decided.
    pub effect: Effect,
    /// Why.
    pub reason: String,
    /// When it was met first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    /// In which session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A setting that would allow an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// The guardrail.
    pub guardrail: String,
    /// The setting under `with:`, which is a list.
    pub setting: &'static str,
    /// What is to be added to it.
    pub value: String,
    /// Stops that it would remove, where no other guardrail objects.
    pub stops: u64,
    /// The number of distinct calls that it would allow.
    pub different: usize,
}

impl ReportBuilder {
    /// Takes in what was decided about an event.
    pub fn add(&mut self, event: &Event, decision: &Decision) {
        let report = &mut self.report;
        report.events += 1;
        report.calls += u64::from(event.kind == EventKind::BeforeTool);
        report.prompts += u64::from(event.kind == EventKind::BeforeModel);
        let session = event.session.clone().unwrap_or_default();
        if self.sessions.len() < MOST_SESSIONS {
            self.sessions.insert(session.clone());
        }
        if let Some(time) = event.time {
            report.first = Some(report.first.map_or(time, |first| first.min(time)));
            report.last = Some(report.last.map_or(time, |last| last.max(time)));
            self.days.insert(time.strftime("%Y-%m-%d").to_string());
        }
        if decision.vouched {
            report.vouched += 1;
            let grounds = redact(decision.grounds.as_deref().unwrap_or_default());
            if self.grounds.len() < MOST_KINDS || self.grounds.contains_key(&grounds) {
                *self.grounds.entry(grounds).or_default() += 1;
            }
        }
        // Guardrails in shadow mode count as if they were enforced: that is what is asked for.
        let effect = decision.effect.max(decision.would.unwrap_or_default());
        let is_shadow = effect > decision.effect;
        let verdict = decision.verdicts.iter().find(|verdict| {
            if is_shadow {
                verdict.effect == Some(effect)
            } else {
                Some(&verdict.guardrail) == decision.by.as_ref()
            }
        });
        let is_unjudged = verdict.is_some_and(|verdict| verdict.error.is_some()) && !effect.allows();
        if !is_unjudged {
            *report.effects.entry(effect).or_default() += 1;
        }
        if effect == Effect::Allow {
            return;
        }
        let by = verdict.map(|verdict| &verdict.guardrail).or(decision.by.as_ref());
        let by = by.map_or_else(|| "midrail".to_owned(), ToString::to_string);
        let gathered = self.guardrails.entry(by.clone()).or_default();
        gathered.of.guardrail = by;
        if is_unjudged {
            report.unjudged += 1;
            gathered.of.unjudged += 1;
            return;
        }
        *gathered.of.effects.entry(effect).or_default() += 1;
        if effect.allows() {
            return;
        }
        let is_call = u64::from(event.kind == EventKind::BeforeTool);
        report.stopped += 1;
        report.stopped_calls += is_call;
        gathered.of.stopped += 1;
        gathered.of.calls += is_call;
        gathered.sessions.insert(session.clone());
        let reason = verdict.map_or(decision.reason.as_str(), |verdict| verdict.reason.as_str());
        gathered.note(event, effect, reason, session);
        if !is_shadow {
            gathered.suggest(event, decision);
        }
    }

    /// The report of all that was taken in, with up to so many examples of each guardrail.
    pub fn finish(self, shown: usize) -> ReplayReport {
        let ReportBuilder { sessions, days, mut report, guardrails, grounds } = self;
        report.grounds = grounds.into_iter().collect();
        report.grounds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        report.sessions = sessions.len();
        report.days = days.len();
        report.assumed = ASSUMED.to_vec();
        for gathered in guardrails.into_values() {
            report.suggestions.extend(gathered.suggestions());
            let mut of = gathered.of;
            of.sessions = gathered.sessions.len();
            of.share = percent(of.calls, report.calls);
            of.examples = gathered.examples.into_values().collect();
            of.examples.sort_by_key(|example| (std::cmp::Reverse(example.count), example.time));
            of.examples.truncate(shown);
            report.guardrails.push(of);
        }
        report.guardrails.sort_by_key(|of| std::cmp::Reverse((of.stopped, of.unjudged)));
        report.suggestions.sort_by_key(|it| (std::cmp::Reverse(it.stops), it.different));
        report
    }
}

fn percent(part: u64, of: u64) -> f64 {
    let whole = |number: u64| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    if of == 0 { 0.0 } else { (whole(part) / whole(of) * 1e4).round() / 1e2 }
}

impl GuardrailTally {
    fn note(&mut self, event: &Event, effect: Effect, reason: &str, session: String) {
        let what = summarize_event(event);
        let what = what.strip_prefix("before_tool ").unwrap_or(&what).to_owned();
        if self.examples.len() >= MOST_KINDS && !self.examples.contains_key(&what) {
            return;
        }
        let example = self.examples.entry(what.clone()).or_insert_with(|| ReplayExample {
            what,
            count: 0,
            effect,
            reason: redact(reason),
            time: event.time,
            session: Some(session),
        });
        example.count += 1;
    }

    fn suggest(&mut self, event: &Event, decision: &Decision) {
        let what = summarize_event(event);
        for (setting, value) in relaxing_settings(&self.of.guardrail, event, decision) {
            // What is written into a pack is read by others.
            if value.chars().count() > LONGEST_VALUE || value.contains('\n') || redact(&value) != value {
                continue;
            }
            if self.settings.len() < MOST_KINDS || self.settings.contains_key(&(setting, value.clone())) {
                let found = self.settings.entry((setting, value)).or_default();
                found.stops += 1;
                if found.whats.len() < SHOWN {
                    found.whats.insert(what.clone());
                }
            }
        }
    }

    /// The best settings: of two that remove as many stops, the one that allows fewer events comes first.
    fn suggestions(&self) -> Vec<Suggestion> {
        let mut all: Vec<Suggestion> = self
            .settings
            .iter()
            .map(|((setting, value), found)| Suggestion {
                guardrail: self.of.guardrail.clone(),
                setting,
                value: value.clone(),
                stops: found.stops,
                different: found.whats.len(),
            })
            .collect();
        all.sort_by_key(|it| (std::cmp::Reverse(it.stops), it.different, it.setting));
        let mut kept: Vec<Suggestion> = Vec::new();
        for suggestion in all {
            let is_said = kept.iter().any(|other| other.stops == suggestion.stops && other.different == 1);
            if !(is_said && suggestion.different == 1 && suggestion.setting != "allow") {
                kept.push(suggestion);
            }
        }
        kept.truncate(SHOWN);
        kept
    }
}
