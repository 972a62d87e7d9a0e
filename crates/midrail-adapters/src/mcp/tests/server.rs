//! Requests of the server: the client's model, and its user.

use super::*;

fn sampling(text: &str) -> String {
    let messages = json!([{"role": "user", "content": {"type": "text", "text": text}}]);
    let params = json!({"messages": messages, "systemPrompt": "Be brief.", "maxTokens": 9});
    json!({"jsonrpc": "2.0", "id": 5, "method": "sampling/createMessage", "params": params}).to_string()
}

#[test]
fn sampling_is_decided_as_a_call_and_as_a_prompt() {
    let mut talk = Conversation::new(strict);
    talk.client(&call(&json!(1), json!({})));
    let line = sampling("Summarize.");
    assert_eq!(talk.server(&line).to_client.join("\n"), line);
    let prompt = talk.events.lock().unwrap().last().cloned().unwrap();
    assert_eq!(prompt.text.as_deref(), Some("Be brief.\nSummarize."));
    assert_eq!(prompt.sender.as_deref(), Some("the MCP server files"));
    let answer =
        r#"{"jsonrpc":"2.0","id":5,"result":{"role":"assistant","content":{"type":"text","text":"ok"}}}"#;
    assert_eq!(talk.client(answer).to_server, [answer]);
    assert_eq!(talk.kinds().last().unwrap().0, EventKind::AfterModel);
    // An answer of several parts.
    talk.server(&line);
    let parts =
        json!([{"type": "text", "text": "one"}, {"type": "tool_use", "name": "f", "input": {"a": "two"}}]);
    let answer =
        json!({"jsonrpc": "2.0", "id": 5, "result": {"role": "assistant", "content": parts}}).to_string();
    assert_eq!(talk.client(&answer).to_server, [answer]);
    assert_eq!(talk.events.lock().unwrap().last().unwrap().text.as_deref(), Some("one\ntwo\nf"));
    let out = talk.server(&sampling("FORBIDDEN"));
    assert!(out.to_client.is_empty() && out.to_server[0].contains("-31000"), "{out:?}");
}

#[test]
fn the_users_data_are_decided_before_they_leave() {
    let mut talk = Conversation::new(strict);
    talk.client(&call(&json!(1), json!({})));
    let question = r#"{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{"message":"Name?","requestedSchema":{}}}"#;
    assert_eq!(talk.server(question).to_client, [question]);
    let answer = r#"{"jsonrpc":"2.0","id":5,"result":{"action":"accept","content":{"name":"FORBIDDEN"}}}"#;
    let out = talk.client(answer);
    assert!(!out.to_server[0].contains("accept"), "{out:?}");
    assert_eq!(talk.kinds().last().unwrap().1, "mcp__files__elicitation");
}

#[test]
fn requests_inside_results_are_decided() {
    let mut talk = Conversation::new(strict);
    let input = |text: &str| {
        let params = json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]});
        let requests = json!({"r1": {"method": "sampling/createMessage", "params": params}});
        let result =
            json!({"resultType": "input_required", "inputRequests": requests, "requestState": "opaque"});
        json!({"jsonrpc": "2.0", "id": 7, "result": result}).to_string()
    };
    let params = json!({"name": "read", "arguments": {}});
    assert_eq!(talk.exchange("tools/call", params.clone(), &input("Hello.")), input("Hello."));
    let received = talk.exchange("tools/call", params, &input("FORBIDDEN"));
    assert!(received.contains("isError") && !received.contains("opaque"), "{received}");
    // The client repeats the call with the answers.
    let responses = json!({"r1": {"action": "accept", "content": {"x": "FORBIDDEN"}}});
    let params =
        json!({"name": "read", "arguments": {}, "inputResponses": responses, "requestState": "opaque"});
    let out = talk
        .client(&json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": params}).to_string());
    assert!(out.to_server.is_empty(), "{out:?}");
}

#[test]
fn a_client_that_can_asks_its_user_about_a_call() {
    fn ask(event: &Event) -> Decision {
        match event.kind {
            EventKind::BeforeTool => stop(Effect::Escalate, "it is risky"),
            _ => Decision::default(),
        }
    }
    for (content, is_allowed) in
        [(json!({"allow": true}), true), (json!({"allow": false}), false), (json!({}), false)]
    {
        let mut talk = Conversation::new(ask);
        talk.client(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"elicitation":{}},"clientInfo":{"name":"c"}}}"#);
        let out = talk.client(&call(&json!(1), json!({"path": "x"})));
        let question: Value = serde_json::from_str(&out.to_client[0]).unwrap();
        assert_eq!(question["method"], "elicitation/create");
        assert!(question["params"]["message"].as_str().unwrap().contains("it is risky"));
        let result = json!({"action": "accept", "content": content});
        let out = talk.client(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string());
        assert_eq!(out.to_server.len(), usize::from(is_allowed), "{content}");
        assert_eq!(out.to_client.len(), usize::from(!is_allowed), "{content}");
    }
    // Other clients receive an answer that names the reason.
    let out = Conversation::new(ask).client(&call(&json!(1), json!({})));
    assert!(out.to_client[0].contains("isError"), "{out:?}");
}
