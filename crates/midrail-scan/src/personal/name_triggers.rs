//! Finds titles, greetings, signatures and keys before names in one pass.

use memchr::memmem;

use super::data::{
    BEFORE_TRIGGER_SIGN, TRIGGER_CAPITALS, TRIGGERS, TRIGGERS_WITH_SIGN, TRIGGERS_WITHOUT_SIGN,
};
use crate::byte_masks::each_place;
use crate::bytes::{byte, byte_before};

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

/// The longest trigger, in bytes.
pub(super) const LONGEST_TRIGGER: usize = 16;

/// The triggers of a text, in order and without overlap: where each begins, and the longest one that begins there.
pub(super) fn find(text: &[u8]) -> Vec<(usize, &'static str, Then)> {
    let mut places = Vec::new();
    let is_in = |set: u128, byte: u8| byte.is_ascii() && set >> byte & 1 == 1;
    let is_sign = |byte: u8| (byte == b':') | (byte == b'=') | (byte == b',');
    // Triggers begin with a capital, or have a sign, by which they are found, or are rare.
    let is_found_by = |byte: u8| byte.is_ascii_uppercase() | is_sign(byte);
    each_place(text, is_found_by, |place| {
        let first = byte(text, place);
        if !is_sign(first) {
            let capitals = TRIGGER_CAPITALS.get(usize::from(first.wrapping_sub(b'A'))).copied();
            if is_in(capitals.unwrap_or(0), byte(text, place + 1)) {
                places.push(place);
            }
            return;
        }
        let (second, last) = (byte_before(text, place.saturating_sub(1)), byte_before(text, place));
        let lasts = BEFORE_TRIGGER_SIGN.get(usize::from(second & 31)).copied().unwrap_or(0);
        if lasts >> (last & 31) & 1 == 0 {
            return;
        }
        for (length, end, trigger) in TRIGGERS_WITH_SIGN {
            let start = place.checked_sub(*length);
            let rest = start.and_then(|start| text.get(start..));
            if *end == [second, last, first] && rest.is_some_and(|rest| rest.starts_with(trigger.as_bytes()))
            {
                places.extend(start);
            }
        }
    });
    for trigger in TRIGGERS_WITHOUT_SIGN {
        places.extend(memmem::find_iter(text, trigger.as_bytes()));
    }
    places.sort_unstable();
    places.dedup();
    let mut end = 0;
    let mut found = Vec::new();
    for place in places {
        if place < end {
            continue;
        }
        let rest = text.get(place..).unwrap_or_default();
        let mut longest: Option<(&str, Then)> = None;
        for (trigger, then) in TRIGGERS {
            if trigger.as_bytes().first() == rest.first()
                && trigger.len() > longest.map_or(0, |(longest, _)| longest.len())
                && rest.starts_with(trigger.as_bytes())
            {
                longest = Some((trigger, *then));
            }
        }
        if let Some((trigger, then)) = longest {
            end = place + trigger.len();
            found.push((place, trigger, then));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use aho_corasick::{AhoCorasick, MatchKind};
    use proptest::prelude::*;

    #[test]
    fn triggers_have_three_to_sixteen_bytes() {
        assert!(TRIGGERS.iter().all(|(trigger, _)| (3..=LONGEST_TRIGGER).contains(&trigger.len())));
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
            let plain: Vec<(usize, &str)> =
                automaton.find_iter(&text).map(|found| (found.start(), &text[found.range()])).collect();
            let quick: Vec<(usize, &str)> =
                find(text.as_bytes()).into_iter().map(|(place, trigger, _)| (place, trigger)).collect();
            prop_assert_eq!(quick, plain);
        }
    }
}
