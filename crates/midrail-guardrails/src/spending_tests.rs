//! Tests of budget-001 to budget-004, on one task with all four budgets.

use crate::api_call_limit::ApiCallLimit;
use crate::cost_ceiling::CostCeiling;
use crate::tests::Run;
use crate::time_budget_check::TimeBudgetCheck;
use crate::token_budget_check::TokenBudgetCheck;
use midrail_core::{Effect, Event, Guardrail, Task, Usage};
use serde_json::{Value, json};

fn event(tool: &str, args: Value, usage: Value) -> Event {
    let task: Task = serde_json::from_value(json!({
        "token_budget": 100, "time_budget_s": 100.0, "api_call_budget": 10, "cost_budget": 10.0,
    }))
    .unwrap();
    let mut report = json!({"tokens": 0, "elapsed_s": 0.0, "api_calls": 0, "cost": 0.0});
    report.as_object_mut().unwrap().extend(usage.as_object().unwrap().clone());
    let usage: Usage = serde_json::from_value(report).unwrap();
    Event { task: Some(task), usage: Some(usage), ..Event::before_tool(tool, args) }
}

fn effect(guardrail: impl Guardrail + 'static, usage: Value) -> Effect {
    Run::of(guardrail).decide(&event("t", json!({}), usage)).effect
}

#[test]
fn tokens_warn_at_90_and_escalate_at_100() {
    let check = TokenBudgetCheck::default();
    assert_eq!(effect(check, json!({"tokens": 10, "estimated_tokens": 79})), Effect::Allow);
    assert_eq!(effect(check, json!({"tokens": 10, "estimated_tokens": 80})), Effect::Warn);
    assert_eq!(effect(check, json!({"tokens": 10, "estimated_tokens": 90})), Effect::Escalate);
    assert_eq!(effect(check, json!({"tokens": 500})), Effect::Escalate);
    // The same with half of the budget used.
    assert_eq!(effect(check, json!({"tokens": 72})), Effect::Allow);
}

#[test]
fn time_warns_at_80_and_asks_at_100() {
    let check = TimeBudgetCheck::default();
    assert_eq!(effect(check, json!({"elapsed_s": 10.0, "estimated_s": 69.0})), Effect::Allow);
    assert_eq!(effect(check, json!({"elapsed_s": 10.0, "estimated_s": 70.0})), Effect::Warn);
    assert_eq!(effect(check, json!({"elapsed_s": 100.0})), Effect::Escalate);
}

#[test]
fn thresholds_are_configurable() {
    let check: TokenBudgetCheck =
        serde_json::from_value(json!({"thresholds": {"warn": 0.2, "block": "40%"}})).unwrap();
    assert_eq!(effect(check, json!({"tokens": 20})), Effect::Warn);
    assert_eq!(effect(check, json!({"tokens": 40})), Effect::Block);
}

fn calls(thresholds: Value, tool: &str, args: Value, used: u64) -> Effect {
    let limit: ApiCallLimit = serde_json::from_value(json!({"thresholds": thresholds})).unwrap();
    Run::of(limit).decide(&event(tool, args, json!({"api_calls": used}))).effect
}

#[test]
fn only_external_calls_are_blocked() {
    let url = || json!({"url": "https://example.com/a"});
    assert_eq!(calls(json!({}), "WebFetch", url(), 9), Effect::Allow);
    assert_eq!(calls(json!({}), "WebFetch", url(), 10), Effect::Block);
    assert_eq!(calls(json!({}), "WebSearch", json!({"query": "x"}), 10), Effect::Block);
    let command = |line: &str| json!({"command": line});
    assert_eq!(calls(json!({}), "Bash", command("curl https://example.com"), 10), Effect::Block);
    assert_eq!(calls(json!({}), "Bash", command("cargo test"), 10), Effect::Allow);
    assert_eq!(calls(json!({}), "Bash", command("curl http://localhost:3000/health"), 10), Effect::Allow);
    assert_eq!(calls(json!({}), "Bash", command("curl http://127.0.0.1:3000"), 10), Effect::Allow);
    assert_eq!(calls(json!({}), "Read", json!({"file_path": "a"}), 10), Effect::Allow);
}

#[test]
fn calls_can_warn_first() {
    let url = json!({"url": "https://example.com/a"});
    assert_eq!(calls(json!({"warn": 0.5}), "WebFetch", url.clone(), 3), Effect::Allow);
    assert_eq!(calls(json!({"warn": 0.5}), "WebFetch", url, 4), Effect::Warn);
}

#[test]
fn action_must_cost_less_than_the_rest() {
    let ceiling = CostCeiling::default;
    assert_eq!(effect(ceiling(), json!({"cost": 1.0, "estimated_cost": 8.99})), Effect::Allow);
    assert_eq!(effect(ceiling(), json!({"cost": 1.0, "estimated_cost": 9.0})), Effect::Escalate);
    assert_eq!(effect(ceiling(), json!({"cost": 10.0})), Effect::Escalate);
    assert_eq!(effect(ceiling(), json!({"cost": 4.0})), Effect::Allow);
    assert_eq!(effect(ceiling(), json!({"cost": 8.0, "estimated_cost": 0.0})), Effect::Allow);
}

#[test]
fn pack_can_estimate_the_cost_of_a_tool() {
    let ceiling = || -> CostCeiling {
        serde_json::from_value(json!({"estimates": {"render_*": 9.5, "render_small": 1}})).unwrap()
    };
    let effect = |tool: &str, usage: Value| Run::of(ceiling()).decide(&event(tool, json!({}), usage)).effect;
    assert_eq!(effect("render_big", json!({"cost": 1.0})), Effect::Escalate);
    assert_eq!(effect("render_big", json!({"cost": 0.1})), Effect::Allow);
    assert_eq!(effect("think", json!({"cost": 1.0})), Effect::Allow);
    // The host knows better.
    assert_eq!(effect("render_big", json!({"cost": 1.0, "estimated_cost": 0.1})), Effect::Allow);
    assert!(serde_json::from_value::<CostCeiling>(json!({"estimates": {"a": -1}})).is_err());
}

#[test]
fn without_a_budget_there_is_no_verdict() {
    let plain = Event::before_tool("WebFetch", json!({"url": "https://example.com"}));
    assert_eq!(Run::of(TokenBudgetCheck::default()).decide(&plain).effect, Effect::Allow);
    assert_eq!(Run::of(TimeBudgetCheck::default()).decide(&plain).effect, Effect::Allow);
    assert_eq!(Run::of(ApiCallLimit::default()).decide(&plain).effect, Effect::Allow);
    assert_eq!(Run::of(CostCeiling::default()).decide(&plain).effect, Effect::Allow);
}
