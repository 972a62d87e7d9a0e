//! Programs that misbehave, and messages that are not judged: every request gets an answer, and nothing is forwarded unjudged.

use proptest::prelude::*;

use super::*;

#[test]
fn unreadable_answers_do_not_leave_the_client_waiting() {
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    let half = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"te"#;
    let twice = r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#;
    for line in [deep.as_str(), half, twice] {
        let mut talk = Conversation::new(allow);
        talk.client(&call(&json!(1), json!({})));
        let out = talk.server(line);
        assert_eq!(out.to_client.len(), 1, "{line:.60}");
        assert!(out.to_client[0].contains(r#""id":1"#) && out.to_client[0].contains("isError"), "{out:?}");
    }
    let mut talk = Conversation::new(allow);
    talk.client(&call(&json!(1), json!({})));
    // Servers print other lines, too.
    for line in
        ["garbage", "[1,2", "\u{1b}[31mstarting…", "{x: 1}", r#"{"jsonrpc":"2.0","id":99,"result":[}"#]
    {
        assert!(talk.server(line).to_client.is_empty(), "{line}");
    }
    talk.client(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    let out = talk.proxy.reject_line(Side::Server, crate::wire::WireError::TooLarge);
    assert_eq!(out.to_client.len(), 2);
}

#[test]
fn a_server_that_ends_answers_what_is_open() {
    let mut talk = Conversation::new(allow);
    talk.client(&call(&json!("x"), json!({})));
    let out = talk.proxy.end();
    assert!(out.to_client[0].contains(r#""id":"x""#) && out.to_client[0].contains("has ended"), "{out:?}");
    assert_eq!(talk.kinds().last().unwrap().0, EventKind::SessionEnd);
    let mut talk = Conversation::new(strict);
    talk.client(&call(&json!(1), json!({"a": "HOLD"})));
    assert!(talk.proxy.end().to_client[0].contains("Repeat the same call later"));
}

#[test]
fn ids_are_used_once() {
    let mut talk = Conversation::new(allow);
    let line = call(&json!(1), json!({}));
    assert_eq!(talk.client(&line).to_server.len(), 1);
    assert!(talk.client(&line).to_server.is_empty());
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
    assert_eq!(talk.server(answer).to_client, [answer]);
    // A second answer, and one to no request.
    assert!(talk.server(answer).to_client.is_empty());
    assert!(talk.server(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#).to_client.is_empty());
    assert!(talk.client(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#).to_server.is_empty());
}

#[test]
fn a_server_cannot_answer_a_call_that_it_did_not_receive() {
    let mut talk = Conversation::new(strict);
    let held = talk.client(&call(&json!(1), json!({"a": "HOLD"}))).holds.remove(0);
    assert!(talk.server(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#).to_client.is_empty());
    assert_eq!(talk.proxy.apply_answer(held.number, Decision::default(), 1).to_server.len(), 1);
}

#[test]
fn cut_characters_do_not_matter() {
    let mut talk = Conversation::new(strict);
    let answer = r#"{@,"result":{"content":[{"type":"text","text":"SECRET \ud83d"}]}}"#;
    let received = talk.exchange("tools/call", json!({"name": "read", "arguments": {}}), answer);
    assert!(received.contains(r"[redacted]") && !received.contains("SECRET"), "{received}");
}

fn any_id() -> impl Strategy<Value = Value> {
    prop_oneof![any::<u32>().prop_map(Value::from), "[a-zé\"\\\\ ]{0,8}".prop_map(Value::from)]
}

/// JSON without the names that the proxy reads.
fn any_params() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<String>().prop_map(Value::from)
    ];
    let inner = leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[a-z]{1,6}", inner, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

proptest! {
    /// Requests of any method with any parameters, their answers, and notifications, interleaved.
    #[test]
    fn what_is_allowed_leaves_byte_for_byte(
        messages in prop::collection::vec((any_id(), "[a-z/]{1,12}", any_params(), any::<bool>()), 1..8),
    ) {
        let mut talk = Conversation::new(allow);
        let mut used = std::collections::BTreeSet::new();
        for (id, method, params, is_pretty) in &messages {
            if !used.insert(crate::rpc::key(id)) {
                continue;
            }
            let space = if *is_pretty { " " } else { "" };
            let request = format!(r#"{{"jsonrpc":{space}"2.0","id":{id},"x":1.0,"method":"{method}","params":{params}}}"#);
            prop_assert_eq!(talk.client(&request).to_server, vec![request.clone()]);
            let notification = format!(r#"{{"method":"{method}",{space}"params":{params},"jsonrpc":"2.0"}}"#);
            prop_assert_eq!(talk.server(&notification).to_client, vec![notification.clone()]);
            prop_assert_eq!(talk.client(&notification).to_server, vec![notification.clone()]);
        }
        let mut answered = std::collections::BTreeSet::new();
        for (id, _, params, is_error) in messages.iter().rev() {
            if !answered.insert(crate::rpc::key(id)) {
                continue;
            }
            let member = if *is_error { "error" } else { "result" };
            let answer = format!(r#"{{"{member}": {params},"id":{id},"jsonrpc":"2.0","_x":[1e1]}}"#);
            prop_assert_eq!(talk.server(&answer).to_client, vec![answer.clone()]);
        }
    }

    #[test]
    fn no_line_panics(lines in prop::collection::vec((any::<bool>(), "[\\x00-\\x7f]{0,80}"), 0..6)) {
        let mut talk = Conversation::new(strict);
        for (is_client, line) in lines {
            let out = if is_client { talk.client(&line) } else { talk.server(&line) };
            prop_assert!(out.to_client.iter().chain(&out.to_server).all(|line| !line.contains('\n')));
        }
        talk.proxy.end();
    }
}
