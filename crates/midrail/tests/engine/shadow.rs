//! What guardrails in shadow mode would have done, from the record.

use midrail::Effect;
use midrail::shadow::{ShadowQuery, shadow_report};
use serde_json::json;

use crate::sessions::engine;

#[test]
fn report_lists_what_would_have_been_stopped() {
    let engine = engine(
        "pack: p\nguardrails:\n  - {id: no-deploys, tools: 'deploy*', effect: block, mode: shadow, reason: not today}\n  \
         - {id: warns, tools: grep, effect: warn, mode: shadow}\n  - {id: enforced, tools: rm, effect: block}\n",
    );
    for (session, tool) in [("s", "deploy"), ("s", "deploy_all"), ("t", "deploy"), ("t", "grep"), ("t", "rm")]
    {
        engine.session(session).check(tool, json!({}));
    }
    let query = ShadowQuery { examples: 2, ..ShadowQuery::default() };
    let report = shadow_report(engine.store().as_ref(), &query, &mut |_| {}).unwrap();
    assert_eq!((report.decisions, report.stricter), (5, 4));
    let first = &report.guardrails[0];
    assert_eq!(
        (first.guardrail.as_str(), first.asked, first.stopped, first.sessions),
        ("no-deploys", 3, 3, 2)
    );
    assert_eq!(first.effects[&Effect::Block], 3);
    assert_eq!(first.tools["deploy"], 2);
    assert_eq!(first.examples.len(), 2);
    assert_eq!((first.examples[0].what.as_str(), first.examples[0].reason.as_str()), ("deploy", "not today"));
    let second = &report.guardrails[1];
    assert_eq!((second.guardrail.as_str(), second.objections(), second.stopped), ("warns", 1, 0));

    let query = ShadowQuery { guardrail: Some("warns".into()), ..query };
    let report = shadow_report(engine.store().as_ref(), &query, &mut |_| {}).unwrap();
    assert_eq!(report.guardrails.len(), 1);
    // The sums are of that guardrail alone.
    assert_eq!((report.decisions, report.stricter), (1, 1));
}
