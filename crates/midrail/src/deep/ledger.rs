//! The stored state of deep guardrails: budgets, circuit breakers and a few cached answers. Each is a slice, and each
//! change is one record and one conditional commit.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use midrail_core::{Changes, SHARED_PREFIX, hex};
use midrail_guardrails::{DeepBackend, DeepSettings, JudgeBudget, Seconds};
use midrail_store::{Commit, Slice, Store, StoreError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::cache::{self, Key};
use super::question::Answer;
use super::wire::shown;
use crate::admin::event::AdminEvent;
use crate::error::{Available, Unavailable};

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
pub(super) struct Item {
    pub(super) guardrail: String,
    pub(super) settings: Arc<DeepSettings>,
    /// The session.
    pub(super) run: String,
    /// The revision of the policy that asks.
    pub(super) policy: Arc<str>,
    /// What it is likely to cost.
    pub(super) estimate: f64,
    /// By what it is known again.
    pub(super) key: Option<Key>,
}

/// The answer to a question, or why there is none.
pub(super) type QuestionResult<'r> = Result<&'r Answer, &'r Unavailable>;

/// The circuit breaker of a service.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Spending {
    #[serde(default)]
    day: i64,
    gone: f64,
}

impl Spending {
    fn add(&mut self, amount: f64) {
        // Rounded, so that the sum of many small amounts is exact.
        self.gone = ((self.gone + amount).max(0.0) * 1e9).round() / 1e9;
    }
}

/// A stored answer.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct StoredAnswer {
    key: String,
    answer: Value,
    cut: bool,
    since: Timestamp,
    until: Timestamp,
}

/// The stored state of a guardrail, one slice for each field. `None` removes the slice.
#[derive(Clone, PartialEq)]
struct Entries {
    of_day: Option<Spending>,
    of_run: Option<Spending>,
    breaker: Option<Breaker>,
    answers: Option<Vec<StoredAnswer>>,
}

impl Entries {
    fn read(slices: &[Slice]) -> Available<Self> {
        fn slice<T: DeserializeOwned>(slices: &[Slice], at: usize) -> Available<Option<T>> {
            let value = slices.get(at).and_then(|slice| slice.value.clone());
            let value = value.map(serde_json::from_value).transpose();
            value.map_err(|error| Unavailable::new(format!("its stored state cannot be read: {error}")))
        }
        Ok(Entries {
            of_day: slice(slices, 0)?,
            of_run: slice(slices, 1)?,
            breaker: slice(slices, 2)?,
            answers: slice(slices, 3)?,
        })
    }

    /// The values of the slices, in order.
    fn values(&self) -> [Option<Value>; 4] {
        [json!(self.of_day), json!(self.of_run), json!(self.breaker), json!(self.answers)]
            .map(|value| Some(value).filter(|value| !value.is_null()))
    }

    /// Adds an amount to what was spent on this day, and in this session.
    fn spend(&mut self, amount: f64, now: Timestamp) {
        let mut of_day = self.spent_today(now);
        of_day.add(amount);
        self.of_day = Some(of_day);
        self.of_run.get_or_insert_default().add(amount);
    }

    fn spent_today(&self, now: Timestamp) -> Spending {
        let day = now.as_second().div_euclid(DAY);
        self.of_day.filter(|spent| spent.day == day).unwrap_or(Spending { day, gone: 0.0 })
    }
}

impl Item {
    fn budget(&self) -> Option<JudgeBudget> {
        match &self.settings.kind {
            DeepBackend::Judge(judge) => judge.budget,
            DeepBackend::Http(_) | DeepBackend::Moderation(_) | DeepBackend::Command(_) => None,
        }
    }

    /// The names of the slices of [`Entries`].
    fn names(&self) -> Available<[String; 4]> {
        let settings = serde_json::to_vec(&*self.settings).map_err(Unavailable::new)?;
        // Past failures say nothing about other settings. What was spent is spent.
        let same = hex::encode(&cache::key(&[self.guardrail.as_bytes(), &settings]));
        let id = &self.guardrail;
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
    fn keeps_answers(&self, item: &Item) -> bool {
        item.key.is_some() && (self.is_last || item.budget().is_some())
    }

    /// Admits a question and reserves its estimated cost, or returns a stored answer. An error: it is not sent.
    pub(super) fn admit(&self, item: &Item, now: Timestamp) -> Available<Option<Answer>> {
        let has_breaker = item.settings.breaker.failures > 0;
        if !has_breaker && item.budget().is_none() && !self.keeps_answers(item) {
            return Ok(None);
        }
        self.change("question_asked", item, now, |entries| {
            if let Some(answer) = stored_answer(entries, item, now) {
                return Ok(Some(answer));
            }
            if let Some(budget) = item.budget() {
                reserve(entries, budget, item.estimate, now)?;
            }
            if has_breaker {
                check_breaker(entries, item, now)?;
            }
            Ok(None)
        })
    }

    /// Records how a question ended, and what it cost. `None`: it was cancelled, or never sent.
    pub(super) fn settle(&self, item: &Item, cost: f64, result: Option<QuestionResult<'_>>, now: Timestamp) {
        let settled = self.change("question_settled", item, now, |entries| {
            if item.budget().is_some() {
                entries.spend(cost - item.estimate, now);
            }
            if item.settings.breaker.failures > 0 {
                update_breaker(entries, item, result, now);
            }
            if let (Some(Ok(answer)), true) = (result, self.keeps_answers(item)) {
                store_answer(entries, item, answer, now);
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
        item: &Item,
        now: Timestamp,
        mut edit: impl FnMut(&mut Entries) -> Available<T>,
    ) -> Available<T> {
        let failed = |error: StoreError| {
            Unavailable::new(format!("its budget and failures cannot be read from the store: {error}"))
        };
        let names = item.names()?;
        let keys: Vec<&str> = names.iter().map(String::as_str).collect();
        for _ in 0..TRIES {
            let slices = self.store.load(&item.run, &keys).map_err(failed)?;
            let mut entries = Entries::read(&slices)?;
            let before = entries.values();
            let done = edit(&mut entries)?;
            let after = entries.values();
            let (mut read, mut changes, mut figures) = (Vec::new(), Changes::default(), Map::new());
            for (at, (value, before)) in after.into_iter().zip(before).enumerate() {
                let (Some(name), Some(slice)) = (names.get(at), slices.get(at)) else { continue };
                if value == before {
                    continue;
                }
                read.push((name.clone(), slice.version));
                // The record has the budgets and failures, and not the answers.
                if let (Some(word), Some(value)) = (FIGURES.get(at), &value) {
                    figures.insert((*word).to_owned(), value.clone());
                }
                match value {
                    Some(value) => changes.set(name.clone(), value),
                    None => changes.remove(name.clone()),
                }
            }
            if read.is_empty() {
                return Ok(done);
            }
            let about = json!({"guardrail": item.guardrail, "changes": figures});
            let event = AdminEvent::new(what).in_session(&item.run).with("question", about);
            let record = event.into_record(now, &self.key, &item.policy);
            let commit = Commit { read, changes, ..Commit::new(&record) };
            match self.store.commit(&commit) {
                Ok(_) => return Ok(done),
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(Unavailable::new("other processes changed its budget and failures during every attempt"))
    }
}

/// What records call the first slices of [`Entries`].
const FIGURES: [&str; 3] = ["day", "session", "breaker"];

/// Reserves the estimated cost of a question, unless the budget is used up.
fn reserve(entries: &mut Entries, budget: JudgeBudget, estimate: f64, now: Timestamp) -> Available {
    let of_run = entries.of_run.unwrap_or_default();
    for (limit, spent, of) in
        [(budget.session, of_run, "session"), (budget.day, entries.spent_today(now), "day")]
    {
        if let Some(limit) = limit.filter(|limit| spent.gone >= limit.0) {
            let limit = limit.0;
            return Err(Unavailable::new(format!(
                "its budget of {limit} for a {of} is used up; raise `budget`, or wait"
            )));
        }
    }
    entries.spend(estimate, now);
    Ok(())
}

/// Checks that the circuit breaker permits a question.
fn check_breaker(entries: &mut Entries, item: &Item, now: Timestamp) -> Available {
    let Some(breaker) = &mut entries.breaker else { return Ok(()) };
    let Some((since, until)) = breaker.open else { return Ok(()) };
    // A clock that was set back must not keep it open for good.
    let is_over = now >= until || now < since;
    let is_trying = breaker.trying.is_some_and(|trying| now < trying && now >= since);
    if !is_over || is_trying {
        let Breaker { failures, last, .. } = breaker;
        let when = if is_over {
            "one question is testing whether it works again".to_owned()
        } else {
            let left = until.duration_since(now).as_secs_f64().ceil();
            format!("it is called again in {left} s")
        };
        return Err(Unavailable::new(format!(
            "it failed {failures} times in a row, so it is not called; {when}. Last: {last}"
        )));
    }
    // The test has as long as an answer may take.
    let within = SignedDuration::try_from(std::time::Duration::from_millis(item.settings.timeout.0));
    breaker.trying = now.checked_add(within.unwrap_or_default()).ok();
    Ok(())
}

fn update_breaker(entries: &mut Entries, item: &Item, result: Option<QuestionResult<'_>>, now: Timestamp) {
    match result {
        Some(Ok(_)) => entries.breaker = None,
        None => {
            if let Some(breaker) = &mut entries.breaker {
                breaker.trying = None;
            }
        }
        Some(Err(error)) => {
            let failures = entries.breaker.as_ref().map_or(0, |breaker| breaker.failures).saturating_add(1);
            let rule = item.settings.breaker;
            let open = (failures >= rule.failures).then(|| (now, after(rule.pause, now)));
            entries.breaker =
                Some(Breaker { failures, last: shown(&error.to_string(), 300), open, trying: None });
        }
    }
}

fn after(pause: Seconds, now: Timestamp) -> Timestamp {
    let pause = SignedDuration::try_from_secs_f64(pause.0).unwrap_or_default();
    now.checked_add(pause).unwrap_or(Timestamp::MAX)
}

/// The answer to the same question, if it is stored and still holds.
fn stored_answer(entries: &Entries, item: &Item, now: Timestamp) -> Option<Answer> {
    let key = hex::encode(&item.key?);
    let mut stored = entries.answers.iter().flatten();
    let found = stored.find(|stored| stored.key == key && now < stored.until && now >= stored.since)?;
    Some(Answer { value: found.answer.clone(), cached: true, cost: None, cut: found.cut })
}

fn store_answer(entries: &mut Entries, item: &Item, answer: &Answer, now: Timestamp) {
    let Some(key) = item.key.map(|key| hex::encode(&key)) else { return };
    let mut stored = entries.answers.take().unwrap_or_default();
    stored.retain(|stored| stored.key != key && now < stored.until && now >= stored.since);
    stored.push(StoredAnswer {
        key,
        answer: answer.value.clone(),
        cut: answer.cut,
        since: now,
        until: after(item.settings.cache, now),
    });
    let size = |stored: &StoredAnswer| stored.answer.to_string().len();
    while stored.len() > MAX_ANSWERS || stored.iter().map(size).sum::<usize>() > MAX_BYTES {
        stored.remove(0);
    }
    entries.answers = Some(stored).filter(|stored| !stored.is_empty());
}
