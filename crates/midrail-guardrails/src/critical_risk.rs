//! critical-risk: nothing is done for a critical task without a person's word.

use midrail_core::{Context, Effect, Fault, Guardrail, Risk, Verdict};

/// Always on, and without settings: the task's risk is the setting.
#[derive(Debug, Clone, Copy, Default)]
pub struct CriticalRisk;

impl Guardrail for CriticalRisk {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        Ok(match context.risk() {
            Some(Risk::Critical) => {
                Verdict::new(Effect::Escalate, "The task is of critical risk: a person approves each action.")
                    .advise("Wait for the approval, or do something else that needs no action.")
            }
            _ => Verdict::allow(),
        })
    }

    fn ceiling(&self) -> Effect {
        Effect::Escalate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use midrail_core::{Event, Task};
    use serde_json::json;

    #[test]
    fn only_critical_tasks_are_put_to_a_person() {
        for (risk, effect) in [
            (None, Effect::Allow),
            (Some(Risk::Low), Effect::Allow),
            (Some(Risk::High), Effect::Allow),
            (Some(Risk::Critical), Effect::Escalate),
        ] {
            let task = Some(Task { risk, ..Task::default() });
            let event = Event { task, ..Event::before_tool("t", json!({})) };
            assert_eq!(Run::of(CriticalRisk).decide(&event).effect, effect, "{risk:?}");
        }
    }
}
