//! Compares the writer with serde_json on generated values.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};

use super::*;

#[derive(Debug, Serialize)]
struct Everything {
    text: String,
    number: i64,
    ratio: f64,
    choices: Vec<Choice>,
    by_number: BTreeMap<u8, Option<char>>,
    unit: (),
    pair: (bool, Wrapped),
    json: Value,
}

#[derive(Debug, Serialize)]
struct Wrapped(u64);

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
enum Choice {
    Plain,
    WithText(String),
    WithTwo(i8, String),
    WithFields { name: String, value: Option<f32> },
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![".{0,80}", "[ -~\n\t\"\\\\\u{0}-\u{1f}é\u{7f}𝕏]{0,120}"]
}

fn choices() -> impl Strategy<Value = Choice> {
    prop_oneof![
        Just(Choice::Plain),
        texts().prop_map(Choice::WithText),
        (any::<i8>(), texts()).prop_map(|(number, text)| Choice::WithTwo(number, text)),
        (texts(), any::<Option<f32>>()).prop_map(|(name, value)| Choice::WithFields { name, value }),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(texts(), inner, 0..6)
                .prop_map(|map| Value::from(map.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn text_is_that_of_serde_json(
        text in texts(), number in any::<i64>(), ratio in any::<f64>(), json in values(),
        choices in prop::collection::vec(choices(), 0..4),
        by_number in prop::collection::btree_map(any::<u8>(), any::<Option<char>>(), 0..4),
        pair in any::<(bool, u64)>(),
    ) {
        let pair = (pair.0, Wrapped(pair.1));
        let value = Everything { text, number, ratio, choices, by_number, unit: (), pair, json };
        prop_assert_eq!(to_json(&value).unwrap(), serde_json::to_string(&value).unwrap());
    }
}

/// The texts, keys and extent of a JSON value, without the names of fields.
fn walk(value: &Value, texts: &mut Vec<String>) -> JsonExtent {
    let mut extent = JsonExtent { depth: 0, values: 1 };
    let mut add = |below: JsonExtent| {
        extent.depth = extent.depth.max(below.depth);
        extent.values += below.values;
    };
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| add(walk(item, texts))),
        Value::Object(map) => map.iter().for_each(|(key, item)| {
            texts.push(key.clone());
            add(walk(item, texts));
        }),
        _ => {}
    }
    extent.depth += usize::from(value.is_array() || value.is_object());
    extent
}

/// The texts of a JSON value with their members, and its keys without.
fn walk_members(value: &Value, member: &str, found: &mut Vec<(Option<String>, String)>) {
    match value {
        Value::String(text) => found.push((Some(member.to_owned()), text.clone())),
        Value::Array(items) => items.iter().for_each(|item| walk_members(item, member, found)),
        Value::Object(map) => map.iter().for_each(|(key, item)| {
            found.push((None, key.clone()));
            walk_members(item, key, found);
        }),
        _ => {}
    }
}

proptest! {
    #[test]
    fn every_text_is_visited(json in values(), choices in prop::collection::vec(choices(), 0..4)) {
        let mut members = Vec::new();
        let mut texts = Vec::new();
        let value = (json, choices);
        let extent = visit_texts(&value, &mut |member, text| {
            members.push((member.map(str::to_owned), text.to_owned()));
            texts.push(text.to_owned());
        })
        .unwrap();
        let mut expected = Vec::new();
        prop_assert_eq!(extent, walk(&serde_json::to_value(&value).unwrap(), &mut expected));
        let mut named = Vec::new();
        walk_members(&serde_json::to_value(&value).unwrap(), "", &mut named);
        // The names of fields and variants are not visited.
        let names = ["with_text", "with_two", "with_fields", "name", "value"];
        let is_value = |(member, text): &(Option<String>, String)| member.is_some() || !names.contains(&text.as_str());
        named.retain(is_value);
        members.retain(is_value);
        named.sort();
        members.sort();
        prop_assert_eq!(members, named);
        expected.retain(|text| !names.contains(&text.as_str()));
        texts.retain(|text| !names.contains(&text.as_str()));
        expected.sort();
        texts.sort();
        prop_assert_eq!(texts, expected);
    }
}

#[test]
fn keys_are_texts() {
    assert!(to_json(&BTreeMap::from([((1, 2), 3)])).is_err());
    assert!(to_json(&BTreeMap::from([(Some("a"), 3)])).is_ok());
}
