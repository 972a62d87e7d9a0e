//! The origin of the guardrails of a policy: their packs, places and raw forms.

use crate::document::PackDocument;
use crate::layers::{Layer, Merged, members};
use crate::raw::Guard;

/// A guardrail of a policy, and its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct GuardrailPlacement {
    /// Its id in the policy.
    pub id: String,
    /// The index of its document.
    pub document: usize,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// Its raw form.
    pub guard: Guard,
    /// The definition that it belongs to.
    pub agent: Option<String>,
    /// Whether lower layers cannot loosen it.
    pub locked: bool,
    /// Whether it is enabled.
    pub enabled: bool,
}

/// The guardrails of packs with their places, without replaced ones and without always-on built-ins that no pack contains.
pub fn locate_guardrails(documents: &[(Layer, PackDocument)]) -> Vec<GuardrailPlacement> {
    let mut merged = Merged::default();
    // Packs that contradict each other are reported when their policy is compiled.
    let _ = merged.add_all(members(documents));
    let placements = merged.guards.iter().filter_map(|placed| {
        let (_, document) = documents.get(placed.member)?;
        let (line, column) = document.position(&placed.guard.at);
        Some(GuardrailPlacement {
            id: placed.guard.entry.spec.id.to_string(),
            document: placed.member,
            line,
            column,
            guard: placed.guard.guard.clone(),
            agent: placed.guard.agent.map(|(name, _)| name.to_owned()),
            locked: placed.guard.locked,
            enabled: placed.guard.enabled,
        })
    });
    placements.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guardrails_have_their_places() {
        let text = "pack: a\nlock: true\nguardrails:\n  - read_before_write\n  - id: mine\n    enabled: false\n    tools: x\n";
        let documents = PackDocument::read("a.yaml", text, None).unwrap();
        let documents: Vec<_> = documents.into_iter().map(|document| (Layer::Project, document)).collect();
        let found: Vec<_> = locate_guardrails(&documents)
            .into_iter()
            .map(|it| (it.id, it.line, it.column, it.locked, it.enabled))
            .collect();
        let expected =
            [("read_before_write".to_owned(), 4, 5, true, true), ("mine".to_owned(), 5, 5, true, false)];
        assert_eq!(found, expected);
    }
}
