//! Questions to the user of a client of the modern era: sealed, and answered in a further request.

use std::path::Path;
use std::sync::Arc;

use midrail::{Engine, Load, ManualClock};

use super::*;
use crate::mcp::SealedQuestions;

const PACK: &str = "pack: p\nextends: none\nmcp: {first_seen: pin}\nguardrails:\n  - {id: risky, tools: \"mcp__files__{write,resources/read}\", effect: escalate, reason: A person decides.}\n  - {id: never, tools: mcp__files__write, when: tool.args.path contains 'forbidden', effect: block, reason: Never.}\n";

/// A server behind the proxy, and the engine that decides.
struct World {
    talk: Conversation,
    engine: Arc<Engine>,
    clock: Arc<ManualClock>,
}

fn engine(folder: &Path, pack: &str, clock: &Arc<ManualClock>) -> Arc<Engine> {
    let file = folder.join("pack.yaml");
    std::fs::write(&file, pack).unwrap();
    let loaded = Load { packs: vec![file], ..Load::default() }.load().unwrap();
    Arc::new(Engine::builder(loaded.policy, &loaded.source).clock(clock.clone()).build().unwrap())
}

fn with_engine(engine: Arc<Engine>, clock: Arc<ManualClock>) -> World {
    let mut talk = Conversation::new(allow);
    let events = talk.events.clone();
    let judge = engine.clone();
    talk.proxy.decide = Box::new(move |event| {
        events.lock().unwrap().push(event.clone());
        judge.decide(event)
    });
    let asking = engine.clone();
    talk.proxy.questions = Some(SealedQuestions::new(move |_| Ok(asking.clone())));
    World { talk, engine, clock }
}

fn world(pack: &str) -> World {
    let clock = Arc::new(ManualClock::at("2026-11-15T10:00:00Z".parse().unwrap()));
    let folder = tempfile::tempdir().unwrap();
    with_engine(engine(folder.path(), pack, &clock), clock)
}

fn meta(client: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"},
    })
}

fn write(id: u64, path: &str, more: Value) -> Value {
    let mut params = json!({"name": "write", "arguments": {"path": path, "size": 1.0}, "_meta": meta("c")});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn answer(state: &Value, content: Value) -> Value {
    json!({"inputResponses": {"midrail": {"action": "accept", "content": content}}, "requestState": state})
}

fn yes(state: &Value) -> Value {
    answer(state, json!({"allow": true}))
}

impl World {
    /// What the client and the server receive.
    fn send(&mut self, message: &Value) -> (Vec<Value>, Vec<String>) {
        let out = self.talk.client(&message.to_string());
        (out.to_client.iter().map(|line| serde_json::from_str(line).unwrap()).collect(), out.to_server)
    }

    /// The state of the question about a call.
    fn ask(&mut self, call: &Value) -> Value {
        let (answers, made) = self.send(call);
        assert!(made.is_empty(), "{made:?}");
        let result = &answers[0]["result"];
        assert_eq!((&result["resultType"], &answers[0]["id"]), (&json!("input_required"), &call["id"]));
        let question = &result["inputRequests"]["midrail"];
        assert_eq!(question["method"], "elicitation/create");
        assert!(question["params"]["message"].as_str().unwrap().contains("A person decides."), "{question}");
        result["requestState"].clone()
    }

    /// Asserts that an answer does not lead to the call, and returns what the model reads.
    fn refused(&mut self, call: &Value) -> String {
        let (answers, made) = self.send(call);
        assert!(made.is_empty(), "{made:?}");
        assert_eq!(answers[0]["result"]["isError"], json!(true), "{answers:?}");
        assert_eq!(answers[0]["result"]["resultType"], "complete");
        answers[0]["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

#[test]
fn an_allowed_call_is_made_once_as_it_was_first_sent() {
    let mut world = world(PACK);
    let state = world.ask(&write(1, "a", json!({})));
    let (answers, made) = world.send(&write(2, "a", yes(&state)));
    assert!(answers.is_empty(), "{answers:?}");
    // The server receives neither the answer nor the state.
    assert_eq!(made, [write(2, "a", json!({})).to_string()]);
    let result = r#"{"jsonrpc":"2.0","id":2,"result":{"content":[],"resultType":"complete"}}"#;
    assert_eq!(world.talk.server(result).to_client, [result]);
    let replayed = world.refused(&write(3, "a", yes(&state)));
    assert!(replayed.contains("already answered"), "{replayed}");
    // The next call is asked about again.
    world.ask(&write(4, "a", json!({})));
}

#[test]
fn a_user_who_does_not_allow_it_prevents_the_call() {
    for content in
        [json!({"allow": false}), json!({}), json!({"allow": "true"}), json!({"allow": 1}), json!([true])]
    {
        let mut world = world(PACK);
        let state = world.ask(&write(1, "a", json!({})));
        assert!(world.refused(&write(2, "a", answer(&state, content))).contains("did not allow"));
        // The answer holds.
        assert!(world.refused(&write(3, "a", yes(&state))).contains("already answered"));
    }
    for responses in [
        json!({"midrail": {"action": "decline"}}),
        json!({"other": {"action": "accept", "content": {"allow": true}}}),
        json!({}),
        json!(null),
        json!([]),
    ] {
        let mut world = world(PACK);
        let state = world.ask(&write(1, "a", json!({})));
        let more = json!({"inputResponses": responses, "requestState": state});
        assert!(world.refused(&write(2, "a", more)).contains("did not allow"), "{responses}");
    }
}

#[test]
fn changed_foreign_and_expired_states_are_refused() {
    let mut world = world(PACK);
    let state = world.ask(&write(1, "a", json!({})));
    let text = state.as_str().unwrap();
    for changed in [
        text.replacen("midrail-question.", "midrail-question.0", 1),
        format!("{text}0"),
        text[..text.len() - 1].to_owned(),
    ] {
        assert!(
            world.refused(&write(2, "a", yes(&json!(changed)))).contains("another call, or it was changed")
        );
    }
    // Other arguments, another tool, another client.
    assert!(world.refused(&write(3, "b", yes(&state))).contains("another call"));
    let mut other = write(4, "a", yes(&state));
    other["params"]["name"] = json!("read");
    world.refused(&other);
    let mut other = write(5, "a", yes(&state));
    other["params"]["_meta"] = meta("d");
    world.refused(&other);
    // Another store.
    let mut foreign = self::world(PACK);
    assert!(foreign.refused(&write(6, "a", yes(&state))).contains("another call"));
    world.clock.advance_to("2026-11-15T10:10:01Z".parse().unwrap());
    assert!(world.refused(&write(7, "a", yes(&state))).contains("too late"));
}

#[test]
fn another_process_with_the_same_store_accepts_the_answer() {
    let mut first = world(PACK);
    let state = first.ask(&write(1, "a", json!({})));
    let mut second = with_engine(first.engine.clone(), first.clock.clone());
    assert_eq!(second.send(&write(1, "a", yes(&state))).1.len(), 1);
    assert!(first.refused(&write(2, "a", yes(&state))).contains("already answered"));
}

#[test]
fn an_answer_lifts_no_block_and_no_later_decision() {
    let mut world = world(PACK);
    let state = world.ask(&write(1, "a", json!({})));
    // The policy changed meanwhile.
    let folder = tempfile::tempdir().unwrap();
    let pack = folder.path().join("pack.yaml");
    std::fs::write(&pack, PACK.replace("'forbidden'", "'a'")).unwrap();
    let loaded = Load { packs: vec![pack], ..Load::default() }.load().unwrap();
    world.engine.reload(loaded.policy, &loaded.source).unwrap();
    assert!(world.refused(&write(2, "a", yes(&state))).contains("Never."));
}

#[test]
fn the_state_of_the_server_stays_as_it_is() {
    let mut world = world(PACK);
    let state = world.ask(&write(1, "a", json!({})));
    assert_eq!(world.send(&write(2, "a", yes(&state))).1.len(), 1);
    let asks = r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"elicitation/create","params":{"message":"Which?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}}},"requestState":"s\u0065rver.1"}}"#;
    assert_eq!(world.talk.server(asks).to_client, [asks]);
    // The repeated call is a call, so the user is asked about it; what the server gets comes back with the answer.
    let more = json!({"inputResponses": {"r": {"action": "accept", "content": {"n": 7}}}, "requestState": "server.1"});
    let repeated = write(3, "a", more);
    let state = world.ask(&repeated);
    let (answers, made) = world.send(&write(4, "a", yes(&state)));
    assert!(answers.is_empty(), "{answers:?}");
    let made: Value = serde_json::from_str(&made[0]).unwrap();
    assert_eq!(made["params"], repeated["params"]);
    // A call that needs no answer of the user passes with the state of the server, byte for byte.
    let line = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"requestState" : "\u0061","name":"read","arguments":{},"inputResponses":{"x":{"action":"decline"}}}}"#;
    assert_eq!(world.talk.client(line).to_server, [line]);
}

#[test]
fn a_pack_and_a_client_can_do_without_questions() {
    let silent = PACK.replace("first_seen: pin", "first_seen: pin, elicitation: block");
    let mut world = self::world(&silent);
    let (answers, made) = world.send(&write(1, "a", json!({})));
    assert!(made.is_empty() && answers[0]["result"]["isError"] == json!(true), "{answers:?}");
    // The era with `initialize`.
    let mut world = self::world(&silent);
    world.talk.client(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"elicitation":{}}}}"#,
    );
    let out = world
        .talk
        .client(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{}}}"#);
    assert!(out.to_server.is_empty() && out.to_client[0].contains("isError"), "{out:?}");
    // A client that cannot ask: the call is held for an approver.
    let mut world = self::world(PACK);
    let mut call = write(1, "a", json!({}));
    call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    assert_eq!(world.talk.client(&call.to_string()).holds.len(), 1);
}

#[test]
fn resources_are_asked_about_and_completions_are_not() {
    let mut world = world(&PACK.replacen("write,", "completion/complete,write,", 1));
    let request = |id: u64, method: &str, more: Value| {
        let mut params =
            json!({"uri": "file:///a", "ref": {"type": "ref/prompt", "name": "p"}, "_meta": meta("c")});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    };
    let state = world.ask(&request(1, "resources/read", json!({})));
    let (_, made) = world.send(&request(2, "resources/read", yes(&state)));
    assert_eq!(made, [request(2, "resources/read", json!({})).to_string()]);
    let out = world.talk.client(&request(3, "completion/complete", json!({})).to_string());
    assert!(out.to_server.is_empty() && !out.holds.is_empty(), "{out:?}");
}
