//! Properties of the keys of packs: the order of guardrails never changes an effect, one more never lowers it, and every record
//! replays to its decision.

use std::fs;
use std::sync::Arc;

use midrail::{Decision, Effect, Engine, Event, EventKind, ToolResult};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::subsequence;
use serde_json::json;

use crate::sessions::policy;

/// One guardrail of each key that looks at commands, counts, facts, texts, arguments or files.
const GUARDRAILS: &[&str] = &[
    "{id: pushes, command: git push, effect: escalate}",
    "{id: publishing, command: {program: npm, subcommand: [publish, unpublish]}, effect: block}",
    "{id: deploy-after-tests, require_before: {command: deploy, requires: {command: [cargo test, npm test]}, since: {changes: \"src/**\"}}}",
    "{id: review-first, require_before: {tool: merge, requires: review, key: pr}}",
    "{id: three-tries, count: {most: 2, per: command, result: failed}}",
    "{id: few-searches, tools: search, count: {most: 2, within: 10m}}",
    "{id: reminder, tools: Edit, count: {most: 2, since: {command: cargo test}}, effect: warn}",
    "{id: branch, tools: Edit, when: \"git.branch is known\", effect: warn, reason: \"on {git.branch}\"}",
    "{id: customers, on: [after_tool, before_tool], redact: [{match: \"CUST-*\", as: \"[customer]\"}, {match: email}]}",
    "{id: projects, redact: [{match: \"Project {Falcon,Heron}\"}]}",
    "{id: refunds, tools: refund, check: tool.args.amount <= 100, effect: escalate, reason: \"{tool.args.amount} is much\"}",
    "{id: limit, tools: search, when: tool.args.limit > 10, modify: {args.limit: 10}}",
    "{id: other-limit, tools: search, when: tool.args.limit > 50, modify: {args.limit: 50}}",
    "{id: rehearse, command: kubectl apply, modify: {add: --dry-run}}",
    "{id: changelog, completion: {changed: CHANGELOG.md}}",
];

fn events() -> Vec<Event> {
    let bash = |command: &str| Event::before_tool("Bash", json!({"command": command}));
    let ran =
        |command: &str, result: ToolResult| Event::after_tool("Bash", json!({"command": command}), result);
    vec![
        bash("git push origin main"),
        bash("sudo npm publish && git push"),
        bash("deploy prod"),
        bash("make && deploy prod"),
        bash("cd k8s && kubectl apply -f a.yaml"),
        bash("bash -c 'kubectl apply -f a.yaml'"),
        bash("make build"),
        ran("make build", ToolResult::failed("no")),
        ran("cargo test", ToolResult::ok("ok")),
        ran("npm test; true", ToolResult::ok("ok")),
        Event::before_tool("Edit", json!({"file_path": "src/a.rs"})),
        Event::after_tool("Edit", json!({"file_path": "src/a.rs"}), ToolResult::ok("CUST-17 wrote")),
        Event::before_tool("search", json!({"query": "who is CUST-1", "limit": 20})),
        Event::before_tool("search", json!({"query": "Project Falcon", "limit": 99})),
        Event::after_tool("search", json!({}), ToolResult::ok(json!({"rows": ["CUST-1", "Project Heron"]}))),
        Event::before_tool("refund", json!({"amount": 800})),
        Event::before_tool("refund", json!({})),
        Event::before_tool("merge", json!({"pr": 1})),
        Event::after_tool("review", json!({"pr": 1}), ToolResult::ok("fine")),
        Event::new(EventKind::BeforeStop),
    ]
}

/// Decides events in one session, and checks that each record replays to its decision.
fn decide(guardrails: &[&str], events: &[Event]) -> Vec<Decision> {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/a.rs"), "").unwrap();
    fs::write(folder.path().join("CHANGELOG.md"), "").unwrap();
    let list: String = guardrails.iter().map(|guardrail| format!("  - {guardrail}\n")).collect();
    let (policy, source) = policy(&format!("pack: t\nextends: none\nguardrails:\n{list}"));
    let engine = Arc::new(Engine::builder(policy, &source).root(folder.path()).build().unwrap());
    let session = engine.session("s");
    let decisions = events.iter().map(|event| session.decide(event.clone())).collect();
    for entry in engine.store().entries(&Default::default()).unwrap() {
        let record = entry.record().unwrap();
        // As it is on the wire: changes of the state and requests are stored on their own.
        let again = serde_json::to_value(record.replay(&engine.policy())).unwrap();
        let again: Decision = serde_json::from_value(again).unwrap();
        assert_eq!(again, record.decision, "record {}", entry.seq);
    }
    decisions
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn order_of_guardrails_never_matters(
        guardrails in subsequence(GUARDRAILS, 1..GUARDRAILS.len()).prop_shuffle(),
        events in vec(proptest::sample::select(events()), 1..10),
    ) {
        let mut sorted = guardrails.clone();
        sorted.sort_unstable();
        let effects = |guardrails: &[&str]| decide(guardrails, &events).into_iter().map(|it| (it.effect, it.content)).collect::<Vec<_>>();
        prop_assert_eq!(effects(&guardrails), effects(&sorted));
    }

    #[test]
    fn one_more_guardrail_never_lowers_the_effect(
        guardrails in subsequence(GUARDRAILS, 1..GUARDRAILS.len()),
        more in proptest::sample::select(GUARDRAILS),
        event in proptest::sample::select(events()),
    ) {
        // A guardrail that changes the call changes what is judged.
        prop_assume!(!more.contains("modify"));
        let effect = |guardrails: &[&str]| decide(guardrails, std::slice::from_ref(&event)).first().map(|it| it.effect);
        let before: Vec<&str> = guardrails.iter().copied().filter(|it| *it != more).collect();
        prop_assume!(!before.is_empty());
        let after: Vec<&str> = before.iter().copied().chain([more]).collect();
        prop_assert!(effect(&after) >= effect(&before), "{:?} {:?}", effect(&after), effect(&before));
    }
}

#[test]
fn every_key_has_an_effect_on_some_event() {
    let all = decide(GUARDRAILS, &events());
    let effects: std::collections::BTreeSet<Effect> = all.iter().map(|it| it.effect).collect();
    assert!(effects.len() >= 5, "{effects:?}");
}
