//! Alerts: when they are raised, for whom, and how long they stay quiet then.

use std::sync::Arc;

use midrail::approvals::BypassRequest;
use midrail::store::{Alert, Approval, ApprovalFilter, Approvals, Stats, Urgency};
use midrail::{Context, Effect, Engine, Fault, Guardrail, ManualClock, PolicyEntry, Spec, Verdict};

use crate::shared_store::{SharedStore, call, notices};

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
fn many_blocks_raise_one_alert_within_the_cooldown() {
    let shared = SharedStore::new();
    let (one, two) = (shared.engine(PACK), shared.engine(PACK));
    calls(&one, "ann", "rm", 4);
    assert!(raised(&one, "high_block_rate").is_empty(), "four decisions are no rate");
    calls(&two, "ann", "rm", 1);
    let report = raised(&one, "high_block_rate");
    assert_eq!((report.len(), report[0].value, report[0].key.as_str()), (1, 1.0, ""));
    let sent = notices(&**one.store(), "alert");
    assert_eq!((sent.len(), sent[0].to.as_str()), (1, "orchestrator"));
    assert!(sent[0].message.contains("block_rate is 100%"), "{}", sent[0].message);
    // Both continue, and both are quiet: the store keeps the cooldown.
    calls(&one, "ann", "rm", 3);
    calls(&two, "bob", "rm", 3);
    shared.clock.advance(599.0);
    calls(&two, "ann", "rm", 5);
    assert_eq!(raised(&two, "high_block_rate").len(), 1);
    shared.clock.advance(1.0);
    calls(&two, "ann", "rm", 1);
    calls(&one, "ann", "rm", 1);
    assert_eq!(raised(&one, "high_block_rate").len(), 2);
}

#[test]
fn normal_block_rate_raises_no_alert() {
    let shared = SharedStore::new();
    let engine = shared.engine(PACK);
    calls(&engine, "ann", "ls", 7);
    calls(&engine, "ann", "rm", 3);
    assert!(raised(&engine, "high_block_rate").is_empty(), "30% is not more than 30%");
    // What lies before the window does not count any more.
    shared.clock.advance(601.0);
    calls(&engine, "ann", "ls", 3);
    calls(&engine, "ann", "rm", 1);
    assert!(raised(&engine, "high_block_rate").is_empty());
    calls(&engine, "ann", "rm", 1);
    assert_eq!(raised(&engine, "high_block_rate")[0].value, 0.4);
}

#[test]
fn a_rate_per_member_is_that_of_the_member() {
    for (group, key) in [("agent", "bob"), ("session", "of-bob"), ("guardrail", "no-rm"), ("task", "t-bob")] {
        let shared = SharedStore::new();
        let engine = shared.engine(&format!(
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
        let report = raised(&engine, "a");
        assert_eq!((report.len(), report[0].key.as_str(), report[0].value), (1, key, 1.0), "{group}");
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
fn sixth_request_of_an_agent_within_an_hour_raises_an_alert() {
    let shared = SharedStore::new();
    let (one, two) = (shared.engine(PACK), shared.engine(PACK));
    for nth in 0..5 {
        ask(if nth % 2 == 0 { &one } else { &two }, "ann", nth);
        ask(&one, "bob", nth);
    }
    assert!(raised(&one, "bypass_abuse").is_empty(), "five each, and ten together");
    ask(&two, "ann", 5);
    let report = raised(&one, "bypass_abuse");
    assert_eq!((report.len(), report[0].key.as_str(), report[0].value), (1, "ann", 6.0));
    let sent = notices(&**one.store(), "alert");
    assert!(sent.iter().any(|notice| notice.to == "human_operator" && notice.message.contains("`ann`")));
    // An hour later the count begins anew.
    shared.clock.advance(3_601.0);
    ask(&one, "bob", 5);
    assert_eq!(raised(&one, "bypass_abuse").len(), 1);
    let all = shared.store().approvals(&ApprovalFilter::default()).unwrap();
    assert_eq!(all.len(), 12);
}

/// A guardrail that takes some seconds of a clock.
struct Slow(Arc<ManualClock>, f64);

impl Guardrail for Slow {
    fn check(&self, _: &Context<'_>) -> Result<Verdict, Fault> {
        self.0.advance(self.1);
        Ok(Verdict::allow())
    }
}

#[test]
fn slow_guardrail_raises_an_alert_with_its_name() {
    let shared = SharedStore::new();
    let engine = shared.engine(PACK);
    engine.register(PolicyEntry::new(Spec::new("slow"), Arc::new(Slow(shared.clock.clone(), 0.06))));
    calls(&engine, "ann", "ls", 2);
    let report = raised(&engine, "guardrail_slow");
    assert_eq!((report.len(), report[0].key.as_str()), (1, "slow"));
    assert!(report[0].value >= 60.0, "{}", report[0].value);
    assert_eq!(notices(&**engine.store(), "alert")[0].to, "log");
}

#[test]
fn every_verdict_has_its_result_message_and_duration() {
    let shared = SharedStore::new();
    let engine =
        shared.engine("pack: t\nguardrails:\n  - {id: no-rm, tools: rm, effect: warn, reason: Keep it.}\n");
    engine.register(PolicyEntry::new(Spec::new("slow"), Arc::new(Slow(shared.clock.clone(), 0.06))));
    let decision = engine.decide(call("ann", "rm"));
    let verdict = |id: &str| decision.verdicts.iter().find(|verdict| &*verdict.guardrail == id).unwrap();
    let warned = verdict("no-rm");
    assert_eq!((warned.effect, warned.reason.as_str()), (Some(Effect::Warn), "Keep it."));
    assert!(warned.duration_us.0.is_some());
    let slow = verdict("slow");
    assert_eq!((slow.effect, slow.duration_us.0), (Some(Effect::Allow), Some(60_000)));
}

#[test]
fn single_slow_answer_raises_no_alert() {
    let shared = SharedStore::new();
    let engine = shared.engine(PACK);
    let entry =
        |seconds| PolicyEntry::new(Spec::new("mostly-fast"), Arc::new(Slow(shared.clock.clone(), seconds)));
    engine.register(entry(0.0));
    calls(&engine, "ann", "ls", 10);
    engine.register(entry(0.06));
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
                context.command(&midrail::core::PackCommand {
                    command: "sleep 30".to_owned(),
                    timeout_ms: 50,
                })?;
                Ok(Verdict::allow())
            }
            _ => Ok(Verdict::allow()),
        }
    }
}

#[test]
fn a_guardrail_that_fails_or_times_out_blocks_and_is_counted() {
    let shared = SharedStore::new();
    let (one, two) = (shared.engine("pack: t\n"), shared.engine("pack: t\n"));
    for engine in [&one, &two] {
        engine.register(PolicyEntry::new(Spec::new("fails"), Arc::new(Fails)));
    }
    for (engine, tool) in [(&one, "panics"), (&two, "waits")] {
        let mut event = call("ann", tool);
        event.cwd = Some(shared.path("").display().to_string());
        let decision = engine.decide(event);
        assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Block, Some("fails")), "{tool}");
        assert!(decision.verdicts.iter().any(|said| said.error.is_some()), "{tool}: {decision:#?}");
    }
    assert_eq!(one.decide(call("ann", "works")).effect, Effect::Allow);
    let figures = shared.store().audit_stats().unwrap();
    let counts = figures.guardrails["fails"].enforced;
    assert_eq!((counts.invocation_count, counts.pass_count), (3, 1));
    assert_eq!((counts.block_count, counts.error_count), (2, 2));
}

#[test]
fn figures_are_exact_across_engines_without_administrative_records() {
    let shared = SharedStore::new();
    let (one, two) = (shared.engine(PACK), shared.engine(PACK));
    calls(&one, "ann", "rm", 3);
    calls(&two, "bob", "ls", 4);
    one.admin().quarantine("eve", "ada", "it went astray").unwrap();
    two.admin().quarantine("mallory", "ada", "it went astray").unwrap();
    let figures = shared.store().audit_stats().unwrap();
    assert_eq!(figures.decisions, 7);
    assert_eq!((figures.effects[&Effect::Block], figures.effects[&Effect::Allow]), (3, 4));
    assert_eq!(figures.guardrails["no-rm"].enforced.block_count, 3);
    assert_eq!(one.store().audit_stats().unwrap(), two.store().audit_stats().unwrap());
}
