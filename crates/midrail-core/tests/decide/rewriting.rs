//! Examples of guardrails that put another text in place of a result, before anyone else looks at it.

use midrail_core::{
    Context, Decision, Effect, Event, Fact, FactKey, Fault, Guardrail, HookAnswer, HookCall, HookOutcome,
    Mode, OnFault, Policy, PolicyEntry, Redaction, Rewrite, Spec, ToolResult, Verdict,
};
use serde_json::json;

use crate::world::{Backing, SessionRun};

/// What a script would be: its answer is a fact.
struct Script;

impl Guardrail for Script {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        Ok(match &context.hook()?.answer {
            HookAnswer::Pass => Verdict::allow(),
            HookAnswer::Refuse { message, .. } => Verdict::block(message),
            HookAnswer::Replace { is_error: true, .. } => Verdict::new(Effect::Retry, "sent back"),
            HookAnswer::Replace { .. } => Verdict::new(Effect::Redact, "replaced"),
        })
    }

    fn can_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, context: &Context<'_>) -> Result<Option<Rewrite>, Fault> {
        Ok(match &context.hook()?.answer {
            HookAnswer::Replace { result, is_error } => {
                Some(Rewrite { content: result.clone(), is_error: *is_error })
            }
            HookAnswer::Pass | HookAnswer::Refuse { .. } => None,
        })
    }
}

/// Says what it sees, and hides the word `secret` in it.
struct Reader;

impl Guardrail for Reader {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let result = context.event.result.clone().unwrap();
        let text = result.content.unwrap().as_str().unwrap().to_owned();
        let reason = format!("sees {text:?}, ok {:?}", result.ok);
        Ok(match text.find("secret") {
            Some(start) => {
                let part = Redaction::new(start, start + 6, "[…]");
                Verdict { redactions: vec![part], ..Verdict::new(Effect::Redact, reason) }
            }
            None => Verdict { reason, ..Verdict::allow() },
        })
    }
}

fn script(id: &str) -> PolicyEntry {
    let spec = Spec {
        on: vec![midrail_core::EventKind::AfterTool],
        max_attempts: 2,
        on_exhausted: Some(OnFault::Allow),
        ..Spec::new(id)
    };
    PolicyEntry::new(spec, std::sync::Arc::new(Script))
}

fn run(scripts: Vec<PolicyEntry>, answers: &[(&str, &[&str], HookAnswer)]) -> SessionRun {
    let mut spec = Spec::new("reader");
    spec.on = vec![midrail_core::EventKind::AfterTool];
    // Before the scripts in the chain, and after them all the same.
    spec.priority = 1;
    let mut entries = vec![PolicyEntry::new(spec, std::sync::Arc::new(Reader))];
    entries.extend(scripts);
    let mut backing = Backing::new();
    for (script, after, answer) in answers {
        let after = after.iter().map(|id| (*id).into()).collect();
        let end = HookOutcome { answer: answer.clone(), ..HookOutcome::pass() };
        backing.facts.insert(FactKey::Hook(HookCall { script: (*script).into(), after }), Fact::Hook(end));
    }
    SessionRun { policy: Policy::new(entries, Vec::new(), b"test"), backing }
}

fn replace(result: &str, is_error: bool) -> HookAnswer {
    HookAnswer::Replace { result: result.into(), is_error }
}

fn result() -> Event {
    Event::after_tool("Bash", json!({}), ToolResult::ok("as it was"))
}

/// The effect, the text that passes on, and what the reader saw.
fn outcome(decision: &Decision) -> (Effect, Option<&str>, Vec<String>) {
    let reader = decision.verdicts.iter().filter(|said| &*said.guardrail == "reader");
    (decision.effect, decision.content.as_deref(), reader.map(|said| said.reason.clone()).collect())
}

#[test]
fn guardrails_see_the_result_of_the_last_rewrite() {
    let answers = [("a", &[][..], replace("one", false)), ("b", &["a"][..], replace("two secret", false))];
    let decision = run(vec![script("a"), script("b")], &answers).feed(&result());
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Redact, Some("reader")));
    assert_eq!(decision.content.as_deref(), Some("two […]"));
    assert_eq!(decision.reason, "sees \"two secret\", ok Some(true)");
}

#[test]
fn a_script_that_passes_leaves_the_result_to_the_next() {
    let answers = [("a", &[][..], HookAnswer::Pass), ("b", &[][..], replace("two", true))];
    let decision = run(vec![script("a"), script("b")], &answers).feed(&result());
    assert_eq!(
        outcome(&decision),
        (Effect::Retry, Some("two"), vec!["sees \"two\", ok Some(false)".to_owned()])
    );
    assert_eq!(decision.retry.unwrap().attempt, 1);
}

#[test]
fn exhausted_rewrite_leaves_the_result_unchanged() {
    let mut run = run(vec![script("a")], &[("a", &[], replace("failed", true))]);
    for _ in 0..2 {
        assert_eq!(run.feed(&result()).effect, Effect::Retry);
    }
    let decision = run.feed(&result());
    let seen = vec!["sees \"as it was\", ok Some(true)".to_owned()];
    assert_eq!(outcome(&decision), (Effect::Warn, None, seen));
    assert_eq!(decision.reason, "sent back (its 2 tries are used up)");
}

#[test]
fn a_script_that_did_not_answer_replaces_nothing_and_blocks() {
    let decision = run(vec![script("a")], &[]).feed(&result());
    assert_eq!((decision.effect, decision.content), (Effect::Block, None));
    assert!(decision.rollback_requested);
}

#[test]
fn in_shadow_mode_nothing_is_replaced() {
    let mut shadow = script("a");
    shadow.spec.mode = Mode::Shadow;
    let decision = run(vec![shadow], &[("a", &[], replace("failed", true))]).feed(&result());
    assert_eq!((decision.effect, decision.would), (Effect::Allow, Some(Effect::Retry)));
    assert_eq!(outcome(&decision).2, ["sees \"as it was\", ok Some(true)"]);
}

#[test]
fn rewrites_are_fetched_before_other_facts() {
    let run = run(vec![script("a")], &[]);
    let mut session = midrail_core::Session::new("s-1");
    session.load(midrail_core::PAUSES, None);
    let needs = midrail_core::evaluate(
        &run.policy,
        &session,
        &midrail_core::Facts::default(),
        &result(),
        &midrail_core::NoMeter,
    )
    .needs;
    assert!(needs.slices.is_empty(), "{needs:?}");
    assert_eq!(needs.facts.len(), 1);
}
