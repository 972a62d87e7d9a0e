//! Guardrails that replace those of the default pack and protect less.

use crate::issue::Issue;
use crate::layers::{Layer, Merged};
use crate::lint::linter::{Findings, Packs};
use crate::narrowing::{is_same_kind, losses};

/// Guardrails with the id of one of the default pack that protect less, unless another one protects as much.
pub(super) fn defaults(packs: &Packs<'_>, out: &mut Findings<'_>, merged: &Merged<'_>) {
    let is_default = |at: usize| {
        packs.documents.get(at).is_some_and(|(layer, document)| {
            *layer == Layer::Default || (document.base_of.is_some() && document.pack.pack == "default")
        })
    };
    let (defaults, others): (Vec<_>, Vec<_>) =
        packs.guards.iter().partition(|found| is_default(found.document));
    for own in others.into_iter().filter(|found| found.guard.enabled) {
        let Some(default) = defaults.iter().find(|default| default.id() == own.id()) else { continue };
        let lost = losses(&default.guard, &own.guard);
        let protects = |placed: &crate::layers::Placed<'_>| {
            is_same_kind(&default.guard, &placed.guard) && losses(&default.guard, &placed.guard).is_empty()
        };
        if lost.is_empty() || merged.guards.iter().any(protects) {
            continue;
        }
        let label = midrail_guardrails::label(own.id());
        let message =
            format!("{label} replaces the one of the default pack and protects less: {}", lost.join("; "));
        let help = "give this one an `id` of its own, next to `use`, so that both apply";
        out.warn("narrows-default", own.document, Issue::new(&own.guard.at, message).help(help));
    }
}
