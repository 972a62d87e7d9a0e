//! Alerts: when they are raised, for whom, and how long they stay quiet then.

use std::sync::Arc;
use std::time::Duration;

use midrail::store::{Alert, Approval, ApprovalFilter, Approvals, Stats, Urgency};
use midrail::{BypassRequest, Context, Effect, Engine, Fault, Guardrail, PolicyEntry, Spec, Verdict};

use crate::desk::{Desk, call, notices};

const PACK: &str = "\
pack: t
guardrails:
  - {id: no-rm, tools: rm, bypass: {allowed: true, requires_approval: reviewer}}
alerts:
  - {name: high_block_rate, condition: block_rate > 30% over 10 minute window, action: notify orchestrator}
  - {name: bypass_abuse, condition: bypass_requests > 5 per agent per hour, action: notify human operator}
  - {name: guardrail_slow, condition: avg_duration_ms > 40, action: 'log warning, consider optimization'}
";

fn raised(engine: &Engine, name: &str) -> Vec<Alert> {
    let mut all = engine.store().alerts(100).unwrap();
    all.retain(|alert| alert.name == name);
    all
}

fn calls(engine: &Engine, agent: &str, tool: &str, times: usize) {
    for _ in 0..times {
        engine.decide(call(agent, tool));
    }
}

#[test]
fn many_blocks_are_told_once_until_the_cool_down_is_over() {
    let desk = Desk::new();
    let (one, two) = (desk.engine(PACK), desk.engine(PACK));
    calls(&one, "ann", "rm", 4);
    assert!(raised(&one, "high_block_rate").is_empty(), "four decisions are no rate");
    calls(&two, "ann", "rm", 1);
    let told = raised(&one, "high_block_rate");
    assert_eq!((told.len(), told[0].value, told[0].key.as_str()), (1, 1.0, ""));
    let sent = notices(&**one.store(), "alert");
    assert_eq!((sent.len(), sent[0].to.as_str()), (1, "orchestrator"));
    assert!(sent[0].message.contains("block_rate is 100%"), "{}", sent[0].message);
    // Both go on, and both are quiet: the cool-down is the store's.
    calls(&one, "ann", "rm", 3);
    calls(&two, "bob", "rm", 3);
    desk.clock.advance(599.0);
    calls(&two, "ann", "rm", 5);
    assert_eq!(raised(&two, "high_block_rate").len(), 1);
    desk.clock.advance(1.0);
    calls(&two, "ann", "rm", 1);
    calls(&one, "ann", "rm", 1);
    assert_eq!(raised(&one, "high_block_rate").len(), 2);
}

#[test]
fn a_usual_share_of_blocks_is_told_to_nobody() {
    let desk = Desk::new();
    let engine = desk.engine(PACK);
    calls(&engine, "ann", "ls", 7);
    calls(&engine, "ann", "rm", 3);
    assert!(raised(&engine, "high_block_rate").is_empty(), "30% is not more than 30%");
    // What lies before the window does not count any more.
    desk.clock.advance(601.0);
    calls(&engine, "ann", "ls", 3);
    calls(&engine, "ann", "rm", 1);
    assert!(raised(&engine, "high_block_rate").is_empty());
    calls(&engine, "ann", "rm", 1);
    assert_eq!(raised(&engine, "high_block_rate")[0].value, 0.4);
}

#[test]
fn a_rate_per_member_is_that_of_the_member() {
    for (group, key) in [("agent", "bob"), ("session", "of-bob"), ("guardrail", "no-rm"), ("task", "t-bob")] {
        let desk = Desk::new();
        let engine = desk.engine(&format!(
            "pack: t\nguardrails:\n  - {{id: no-rm, tools: rm}}\nalerts:\n  - {{name: a, condition: block_rate > 50% per {group} over 10 minute window, action: notify x}}\n"
        ));
        let decide = |agent: &str, tool: &str, times: usize| {
            for _ in 0..times {
                let mut event = call(agent, tool);
                event.task =
                    Some(serde_json::from_value(serde_json::json!({"id": format!("t-{agent}")})).unwrap());
                engine.decide(event);
            }
        };
        // The guardrail is asked about `rm` alone; the others see what passes, too.
        if group == "guardrail" {
            decide("ann", "ls", 20);
            decide("bob", "rm", 5);
        } else {
            // Ann is stopped now and then, Bob always; over all it is less than half.
            decide("ann", "ls", 20);
            decide("ann", "rm", 2);
            decide("bob", "rm", 4);
            assert!(raised(&engine, "a").is_empty(), "{group}");
            decide("ann", "rm", 1);
            decide("bob", "rm", 1);
        }
        let told = raised(&engine, "a");
        assert_eq!((told.len(), told[0].key.as_str(), told[0].value), (1, key, 1.0), "{group}");
    }
}

/// Asks for a bypass of a call of its own.
fn ask(engine: &Engine, agent: &str, nth: usize) -> Approval {
    let mut event = call(agent, "rm");
    event.tool.as_mut().unwrap().args.insert("nth".to_owned(), nth.into());
    let decision = engine.decide(event);
    assert_eq!(decision.effect, Effect::Block);
    let seq = decision.audit.0.unwrap().seq;
    let reason = "the old build folder has to go before the release is made".to_owned();
    engine
        .approvals()
        .request(&BypassRequest { seq, guardrail: None, reason, urgency: Urgency::Normal })
        .unwrap()
}

#[test]
fn the_sixth_request_of_one_agent_within_the_hour_is_told() {
    let desk = Desk::new();
    let (one, two) = (desk.engine(PACK), desk.engine(PACK));
    for nth in 0..5 {
        ask(if nth % 2 == 0 { &one } else { &two }, "ann", nth);
        ask(&one, "bob", nth);
    }
    assert!(raised(&one, "bypass_abuse").is_empty(), "five each, and ten together");
    ask(&two, "ann", 5);
    let told = raised(&one, "bypass_abuse");
    assert_eq!((told.len(), told[0].key.as_str(), told[0].value), (1, "ann", 6.0));
    let sent = notices(&**one.store(), "alert");
    assert!(sent.iter().any(|notice| notice.to == "human_operator" && notice.message.contains("`ann`")));
    // An hour later the count begins anew.
    desk.clock.advance(3_601.0);
    ask(&one, "bob", 5);
    assert_eq!(raised(&one, "bypass_abuse").len(), 1);
    let all = desk.store().approvals(&ApprovalFilter::default()).unwrap();
    assert_eq!(all.len(), 12);
}

/// A guardrail that takes its time.
struct Slow(Duration);

impl Guardrail for Slow {
    fn check(&self, _: &Context<'_>) -> Result<Verdict, Fault> {
        std::thread::sleep(self.0);
        Ok(Verdict::allow())
    }
}

#[test]
fn a_slow_guardrail_is_told_by_its_name() {
    let desk = Desk::new();
    let engine = desk.engine(PACK);
    let slow = Slow(Duration::from_millis(60));
    engine.register(PolicyEntry::new(Spec::new("slow"), Arc::new(slow)));
    calls(&engine, "ann", "ls", 2);
    let told = raised(&engine, "guardrail_slow");
    assert_eq!((told.len(), told[0].key.as_str()), (1, "slow"));
    assert!(told[0].value >= 60.0, "{}", told[0].value);
    assert_eq!(notices(&**engine.store(), "alert")[0].to, "log");
}

#[test]
fn one_slow_answer_among_many_is_no_slow_guardrail() {
    let desk = Desk::new();
    let engine = desk.engine(PACK);
    let entry =
        |millis| PolicyEntry::new(Spec::new("mostly-fast"), Arc::new(Slow(Duration::from_millis(millis))));
    engine.register(entry(0));
    calls(&engine, "ann", "ls", 10);
    engine.register(entry(60));
    calls(&engine, "ann", "ls", 1);
    assert!(raised(&engine, "guardrail_slow").is_empty());
}

/// The self-check: what fails or does not answer is a block, and is counted.
struct Fails;

impl Guardrail for Fails {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        match context.event.tool_name() {
            Some("panics") => panic!("on purpose"),
            Some("waits") => {
                context.command(&midrail::PackCommand { command: "sleep 30".to_owned(), timeout_ms: 50 })?;
                Ok(Verdict::allow())
            }
            _ => Ok(Verdict::allow()),
        }
    }
}

#[test]
fn a_guardrail_that_fails_or_times_out_blocks_and_is_counted() {
    let desk = Desk::new();
    let (one, two) = (desk.engine("pack: t\n"), desk.engine("pack: t\n"));
    for engine in [&one, &two] {
        engine.register(PolicyEntry::new(Spec::new("fails"), Arc::new(Fails)));
    }
    for (engine, tool) in [(&one, "panics"), (&two, "waits")] {
        let mut event = call("ann", tool);
        event.cwd = Some(desk.path("").display().to_string());
        let decision = engine.decide(event);
        assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Block, Some("fails")), "{tool}");
        assert!(decision.verdicts.iter().any(|said| said.error.is_some()), "{tool}: {decision:#?}");
    }
    assert_eq!(one.decide(call("ann", "works")).effect, Effect::Allow);
    let figures = desk.store().audit_stats().unwrap();
    let counts = figures.guardrails["fails"].enforced;
    assert_eq!((counts.invocation_count, counts.pass_count), (3, 1));
    assert_eq!((counts.block_count, counts.error_count), (2, 2));
}

#[test]
fn figures_are_right_across_engines_and_leave_out_what_people_do() {
    let desk = Desk::new();
    let (one, two) = (desk.engine(PACK), desk.engine(PACK));
    calls(&one, "ann", "rm", 3);
    calls(&two, "bob", "ls", 4);
    one.admin().quarantine("eve", "ada", "it went astray").unwrap();
    two.admin().quarantine("mallory", "ada", "it went astray").unwrap();
    let figures = desk.store().audit_stats().unwrap();
    assert_eq!(figures.decisions, 7);
    assert_eq!((figures.effects[&Effect::Block], figures.effects[&Effect::Allow]), (3, 4));
    assert_eq!(figures.guardrails["no-rm"].enforced.block_count, 3);
    assert_eq!(one.store().audit_stats().unwrap(), two.store().audit_stats().unwrap());
}
