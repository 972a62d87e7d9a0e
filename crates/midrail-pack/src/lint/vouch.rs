//! `vouch`, which no decision reads yet.

use crate::diagnostic::DiagnosticLevel;
use crate::issue::Issue;
use crate::lint::linter::{Findings, Packs};

/// Reports every `vouch` as not in effect.
pub(super) fn not_in_effect(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for (at, document) in packs.iter().filter(|(_, document)| document.pack.vouch.is_some()) {
        let issue = Issue::new("/vouch", format!("`vouch` of `{}` is not in effect yet", document.pack.pack))
            .help("the coding agent asks as before; keep its own permission rules");
        out.add("vouch-not-in-effect", DiagnosticLevel::Note, at, issue);
    }
}
