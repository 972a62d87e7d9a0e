//! Metrics that can be scraped, and decisions that reach a collector.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use midrail_service::Otlp;
use serde_json::{Value, json};

use crate::api::fixture::{Auth, Fixture, PACK};

/// A collector that refuses the first request and takes all others.
fn collector() -> (String, Receiver<(String, String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for (at, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(number) = line.to_lowercase().strip_prefix("content-length: ") {
                    length = number.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let status = if at == 0 { "503 Service Unavailable" } else { "200 OK" };
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
            stream.write_all(answer.as_bytes()).unwrap();
            if at > 0 {
                let path = head.split(' ').nth(1).unwrap().to_owned();
                let _ = sender.send((path, head, serde_json::from_slice(&body).unwrap()));
            }
        }
    });
    (url, receiver)
}

#[test]
fn decision_reaches_the_collector_within_the_callers_trace() {
    let fixture = Fixture::new(PACK);
    let (endpoint, received) = collector();
    let headers = vec![("x-collector-key".to_owned(), "k-1".to_owned())];
    let service = fixture.serve_with(|config| config.otlp = Some(Otlp { endpoint, headers }));
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let event = json!({"kind": "before_tool", "session": "s", "agent": {"id": "a-1"},
                       "tool": {"name": "erase", "call_id": "c-7", "args": {}}});
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let decide = agent.post(format!("{}/v1/decide", service.url)).header("traceparent", parent);
    let answer =
        decide.header("content-type", "application/json").send(event.to_string().as_bytes()).unwrap();
    assert_eq!(answer.status(), 200);

    let (path, head, traces) = received.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(path, "/v1/traces");
    assert!(head.contains("x-collector-key: k-1"), "{head}");
    let spans = traces.pointer("/resourceSpans/0/scopeSpans/0/spans").unwrap().as_array().unwrap();
    let span = spans.iter().find(|span| span["name"] == "execute_tool erase").unwrap();
    assert_eq!(span["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(span["parentSpanId"], "00f067aa0ba902b7");
    let attributes = span["attributes"].to_string();
    for part in ["gen_ai.tool.call.id", "c-7", "gen_ai.agent.id", "a-1", "never", "midrail.audit.seq"] {
        assert!(attributes.contains(part), "{part} is not in {attributes}");
    }
    let body = span["events"].to_string();
    assert!(body.contains("never") && body.contains("Nothing is erased"), "{body}");

    let (path, _, logs) = received.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(path, "/v1/logs");
    let line = logs.pointer("/resourceLogs/0/scopeLogs/0/logRecords/0").unwrap();
    assert_eq!(line["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert!(line["body"].to_string().contains("Nothing is erased"), "{line}");
    let metrics = service.get("/metrics", &Auth::Anonymous).text;
    assert!(metrics.contains("midrail_otlp_spans_total{outcome=\"dropped\"} 0"), "{metrics}");
}

#[test]
fn every_metric_of_the_examples_exists() {
    let fixture = Fixture::new(PACK);
    let service = fixture.serve();
    let call =
        |tool: &str| json!({"kind": "before_tool", "session": "s", "tool": {"name": tool, "args": {}}});
    service.post("/v1/decide", call("erase"), &Auth::Anonymous);
    let blocked = service.post("/v1/decide", call("deploy"), &Auth::Anonymous).json();
    let ask =
        json!({"decision": blocked["audit"]["seq"], "reason": "The checkout is down, and this repairs it"});
    service.post("/v1/approvals", ask, &Auth::Anonymous);
    let metrics = service.get("/metrics", &Auth::Anonymous);
    assert_eq!(metrics.status, 200, "{}", metrics.text);
    let report: BTreeSet<&str> =
        metrics.text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/deploy");
    let read = |name: &str| std::fs::read_to_string(deploy.join(name)).unwrap();
    let examples = read("prometheus-rules.yaml") + &read("grafana/midrail.json");
    let is_name = |word: &&str| {
        ["midrail_", "guardrail_", "bypass_", "http_", "process_"].iter().any(|start| word.starts_with(start))
    };
    let mut named = 0;
    for name in examples.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(is_name) {
        let bare =
            ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        if bare == "guardrail_id" {
            continue;
        }
        assert!(report.contains(bare), "`{name}` is in the examples, but not in {report:?}");
        named += 1;
    }
    assert!(named > 20, "only {named} names were found");
    // The names that the catalogue of guardrails promises.
    for name in [
        "guardrail_invocations_total",
        "guardrail_duration_ms",
        "guardrail_blocks_total",
        "bypass_requests_total",
        "emergency_reviews",
    ] {
        assert!(report.contains(name), "{name}");
    }
}
