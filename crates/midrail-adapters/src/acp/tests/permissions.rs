//! Permission requests of the agent.

use super::*;

#[test]
fn blocked_call_is_rejected_and_explained_with_the_next_prompt() {
    let mut conversation = Conversation::begun(strict);
    // Some agents tell the command in the title alone.
    let call = json!({"toolCallId": "t", "title": "rm -rf /repo/x", "kind": "execute", "status": "pending", "content": []});
    let out = conversation.agent(permission(0, call));
    let answer = parsed(&out.to_server).remove(0);
    assert_eq!(
        (&answer["id"], &answer["result"]["outcome"]),
        (&json!(0), &json!({"outcome": "selected", "optionId": "c"}))
    );
    assert!(shown(&out.to_client).contains("it destroys"));
    let event = conversation.last();
    assert_eq!(event.tool.unwrap().args["command"], "rm -rf /repo/x");
    assert_eq!(event.cwd.as_deref(), Some("/repo"));
    conversation.agent(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    let out = conversation.editor(prompt(4, "go on"));
    let sent = parsed(&out.to_server).remove(0);
    assert_eq!(sent["params"]["prompt"][0]["text"], "go on");
    assert!(sent["params"]["prompt"][1]["text"].as_str().unwrap().contains("it destroys"), "{sent}");
    conversation.agent(json!({"id": 4, "result": {"stopReason": "end_turn"}}));
    let again = conversation.editor(prompt(5, "go on"));
    assert_eq!(again.to_server, [rpc(prompt(5, "go on"))], "the reason is sent once");
}

#[test]
fn call_without_a_reject_option_is_cancelled() {
    let mut conversation = Conversation::begun(strict);
    let mut request =
        permission(0, json!({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "rm -rf /"}}));
    request["params"]["options"] = json!([{"optionId": "x", "name": "Never", "kind": "reject_always"}]);
    let out = conversation.agent(request);
    assert_eq!(parsed(&out.to_server)[0]["result"]["outcome"], json!({"outcome": "cancelled"}));
}

#[test]
fn arguments_in_the_text_for_the_user_are_decided() {
    let mut conversation = Conversation::begun(strict);
    let shown =
        json!([{"type": "content", "content": {"type": "text", "text": "{\"command\": \"rm -rf /\"}"}}]);
    let call =
        json!({"toolCallId": "t", "status": "pending", "kind": "other", "title": "x", "content": shown});
    let out = conversation.agent(permission(0, call));
    assert!(
        out.to_client.is_empty() || !parsed(&out.to_client)[0].to_string().contains("request_permission")
    );
    assert_eq!(parsed(&out.to_server)[0]["result"]["outcome"]["outcome"], json!("selected"), "rejected");
}

#[test]
fn user_decides_about_an_allowed_call() {
    let mut conversation = Conversation::begun(strict);
    let request = permission(0, json!({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "ls"}}));
    let out = conversation.agent(request.clone());
    assert_eq!((out.to_client, out.to_server), (vec![rpc(request)], vec![]));
    let answer = json!({"id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "b"}}});
    assert_eq!(conversation.editor(answer.clone()).to_server, [rpc(answer.clone())]);
    // An answer is passed on once.
    let twice = conversation.editor(answer);
    assert!(nothing(&twice) && twice.remarks.len() == 1);
}

#[test]
fn permanent_options_can_be_hidden() {
    let options = ProxyOptions { keep_asking: true, ..ProxyOptions::default() };
    let mut conversation = Conversation::with(options, allow);
    conversation.begin();
    let out = conversation
        .agent(permission(0, json!({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "ls"}})));
    let options = parsed(&out.to_client)[0]["params"]["options"].clone();
    assert_eq!(options.as_array().unwrap().len(), 2, "{options}");
}

#[test]
fn files_of_diffs_and_locations_are_decided() {
    let mut conversation = Conversation::begun(strict);
    let diff = |path: &str| json!({"type": "diff", "path": path, "oldText": "a", "newText": "b"});
    let many = json!({"toolCallId": "t", "kind": "edit", "title": "Edit", "content": [diff("/repo/a"), diff("/repo/.env")]});
    assert!(parsed(&conversation.agent(permission(0, many)).to_server)[0]["result"].is_object());
    let place = json!({"toolCallId": "u", "kind": "edit", "rawInput": {"fileName": "x"}, "locations": [{"path": "/repo/.env"}]});
    assert!(!conversation.agent(permission(1, place)).to_server.is_empty());
    let fine = json!({"toolCallId": "v", "kind": "edit", "content": [diff("/repo/a")]});
    assert!(conversation.agent(permission(2, fine)).to_server.is_empty());
    let tool = conversation.last().tool.unwrap();
    assert_eq!(
        (tool.name.as_str(), &tool.args["path"], &tool.args["content"]),
        ("edit", &json!("/repo/a"), &json!("b"))
    );
}

#[test]
fn user_decides_an_escalation_without_approvers() {
    let asks: DecideFn = |event| match event.kind {
        EventKind::BeforeTool => stop(Effect::Escalate, "think twice"),
        _ => allow(event),
    };
    let mut conversation = Conversation::begun(asks);
    let request = permission(0, json!({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "ls"}}));
    let out = conversation.agent(request.clone());
    assert!(out.to_server.is_empty() && out.to_client.contains(&rpc(request.clone())));
    assert!(shown(&out.to_client).contains("think twice"));

    let approvers: DecideFn = |event| match event.kind {
        EventKind::BeforeTool => {
            Decision { approval: Some(approval_request()), ..stop(Effect::Escalate, "think twice") }
        }
        _ => allow(event),
    };
    let mut conversation = Conversation::begun(approvers);
    let out = conversation.agent(request.clone());
    assert!(out.to_server.is_empty() && !out.to_client.contains(&rpc(request.clone())));
    let number = out.holds[0].number;
    // Other messages continue meanwhile.
    assert_eq!(conversation.editor(json!({"id": 8, "method": "x"})).to_server.len(), 1);
    let out = conversation.proxy.apply_answer(number, Decision::default(), 0);
    assert_eq!(out.to_client, [rpc(request.clone())]);
    assert!(
        nothing(&conversation.proxy.apply_answer(number, Decision::default(), 0)),
        "an answer counts once"
    );

    let mut conversation = Conversation::begun(approvers);
    let number = conversation.agent(request.clone()).holds[0].number;
    let out = conversation.proxy.apply_answer(number, stop(Effect::Escalate, "no approver answered"), 0);
    assert_eq!(parsed(&out.to_server)[0]["result"]["outcome"]["optionId"], "c");

    let mut conversation = Conversation::begun(approvers);
    let number = conversation.agent(request).holds[0].number;
    let out = conversation.editor(json!({"method": "session/cancel", "params": {"sessionId": "s"}}));
    assert_eq!(parsed(&out.to_server)[0]["result"]["outcome"]["outcome"], "cancelled");
    assert!(nothing(&conversation.proxy.apply_answer(number, Decision::default(), 0)));
}

fn approval_request() -> ApprovalRequest {
    serde_json::from_value(json!({"id": "x", "kind": "escalation", "approver": "reviewer"})).unwrap()
}

#[test]
fn user_is_not_asked_about_calls_that_are_vouched_for() {
    let vouches = |event: &Event| Decision { vouched: event.kind == EventKind::BeforeTool, ..allow(event) };
    let call = json!({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "ls"}});
    let mut conversation = Conversation::begun(vouches);
    let out = conversation.agent(permission(0, call.clone()));
    assert!(out.to_client.iter().all(|line| !line.contains("request_permission")), "{:?}", out.to_client);
    let answer = &parsed(&out.to_server)[0];
    assert_eq!(answer["result"]["outcome"], json!({"outcome": "selected", "optionId": "b"}));
    assert!(conversation.last().host.unwrap().takes_vouches);

    // Without an option for once, the user is asked.
    let mut request = permission(1, call);
    request["params"]["options"] = json!([{"optionId": "a", "name": "Always", "kind": "allow_always"}]);
    assert!(conversation.agent(request).to_server.is_empty());
}
