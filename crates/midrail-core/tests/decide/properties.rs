//! Properties of `decide` that hold for every policy, session, facts and event.

use std::cell::Cell;
use std::collections::BTreeMap;

use midrail_core::{
    Agent, AuditRef, Decision, Effect, Event, EventKind, Fact, FactKey, Handoff, Meter, Mode, NoMeter,
    PolicyDenied, Record, Session, Suppressed, Task, decide, evaluate, late_answer_digest,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::generate::{Case, cases, events, findings, plans};
use crate::plan::{Does, Learns, Plan, When, policy};
use crate::world::{Backing, Settled, key_part, minute};

/// A meter that never says the same twice.
struct Ticking(Cell<u64>);

impl Meter for Ticking {
    fn micros(&self) -> Option<u64> {
        self.0.set(self.0.get() + 17);
        Some(self.0.get())
    }
}

fn settled(plans: &[Plan], backing: &Backing, event: &Event) -> Settled {
    backing.settle(&policy(plans), event)
}

/// Everything that any of these guardrails, or `decide` for them, could read at this event.
fn everything(case: &Case, backing: &Backing, event: &Event) -> Session {
    let task = event.task_id();
    let (kind, tool) = (event.kind, event.tool_name().unwrap_or_default());
    let agent = event.agent.as_ref().and_then(|agent| agent.id.clone());
    let who = agent.unwrap_or_else(|| "session:s-1".to_owned());
    let mut keys = midrail_core::builtin_slice_keys(event, "s-1");
    keys.extend([
        "spent/".to_owned(),
        format!("shared/spent/{task}"),
        "began".to_owned(),
        "strikes".to_owned(),
        "late/held".to_owned(),
        "late".to_owned(),
    ]);
    let rows = |key: &str| backing.slices.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let approval = |row: &Value, action: &str| {
        format!("approval/{}/{action}", key_part(row["guardrail"].as_str().unwrap()))
    };
    keys.extend(rows("late/held").iter().map(|row| approval(row, row["action"].as_str().unwrap())));
    keys.extend(rows("late").iter().map(|row| approval(row, &late_answer_digest("s-1", row))));
    keys.extend(backing.slices.keys().cloned());
    for Plan { id: whole_id, does, when, learns, .. } in &case.plans {
        let id = key_part(whole_id);
        for shadow in ["", "shadow/"] {
            keys.extend([format!("{shadow}warn/{id}/{task}"), format!("{shadow}retry/{id}/{kind}/{tool}")]);
            keys.push(format!("{shadow}retry/{id}/{kind}/{tool}@{who}"));
            keys.push(format!("{shadow}unattended/{id}/{task}"));
        }
        for found in findings() {
            keys.push(format!("approval/{id}/{}", backing.names(whole_id, event, found).0));
        }
        for name in ["seen", "last", "copy"] {
            keys.push(format!("{id}/{name}"));
            keys.extend(event.prompt.iter().map(|prompt| format!("{id}@{}/{name}", key_part(prompt))));
        }
        if let Does::Reads { key, .. } = does {
            keys.push(key.clone());
        }
        if let When::Slice(key) = when {
            keys.push(key.clone());
        }
        if let Learns::Copies(key) = learns {
            keys.push(key.clone());
        }
    }
    let mut session = Session::new(backing.session.as_str());
    for key in keys.into_iter().filter(|key| !backing.unreadable.contains(key)) {
        let value = backing.slices.get(&key).cloned();
        session.load(key, value);
    }
    session
}

/// Makes everything something that can be had, if only as a fact that could not be had.
fn make_all_known(backing: &mut Backing) {
    backing.unreadable.clear();
    for name in ["tests", "risk", "lost"] {
        let key = FactKey::Answer(name.to_owned());
        backing.facts.entry(key).or_insert(Fact::Unavailable("no probe".to_owned()));
    }
}

fn text_on_the_wire(decision: &Decision) -> String {
    let mut decision = decision.clone();
    decision.audit = Suppressed(None);
    for said in &mut decision.verdicts {
        said.duration_us = Suppressed(None);
    }
    serde_json::to_string(&decision).unwrap()
}

#[test]
fn handoff_of_a_sub_agent_fetches_all_quarantines_in_one_round() {
    let event = Event {
        agent: Some(Agent { id: Some("impl-1".to_owned()), ..Agent::default() }),
        task: Some(Task::default()),
        parent: Some("main".to_owned()),
        handoff: Some(Handoff { to: Some("rev-1".to_owned()), ..Handoff::default() }),
        ..Event::new(EventKind::BeforeHandoff)
    };
    assert_eq!(settled(&[], &Backing::new(), &event).rounds, 2);
}

proptest! {
    #[test]
    fn order_of_declaration_never_changes_the_effect(
        (case, shuffled) in cases(12).prop_flat_map(|case| {
            let plans = case.plans.clone();
            (Just(case), Just(plans).prop_shuffle())
        }),
        event in events(),
    ) {
        let backing = case.backing(&event);
        let one = settled(&case.plans, &backing, &event).decision;
        let other = settled(&shuffled, &backing, &event).decision;
        prop_assert_eq!(one.effect, other.effect);
        prop_assert_eq!(one.would, other.would);
    }

    // This holds for one event on one session, which is what `decide` promises. Along a session it does not, and
    // need not: state depends on what went on. A new guardrail that blocks the first two writes keeps their warnings
    // from being counted, so the third write warns where it would have escalated; it was stricter before, though.
    // A guardrail that took another's id would be no addition, so the new one has an id of its own.
    #[test]
    fn one_more_guardrail_never_lowers_the_effect(
        case in cases(10), more in plans(), at in 0_usize..11, event in events(),
    ) {
        let backing = case.backing(&event);
        let mut longer = case.plans.clone();
        longer.insert(at.min(case.plans.len()), Plan { id: "one-more".to_owned(), ..more.clone() });
        let without = settled(&case.plans, &backing, &event).decision;
        let with = settled(&longer, &backing, &event).decision;
        prop_assert!(with.effect >= without.effect, "{} became {}", without.effect, with.effect);
        if more.mode == Mode::Shadow {
            prop_assert_eq!(with.effect, without.effect);
        }
    }

    #[test]
    fn skipping_changes_no_decision(case in cases(12), event in events()) {
        let backing = case.backing(&event);
        let everyone: Vec<Plan> =
            case.plans.iter().map(|plan| Plan { has_consequences: true, ..plan.clone() }).collect();
        let some = settled(&case.plans, &backing, &event).decision;
        let all = settled(&everyone, &backing, &event).decision;
        prop_assert!(all.verdicts.iter().all(|said| !said.skipped));
        prop_assert_eq!(some.effect, all.effect);
        prop_assert_eq!(some.by, all.by);
        prop_assert_eq!(some.reason, all.reason);
        prop_assert_eq!(some.would, all.would);
        prop_assert_eq!(some.retry, all.retry);
        prop_assert_eq!(some.approval, all.approval);
        prop_assert_eq!(some.content, all.content);
    }

    #[test]
    fn no_guardrail_is_skipped_on_an_error(case in cases(12), event in events()) {
        let event = Event { kind: EventKind::OnError, ..event };
        let backing = case.backing(&event);
        let decision = settled(&case.plans, &backing, &event).decision;
        prop_assert!(decision.verdicts.iter().all(|said| !said.skipped));
    }

    #[test]
    fn decisions_are_deterministic(case in cases(12), event in events(), others in vec(events(), 0..4)) {
        let backing = case.backing(&event);
        let used = policy(&case.plans);
        let Settled { decision, session, facts, .. } = backing.settle(&used, &event);
        for other in &others {
            // Whatever a policy has been asked before leaves no trace.
            decide(&used, &session, &facts, other);
        }
        prop_assert_eq!(&decide(&used, &session, &facts, &event), &decision);
        let fresh = policy(&case.plans);
        prop_assert_eq!(fresh.revision(), used.revision());
        prop_assert_eq!(&decide(&fresh, &session, &facts, &event), &decision);
        let metered = evaluate(&fresh, &session, &facts, &event, &Ticking(Cell::new(0))).decision;
        prop_assert_eq!(&metered, &decision);
    }

    #[test]
    fn record_replays_to_its_decision(case in cases(12), event in events()) {
        let backing = case.backing(&event);
        let policy = policy(&case.plans);
        let Settled { session, facts, .. } = backing.settle(&policy, &event);
        let mut live = evaluate(&policy, &session, &facts, &event, &Ticking(Cell::new(0))).decision;
        live.audit = Suppressed(Some(AuditRef { seq: 7, hash: "sha256:00".to_owned() }));
        let record = Record {
            time: minute(0),
            session: session.id,
            denied: PolicyDenied::from_decision(&event, &live, "s-1", minute(0), "d-1".to_owned()),
            event,
            slices: session.slices,
            facts,
            decision: live.clone(),
        };
        let text = serde_json::to_string(&record).unwrap();
        let read: Record = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&read.event, &record.event);
        prop_assert_eq!(&read.denied, &record.denied);
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), text, "a record is read as it was written");

        let replayed = read.replay(&policy);
        prop_assert_eq!(&replayed, &live, "durations and the place in the log are no part of a decision");
        prop_assert!(replayed.verdicts.iter().all(|said| said.duration_us.is_empty()));
        // What was read back knows no changes and requests, since they are not on the wire. The rest is the same.
        prop_assert_eq!(text_on_the_wire(&replayed), text_on_the_wire(&read.decision));
    }

    #[test]
    fn fetching_all_needs_leaves_none(case in cases(12), event in events()) {
        let mut backing = case.backing(&event);
        make_all_known(&mut backing);

        let policy = policy(&case.plans);
        let settled = backing.settle(&policy, &event);
        let end = evaluate(&policy, &settled.session, &settled.facts, &event, &NoMeter);
        prop_assert!(end.needs.is_empty(), "{:?} are lacking", end.needs);
        let session = everything(&case, &backing, &event);
        prop_assert_eq!(&decide(&policy, &session, &backing.facts(), &event), &settled.decision);
    }

    #[test]
    fn prefetched_slices_count_if_they_are_read(case in cases(12), event in events()) {
        let mut backing = case.backing(&event);
        make_all_known(&mut backing);
        let (policy, facts) = (policy(&case.plans), backing.facts());

        let loaded = everything(&case, &backing, &event);
        let pause = loaded.slices.get("shared/pause").cloned().flatten();
        let mut prefetched = Session { prefetched: loaded.slices.clone(), ..Session::new(&*loaded.id) };
        // Pauses are looked up before anybody is heard.
        prefetched.load("shared/pause", pause.clone());
        let received = evaluate(&policy, &prefetched, &facts, &event, &NoMeter);
        prop_assert!(received.needs.is_empty(), "{:?} are lacking", received.needs);
        prop_assert_eq!(&received.decision, &decide(&policy, &loaded, &facts, &event));

        let mut read = Session::new(&*loaded.id);
        read.load("shared/pause", pause);
        for key in &received.prefetched.slices {
            read.load(key.clone(), loaded.slices[key].clone());
        }
        let again = evaluate(&policy, &read, &facts, &event, &NoMeter);
        prop_assert!(again.needs.is_empty(), "{:?} are lacking", again.needs);
        prop_assert!(again.prefetched.is_empty());
        prop_assert_eq!(&again.decision, &received.decision);
    }

    #[test]
    fn missing_values_are_fetched_in_five_rounds(case in cases(12), event in events()) {
        // Conditions, reads of guardrails, budgets, answers of approvers, and the decision, however many guardrails there are.
        let rounds = settled(&case.plans, &case.backing(&event), &event).rounds;
        prop_assert!(rounds <= 5, "{rounds} rounds");
    }

    #[test]
    fn missing_value_prevents_skipping(case in cases(12), event in events()) {
        let policy = policy(&case.plans);
        let session = Session::new("s-1");
        // Not even whether the run was halted is known, so that nobody comes before what is missing.
        let decision = decide(&policy, &session, &case.backing.facts(), &event);
        prop_assert!(decision.verdicts.iter().all(|said| !said.skipped));
    }

    #[test]
    fn shadow_mode_changes_nothing_that_is_enforced(
        case in cases(12), event in events(), can_all_be_had in any::<bool>(),
    ) {
        let mut backing = case.backing(&event);
        if can_all_be_had {
            make_all_known(&mut backing);
        }
        // Under a pause nothing is enforced but what is always on.
        backing.slices.remove(midrail_core::PAUSES);
        let enforced: Vec<Plan> =
            case.plans.iter().filter(|plan| plan.mode == Mode::Enforce).cloned().collect();
        let with = settled(&case.plans, &backing, &event).decision;
        let without = settled(&enforced, &backing, &event).decision;
        prop_assert_eq!(without.would, None);
        prop_assert_eq!(
            (with.effect, &with.by, &with.reason, &with.advice, &with.content, &with.retry, &with.approval),
            (
                without.effect, &without.by, &without.reason, &without.advice, &without.content, &without.retry,
                &without.approval,
            )
        );
        prop_assert_eq!(
            (&with.requests, &with.feedback, &with.effects, with.recovery),
            (&without.requests, &without.feedback, &without.effects, without.recovery)
        );
        // What a shadow guardrail learnt from the event itself is its own, and kept.
        let is_own = |key: &str| {
            case.plans.iter().filter(|plan| plan.mode == Mode::Shadow).any(|plan| {
                key.strip_prefix(&key_part(&plan.id)).is_some_and(|rest| rest.starts_with(['/', '@']))
            })
        };
        let changes: BTreeMap<_, _> = with
            .changes.0.iter()
            .filter(|(key, _)| !key.starts_with("shadow/") && !is_own(key))
            // What came late is heard where anyone asks at all.
            .filter(|(key, _)| *key != "late" || enforced.iter().any(|plan| plan.is_late))
            .collect();
        prop_assert_eq!(changes, without.changes.0.iter().collect::<BTreeMap<_, _>>());
    }

    #[test]
    fn shadow_policy_allows_everything(case in cases(12), event in events()) {
        let mut backing = case.backing(&event);
        backing.overlong = false;
        for key in midrail_core::builtin_slice_keys(&event, "s-1") {
            backing.slices.remove(&key);
            backing.unreadable.remove(&key);
        }
        let shadow: Vec<Plan> =
            case.plans.iter().map(|plan| Plan { mode: Mode::Shadow, ..plan.clone() }).collect();
        let decision = settled(&shadow, &backing, &event).decision;
        prop_assert_eq!(decision.effect, Effect::Allow);
        // Of a chunk it is always told what passes on.
        let is_chunk = event.kind == EventKind::ModelChunk && event.stream.is_some();
        let chunk = event.text.as_deref().unwrap_or_default().get(backing.sent_bytes..).unwrap_or_default();
        let passes = is_chunk.then(|| chunk.to_owned());
        prop_assert_eq!((decision.by, decision.content, decision.retry), (None, passes, None));
        prop_assert!(decision.would != Some(Effect::Allow));
        prop_assert_eq!(decision.mode, if shadow.is_empty() { Mode::Enforce } else { Mode::Shadow });
    }

    #[test]
    fn no_state_is_too_broken_to_decide_on(
        case in cases(6),
        event in events(),
        broken in vec(any::<u8>().prop_map(|n| match n % 7 {
            0 => Value::Null,
            1 => json!(-1),
            2 => json!(1.5),
            3 => json!([1, {"state": 3}]),
            4 => json!({"state": "approved", "expires": "yesterday", "by": 4}),
            5 => json!(u64::MAX),
            _ => json!(""),
        }), 40),
        known in any::<u64>(),
    ) {
        let backing = case.backing(&event);
        let mut session = everything(&case, &backing, &event);
        let mut broken = broken.into_iter().cycle();
        for (at, value) in session.slices.values_mut().enumerate() {
            if known >> (at % 64) & 1 == 1 {
                *value = broken.next();
            }
        }
        let decision = decide(&policy(&case.plans), &session, &backing.facts(), &event);
        prop_assert_eq!(decision.by.is_none(), decision.effect == Effect::Allow);
    }
}
