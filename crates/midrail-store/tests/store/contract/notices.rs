//! Notices, alerts, figures and counters.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use jiff::Timestamp;
use midrail_core::{Effect, Event, EventKind, Mode, Record, Suppressed, VerdictRecord};
use midrail_store::{ActionCounts, Alert, AuditStats, Commit, NewNotice, Store, VerdictCounts};
use serde_json::json;

use crate::common::{at, blocked, fill, record};

fn notice(message: &str) -> NewNotice {
    let (to, kind) = ("orchestrator".to_owned(), "approval".to_owned());
    NewNotice { to, kind, message: message.to_owned(), body: json!({"id": message}) }
}

fn post(store: &dyn Store, messages: &[&str]) -> u64 {
    let record = record("s", 5);
    let mut commit = Commit::new(&record);
    commit.notices = messages.iter().map(|message| notice(message)).collect();
    store.commit(&commit).unwrap().seq
}

fn waiting(store: &dyn Store, channel: &str) -> Vec<(u64, u64)> {
    let waiting = store.pending_deliveries(channel, 100).unwrap();
    waiting.into_iter().map(|one| (one.notice.id, one.attempts)).collect()
}

pub(crate) fn notices_come_with_their_record(store: &dyn Store) {
    assert_eq!(store.notices(0, 10).unwrap(), []);
    let seq = post(store, &["a", "b"]);
    post(store, &["c"]);
    let all = store.notices(0, 10).unwrap();
    let first = &all[0];
    assert_eq!((first.id, first.seq, first.time), (1, Some(seq), at(5)));
    assert_eq!((&*first.to, &*first.kind, &*first.message), ("orchestrator", "approval", "a"));
    assert_eq!(first.body, json!({"id": "a"}));
    let ids =
        |after, limit| store.notices(after, limit).unwrap().iter().map(|one| one.id).collect::<Vec<_>>();
    assert_eq!((ids(0, 2), ids(2, 2), ids(3, 2)), (vec![1, 2], vec![3], vec![]));

    // A commit that fails tells nobody anything.
    let record = record("s", 6);
    let mut commit = Commit::new(&record);
    commit.notices.push(notice("d"));
    commit.read.push(("none".to_owned(), 1));
    assert!(store.commit(&commit).unwrap_err().is_conflict());
    assert_eq!(store.notices(0, 10).unwrap().len(), 3);
}

pub(crate) fn notice_waits_until_its_channel_has_delivered_it(store: &dyn Store) {
    post(store, &["a", "b", "c"]);
    assert!(store.claim_delivery(2, "webhook", at(10), 60).unwrap());
    assert!(!store.claim_delivery(2, "webhook", at(69), 60).unwrap(), "another is at it");
    assert!(store.claim_delivery(2, "webhook", at(70), 60).unwrap(), "the other has died");
    assert_eq!(waiting(store, "webhook"), [(1, 0), (2, 2), (3, 0)]);
    assert_eq!(store.pending_deliveries("webhook", 2).unwrap()[1].tried, Some(at(70)));
    assert_eq!(waiting(store, "stream"), [(1, 0), (2, 0), (3, 0)]);

    store.mark_delivered(2, "webhook", at(71)).unwrap();
    assert!(!store.claim_delivery(2, "webhook", at(9999), 60).unwrap());
    assert_eq!(waiting(store, "webhook"), [(1, 0), (3, 0)]);
    store.mark_delivered(1, "webhook", at(72)).unwrap();
    store.mark_delivered(1, "webhook", at(73)).unwrap();
    assert_eq!(waiting(store, "webhook"), [(3, 0)]);
    assert!(!store.claim_delivery(1, "webhook", at(9999), 60).unwrap());
    store.mark_delivered(3, "webhook", at(74)).unwrap();
    assert_eq!(waiting(store, "webhook"), []);
    post(store, &["d"]);
    assert_eq!(waiting(store, "webhook"), [(4, 0)]);
    assert_eq!(waiting(store, "stream").len(), 4);

    // What there is not cannot be delivered.
    store.mark_delivered(99, "webhook", at(80)).unwrap();
    assert!(!store.claim_delivery(99, "webhook", at(80), 0).unwrap());
    assert_eq!(waiting(store, "webhook"), [(4, 0)]);
    assert_eq!(store.pending_deliveries("webhook", 0).unwrap(), []);
}

fn alert(key: &str, seconds: i64) -> Alert {
    let (name, message) = ("bypass_abuse".to_owned(), "too many".to_owned());
    Alert { name, key: key.to_owned(), fired_at: at(seconds), value: 6.5, message }
}

pub(crate) fn alert_cools_down(store: &dyn Store) {
    let fire = |key: &str, seconds| store.fire_alert(&alert(key, seconds), 600, &[notice("n")]).unwrap();
    assert!(fire("agent-1", 0));
    assert!(!fire("agent-1", 599));
    assert!(fire("agent-2", 1));
    assert!(fire("agent-1", 600));
    // A clock that was set far ahead, and back again, silences nothing for long.
    assert!(fire("agent-1", 90_000));
    assert!(fire("agent-1", 700));
    assert!(!fire("agent-1", 701));
    let other = Alert { name: "guardrail_slow".to_owned(), ..alert("agent-1", 702) };
    assert!(store.fire_alert(&other, 600, &[]).unwrap());
    let keys: Vec<_> = store.alerts(3).unwrap().into_iter().map(|one| (one.name, one.fired_at)).collect();
    let expected = [("guardrail_slow", 702), ("bypass_abuse", 700), ("bypass_abuse", 90_000)];
    assert_eq!(keys, expected.map(|(name, seconds)| (name.to_owned(), at(seconds))));
    assert_eq!(store.alerts(100).unwrap()[5], alert("agent-1", 0));
    let notices = store.notices(0, 100).unwrap();
    assert_eq!(notices.len(), 5, "one for each that was raised");
    assert_eq!((notices[1].seq, notices[1].time), (None, at(1)));
    let odd = Alert { value: f64::NAN, ..alert("odd", 1) };
    assert!(store.fire_alert(&odd, 1, &[]).unwrap());
}

pub(crate) fn one_thread_of_many_raises_an_alert(store: &dyn Store) {
    let fired = thread::scope(|scope| {
        let tries: Vec<_> = (0..8)
            .map(|n| scope.spawn(move || store.fire_alert(&alert("a", n), 600, &[notice("n")]).unwrap()))
            .collect();
        tries.into_iter().map(|one| one.join().unwrap()).filter(|fired| *fired).count()
    });
    assert_eq!((fired, store.alerts(10).unwrap().len(), store.notices(0, 10).unwrap().len()), (1, 1, 1));
}

fn said(guardrail: &str, effect: Effect, micros: u64) -> VerdictRecord {
    VerdictRecord {
        guardrail: Arc::from(guardrail),
        effect: Some(effect),
        duration_us: Suppressed(Some(micros)),
        ..VerdictRecord::default()
    }
}

fn decided(seconds: i64, kind: EventKind, effect: Effect, verdicts: Vec<VerdictRecord>) -> Record {
    let mut record = record("s", seconds);
    record.event = Event::new(kind);
    record.decision.effect = effect;
    record.decision.verdicts = verdicts;
    record
}

pub(crate) fn figures_count_what_guardrails_said(store: &dyn Store) {
    assert_eq!(store.audit_stats().unwrap(), AuditStats::default());
    let ladder = [Effect::Warn, Effect::Redact, Effect::Retry, Effect::Escalate, Effect::Block, Effect::Halt];
    for (seconds, effect) in (1..).zip(ladder) {
        let verdicts = vec![said("g", effect, 20), said("quiet", Effect::Allow, 600_000)];
        store.commit(&Commit::new(&decided(seconds, EventKind::BeforeTool, effect, verdicts))).unwrap();
    }
    // An error, one that was skipped, one in shadow mode; by a clock that is behind.
    let failed = VerdictRecord { error: Some("it fell".to_owned()), ..said("g", Effect::Block, 5) };
    let skipped = VerdictRecord { guardrail: Arc::from("quiet"), skipped: true, ..VerdictRecord::default() };
    let shadow = VerdictRecord { shadow: true, ..said("g", Effect::Block, 7) };
    let mut odd = decided(0, EventKind::AfterTool, Effect::Block, vec![failed, skipped, shadow]);
    odd.decision.would = Some(Effect::Halt);
    store.commit(&Commit::new(&odd)).unwrap();
    // What the engine writes of its own accord is no decision.
    let own = decided(9, EventKind::ApprovalDecided, Effect::Allow, Vec::new());
    let head = store.commit(&Commit::new(&own)).unwrap();

    // The log has a short form of what programs receive as objects.
    let entry = store.entry(1).unwrap().unwrap();
    assert!(entry.body.contains(r#",["quiet",600000]]"#), "{}", entry.body);
    assert_eq!(entry.json().unwrap(), serde_json::to_value(entry.record().unwrap()).unwrap());
    assert_eq!(entry.json().unwrap()["decision"]["verdicts"][1]["guardrail"], "quiet");

    let figures = store.audit_stats().unwrap();
    assert_eq!((figures.seq, &figures.hash, figures.decisions, figures.unreadable), (8, &head.hash, 7, 0));
    let counted: Vec<_> = figures.effects.iter().map(|(effect, count)| (*effect, *count)).collect();
    assert_eq!(counted, ladder.map(|effect| (effect, if effect == Effect::Block { 2 } else { 1 })));
    assert_eq!(figures.would, BTreeMap::from([(Effect::Halt, 1)]));
    let g = &figures.guardrails["g"];
    let expected = VerdictCounts {
        invocation_count: 7,
        pass_count: 0,
        warn_count: 1,
        redact_count: 1,
        contain_count: 0,
        retry_count: 1,
        escalate_count: 1,
        block_count: 3,
        error_count: 1,
        skipped_count: 0,
    };
    assert_eq!(g.enforced, expected);
    assert_eq!((g.shadow.invocation_count, g.shadow.block_count, g.shadow.error_count), (1, 1, 0));
    assert_eq!(g.last_triggered, Some(at(6)));
    assert_eq!((g.durations.count, g.durations.total_us, g.durations.max_us), (8, 132, 20));
    assert_eq!((g.durations.average_us(), &g.durations.buckets[..3]), (Some(16), &[2, 6, 0][..]));
    let quiet = &figures.guardrails["quiet"];
    assert_eq!((quiet.enforced.pass_count, quiet.enforced.skipped_count, quiet.last_triggered), (6, 1, None));
    assert_eq!((quiet.enforced.invocation_count, quiet.durations.buckets[10]), (6, 6));
}

pub(crate) fn verdict_in_shadow_mode_triggers_nothing(store: &dyn Store) {
    let shadow = VerdictRecord { shadow: true, ..said("g", Effect::Block, 7) };
    let mut record = decided(1, EventKind::BeforeTool, Effect::Allow, vec![shadow]);
    record.decision.mode = Mode::Shadow;
    record.decision.would = Some(Effect::Block);
    record.decision.verdicts.push(VerdictRecord { shadow: true, ..said("quiet", Effect::Allow, 3) });
    store.commit(&Commit::new(&record)).unwrap();
    let figures = store.audit_stats().unwrap();
    let quiet = &figures.guardrails["quiet"];
    assert_eq!((quiet.shadow.pass_count, quiet.durations.total_us, quiet.enforced.is_empty()), (1, 3, true));
    let g = &figures.guardrails["g"];
    assert!(g.enforced.is_empty() && g.last_triggered.is_none() && g.shadow.block_count == 1);
    assert_eq!(
        (figures.effects.get(&Effect::Allow), figures.would.get(&Effect::Block)),
        (Some(&1), Some(&1))
    );
    assert_eq!(store.action_counts(at(0)).unwrap(), ActionCounts { decisions: 1, blocked: 0 });
}

pub(crate) fn figures_are_saved_and_go_forward_only(store: &dyn Store) {
    fill(store, 100);
    let early = store.audit_stats().unwrap();
    assert_eq!((early.decisions, store.saved_stats().unwrap()), (100, None), "not worth saving");
    fill(store, 1300);
    let late = store.audit_stats().unwrap();
    assert_eq!(late.decisions, 1300);
    let saved = store.saved_stats().unwrap().unwrap();
    assert!(saved.seq >= 1000 && saved.decisions == saved.seq, "{}", saved.seq);
    store.save_stats(&early).unwrap();
    assert_eq!(store.saved_stats().unwrap(), Some(saved.clone()), "a slow reader takes nothing back");
    store.save_stats(&late).unwrap();
    store.save_stats(&saved).unwrap();
    assert_eq!(store.saved_stats().unwrap(), Some(late.clone()));
    assert_eq!(store.audit_stats().unwrap(), late, "nothing is counted twice");
    fill(store, 1301);
    assert_eq!(store.audit_stats().unwrap().decisions, 1301);
}

pub(crate) fn readers_and_writers_count_alike(store: &dyn Store) {
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                (0..400).for_each(|n| drop(store.commit(&Commit::new(&blocked("s", n, "g"))).unwrap()))
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                let mut last = 0;
                while last < 800 {
                    let figures = store.audit_stats().unwrap();
                    assert!(figures.decisions >= last && figures.decisions == figures.seq);
                    let counted = figures.guardrails.get("g").map_or(0, |g| g.enforced.block_count);
                    assert_eq!(counted, figures.decisions);
                    last = figures.decisions;
                }
            });
        }
    });
    assert_eq!(store.audit_stats().unwrap().guardrails["g"].enforced.block_count, 800);
}

pub(crate) fn window_counts_actions_that_were_stopped(store: &dyn Store) {
    assert_eq!(store.action_counts(Timestamp::MIN).unwrap(), ActionCounts::default());
    for (seconds, kind, effect) in [
        (1, EventKind::BeforeTool, Effect::Block),
        (10, EventKind::BeforeTool, Effect::Allow),
        (11, EventKind::BeforeTool, Effect::Block),
        (12, EventKind::BeforeHandoff, Effect::Halt),
        (13, EventKind::BeforeTool, Effect::Escalate),
        (14, EventKind::AfterTool, Effect::Block),
        (15, EventKind::ApprovalDecided, Effect::Allow),
        // By a clock that is behind.
        (12, EventKind::BeforeTool, Effect::Block),
    ] {
        let verdicts = vec![said("g", effect, u64::try_from(seconds).unwrap())];
        store.commit(&Commit::new(&decided(seconds, kind, effect, verdicts))).unwrap();
    }
    assert_eq!(store.action_counts(at(10)).unwrap(), ActionCounts { decisions: 5, blocked: 3 });
    assert_eq!(store.action_counts(at(1)).unwrap(), ActionCounts { decisions: 6, blocked: 4 });
    assert_eq!(store.action_counts(at(16)).unwrap(), ActionCounts::default());
    // Three parts of two seconds: what the engine records of its own accord is in none.
    let counts = |pairs: &[(Effect, u64)]| pairs.iter().copied().collect::<BTreeMap<_, _>>();
    assert_eq!(
        store.timeline(at(10), at(16), 3).unwrap(),
        [
            counts(&[(Effect::Allow, 1), (Effect::Block, 1)]),
            counts(&[(Effect::Block, 1), (Effect::Escalate, 1), (Effect::Halt, 1)]),
            counts(&[(Effect::Block, 1)]),
        ]
    );
    let whole = store.timeline(at(0), at(100), 1).unwrap();
    assert_eq!(whole.iter().flat_map(|part| part.values()).sum::<u64>(), 7);
    assert_eq!(
        store.timeline(at(11), at(12), 7).unwrap().iter().flat_map(|part| part.values()).sum::<u64>(),
        1
    );
    assert_eq!(store.timeline(at(50), at(60), 2).unwrap(), [BTreeMap::new(), BTreeMap::new()]);
    let g = store.audit_stats_since(at(14)).unwrap().guardrails["g"].durations;
    assert_eq!((g.count, g.average_us()), (2, Some(14)));
    assert_eq!(store.audit_stats_since(at(16)).unwrap().guardrails, BTreeMap::new());
}

pub(crate) fn counters_add_up(store: &dyn Store) {
    assert_eq!(store.counters().unwrap(), BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                (0..25).for_each(|_| store.increment_counter("policy_reload_failures", 1).unwrap())
            });
        }
    });
    store.increment_counter("other", 5).unwrap();
    store.increment_counter("most", u64::MAX).unwrap();
    store.increment_counter("most", 7).unwrap();
    let counters = store.counters().unwrap();
    assert_eq!((counters["policy_reload_failures"], counters["other"], counters.len()), (100, 5, 3));
    assert_eq!(counters["most"], u64::MAX / 2);
}
