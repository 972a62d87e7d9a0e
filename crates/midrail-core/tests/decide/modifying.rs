//! Guardrails that change the arguments of a call, before any guardrail judges it.

use std::sync::Arc;

use midrail_core::{
    ArgumentChange, Context, Effect, Event, Fault, Guardrail, Host, HostLimit, Missing, Mode, Policy,
    PolicyEntry, Record, Spec, Verdict,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{Backing, minute};

/// Sets arguments.
#[derive(Debug, Clone)]
struct Setter(Vec<ArgumentChange>);

impl Guardrail for Setter {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let changes = context.modification()?;
        Ok(match changes {
            [] => Verdict::allow(),
            _ if changes.iter().any(|it| it.conflicts_with.is_some()) => {
                Verdict::new(Effect::Escalate, "conflict")
            }
            _ => Verdict::new(Effect::Redact, "changed"),
        })
    }

    fn can_modify(&self) -> bool {
        true
    }

    fn modify(&self, _: &Context<'_>) -> Result<Vec<ArgumentChange>, Fault> {
        Ok(self.0.clone())
    }
}

/// Blocks a call with `a: 1`, and repeats what it sees.
struct Judge;

impl Guardrail for Judge {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let args = Value::Object(context.event.tool.clone().unwrap().args);
        let verdict = if args["a"] == 1 { Verdict::block("a is 1") } else { Verdict::warn("fine") };
        Ok(verdict.with("args", args))
    }
}

fn change(argument: &str, value: Option<Value>) -> ArgumentChange {
    ArgumentChange::Set { argument: argument.to_owned(), value }
}

fn setter(id: &str, changes: Vec<ArgumentChange>) -> PolicyEntry {
    PolicyEntry::new(Spec::new(id), Arc::new(Setter(changes)))
}

fn policy(mut entries: Vec<PolicyEntry>) -> Policy {
    entries.push(PolicyEntry::new(Spec::new("judge"), Arc::new(Judge)));
    Policy::new(entries, Vec::new(), b"test")
}

fn call(args: Value) -> Event {
    Event { time: Some(minute(1)), ..Event::before_tool("query", args).in_session("s-1") }
}

#[test]
fn all_guardrails_judge_the_changed_call() {
    let entries = vec![
        setter("a", vec![change("/a", Some(json!(2)))]),
        setter("b", vec![change("/x/y", Some(json!(3)))]),
    ];
    let settled = Backing::new().settle(&policy(entries), &call(json!({"a": 1, "b": 0})));
    assert_eq!(settled.decision.effect, Effect::Redact);
    let content: Value = serde_json::from_str(settled.decision.content.as_deref().unwrap()).unwrap();
    assert_eq!(content, json!({"a": 2, "b": 0, "x": {"y": 3}}));
    assert!(settled.decision.feedback[0].contains("changed"), "{:?}", settled.decision.feedback);
    // The other way round, too: what the agent wrote was harmless.
    let settled = Backing::new()
        .settle(&policy(vec![setter("a", vec![change("/a", Some(json!(1)))])]), &call(json!({"a": 2})));
    assert_eq!((settled.decision.effect, settled.decision.content), (Effect::Block, None));
}

#[test]
fn changes_that_contradict_each_other_need_an_approval() {
    for other in [change("/a", Some(json!(3))), change("/a/b", Some(json!(1))), change("/a", None)] {
        let entries = vec![setter("one", vec![change("/a", Some(json!(2)))]), setter("two", vec![other])];
        let settled = Backing::new().settle(&policy(entries), &call(json!({"a": {}})));
        assert_eq!(settled.decision.effect, Effect::Escalate);
        assert_eq!(settled.decision.requests.len(), 2);
    }
    let same = || change("/a", Some(json!(2)));
    let entries = vec![setter("one", vec![same()]), setter("two", vec![same()])];
    assert_eq!(Backing::new().settle(&policy(entries), &call(json!({}))).decision.effect, Effect::Redact);
}

#[test]
fn nothing_changes_in_shadow_mode_or_without_a_difference() {
    let mut shadow = setter("shadow", vec![change("/a", Some(json!(2)))]);
    shadow.spec.mode = Mode::Shadow;
    let settled = Backing::new().settle(&policy(vec![shadow]), &call(json!({"a": 1})));
    assert_eq!((settled.decision.effect, settled.decision.content), (Effect::Block, None));
    let settled = Backing::new()
        .settle(&policy(vec![setter("same", vec![change("/a", Some(json!(5)))])]), &call(json!({"a": 5})));
    assert_eq!((settled.decision.effect, settled.decision.content), (Effect::Warn, None));
}

#[test]
fn host_that_cannot_change_a_call_blocks_it() {
    let mut event = call(json!({"a": 0}));
    event.host = Some(Host { name: "h".into(), limits: vec![HostLimit::Redact], ..Host::default() });
    let settled =
        Backing::new().settle(&policy(vec![setter("a", vec![change("/a", Some(json!(2)))])]), &event);
    assert_eq!(settled.decision.effect, Effect::Block);
    assert_eq!(settled.decision.requested, Some(Effect::Redact));
}

#[test]
fn change_that_cannot_be_made_blocks() {
    let settled = Backing::new()
        .settle(&policy(vec![setter("a", vec![change("/a/b", Some(json!(2)))])]), &call(json!({"a": 0})));
    assert_eq!(settled.decision.effect, Effect::Block);
    assert!(settled.decision.reason.contains("no place"), "{}", settled.decision.reason);
}

/// Needs a value that is not there.
struct Unknowing;

impl Guardrail for Unknowing {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        context.modification()?;
        Ok(Verdict::allow())
    }

    fn can_modify(&self) -> bool {
        true
    }

    fn modify(&self, _: &Context<'_>) -> Result<Vec<ArgumentChange>, Fault> {
        Err(Fault::Missing(Missing("nothing is known".to_owned())))
    }
}

#[test]
fn change_that_cannot_be_determined_blocks() {
    let entry = PolicyEntry::new(Spec::new("a"), Arc::new(Unknowing));
    let settled = Backing::new().settle(&policy(vec![entry]), &call(json!({})));
    assert_eq!(settled.decision.effect, Effect::Block);
    assert!(settled.decision.reason.contains("nothing is known"), "{}", settled.decision.reason);
}

#[test]
fn approval_of_a_changed_call_is_bound_to_the_change() {
    let mut asks = Spec::new("judge-2");
    asks.effect = Some(Effect::Escalate);
    let digest = |entries: Vec<PolicyEntry>| {
        let mut entries = entries;
        entries.push(PolicyEntry::new(asks.clone(), Arc::new(Judge)));
        let settled = Backing::new().settle(&policy(entries), &call(json!({"a": 5})));
        settled.decision.requests[0].action.clone()
    };
    let plain = digest(Vec::new());
    let changed = digest(vec![setter("a", vec![change("/a", Some(json!(2)))])]);
    assert_ne!(plain, changed);
}

fn changes() -> impl Strategy<Value = Vec<ArgumentChange>> {
    let argument = prop_oneof!["/a", "/b", "/c", "/c/d", "/c/e"];
    let value = prop_oneof![Just(None), (0..3).prop_map(|it| Some(json!(it)))];
    proptest::collection::vec(
        (argument, value).prop_map(|(argument, value)| ArgumentChange::Set { argument, value }),
        0..3,
    )
}

proptest! {
    #[test]
    fn order_never_matters_and_records_replay(
        sets in proptest::collection::vec(changes(), 0..4),
        args in prop_oneof![Just(json!({})), Just(json!({"a": 1, "c": {"d": 2}})), Just(json!({"c": 7}))],
        is_shadow in any::<bool>(),
    ) {
        let entries = |reversed: bool| {
            let mut entries: Vec<PolicyEntry> = sets.iter().enumerate().map(|(i, set)| {
                let mut entry = setter(&format!("set-{i}"), set.clone());
                if is_shadow && i == 0 {
                    entry.spec.mode = Mode::Shadow;
                }
                entry.spec.priority = if reversed { 200 - u32::try_from(i).unwrap() } else { 100 + u32::try_from(i).unwrap() };
                entry
            }).collect();
            if reversed {
                entries.reverse();
            }
            policy(entries)
        };
        let event = call(args);
        let one = Backing::new().settle(&entries(false), &event);
        let other = Backing::new().settle(&entries(true), &event);
        prop_assert_eq!(one.decision.effect, other.decision.effect);
        let parsed = |content: &Option<String>| content.as_ref().map(|text| serde_json::from_str::<Value>(text).unwrap());
        prop_assert_eq!(parsed(&one.decision.content), parsed(&other.decision.content));
        // The decision is that on the changed call, and at least `redact` if there is one.
        if let Some(args) = parsed(&one.decision.content) {
            let direct = Backing::new().settle(&policy(Vec::new()), &call(args));
            prop_assert_eq!(one.decision.effect, direct.decision.effect.max(Effect::Redact));
        }
        let record = Record {
            time: minute(1),
            session: "s-1".to_owned(),
            event: event.clone(),
            slices: one.session.slices.clone(),
            facts: one.facts.clone(),
            decision: one.decision.clone(),
            denied: None,
        };
        prop_assert_eq!(record.replay(&entries(false)), one.decision);
    }
}
