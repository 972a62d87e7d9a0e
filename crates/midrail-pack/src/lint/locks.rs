//! Overlapping locks, and copies of locked guardrails.

use std::collections::BTreeMap;

use crate::diagnostic::DiagnosticLevel;
use crate::issue::Issue;
use crate::lint::linter::{Findings, Found, Packs};

/// Guardrails that a higher layer locks.
pub(super) fn overlapping(packs: &Packs<'_>, out: &mut Findings<'_>) {
    let mut locked: BTreeMap<&str, Vec<&Found<'_>>> = BTreeMap::new();
    for found in packs.guards.iter().filter(|found| found.guard.locked) {
        locked.entry(found.id()).or_default().push(found);
    }
    for lower in &packs.guards {
        let Some((layer, document)) = packs.documents.get(lower.document) else { continue };
        let candidates = locked.get(lower.id()).into_iter().flatten();
        let above = candidates.filter_map(|upper| Some((*upper, packs.documents.get(upper.document)?)));
        let Some((upper, (holder_layer, holder))) = above.into_iter().find(|(_, (above, _))| above < layer)
        else {
            continue;
        };
        let by = format!("the {} pack `{}`", holder_layer.as_str(), holder.pack.pack);
        let is_same = upper.guard.guard == lower.guard.guard
            && upper.guard.agent == lower.guard.agent
            && holder.pack.defaults == document.pack.defaults;
        let both = "both apply; give this one its own `id`, or leave it to that pack";
        let id = lower.id();
        let (code, severity, message, help) = if is_same {
            let help = "leave it out: it is enforced and locked anyway";
            ("repeats-locked", DiagnosticLevel::Note, format!("`{id}` repeats {by} word for word"), help)
        } else if lower.guard.locked {
            let message = format!("`{id}` is locked twice: {by} locks it, too");
            ("overlapping-lock", DiagnosticLevel::Warning, message, both)
        } else {
            let message = format!("`{id}` is locked by {by}, and stays in force");
            ("redefines-locked", DiagnosticLevel::Note, message, both)
        };
        out.redefined.insert((lower.document, lower.guard.at.clone()));
        out.add(code, severity, lower.document, Issue::new(&lower.guard.at, message).help(help));
    }
}
