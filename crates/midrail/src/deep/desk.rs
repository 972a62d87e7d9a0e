//! What is remembered of each guardrail that asks: how many questions are under way, whether it is worth asking at
//! all just now, and what was spent.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use midrail_guardrails::{DeepKind, DeepSettings, JudgeBudget, Seconds};

/// The most sessions whose spending is remembered, for each guardrail.
const MAX_RUNS: usize = 4_096;

/// Seconds of a day.
const DAY: i64 = 86_400;

pub(super) struct Desk {
    settings: Arc<DeepSettings>,
    /// Questions that are asked at this moment.
    pub(super) running: usize,
    failures: u32,
    last: String,
    /// From when until when nobody is asked.
    open: Option<(Timestamp, Timestamp)>,
    /// Whether one question is out to see how it goes.
    is_trying: bool,
    day: i64,
    of_day: Spent,
    of_runs: BTreeMap<String, (Spent, u64)>,
    count: u64,
}

/// Money that is gone, and money that questions under way are expected to cost.
#[derive(Clone, Copy, Default)]
struct Spent {
    gone: f64,
    held: f64,
}

/// How a question ended.
pub(super) enum Ended<'e> {
    Well,
    Badly(&'e str),
    /// Nobody can say: it was taken back, or never asked.
    Unknown,
}

impl Desk {
    pub(super) fn new(settings: Arc<DeepSettings>) -> Self {
        Desk {
            settings,
            running: 0,
            failures: 0,
            last: String::new(),
            open: None,
            is_trying: false,
            day: 0,
            of_day: Spent::default(),
            of_runs: BTreeMap::new(),
            count: 0,
        }
    }

    /// Takes new settings. Past failures say nothing about them; what was spent is spent.
    pub(super) fn set(&mut self, settings: &Arc<DeepSettings>) {
        if !Arc::ptr_eq(&self.settings, settings) {
            if *self.settings != **settings {
                (self.failures, self.open, self.is_trying) = (0, None, false);
            }
            self.settings = settings.clone();
        }
    }

    /// Whether there is room for another question at this moment.
    pub(super) fn has_room(&self) -> bool {
        self.running < self.settings.max_concurrent
    }

    /// Lets a question in, or says why it is not asked. What it may cost is held back.
    pub(super) fn admit(&mut self, run: &str, estimate: f64, now: Timestamp) -> Result<(), String> {
        self.within_budget(run, now)?;
        if let Some((since, until)) = self.open {
            // A clock that went back must not keep it closed for good.
            let is_over = now >= until || now < since;
            if !is_over || self.is_trying {
                let failures = self.failures;
                let last = &self.last;
                let when = match is_over {
                    true => "one question is out to see whether it is well again".to_owned(),
                    false => {
                        let left = until.duration_since(now).as_secs_f64().ceil();
                        format!("it is asked again in {left} s")
                    }
                };
                return Err(format!(
                    "it failed {failures} times in a row, so it is not asked; {when}. Last: {last}"
                ));
            }
            self.is_trying = true;
        }
        if estimate > 0.0 {
            self.of_day.held += estimate;
            self.of_run(run).held += estimate;
        }
        Ok(())
    }

    fn within_budget(&mut self, run: &str, now: Timestamp) -> Result<(), String> {
        let today = now.as_second().div_euclid(DAY);
        if self.day != today {
            (self.day, self.of_day.gone) = (today, 0.0);
        }
        let DeepKind::Judge(judge) = &self.settings.kind else { return Ok(()) };
        let JudgeBudget { session, day } = judge.budget.unwrap_or_default();
        let spent = self.of_runs.get(run).map(|(spent, _)| *spent).unwrap_or_default();
        for (limit, spent, of) in [(session, spent, "session"), (day, self.of_day, "day")] {
            if let Some(limit) = limit
                && spent.gone + spent.held >= limit.0
            {
                let limit = limit.0;
                return Err(format!("its budget of {limit} for a {of} is used up; raise `budget`, or wait"));
            }
        }
        Ok(())
    }

    /// Takes in how a question ended.
    pub(super) fn settle(&mut self, run: &str, estimate: f64, cost: f64, ended: &Ended<'_>, now: Timestamp) {
        if estimate > 0.0 || cost > 0.0 {
            self.of_day.held = (self.of_day.held - estimate).max(0.0);
            self.of_day.gone += cost;
            let of_run = self.of_run(run);
            of_run.held = (of_run.held - estimate).max(0.0);
            of_run.gone += cost;
        }
        match ended {
            Ended::Well => (self.failures, self.open, self.is_trying) = (0, None, false),
            Ended::Unknown => self.is_trying = false,
            Ended::Badly(why) => {
                self.failures = self.failures.saturating_add(1);
                self.is_trying = false;
                (*why).clone_into(&mut self.last);
                let breaker = self.settings.breaker;
                if breaker.failures > 0 && self.failures >= breaker.failures {
                    self.open = Some((now, after(breaker.pause, now)));
                }
            }
        }
    }

    fn of_run(&mut self, run: &str) -> &mut Spent {
        self.count += 1;
        let count = self.count;
        if !self.of_runs.contains_key(run) && self.of_runs.len() >= MAX_RUNS {
            let oldest = self.of_runs.iter().min_by_key(|(_, (_, count))| *count);
            if let Some(oldest) = oldest.map(|(run, _)| run.clone()) {
                self.of_runs.remove(&oldest);
            }
        }
        let (spent, last) = self.of_runs.entry(run.to_owned()).or_default();
        *last = count;
        spent
    }

    /// Whether nothing would be lost without it.
    pub(super) fn is_forgettable(&self) -> bool {
        self.running == 0 && self.failures == 0 && self.of_day.gone == 0.0 && self.of_day.held == 0.0
    }
}

fn after(pause: Seconds, now: Timestamp) -> Timestamp {
    let pause = SignedDuration::try_from_secs_f64(pause.0).unwrap_or_default();
    now.checked_add(pause).unwrap_or(Timestamp::MAX)
}
