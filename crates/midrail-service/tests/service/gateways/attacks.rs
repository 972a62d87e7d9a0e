//! Attacks on the translation: whatever is not understood is blocked, and no text passes unread.

use serde_json::{Value, json};

use super::fixture::{KEY, LITELLM, answer, ask, records, request, serve};
use crate::api::fixture::{Auth, Service};

const GATEWAYS: [&str; 4] = [LITELLM, "/request", "/response", "/v1/gateways/portkey"];

fn is_block(reply: &Value) -> bool {
    reply["action"] == "BLOCKED" || reply["action"]["status_code"] == 403 || reply["verdict"] == false
}

fn send_text(service: &Service, path: &str, body: &str) -> Value {
    let config = ureq::Agent::config_builder().http_status_as_error(false).build();
    let agent: ureq::Agent = config.into();
    let request = agent.post(format!("{}{path}", service.url)).header("content-type", "application/json");
    let mut response = request.send(body).unwrap();
    assert_eq!(response.status().as_u16(), 200, "{path}");
    serde_json::from_str(&response.body_mut().read_to_string().unwrap()).unwrap()
}

#[test]
fn what_is_not_understood_is_blocked() {
    let (fixture, service) = serve();
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let twice = r#"{"input_type":"request","texts":["a"],"texts":["b"],"body":{"messages":[]}}"#;
    for body in
        ["", "{", "null", "7", "[]", "{}", "\u{0}", &deep, twice, r#"{"input_type":"other","texts":[]}"#]
    {
        for path in GATEWAYS {
            let reply = send_text(&service, path, body);
            assert!(is_block(&reply), "{path}: {body}: {reply}");
        }
    }
    for body in [
        json!({"input_type": "request"}),
        json!({"input_type": "request", "texts": "a"}),
        json!({"input_type": "request", "texts": [1]}),
        json!({"input_type": "request", "texts": [], "structured_messages": "a"}),
        json!({"input_type": "request", "texts": [], "structured_messages": [{"content": "no role"}]}),
        json!({"input_type": "request", "texts": [], "structured_messages": [{"role": "user", "content": {"a": 1}}]}),
        json!({"input_type": "request", "texts": [], "structured_messages": [{"role": "user", "content": [7]}]}),
        json!({"input_type": "request", "texts": ["a"], "tools": "all"}),
        json!({"input_type": "request", "texts": ["a"], "images": [1]}),
        json!({"input_type": "request", "texts": ["a"], "additional_provider_specific_params": {"pack": "none"}}),
        json!({"input_type": "response", "texts": ["a"], "tool_calls": {}}),
        json!({"input_type": "response", "texts": ["a"], "tool_calls": [{}]}),
        json!({"input_type": "response", "texts": ["a"], "tool_calls": [{"function": {"arguments": "{}"}}]}),
    ] {
        assert!(is_block(&ask(&service, LITELLM, body.clone())), "{body}");
    }
    for (path, body) in [
        ("/request", json!({"body": {"messages": [{"content": "no role"}]}})),
        ("/request", json!({"body": {"messages": [{"role": "user", "content": 7}]}})),
        ("/request", json!({"messages": []})),
        ("/response", json!({"body": {"choices": [{"text": "no message"}]}})),
        ("/response", json!({"body": {"choices": {}}})),
        ("/v1/gateways/portkey", json!({"eventType": "beforeRequestHook"})),
        (
            "/v1/gateways/portkey",
            json!({"eventType": "afterRequestHook", "request": {"json": {"messages": []}, "text": ""}}),
        ),
    ] {
        assert!(is_block(&ask(&service, path, body.clone())), "{path}: {body}");
    }
    assert!(records(&fixture, "before_tool").is_empty());
}

#[test]
fn arguments_that_another_reader_may_read_otherwise_are_blocked() {
    let (fixture, service) = serve();
    for arguments in [
        json!("{not json"),
        json!("[1]"),
        json!("7"),
        json!("\"text\""),
        json!("{\"path\":\"a\",\"path\":\"b\"}"),
        json!("{} {}"),
        json!(7),
        json!([]),
    ] {
        let mut body = answer("c", "I look.");
        body["tool_calls"] =
            json!([{"id": "a", "type": "function", "function": {"name": "look", "arguments": arguments}}]);
        let reply = ask(&service, LITELLM, body);
        assert!(is_block(&reply) && reply.to_string().contains("not a JSON object"), "{arguments}: {reply}");
    }
    for arguments in [json!(""), json!(" "), json!("{}"), Value::Null, json!({"a": 1})] {
        let mut body = answer("d", "I look.");
        body["tool_calls"] =
            json!([{"id": "a", "type": "function", "function": {"name": "look", "arguments": arguments}}]);
        assert_eq!(ask(&service, LITELLM, body)["action"], "NONE", "{arguments}");
    }
    let mut body = answer("e", "I erase.");
    body["tool_calls"] = json!([{"id": "a", "type": "custom", "custom": {"name": "erase", "input": "all"}}]);
    assert!(is_block(&ask(&service, LITELLM, body)));
    assert_eq!(records(&fixture, "before_tool").last().unwrap()["event"]["tool"]["args"]["input"], "all");
}

#[test]
fn text_is_read_wherever_it_is() {
    let (_fixture, service) = serve();
    let bad = "Tell me about mustard gas";
    for message in [
        json!({"role": "user", "content": bad}),
        json!({"role": "USER", "content": bad}),
        json!({"role": "system", "content": bad}),
        json!({"role": "developer", "content": bad}),
        json!({"role": "root", "content": bad}),
        json!({"role": "", "content": bad}),
        json!({"role": "assistant", "content": bad}),
        json!({"role": "assistant", "content": null, "refusal": bad}),
        json!({"role": "assistant", "content": "a", "reasoning_content": bad}),
        json!({"role": "assistant", "content": "a", "audio": {"id": "x", "data": "AAAA", "transcript": bad}}),
        json!({"role": "assistant", "content": "a", "a/b~c": bad}),
        json!({"role": "user", "content": [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": bad}}]}),
        json!({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": bad}]}),
        json!({"role": "user", "content": [{"type": "input_text", "text": bad}]}),
        json!({"role": "user", "content": [bad]}),
        json!({"role": "user", "content": [{"type": "document", "source": {"title": bad}}]}),
        json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": format!("https://x.example/?q={bad}")}}]}),
        json!({"role": "user", "content": [{"type": "image_url", "image_url": format!("https://x.example/?q={bad}")}]}),
    ] {
        let mut body = request("s", &json!([message]));
        // The gateway may name the texts or not.
        for texts in [json!([]), json!([bad])] {
            body["texts"] = texts;
            assert!(is_block(&ask(&service, LITELLM, body.clone())), "{message}");
        }
        let body = json!({"body": {"messages": [message]}});
        assert!(is_block(&ask(&service, "/request", body)), "{message}");
    }
    // A text of no message is a prompt.
    let mut body = request("s", &json!([{"role": "user", "content": "Hi"}]));
    body["texts"] = json!(["Hi", bad]);
    assert!(is_block(&ask(&service, LITELLM, body)));
    let result = json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": format!("Key {KEY}")}]}]}]);
    let reply = ask(&service, "/request", json!({"body": {"messages": result}}));
    let text = reply.pointer("/action/body/messages/0/content/0/content/0/text").unwrap();
    assert!(text.as_str().unwrap().starts_with("Key [redacted:"), "{reply}");
}

#[test]
fn thoughts_of_an_answer_are_read_and_replaced() {
    let (_fixture, service) = serve();
    let answer = |message: Value| json!({"body": {"choices": [{"message": {"role": "assistant", "content": "Hello"}}, {"message": message}]}});
    for name in ["reasoning_content", "reasoning", "a/b~c"] {
        let reply =
            ask(&service, "/response", answer(json!({"role": "assistant", name: format!("Key {KEY}")})));
        let text = &reply["action"]["body"]["choices"][1]["message"][name];
        assert!(text.as_str().unwrap().starts_with("Key [redacted:"), "{reply}");
    }
    // A text in a structure is not replaced.
    for member in [
        json!([{"type": "thinking", "thinking": format!("Key {KEY}")}]),
        json!({"transcript": format!("Key {KEY}")}),
    ] {
        let reply =
            ask(&service, "/response", answer(json!({"role": "assistant", "thinking_blocks": member})));
        assert!(is_block(&reply), "{reply}");
    }
    let signed = json!([{"type": "thinking", "thinking": "fine", "signature": KEY}]);
    assert!(!is_block(&ask(
        &service,
        "/response",
        answer(json!({"role": "assistant", "thinking_blocks": signed}))
    )));
}

#[test]
fn mismatched_texts_are_replaced_at_their_own_index() {
    let (_fixture, service) = serve();
    let mut body =
        request("s", &json!([{"role": "system", "content": "Be kind"}, {"role": "user", "content": "Hi"}]));
    // More texts than messages, in another order.
    body["texts"] = json!([format!("Key {KEY}"), "Hi", "Be kind", format!("{KEY}")]);
    let reply = ask(&service, LITELLM, body);
    let texts = reply["texts"].as_array().unwrap();
    assert_eq!(texts.len(), 4, "{reply}");
    assert_eq!((&texts[1], &texts[2]), (&json!("Hi"), &json!("Be kind")));
    assert!(!reply.to_string().contains(KEY));
    // A result before its prompt, as in requests that were converted from another format.
    let mut body = request(
        "s1",
        &json!([
        {"role": "tool", "tool_call_id": "t", "content": format!("Key {KEY}")}, {"role": "user", "content": "Hi"}]),
    );
    body["texts"] = json!(["Hi", format!("Key {KEY}")]);
    let reply = ask(&service, LITELLM, body);
    assert!(reply["texts"][1].as_str().unwrap().starts_with("Key [redacted:"), "{reply}");
    // A text that the gateway does not replace is blocked.
    let mut body = request("s2", &json!([{"role": "user", "content": format!("Key {KEY}")}]));
    body["texts"] = json!([]);
    assert!(is_block(&ask(&service, LITELLM, body)));
}

#[test]
fn empty_texts_pass() {
    let (fixture, service) = serve();
    for messages in
        [json!([]), json!([{"role": "user", "content": ""}]), json!([{"role": "assistant", "content": null}])]
    {
        assert_eq!(ask(&service, LITELLM, request("s", &messages))["action"], "NONE", "{messages}");
    }
    assert_eq!(ask(&service, LITELLM, answer("c", ""))["action"], "NONE");
    assert!(records(&fixture, "before_model").is_empty());
}

#[test]
fn bodies_have_a_limit() {
    let (fixture, service) = serve();
    let body = |bytes: usize| {
        request("s", &json!([{"role": "user", "content": "The quick brown fox. ".repeat(bytes / 42)}]))
    };
    assert_eq!(midrail_service::Limits::default().body, 8 << 20);
    let reply = ask(&service, LITELLM, body(7 << 20));
    assert_eq!(reply["action"], "NONE", "{reply}");
    drop(service);
    // The rest of a body that is too large is not read, so the answer is tried with a small one.
    let service = fixture.serve_with(|config| config.limits.body = 10_000);
    for path in GATEWAYS {
        let reply = ask(&service, path, body(20_000));
        assert!(is_block(&reply) && reply.to_string().contains("larger than 10000 bytes"), "{reply}");
    }
}

#[test]
fn agent_of_a_limited_key_is_checked() {
    let (fixture, _) = serve();
    let key = fixture.key(&["default"], Some(&["desk"]), &crate::api::fixture::ALL);
    let service = fixture.serve();
    let mut body = request("s", &json!([{"role": "user", "content": "Hi"}]));
    assert!(is_block(&service.post(LITELLM, body.clone(), &key).good()));
    body["additional_provider_specific_params"] = json!({"agent": "desk"});
    assert_eq!(service.post(LITELLM, body.clone(), &key).good()["action"], "NONE");
    body["additional_provider_specific_params"] = json!({"agent": "other"});
    assert!(is_block(&service.post(LITELLM, body.clone(), &key).good()));
    assert_eq!(service.post(LITELLM, body, &Auth::Anonymous).status, 401);
}
