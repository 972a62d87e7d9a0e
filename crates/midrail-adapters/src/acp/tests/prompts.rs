//! Prompts of the editor.

use super::*;

#[test]
fn blocked_prompt_is_answered_and_not_forwarded() {
    let mut conversation = Conversation::begun(strict);
    let out = conversation.editor(prompt(9, "something evil"));
    assert!(out.to_server.is_empty());
    assert!(shown(&out.to_client).contains("it destroys"));
    assert_eq!(parsed(&out.to_client)[1]["result"]["stopReason"], "refusal");
    assert_eq!(parsed(&out.to_client)[1]["id"], 9);
    let out = conversation.editor(prompt(10, "something good"));
    assert_eq!(out.to_server, [rpc(prompt(10, "something good"))]);
}

#[test]
fn linked_files_are_decided_as_reads() {
    let mut conversation = Conversation::begun(strict);
    for block in [
        json!({"type": "resource_link", "name": "x", "uri": "file:///repo/%2Eenv#L3"}),
        json!({"type": "resource", "resource": {"uri": "file:///repo/.env", "text": "A=1"}}),
        json!({"type": "text", "text": "look at @.env please"}),
    ] {
        let out = conversation.editor(
            json!({"id": 9, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [block]}}),
        );
        assert!(out.to_server.is_empty(), "{block}");
    }
    let text = json!({"type": "resource", "resource": {"uri": "zed:///x", "text": "evil"}});
    let out = conversation
        .editor(json!({"id": 9, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [text]}}));
    assert!(out.to_server.is_empty(), "an embedded text is a part of the prompt");
}
