//! Redaction agrees with a naive implementation that works on whole characters.

use midrail_core::{Redaction, redact};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// First byte, one past the last, and the replacement.
type Part = (usize, usize, String);

/// The characters that each redaction touches.
fn parts(text: &str, redactions: &[Redaction]) -> Vec<Part> {
    let mut parts = Vec::new();
    for redaction in redactions {
        let (from, to) = (redaction.start.min(redaction.end), redaction.start.max(redaction.end));
        let is_touched = |start: usize, end: usize| {
            (start < to && from < end) || (from == to && start < from && from < end)
        };
        let touched: Vec<(usize, usize)> = text
            .char_indices()
            .map(|(at, c)| (at, at + c.len_utf8()))
            .filter(|(start, end)| is_touched(*start, *end))
            .collect();
        if let (Some(first), Some(last)) = (touched.first(), touched.last()) {
            parts.push((first.0, last.1, redaction.replacement.clone()));
        }
    }
    parts
}

/// Overlapping parts are merged under the replacement of the one that starts first.
fn replaced(text: &str, mut parts: Vec<Part>) -> String {
    parts.sort_by_key(|(start, end, _)| (*start, usize::MAX - *end));
    while let Some(at) = (1..parts.len()).find(|at| parts[*at].0 < parts[*at - 1].1) {
        let (_, end, _) = parts.remove(at);
        parts[at - 1].1 = parts[at - 1].1.max(end);
    }
    let mut out = text.to_owned();
    for (start, end, replacement) in parts.iter().rev() {
        out.replace_range(*start..*end, replacement);
    }
    out
}

fn texts() -> impl Strategy<Value = String> {
    select(&["my password is hunter2 é", "schöne Grüße", "hunter2: my word is hunter2 é", "x", ""][..])
        .prop_map(str::to_owned)
}

fn redactions() -> impl Strategy<Value = Vec<Redaction>> {
    let redaction = (0_usize..30, 0_usize..30, select(&["[a]", "[b]", ""][..]));
    vec(redaction.prop_map(|(start, end, with)| Redaction::new(start, end, with)), 0..4)
}

proptest! {
    #[test]
    fn text_matches_the_model(text in texts(), redactions in redactions()) {
        prop_assert_eq!(redact::apply(&text, &redactions), replaced(&text, parts(&text, &redactions)));
    }

    #[test]
    fn other_text_contains_nothing_that_is_redacted(
        own in texts(), other in texts(), redactions in redactions(),
    ) {
        let hidden: Vec<String> =
            parts(&own, &redactions).into_iter().map(|(start, end, _)| own[start..end].to_owned()).collect();
        let all = Redaction::new(0, own.len(), "*");
        let redacted = redact::apply_elsewhere(&own, &redactions, &other);
        if hidden.iter().all(|part| !other.contains(part.as_str())) {
            prop_assert_eq!(&redacted, &other);
        } else {
            // Replacements are no part of the hidden texts, so that whatever remains is the other text's own.
            let marked: Vec<Redaction> =
                redactions.iter().map(|it| Redaction { replacement: "\u{1}".to_owned(), ..it.clone() }).collect();
            let marked = redact::apply_elsewhere(&own, &marked, &other);
            prop_assert!(hidden.iter().all(|part| !marked.contains(part.as_str())), "{marked}");
        }
        if !own.is_empty() && own == other {
            prop_assert_eq!(redact::apply_elsewhere(&own, &[all], &other), "*");
        }
    }
}
