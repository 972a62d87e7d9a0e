//! Conversations in the shape of real ones, with a judge that is told what to say.

use std::sync::{Arc, Mutex};

use midrail::core::{ApprovalRequest, Retry};
use midrail::{Decision, Effect, Event, EventKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{GRACE, Proxy, ProxyOptions, ProxyOutput, Side};

type Judge = fn(&Event) -> Decision;

/// A proxy, and the events that it asked about.
struct Talk {
    proxy: Proxy,
    events: Arc<Mutex<Vec<Event>>>,
    now: u64,
}

fn allow(event: &Event) -> Decision {
    // The engine tells what passes on of every chunk.
    let content = (event.kind == EventKind::ModelChunk).then(|| event.text.clone().unwrap_or_default());
    Decision { content, ..Decision::default() }
}

fn stop(effect: Effect, reason: &str) -> Decision {
    Decision { effect, by: Some("g".into()), reason: reason.to_owned(), ..Decision::default() }
}

/// Blocks `rm`, private files and bad prompts.
fn strict(event: &Event) -> Decision {
    let args = event.tool.as_ref().map(|tool| json!(tool.args).to_string()).unwrap_or_default();
    let is_bad_call =
        event.kind == EventKind::BeforeTool && (args.contains("rm -rf") || args.contains(".env"));
    let is_bad_text =
        event.kind == EventKind::BeforeModel && event.text.as_deref().unwrap_or_default().contains("evil");
    if is_bad_call || is_bad_text { stop(Effect::Block, "it destroys") } else { allow(event) }
}

impl Talk {
    fn new(judge: Judge) -> Self {
        Talk::with(
            ProxyOptions { nonce: "n".to_owned(), cwd: Some("/here".to_owned()), ..ProxyOptions::default() },
            judge,
        )
    }

    fn with(options: ProxyOptions, judge: Judge) -> Self {
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let heard = events.clone();
        let decide = move |event: Event| {
            let decision = judge(&event);
            heard.lock().unwrap().push(event);
            decision
        };
        Talk { proxy: Proxy::new(options, Box::new(decide)), events, now: 0 }
    }

    /// A session that has begun, with a prompt under way.
    fn begun(judge: Judge) -> Self {
        let mut talk = Talk::new(judge);
        talk.begin();
        talk
    }

    fn begin(&mut self) {
        self.editor(json!({"id": 2, "method": "session/new", "params": {"cwd": "/repo", "mcpServers": []}}));
        self.agent(json!({"id": 2, "result": {"sessionId": "s"}}));
        self.editor(prompt(3, "do it"));
    }

    fn line(&mut self, side: Side, line: &str) -> ProxyOutput {
        self.proxy.handle_line(side, line.as_bytes(), self.now)
    }

    fn editor(&mut self, value: Value) -> ProxyOutput {
        self.line(Side::Editor, &rpc(value))
    }

    fn agent(&mut self, value: Value) -> ProxyOutput {
        self.line(Side::Agent, &rpc(value))
    }

    /// What the agent tells of a session.
    fn update(&mut self, update: Value) -> ProxyOutput {
        self.agent(json!({"method": "session/update", "params": {"sessionId": "s", "update": update}}))
    }

    fn wait(&mut self, milliseconds: u64) -> ProxyOutput {
        self.now += milliseconds;
        self.proxy.tick(self.now)
    }

    fn kinds(&self) -> Vec<EventKind> {
        self.events.lock().unwrap().iter().map(|event| event.kind).collect()
    }

    fn last(&self) -> Event {
        self.events.lock().unwrap().last().unwrap().clone()
    }
}

fn rpc(mut value: Value) -> String {
    value["jsonrpc"] = json!("2.0");
    value.to_string()
}

fn prompt(id: u64, text: &str) -> Value {
    json!({"id": id, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [{"type": "text", "text": text}]}})
}

fn says(text: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
}

fn permission(id: u64, call: Value) -> Value {
    json!({"id": id, "method": "session/request_permission", "params": {"sessionId": "s", "toolCall": call, "options": [
        {"optionId": "a", "name": "Always", "kind": "allow_always"}, {"optionId": "b", "name": "Allow", "kind": "allow_once"},
        {"optionId": "c", "name": "Reject", "kind": "reject_once"}]}})
}

fn parsed(lines: &[String]) -> Vec<Value> {
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What the agent and we say to the person in some lines.
fn shown(lines: &[String]) -> String {
    let text = |line: &Value| Some(line.pointer("/params/update/content/text")?.as_str()?.to_owned());
    parsed(lines).iter().filter_map(text).collect()
}

fn nothing(out: &ProxyOutput) -> bool {
    out.to_editor.is_empty() && out.to_agent.is_empty()
}

#[test]
fn a_prompt_that_is_blocked_is_answered_and_does_not_reach_the_agent() {
    let mut talk = Talk::begun(strict);
    let out = talk.editor(prompt(9, "something evil"));
    assert!(out.to_agent.is_empty());
    assert!(shown(&out.to_editor).contains("it destroys"));
    assert_eq!(parsed(&out.to_editor)[1]["result"]["stopReason"], "refusal");
    assert_eq!(parsed(&out.to_editor)[1]["id"], 9);
    let out = talk.editor(prompt(10, "something good"));
    assert_eq!(out.to_agent, [rpc(prompt(10, "something good"))]);
}

#[test]
fn files_that_a_prompt_links_to_are_judged_as_reads() {
    let mut talk = Talk::begun(strict);
    for block in [
        json!({"type": "resource_link", "name": "x", "uri": "file:///repo/%2Eenv#L3"}),
        json!({"type": "resource", "resource": {"uri": "file:///repo/.env", "text": "A=1"}}),
        json!({"type": "text", "text": "look at @.env please"}),
    ] {
        let out = talk.editor(
            json!({"id": 9, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [block]}}),
        );
        assert!(out.to_agent.is_empty(), "{block}");
    }
    let text = json!({"type": "resource", "resource": {"uri": "zed:///x", "text": "evil"}});
    let out = talk
        .editor(json!({"id": 9, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [text]}}));
    assert!(out.to_agent.is_empty(), "an embedded text is a part of the prompt");
}

#[test]
fn a_call_that_is_blocked_is_rejected_and_the_agent_hears_why_with_the_next_prompt() {
    let mut talk = Talk::begun(strict);
    // Some agents tell the command in the title alone.
    let call = json!({"toolCallId": "t", "title": "rm -rf /repo/x", "kind": "execute", "status": "pending", "content": []});
    let out = talk.agent(permission(0, call));
    let answer = parsed(&out.to_agent).remove(0);
    assert_eq!(
        (&answer["id"], &answer["result"]["outcome"]),
        (&json!(0), &json!({"outcome": "selected", "optionId": "c"}))
    );
    assert!(shown(&out.to_editor).contains("it destroys"));
    let event = talk.last();
    assert_eq!(event.tool.unwrap().args["command"], "rm -rf /repo/x");
    assert_eq!(event.cwd.as_deref(), Some("/repo"));
    talk.agent(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    let out = talk.editor(prompt(4, "go on"));
    let sent = parsed(&out.to_agent).remove(0);
    assert_eq!(sent["params"]["prompt"][0]["text"], "go on");
    assert!(sent["params"]["prompt"][1]["text"].as_str().unwrap().contains("it destroys"), "{sent}");
    talk.agent(json!({"id": 4, "result": {"stopReason": "end_turn"}}));
    let again = talk.editor(prompt(5, "go on"));
    assert_eq!(again.to_agent, [rpc(prompt(5, "go on"))], "it is told once");
}

#[test]
fn without_a_way_to_reject_a_call_is_cancelled() {
    let mut talk = Talk::begun(strict);
    let mut request =
        permission(0, json!({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "rm -rf /"}}));
    request["params"]["options"] = json!([{"optionId": "x", "name": "Never", "kind": "reject_always"}]);
    let out = talk.agent(request);
    assert_eq!(parsed(&out.to_agent)[0]["result"]["outcome"], json!({"outcome": "cancelled"}));
}

#[test]
fn what_is_allowed_is_left_to_the_person() {
    let mut talk = Talk::begun(strict);
    let request = permission(0, json!({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "ls"}}));
    let out = talk.agent(request.clone());
    assert_eq!((out.to_editor, out.to_agent), (vec![rpc(request)], vec![]));
    let answer = json!({"id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "b"}}});
    assert_eq!(talk.editor(answer.clone()).to_agent, [rpc(answer.clone())]);
    // An answer is passed on once.
    let twice = talk.editor(answer);
    assert!(nothing(&twice) && twice.remarks.len() == 1);
}

#[test]
fn options_for_good_can_be_left_out() {
    let options = ProxyOptions { keep_asking: true, ..ProxyOptions::default() };
    let mut talk = Talk::with(options, allow);
    talk.begin();
    let out = talk
        .agent(permission(0, json!({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "ls"}})));
    let options = parsed(&out.to_editor)[0]["params"]["options"].clone();
    assert_eq!(options.as_array().unwrap().len(), 2, "{options}");
}

#[test]
fn files_of_diffs_and_places_are_judged() {
    let mut talk = Talk::begun(strict);
    let diff = |path: &str| json!({"type": "diff", "path": path, "oldText": "a", "newText": "b"});
    let many = json!({"toolCallId": "t", "kind": "edit", "title": "Edit", "content": [diff("/repo/a"), diff("/repo/.env")]});
    assert!(parsed(&talk.agent(permission(0, many)).to_agent)[0]["result"].is_object());
    let place = json!({"toolCallId": "u", "kind": "edit", "rawInput": {"fileName": "x"}, "locations": [{"path": "/repo/.env"}]});
    assert!(!talk.agent(permission(1, place)).to_agent.is_empty());
    let fine = json!({"toolCallId": "v", "kind": "edit", "content": [diff("/repo/a")]});
    assert!(talk.agent(permission(2, fine)).to_agent.is_empty());
    let tool = talk.last().tool.unwrap();
    assert_eq!(
        (tool.name.as_str(), &tool.args["path"], &tool.args["content"]),
        ("edit", &json!("/repo/a"), &json!("b"))
    );
}

#[test]
fn an_escalation_is_for_the_person_unless_there_are_approvers() {
    let asks: Judge = |event| match event.kind {
        EventKind::BeforeTool => stop(Effect::Escalate, "think twice"),
        _ => allow(event),
    };
    let mut talk = Talk::begun(asks);
    let request = permission(0, json!({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "ls"}}));
    let out = talk.agent(request.clone());
    assert!(out.to_agent.is_empty() && out.to_editor.contains(&rpc(request.clone())));
    assert!(shown(&out.to_editor).contains("think twice"));

    let approvers: Judge = |event| match event.kind {
        EventKind::BeforeTool => {
            Decision { approval: Some(request_of()), ..stop(Effect::Escalate, "think twice") }
        }
        _ => allow(event),
    };
    let mut talk = Talk::begun(approvers);
    let out = talk.agent(request.clone());
    assert!(out.to_agent.is_empty() && !out.to_editor.contains(&rpc(request.clone())));
    let number = out.holds[0].number;
    // Everything else goes on meanwhile.
    assert_eq!(talk.editor(json!({"id": 8, "method": "x"})).to_agent.len(), 1);
    let out = talk.proxy.apply_answer(number, Decision::default(), 0);
    assert_eq!(out.to_editor, [rpc(request.clone())]);
    assert!(nothing(&talk.proxy.apply_answer(number, Decision::default(), 0)), "an answer counts once");

    let mut talk = Talk::begun(approvers);
    let number = talk.agent(request.clone()).holds[0].number;
    let out = talk.proxy.apply_answer(number, stop(Effect::Escalate, "nobody answered"), 0);
    assert_eq!(parsed(&out.to_agent)[0]["result"]["outcome"]["optionId"], "c");

    let mut talk = Talk::begun(approvers);
    let number = talk.agent(request).holds[0].number;
    let out = talk.editor(json!({"method": "session/cancel", "params": {"sessionId": "s"}}));
    assert_eq!(parsed(&out.to_agent)[0]["result"]["outcome"]["outcome"], "cancelled");
    assert!(nothing(&talk.proxy.apply_answer(number, Decision::default(), 0)));
}

fn request_of() -> ApprovalRequest {
    serde_json::from_value(json!({"id": "x", "kind": "escalation", "approver": "reviewer"})).unwrap()
}

#[test]
fn writes_by_the_editor_are_refused_with_an_error_and_reads_are_redacted() {
    let judge: Judge = |event| match event.kind {
        EventKind::AfterTool => {
            Decision { effect: Effect::Redact, content: Some("key=[redacted]".into()), ..Decision::default() }
        }
        _ => strict(event),
    };
    let mut talk = Talk::begun(judge);
    let write = json!({"id": 1, "method": "fs/write_text_file", "params": {"sessionId": "s", "path": "/repo/.env", "content": "x"}});
    let out = talk.agent(write);
    assert!(parsed(&out.to_agent)[0]["error"]["message"].as_str().unwrap().contains("it destroys"));
    assert!(shown(&out.to_editor).contains("it destroys"));
    let read = json!({"id": 2, "method": "fs/read_text_file", "params": {"sessionId": "s", "path": "/repo/a", "line": 3}});
    assert_eq!(talk.agent(read.clone()).to_editor, [rpc(read)]);
    let out = talk.editor(json!({"id": 2, "result": {"content": "key=AKIA", "_meta": {"x": 1}}}));
    assert_eq!(parsed(&out.to_agent)[0]["result"], json!({"content": "key=[redacted]", "_meta": {"x": 1}}));
}

#[test]
fn a_text_in_place_of_a_result_that_has_none_is_told_as_an_error() {
    let replaced: Judge = |event| match event.kind {
        EventKind::AfterTool => {
            Decision { content: Some("2 failed".to_owned()), ..stop(Effect::Redact, "why") }
        }
        _ => allow(event),
    };
    let sent_back: Judge = |event| match event.kind {
        EventKind::AfterTool => {
            let retry = Retry { message: "an error".to_owned(), attempt: 1, max_attempts: 3 };
            let content = Some("2 failed".to_owned());
            Decision { content, retry: Some(retry), ..stop(Effect::Retry, "why") }
        }
        _ => allow(event),
    };
    for (judge, head) in [(replaced, "Midrail replaced this result"), (sent_back, "[error] 2 failed")] {
        let mut talk = Talk::begun(judge);
        talk.agent(json!({"id": 9, "method": "fs/write_text_file", "params": {"sessionId": "s", "path": "/p/a", "content": "x"}}));
        let out = talk.editor(json!({"id": 9, "result": null}));
        let answer = &parsed(&out.to_agent)[0];
        let told = answer["error"]["message"].as_str().unwrap();
        assert!(told.starts_with(head) && told.contains("2 failed"), "{answer}");
    }
}

#[test]
fn an_edit_of_a_redacted_file_keeps_what_was_redacted() {
    let judge: Judge = |event| match event.kind {
        EventKind::AfterTool if event.tool_name() == Some("fs/read_text_file") => {
            let content = "a=1\nkey=[redacted:x#12ab]\n".to_owned();
            Decision { effect: Effect::Redact, content: Some(content), ..Decision::default() }
        }
        _ => allow(event),
    };
    let mut talk = Talk::begun(judge);
    talk.agent(
        json!({"id": 1, "method": "fs/read_text_file", "params": {"sessionId": "s", "path": "/repo/a"}}),
    );
    let out = talk.editor(json!({"id": 1, "result": {"content": "a=1\nkey=AKIA\n"}}));
    assert!(!out.to_agent[0].contains("AKIA"));
    let write = |id: u64, path: &str| {
        json!({"id": id, "method": "fs/write_text_file",
            "params": {"sessionId": "s", "path": path, "content": "a=2\nkey=[redacted:x#12ab]\n"}})
    };
    let out = talk.agent(write(2, "/repo/a"));
    assert_eq!(parsed(&out.to_editor)[0]["params"]["content"], "a=2\nkey=AKIA\n");
    assert!(!json!(talk.last()).to_string().contains("AKIA"), "no event holds it");
    // What another file holds is not given away.
    let out = talk.agent(write(3, "/repo/b"));
    assert_eq!(out.to_editor, [rpc(write(3, "/repo/b"))]);
}

#[test]
fn the_person_is_asked_about_writes_by_the_editor() {
    let asks: Judge = |event| match event.kind {
        EventKind::BeforeTool => stop(Effect::Escalate, "think twice"),
        _ => allow(event),
    };
    let write = json!({"id": 1, "method": "fs/write_text_file", "params": {"sessionId": "s", "path": "/repo/a", "content": "x"}});
    for (option, passes) in [("allow", true), ("reject", false)] {
        let mut talk = Talk::begun(asks);
        let out = talk.agent(write.clone());
        let asked = parsed(&out.to_editor).remove(0);
        assert_eq!(asked["method"], "session/request_permission");
        let out = talk.editor(
            json!({"id": asked["id"], "result": {"outcome": {"outcome": "selected", "optionId": option}}}),
        );
        assert_eq!(out.to_editor.contains(&rpc(write.clone())), passes);
        assert_eq!(out.to_agent.is_empty(), passes);
    }
}

#[test]
fn a_terminal_is_a_command_and_its_output_a_result() {
    let judge: Judge = |event| match (event.kind, event.host.as_ref().and_then(|host| host.event.as_deref()))
    {
        (EventKind::AfterTool, Some("terminal/output")) => stop(Effect::Block, "it leaks"),
        _ => strict(event),
    };
    let mut talk = Talk::begun(judge);
    let create = |id: u64, command: &str, args: Value| json!({"id": id, "method": "terminal/create", "params": {"sessionId": "s", "command": command, "args": args}});
    assert!(parsed(&talk.agent(create(1, "rm -rf x", json!([]))).to_agent)[0]["error"].is_object());
    assert!(talk.agent(create(2, "npm", json!(["test"]))).to_agent.is_empty());
    assert_eq!(talk.last().tool.unwrap().args["command"], json!(["npm", "test"]));
    talk.editor(json!({"id": 2, "result": {"terminalId": "term"}}));
    talk.agent(
        json!({"id": 3, "method": "terminal/output", "params": {"sessionId": "s", "terminalId": "term"}}),
    );
    let out = talk.editor(json!({"id": 3, "result": {"output": "AKIA", "truncated": false}}));
    let error = parsed(&out.to_agent)[0]["error"]["message"].as_str().unwrap().to_owned();
    assert!(error.contains("it leaks") && !error.contains("AKIA"), "{error}");
    talk.agent(json!({"id": 4, "method": "terminal/wait_for_exit", "params": {"sessionId": "s", "terminalId": "term"}}));
    let out = talk.editor(json!({"id": 4, "result": {"exitCode": 2}}));
    assert_eq!(out.to_agent.len(), 1);
    let event = talk.last();
    assert_eq!((event.tool_name(), event.result.as_ref().unwrap().exit_code), (Some("terminal"), Some(2)));
}

#[test]
fn a_call_that_nobody_was_asked_about_is_cancelled_once_it_runs() {
    let call = |command: &str| {
        json!({"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "execute", "status": "in_progress",
            "title": "x", "rawInput": {"command": command}})
    };
    let mut talk = Talk::begun(strict);
    assert!(talk.update(call("rm -rf x")).to_agent.is_empty(), "it may ask in a moment");
    let due = talk.proxy.next_tick().unwrap();
    let out = talk.proxy.tick(due);
    assert_eq!(parsed(&out.to_agent)[0]["method"], "session/cancel");
    assert!(shown(&out.to_editor).contains("it destroys"));
    assert_eq!(talk.proxy.next_tick(), None, "it is judged once");

    // One that is over before that is judged then.
    let mut talk = Talk::begun(strict);
    talk.update(call("rm -rf x"));
    let out =
        talk.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"}));
    assert_eq!(parsed(&out.to_agent)[0]["method"], "session/cancel");
    assert_eq!(talk.kinds().last(), Some(&EventKind::AfterTool));

    // One that asks is left to the person.
    let mut talk = Talk::begun(strict);
    talk.update(call("ls"));
    talk.agent(permission(0, json!({"toolCallId": "t"})));
    assert_eq!(talk.last().tool.unwrap().args["command"], "ls", "the request tells less than the call did");
    let count = talk.kinds().len();
    assert!(nothing(&talk.wait(GRACE)));
    assert_eq!(talk.kinds().len(), count);
}

#[test]
fn calls_wait_while_the_person_thinks_about_another() {
    let mut talk = Talk::begun(strict);
    let call = |id: &str, command: &str| {
        json!({"sessionUpdate": "tool_call", "toolCallId": id, "kind": "execute", "status": "pending",
            "rawInput": {"command": command}})
    };
    talk.update(call("t", "ls"));
    talk.update(call("u", "rm -rf x"));
    talk.agent(permission(0, json!({"toolCallId": "t"})));
    assert!(nothing(&talk.wait(10 * GRACE)));
    talk.editor(json!({"id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "b"}}}));
    assert!(nothing(&talk.wait(GRACE / 2)));
    let out = talk.agent(permission(1, json!({"toolCallId": "u"})));
    assert_eq!(parsed(&out.to_agent)[0]["result"]["outcome"]["optionId"], "c");
}

#[test]
fn what_was_before_a_session_was_loaded_is_not_judged_again() {
    let mut talk = Talk::new(strict);
    talk.editor(json!({"id": 1, "method": "session/load", "params": {"sessionId": "s", "cwd": "/repo", "mcpServers": []}}));
    let old = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "execute", "status": "completed",
        "rawInput": {"command": "rm -rf x"}});
    let out = talk.update(old);
    assert_eq!((out.to_editor.len(), out.to_agent.len()), (1, 0));
    talk.agent(json!({"id": 1, "result": {}}));
    assert_eq!(talk.kinds(), [EventKind::SessionStart]);
    // It goes on, so what halted it before halts it still.
    assert_eq!(talk.last().source.as_deref(), Some("resume"));
}

#[test]
fn an_agent_that_may_not_stop_is_sent_back_and_the_editor_waits() {
    let judge: Judge = |event| match event.kind {
        EventKind::BeforeStop
            if event.output.as_ref().is_some_and(|output| !json!(output).to_string().contains("done")) =>
        {
            let retry = Retry { message: "write the report".to_owned(), attempt: 1, max_attempts: 3 };
            Decision { retry: Some(retry), ..stop(Effect::Retry, "incomplete") }
        }
        _ => allow(event),
    };
    let mut talk = Talk::begun(judge);
    talk.update(says("I am tired"));
    let out = talk.agent(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    let sent = parsed(&out.to_agent).remove(0);
    assert_eq!(sent["method"], "session/prompt");
    assert!(sent["params"]["prompt"][0]["text"].as_str().unwrap().contains("write the report"));
    assert!(parsed(&out.to_editor).iter().all(|line| line.get("id").is_none()), "no answer yet");
    talk.update(says("done"));
    let out = talk.agent(json!({"id": sent["id"], "result": {"stopReason": "end_turn", "_meta": {"a": 1}}}));
    let answer = parsed(&out.to_editor).pop().unwrap();
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn", "_meta": {"a": 1}}})
    );
    // A prompt that the editor cancelled is not gone on with.
    talk.editor(prompt(4, "again"));
    talk.editor(json!({"method": "session/cancel", "params": {"sessionId": "s"}}));
    let out = talk.agent(json!({"id": 4, "result": {"stopReason": "end_turn"}}));
    assert!(out.to_agent.is_empty() && out.to_editor.len() == 1);
}

#[test]
fn guidance_for_a_call_comes_when_the_turn_ends_and_only_so_often() {
    let judge: Judge = |event| match event.kind {
        EventKind::BeforeTool => stop(Effect::Retry, "name the file"),
        _ => allow(event),
    };
    let mut talk = Talk::begun(judge);
    let mut id = json!(3);
    for round in 0..4_u64 {
        talk.agent(permission(
            round,
            json!({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "ls"}}),
        ));
        let out = talk.agent(json!({"id": id, "result": {"stopReason": "end_turn"}}));
        assert_eq!(out.to_agent.is_empty(), round == 3, "round {round}");
        match out.to_agent.is_empty() {
            true => assert_eq!(parsed(&out.to_editor).pop().unwrap()["id"], 3),
            false => id = parsed(&out.to_agent)[0]["id"].clone(),
        }
    }
}

#[test]
fn a_halt_cancels_and_says_farewell() {
    let judge: Judge = |event| match event.kind {
        EventKind::BeforeTool => {
            Decision { user_message: Some("this run is over".into()), ..stop(Effect::Halt, "no") }
        }
        _ => allow(event),
    };
    let mut talk = Talk::begun(judge);
    let out = talk
        .agent(permission(0, json!({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "ls"}})));
    assert_eq!(parsed(&out.to_agent)[1]["method"], "session/cancel");
    assert!(shown(&out.to_editor).contains("this run is over"));
    assert!(nothing(&talk.update(says("but"))), "nothing more is shown");
}

/// Holds back what may be the start of a key, as the engine does.
fn holding() -> impl Fn(Event) -> Decision + Send {
    let held = Mutex::new(String::new());
    move |event: Event| {
        if event.kind != EventKind::ModelChunk {
            return Decision::default();
        }
        let mut held = held.lock().unwrap();
        held.push_str(event.text.as_deref().unwrap_or_default());
        let text = held.replace("KEY1", "[redacted]");
        let keep = if event.last == Some(true) { 0 } else { text.len().min(3) };
        let cut = (0..=text.len() - keep).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let (passes, stays) = text.split_at(cut);
        let passes = passes.to_owned();
        *held = stays.to_owned();
        Decision { content: Some(passes), ..Decision::default() }
    }
}

fn streaming() -> Talk {
    let options = ProxyOptions { nonce: "n".to_owned(), ..ProxyOptions::default() };
    let mut talk = Talk { proxy: Proxy::new(options, Box::new(holding())), events: Arc::default(), now: 0 };
    talk.begin();
    talk
}

#[test]
fn a_key_in_two_chunks_does_not_reach_the_editor() {
    let mut talk = streaming();
    let mut lines = talk.update(says("the key is KE")).to_editor;
    lines.extend(talk.wait(1000).to_editor);
    lines.extend(talk.update(says("Y1, keep it")).to_editor);
    lines.extend(talk.wait(1000).to_editor);
    lines.extend(talk.agent(json!({"id": 3, "result": {"stopReason": "end_turn"}})).to_editor);
    assert_eq!(shown(&lines), "the key is [redacted], keep it");
    assert!(lines.last().unwrap().contains("end_turn"), "the answer comes behind the text");
}

#[test]
fn chunks_pass_as_they_came_where_nothing_is_held_back() {
    let mut talk = Talk::begun(allow);
    let line = r#"{ "method":"session/update","jsonrpc":"2.0", "params":{"update":{"content":{"text":"hi","type":"text"},"sessionUpdate":"agent_message_chunk","_x":1.50},"sessionId":"s"}}"#;
    assert!(nothing(&talk.line(Side::Agent, line)), "it is collected");
    let out = talk.update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "status": "pending"}));
    assert_eq!(out.to_editor[0], line);
    assert_eq!(out.to_editor.len(), 2);
}

#[test]
fn a_text_that_is_blocked_is_withheld_and_the_rest_of_it_with_it() {
    let judge: Judge = |event| match event.text.as_deref() {
        Some(text) if event.kind == EventKind::ModelChunk && text.contains("bad") => {
            stop(Effect::Block, "it leaks")
        }
        _ => allow(event),
    };
    let mut talk = Talk::begun(judge);
    talk.update(says("a bad"));
    let out = talk.wait(1000);
    assert!(shown(&out.to_editor).contains("it leaks") && !shown(&out.to_editor).contains("a bad"));
    assert!(nothing(&talk.update(says(" word"))));
    talk.update(json!({"sessionUpdate": "plan", "entries": []}));
    talk.update(says("another message"));
    assert_eq!(shown(&talk.wait(1000).to_editor), "another message");
}

#[test]
fn what_cannot_be_read_is_answered_and_not_passed_on() {
    let mut talk = Talk::begun(allow);
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
        for side in [Side::Editor, Side::Agent] {
            let out = talk.line(side, line);
            assert_eq!(out.remarks.len(), 1, "{line}");
            let (back, on) = match side {
                Side::Editor => (&out.to_editor, &out.to_agent),
                Side::Agent => (&out.to_agent, &out.to_editor),
            };
            assert!(on.is_empty(), "{line}");
            assert_eq!(back.is_empty(), code == 0, "{line}");
            assert!(code == 0 || parsed(back)[0]["error"]["code"] == code, "{line}");
        }
    }
    assert!(nothing(&talk.line(Side::Editor, "  \r")));
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    assert!(talk.line(Side::Agent, &deep).to_editor.is_empty());
}

#[test]
fn batches_are_judged_one_by_one() {
    let mut talk = Talk::begun(strict);
    let good = r#"[ {"jsonrpc":"2.0","method":"a"}, {"jsonrpc":"2.0","id":7,"method":"b"} ]"#;
    assert_eq!(talk.line(Side::Agent, good).to_editor, [good]);
    let write = json!({"jsonrpc": "2.0", "id": 8, "method": "fs/write_text_file", "params": {"sessionId": "s", "path": ".env", "content": ""}});
    let out = talk.line(Side::Agent, &json!([{"jsonrpc": "2.0", "method": "a"}, write]).to_string());
    assert_eq!(parsed(&out.to_editor)[0]["method"], "a");
    assert!(!out.to_editor.iter().any(|line| line.contains("fs/write")));
    assert!(parsed(&out.to_agent)[0]["error"].is_object());
}

#[test]
fn our_requests_have_ids_of_their_own_and_an_id_in_use_is_not_taken_twice() {
    let mut talk = Talk::begun(|event| match event.kind {
        EventKind::BeforeStop => stop(Effect::Block, "stay"),
        _ => allow(event),
    });
    for number in 0..50_u64 {
        talk.editor(json!({"id": format!("midrail-n-{number}"), "method": "x"}));
    }
    let out = talk.agent(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    let ours = parsed(&out.to_agent)[0]["id"].clone();
    let out = talk.editor(json!({"id": ours, "method": "x"}));
    assert!(nothing(&out) && out.remarks.len() == 1);
    let error = json!({"id": ours, "error": {"code": 1, "message": "busy"}});
    let out = talk.agent(error);
    assert_eq!(
        parsed(&out.to_editor)[0],
        json!({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}})
    );
}

/// What no guardrail is asked about: any method, any fields, any answer.
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

    /// Whatever is unknown passes byte for byte, and every request has exactly one answer.
    #[test]
    fn unknown_messages_pass_and_answers_are_neither_lost_nor_doubled(
        messages in prop::collection::vec((unknown(), any::<bool>(), any::<bool>()), 1..20)
    ) {
        let mut talk = Talk::begun(strict);
        let mut open = Vec::new();
        for (number, (mut message, is_editor, is_error)) in messages.into_iter().enumerate() {
            let (side, other) =
                if is_editor { (Side::Editor, Side::Agent) } else { (Side::Agent, Side::Editor) };
            let passed = |out: &ProxyOutput| if is_editor { out.to_agent.clone() } else { out.to_editor.clone() };
            if message.get("id").is_some() {
                message["id"] = json!(number + 100);
                open.push((other, number + 100, is_error));
            }
            let line = rpc(message);
            let out = talk.line(side, &line);
            prop_assert_eq!(passed(&out), vec![line]);
        }
        for (side, id, is_error) in open.iter().rev() {
            let answer = match is_error {
                true => rpc(json!({"id": id, "error": {"code": -1, "message": "m", "data": [1.0]}})),
                false => rpc(json!({"id": id, "result": {"anything": 1}})),
            };
            let out = talk.line(*side, &answer);
            let both: Vec<String> = out.to_editor.into_iter().chain(out.to_agent).collect();
            prop_assert_eq!(&both, &vec![answer.clone()]);
            prop_assert!(nothing(&talk.line(*side, &answer)));
        }
    }

    /// However a text is cut, what is shown of it is the redaction of the whole.
    #[test]
    fn a_text_is_shown_as_if_it_were_one(words in prop::collection::vec("[KEY1 ü]{0,5}", 1..20), waits in any::<u32>()) {
        let mut talk = streaming();
        let mut lines = Vec::new();
        for (number, word) in words.iter().enumerate() {
            lines.extend(talk.update(says(word)).to_editor);
            if waits & (1 << number) != 0 {
                lines.extend(talk.wait(1000).to_editor);
            }
        }
        lines.extend(talk.agent(json!({"id": 3, "result": {"stopReason": "end_turn"}})).to_editor);
        prop_assert_eq!(shown(&lines), words.concat().replace("KEY1", "[redacted]"));
    }
}
