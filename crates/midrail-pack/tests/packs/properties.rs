//! What holds for every pack: order does not matter, and nothing makes reading panic.

use midrail_core::{Effect, Event, ToolResult};
use midrail_pack::{Layer, PackDocument, compile_policy, lint};
use proptest::prelude::*;
use serde_json::json;

use crate::world::World;

const GUARDS: [&str; 9] = [
    "{id: g0, tools: a, effect: warn}",
    "{id: g1, check: \"tool.args.n < 5\", effect: escalate, priority: 120}",
    "{id: g2, tools: ['b*'], when: \"tool.name != 'b2'\"}",
    "{id: g3, use: secret-redaction}",
    "{id: g4, sequential: {a: [b1], c: [a, b2]}}",
    "{id: g5, keyed: [{tool: c, requires: [a, b1], key: n}]}",
    "{id: g6, effect: halt, tools: never}",
    "{id: g7, mode: shadow}",
    "{id: g8, on: [before_tool, after_tool], effect: retry, check: \"tool.args.n != 3\", category: safety}",
];

fn pack(guards: &[&str]) -> String {
    guards.iter().fold("pack: p\nguardrails:\n".to_owned(), |pack, guard| format!("{pack}  - {guard}\n"))
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let tool = prop::sample::select(vec!["a", "b1", "b2", "c", "other", "never"]);
    let event = (tool, 0_u8..8, prop::option::of(any::<bool>())).prop_map(|(tool, n, result)| {
        let args = json!({"n": n});
        match result {
            None => Event::before_tool(tool, args),
            Some(true) => Event::after_tool(tool, args, ToolResult::ok("AKIAABCDEFGHIJKLMNOP")),
            Some(false) => Event::after_tool(tool, args, ToolResult::failed("no")),
        }
    });
    prop::collection::vec(event, 1..12)
}

/// Texts that packs are made of, for mutations that stay near a pack.
const PIECES: [&str; 24] = [
    "pack: p\n",
    "guardrails:\n",
    "  - ",
    "id: a",
    "check: \"",
    "when: ",
    "{",
    "}",
    "[",
    "]",
    ": ",
    ", ",
    "*a",
    "&a ",
    "\n",
    "agents:\n",
    "use: builtin-003",
    "env:\n",
    "  prod:\n",
    "policy_pack: x\n",
    "custom_guardrail:\n",
    "'",
    "\u{e9}",
    "require_before: {tool: a, requires: b}",
];

const WHOLE: &str = "pack: p\nversion: 1\nmode: enforce\nlock: true\ndefaults: {on_error: block}\nguardrails:\n  - read_before_write\n  - {id: a, check: \"tool.args.n < 5 AND agent.role in ['x', 'y']\", tools: [a, b], agents: 'x-*'}\n  - require_before: {tool: deploy, requires: [test, build]}\n  - {keyed: [{tool: merge, requires: review, key: pr}]}\nagents:\n  dev: {allowed_tools: [a], scope: {files: {write: ['src/**']}}, sections: {s: {tools: [a], guardrails: [{id: q}]}}}\ntasks: {t: {token_budget: 5}}\nenv: {prod: {mode: shadow, guardrails: [{id: a, tools: [c]}]}}\ntests:\n  - {id: t, events: [{before_tool: a, expect: allow}]}\n";

/// A pack with a few pieces put in, taken out or doubled.
fn mutated() -> impl Strategy<Value = String> {
    let change = (any::<prop::sample::Index>(), 0_usize..40, prop::sample::select(PIECES.to_vec()), 0_u8..3);
    prop::collection::vec(change, 1..6).prop_map(|changes| {
        changes.into_iter().fold(WHOLE.to_owned(), |mut text, (at, length, piece, how)| {
            let start = text.floor_char_boundary(at.index(text.len() + 1));
            let end = text.floor_char_boundary((start + length).min(text.len()));
            match how {
                0 => text.insert_str(start, piece),
                1 => text.replace_range(start..end, ""),
                _ => {
                    let copy = text[start..end].to_owned();
                    text.insert_str(end, &copy);
                }
            }
            text
        })
    })
}

/// Reads, and where that goes well goes on to everything that can be made of it.
fn survive(source: &str) {
    match PackDocument::read("p.yaml", source, Some("prod")) {
        Ok(documents) => {
            let documents: Vec<_> =
                documents.into_iter().map(|document| (Layer::Project, document)).collect();
            lint(&documents);
            if let Ok((policy, source)) = compile_policy(&documents) {
                assert_eq!(source.compile().unwrap().revision(), policy.revision());
            }
        }
        Err(report) => {
            assert!(!report.problems.is_empty());
            assert!(report.render(false).starts_with("error: "));
            for problem in &report.problems {
                let (line, column) = problem.position(source);
                assert!(line >= 1 && column >= 1);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn order_of_guardrails_does_not_change_the_effect(
        guards in prop::sample::subsequence(GUARDS.to_vec(), 1..=GUARDS.len()).prop_shuffle(),
        turn in 0_usize..9,
        events in events(),
    ) {
        let mut turned = guards.clone();
        let by = turn % turned.len();
        turned.rotate_left(by);
        turned.reverse();
        let (mut one, mut other) = (World::of(&pack(&guards)), World::of(&pack(&turned)));
        for event in events {
            prop_assert_eq!(one.decide(&event).effect, other.decide(&event).effect);
        }
    }

    #[test]
    fn splitting_a_pack_does_not_change_the_effect(at in 0_usize..=9, events in events()) {
        let (first, second) = GUARDS.split_at(at);
        let pack_of = |guards: &[&str]| {
            let documents = PackDocument::read("p.yaml", &pack(guards).replace("guardrails:\n", if guards.is_empty() { "" } else { "guardrails:\n" }), None);
            documents.unwrap().remove(0)
        };
        let mut whole = World::of(&pack(&GUARDS));
        let mut parts = World::under(&[(Layer::Organisation, pack_of(first)), (Layer::Project, pack_of(second))]);
        for event in events {
            let (left, right) = (whole.decide(&event), parts.decide(&event));
            prop_assert_eq!(left.effect, right.effect);
            prop_assert!(left.effect <= Effect::Halt);
        }
    }

    #[test]
    fn reading_never_panics(source in mutated()) {
        survive(&source);
    }

    #[test]
    fn reading_any_text_never_panics(source in any::<String>()) {
        survive(&source);
    }

    #[test]
    fn reading_random_pieces_never_panics(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..40)) {
        survive(&pieces.concat());
    }
}
