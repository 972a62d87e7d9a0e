//! builtin-002: the time of a task is not overspent.

use midrail_core::{Changes, Context, Effect, EventKind, Fault, Guardrail, Missing, Verdict};
use serde_json::Value;

use crate::budget::Thresholds;

/// The time budget of the event's task and of its definitions; the tightest counts.
#[derive(Debug, Clone, Copy)]
pub struct TimeBudget {
    /// When something happens.
    pub thresholds: Thresholds,
}

impl Default for TimeBudget {
    fn default() -> Self {
        TimeBudget { thresholds: Thresholds { warn: 0.7, escalate: 0.9, block: 1.0 } }
    }
}

impl TimeBudget {
    fn budget(context: &Context<'_>) -> Option<f64> {
        context.tasks().filter_map(|task| task.time_budget_s).reduce(f64::min)
    }

    /// Seconds since the first event of this task, where the host does not tell.
    fn own_measure(context: &Context<'_>) -> Result<f64, Missing> {
        let started =
            context.state(&started_key(context))?.and_then(Value::as_str).and_then(|text| text.parse().ok());
        let started: jiff::Timestamp = match started {
            Some(started) => started,
            None => return Ok(0.0),
        };
        Ok(context.now()?.duration_since(started).as_secs_f64().max(0.0))
    }
}

impl Guardrail for TimeBudget {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some(budget) = Self::budget(context) else { return Ok(Verdict::allow()) };
        let usage = context.event.usage.as_ref();
        let estimated = usage.and_then(|usage| usage.estimated_s).unwrap_or(0.0);
        let told = usage.and_then(|usage| usage.elapsed_s);
        let used = match told {
            Some(elapsed) => elapsed,
            None => Self::own_measure(context)?,
        };
        let verdict = self.thresholds.verdict("time", " s", used, estimated, budget);
        Ok(if told.is_none() { verdict.with("measured_by", "midrail") } else { verdict })
    }

    fn observe(&self, context: &Context<'_>, _: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if Self::budget(context).is_some()
            && let Some(time) = context.event.time
            && context.state(&started_key(context))?.is_none()
        {
            changes.set(context.key(&started_key(context)), time.to_string());
        }
        Ok(())
    }

    fn watches(&self) -> &[EventKind] {
        &[EventKind::SessionStart, EventKind::BeforeModel, EventKind::BeforeTool]
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }
}

fn started_key(context: &Context<'_>) -> String {
    format!("started/{}", context.event.task_id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use midrail_core::{Event, Task, Usage};
    use serde_json::json;

    fn event(elapsed: Option<f64>, at: &str) -> Event {
        Event {
            time: Some(at.parse().unwrap()),
            task: Some(Task { time_budget_s: Some(100.0), ..Task::default() }),
            usage: Some(Usage { elapsed_s: elapsed, ..Usage::default() }),
            ..Event::before_tool("t", json!({}))
        }
    }

    #[test]
    fn what_the_host_tells_counts() {
        let mut run = Run::of(TimeBudget::default());
        let start = "2026-11-15T10:00:00Z";
        assert_eq!(run.decide(&event(Some(69.0), start)).effect, Effect::Allow);
        assert_eq!(run.decide(&event(Some(70.0), start)).effect, Effect::Warn);
        assert_eq!(run.decide(&event(Some(90.0), start)).effect, Effect::Escalate);
        assert_eq!(run.decide(&event(Some(100.0), start)).effect, Effect::Block);
    }

    #[test]
    fn what_the_host_does_not_tell_is_measured() {
        let mut run = Run::of(TimeBudget::default());
        assert_eq!(run.decide(&event(None, "2026-11-15T10:00:00Z")).effect, Effect::Allow);
        assert_eq!(run.decide(&event(None, "2026-11-15T10:01:15Z")).effect, Effect::Warn);
        assert_eq!(run.decide(&event(None, "2026-11-15T10:02:00Z")).effect, Effect::Block);
    }
}
