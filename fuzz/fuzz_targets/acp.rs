//! Any lines from both sides of the proxy: it does not panic, and a blocked write never reaches the other side.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail::{Decision, Effect, Event, EventKind};
use midrail_adapters::acp::{Proxy, ProxyOptions};
use midrail_adapters::relay::{Relay, Side};

fn decide(event: Event) -> Decision {
    let text = serde_json::to_string(&event).unwrap_or_default();
    if text.contains("FORBIDDEN") {
        let reason = "it is forbidden".to_owned();
        return Decision { effect: Effect::Block, by: Some("fuzz".into()), reason, ..Decision::default() };
    }
    let content = (event.kind == EventKind::ModelChunk).then(|| event.text.unwrap_or_default());
    Decision { content, ..Decision::default() }
}

fuzz_target!(|bytes: &[u8]| {
    let mut proxy = Proxy::new(ProxyOptions::default(), Box::new(decide));
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let (side, line) = match line.split_first() {
            Some((b'>', line)) => (Side::Client, line),
            _ => (Side::Server, line),
        };
        let now = u64::try_from(number).unwrap_or_default() * 300;
        let output = proxy.handle_line(side, line, now);
        for line in output.to_client.iter().chain(&output.to_server) {
            assert!(!line.contains('\n'));
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            let is_write = value["method"] == "fs/write_text_file" && side == Side::Server;
            let content = value["params"]["content"].as_str().unwrap_or_default();
            assert!(!is_write || !content.contains("FORBIDDEN"), "{line}");
        }
        for hold in output.holds {
            proxy.apply_answer(hold.number, Decision::default(), now);
        }
        proxy.tick(now);
    }
    proxy.end();
});
