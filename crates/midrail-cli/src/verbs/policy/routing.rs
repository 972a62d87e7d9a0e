//! What a policy says of the risks of tools, and what strikes lead to.

use midrail::{Policy, Risk};
use serde_json::{Value, json};

const RISKS: [Risk; 4] = [Risk::Low, Risk::Medium, Risk::High, Risk::Critical];

/// The lines about them. None where the policy says nothing that concerns its guardrails.
pub(super) fn lines(policy: &Policy) -> Vec<(&'static str, String)> {
    let routing = policy.routing();
    let asks = policy.entries().iter().any(|entry| entry.guardrail.may_be_late());
    let mut lines = Vec::new();
    for (tool, risk) in routing.tools.iter().flatten() {
        lines.push(("tool", format!("{tool} is of {} risk", risk.word())));
    }
    for risk in RISKS.into_iter().filter(|_| asks) {
        let tier = routing.tier(risk);
        let mut text = match tier.wait_ms {
            0 => format!("{}: nobody waits for answers", risk.word()),
            wait => format!("{}: {wait} ms for an answer, then {}", risk.word(), tier.then),
        };
        if !tier.require.is_empty() {
            text.push_str(&format!("; asked in any case: {}", tier.require.join(", ")));
        }
        lines.push(("waits", text));
    }
    for rule in policy.strikes() {
        let of = rule.of.as_ref().map(|id| format!(" of {id}")).unwrap_or_default();
        lines.push(("strikes", format!("{}{of} lead to {}", rule.count, rule.effect)));
    }
    lines
}

/// The same for programs.
pub(super) fn as_json(policy: &Policy) -> Value {
    let routing = policy.routing();
    let tools: Vec<Value> =
        routing.tools.iter().flatten().map(|(tool, risk)| json!({"tool": tool, "risk": risk})).collect();
    let tiers: Vec<Value> = RISKS
        .iter()
        .map(|risk| {
            let tier = routing.tier(*risk);
            json!({"risk": risk, "wait_ms": tier.wait_ms, "then": tier.then, "require": tier.require})
        })
        .collect();
    let strikes = policy.strikes().iter().map(|rule| {
        json!({"count": rule.count, "of": rule.of, "effect": rule.effect, "user_message": rule.user_message})
    });
    json!({
        "tool_risks": tools, "tiers": tiers, "model_wait_ms": routing.model_wait_ms,
        "strikes": strikes.collect::<Vec<_>>(),
    })
}
