//! What all gateways have in common: repeated conversations, and approvals within the time limit.

use std::thread;
use std::time::Duration;

use midrail::admin::Person;
use serde_json::{Value, json};

use super::fixture::{LITELLM, PACK, answer, ask, records, request, serve};
use crate::api::fixture::{Auth, Fixture};

#[test]
fn repeated_conversation_is_one_strike_and_one_record_per_message() {
    let (fixture, service) = serve();
    let mut messages = vec![
        json!({"role": "system", "content": "Be kind"}),
        json!({"role": "user", "content": "darn it"}),
        json!({"role": "user", "content": "Hi"}),
        json!({"role": "user", "content": "Hi"}),
    ];
    for _ in 0..3 {
        assert_eq!(ask(&service, LITELLM, request("s", &json!(messages)))["action"], "NONE");
    }
    assert_eq!(records(&fixture, "before_model").len(), 4);
    let strikes = fixture.engine("default").store().load("litellm-s", &["strikes"]).unwrap();
    assert_eq!(strikes[0].value, Some(json!({"rude": 1})));
    // The client drops the oldest messages and edits one: only the edited one is new.
    messages.remove(0);
    messages[2] = json!({"role": "user", "content": "Hello"});
    assert_eq!(ask(&service, LITELLM, request("s", &json!(messages)))["action"], "NONE");
    assert_eq!(records(&fixture, "before_model").len(), 5);
    // A second strike ends the run, which stays ended although nothing is new in the next request.
    messages.push(json!({"role": "user", "content": "darn it again"}));
    assert_eq!(ask(&service, LITELLM, request("s", &json!(messages)))["action"], "BLOCKED");
    messages.pop();
    assert_eq!(ask(&service, LITELLM, request("s", &json!(messages)))["action"], "BLOCKED");
}

#[test]
fn blocked_message_stays_blocked_and_is_recorded_once() {
    let (fixture, service) = serve();
    let messages =
        json!([{"role": "user", "content": "mustard gas"}, {"role": "user", "content": "Something else"}]);
    for _ in 0..3 {
        assert_eq!(ask(&service, LITELLM, request("s", &messages))["action"], "BLOCKED");
    }
    assert_eq!(records(&fixture, "before_model").len(), 1);
}

#[test]
fn withheld_result_is_replaced_and_the_conversation_continues() {
    let pack = "pack: t\nextends: none\nguardrails:\n  - {id: no-mail, on: after_tool, tools: read_mail, effect: block, reason: Mail is private}\n";
    let fixture = Fixture::new(pack);
    let service = fixture.serve();
    let messages = json!([
        {"role": "user", "content": "Read"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "read_mail", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "Dear Bob"},
    ]);
    for _ in 0..2 {
        let reply = ask(&service, LITELLM, request("s", &messages));
        assert_eq!(reply["action"], "GUARDRAIL_INTERVENED");
        assert!(
            reply["texts"][1].as_str().unwrap().starts_with("[result withheld] Midrail blocked this"),
            "{reply}"
        );
    }
    assert_eq!(records(&fixture, "after_tool").len(), 1);
}

fn refund(call: &str) -> Value {
    let mut body = answer("s", "I refund.");
    body["litellm_call_id"] = call.into();
    body["tool_calls"] = json!([{"id": call, "type": "function", "function": {"name": "refund", "arguments": "{\"order\": 7}"}}]);
    body
}

#[test]
fn unanswered_approval_is_a_block_with_its_id() {
    let fixture = Fixture::new(PACK);
    let service = fixture.serve_with(|config| config.limits.gateway = Duration::from_millis(300));
    let reply = ask(&service, LITELLM, refund("c-1"));
    assert_eq!(reply["action"], "BLOCKED");
    let engine = fixture.engine("default");
    let approvals = engine.store().approvals(&midrail::store::ApprovalFilter::default()).unwrap();
    assert_eq!(approvals.len(), 1);
    assert!(reply["blocked_reason"].as_str().unwrap().contains(&approvals[0].id), "{reply}");
    // Once it is given, the same call is allowed.
    let by = Person::authenticated("ann", ["reviewer"]);
    engine.approvals().answer(&approvals[0].id, true, &by, None).unwrap();
    let reply = ask(&service, LITELLM, refund("c-1"));
    assert_eq!(reply["action"], "NONE", "{reply}");
}

#[test]
fn approval_within_the_limit_lets_the_call_continue() {
    let (fixture, service) = serve();
    let answered = thread::spawn(move || {
        let engine = fixture.engine("default");
        let id = loop {
            let waiting = engine.store().approvals(&midrail::store::ApprovalFilter::default()).unwrap();
            match waiting.first() {
                Some(approval) => break approval.id.clone(),
                None => thread::yield_now(),
            }
        };
        let by = Person::authenticated("ann", ["reviewer"]);
        engine.approvals().answer(&id, true, &by, None).unwrap();
        fixture
    });
    assert_eq!(ask(&service, LITELLM, refund("c-1"))["action"], "NONE");
    assert_eq!(
        records(&answered.join().unwrap(), "after_model").len(),
        1,
        "what was decided before is not decided again"
    );
}

#[test]
fn denied_approval_blocks() {
    let fixture = Fixture::new(PACK);
    let service = fixture.serve_with(|config| config.limits.gateway = Duration::from_millis(200));
    ask(&service, LITELLM, refund("c-1"));
    let engine = fixture.engine("default");
    let id = engine.store().approvals(&midrail::store::ApprovalFilter::default()).unwrap()[0].id.clone();
    engine.approvals().answer(&id, false, &Person::authenticated("ann", ["reviewer"]), None).unwrap();
    assert_eq!(ask(&service, LITELLM, refund("c-1"))["action"], "BLOCKED");
}

#[test]
fn routes_are_in_the_document() {
    let (_fixture, service) = serve();
    let document = service.get("/v1/openapi.json", &Auth::Anonymous).good();
    for path in
        [LITELLM, "/request", "/response", "/beta/litellm_basic_guardrail_api", "/v1/gateways/portkey"]
    {
        assert_eq!(document["paths"][path]["post"]["tags"], json!(["gateways"]), "{path}");
    }
}
