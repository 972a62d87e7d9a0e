//! handoff-003: the agent that takes over has enough left for what is handed to it.

use midrail_core::{Context, Effect, Fault, Guardrail, Handoff, Missing, Resource, Task, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::handoff::{extra, receiver};

/// The settings of handoff-003.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HandoffBudget {
    /// What every hand-off needs at least.
    pub needs: Amounts,
    /// A hand-off that needs something passes only where it is known that the receiver has it.
    pub require: bool,
}

/// Amounts of what can be used up.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Amounts {
    /// Tokens.
    pub tokens: f64,
    /// Seconds.
    pub time_s: f64,
    /// Calls to the outside.
    pub api_calls: f64,
    /// Money.
    pub cost: f64,
}

/// One of the things that can be used up, and where hand-offs speak of it.
struct Row {
    name: &'static str,
    resource: Resource,
    needs: &'static [&'static str],
    budgets: &'static [&'static str],
    used: &'static [&'static str],
    minimum: fn(&Amounts) -> f64,
    limit: fn(&Task) -> Option<f64>,
}

const ROWS: &[Row] = &[
    Row {
        name: "tokens",
        resource: Resource::Tokens,
        needs: &["tokens", "estimated_tokens"],
        budgets: &["token_budget"],
        used: &["tokens"],
        minimum: |amounts| amounts.tokens,
        limit: |task| task.token_budget.map(float),
    },
    Row {
        name: "seconds",
        resource: Resource::Time,
        needs: &["time_s", "estimated_s"],
        budgets: &["time_budget_s", "time_budget"],
        used: &["elapsed_s"],
        minimum: |amounts| amounts.time_s,
        limit: |task| task.time_budget_s,
    },
    Row {
        name: "external calls",
        resource: Resource::Calls,
        needs: &["api_calls", "estimated_api_calls"],
        budgets: &["api_call_budget"],
        used: &["api_calls"],
        minimum: |amounts| amounts.api_calls,
        limit: |task| task.api_call_budget.map(float),
    },
    Row {
        name: "cost",
        resource: Resource::Cost,
        needs: &["cost", "estimated_cost"],
        budgets: &["cost_budget"],
        used: &["cost"],
        minimum: |amounts| amounts.cost,
        limit: |task| task.cost_budget,
    },
];

/// A count as a number. Beyond 2^53 it is rounded, which no budget minds.
fn float(count: u64) -> f64 {
    Value::from(count).as_f64().unwrap_or(f64::INFINITY)
}

fn number(value: Option<&Value>, names: &[&str]) -> Option<f64> {
    names.iter().find_map(|name| value?.get(*name)?.as_f64()).filter(|number| number.is_finite())
}

impl HandoffBudget {
    fn needed(&self, handoff: &Handoff, row: &Row) -> f64 {
        let said = number(extra(handoff, &["needs", "estimates", "estimate"]), row.needs).unwrap_or(0.0);
        said.max((row.minimum)(&self.needs))
    }
}

/// What the receiver has left. `None`: no budget of it is known.
fn left(context: &Context<'_>, handoff: &Handoff, row: &Row) -> Result<Option<f64>, Missing> {
    let told = handoff.receiver.as_ref();
    let defined = context
        .definitions_of(receiver(context).unwrap_or_default())
        .filter_map(|definition| (row.limit)(&definition.task));
    let budget = number(told, row.budgets).into_iter().chain(defined).reduce(f64::min);
    let used = number(told.and_then(|told| told.get("usage")), row.used).unwrap_or(0.0);
    let own = budget.map(|budget| budget - used);
    // The receiver goes on with the same task, and what is left of that is all there is.
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
                        "`{to}` has too little left for this hand-off: {left} {name} of {needed} needed."
                    ))
                    .advise("Hand over a smaller part, to another agent, or ask for a larger budget.")
                    .with("resource", name)
                    .with("left", left)
                    .with("needed", needed));
                }
                None if needed > 0.0 && self.require => unknown = unknown.or(Some(row.name)),
                Some(_) | None => {}
            }
        }
        match unknown {
            Some(name) => Ok(Verdict::block(format!("How much `{to}` has left is not told ({name})."))
                .advise("Give the receiver's budget and usage with the hand-off.")
                .with("resource", name)),
            None => Ok(Verdict::allow()),
        }
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Hand work to agents whose budget suffices for it.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use midrail_core::{Event, EventKind, Usage};
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
    fn what_is_left_must_be_enough() {
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
    fn nothing_left_is_never_enough() {
        let handoff = json!({"to": "b", "receiver": {"api_call_budget": 3, "usage": {"api_calls": 3}}});
        assert_eq!(effect(json!({}), handoff), Effect::Block);
    }

    #[test]
    fn what_is_not_known_passes_unless_it_is_required() {
        let handoff = json!({"to": "b", "needs": {"tokens": 5}});
        assert_eq!(effect(json!({}), handoff.clone()), Effect::Allow);
        assert_eq!(effect(json!({"require": true}), handoff), Effect::Block);
        assert_eq!(effect(json!({"require": true}), json!({"to": "b"})), Effect::Allow);
    }

    #[test]
    fn what_is_left_of_the_task_counts_too() {
        let task = Task { token_budget: Some(1_000), ..Task::default() };
        let usage = Usage { tokens: Some(990), ..Usage::default() };
        let handoff =
            |tokens: u64| json!({"to": "b", "needs": {"tokens": tokens}, "receiver": {"token_budget": 500}});
        assert_eq!(decide(json!({}), handoff(11), task.clone(), usage.clone()), Effect::Block);
        assert_eq!(decide(json!({}), handoff(10), task, usage), Effect::Allow);
    }
}
