//! The text of the agent.

use super::*;

/// Holds back what may be the start of a secret, as the engine does.
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

fn streaming() -> Conversation {
    let options = ProxyOptions { nonce: "n".to_owned(), ..ProxyOptions::default() };
    let mut conversation =
        Conversation { proxy: Proxy::new(options, Box::new(holding())), events: Arc::default(), now: 0 };
    conversation.begin();
    conversation
}

#[test]
fn secret_in_two_chunks_does_not_reach_the_editor() {
    let mut conversation = streaming();
    let mut lines = conversation.update(says("the key is KE")).to_client;
    lines.extend(conversation.wait(1000).to_client);
    lines.extend(conversation.update(says("Y1, keep it")).to_client);
    lines.extend(conversation.wait(1000).to_client);
    lines.extend(conversation.agent(json!({"id": 3, "result": {"stopReason": "end_turn"}})).to_client);
    assert_eq!(shown(&lines), "the key is [redacted], keep it");
    assert!(lines.last().unwrap().contains("end_turn"), "the answer comes behind the text");
}

#[test]
fn unchanged_chunks_are_forwarded_as_they_came() {
    let mut conversation = Conversation::begun(allow);
    let line = r#"{ "method":"session/update","jsonrpc":"2.0", "params":{"update":{"content":{"text":"hi","type":"text"},"sessionUpdate":"agent_message_chunk","_x":1.50},"sessionId":"s"}}"#;
    assert!(nothing(&conversation.line(Side::Server, line)), "it is collected");
    let out =
        conversation.update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "status": "pending"}));
    assert_eq!(out.to_client[0], line);
    assert_eq!(out.to_client.len(), 2);
}

#[test]
fn blocked_text_is_withheld_completely() {
    let decide: DecideFn = |event| match event.text.as_deref() {
        Some(text) if event.kind == EventKind::ModelChunk && text.contains("bad") => {
            stop(Effect::Block, "it leaks")
        }
        _ => allow(event),
    };
    let mut conversation = Conversation::begun(decide);
    conversation.update(says("a bad"));
    let out = conversation.wait(1000);
    assert!(shown(&out.to_client).contains("it leaks") && !shown(&out.to_client).contains("a bad"));
    assert!(nothing(&conversation.update(says(" word"))));
    conversation.update(json!({"sessionUpdate": "plan", "entries": []}));
    conversation.update(says("another message"));
    assert_eq!(shown(&conversation.wait(1000).to_client), "another message");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// However a text is cut into chunks, the user sees the redaction of the whole text.
    #[test]
    fn chunks_are_redacted_like_the_whole_text(words in prop::collection::vec("[KEY1 ü]{0,5}", 1..20), waits in any::<u32>()) {
        let mut conversation = streaming();
        let mut lines = Vec::new();
        for (number, word) in words.iter().enumerate() {
            lines.extend(conversation.update(says(word)).to_client);
            if waits & (1 << number) != 0 {
                lines.extend(conversation.wait(1000).to_client);
            }
        }
        lines.extend(conversation.agent(json!({"id": 3, "result": {"stopReason": "end_turn"}})).to_client);
        prop_assert_eq!(shown(&lines), words.concat().replace("KEY1", "[redacted]"));
    }
}
