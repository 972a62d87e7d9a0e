//! agentgateway's webhook for models.

use serde_json::{Value, json};

use super::fixture::{KEY, ask, records, serve};

const REQUEST: &str = "/v1/gateways/agentgateway/request";
const RESPONSE: &str = "/v1/gateways/agentgateway/response";

fn asked(content: &str) -> Value {
    json!({"body": {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": content}]}})
}

fn answered(content: &str) -> Value {
    json!({"body": {"choices": [{"message": {"role": "assistant", "content": content}}]}})
}

#[test]
fn pass_has_no_body() {
    let (_fixture, service) = serve();
    for (path, body) in [
        (REQUEST, asked("Hi")),
        ("/request", asked("Hi")),
        (RESPONSE, answered("Hello")),
        ("/response", answered("Hello")),
    ] {
        let action = ask(&service, path, body)["action"].clone();
        assert!(action.is_object() && action.get("body").is_none(), "{path}: {action}");
    }
}

#[test]
fn mask_has_the_same_shape() {
    let (_fixture, service) = serve();
    let reply = ask(&service, REQUEST, asked(&format!("My key is {KEY}.")));
    let body = &reply["action"]["body"];
    assert_eq!(body["messages"][0], json!({"role": "system", "content": "Be kind."}));
    assert!(body["messages"][1]["content"].as_str().unwrap().starts_with("My key is [redacted:"), "{reply}");
    assert!(reply["action"].get("status_code").is_none());
    let reply = ask(&service, RESPONSE, answered(&format!("It is {KEY}.")));
    let message = &reply["action"]["body"]["choices"][0]["message"];
    assert_eq!(message["role"], "assistant");
    assert!(message["content"].as_str().unwrap().starts_with("It is [redacted:"), "{reply}");
}

#[test]
fn reject_has_a_text_and_a_status() {
    let (_fixture, service) = serve();
    for (path, body) in [(REQUEST, asked("Sell mustard gas")), (RESPONSE, answered("Buy mustard gas"))] {
        let action = ask(&service, path, body)["action"].clone();
        assert_eq!(action["status_code"], 403);
        assert!(action["body"].as_str().unwrap().contains("This is not discussed"), "{action}");
    }
}

#[test]
fn headers_name_the_session_and_the_agent() {
    let (fixture, service) = serve();
    let headers = [("midrail-session", "trace-5"), ("midrail-agent", "desk")];
    for (path, body) in [(REQUEST, asked("Hi")), (RESPONSE, answered("Hello"))] {
        assert_eq!(service.request("POST", path, &headers, Some(&body)).status().as_u16(), 200);
    }
    for kind in ["before_model", "after_model"] {
        for record in records(&fixture, kind) {
            assert_eq!(record["session"], "agentgateway-trace-5");
            assert_eq!(record["event"]["agent"]["id"], "desk");
        }
    }
    // Without them, answers of different callers share no session.
    ask(&service, RESPONSE, answered("One"));
    ask(&service, RESPONSE, answered("Two"));
    let sessions: Vec<Value> =
        records(&fixture, "after_model").iter().map(|record| record["session"].clone()).collect();
    assert_eq!(sessions.len(), 3);
    assert_ne!(sessions[1], sessions[2]);
}
