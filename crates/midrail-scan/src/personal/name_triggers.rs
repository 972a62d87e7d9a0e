//! Titles, greetings, signatures and keys that are right before names.

use super::data::{TRIGGER_STARTS, TRIGGERS};
use crate::word_sign::three_number;

/// What has to follow a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// One capitalised word is enough.
    OneWord,
    /// Two capitalised words.
    TwoWords,
    /// A common given name.
    GivenName,
    /// A common given name and another word.
    FullName,
}

/// Whether a name may begin with a byte behind another one. Some other pairs of bytes are not excluded.
#[inline(always)]
pub(super) fn may_begin(before: u8, first: u8) -> bool {
    // The capitals of other scripts begin with a higher byte than these.
    (before <= b'\'') & (first.is_ascii_uppercase() | (first >= 0xc3))
}

/// The longest trigger that ends at a place.
pub(super) fn before(text: &[u8], place: usize) -> Option<(&'static str, Then)> {
    let before = text.get(..place)?;
    let number = three_number(*before.last_chunk()?);
    let (start, end) = (TRIGGER_STARTS.get(number)?, TRIGGER_STARTS.get(number + 1)?);
    let triggers = TRIGGERS.get(usize::from(*start)..usize::from(*end))?;
    triggers.iter().find(|(trigger, _)| before.ends_with(trigger.as_bytes())).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::{byte, byte_before};
    use aho_corasick::{AhoCorasick, MatchKind};
    use proptest::prelude::*;

    #[test]
    fn every_trigger_is_found() {
        for (trigger, then) in TRIGGERS {
            assert!(may_begin(*trigger.as_bytes().last().unwrap(), b'A'), "{trigger:?}");
            assert_eq!(before(trigger.as_bytes(), trigger.len()), Some((*trigger, *then)));
        }
    }

    /// Triggers, parts of them, and other texts.
    fn random_text() -> impl Strategy<Value = String> {
        let all: Vec<&str> = TRIGGERS.iter().map(|(trigger, _)| *trigger).collect();
        let part = (proptest::sample::select(all.clone()), 0_usize..6)
            .prop_map(|(trigger, skipped)| trigger.chars().skip(skipped).collect::<String>());
        let piece = prop_oneof![
            3 => proptest::sample::select(all).prop_map(str::to_owned),
            2 => part,
            2 => "[ -~\n]{0,5}",
            1 => "[a-z ]{0,80}",
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn quick_search_finds_what_an_automaton_finds(text in random_text()) {
            let all = TRIGGERS.iter().map(|(trigger, _)| trigger);
            let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(all).unwrap();
            let bytes = text.as_bytes();
            let is_name = |at: usize| may_begin(byte_before(bytes, at), byte(bytes, at));
            let plain: Vec<(usize, &str)> = automaton
                .find_iter(&text)
                .filter(|found| is_name(found.end()))
                .map(|found| (found.end(), &text[found.range()]))
                .collect();
            let quick: Vec<(usize, &str)> = (0..bytes.len())
                .filter(|at| is_name(*at))
                .filter_map(|at| Some((at, before(bytes, at)?.0)))
                .collect();
            prop_assert_eq!(quick, plain);
        }
    }
}
