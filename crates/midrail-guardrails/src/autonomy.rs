//! autonomy: blocks every action of an agent whose budget is used up.

use midrail_core::{Autonomy, Resource};

use crate::prelude::*;

pub(crate) const BUILTIN: Builtin = Builtin::without_settings::<AutonomyHalt>(
    "autonomy",
    Category::Budget,
    6,
    &[EventKind::BeforeTool, EventKind::BeforeHandoff],
)
.always_on();

/// Has no settings: the budgets of the task apply.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AutonomyHalt;

impl Guardrail for AutonomyHalt {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.autonomy()? != Autonomy::Halt {
            return Ok(Verdict::allow());
        }
        let mut used_up = Vec::new();
        let mut is_late = false;
        for (of, name) in [
            (Resource::Tokens, "tokens"),
            (Resource::Time, "time"),
            (Resource::Calls, "external calls"),
            (Resource::Cost, "money"),
        ] {
            match context.budget(of)?.filter(|budget| budget.remaining() <= 0.0) {
                Some(budget) if budget.is_deadline => is_late = true,
                Some(_) => used_up.push(name),
                None => {}
            }
        }
        if used_up.is_empty() && is_late {
            return Ok(Verdict::block("The deadline has passed.").advise(
                "Stop and report what is done and what is left. A person can set a later deadline.",
            ));
        }
        if is_late {
            used_up.push("time until the deadline");
        }
        Ok(Verdict::block(format!("The task's budget is used up: {}.", used_up.join(", ")))
            .advise("Stop and report what is done and what is left. A person can extend the budget."))
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Event, EventKind, Task, Usage};
    use serde_json::json;
    use std::sync::Arc;

    fn event(cost: f64) -> Event {
        Event {
            task: Some(Task { cost_budget: Some(5.0), ..Task::default() }),
            usage: Some(Usage { cost: Some(cost), ..Usage::default() }),
            ..Event::before_tool("t", json!({}))
        }
    }

    #[test]
    fn used_up_budget_blocks() {
        let mut run = Run::on(Arc::new(AutonomyHalt), vec![EventKind::BeforeTool]);
        assert_eq!(run.decide(&event(4.99)).effect, Effect::Allow);
        let decision = run.decide(&event(5.0));
        assert_eq!((decision.effect, decision.reason.contains("money")), (Effect::Block, true));
        assert_eq!(run.before("t", json!({})).effect, Effect::Allow);
    }
}
