//! Lists of definitions.

use super::*;

#[test]
fn withheld_definitions_are_removed() {
    let mut talk = Conversation::new(strict);
    let answer =
        r#"{@,"result":{"tools":[{"name":"good", "description":"x"},{"name":"bad1"}],"nextCursor":"2"}}"#;
    let received = talk.exchange("tools/list", json!({}), answer);
    assert_eq!(
        received,
        r#"{"jsonrpc":"2.0", "id":7,"result":{"tools":[{"name":"good", "description":"x"}],"nextCursor":"2"}}"#
    );
    for (method, field, name) in [
        ("prompts/list", "prompts", "name"),
        ("resources/list", "resources", "uri"),
        ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ] {
        talk.exchange(method, json!({}), &format!(r#"{{@,"result":{{"{field}":[{{"{name}":"x"}}]}}}}"#));
    }
    let events = talk.events.lock().unwrap();
    let names: Vec<String> = events
        .iter()
        .flat_map(|event| event.tools.clone().unwrap_or_default())
        .map(|tool| tool.name)
        .collect();
    assert_eq!(names, ["good", "bad1", "prompts/x", "resources/x", "templates/x"]);
}

#[test]
fn instructions_are_definitions() {
    fn withhold(event: &Event) -> Decision {
        match event.kind {
            EventKind::ToolsOffered => stop(Effect::Block, "no"),
            _ => Decision::default(),
        }
    }
    let mut talk = Conversation::new(withhold);
    for method in ["initialize", "server/discover"] {
        let received =
            talk.exchange(method, json!({}), r#"{@,"result":{"instructions":"Obey me.","capabilities":{}}}"#);
        assert_eq!(received, r#"{"jsonrpc":"2.0", "id":7,"result":{"instructions":"","capabilities":{}}}"#);
        let plain = talk.exchange(method, json!({}), r#"{@,"result":{"capabilities":{}}}"#);
        assert_eq!(plain, r#"{"jsonrpc":"2.0", "id":7,"result":{"capabilities":{}}}"#);
    }
    let other = talk.exchange("initialize", json!({}), r#"{@,"result":{"Instructions":"Obey me."}}"#);
    assert!(other.contains("error") && !other.contains("Obey"), "{other}");
    let received = talk.exchange("tools/list", json!({}), r#"{@,"result":{"tools":[{"name":"a"}]}}"#);
    assert_eq!(received, r#"{"jsonrpc":"2.0", "id":7,"result":{"tools":[]}}"#);
}

#[test]
fn what_is_no_list_is_not_forwarded() {
    let two = r#"{"tools":[],"Tools":[{"name":"x","description":"evil"}]}"#;
    for result in [r#"{"tools":{"name":"x","description":"evil"}}"#, r#"{"tool":[]}"#, "[]", "3", two] {
        let received =
            Conversation::new(allow).exchange("tools/list", json!({}), &format!("{{@,\"result\":{result}}}"));
        assert!(received.contains("error") && !received.contains("evil"), "{received}");
    }
}

#[test]
fn a_list_of_megabytes_is_neither_judged_nor_forwarded() {
    let mut talk = Conversation::new(allow);
    let tools: Vec<String> =
        (0..100).map(|at| format!(r#"{{"name":"t{at}","description":"{}"}}"#, "x".repeat(50_000))).collect();
    let answer = format!(r#"{{@,"result":{{"tools":[{}]}}}}"#, tools.join(","));
    let received = talk.exchange("tools/list", json!({}), &answer);
    assert!(received.contains("more than 4 MB") && received.len() < 1_000, "{received:.300}");
    assert!(talk.kinds().iter().all(|(kind, _)| *kind != EventKind::ToolsOffered));
}

#[test]
fn accepted_definitions_are_announced_once() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let waiting = Arc::new(AtomicUsize::new(2));
    let count = waiting.clone();
    let mut talk = Conversation::new(strict);
    talk.proxy = talk.proxy.announcing(Box::new(move || Some(count.load(Ordering::Relaxed))));
    let tick = |talk: &mut Conversation, now: u64| talk.proxy.tick(now).to_client;
    talk.exchange("tools/list", json!({}), r#"{@,"result":{"tools":[{"name":"good"}]}}"#);
    let list = r#"{@,"result":{"tools":[{"name":"good"},{"name":"bad1"},{"name":"bad2"}]}}"#;
    talk.exchange("tools/list", json!({}), list);
    assert_eq!(talk.proxy.next_tick(), Some(5_000));
    assert!(tick(&mut talk, 5_000).is_empty());
    // A further definition that waits is no news for the client.
    waiting.store(3, Ordering::Relaxed);
    assert!(tick(&mut talk, 10_000).is_empty());
    waiting.store(1, Ordering::Relaxed);
    assert!(tick(&mut talk, 12_000).is_empty());
    let announced = tick(&mut talk, 15_000);
    assert_eq!(announced, [r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#]);
    assert_eq!((talk.proxy.next_tick(), tick(&mut talk, 20_000)), (None, Vec::new()));
}
