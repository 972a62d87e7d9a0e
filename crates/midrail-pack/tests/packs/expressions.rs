//! The names that expressions know: each stands for something, and what is absent is unknown unless it is a limit.

use midrail_core::{Effect, Event};
use midrail_pack::expr::{Expected, Expression};
use midrail_pack::{ALERT_GROUPS, ALERT_NAMES, EVENT_NAMES};
use serde_json::json;

use crate::world::World;

#[test]
fn expressions_of_the_seeds_are_parsed() {
    for source in [
        "agent.role == 'implementer' AND action.type == 'file_write'",
        "action.target_file does not match '**/test_*' AND '**/*_test.*'",
        "current_tokens + estimated_action_tokens <= task.token_budget",
        "current_elapsed + estimated_action_duration <= task.time_budget",
        "action.target_files all match task.scope.files.write patterns\nAND action.target_files none match task.scope.files.deny patterns",
        "action.tool_name in agent.allowed_tools\nOR action.tool_name in task.additional_tools",
    ] {
        let parsed = Expression::parse(source, &EVENT_NAMES, Expected::Bool);
        let expression = parsed.unwrap_or_else(|problems| panic!("{source}: {problems:?}"));
        assert_eq!(expression.always(), None, "{source}");
    }
    for (source, metric, threshold, window, group) in [
        ("block_rate > 30% over 10 minute window", "block_rate", 0.3, Some(600), None),
        ("bypass_requests > 5 per agent per hour", "bypass_requests", 5.0, Some(3600), Some("agent")),
        ("avg_duration_ms > 500", "avg_duration_ms", 500.0, None, None),
    ] {
        let expected = Expected::Alert { groups: ALERT_GROUPS };
        let expression = Expression::parse(source, &ALERT_NAMES, expected).unwrap();
        let alert = expression.alert().unwrap();
        assert_eq!(alert.metric.to_string(), metric);
        assert_eq!((alert.threshold, alert.window_seconds), (threshold, window), "{source}");
        assert_eq!(alert.group_by.as_deref(), group);
    }
}

/// An event with every field. `session.x` is a session variable.
fn whole_event() -> Event {
    serde_json::from_value(json!({
        "kind": "before_tool", "session": "s-1", "time": "2026-11-15T10:00:00Z", "cwd": "/repo",
        "agent": {"id": "a-1", "role": "implementer", "capabilities": ["code"], "allowed_tools": ["*"], "autonomy_level": 2},
        "task": {"id": "t-9", "goal": "g", "risk": "medium",
                 "scope": {"files": {"read": ["**"], "write": ["**"], "deny": ["**/.env"]}},
                 "token_budget": 100000, "time_budget_s": 3600, "api_call_budget": 50, "cost_budget": 5.0,
                 "additional_tools": ["lint"]},
        "usage": {"tokens": 1, "estimated_tokens": 1, "elapsed_s": 1.0, "estimated_s": 1.0, "api_calls": 1, "cost": 0.1,
                  "estimated_cost": 0.1},
        "tool": {"name": "Bash", "call_id": "c", "args": {"x": 1, "command": "cat a.txt"}},
        "result": {"ok": true, "content": {"x": 1}, "exit_code": 0},
        "text": "t", "prompt": "p", "parent": "q",
        "handoff": {"to": "b", "context": {"x": 1}, "rationale": "r"},
        "error": {"message": "m", "kind": "k", "attempt": 1},
        "output": {"x": 1}, "stop_reason": "done", "last_assistant": "l", "available_tools": ["Bash"],
    }))
    .unwrap()
}

/// The names that are unknown in an event, found by asking for each whether it is known.
fn unknown_names(event: &Event) -> Vec<&'static str> {
    let is_unknown = |name: &str| {
        let source = format!(
            "pack: p\nenv_vars: x\nguardrails:\n  - {{id: g, check: \"{} is known\"}}\n",
            name.replace(".*", ".x")
        );
        let mut world = World::of(&source);
        world.set("x", 1);
        world.decide(event).effect == Effect::Block
    };
    EVENT_NAMES.terms().iter().map(|term| term.name).filter(|name| is_unknown(name)).collect()
}

#[test]
fn every_name_has_a_value_in_a_complete_event() {
    assert_eq!(unknown_names(&whole_event()), Vec::<&str>::new());
}

#[test]
fn absent_values_are_unknown_except_limits_and_counts() {
    let bare = Event::before_tool("Bash", json!({}));
    let known: Vec<&str> = {
        let unknown = unknown_names(&bare);
        EVENT_NAMES.terms().iter().map(|term| term.name).filter(|name| !unknown.contains(name)).collect()
    };
    assert_eq!(
        known,
        [
            "action.type",
            "action.tool_name",
            "action.target_file",
            "action.target_files",
            "action.reads",
            "action.writes",
            "action.programs",
            "action.hosts",
            "action.does",
            "action.destinations",
            "flow.labels",
            "flow.sources",
            "action.dangers",
            "action.complete",
            "action.opaque",
            "agent.allowed_tools",
            "task.token_budget",
            "task.time_budget",
            "task.time_budget_s",
            "task.api_call_budget",
            "task.cost_budget",
            "task.additional_tools",
            "task.scope.files.read",
            "task.scope.files.write",
            "task.scope.files.deny",
            "current_tokens",
            "estimated_action_tokens",
            "current_elapsed",
            "estimated_action_duration",
            "tool.name",
            "result.box.refused",
            "result.box.changed",
            "result.box.lost",
            "event.kind",
            "session.*",
            "signals.max_tool_risk",
            "signals.previous_violations",
            "signals.requests_system_info",
            "signals.contains_untrusted",
            "feedback.calls",
            "feedback.calls_since",
            "feedback.calls_since_any",
            "feedback.last",
            "feedback.last_provider",
            "feedback.calls_since_by.*",
            "feedback.last_by.*",
            "feedback.recent",
            "git.branch",
            "deadline.remaining_s",
        ]
    );
}

#[test]
fn absent_limit_is_unlimited() {
    for check in [
        "current_tokens + estimated_action_tokens <= task.token_budget",
        "current_tokens < 0.8 * task.token_budget",
        "task.token_budget - current_tokens > 1000",
        "current_elapsed + estimated_action_duration <= task.time_budget",
        "usage.cost is unknown OR usage.cost < task.cost_budget",
        "action.target_files all match task.scope.files.write patterns AND action.target_files none match task.scope.files.deny patterns",
        "action.tool_name in agent.allowed_tools OR action.tool_name in task.additional_tools",
    ] {
        let source = format!("pack: p\nguardrails:\n  - {{id: g, check: \"{check}\"}}\n");
        let decision = World::of(&source).before("Write", json!({"file_path": "src/a.rs"}));
        assert_eq!(decision.effect, Effect::Allow, "{check}: {}", decision.reason);
    }
}

#[test]
fn unknown_check_uses_on_missing_and_unknown_condition_holds() {
    let pack =
        |more: &str| format!("pack: p\nguardrails:\n  - {{id: g, check: \"agent.role == 'x'\"{more}}}\n");
    let decision = World::of(&pack("")).before("t", json!({}));
    assert_eq!(
        (decision.effect, decision.reason.as_str()),
        (Effect::Block, "`g` could not be checked: `agent.role` is not known")
    );
    assert_eq!(World::of(&pack(", on_missing: escalate")).effect("t", json!({})), Effect::Escalate);
    assert_eq!(World::of(&pack(", on_missing: allow")).effect("t", json!({})), Effect::Allow);
    let condition = "pack: p\nguardrails:\n  - {id: g, when: \"agent.role == 'x'\", effect: warn}\n";
    assert_eq!(World::of(condition).effect("t", json!({})), Effect::Warn);
}

#[test]
fn condition_reads_session_variables() {
    let source = "pack: p\nguardrails:\n  - {id: g, when: session.strict == true, tools: deploy}\n";
    let mut world = World::of(source);
    world.set("strict", false);
    assert_eq!(world.effect("deploy", json!({})), Effect::Allow);
    world.set("strict", true);
    assert_eq!(world.effect("deploy", json!({})), Effect::Block);
    assert_eq!(world.effect("build", json!({})), Effect::Allow);
}

#[test]
fn keys_can_be_computed() {
    let source = "pack: p\nguardrails:\n  - require_before: {tool: merge, requires: review, key: {expression: lower(tool.args.pr)}}\n";
    let mut world = World::of(source);
    world.succeed("review", json!({"pr": "ABC"}));
    assert_eq!(world.effect("merge", json!({"pr": "abc"})), Effect::Allow);
    assert_eq!(world.effect("merge", json!({"pr": "abd"})), Effect::Block);
}

#[test]
fn text_patterns_match_across_slashes_and_path_patterns_do_not() {
    let stops = |check: &str, tool: &str, args: serde_json::Value| {
        let mut world = World::of(&format!("pack: p\nguardrails:\n  - {{id: a, when: \"{check}\"}}\n"));
        world.effect(tool, args) == Effect::Block
    };
    let command = |line: &str| json!({"command": line});
    for line in ["rm -rf x", "rm -rf a/x", "cd /srv && rm -r a/b/c"] {
        assert!(stops("action.command matches '*rm -r*'", "Bash", command(line)), "{line}");
    }
    assert!(stops(
        "tool.args.url matches 'https://*.example.com/*'",
        "Fetch",
        json!({"url": "https://a.example.com/b/c"})
    ));
    for (path, expected) in [("src/a.rs", true), ("src/b/a.rs", false)] {
        assert_eq!(
            stops("action.target_file matches 'src/*'", "Write", json!({"file_path": path})),
            expected
        );
        assert_eq!(
            stops("tool.args.file_path matches 'src/*'", "Write", json!({"file_path": path})),
            expected
        );
    }
}

#[test]
fn check_holds_for_each_of_several_files_and_condition_for_one() {
    let effect = |guard: &str, line: &str| {
        let mut world = World::of(&format!("pack: p\nguardrails:\n  - {{id: a, {guard}}}\n"));
        world.effect("Bash", json!({"command": line}))
    };
    let inside = "check: \"action.target_file matches 'src/**'\"";
    assert_eq!(effect(inside, "cp src/a src/b"), Effect::Allow);
    assert_eq!(effect(inside, "cp src/a lib/b"), Effect::Block);
    assert_eq!(effect(inside, "cp lib/a src/b"), Effect::Block);
    let either = "check: \"action.target_file matches 'src/**' OR action.target_file matches 'lib/**'\"";
    assert_eq!(effect(either, "cp src/a lib/b"), Effect::Allow);
    let outside = "when: \"action.target_file does not match 'src/**'\"";
    assert_eq!(effect(outside, "cp src/a src/b"), Effect::Allow);
    assert_eq!(effect(outside, "cp src/a lib/b"), Effect::Block);
}

#[test]
fn default_risk_applies_to_unlisted_tools() {
    let source = "pack: p\ntool_risks: {__default__: critical, search: low}\nguardrails:\n  - {id: a, when: \"signals.max_tool_risk == 'critical'\"}\n";
    let mut world = World::of(source);
    assert_eq!(world.effect("anything", json!({})), Effect::Block);
    assert_eq!(world.effect("search", json!({})), Effect::Allow);
}
