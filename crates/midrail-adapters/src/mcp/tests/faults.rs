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

#[test]
fn no_spelling_of_a_call_is_forwarded_unjudged() {
    let forbidden = r#""params":{"name":"read","arguments":{"a":"FORBIDDEN"}}"#;
    for line in [
        // A notification: some servers make the call, and answer nothing.
        format!(r#"{{"jsonrpc":"2.0","method":"tools/call",{forbidden}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":null,"method":"tools/call",{forbidden}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools\/call",{forbidden}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"\u0074ools/call",{forbidden}}}"#),
        format!(r#"{{"id":1.5,{forbidden},"method":"tools/call"}}"#),
        format!(r#"[{{"jsonrpc":"2.0","id":1,"method":"tools/call",{forbidden}}}]"#),
        format!(r#"[{{"jsonrpc":"2.0","id":1,"method":"ping"}},{{"jsonrpc":"2.0","method":"tools/call",{forbidden}}}]"#),
        // Both a request and an answer, and neither.
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call",{forbidden},"result":{{}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":{{"a":1}},"method":"tools/call",{forbidden}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":["tools/call"],{forbidden}}}"#),
        // A member twice: the server may read the other one.
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call",{forbidden}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call",{forbidden},"params":{{"name":"x"}}}}"#),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"a":"x","a":"FORBIDDEN"}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"a":"x","\u0061":"FORBIDDEN"}}}"#.to_owned(),
        // The same in other letters, which some servers ignore.
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call",{forbidden}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call",{forbidden}}}"#),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"},"paramſ":{"name":"read","arguments":{"a":"FORBIDDEN"}}}"#.to_owned(),
        // Arguments and names of other types.
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":"FORBIDDEN"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":["FORBIDDEN"]}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["read"],"arguments":{}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["read",{"a":"FORBIDDEN"}]}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#.to_owned(),
        // Other calls.
        r#"{"jsonrpc":"2.0","method":"resources/read","params":{"uri":"FORBIDDEN"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"FORBIDDEN"}}"#.to_owned(),
        // Data of the user.
        r#"{"jsonrpc":"2.0","id":1,"method":"tasks/update","params":{"inputResponses":{"r":{"action":"accept","content":{"x":"FORBIDDEN"}}}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"tasks/update","params":{"inputResponses":{"r":{"action":"accept","content":{"x":"FORBIDDEN"}}}}}"#.to_owned(),
    ] {
        let mut talk = Conversation::new(strict);
        let forwarded = talk.client(&line).to_server.join("\n");
        assert!(forwarded.is_empty() || !forwarded.contains("call") && !forwarded.contains("FORBIDDEN"), "{line}");
    }
}

/// Some clients take a carriage return for the end of a line.
#[test]
fn a_message_inside_a_message_does_not_become_one() {
    let inner = r#"{"jsonrpc":"2.0","id":8,"result":{"tools":[{"name":"bad"}]}}"#;
    let mut talk = Conversation::new(allow);
    let received = talk.exchange("ping", json!({}), &format!("{{@,\"result\":\r{inner}\r}}"));
    assert!(received.contains(inner) && !received.contains('\r'), "{received:?}");
    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"x\",\"params\":\r{inner}\r}}");
    assert!(!talk.client(&line).to_server[0].contains('\r'));
}

/// Each such message is decided and recorded, so a server could fill the disk.
#[test]
fn a_server_does_not_flood_the_client_unasked() {
    let mut talk = Conversation::new(allow);
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    let count =
        |talk: &mut Conversation| (0..2_000).filter(|_| !talk.server(log).to_client.is_empty()).count();
    assert_eq!(count(&mut talk), 1_000);
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":"x"}]}}"#;
    let out = talk.server(ask);
    assert!(out.to_client.is_empty() && out.to_server[0].contains("too many messages"), "{out:?}");
    // What no model reads is neither judged nor recorded.
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    assert_eq!(talk.server(changed).to_client, [changed]);
    let decided = talk.events.lock().unwrap().len();
    assert!(decided < 1_010, "{decided}");
    talk.now = 2_500;
    assert_eq!(count(&mut talk), 40);
    talk.now = u64::MAX;
    assert_eq!(count(&mut talk), 1_000);
}

#[test]
fn a_cancelled_notification_does_not_hide_a_call() {
    let mut talk = Conversation::new(strict);
    talk.client(&call(&json!(1), json!({"a": "HOLD"})));
    let both = r#"{"jsonrpc":"2.0","id":2,"method":"notifications/cancelled","params":{"requestId":1}}"#;
    talk.client(both);
    // The held call is gone; its answer comes too late.
    assert!(talk.proxy.apply_answer(1, Decision::default(), 1).to_server.is_empty());
}

#[test]
fn a_server_cannot_take_the_answer_to_a_question_of_midrail() {
    fn ask(event: &Event) -> Decision {
        match event.kind {
            EventKind::BeforeTool if event.tool.as_ref().is_some_and(|tool| tool.name.ends_with("read")) => {
                stop(Effect::Escalate, "it is risky")
            }
            _ => Decision::default(),
        }
    }
    let mut talk = Conversation::new(ask);
    talk.client(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"elicitation":{}}}}"#,
    );
    // The server guesses the ids of Midrail's questions.
    for number in 1..4 {
        let question = json!({"jsonrpc": "2.0", "id": format!("midrail-n-{number}"), "method": "elicitation/create", "params": {}});
        assert_eq!(talk.server(&question.to_string()).to_client.len(), 1);
    }
    let out = talk.client(&call(&json!(1), json!({})));
    assert!(out.to_client[0].contains("it is risky"), "{out:?}");
    for number in 1..4 {
        let yes = json!({"jsonrpc": "2.0", "id": format!("midrail-n-{number}"), "result": {"action": "accept", "content": {"allow": true}}});
        let out = talk.client(&yes.to_string());
        assert!(out.to_server.iter().all(|line| !line.contains("tools/call")), "{out:?}");
    }
}

fn any_id() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9_f64).prop_map(Value::from),
        "[a-zé\"\\\\ 0-9\u{0}-\u{1f}😀]{0,8}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(Value::Null),
    ]
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

/// Ids as texts.
fn raw_id() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("0".to_owned()),
        Just("-0".to_owned()),
        Just("1e2".to_owned()),
        Just("1.50".to_owned()),
        Just("null".to_owned()),
        Just("123456789012345678901234567890".to_owned()),
        Just(r#""\u00e9\/""#.to_owned()),
        Just(r#""""#.to_owned()),
        any::<u64>().prop_map(|id| id.to_string()),
    ]
}

/// Values as texts, in spellings that a parser would not keep.
fn any_member() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("1.0".to_owned()),
        Just("-0.0".to_owned()),
        Just("1E+2".to_owned()),
        Just("0.1000".to_owned()),
        Just("123456789012345678901234567890".to_owned()),
        Just("1e-400".to_owned()),
        Just(r#""\u0041\/\ud83d\ude00""#.to_owned()),
        Just(r#""\ud83d""#.to_owned()),
        Just("[ 1 ,2 ]".to_owned()),
        Just(r#"{ "b" : 1, "a":{ } }"#.to_owned()),
        Just("[[],{}]".to_owned()),
        Just("null".to_owned()),
        any_params().prop_map(|value| value.to_string()),
    ]
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

    /// The same as raw texts: white space, escapes, and numbers that no number type holds.
    #[test]
    fn no_byte_of_a_message_changes(
        members in prop::collection::vec(any_member(), 0..6),
        id in raw_id(),
        space in "[ \\t]{0,3}",
        method in prop_oneof![
            Just("tools/call"), Just("tasks/update"), Just("subscriptions/listen"), Just("resources/subscribe"),
            Just("logging/setLevel"), Just("x.y/é"), Just("")
        ],
    ) {
        let mut talk = Conversation::new(allow);
        let more: String = members.iter().enumerate().map(|(at, member)| format!(",{space}\"m{at}\"{space}:{member}")).collect();
        let params = format!("{{\"name\":{space}\"read\"{more}{space}}}");
        let request = format!("{{{space}\"id\"{space}:{id},\"method\":\"{method}\",\"params\":{params}{more}}}");
        prop_assert_eq!(talk.client(&format!("{space}{request}{space}")).to_server, vec![request.clone()]);
        let result = format!("{{\"content\":{space}[],\"isError\"{space}:false{more}}}");
        for text in ["notifications/message", "notifications/x"] {
            let notification = format!("{{\"method\":{space}\"{text}\",\"params\":{params}{more}}}");
            prop_assert_eq!(talk.server(&notification).to_client, vec![notification.clone()]);
        }
        let answer = format!("{{\"result\":{result},{space}\"id\":{id}{more}}}");
        prop_assert_eq!(talk.server(&answer).to_client, vec![answer.clone()]);
    }

    #[test]
    fn no_line_panics(lines in prop::collection::vec((any::<bool>(), "[\\x00-\\x7f]{0,80}"), 0..6)) {
        let mut talk = Conversation::new(strict);
        for (is_client, line) in lines {
            let out = if is_client { talk.client(&line) } else { talk.server(&line) };
            prop_assert!(out.to_client.iter().chain(&out.to_server).all(|line| !line.contains(['\n', '\r'])));
        }
        talk.proxy.end();
    }
}
