//! The cost of a decision does not grow with the guardrails for programs that a command line does not start.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use midrail_core::{
    Action, CommandCall, Condition, Context, Effect, Event, Fact, FactKey, Facts, Missing, NoMeter, Policy,
    ScriptSource, Session, decide, evaluate,
};

use crate::plan::says;

/// Holds for one program, and counts how often it is asked.
struct OfProgram {
    program: [String; 1],
    asked: Arc<AtomicUsize>,
}

impl Condition for OfProgram {
    fn holds(&self, context: &Context<'_>) -> Result<bool, Missing> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(context.action()?.commands.iter().any(|call| call.program == self.program[0]))
    }

    fn programs(&self) -> Option<&[String]> {
        Some(&self.program)
    }

    fn started_programs(&self, context: &Context<'_>) -> Result<BTreeSet<String>, Missing> {
        let action = context.action()?;
        let script = |path: &String| ScriptSource::new(path, &context.place(path, None), true, false);
        let scripts: Vec<ScriptSource> = action.scripts.iter().filter_map(script).collect();
        let action = if scripts.is_empty() { action } else { context.script(&scripts)? };
        let programs = action.started_programs();
        let programs = programs.ok_or_else(|| Missing("a program is not known".to_owned()))?;
        Ok(programs.into_iter().map(str::to_owned).collect())
    }
}

/// How many conditions an action asks, with so many guardrails.
fn asked(guardrails: usize, action: Option<Action>) -> usize {
    asked_by(guardrails, action, |policy, facts, event| {
        let _ = evaluate(policy, &Session::new("s"), facts, event, &NoMeter);
    })
}

fn asked_by(
    guardrails: usize,
    action: Option<Action>,
    decide: impl FnOnce(&Policy, &Facts, &Event),
) -> usize {
    let asked = Arc::new(AtomicUsize::new(0));
    let entries = (0..guardrails).map(|number| {
        let program = [format!("program-{number}")];
        let mut entry = says(&format!("g-{number}"), Effect::Block).entry();
        entry.when = Some(Arc::new(OfProgram { program, asked: Arc::clone(&asked) }));
        entry
    });
    let policy = Policy::new(entries.collect(), Vec::new(), b"test");
    let mut facts = Facts::default();
    if let Some(action) = action {
        facts.insert(FactKey::Action, Fact::Action(Arc::new(action)));
    }
    let event = Event::before_tool("Bash", serde_json::json!({}));
    decide(&policy, &facts, &event);
    asked.load(Ordering::Relaxed)
}

fn line(programs: &[&str]) -> Option<Action> {
    let call = |program: &&str| CommandCall { program: (*program).to_owned(), ..CommandCall::default() };
    Some(Action { commands: programs.iter().map(call).collect(), ..Action::default() })
}

#[test]
fn guardrails_for_other_programs_cost_nothing() {
    for (programs, count) in
        [(&["ls"][..], 0), (&["program-3"], 1), (&["ls", "program-3", "program-5", "program-3"], 2)]
    {
        assert_eq!((asked(10, line(programs)), asked(1_000, line(programs))), (count, count), "{programs:?}");
    }
}

/// `bash a.sh`, where the script starts these programs, or was not read.
fn asked_by_script(guardrails: usize, programs: Option<&[&str]>) -> usize {
    let action = line(&["bash"]).map(|action| Action { scripts: vec!["a.sh".to_owned()], ..action });
    asked_by(guardrails, action, |policy, facts, event| {
        let mut facts = facts.clone();
        if let Some(action) = programs.and_then(line) {
            facts.insert(FactKey::Script("a.sh".to_owned()), Fact::Script(Box::new(action)));
        }
        let _ = evaluate(policy, &Session::new("s"), &facts, event, &NoMeter);
    })
}

#[test]
fn scripts_ask_only_guardrails_for_the_programs_in_them() {
    for (programs, count) in [(None, 0), (Some(&["ls"][..]), 0), (Some(&["program-3", "ls", "program-5"]), 2)]
    {
        let asked = [10, 1_000].map(|guardrails| asked_by_script(guardrails, programs));
        assert_eq!(asked, [count, count], "{programs:?}");
    }
}

#[test]
fn programs_that_are_not_known_ask_every_guardrail() {
    let action = line(&["ls"]).map(|action| Action { has_unknown_programs: true, ..action });
    assert_eq!(asked(1_000, action), 1_000);
}

/// What a line starts may depend on values that are fetched. Only then is it known which guardrails are asked.
#[test]
fn programs_that_are_looked_up_ask_no_guardrail_before() {
    assert_eq!(asked(1_000, None), 0);
    let last = |policy: &Policy, facts: &Facts, event: &Event| {
        assert_eq!(decide(policy, &Session::new("s"), facts, event).effect, Effect::Block);
    };
    assert_eq!(asked_by(10, None, last), 10);
}
