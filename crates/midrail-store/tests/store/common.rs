//! Records, approvals and stores for the tests.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use midrail_core::{ApprovalKind, Decision, Effect, Event, Facts, Record, VerdictRecord};
use midrail_store::{Approval, ApprovalState, AuditLog, Commit, Store, TrustAnchor, Verification};
use serde_json::json;

/// A moment, so many seconds after the start of the test's time.
pub(crate) fn at(seconds: i64) -> Timestamp {
    let start: Timestamp = "2026-11-15T10:00:00Z".parse().unwrap();
    start + SignedDuration::from_secs(seconds)
}

/// An allowed call of `Read`.
pub(crate) fn record(session: &str, seconds: i64) -> Record {
    Record {
        time: at(seconds),
        session: session.to_owned(),
        event: Event::before_tool(
            "Read",
            json!({"file_path": format!("src/ü{seconds}.rs"), "nested": {"b": 1, "a": "x\ny"}}),
        ),
        slices: [("calls".to_owned(), Some(json!(seconds)))].into(),
        facts: Facts::default(),
        decision: Decision { policy: Arc::from("sha256:1"), ..Decision::default() },
        denied: None,
    }
}

/// A call of `Write` that one guardrail blocked and another warned of.
pub(crate) fn blocked(session: &str, seconds: i64, by: &str) -> Record {
    let said = |id: &str, effect| VerdictRecord {
        guardrail: Arc::from(id),
        effect: Some(effect),
        ..VerdictRecord::default()
    };
    let mut record = record(session, seconds);
    record.event = Event::before_tool("Write", json!({"file_path": "src/a.rs"}));
    record.decision.effect = Effect::Block;
    record.decision.by = Some(Arc::from(by));
    record.decision.verdicts =
        vec![said("quiet", Effect::Allow), said(by, Effect::Block), said("loud", Effect::Warn)];
    record
}

/// Commits records of session `s` until the log has so many.
pub(crate) fn fill(store: &dyn Store, records: u64) {
    let have = store.head().unwrap().map_or(0, |head| head.seq);
    for seq in have + 1..=records {
        let record = record("s", i64::try_from(seq).unwrap());
        assert_eq!(store.commit(&Commit::new(&record)).unwrap().seq, seq);
    }
}

pub(crate) fn verify<L: AuditLog + ?Sized>(log: &L) -> Verification {
    log.verify(&TrustAnchor::default(), &mut |_, _| ()).unwrap()
}

/// A pending request.
pub(crate) fn request(id: &str, session: &str, seconds: i64) -> Approval {
    Approval {
        id: id.to_owned(),
        kind: ApprovalKind::Escalation,
        state: ApprovalState::Pending,
        session: session.to_owned(),
        task: Some("t-9".to_owned()),
        guardrail: "safety-001".to_owned(),
        action: "ab".repeat(32),
        requested_by: Some("implementer-3".to_owned()),
        reason: "it deletes".to_owned(),
        tool: Some("Bash".to_owned()),
        summary: "rm -rf build".to_owned(),
        approver: "reviewer".to_owned(),
        created: at(seconds),
        expires: Some(at(seconds + 1800)),
        ..Approval::default()
    }
}
