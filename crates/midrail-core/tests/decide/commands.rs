//! The cost of a decision does not grow with the guardrails for programs that a command line does not start.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use midrail_core::{
    Action, CommandCall, Condition, Context, Effect, Event, Fact, FactKey, Facts, Missing, NoMeter, Policy,
    Session, evaluate,
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
}

/// How many conditions an action asks, with so many guardrails.
fn asked(guardrails: usize, action: Action) -> usize {
    let asked = Arc::new(AtomicUsize::new(0));
    let entries = (0..guardrails).map(|number| {
        let program = [format!("program-{number}")];
        let mut entry = says(&format!("g-{number}"), Effect::Block).entry();
        entry.when = Some(Arc::new(OfProgram { program, asked: Arc::clone(&asked) }));
        entry
    });
    let policy = Policy::new(entries.collect(), Vec::new(), b"test");
    let mut facts = Facts::default();
    facts.insert(FactKey::Action, Fact::Action(Arc::new(action)));
    let event = Event::before_tool("Bash", serde_json::json!({}));
    let _ = evaluate(&policy, &Session::new("s"), &facts, &event, &NoMeter);
    asked.load(Ordering::Relaxed)
}

fn line(programs: &[&str]) -> Action {
    let call = |program: &&str| CommandCall { program: (*program).to_owned(), ..CommandCall::default() };
    Action { commands: programs.iter().map(call).collect(), ..Action::default() }
}

#[test]
fn guardrails_for_other_programs_cost_nothing() {
    for (programs, count) in
        [(&["ls"][..], 0), (&["program-3"], 1), (&["ls", "program-3", "program-5", "program-3"], 2)]
    {
        assert_eq!((asked(10, line(programs)), asked(1_000, line(programs))), (count, count), "{programs:?}");
    }
}

#[test]
fn programs_that_are_not_known_ask_every_guardrail() {
    let action = Action { has_unknown_programs: true, ..line(&["ls"]) };
    assert_eq!(asked(1_000, action), 1_000);
}
