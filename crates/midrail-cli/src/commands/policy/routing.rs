//! The risks of tools and the effects of strikes in a policy.

use midrail::Policy;
use midrail::core::Risk;
use serde_json::{Value, json};

const RISKS: [Risk; 4] = [Risk::Low, Risk::Medium, Risk::High, Risk::Critical];

/// The lines about them. None if they do not concern the guardrails of the policy.
pub(super) fn lines(policy: &Policy) -> Vec<(&'static str, String)> {
    let routing = policy.routing();
    let has_external = policy.entries().iter().any(|entry| entry.guardrail.has_late_answers());
    let mut lines = Vec::new();
    for (tool, risk) in routing.tools.iter().flatten() {
        lines.push(("tool", format!("{tool} is of {} risk", risk.as_str())));
    }
    for risk in RISKS.into_iter().filter(|_| has_external) {
        let tier = routing.tier(risk);
        let mut text = match tier.wait_ms {
            0 => format!("{}: does not wait for an answer", risk.as_str()),
            wait => format!("{}: waits {wait} ms for an answer, then {}", risk.as_str(), tier.on_timeout),
        };
        if !tier.require.is_empty() {
            text.push_str(&format!("; always required: {}", tier.require.join(", ")));
        }
        lines.push(("waits", text));
    }
    for rule in policy.strike_rules() {
        let of = rule
            .guardrail
            .as_ref()
            .map(|id| format!(" of {}", midrail::guardrails::label(id)))
            .unwrap_or_default();
        lines.push(("strikes", format!("{}{of} lead to {}", rule.count, rule.effect)));
    }
    lines
}

/// The same as JSON.
pub(super) fn as_json(policy: &Policy) -> Value {
    let routing = policy.routing();
    let tools: Vec<Value> =
        routing.tools.iter().flatten().map(|(tool, risk)| json!({"tool": tool, "risk": risk})).collect();
    let tiers: Vec<Value> = RISKS
        .iter()
        .map(|risk| {
            let tier = routing.tier(*risk);
            json!({"risk": risk, "wait_ms": tier.wait_ms, "then": tier.on_timeout, "require": tier.require})
        })
        .collect();
    let strikes = policy.strike_rules().iter().map(|rule| {
        json!({"count": rule.count, "of": rule.guardrail, "effect": rule.effect, "user_message": rule.user_message})
    });
    json!({
        "tool_risks": tools, "tiers": tiers, "model_wait_ms": routing.model_wait_ms,
        "strikes": strikes.collect::<Vec<_>>(),
    })
}
