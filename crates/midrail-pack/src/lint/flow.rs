//! Labels that no rule uses.

use crate::issue::Issue;
use crate::lint::linter::{Findings, Packs};

/// Reports `labels` in packs without a `flow` rule: nothing is recorded then.
pub(super) fn unused_labels(packs: &Packs<'_>, out: &mut Findings<'_>) {
    if packs.guards.iter().any(|found| found.guard.guard.flow.is_some() && found.guard.enabled) {
        return;
    }
    for (at, _) in packs.iter().filter(|(_, document)| !document.pack.labels.is_empty()) {
        let issue = Issue::new("/labels", "no `flow` rule uses these labels, so they have no effect").help(
            "add a guardrail such as `{id: named, flow: {after: untrusted, does: send, unless: named}}`",
        );
        out.warn("labels-unused", at, issue);
    }
}
