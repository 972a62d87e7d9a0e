//! time-budget (builtin-002): blocks actions once the time budget of the task is used up.

use midrail_core::Resource;

use crate::prelude::*;
use crate::shared::thresholds::{ResourceWords, Share, Thresholds};

pub(crate) const BUILTIN: Builtin =
    Builtin::new::<TimeBudget>("builtin-002", Category::Budget, 2, &[EventKind::BeforeTool])
        .min_risk(Risk::Low)
        .always_on()
        .aliases(&["builtin_time_budget"])
        .supports(EventKind::ALL);

/// The settings of time-budget.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TimeBudget {
    /// The thresholds. Default: 70, 90 and 100 percent.
    pub thresholds: Thresholds,
}

const DEFAULT: Thresholds =
    Thresholds { warn: Some(Share(0.7)), escalate: Some(Share(0.9)), block: Some(Share(1.0)) };
pub(crate) const TIME: ResourceWords = ResourceWords { what: "time", unit: " s" };

impl Guardrail for TimeBudget {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        Ok(self.thresholds.judge(context, Resource::Time, DEFAULT, TIME)?)
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
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

    const START: &str = "2026-11-15T10:00:00Z";

    #[test]
    fn reported_time_counts() {
        for (elapsed, expected) in [
            (69.0, Effect::Allow),
            (70.0, Effect::Warn),
            (90.0, Effect::Escalate),
            (99.0, Effect::Escalate),
            (100.0, Effect::Block),
        ] {
            let effect = Run::of(TimeBudget::default()).decide(&event(Some(elapsed), START)).effect;
            assert_eq!(effect, expected, "{elapsed}");
        }
    }

    #[test]
    fn unreported_time_is_measured() {
        let mut run = Run::of(TimeBudget::default()).with_slice("spent/", json!({"since": START}));
        assert_eq!(run.decide(&event(None, START)).effect, Effect::Allow);
        assert_eq!(run.decide(&event(None, "2026-11-15T10:01:10Z")).effect, Effect::Warn);
        assert_eq!(run.decide(&event(None, "2026-11-15T10:02:00Z")).effect, Effect::Block);
    }

    #[test]
    fn thresholds_are_configurable() {
        let guardrail: TimeBudget = serde_json::from_value(json!({"thresholds": {"warn": "10%"}})).unwrap();
        assert_eq!(Run::of(guardrail).decide(&event(Some(10.0), START)).effect, Effect::Warn);
    }
}
