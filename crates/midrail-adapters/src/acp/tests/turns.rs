//! The end of turns and runs.

use super::*;

#[test]
fn agent_that_may_not_stop_continues_while_the_editor_waits() {
    let decide: DecideFn = |event| match event.kind {
        EventKind::BeforeStop
            if event.output.as_ref().is_some_and(|output| !json!(output).to_string().contains("done")) =>
        {
            let retry = Retry { message: "write the report".to_owned(), attempt: 1, max_attempts: 3 };
            Decision { retry: Some(retry), ..stop(Effect::Retry, "incomplete") }
        }
        _ => allow(event),
    };
    let mut conversation = Conversation::begun(decide);
    conversation.update(says("I am tired"));
    let out = conversation.agent(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    let sent = parsed(&out.to_server).remove(0);
    assert_eq!(sent["method"], "session/prompt");
    assert!(sent["params"]["prompt"][0]["text"].as_str().unwrap().contains("write the report"));
    assert!(parsed(&out.to_client).iter().all(|line| line.get("id").is_none()), "no answer yet");
    conversation.update(says("done"));
    let out = conversation
        .agent(json!({"id": sent["id"], "result": {"stopReason": "end_turn", "_meta": {"a": 1}}}));
    let answer = parsed(&out.to_client).pop().unwrap();
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn", "_meta": {"a": 1}}})
    );
    // A prompt that the editor cancelled is not gone on with.
    conversation.editor(prompt(4, "again"));
    conversation.editor(json!({"method": "session/cancel", "params": {"sessionId": "s"}}));
    let out = conversation.agent(json!({"id": 4, "result": {"stopReason": "end_turn"}}));
    assert!(out.to_server.is_empty() && out.to_client.len() == 1);
}

#[test]
fn guidance_follows_the_turn_a_limited_number_of_times() {
    let decide: DecideFn = |event| match event.kind {
        EventKind::BeforeTool => stop(Effect::Retry, "name the file"),
        _ => allow(event),
    };
    let mut conversation = Conversation::begun(decide);
    let mut id = json!(3);
    for round in 0..4_u64 {
        conversation.agent(permission(
            round,
            json!({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "ls"}}),
        ));
        let out = conversation.agent(json!({"id": id, "result": {"stopReason": "end_turn"}}));
        assert_eq!(out.to_server.is_empty(), round == 3, "round {round}");
        if out.to_server.is_empty() {
            assert_eq!(parsed(&out.to_client).pop().unwrap()["id"], 3)
        } else {
            id = parsed(&out.to_server)[0]["id"].clone()
        }
    }
}

#[test]
fn halt_cancels_the_turn_and_shows_the_reason() {
    let decide: DecideFn = |event| match event.kind {
        EventKind::BeforeTool => {
            Decision { user_message: Some("this run is over".into()), ..stop(Effect::Halt, "no") }
        }
        _ => allow(event),
    };
    let mut conversation = Conversation::begun(decide);
    let out = conversation
        .agent(permission(0, json!({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "ls"}})));
    assert_eq!(parsed(&out.to_server)[1]["method"], "session/cancel");
    assert!(shown(&out.to_client).contains("this run is over"));
    assert!(nothing(&conversation.update(says("but"))), "nothing more is shown");
}

#[test]
fn failure_of_midrail_holds_a_stop_only_once() {
    let decide: DecideFn = |event| match event.kind {
        EventKind::BeforeStop => Decision { by: Some("midrail".into()), ..stop(Effect::Block, "no store") },
        _ => allow(event),
    };
    let mut conversation = Conversation::begun(decide);
    let out = conversation.agent(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    let sent = parsed(&out.to_server).remove(0);
    assert_eq!(sent["method"], "session/prompt");
    let out = conversation.agent(json!({"id": sent["id"], "result": {"stopReason": "end_turn"}}));
    assert!(out.to_server.is_empty());
    let lines = parsed(&out.to_client);
    assert!(lines.iter().any(|line| line.to_string().contains("no store")), "{lines:?}");
    assert_eq!(lines.last().unwrap()["id"], 3);
}
