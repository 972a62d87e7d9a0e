//! Any lines from both sides of the proxy: it does not panic, and a blocked call never reaches the server.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail::{Decision, Effect, Event, EventKind};
use midrail_adapters::mcp::{Proxy, ProxyOptions};
use midrail_adapters::relay::{Relay, Side};

fn decide(event: Event) -> Decision {
    let text = serde_json::to_string(&event).unwrap_or_default();
    let content = event.result.and_then(|result| result.content).map(|content| content.to_string());
    if text.contains("FORBIDDEN") {
        let reason = "it is forbidden".to_owned();
        return Decision { effect: Effect::Block, by: Some("fuzz".into()), reason, ..Decision::default() };
    }
    let content = content.filter(|_| event.kind == EventKind::AfterTool).map(|text| text.replace("SECRET", "*"));
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
            let is_call = value["method"] == "tools/call" && side == Side::Client;
            assert!(!is_call || !value["params"]["arguments"].to_string().contains("FORBIDDEN"), "{line}");
        }
        for hold in output.holds {
            proxy.apply_answer(hold.number, Decision::default(), now);
        }
        proxy.tick(now);
    }
    proxy.end();
});
