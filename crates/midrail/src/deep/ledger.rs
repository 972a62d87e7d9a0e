//! The stored state of deep guardrails: budgets, circuit breakers and a few cached answers. Each is a slice, and each
//! change is one record and one conditional commit.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use midrail_core::{Changes, SHARED_PREFIX, hex};
use midrail_guardrails::{DeepBackend, DeepSettings, JudgeBudget, Seconds};
use midrail_store::{Commit, Slice, Store, StoreError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cache::{self, Key};
use super::question::{Answer, DeepError};
use super::wire::shown;
use crate::admin::event::AdminEvent;

/// The most attempts against other processes that change the same slices.
const TRIES: usize = 100;

/// Seconds of a day.
const DAY: i64 = 86_400;

/// The most answers of a guardrail that a session keeps.
const MAX_ANSWERS: usize = 16;

/// The most bytes that they may have together, as text.
const MAX_BYTES: usize = 32 << 10;

/// The ledger of a store.
pub(super) struct Ledger {
    pub(super) store: Arc<dyn Store>,
    /// The key under which secrets are tagged.
    pub(super) key: Vec<u8>,
    /// This process sends no further question, so answers are stored for the next one.
    pub(super) is_last: bool,
}

/// A question, as the ledger sees it.
pub(super) struct Item<'i> {
    pub(super) guardrail: &'i str,
    pub(super) settings: &'i DeepSettings,
    pub(super) run: &'i str,
    /// The revision of the policy that asks.
    pub(super) policy: &'i Arc<str>,
    /// What it is likely to cost.
    pub(super) estimate: f64,
    /// By what it is known again.
    pub(super) key: Option<Key>,
}

/// How a question ended.
pub(super) enum Ended<'e> {
    Well(&'e Answer),
    Badly(&'e str),
    /// Unknown: it was cancelled, or never sent.
    Unknown,
}

/// The circuit breaker of a service.
#[derive(Default, Serialize, Deserialize)]
struct Breaker {
    /// Failures in a row.
    failures: u32,
    last: String,
    /// From when until when the service is not called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open: Option<(Timestamp, Timestamp)>,
    /// Until when one question tests the service. Its process may die.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trying: Option<Timestamp>,
}

/// What was spent: on one day by all sessions, or in a session.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Spent {
    #[serde(default)]
    day: i64,
    gone: f64,
}

impl Spent {
    fn add(&mut self, amount: f64) {
        // Sums of many small amounts come out even.
        self.gone = ((self.gone + amount).max(0.0) * 1e9).round() / 1e9;
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Kept {
    key: String,
    answer: Value,
    cut: bool,
    since: Timestamp,
    until: Timestamp,
}

/// The slices of a guardrail, as they are read.
struct Open {
    names: [String; 4],
    slices: Vec<Slice>,
    changes: Changes,
}

const OF_DAY: usize = 0;
const OF_RUN: usize = 1;
const BREAKER: usize = 2;
const ANSWERS: usize = 3;

impl Open {
    fn read<T: DeserializeOwned>(&self, at: usize) -> Result<Option<T>, DeepError> {
        let value = self.slices.get(at).and_then(|slice| slice.value.clone());
        let value = value.map(serde_json::from_value).transpose();
        value.map_err(|error| DeepError::new(format!("its stored state cannot be read: {error}")))
    }

    fn write(&mut self, at: usize, value: impl Serialize) -> Result<(), DeepError> {
        let value = serde_json::to_value(value).map_err(DeepError::new)?;
        if let Some(name) = self.names.get(at) {
            self.changes.set(name.clone(), value);
        }
        Ok(())
    }

    fn remove(&mut self, at: usize) {
        let is_there = self.slices.get(at).is_some_and(|slice| slice.value.is_some());
        if let Some(name) = self.names.get(at).filter(|_| is_there) {
            self.changes.remove(name.clone());
        }
    }
}

impl Item<'_> {
    fn budget(&self) -> Option<JudgeBudget> {
        match &self.settings.kind {
            DeepBackend::Judge(judge) => judge.budget,
            DeepBackend::Http(_) | DeepBackend::Moderation(_) | DeepBackend::Command(_) => None,
        }
    }

    fn names(&self) -> Result<[String; 4], DeepError> {
        let settings = serde_json::to_vec(self.settings).map_err(DeepError::new)?;
        // Past failures say nothing about other settings. What was spent is spent.
        let same = hex::encode(&cache::key(&[self.guardrail.as_bytes(), &settings]));
        let id = self.guardrail;
        Ok([
            format!("{SHARED_PREFIX}judge/{id}"),
            format!("spent/judge/{id}"),
            format!("{SHARED_PREFIX}breaker/{}", same.get(..32).unwrap_or_default()),
            format!("late/answers/{id}"),
        ])
    }
}

impl Ledger {
    /// Whether the answers of a guardrail are kept in the store: where that costs nothing more, or nothing else would.
    fn keeps_answers(&self, item: &Item<'_>) -> bool {
        item.key.is_some() && (self.is_last || item.budget().is_some())
    }

    /// Admits a question and reserves its estimated cost, or returns a stored answer. An error: it is not sent.
    pub(super) fn admit(&self, item: &Item<'_>, now: Timestamp) -> Result<Option<Answer>, DeepError> {
        let has_breaker = item.settings.breaker.failures > 0;
        if !has_breaker && item.budget().is_none() && !self.keeps_answers(item) {
            return Ok(None);
        }
        self.change("question_asked", item, now, |open| {
            if let Some(answer) = held(open, item, now)? {
                return Ok(Some(answer));
            }
            let budget = item.budget();
            if let Some(budget) = budget {
                pay(open, budget, item.estimate, now)?;
            }
            if has_breaker {
                may_be_asked(open, item, now)?;
            }
            Ok(None)
        })
    }

    /// Records how a question ended, and what it cost.
    pub(super) fn settle(&self, item: &Item<'_>, cost: f64, ended: &Ended<'_>, now: Timestamp) {
        let settled = self.change("question_settled", item, now, |open| {
            if item.budget().is_some() {
                let (mut of_day, mut of_run) = spent(open, now)?;
                of_day.add(cost - item.estimate);
                of_run.add(cost - item.estimate);
                open.write(OF_DAY, of_day)?;
                open.write(OF_RUN, of_run)?;
            }
            if item.settings.breaker.failures > 0 {
                note(open, item, ended, now)?;
            }
            if let (Ended::Well(answer), true) = (ended, self.keeps_answers(item)) {
                keep(open, item, answer, now)?;
            }
            Ok(())
        });
        if let Err(why) = settled {
            // The reserved cost stays spent.
            log::error!("the result of a question of `{}` could not be stored: {why}", item.guardrail);
        }
    }

    /// Reads, changes and writes slices, until no other process interferes.
    fn change<T>(
        &self,
        what: &str,
        item: &Item<'_>,
        now: Timestamp,
        mut edit: impl FnMut(&mut Open) -> Result<T, DeepError>,
    ) -> Result<T, DeepError> {
        let failed = |error: StoreError| {
            DeepError::new(format!("its budget and failures cannot be read from the store: {error}"))
        };
        let names = item.names()?;
        let keys: Vec<&str> = names.iter().map(String::as_str).collect();
        for _ in 0..TRIES {
            let slices = self.store.load(item.run, &keys).map_err(failed)?;
            let mut open = Open { names: names.clone(), slices, changes: Changes::default() };
            let done = edit(&mut open)?;
            if open.changes.is_empty() {
                return Ok(done);
            }
            let about = json!({"guardrail": item.guardrail, "changes": figures(&open)});
            let act = AdminEvent::new(what).in_session(item.run).with("question", about);
            let record = act.into_record(now, &self.key, item.policy);
            let read = open.names.iter().zip(&open.slices);
            let read = read.filter(|(name, _)| open.changes.0.contains_key(*name));
            let mut commit = Commit {
                read: read.map(|(name, slice)| (name.clone(), slice.version)).collect(),
                ..Commit::new(&record)
            };
            commit.changes = open.changes;
            match self.store.commit(&commit) {
                Ok(_) => return Ok(done),
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(DeepError::new("other processes changed its budget and failures during every attempt"))
    }
}

/// The budgets and failures of a change, for its record. Answers are not included.
fn figures(open: &Open) -> Value {
    let figures = open.names.iter().zip(["day", "session", "breaker"]);
    let figures =
        figures.filter_map(|(name, word)| Some((word.to_owned(), open.changes.0.get(name)?.clone()?)));
    Value::Object(figures.collect())
}

fn today(now: Timestamp) -> i64 {
    now.as_second().div_euclid(DAY)
}

/// What was spent on this day, and in this session.
fn spent(open: &Open, now: Timestamp) -> Result<(Spent, Spent), DeepError> {
    let of_day: Spent = open.read(OF_DAY)?.unwrap_or_default();
    let of_run: Spent = open.read(OF_RUN)?.unwrap_or_default();
    let of_day = if of_day.day == today(now) { of_day } else { Spent { day: today(now), gone: 0.0 } };
    Ok((of_day, of_run))
}

fn pay(open: &mut Open, budget: JudgeBudget, estimate: f64, now: Timestamp) -> Result<(), DeepError> {
    let (mut of_day, mut of_run) = spent(open, now)?;
    for (limit, spent, of) in [(budget.session, of_run, "session"), (budget.day, of_day, "day")] {
        if let Some(limit) = limit
            && spent.gone >= limit.0
        {
            let limit = limit.0;
            return Err(DeepError::new(format!(
                "its budget of {limit} for a {of} is used up; raise `budget`, or wait"
            )));
        }
    }
    of_day.add(estimate);
    of_run.add(estimate);
    open.write(OF_DAY, of_day)?;
    open.write(OF_RUN, of_run)
}

fn may_be_asked(open: &mut Open, item: &Item<'_>, now: Timestamp) -> Result<(), DeepError> {
    let Some(mut breaker) = open.read::<Breaker>(BREAKER)? else { return Ok(()) };
    let Some((since, until)) = breaker.open else { return Ok(()) };
    // A clock that was set back must not keep it open for good.
    let is_over = now >= until || now < since;
    let is_trying = breaker.trying.is_some_and(|trying| now < trying && now >= since);
    if !is_over || is_trying {
        let Breaker { failures, last, .. } = &breaker;
        let when = if is_over {
            "one question is testing whether it works again".to_owned()
        } else {
            let left = until.duration_since(now).as_secs_f64().ceil();
            format!("it is called again in {left} s")
        };
        return Err(DeepError::new(format!(
            "it failed {failures} times in a row, so it is not called; {when}. Last: {last}"
        )));
    }
    // The test has as long as an answer may take.
    let within = SignedDuration::try_from(std::time::Duration::from_millis(item.settings.timeout.0));
    breaker.trying = now.checked_add(within.unwrap_or_default()).ok();
    open.write(BREAKER, breaker)
}

fn note(open: &mut Open, item: &Item<'_>, ended: &Ended<'_>, now: Timestamp) -> Result<(), DeepError> {
    match ended {
        Ended::Well(_) => open.remove(BREAKER),
        Ended::Unknown => {
            if let Some(breaker) = open.read::<Breaker>(BREAKER)?.filter(|breaker| breaker.trying.is_some()) {
                open.write(BREAKER, Breaker { trying: None, ..breaker })?;
            }
        }
        Ended::Badly(why) => {
            let before: Breaker = open.read(BREAKER)?.unwrap_or_default();
            let failures = before.failures.saturating_add(1);
            let rule = item.settings.breaker;
            let is_open = failures >= rule.failures;
            let open_until = is_open.then(|| (now, after(rule.pause, now)));
            let last = shown(why, 300);
            open.write(BREAKER, Breaker { failures, last, open: open_until, trying: None })?;
        }
    }
    Ok(())
}

fn after(pause: Seconds, now: Timestamp) -> Timestamp {
    let pause = SignedDuration::try_from_secs_f64(pause.0).unwrap_or_default();
    now.checked_add(pause).unwrap_or(Timestamp::MAX)
}

/// The answer to the same question, if it is kept and still holds.
fn held(open: &Open, item: &Item<'_>, now: Timestamp) -> Result<Option<Answer>, DeepError> {
    let Some(key) = item.key.map(|key| hex::encode(&key)) else { return Ok(None) };
    let kept: Vec<Kept> = open.read(ANSWERS)?.unwrap_or_default();
    let found = kept.into_iter().find(|kept| kept.key == key && now < kept.until && now >= kept.since);
    Ok(found.map(|Kept { answer, cut, .. }| Answer {
        value: answer,
        took_ms: 0,
        cached: true,
        cost: None,
        cut,
    }))
}

fn keep(open: &mut Open, item: &Item<'_>, answer: &Answer, now: Timestamp) -> Result<(), DeepError> {
    let Some(key) = item.key.map(|key| hex::encode(&key)) else { return Ok(()) };
    let mut kept: Vec<Kept> = open.read(ANSWERS)?.unwrap_or_default();
    kept.retain(|kept| kept.key != key && now < kept.until && now >= kept.since);
    kept.push(Kept {
        key,
        answer: answer.value.clone(),
        cut: answer.cut,
        since: now,
        until: after(item.settings.cache, now),
    });
    let size = |kept: &Kept| kept.answer.to_string().len();
    while kept.len() > MAX_ANSWERS || kept.iter().map(size).sum::<usize>() > MAX_BYTES {
        kept.remove(0);
    }
    if kept.is_empty() {
        open.remove(ANSWERS);
        Ok(())
    } else {
        open.write(ANSWERS, kept)
    }
}
