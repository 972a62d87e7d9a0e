//! Tests of quality-002.

use std::sync::Arc;

use super::*;
use crate::tests::Run;
use midrail_core::{Decision, Event, Handoff, ToolResult};

const KINDS: [EventKind; 4] =
    [EventKind::BeforeTool, EventKind::AfterTool, EventKind::BeforeStop, EventKind::BeforeHandoff];

fn run(settings: Value) -> Run {
    let guardrail: SchemaConformance = serde_json::from_value(settings).unwrap();
    Run::on(Arc::new(guardrail), KINDS.to_vec())
}

fn person() -> Value {
    json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}})
}

fn answer(content: Value) -> Decision {
    let result = ToolResult { ok: Some(true), content: Some(content), ..ToolResult::default() };
    run(json!({"schemas": {"get_*": person()}})).decide(&Event::after_tool("get_person", json!({}), result))
}

#[test]
fn values_and_texts_are_validated() {
    assert_eq!(answer(json!({"name": "ada"})).effect, Effect::Allow);
    assert_eq!(answer(json!("{\"name\": \"ada\", \"age\": 3}")).effect, Effect::Allow);
    assert_eq!(answer(json!("{\"age\": 3}")).effect, Effect::Block);
    assert_eq!(answer(json!("ada")).effect, Effect::Block);
    assert_eq!(answer(json!("{\"name\": \"ada\"} and more")).effect, Effect::Block);
    assert_eq!(answer(json!([])).effect, Effect::Block);
    assert_eq!(answer(Value::Null).effect, Effect::Block);
}

#[test]
fn answers_through_mcp_are_unwrapped() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    assert_eq!(answer(text("{\"name\": \"ada\"}")).effect, Effect::Allow);
    assert_eq!(answer(text("{\"age\": 1}")).effect, Effect::Block);
    assert_eq!(
        answer(json!({"content": text("{\"name\": \"ada\"}"), "isError": false})).effect,
        Effect::Allow
    );
    assert_eq!(
        answer(json!({"content": text("x"), "structuredContent": {"name": "ada"}})).effect,
        Effect::Allow
    );
    assert_eq!(answer(json!({"content": text("x"), "structuredContent": {"age": 1}})).effect, Effect::Block);
}

#[test]
fn problems_name_the_place_and_no_value() {
    let decision = answer(json!({"name": 12_345_678, "age": "hunter2"}));
    assert!(decision.reason.contains("`/name`") && decision.reason.contains("`/age`"), "{}", decision.reason);
    assert!(
        !decision.reason.contains("hunter2") && !decision.reason.contains("12345678"),
        "{}",
        decision.reason
    );
    assert_eq!(decision.metadata["problems"].as_array().unwrap().len(), 2);
    assert!(answer(json!("x")).reason.contains("is not JSON"));
}

#[test]
fn at_most_three_problems_are_reported() {
    let schema = json!({"items": {"type": "integer"}});
    let event = Event { output: Some(json!(["a", "b", "c", "d", "e"])), ..Event::new(EventKind::BeforeStop) };
    let decision = run(json!({"output": schema})).decide(&event);
    assert_eq!(decision.metadata["problems"].as_array().unwrap().len(), 3);
}

#[test]
fn other_tools_and_failed_calls_are_not_checked() {
    let mut run = run(json!({"schemas": {"get_person": person()}}));
    assert_eq!(run.succeed("Read", json!({})).effect, Effect::Allow);
    assert_eq!(run.succeed("get_person", json!({})).effect, Effect::Block);
    assert_eq!(run.fail("get_person", json!({})).effect, Effect::Allow);
    assert_eq!(run.before("get_person", json!({})).effect, Effect::Allow);
}

#[test]
fn arguments_outputs_and_handoffs_have_schemas() {
    let mut run = run(json!({"args": {"save": person()}, "output": person(), "context": person()}));
    assert_eq!(run.before("save", json!({"name": "ada"})).effect, Effect::Allow);
    assert_eq!(run.before("save", json!({"name": 1})).effect, Effect::Block);
    let stop = |output: Option<Value>| Event { output, ..Event::new(EventKind::BeforeStop) };
    assert_eq!(run.decide(&stop(Some(json!({"name": "ada"})))).effect, Effect::Allow);
    assert_eq!(run.decide(&stop(Some(json!("done")))).effect, Effect::Block);
    assert_eq!(run.decide(&stop(None)).effect, Effect::Block);
    let handoff = |context: Value| {
        let handoff: Handoff = serde_json::from_value(json!({"to": "b", "context": context})).unwrap();
        Event { handoff: Some(handoff), ..Event::new(EventKind::BeforeHandoff) }
    };
    assert_eq!(run.decide(&handoff(json!({"name": "ada"}))).effect, Effect::Allow);
    assert_eq!(run.decide(&handoff(json!({}))).effect, Effect::Block);
}

#[test]
fn schema_can_require_a_text() {
    let mut run = run(json!({"output": {"type": "string", "pattern": "^v[0-9]+$"}}));
    let mut stop = |text: &str| {
        run.decide(&Event { output: Some(json!(text)), ..Event::new(EventKind::BeforeStop) }).effect
    };
    assert_eq!(stop("v12"), Effect::Allow);
    assert_eq!(stop("12"), Effect::Block);
}

#[test]
fn invalid_schema_is_reported_with_its_place() {
    for (wrong, part) in [
        (json!({"type": "objekt"}), "not a valid JSON Schema"),
        (json!({"properties": {"a": {"minLength": "x"}}}), "/properties/a/minLength"),
        (json!("x"), "is a map"),
        (json!({"$ref": "https://example.com/s.json"}), "points outside"),
        (json!({"properties": {"a": {"$ref": "other.json#/a"}}}), "points outside"),
        (json!({"pattern": "(?=a)"}), "not a valid JSON Schema"),
    ] {
        let settings = json!({"schemas": {"tool": wrong}});
        let problem = crate::builtin("quality-002").unwrap().settings.build(&settings).err().unwrap();
        assert_eq!(problem.at, "/schemas/tool");
        assert!(problem.message.contains(part), "{}", problem.message);
    }
    let inward = json!({"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}});
    assert!(serde_json::from_value::<SchemaConformance>(json!({"output": inward})).is_ok());
    let data = json!({"const": {"$ref": "https://example.com"}});
    assert!(serde_json::from_value::<SchemaConformance>(json!({"output": data})).is_ok());
}
