//! The families of attacks, compiled from `data/injection/families.toml`.

use std::ops::Range;

use midrail_core::{Confidence, Hit, Severity};

/// A family of attacks. Families are ordered as in the data.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Family {
    order: u8,
    pub(super) kind: &'static str,
    /// The code of the intent in verdicts.
    code: &'static str,
    severity: Severity,
    explanation: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/injection_families.rs"));

impl Family {
    /// A hit of the family.
    pub(super) fn hit(&self, span: Range<usize>, confidence: Confidence) -> Hit {
        Hit {
            severity: self.severity,
            confidence,
            ..Hit::new(self.kind, span.start, span.end, self.explanation)
        }
    }
}

/// Returns the code of the intent of a kind of hit: `JAILBREAK_FAKE_TAG` for `fake-tag`. An unknown kind counts as an override.
pub fn intent_code(kind: &str) -> &'static str {
    FAMILIES.iter().find(|family| family.kind == kind).map_or(INSTRUCTION_OVERRIDE.code, |family| family.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_an_intent() {
        let mut codes: Vec<&str> = FAMILIES.iter().map(|family| intent_code(family.kind)).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), 11);
        for family in FAMILIES {
            assert_eq!(intent_code(family.kind), family.code);
        }
        assert_eq!(intent_code("statistical"), "JAILBREAK_STATISTICAL");
    }
}
