//! Examples of a policy: who is in its chain, how long it takes to learn what is lacking, and what its revision tells.

use midrail_core::{
    Effect, Event, EventKind, Fact, FactKey, OnFault, Policy, PolicyEntry, Spec, Tools, Verdict,
};
use serde_json::json;

use crate::plan::{Does, Plan, plan, policy, says};
use crate::world::{Backing, SessionRun, once, write};

#[test]
fn call_without_a_tool_name_could_be_of_any_tool() {
    let plans = [Plan { governs: Some(vec!["Write".to_owned()]), ..says("a", Effect::Block) }];
    let (nameless, none) = (Event::before_tool("", json!({})), Event::new(EventKind::BeforeTool));
    let other = Event::before_tool("Read", json!({}));
    for event in [&nameless, &none] {
        assert_eq!(once(&plans, event).effect, Effect::Block);
    }
    // Whichever comes first, the others are not taken for it.
    let mut run = SessionRun::new(&plans);
    for (event, expected) in
        [(&other, Effect::Allow), (&nameless, Effect::Block), (&none, Effect::Block), (&other, Effect::Allow)]
    {
        assert_eq!(run.feed(event).effect, expected);
    }
}

#[test]
fn decision_does_not_depend_on_the_number_of_guardrails_for_other_tools() {
    let of = |tool: String, at: usize| Plan {
        governs: Some(vec![tool]),
        ..says(&format!("g{at}"), Effect::Allow)
    };
    let asked = |others: usize| {
        let applying = (0..10).map(|at| of("Write".to_owned(), at));
        let others = (10..10 + others).map(|at| of(format!("tool_{at}"), at));
        once(&applying.chain(others).collect::<Vec<_>>(), &write("a.rs")).verdicts.len()
    };
    assert_eq!((asked(0), asked(990)), (10, 10));
}

/// Guardrails that each read something first, then warn for the third time, then look for a person's answer.
fn readers(many: usize) -> (Vec<Plan>, Backing) {
    let mut backing = Backing::new();
    let plans = (0..many).map(|at| {
        let id = format!("g{at}");
        backing.slices.insert(format!("warn/{id}/"), json!(2));
        let warn = Verdict::warn("again");
        if at % 2 == 0 {
            let key = format!("var/{at}");
            return plan(&id, Does::Reads { key, present: warn.clone(), absent: warn });
        }
        let name = format!("probe-{at}");
        backing.facts.insert(FactKey::Answer(name.clone()), Fact::Answer(json!(true)));
        plan(&id, Does::Asks { name, yes: warn.clone(), no: warn })
    });
    (plans.collect(), backing)
}

#[test]
fn one_guardrail_needs_as_many_rounds_as_twelve() {
    for many in [1, 2, 12] {
        let (plans, backing) = readers(many);
        let settled = backing.settle(&policy(&plans), &write("a.rs"));
        assert_eq!((settled.rounds, settled.decision.effect), (4, Effect::Escalate), "{many}");
        assert_eq!(settled.decision.requests.len(), many);
    }
}

fn with(change: impl Fn(&mut Spec)) -> Policy {
    let mut entry: PolicyEntry = says("a", Effect::Warn).entry();
    change(&mut entry.spec);
    policy(&[says("b", Effect::Warn)]).with_entry(entry)
}

#[test]
fn revision_depends_on_effects() {
    let plain = with(|_| ());
    assert_eq!(plain.revision(), with(|_| ()).revision());
    let changed = [
        with(|spec| spec.id = "c".into()),
        with(|spec| spec.mode = midrail_core::Mode::Shadow),
        with(|spec| spec.priority = 7),
        with(|spec| spec.tools = Tools::only(["Write"])),
        with(|spec| spec.effect = Some(Effect::Block)),
        with(|spec| spec.on_error = OnFault::Allow),
        with(|spec| spec.on_missing = OnFault::Allow),
        with(|spec| spec.warn_limit = 9),
        with(|spec| spec.max_attempts = 9),
    ];
    let mut revisions: Vec<_> = changed.iter().chain([&plain]).map(Policy::revision).collect();
    revisions.sort();
    revisions.dedup();
    assert_eq!(revisions.len(), changed.len() + 1);
}

#[test]
fn revision_depends_on_tools() {
    let only = |names: &'static [&str]| with(|spec| spec.tools = Tools::only(names.iter().copied()));
    assert_ne!(with(|_| ()).revision(), only(&[]).revision(), "all tools, and none");
    assert_ne!(only(&["a b"]).revision(), only(&["a", "b"]).revision());
    let thirty = with(|spec| spec.max_attempts = 30);
    let three = with(|spec| (spec.max_attempts, spec.tools) = (3, Tools::only(["0"])));
    assert_ne!(thirty.revision(), three.revision());
}

#[test]
fn revision_depends_on_kinds_and_approvers() {
    let plain = with(|_| ());
    for (what, changed) in [
        ("on", with(|spec| spec.on = vec![EventKind::BeforeStop])),
        ("agents", with(|spec| spec.agents = vec!["nobody".to_owned()])),
        ("tasks", with(|spec| spec.tasks = vec!["nothing".to_owned()])),
        ("reason", with(|spec| spec.reason = Some("house rule".to_owned()))),
        ("advice", with(|spec| spec.advice = Some("ask ada".to_owned()))),
        ("on_exhausted", with(|spec| spec.on_exhausted = Some(OnFault::Allow))),
        ("approver", with(|spec| spec.approver = "anyone".to_owned())),
        ("approval_timeout_s", with(|spec| spec.approval_timeout_s = 1)),
        ("per_prompt", with(|spec| spec.per_prompt = true)),
    ] {
        assert_ne!(plain.revision(), changed.revision(), "{what}");
    }
}
