//! Deep guardrails whose answers are always late, and required guardrails without effect.

use midrail_core::{Effect, EventKind, Mode, Risk, Spec};
use midrail_guardrails::DeepSettings;

use crate::compile::routing;
use crate::issue::Issue;
use crate::layers::{Merged, Placed};
use crate::lint::linter::{Findings, Packs};
use crate::raw::RiskRouter;

/// Tools of high risk whose calls neither wait for deep guardrails nor stop.
pub(super) fn never_judged(packs: &Packs<'_>, out: &mut Findings<'_>, merged: &Merged<'_>) {
    // As in the policy: higher layers first.
    let mut packs: Vec<_> = packs.documents.iter().enumerate().collect();
    packs.sort_by_key(|(_, (layer, _))| *layer);
    let whole = routing(packs.iter().map(|(_, (_, document))| &document.pack));
    for (risk, names) in [
        (Risk::High, &["high_risk_wait_ms"][..]),
        (Risk::Critical, &["critical_risk_wait_ms", "high_risk_wait_ms"][..]),
    ] {
        let tier = whole.tier(risk);
        let comes_late = |placed: &&Placed<'_>| {
            let is_required = tier.require.iter().any(|id| **id == *placed.guard.entry.spec.id);
            placed.guard.enabled && comes_late(placed, is_required)
        };
        if tier.wait_ms > 0
            || tier.on_timeout != Effect::Allow
            || !merged.guards.iter().any(|it| comes_late(&it))
        {
            continue;
        }
        let setting = names.iter().find_map(|name| {
            let has = |router: &RiskRouter| match *name {
                "high_risk_wait_ms" => router.high_risk_wait_ms.is_some(),
                _ => router.critical_risk_wait_ms.is_some(),
            };
            let (at, _) = packs.iter().find(|(_, (_, document))| has(&document.pack.risk_router))?;
            Some((*at, *name))
        });
        let Some((at, key)) = setting else { continue };
        let word = risk.as_str();
        let message = format!(
            "calls of {word} risk do not wait and are allowed: the answers of deep guardrails are late for all of them"
        );
        let help = format!("set a wait time, or set `on_timeout: {{{word}: escalate}}`");
        out.warn("answers-always-late", at, Issue::new(format!("/risk_router/{key}"), message).help(help));
    }
}

/// Whether a guardrail calls an external service about calls, and calls do not wait for it.
fn comes_late(placed: &Placed<'_>, is_required: bool) -> bool {
    let entry = &placed.guard.entry;
    let is_call = |kind: &EventKind| matches!(kind, EventKind::BeforeTool | EventKind::AfterTool);
    let settings =
        entry.guardrail.external_request().and_then(|settings| settings.downcast::<DeepSettings>().ok());
    (is_required || entry.spec.on.iter().any(is_call)) && settings.is_some_and(|deep| !deep.required)
}

/// Required guardrails that stop nothing, or do not apply to all calls: `require` adds events and tools, and does not
/// change a guardrail otherwise.
pub(super) fn ineffective(packs: &Packs<'_>, out: &mut Findings<'_>, merged: &Merged<'_>) {
    for (at, document) in packs.iter() {
        for (risk, ids) in &document.pack.risk_router.require {
            for (i, id) in ids.iter().enumerate() {
                let is_required = |placed: &&Placed<'_>| *placed.guard.entry.spec.id == **id;
                let Some(placed) = merged.guards.iter().find(is_required) else { continue };
                let place = format!("/risk_router/require/{}/{i}", risk.as_str());
                for (code, message, help) in reasons(id, risk.as_str(), placed) {
                    out.warn(code, at, Issue::new(&place, message).help(help));
                }
            }
        }
    }
}

/// Why a required guardrail has no effect: code, message and help.
fn reasons(id: &str, risk: &str, placed: &Placed<'_>) -> Vec<(&'static str, String, &'static str)> {
    let spec = &placed.guard.entry.spec;
    let mut reasons = Vec::new();
    if spec.mode == Mode::Shadow {
        let message =
            format!("`{id}` is required for calls of {risk} risk and in shadow mode: it stops nothing");
        reasons.push(("required-but-shadow", message, "enforce it, or remove it from `require`"));
    }
    if spec.effect == Some(Effect::Allow) {
        let message =
            format!("`{id}` is required for calls of {risk} risk, and its violations allow the call");
        reasons.push(("required-but-allows", message, "give it an `effect` of `warn` or above"));
    }
    if let Some(by) = restricted_by(placed, spec) {
        let message = format!("`{id}` is required for calls of {risk} risk, but restricted by its {by}");
        let help = "`require` adds events and tools only; require a guardrail without this restriction";
        reasons.push(("required-but-narrow", message, help));
    }
    reasons
}

/// The setting that restricts a guardrail to some calls.
fn restricted_by(placed: &Placed<'_>, spec: &Spec) -> Option<&'static str> {
    match spec {
        _ if placed.guard.guard.when.is_some() => Some("`when`"),
        spec if !spec.agents.is_empty() => Some("`agents`"),
        spec if !spec.tasks.is_empty() => Some("`tasks`"),
        _ if placed.guard.agent.is_some() => Some("definition"),
        Spec { from_risk: Some(_), .. } => Some("`from_risk`"),
        _ => None,
    }
}
