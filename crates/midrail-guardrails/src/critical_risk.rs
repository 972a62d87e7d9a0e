//! critical-risk: requires a person's approval for every action of a critical task.

use crate::prelude::*;

pub(crate) const BUILTIN: Builtin = Builtin {
    needs_person: true,
    ..Builtin::without_settings::<CriticalRisk>(
        "critical-risk",
        Category::Safety,
        7,
        &[EventKind::BeforeTool, EventKind::BeforeHandoff],
    )
    .always_on()
};

/// Has no settings: the risk of the task applies.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CriticalRisk;

impl Guardrail for CriticalRisk {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        Ok(match context.risk() {
            Some(Risk::Critical) => Verdict::new(
                Effect::Escalate,
                "The risk of this task is critical, so every action needs a person's approval.",
            )
            .advise("Wait for the approval."),
            _ => Verdict::allow(),
        })
    }

    fn max_effect(&self) -> Effect {
        Effect::Escalate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Event, Task};
    use serde_json::json;

    #[test]
    fn only_critical_tasks_escalate() {
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
