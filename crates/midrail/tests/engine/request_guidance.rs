//! The guidance that agents receive about approvals, and requests that grant themselves in a running engine.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use midrail::approvals::BypassRequest;
use midrail::store::{AuditFilter, Urgency};
use midrail::{Effect, Engine, Event, ManualClock, SqliteStore};
use serde_json::{Value, json};

use crate::sessions::policy;
use crate::shared_store::{SharedStore, notices};

const PACK: &str = "
pack: shop
guardrails:
  - {id: friday, tools: deploy, effect: block, bypass: {allowed: true, requires_approval: reviewer}}
";

fn event(body: Value) -> Event {
    serde_json::from_value(body).unwrap()
}

fn deploy(tokens: u64) -> Event {
    event(json!({
        "kind": "before_tool", "session": "s", "tool": {"name": "deploy"},
        "task": {"id": "t", "token_budget": 100}, "usage": {"tokens": tokens},
    }))
}

#[test]
fn guidance_names_the_role_that_may_answer() {
    let shared = SharedStore::new();
    let engine = shared.engine(PACK);
    for (tokens, role) in [(10, "reviewer"), (60, "architect"), (90, "human_operator")] {
        let decision = engine.decide(deploy(tokens));
        assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Block, Some("friday")), "{tokens}");
        let report = engine.approvals().guidance(&decision).unwrap();
        assert!(report.contains(&format!("ask a person (`{role}`)")), "{tokens}: {report}");
        let seq = decision.audit.0.as_ref().unwrap().seq;
        let reason = format!("The outage of {tokens} needs this release");
        let ask = BypassRequest { seq, guardrail: None, reason, urgency: Urgency::Normal };
        assert_eq!(engine.approvals().request(&ask).unwrap().approver, role);
        shared.clock.advance(901.0);
    }
}

#[test]
fn in_memory_engine_records_deadlines_once() {
    let clock = Arc::new(ManualClock::at("2026-11-13T10:00:00Z".parse().unwrap()));
    let (policy, source) = policy(PACK);
    let engine = Arc::new(Engine::builder(policy, &source).clock(clock.clone()).build().unwrap());
    let seq = engine.decide(deploy(0)).audit.0.unwrap().seq;
    let reason = "The login outage needs this release".to_owned();
    engine
        .approvals()
        .request(&BypassRequest { seq, guardrail: None, reason, urgency: Urgency::Urgent })
        .unwrap();
    let acts = |what: &str| {
        let entries = engine.store().entries(&AuditFilter::default()).unwrap();
        entries.iter().filter(|entry| entry.body.contains(what)).count()
    };
    clock.advance(1_000.0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| engine.approvals().settle_all().unwrap());
        }
    });
    assert_eq!((acts("approval_moved_on"), acts("approval_timed_out")), (1, 0));
    clock.advance(10_000.0);
    let decision = engine.decide(deploy(0));
    assert!(decision.reason.contains("timed out with no answer"), "{}", decision.reason);
    assert_eq!((acts("approval_moved_on"), acts("approval_timed_out")), (2, 1));
    let report: Vec<String> =
        notices(&**engine.store(), "approval").into_iter().map(|notice| notice.to).collect();
    assert_eq!(report, ["reviewer", "architect", "orchestrator"]);
    assert_eq!(engine.approvals().settle_all().unwrap(), 0);
}

#[test]
fn read_only_store_is_shown_unchanged() {
    let shared = SharedStore::new();
    let engine = shared.engine(PACK);
    let seq = engine.decide(deploy(0)).audit.0.unwrap().seq;
    let reason = "The login outage needs this release".to_owned();
    let asked = engine
        .approvals()
        .request(&BypassRequest { seq, guardrail: None, reason, urgency: Urgency::Normal })
        .unwrap();
    shared.clock.advance(901.0);
    let (policy, source) = policy(PACK);
    let store = SqliteStore::open_read_only(shared.path("midrail.db")).unwrap();
    let reader = Engine::builder(policy, &source).store(Arc::new(store)).clock(shared.clock.clone());
    let seen = reader.build().unwrap().approvals().wait(&asked.id, Duration::ZERO).unwrap();
    assert_eq!(seen.status_at(shared.clock_now()), "timed out");
    let before = engine.store().head().unwrap().unwrap().seq;
    engine.approvals().settle(&asked.id).unwrap();
    assert_eq!(engine.store().head().unwrap().unwrap().seq, before + 1);
}

#[test]
fn locks_that_were_taken_for_an_agent_end_with_its_hand_off() {
    let shared = SharedStore::new();
    let engine = shared.engine("pack: t\nguardrails: [compliance-001]\n");
    let folder = shared.path("src");
    std::fs::create_dir_all(&folder).unwrap();
    engine.admin().take_lock(&folder.join("a.rs"), "ann", "", Duration::from_secs(600)).unwrap();
    engine.admin().take_lock(&folder.join("b.rs"), "bob", "", Duration::from_secs(600)).unwrap();
    let cwd = shared.path("").canonicalize().unwrap();
    let remove = |agent: &str, what: &str| {
        let body = json!({
            "kind": "before_tool", "session": format!("of-{agent}"), "agent": {"id": agent}, "cwd": cwd,
            "tool": {"name": "Bash", "args": {"command": what}},
        });
        engine.decide(event(body))
    };
    let held = remove("eve", "rm -r src");
    assert_eq!(held.effect, Effect::Block, "{}", held.reason);
    assert!(
        held.reason.contains("'src' includes file 'src/a.rs', which is locked by `ann`"),
        "{}",
        held.reason
    );
    let handoff = json!({
        "kind": "after_handoff", "session": "of-ann", "agent": {"id": "ann"}, "cwd": cwd, "handoff": {"to": "bob"},
    });
    engine.decide(event(handoff));
    let left: Vec<String> =
        engine.admin().list::<midrail::admin::Lock>().unwrap().into_iter().map(|lock| lock.actor).collect();
    assert_eq!(left, ["bob"]);
    assert!(remove("eve", "git checkout .").reason.contains("'src/b.rs'"));
    assert_eq!(remove("bob", "rm -r src").effect, Effect::Allow);
}
