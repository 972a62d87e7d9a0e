//! While a project is paused guardrails speak without consequence, and those that are always on with all of theirs.

use midrail_core::{Effect, Event, Mode, PAUSES, Pause, Verdict};
use serde_json::{Value, json};

use crate::plan::{Does, Plan, plan, policy, says};
use crate::world::{Backing, SessionRun, minute, write};

fn pause(since: i64, until: i64, project: Option<&str>) -> Value {
    json!([{
        "by": "ada", "reason": "a migration", "since": minute(since).to_string(), "until": minute(until).to_string(),
        "project": project,
    }])
}

fn paused(plans: &[Plan], pause: Value) -> SessionRun {
    let mut run = SessionRun::new(plans);
    run.backing.root = Some("/repo".to_owned());
    run.backing.slices.insert(PAUSES.to_owned(), pause);
    run
}

fn at(minutes: i64) -> Event {
    Event { time: Some(minute(minutes)), ..write("a.rs") }
}

#[test]
fn paused_guardrail_runs_in_shadow_mode() {
    let decision = paused(&[says("g1", Effect::Block)], pause(-1, 10, Some("/repo"))).feed(&at(0));
    assert_eq!(
        (decision.effect, decision.would, decision.mode),
        (Effect::Allow, Some(Effect::Block), Mode::Shadow)
    );
    assert!(decision.verdicts[0].shadow);
    let pause = decision.paused.unwrap();
    assert_eq!((pause.by.as_str(), pause.reason.as_str(), pause.until), ("ada", "a migration", minute(10)));
    assert_eq!(decision.policy, *policy(&[says("g1", Effect::Block)]).revision(), "it is the same policy");
}

#[test]
fn always_on_guardrail_stays_enforced() {
    let built_in = Plan { always_on: true, ..says("g0", Effect::Block) };
    let decision = paused(&[built_in, says("g1", Effect::Halt)], pause(-1, 10, None)).feed(&at(0));
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Block, Some("g0")));
    assert_eq!(decision.would, Some(Effect::Halt));
}

#[test]
fn a_pause_begins_and_ends_by_the_time_of_the_event() {
    let mut run = paused(&[says("g1", Effect::Block)], pause(0, 10, None));
    let effects: Vec<Effect> =
        [-1, 0, 9, 10, 11].iter().map(|minutes| run.feed(&at(*minutes)).effect).collect();
    assert_eq!(effects, [Effect::Block, Effect::Allow, Effect::Allow, Effect::Block, Effect::Block]);
    let timeless = run.feed(&Event { time: None, ..at(0) });
    assert_eq!(timeless.effect, Effect::Block, "without a time nothing is paused");
}

#[test]
fn pause_covers_its_project_and_folders_below() {
    for (root, expected) in [
        (Some("/repo"), Effect::Allow),
        (Some("/repo/crates/one"), Effect::Allow),
        (Some("/repository"), Effect::Block),
        (Some("/"), Effect::Block),
        (None, Effect::Block),
    ] {
        for spelled in ["/repo", "/repo/"] {
            let mut run = paused(&[says("g1", Effect::Block)], pause(-1, 10, Some(spelled)));
            run.backing.root = root.map(str::to_owned);
            assert_eq!(run.feed(&at(0)).effect, expected, "{root:?}");
        }
    }
    let mut everywhere = paused(&[says("g1", Effect::Block)], pause(-1, 10, None));
    everywhere.backing.root = None;
    assert_eq!(everywhere.feed(&at(0)).effect, Effect::Allow);
}

#[test]
fn malformed_pause_has_no_effect() {
    let longer = minute(0)
        .checked_add(Pause::MAX_DURATION)
        .unwrap()
        .checked_add(jiff::SignedDuration::from_secs(1))
        .unwrap();
    for value in [
        json!([{"by": "ada", "reason": "all day", "since": minute(0).to_string(), "until": longer.to_string()}]),
        json!([{"by": "ada", "since": minute(-1).to_string(), "until": minute(10).to_string()}]),
        json!({"by": "ada", "reason": "no list", "since": minute(-1).to_string(), "until": minute(10).to_string()}),
        json!("yes"),
        Value::Null,
    ] {
        let decision = paused(&[says("g1", Effect::Block)], value.clone()).feed(&at(0));
        assert_eq!((decision.effect, decision.paused), (Effect::Block, None), "{value}");
    }
    let mut unreadable = paused(&[says("g1", Effect::Block)], pause(-1, 10, None));
    unreadable.backing.unreadable.insert(PAUSES.to_owned());
    assert_eq!(unreadable.feed(&at(0)).effect, Effect::Block);
}

#[test]
fn paused_guardrails_change_no_state() {
    let strike = Verdict { effects: vec!["increment_strike".to_owned()], ..Verdict::new(Effect::Warn, "r") };
    let plans = [plan("g0", Does::Says(strike)), says("g1", Effect::Escalate), says("g2", Effect::Retry)];
    let mut run = paused(&plans, pause(-1, 10, None));
    let decision = run.feed(&at(0));
    assert!(decision.requests.is_empty() && decision.approval.is_none() && decision.retry.is_none());
    let kept: Vec<&String> = run.backing.slices.keys().filter(|key| !key.starts_with("shadow/")).collect();
    assert_eq!(kept, [PAUSES]);
}

#[test]
fn pause_lifts_neither_halt_nor_quarantine() {
    let mut run = paused(&[], pause(-1, 10, None));
    run.backing.slices.insert("halted".to_owned(), json!({"by": "g9", "reason": "enough"}));
    assert_eq!(run.feed(&at(0)).effect, Effect::Halt);
    let mut run = paused(&[], pause(-1, 10, None));
    run.backing.slices.insert("shared/quarantine/session:s-1".to_owned(), json!({"reason": "it failed"}));
    assert_eq!(run.feed(&at(0)).effect, Effect::Block);
}

#[test]
fn the_pause_is_one_of_the_slices_that_every_event_is_decided_with() {
    assert!(midrail_core::builtin_slice_keys(&at(0), "s-1").contains(&PAUSES.to_owned()));
    let settled = Backing::new().settle(&policy(&[says("g1", Effect::Block)]), &at(0));
    assert_eq!(settled.session.get(PAUSES), Some(None));
}
