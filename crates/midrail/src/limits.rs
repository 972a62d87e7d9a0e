//! Limits of a run that are set by the caller, in addition to those of packs and events.

use jiff::Timestamp;
use midrail_core::{Deadline, Event};
use midrail_store::{Result, Store};

use crate::session_slices::session_start_time;

/// A deadline and budgets for a run. What is absent sets no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// When it has to be finished.
    pub deadline: Option<Deadline>,
    /// Tokens that may be spent.
    pub token_budget: Option<u64>,
    /// Seconds that may be spent.
    pub time_budget_s: Option<f64>,
    /// Calls to the outside that may be made.
    pub api_call_budget: Option<u64>,
    /// Money that may be spent.
    pub cost_budget: Option<f64>,
}

impl Limits {
    /// Adds these limits to those of an event; the tightest counts. A duration starts with the first event of the session.
    pub fn apply(&self, event: &mut Event, store: &dyn Store, now: Timestamp) -> Result<()> {
        if let Some(deadline) = self.deadline {
            let began = match deadline {
                Deadline::At(_) => None,
                Deadline::After(_) => session_start_time(store, event)?,
            };
            let until = deadline.resolve(began.or(event.time).unwrap_or(now));
            event.deadline = tightest(event.deadline, Some(until));
        }
        let has_budget = self.token_budget.is_some()
            || self.time_budget_s.is_some()
            || self.api_call_budget.is_some()
            || self.cost_budget.is_some();
        if has_budget {
            let task = event.task.get_or_insert_default();
            task.token_budget = tightest(task.token_budget, self.token_budget);
            task.time_budget_s = tightest(task.time_budget_s, self.time_budget_s);
            task.api_call_budget = tightest(task.api_call_budget, self.api_call_budget);
            task.cost_budget = tightest(task.cost_budget, self.cost_budget);
        }
        Ok(())
    }
}

/// The lower of two limits, or the one that is set.
fn tightest<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other < one { other } else { one }),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midrail_core::{EventKind, Task};
    use midrail_store::MemoryStore;

    #[test]
    fn the_tightest_of_both_holds() {
        let store = MemoryStore::new().unwrap();
        let now: Timestamp = "2026-11-15T10:00:00Z".parse().unwrap();
        let limits = Limits {
            deadline: Some(Deadline::After(3_600.0)),
            token_budget: Some(100),
            time_budget_s: Some(60.0),
            api_call_budget: Some(5),
            cost_budget: Some(1.5),
        };
        let mut event = Event::new(EventKind::BeforeTool);
        limits.apply(&mut event, &store, now).unwrap();
        assert_eq!(event.deadline.unwrap().to_string(), "2026-11-15T11:00:00Z");
        let task = event.task.unwrap();
        assert_eq!((task.token_budget, task.time_budget_s), (Some(100), Some(60.0)));
        assert_eq!((task.api_call_budget, task.cost_budget), (Some(5), Some(1.5)));

        let own = Task { token_budget: Some(7), ..Task::default() };
        let mut event = Event { deadline: Some(now), task: Some(own), ..Event::new(EventKind::BeforeTool) };
        limits.apply(&mut event, &store, now).unwrap();
        assert_eq!(event.deadline, Some(now));
        let task = event.task.unwrap();
        assert_eq!((task.token_budget, task.cost_budget), (Some(7), Some(1.5)));
        // An event cannot loosen what is set outside.
        let own = Task { token_budget: Some(500), cost_budget: Some(9.0), ..Task::default() };
        let late: Timestamp = "2026-11-16T10:00:00Z".parse().unwrap();
        let mut event = Event { deadline: Some(late), task: Some(own), ..Event::new(EventKind::BeforeTool) };
        limits.apply(&mut event, &store, now).unwrap();
        assert_eq!(event.deadline.unwrap().to_string(), "2026-11-15T11:00:00Z");
        let task = event.task.unwrap();
        assert_eq!((task.token_budget, task.cost_budget), (Some(100), Some(1.5)));
        // A host's own time counts before that of this machine.
        let mut event = Event { time: Some(Timestamp::UNIX_EPOCH), ..Event::new(EventKind::BeforeTool) };
        limits.apply(&mut event, &store, now).unwrap();
        assert_eq!(event.deadline.unwrap().to_string(), "1970-01-01T01:00:00Z");
    }

    #[test]
    fn no_limits_change_nothing() {
        let mut event = Event::new(EventKind::BeforeTool);
        Limits::default().apply(&mut event, &MemoryStore::new().unwrap(), Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(event, Event::new(EventKind::BeforeTool));
    }
}
