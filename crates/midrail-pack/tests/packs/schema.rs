//! The schema that editors use and the decoder agree on what a pack is.

use std::collections::BTreeSet;

use midrail_pack::PackDocument;
use serde_json::{Value, json};

use crate::checker::{fits, pack_schema};

/// The keys that the decoder knows at a place: it lists them for one that it does not know.
fn decoder_keys(document: &Value) -> BTreeSet<String> {
    let source = document.to_string();
    let report = PackDocument::read("p.json", &source, None).unwrap_err();
    let problem = report
        .problems
        .iter()
        .find(|problem| problem.message == "unknown key `zzzzzzzzzzzzzzzz`")
        .unwrap_or_else(|| panic!("{report}"));
    let help = problem.help.as_deref().unwrap();
    help.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The keys of a definition of the schema.
fn schema_keys(name: &str) -> BTreeSet<String> {
    let definition = &pack_schema()["$defs"][name];
    let map = match definition.get("properties") {
        Some(properties) => properties,
        // A guardrail is a map or a bare name.
        None => definition["anyOf"].as_array().unwrap().iter().find_map(|it| it.get("properties")).unwrap(),
    };
    map.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn schema_contains_every_key() {
    let slip = || json!({"zzzzzzzzzzzzzzzz": 1});
    for (name, document) in [
        ("Pack", json!({"pack": "p", "zzzzzzzzzzzzzzzz": 1})),
        ("Guard", json!({"pack": "p", "guardrails": [slip()]})),
        ("Defaults", json!({"pack": "p", "defaults": slip()})),
        ("AgentDefinition", json!({"pack": "p", "agents": {"a": slip()}})),
        ("Section", json!({"pack": "p", "agents": {"a": {"sections": {"s": slip()}}}})),
        ("TaskDefinition", json!({"pack": "p", "tasks": {"t": slip()}})),
        ("StrictScope", json!({"pack": "p", "tasks": {"t": {"scope": slip()}}})),
        ("StrictFileScope", json!({"pack": "p", "tasks": {"t": {"scope": {"files": slip()}}}})),
        ("RequireBefore", json!({"pack": "p", "guardrails": [{"require_before": slip()}]})),
        ("Rule", json!({"policy": "p", "rules": [slip()]})),
        ("ReadBeforeWrite", json!({"pack": "p", "guardrails": [{"read_before_write": slip()}]})),
        ("Bypass", json!({"pack": "p", "guardrails": [{"bypass": slip()}]})),
        ("RiskRouter", json!({"pack": "p", "risk_router": slip()})),
        ("Case", json!({"pack": "p", "tests": [slip()]})),
        ("HookDocument", json!({"guardrail": {"id": "a"}, "zzzzzzzzzzzzzzzz": 1})),
        ("HookGuardrail", json!({"guardrail": slip()})),
        ("HookCondition", json!({"guardrail": {"condition": slip()}})),
        ("AppliesTo", json!({"guardrail": {"condition": {"applies_to": slip()}}})),
        ("HookValidation", json!({"guardrail": {"validation": slip()}})),
        ("PolicyPack", json!({"policy_pack": "p", "zzzzzzzzzzzzzzzz": 1})),
        ("Gateway", json!({"policy_pack": "p", "gateway": slip()})),
        ("SyncRuleSettings", json!({"policy_pack": "p", "gateway": {"sync": slip()}})),
        ("AsyncRuleSettings", json!({"policy_pack": "p", "gateway": {"async": slip()}})),
        ("RuleRef", json!({"policy_pack": "p", "sync_rules": [slip()]})),
        ("ToolPolicy", json!({"policy": "p", "zzzzzzzzzzzzzzzz": 1})),
    ] {
        let mut read = decoder_keys(&document);
        // Another name for `requires`, which editors need not offer.
        read.remove("any_of");
        assert_eq!(read, schema_keys(name), "{name}");
        assert!(!fits(&document), "the schema accepts an unknown key of {name}");
    }
}

#[test]
fn schema_rejects_invalid_packs() {
    for document in [
        json!([]),
        json!("pack"),
        json!({"pack": 5}),
        json!({"pack": "p", "mode": "enforced"}),
        json!({"pack": "p", "guardrails": [{"id": "a", "effect": "explode"}]}),
        json!({"pack": "p", "guardrails": [{"id": "a", "on": "befor_tool"}]}),
        json!({"pack": "p", "guardrails": [{"id": "a", "priority": "high"}]}),
    ] {
        assert!(!fits(&document), "{document}");
        assert!(PackDocument::read("p.json", &document.to_string(), None).is_err(), "{document}");
    }
}

#[test]
fn events_and_decisions_have_schemas() {
    for schema in [midrail_pack::schema::event(), midrail_pack::schema::decision()] {
        assert!(
            schema["title"].as_str().unwrap().starts_with("Midrail ") && schema["properties"].is_object()
        );
    }
}
