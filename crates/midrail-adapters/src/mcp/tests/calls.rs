//! Calls and results.

use super::*;

#[test]
fn a_call_is_named_as_hosts_spell_it() {
    let mut talk = Conversation::new(allow);
    let line = r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"read","arguments":{"path":"a"},"_meta":{"claudecode/toolUseId":"toolu_1"}}}"#;
    assert_eq!(talk.client(line).to_server, [line]);
    let event = talk.events.lock().unwrap().last().cloned().unwrap();
    let tool = event.tool.unwrap();
    assert_eq!((tool.name.as_str(), tool.call_id.as_deref()), ("mcp__files__read", Some("toolu_1")));
    assert_eq!(event.server.unwrap().name, "files");
    assert_eq!(talk.kinds()[0].0, EventKind::SessionStart);
}

#[test]
fn a_refused_call_has_a_result_that_the_model_reads() {
    let mut talk = Conversation::new(strict);
    let out = talk.client(&call(&json!(1), json!({"path": "FORBIDDEN"})));
    assert!(out.to_server.is_empty());
    let answer: Value = serde_json::from_str(&out.to_client[0]).unwrap();
    assert_eq!(answer["result"]["isError"], json!(true));
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("it is forbidden"));
    assert!(answer["result"].get("resultType").is_none());
    // The modern era, and another request.
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let params = json!({"name": "read", "arguments": {"a": "FORBIDDEN"}, "_meta": meta});
    let out = talk
        .client(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}).to_string());
    let answer: Value = serde_json::from_str(&out.to_client[0]).unwrap();
    assert_eq!(answer["result"]["resultType"], "complete");
    let params = json!({"uri": "FORBIDDEN"});
    let out = talk.client(
        &json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": params}).to_string(),
    );
    let answer: Value = serde_json::from_str(&out.to_client[0]).unwrap();
    assert_eq!((&answer["error"]["code"], &answer["error"]["data"]["by"]), (&json!(-31_000), &json!("g")));
}

#[test]
fn texts_are_replaced_in_every_part_of_a_result() {
    let mut talk = Conversation::new(strict);
    let answer = r#"{@, "result": {"content":[{"type":"text","text":"a SECRET"},{"type":"text","text":"\u00e9"},{"type":"resource","resource":{"uri":"u","text":"SECRET"}},{"type":"resource_link","uri":"x","description":"SECRET"}], "structuredContent":{"deep":[{"k":"SECRET","n":1.50}],"named":{"SECRET":1}},  "isError":false,"x-unknown":1e3}}"#;
    let received = talk.exchange("tools/call", json!({"name": "read", "arguments": {}}), answer);
    assert!(!received.contains("SECRET"), "{received}");
    for kept in [
        r#""text":"\u00e9""#,
        r#""n":1.50"#,
        r#"  "isError":false,"x-unknown":1e3"#,
        r#""id":7, "result": {"content":[{"type":"text""#,
    ] {
        assert!(received.contains(kept), "{kept} in {received}");
    }
}

#[test]
fn texts_are_replaced_in_errors_and_notifications() {
    let mut talk = Conversation::new(strict);
    let answer = r#"{@,"error":{"code":-32603,"message":"SECRET","data":{"a":["SECRET"]}}}"#;
    let received = talk.exchange("tools/call", json!({"name": "read", "arguments": {}}), answer);
    assert_eq!(
        received,
        r#"{"jsonrpc":"2.0", "id":7,"error":{"code":-32603,"message":"[redacted]","data":{"a":["[redacted]"]}}}"#
    );
    for (method, params) in [
        ("notifications/message", r#"{"level":"info","data":{"x":"SECRET"}}"#),
        ("notifications/progress", r#"{"progressToken":1,"progress":2,"message":"SECRET"}"#),
        ("notifications/vendor/text", r#"{"content":"SECRET"}"#),
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
        assert_eq!(talk.server(&line).to_client, [line.replace("SECRET", "[redacted]")]);
    }
    let plain =
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":2}}"#;
    let before = talk.kinds().len();
    assert_eq!(talk.server(plain).to_client, [plain]);
    assert_eq!(talk.kinds().len(), before);
}

#[test]
fn a_held_call_reports_progress_and_continues_after_the_answer() {
    let mut talk = Conversation::new(strict);
    let params = json!({"name": "read", "arguments": {"a": "HOLD"}, "_meta": {"progressToken": "t"}});
    let line = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let out = talk.client(&line);
    assert!(out.to_server.is_empty() && out.holds.len() == 1);
    assert!(
        out.to_client[0].contains("notifications/progress") && out.to_client[0].contains("a-1"),
        "{out:?}"
    );
    assert_eq!(talk.proxy.next_tick(), Some(5_000));
    assert_eq!(talk.proxy.tick(5_000).to_client.len(), 1);
    // Other calls continue meanwhile.
    assert_eq!(talk.client(&call(&json!(2), json!({}))).to_server.len(), 1);
    let out = talk.proxy.apply_answer(out.holds[0].number, Decision::default(), 6_000);
    assert_eq!(out.to_server, [line]);
    assert_eq!(talk.proxy.next_tick(), None);
}

#[test]
fn a_call_without_an_answer_in_time_can_be_repeated() {
    let mut talk = Conversation::new(strict);
    let out = talk.client(&call(&json!(1), json!({"a": "HOLD"})));
    let event = out.holds[0].event.clone();
    let out = talk.proxy.apply_answer(out.holds[0].number, strict(&event), 50_000);
    assert!(out.to_client[0].contains("waits for lead, approval a-1. Repeat the same call later"), "{out:?}");
    assert_eq!(talk.client(&call(&json!(1), json!({"a": "HOLD"}))).holds.len(), 1);
}

#[test]
fn a_cancelled_call_is_never_forwarded() {
    let mut talk = Conversation::new(strict);
    let held = talk.client(&call(&json!(1), json!({"a": "HOLD"}))).holds.remove(0);
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(talk.client(cancel), RelayOutput { is_cancelled: true, ..RelayOutput::default() });
    assert_eq!(talk.proxy.apply_answer(held.number, Decision::default(), 1), RelayOutput::default());
    // One that the server knows is passed on.
    assert_eq!(talk.client(cancel).to_server, [cancel]);
}
