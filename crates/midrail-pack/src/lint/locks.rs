//! Locks that overlap, and copies of what is locked anyway.

use std::collections::BTreeMap;

use super::{DiagnosticLevel, Found, Issue, Linter};
use crate::layers::Layer;

/// Guardrails that a higher layer locks already.
pub(super) fn overlapping(linter: &mut Linter<'_>) {
    let layer = |it: &Found<'_>| linter.documents.get(it.document).map(|(layer, _)| *layer);
    let pack = |it: &Found<'_>| linter.documents.get(it.document).map(|(_, document)| &document.pack);
    let mut locked: BTreeMap<&str, Vec<&Found<'_>>> = BTreeMap::new();
    for it in linter.guards.iter().filter(|it| it.guard.locked) {
        locked.entry(it.id()).or_default().push(it);
    }
    let mut found = Vec::new();
    for lower in &linter.guards {
        let above = locked.get(lower.id()).into_iter().flatten();
        let Some(upper) = above.copied().find(|upper| layer(upper) < layer(lower)) else { continue };
        let by = format!(
            "the {} pack `{}`",
            layer(upper).map(Layer::word).unwrap_or_default(),
            pack(upper).map(|pack| pack.pack.as_str()).unwrap_or_default()
        );
        let settings = |it: &Found<'_>| pack(it).map(|pack| pack.defaults.clone());
        let is_same = upper.guard.guard == lower.guard.guard
            && upper.guard.agent == lower.guard.agent
            && settings(upper) == settings(lower);
        let (code, severity, message) = if is_same {
            ("repeats-locked", DiagnosticLevel::Note, format!("`{}` repeats {by} word for word", lower.id()))
        } else if lower.guard.locked {
            let message = format!("`{}` is locked twice: {by} locks it too", lower.id());
            ("overlapping-lock", DiagnosticLevel::Warning, message)
        } else {
            (
                "redefines-locked",
                DiagnosticLevel::Note,
                format!("`{}` is locked by {by}, and stays in force", lower.id()),
            )
        };
        let help = if is_same {
            "leave it out: it is in force and locked anyway"
        } else {
            "both apply; give this one an `id` of its own, or leave it to that pack"
        };
        found.push((code, severity, lower.document, Issue::new(&lower.guard.at, message).help(help)));
    }
    for (code, severity, document, issue) in found {
        linter.redefined.insert((document, issue.at.clone()));
        linter.found(code, severity, document, issue);
    }
}
