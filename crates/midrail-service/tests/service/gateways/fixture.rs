//! A service behind gateways, and what gateways send: recorded for LiteLLM, written by their contracts for the others.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::api::fixture::{Auth, Fixture, Service};

/// A secret that the detector knows.
pub(super) const KEY: &str = "AKIAQ4ZTX7RK2MPLWN3J";

/// The pack of the gateways: prompts, results and answers are checked, tools are blocked and escalated.
pub(super) const PACK: &str = "pack: gateway
extends: none
guardrails:
  - {use: secret-redaction, on: [before_model, after_tool, after_model, model_chunk]}
  - {id: injected-results, use: injection-patterns, on: after_tool}
  - {id: injected-prompts, use: injection-patterns, on: before_model, effect: block}
  - {id: rude, on: [before_model], when: \"text contains 'darn'\", effect: warn, effects: [increment_strike], reason: Mind the words}
  - {id: forbidden, on: [before_model, after_model, model_chunk], when: \"text contains 'mustard gas'\", effect: block, reason: This is not discussed}
  - {id: refunds, tools: refund, effect: escalate, approver: reviewer}
  - {id: never, tools: erase, effect: block, reason: Nothing is erased}
strikes:
  - {count: 2, effect: halt}
";

pub(super) const LITELLM: &str = "/v1/gateways/litellm";

/// A service with the pack of the gateways.
pub(super) fn serve() -> (Fixture, Service) {
    let fixture = Fixture::new(PACK);
    let service = fixture.serve();
    (fixture, service)
}

/// Sends a body to a gateway's route, and returns the answer.
pub(super) fn ask(service: &Service, path: &str, body: Value) -> Value {
    service.post(path, body, &Auth::Anonymous).good()
}

/// A recorded exchange.
pub(super) fn recorded(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/service/gateways/fixtures").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// A request of LiteLLM with these messages, in a conversation.
pub(super) fn request(session: &str, messages: &Value) -> Value {
    let texts: Vec<&Value> = messages.as_array().unwrap().iter().map(|message| &message["content"]).collect();
    let texts: Vec<&Value> = texts.into_iter().filter(|text| text.is_string()).collect();
    json!({
        "input_type": "request", "litellm_call_id": "c-1", "litellm_trace_id": "t-1", "texts": texts,
        "structured_messages": messages, "request_data": {}, "request_headers": {"x-litellm-trace-id": session},
        "model": "m", "images": null, "tools": null, "tool_calls": null,
    })
}

/// The text of an answer of LiteLLM's call, as it grows.
pub(super) fn answer(call: &str, text: &str) -> Value {
    json!({"input_type": "response", "litellm_call_id": call, "texts": [text], "request_data": {},
           "request_headers": {"x-litellm-trace-id": call}})
}

/// The number of records, and the records of a kind.
pub(super) fn records(fixture: &Fixture, kind: &str) -> Vec<Value> {
    let engine = fixture.engine("default");
    let entries = engine.store().entries(&midrail::store::AuditFilter::default()).unwrap();
    let all = entries.iter().map(|entry| serde_json::from_str::<Value>(&entry.body).unwrap());
    all.filter(|record| record["event"]["kind"] == kind).collect()
}
