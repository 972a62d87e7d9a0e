//! The adapters: payloads of hosts as events, and decisions as their answers.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are not in a #[test] function"
)]

mod answers;
mod bytes;
mod captured;
mod generated;
mod golden;
mod guarded;

use std::path::PathBuf;

use midrail::core::{ApprovalKind, ApprovalRequest, Retry};
use midrail::{Decision, Effect, EventKind};
use midrail_adapters::host::{HookEvent, HostSpec, Payload};
use midrail_adapters::hosts;
use serde_json::{Map, Value};

/// A file in the folder of a host.
fn host_file(host: &HostSpec, name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/hosts");
    folder.join(host.name.replace('-', "_")).join(name)
}

/// The payloads of a host, by the name of the event and what is special about it.
fn fixtures(host: &HostSpec) -> Map<String, Value> {
    let text = std::fs::read_to_string(host_file(host, "payloads.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// `PreToolUse of a sub-agent` is about `PreToolUse`.
fn fixture_event(fixture: &str) -> &str {
    fixture.split(' ').next().unwrap()
}

/// The event of a fixture, as its payload makes it.
fn hook_event(host: &HostSpec, fixture: &str, payload: &Value) -> Option<&'static HookEvent> {
    let hook_event = host.hook_event(fixture_event(fixture))?;
    Some(host.adapter.variant(hook_event, &Payload(payload.as_object().unwrap().clone())))
}

/// One decision of each effect, for what a host can do with an event.
fn decisions(hook_event: Option<&HookEvent>) -> Vec<(&'static str, Decision)> {
    let can = hook_event.map(|hook_event| hook_event.capabilities).unwrap_or_default();
    let base = |effect| Decision {
        effect,
        by: Some("a-guardrail".into()),
        reason: "the reason".to_owned(),
        advice: Some("Do this instead.".to_owned()),
        ..Decision::default()
    };
    let retry = Retry { message: "Finish the report.".to_owned(), attempt: 1, max_attempts: 3 };
    let approval = ApprovalRequest {
        id: "a-1".to_owned(),
        kind: ApprovalKind::Escalation,
        approver: "reviewer".to_owned(),
        expires: None,
        guardrail: "a-guardrail".into(),
        action: String::new(),
    };
    let is_call = hook_event.is_some_and(|hook_event| hook_event.kind == EventKind::BeforeTool);
    let redact = if can.redact && is_call {
        let note = "Midrail changed the arguments of this call. the reason".to_owned();
        let args = r#"{"command":"echo changed","description":"","file_path":"/repo/b","path":"/repo/b"}"#;
        Decision { content: Some(args.to_owned()), feedback: vec![note], ..base(Effect::Redact) }
    } else if can.redact {
        Decision { content: Some("the text with ***".to_owned()), ..base(Effect::Redact) }
    } else {
        Decision { requested: Some(Effect::Redact), ..base(Effect::Block) }
    };
    let halt = if can.halt {
        Decision { user_message: Some("The run is over.".to_owned()), ..base(Effect::Halt) }
    } else {
        Decision { requested: Some(Effect::Halt), ..base(Effect::Block) }
    };
    let mut all = vec![
        ("allow", Decision::default()),
        ("warn", base(Effect::Warn)),
        ("feedback", Decision { feedback: vec!["A note.".to_owned()], ..Decision::default() }),
        ("redact", redact),
        ("retry", Decision { retry: Some(retry.clone()), ..base(Effect::Retry) }),
        ("held", Decision { approval: Some(approval), ..base(Effect::Escalate) }),
        ("block", base(Effect::Block)),
        ("halt", halt),
        ("silent block", Decision { effect: Effect::Block, ..Decision::default() }),
    ];
    if hook_event.is_some_and(|hook_event| hook_event.kind == EventKind::AfterTool) {
        // A script's text that the agent must take for an error.
        let content = Some("2 tests failed".to_owned());
        all.push(("error", Decision { content, retry: Some(retry), ..base(Effect::Retry) }));
    }
    if can.ask {
        all.push(("ask", base(Effect::Escalate)));
    }
    if can.vouch {
        let vouched = Decision {
            vouched: true,
            grounds: Some("`make test` is listed".to_owned()),
            ..Decision::default()
        };
        all.push(("vouched", vouched));
    }
    all
}

/// Every host with each of its payloads.
fn all() -> impl Iterator<Item = (&'static HostSpec, String, Value)> {
    hosts::ALL
        .iter()
        .flat_map(|host| fixtures(host).into_iter().map(move |(name, payload)| (host, name, payload)))
}
