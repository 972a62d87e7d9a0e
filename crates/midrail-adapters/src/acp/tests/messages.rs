//! Invalid, unknown and batched messages.

use super::*;

#[test]
fn invalid_line_is_answered_and_not_forwarded() {
    let mut conversation = Conversation::begun(allow);
    for (line, code) in [
        ("{\"jsonrpc\":\"2.0\",", -32700),
        ("{\"id\":1,\"method\":\"a\",\"method\":\"b\"}", -32700),
        ("7", -32600),
        ("[]", -32600),
        ("[1]", -32600),
        ("{\"id\":5,\"method\":{}}", -32600),
        ("{\"id\":5,\"method\":\"x\",\"result\":{}}", -32600),
        ("{\"id\":{},\"method\":\"x\"}", 0),
        ("{\"foo\":1}", 0),
    ] {
        for side in [Side::Client, Side::Server] {
            let out = conversation.line(side, line);
            assert_eq!(out.remarks.len(), 1, "{line}");
            let (back, on) = match side {
                Side::Client => (&out.to_client, &out.to_server),
                Side::Server => (&out.to_server, &out.to_client),
            };
            assert!(on.is_empty(), "{line}");
            assert_eq!(back.is_empty(), code == 0, "{line}");
            assert!(code == 0 || parsed(back)[0]["error"]["code"] == code, "{line}");
        }
    }
    assert!(nothing(&conversation.line(Side::Client, "  \r")));
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    assert!(conversation.line(Side::Server, &deep).to_client.is_empty());
}

#[test]
fn messages_of_a_batch_are_decided_one_by_one() {
    let mut conversation = Conversation::begun(strict);
    let good = r#"[ {"jsonrpc":"2.0","method":"a"}, {"jsonrpc":"2.0","id":7,"method":"b"} ]"#;
    assert_eq!(conversation.line(Side::Server, good).to_client, [good]);
    let write = json!({"jsonrpc": "2.0", "id": 8, "method": "fs/write_text_file", "params": {"sessionId": "s", "path": ".env", "content": ""}});
    let out = conversation.line(Side::Server, &json!([{"jsonrpc": "2.0", "method": "a"}, write]).to_string());
    assert_eq!(parsed(&out.to_client)[0]["method"], "a");
    assert!(!out.to_client.iter().any(|line| line.contains("fs/write")));
    assert!(parsed(&out.to_server)[0]["error"].is_object());
}

#[test]
fn ids_of_midrail_are_unique() {
    let mut conversation = Conversation::begun(|event| match event.kind {
        EventKind::BeforeStop => stop(Effect::Block, "stay"),
        _ => allow(event),
    });
    for number in 0..50_u64 {
        conversation.editor(json!({"id": format!("midrail-n-{number}"), "method": "x"}));
    }
    let out = conversation.agent(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    let ours = parsed(&out.to_server)[0]["id"].clone();
    let out = conversation.editor(json!({"id": ours, "method": "x"}));
    assert!(nothing(&out) && out.remarks.len() == 1);
    let error = json!({"id": ours, "error": {"code": 1, "message": "busy"}});
    let out = conversation.agent(error);
    assert_eq!(
        parsed(&out.to_client)[0],
        json!({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}})
    );
}

/// A message that no guardrail decides.
fn unknown() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        "\\PC{0,12}".prop_map(Value::from),
        Just(Value::Null)
    ];
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,6}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    });
    ("[a-z_/]{1,8}", value, any::<bool>(), "[ \\t]{0,2}").prop_map(|(method, params, has_id, _)| {
        let mut message =
            json!({"method": format!("_{method}"), "params": params, "x-own": {"a": [1, 2.50]}});
        if has_id {
            message["id"] = json!(0);
        }
        message
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Unknown messages are forwarded byte for byte, and every request has exactly one answer.
    #[test]
    fn unknown_messages_are_forwarded_and_answered_once(
        messages in prop::collection::vec((unknown(), any::<bool>(), any::<bool>()), 1..20)
    ) {
        let mut conversation = Conversation::begun(strict);
        let mut open = Vec::new();
        for (number, (mut message, is_editor, is_error)) in messages.into_iter().enumerate() {
            let (side, other) =
                if is_editor { (Side::Client, Side::Server) } else { (Side::Server, Side::Client) };
            let passed = |out: &RelayOutput| if is_editor { out.to_server.clone() } else { out.to_client.clone() };
            if message.get("id").is_some() {
                message["id"] = json!(number + 100);
                open.push((other, number + 100, is_error));
            }
            let line = rpc(message);
            let out = conversation.line(side, &line);
            prop_assert_eq!(passed(&out), vec![line]);
        }
        for (side, id, is_error) in open.iter().rev() {
            let answer = if *is_error { rpc(json!({"id": id, "error": {"code": -1, "message": "m", "data": [1.0]}})) } else { rpc(json!({"id": id, "result": {"anything": 1}})) };
            let out = conversation.line(*side, &answer);
            let both: Vec<String> = out.to_client.into_iter().chain(out.to_server).collect();
            prop_assert_eq!(&both, &vec![answer.clone()]);
            prop_assert!(nothing(&conversation.line(*side, &answer)));
        }
    }
}
