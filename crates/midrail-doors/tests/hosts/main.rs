//! The doors of coding agents: what each makes of its host's payloads, and of decisions.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on is to stop, loudly; helpers of tests are not in a #[test] function"
)]

mod answers;
mod bytes;
mod captured;
mod golden;
mod guarded;
mod matrix;

use std::path::PathBuf;

use midrail::{ApprovalKind, ApprovalRequest, Decision, Effect, EventKind, Retry};
use midrail_doors::host::{Door, Moment};
use midrail_doors::hosts;
use serde_json::{Map, Value};

/// A file beside these tests.
fn beside(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/hosts").join(name)
}

/// The payloads of a host, by the name of the moment and what is special about it.
fn fixtures(door: &dyn Door) -> Map<String, Value> {
    let text = std::fs::read_to_string(beside(&format!("fixtures/{}.json", door.name()))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// `PreToolUse of a sub-agent` is about `PreToolUse`.
fn moment_name(fixture: &str) -> &str {
    fixture.split(' ').next().unwrap()
}

fn moment(door: &dyn Door, name: &str) -> Option<&'static Moment> {
    door.moments().iter().find(|moment| moment.name == name)
}

/// One decision of each kind, as the law makes it for what a host can do at a moment.
fn decisions(moment: Option<&Moment>) -> Vec<(&'static str, Decision)> {
    let can = moment.map(|moment| moment.can).unwrap_or_default();
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
    let redact = match can.redact {
        true => Decision { content: Some("the text with ***".to_owned()), ..base(Effect::Redact) },
        false => Decision { meant: Some(Effect::Redact), ..base(Effect::Block) },
    };
    let halt = match can.halt {
        true => Decision { user_message: Some("The run is over.".to_owned()), ..base(Effect::Halt) },
        false => Decision { meant: Some(Effect::Halt), ..base(Effect::Block) },
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
    if moment.is_some_and(|moment| moment.kind == EventKind::AfterTool) {
        // A script's own text that the agent is to take for an error.
        let content = Some("2 tests failed".to_owned());
        all.push(("sent back", Decision { content, retry: Some(retry), ..base(Effect::Retry) }));
    }
    if can.ask {
        all.push(("ask", base(Effect::Escalate)));
    }
    all
}

/// Every host, with each of its fixtures.
fn all() -> impl Iterator<Item = (&'static dyn Door, String, Value)> {
    hosts::ALL
        .iter()
        .flat_map(|door| fixtures(*door).into_iter().map(move |(name, payload)| (*door, name, payload)))
}
