//! Files and terminals that the editor provides.

use super::*;

#[test]
fn writes_are_refused_and_reads_are_redacted() {
    let decide: DecideFn = |event| match event.kind {
        EventKind::AfterTool => {
            Decision { effect: Effect::Redact, content: Some("key=[redacted]".into()), ..Decision::default() }
        }
        _ => strict(event),
    };
    let mut conversation = Conversation::begun(decide);
    let write = json!({"id": 1, "method": "fs/write_text_file", "params": {"sessionId": "s", "path": "/repo/.env", "content": "x"}});
    let out = conversation.agent(write);
    assert!(parsed(&out.to_server)[0]["error"]["message"].as_str().unwrap().contains("it destroys"));
    assert!(shown(&out.to_client).contains("it destroys"));
    let read = json!({"id": 2, "method": "fs/read_text_file", "params": {"sessionId": "s", "path": "/repo/a", "line": 3}});
    assert_eq!(conversation.agent(read.clone()).to_client, [rpc(read)]);
    let out = conversation.editor(json!({"id": 2, "result": {"content": "key=AKIA", "_meta": {"x": 1}}}));
    assert_eq!(parsed(&out.to_server)[0]["result"], json!({"content": "key=[redacted]", "_meta": {"x": 1}}));
}

#[test]
fn replacement_of_a_result_without_text_is_an_error() {
    let replaced: DecideFn = |event| match event.kind {
        EventKind::AfterTool => {
            Decision { content: Some("2 failed".to_owned()), ..stop(Effect::Redact, "why") }
        }
        _ => allow(event),
    };
    let sent_back: DecideFn = |event| match event.kind {
        EventKind::AfterTool => {
            let retry = Retry { message: "an error".to_owned(), attempt: 1, max_attempts: 3 };
            let content = Some("2 failed".to_owned());
            Decision { content, retry: Some(retry), ..stop(Effect::Retry, "why") }
        }
        _ => allow(event),
    };
    for (decide, head) in [(replaced, "Midrail replaced this result"), (sent_back, "[error] 2 failed")] {
        let mut conversation = Conversation::begun(decide);
        conversation.agent(json!({"id": 9, "method": "fs/write_text_file", "params": {"sessionId": "s", "path": "/p/a", "content": "x"}}));
        let out = conversation.editor(json!({"id": 9, "result": null}));
        let answer = &parsed(&out.to_server)[0];
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(head) && message.contains("2 failed"), "{answer}");
    }
}

#[test]
fn edit_of_a_redacted_file_keeps_the_redacted_parts() {
    let decide: DecideFn = |event| match event.kind {
        EventKind::AfterTool if event.tool_name() == Some("fs/read_text_file") => {
            let content = "a=1\nkey=[redacted:x#12ab]\n".to_owned();
            Decision { effect: Effect::Redact, content: Some(content), ..Decision::default() }
        }
        _ => allow(event),
    };
    let mut conversation = Conversation::begun(decide);
    conversation.agent(
        json!({"id": 1, "method": "fs/read_text_file", "params": {"sessionId": "s", "path": "/repo/a"}}),
    );
    let out = conversation.editor(json!({"id": 1, "result": {"content": "a=1\nkey=AKIA\n"}}));
    assert!(!out.to_server[0].contains("AKIA"));
    let write = |id: u64, path: &str| {
        json!({"id": id, "method": "fs/write_text_file",
            "params": {"sessionId": "s", "path": path, "content": "a=2\nkey=[redacted:x#12ab]\n"}})
    };
    let out = conversation.agent(write(2, "/repo/a"));
    assert_eq!(parsed(&out.to_client)[0]["params"]["content"], "a=2\nkey=AKIA\n");
    assert!(!json!(conversation.last()).to_string().contains("AKIA"), "no event holds it");
    // What another file holds is not given away.
    let out = conversation.agent(write(3, "/repo/b"));
    assert_eq!(out.to_client, [rpc(write(3, "/repo/b"))]);
}

#[test]
fn user_is_asked_about_an_escalated_write() {
    let asks: DecideFn = |event| match event.kind {
        EventKind::BeforeTool => stop(Effect::Escalate, "think twice"),
        _ => allow(event),
    };
    let write = json!({"id": 1, "method": "fs/write_text_file", "params": {"sessionId": "s", "path": "/repo/a", "content": "x"}});
    for (option, passes) in [("allow", true), ("reject", false)] {
        let mut conversation = Conversation::begun(asks);
        let out = conversation.agent(write.clone());
        let asked = parsed(&out.to_client).remove(0);
        assert_eq!(asked["method"], "session/request_permission");
        let out = conversation.editor(
            json!({"id": asked["id"], "result": {"outcome": {"outcome": "selected", "optionId": option}}}),
        );
        assert_eq!(out.to_client.contains(&rpc(write.clone())), passes);
        assert_eq!(out.to_server.is_empty(), passes);
    }
}

#[test]
fn terminal_is_a_command_and_its_output_a_result() {
    let decide: DecideFn =
        |event| match (event.kind, event.host.as_ref().and_then(|host| host.event.as_deref())) {
            (EventKind::AfterTool, Some("terminal/output")) => stop(Effect::Block, "it leaks"),
            _ => strict(event),
        };
    let mut conversation = Conversation::begun(decide);
    let create = |id: u64, command: &str, args: Value| json!({"id": id, "method": "terminal/create", "params": {"sessionId": "s", "command": command, "args": args}});
    assert!(parsed(&conversation.agent(create(1, "rm -rf x", json!([]))).to_server)[0]["error"].is_object());
    assert!(conversation.agent(create(2, "npm", json!(["test"]))).to_server.is_empty());
    assert_eq!(conversation.last().tool.unwrap().args["command"], json!(["npm", "test"]));
    conversation.editor(json!({"id": 2, "result": {"terminalId": "term"}}));
    conversation.agent(
        json!({"id": 3, "method": "terminal/output", "params": {"sessionId": "s", "terminalId": "term"}}),
    );
    let out = conversation.editor(json!({"id": 3, "result": {"output": "AKIA", "truncated": false}}));
    let error = parsed(&out.to_server)[0]["error"]["message"].as_str().unwrap().to_owned();
    assert!(error.contains("it leaks") && !error.contains("AKIA"), "{error}");
    conversation.agent(json!({"id": 4, "method": "terminal/wait_for_exit", "params": {"sessionId": "s", "terminalId": "term"}}));
    let out = conversation.editor(json!({"id": 4, "result": {"exitCode": 2}}));
    assert_eq!(out.to_server.len(), 1);
    let event = conversation.last();
    assert_eq!((event.tool_name(), event.result.as_ref().unwrap().exit_code), (Some("terminal"), Some(2)));
}
