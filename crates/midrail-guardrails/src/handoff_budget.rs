//! handoff-budget (handoff-003): blocks a hand-off if the receiver's remaining budget is too small.

use midrail_core::{Handoff, Resource};
use serde_json::Value;

use crate::prelude::*;
use crate::shared::handoff::{extra, receiver};

pub(crate) const BUILTIN: Builtin =
    HANDOFF.builtin::<HandoffBudget>("handoff-003", &[EventKind::BeforeHandoff]);

/// The settings of handoff-budget.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HandoffBudget {
    /// The minimum for every hand-off.
    pub needs: ResourceAmounts,
    /// Block if the receiver's budget for a need is unknown.
    pub require: bool,
}

/// Amounts of resources.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ResourceAmounts {
    /// Tokens.
    pub tokens: f64,
    /// Seconds.
    pub time_s: f64,
    /// External calls.
    pub api_calls: f64,
    /// Money.
    pub cost: f64,
}

/// A resource and its names in hand-offs.
struct Row {
    name: &'static str,
    resource: Resource,
    needs: &'static [&'static str],
    budgets: &'static [&'static str],
    used: &'static [&'static str],
    minimum: fn(&ResourceAmounts) -> f64,
}

const ROWS: &[Row] = &[
    Row {
        name: "tokens",
        resource: Resource::Tokens,
        needs: &["tokens", "estimated_tokens"],
        budgets: &["token_budget"],
        used: &["tokens"],
        minimum: |amounts| amounts.tokens,
    },
    Row {
        name: "seconds",
        resource: Resource::Time,
        needs: &["time_s", "estimated_s"],
        budgets: &["time_budget_s", "time_budget"],
        used: &["elapsed_s"],
        minimum: |amounts| amounts.time_s,
    },
    Row {
        name: "external calls",
        resource: Resource::Calls,
        needs: &["api_calls", "estimated_api_calls"],
        budgets: &["api_call_budget"],
        used: &["api_calls"],
        minimum: |amounts| amounts.api_calls,
    },
    Row {
        name: "cost",
        resource: Resource::Cost,
        needs: &["cost", "estimated_cost"],
        budgets: &["cost_budget"],
        used: &["cost"],
        minimum: |amounts| amounts.cost,
    },
];

fn number(value: Option<&Value>, names: &[&str]) -> Option<f64> {
    names.iter().find_map(|name| value?.get(*name)?.as_f64()).filter(|number| number.is_finite())
}

impl HandoffBudget {
    fn needed(&self, handoff: &Handoff, row: &Row) -> f64 {
        let stated = number(extra(handoff, &["needs", "estimates", "estimate"]), row.needs).unwrap_or(0.0);
        stated.max((row.minimum)(&self.needs))
    }
}

/// The remaining budget of the receiver. `None`: unknown.
fn left(context: &Context<'_>, handoff: &Handoff, row: &Row) -> Result<Option<f64>, Missing> {
    let reported = handoff.receiver.as_ref();
    let defined = context
        .definitions_for_agent(receiver(context).unwrap_or_default())
        .filter_map(|definition| row.resource.limit(&definition.task));
    let budget = number(reported, row.budgets).into_iter().chain(defined).reduce(f64::min);
    let used = number(reported.and_then(|receiver| receiver.get("usage")), row.used).unwrap_or(0.0);
    let own = budget.map(|budget| budget - used);
    // The receiver continues the same task, so the rest of the task's budget applies too.
    let of_task = context.budget(row.resource)?.map(|budget| budget.limit - budget.used);
    Ok(own.into_iter().chain(of_task).reduce(f64::min))
}

impl Guardrail for HandoffBudget {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some(handoff) = &context.event.handoff else { return Ok(Verdict::allow()) };
        let to = receiver(context).unwrap_or("the receiver");
        let amounts: Vec<_> = ROWS.iter().map(|row| (row, left(context, handoff, row))).collect();
        let mut unknown = None;
        for (row, left) in amounts {
            let needed = self.needed(handoff, row);
            match left? {
                Some(left) if left < needed || left <= 0.0 => {
                    let left = left.max(0.0);
                    let name = row.name;
                    return Ok(Verdict::block(format!(
                        "The budget of `{to}` is too small for this hand-off: {left} of {needed} {name} left."
                    ))
                    .advise("Hand over a smaller part, choose another agent, or request a larger budget.")
                    .with("resource", name)
                    .with("left", left)
                    .with("needed", needed));
                }
                None if needed > 0.0 && self.require => unknown = unknown.or(Some(row.name)),
                Some(_) | None => {}
            }
        }
        match unknown {
            Some(name) => Ok(Verdict::block(format!("The remaining budget of `{to}` is unknown ({name})."))
                .advise("Add the receiver's budget and usage to the hand-off.")
                .with("resource", name)),
            None => Ok(Verdict::allow()),
        }
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Hand work only to agents with enough budget for it.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Event, EventKind, Task, Usage};
    use serde_json::json;
    use std::sync::Arc;

    fn decide(settings: Value, handoff: Value, task: Task, usage: Usage) -> Effect {
        let guardrail: HandoffBudget = serde_json::from_value(settings).unwrap();
        let handoff = serde_json::from_value(handoff).unwrap();
        let time = Some("2026-11-15T10:00:00Z".parse().unwrap());
        let event = Event {
            handoff,
            time,
            task: Some(task),
            usage: Some(usage),
            ..Event::new(EventKind::BeforeHandoff)
        };
        Run::on(Arc::new(guardrail), vec![EventKind::BeforeHandoff]).decide(&event).effect
    }

    fn effect(settings: Value, handoff: Value) -> Effect {
        decide(settings, handoff, Task::default(), Usage::default())
    }

    #[test]
    fn remaining_budget_must_be_enough() {
        let handoff = |needs: Value| {
            let usage = json!({"tokens": 900, "elapsed_s": 10.0, "cost": 4.5});
            let receiver =
                json!({"token_budget": 1000, "time_budget_s": 60, "cost_budget": 5, "usage": usage});
            json!({"to": "b", "needs": needs, "receiver": receiver})
        };
        assert_eq!(effect(json!({}), handoff(json!({}))), Effect::Allow);
        assert_eq!(
            effect(json!({}), handoff(json!({"tokens": 100, "time_s": 50, "cost": 0.5}))),
            Effect::Allow
        );
        assert_eq!(effect(json!({}), handoff(json!({"tokens": 101}))), Effect::Block);
        assert_eq!(effect(json!({}), handoff(json!({"time_s": 51}))), Effect::Block);
        assert_eq!(effect(json!({}), handoff(json!({"cost": 0.6}))), Effect::Block);
        assert_eq!(effect(json!({"needs": {"tokens": 200}}), handoff(json!({}))), Effect::Block);
    }

    #[test]
    fn used_up_budget_is_never_enough() {
        let handoff = json!({"to": "b", "receiver": {"api_call_budget": 3, "usage": {"api_calls": 3}}});
        assert_eq!(effect(json!({}), handoff), Effect::Block);
    }

    #[test]
    fn unknown_budget_is_allowed_unless_required() {
        let handoff = json!({"to": "b", "needs": {"tokens": 5}});
        assert_eq!(effect(json!({}), handoff.clone()), Effect::Allow);
        assert_eq!(effect(json!({"require": true}), handoff), Effect::Block);
        assert_eq!(effect(json!({"require": true}), json!({"to": "b"})), Effect::Allow);
    }

    #[test]
    fn remaining_budget_of_the_task_counts_too() {
        let task = Task { token_budget: Some(1_000), ..Task::default() };
        let usage = Usage { tokens: Some(990), ..Usage::default() };
        let handoff =
            |tokens: u64| json!({"to": "b", "needs": {"tokens": tokens}, "receiver": {"token_budget": 500}});
        assert_eq!(decide(json!({}), handoff(11), task.clone(), usage.clone()), Effect::Block);
        assert_eq!(decide(json!({}), handoff(10), task, usage), Effect::Allow);
    }
}
