//! Whatever bytes a host sends, the adapter answers.

use midrail_adapters::hook::Hook;
use midrail_adapters::hosts;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{all, decisions, fixture_event};

/// JSON of no more than a few levels.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(json!("{\"command\": [1, {}]}")),
        Just(json!("{enter")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z_]{1,10}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Reads, decides in each way and answers.
fn walk(host: usize, hook_event: Option<&str>, bytes: &[u8]) {
    let host = &hosts::ALL[host % hosts::ALL.len()];
    let Ok(hook) = Hook::read(host, hook_event, bytes) else { return };
    drop(hook.events());
    for hook_event in host.hook_events {
        for (_, decision) in decisions(Some(hook_event)) {
            hook.answer(vec![decision]);
        }
    }
    hook.refuse("x");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_answered(host in any::<usize>(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for hook_event in hosts::ALL[host % hosts::ALL.len()].hook_events {
            walk(host, Some(hook_event.name), &bytes);
        }
        walk(host, None, &bytes);
    }

    /// A payload that is right but for one field that holds anything.
    #[test]
    fn any_field_may_hold_anything(pick in any::<usize>(), field in any::<usize>(), value in value()) {
        let fixtures: Vec<_> = all().collect();
        let (host, name, payload) = &fixtures[pick % fixtures.len()];
        let mut payload = payload.as_object().unwrap().clone();
        let keys: Vec<String> = payload.keys().cloned().collect();
        payload.insert(keys[field % keys.len()].clone(), value);
        let at = hosts::ALL.iter().position(|it| it.name == host.name).unwrap();
        walk(at, Some(fixture_event(name)), Value::Object(payload).to_string().as_bytes());
    }
}
