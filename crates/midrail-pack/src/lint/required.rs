//! What is said of the risks of tools, and hardly meant: deep guardrails that come too late for every call, and ones that
//! are required in vain.

use midrail_core::{Effect, EventKind, Mode, Risk, Spec};
use midrail_guardrails::DeepSettings;

use super::{DiagnosticLevel, Issue, Linter};
use crate::compile::routing;
use crate::layers::{Merged, Placed};
use crate::raw::RiskRouter;

/// Tools of great risk that nobody waits for and that go on all the same.
pub(super) fn never_judged(linter: &mut Linter<'_>, merged: &Merged<'_>) {
    // As in the policy: a higher layer has the say.
    let mut packs: Vec<_> = linter.documents.iter().enumerate().collect();
    packs.sort_by_key(|(_, (layer, _))| *layer);
    let whole = routing(packs.iter().map(|(_, (_, document))| &document.pack));
    let mut found = Vec::new();
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
        let said = names.iter().find_map(|name| {
            let says = |router: &RiskRouter| match *name {
                "high_risk_wait_ms" => router.high_risk_wait_ms.is_some(),
                _ => router.critical_risk_wait_ms.is_some(),
            };
            let (at, _) = packs.iter().find(|(_, (_, document))| says(&document.pack.risk_router))?;
            Some((*at, *name))
        });
        let Some((at, key)) = said else { continue };
        let word = risk.as_str();
        let message = format!(
            "calls of {word} risk wait for nobody and go on: what deep guardrails say comes too late for every one of them"
        );
        let help = format!("give them time, or set `on_timeout: {{{word}: escalate}}`");
        found.push((at, Issue::new(format!("/risk_router/{key}"), message).help(help)));
    }
    for (document, issue) in found {
        linter.found("never-judged", DiagnosticLevel::Warning, document, issue);
    }
}

/// Whether a guardrail asks somebody about calls, and calls do not wait for it by themselves.
fn comes_late(placed: &Placed<'_>, is_required: bool) -> bool {
    let entry = &placed.guard.entry;
    let is_of_calls = |kind: &EventKind| matches!(kind, EventKind::BeforeTool | EventKind::AfterTool);
    let settings =
        entry.guardrail.external_request().and_then(|settings| settings.downcast::<DeepSettings>().ok());
    (is_required || entry.spec.on.iter().any(is_of_calls)) && settings.is_some_and(|deep| !deep.required)
}

/// Guardrails that are required and that stop nothing, or are not asked about all of it: `require` adds to when a guardrail
/// is asked, and changes nothing of what it is.
pub(super) fn in_vain(linter: &mut Linter<'_>, merged: &Merged<'_>) {
    let mut found = Vec::new();
    for (at, document) in linter.packs() {
        for (risk, ids) in &document.pack.risk_router.require {
            for (i, id) in ids.iter().enumerate() {
                let is_meant = |placed: &&Placed<'_>| *placed.guard.entry.spec.id == **id;
                let Some(placed) = merged.guards.iter().find(is_meant) else { continue };
                let place = format!("/risk_router/require/{}/{i}", risk.as_str());
                let told = told(id, risk.as_str(), placed);
                found.extend(
                    told.into_iter().map(|(code, message, help)| {
                        (at, code, Issue::new(place.clone(), message).help(help))
                    }),
                );
            }
        }
    }
    for (document, code, issue) in found {
        linter.found(code, DiagnosticLevel::Warning, document, issue);
    }
}

fn told(id: &str, risk: &str, placed: &Placed<'_>) -> Vec<(&'static str, String, &'static str)> {
    let spec = &placed.guard.entry.spec;
    let mut told = Vec::new();
    if spec.mode == Mode::Shadow {
        let message =
            format!("`{id}` is required for calls of {risk} risk and in shadow mode: it stops nothing");
        told.push(("required-but-shadow", message, "enforce it, or take it out of `require`"));
    }
    if spec.effect == Some(Effect::Allow) {
        let message =
            format!("`{id}` is required for calls of {risk} risk, and its objection allows the call");
        told.push(("required-but-allows", message, "give it an `effect` from `warn` on"));
    }
    if let Some(by) = narrowed_by(placed, spec) {
        let message = format!("`{id}` is required for calls of {risk} risk, but asked only as its {by} says");
        let help =
            "`require` adds events and tools, and leaves that as it is; require one that applies to all";
        told.push(("required-but-narrow", message, help));
    }
    told
}

/// What of a guardrail's own words keeps it from being asked about some calls.
fn narrowed_by(placed: &Placed<'_>, spec: &Spec) -> Option<&'static str> {
    match spec {
        _ if placed.guard.guard.when.is_some() => Some("`when`"),
        spec if !spec.agents.is_empty() => Some("`agents`"),
        spec if !spec.tasks.is_empty() => Some("`tasks`"),
        _ if placed.guard.agent.is_some() => Some("definition"),
        Spec { from_risk: Some(_), .. } => Some("`from_risk`"),
        _ => None,
    }
}
