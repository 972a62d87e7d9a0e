//! Calls that the agent shows without a permission request.

use super::*;

#[test]
fn running_call_without_permission_request_is_cancelled() {
    let call = |command: &str| {
        json!({"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "execute", "status": "in_progress",
            "title": "x", "rawInput": {"command": command}})
    };
    let mut conversation = Conversation::begun(strict);
    assert!(conversation.update(call("rm -rf x")).to_server.is_empty(), "it may ask in a moment");
    let due = conversation.proxy.next_tick().unwrap();
    let out = conversation.proxy.tick(due);
    assert_eq!(parsed(&out.to_server)[0]["method"], "session/cancel");
    assert!(shown(&out.to_client).contains("it destroys"));
    assert_eq!(conversation.proxy.next_tick(), None, "it is decided once");

    // One that is over before that is decided then.
    let mut conversation = Conversation::begun(strict);
    conversation.update(call("rm -rf x"));
    let out = conversation
        .update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"}));
    assert_eq!(parsed(&out.to_server)[0]["method"], "session/cancel");
    assert_eq!(conversation.kinds().last(), Some(&EventKind::AfterTool));

    // One that asks is left to the person.
    let mut conversation = Conversation::begun(strict);
    conversation.update(call("ls"));
    conversation.agent(permission(0, json!({"toolCallId": "t"})));
    assert_eq!(
        conversation.last().tool.unwrap().args["command"],
        "ls",
        "the request tells less than the call did"
    );
    let count = conversation.kinds().len();
    assert!(nothing(&conversation.wait(GRACE)));
    assert_eq!(conversation.kinds().len(), count);
}

#[test]
fn calls_wait_while_a_permission_request_is_open() {
    let mut conversation = Conversation::begun(strict);
    let call = |id: &str, command: &str| {
        json!({"sessionUpdate": "tool_call", "toolCallId": id, "kind": "execute", "status": "pending",
            "rawInput": {"command": command}})
    };
    conversation.update(call("t", "ls"));
    conversation.update(call("u", "rm -rf x"));
    conversation.agent(permission(0, json!({"toolCallId": "t"})));
    assert!(nothing(&conversation.wait(10 * GRACE)));
    conversation.editor(json!({"id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "b"}}}));
    assert!(nothing(&conversation.wait(GRACE / 2)));
    let out = conversation.agent(permission(1, json!({"toolCallId": "u"})));
    assert_eq!(parsed(&out.to_server)[0]["result"]["outcome"]["optionId"], "c");
}

#[test]
fn calls_of_a_loaded_session_are_not_decided_again() {
    let mut conversation = Conversation::new(strict);
    conversation.editor(json!({"id": 1, "method": "session/load", "params": {"sessionId": "s", "cwd": "/repo", "mcpServers": []}}));
    let old = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "execute", "status": "completed",
        "rawInput": {"command": "rm -rf x"}});
    let out = conversation.update(old);
    assert_eq!((out.to_client.len(), out.to_server.len()), (1, 0));
    conversation.agent(json!({"id": 1, "result": {}}));
    assert_eq!(conversation.kinds(), [EventKind::SessionStart]);
    // It is resumed, so an earlier halt still applies.
    assert_eq!(conversation.last().source.as_deref(), Some("resume"));
}
