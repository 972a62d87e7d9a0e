//! Arranges the keywords for the search, when the program is compiled: a hook process lives for a few milliseconds, and
//! would spend a good part of them on it.

#![expect(
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "all of it is evaluated when the program is compiled, where what is wrong is an error"
)]

use super::generic::{self, letters};
use super::triggers::{FIRST_BITS, Keyword, Lead, MIXES, SLOTS, Triggers, class, head, mix, slot};
use super::{pem, rules};

/// A keyword, whether it counts in any case, and what it leads to.
pub(super) type Entry = (&'static str, bool, Lead);

/// All keywords.
#[expect(clippy::large_const_arrays, reason = "nothing but the constants below and the tests read it")]
pub(super) const KEYWORDS: [Entry; COUNT] = {
    let mut all = [("", false, Lead::Name); COUNT];
    let (mut to, mut index, mut theme) = (0, 0, 0);
    while theme < rules::THEMES.len() {
        let mut row = 0;
        while row < rules::THEMES[theme].len() {
            let rule = &rules::THEMES[theme][row];
            to = add(&mut all, to, rule.keywords, rule.any_case, Lead::Rule(index));
            (row, index) = (row + 1, index + 1);
        }
        theme += 1;
    }
    to = add(&mut all, to, generic::NAMES, true, Lead::Name);
    to = add(&mut all, to, pem::BEGINS, false, Lead::Pem);
    to = add(&mut all, to, &["eyJ"], false, Lead::Jwt);
    to = add(&mut all, to, &["://"], false, Lead::Address);
    to = add(&mut all, to, &[generic::insert::BEGIN], true, Lead::Insert);
    assert!(to == COUNT);
    all
};

const COUNT: usize = {
    let (mut count, mut theme) = (generic::NAMES.len() + pem::BEGINS.len() + 3, 0);
    while theme < rules::THEMES.len() {
        let mut row = 0;
        while row < rules::THEMES[theme].len() {
            count += rules::THEMES[theme][row].keywords.len();
            row += 1;
        }
        theme += 1;
    }
    count
};

const fn add(
    all: &mut [Entry; COUNT],
    mut to: usize,
    texts: &'static [&'static str],
    any_case: bool,
    lead: Lead,
) -> usize {
    let mut from = 0;
    while from < texts.len() {
        // Three bytes are looked up, and places are kept in as few bytes as can be.
        assert!(texts[from].len() >= 3 && texts[from].len() <= u8::MAX as usize);
        all[to] = (texts[from], any_case, lead);
        (from, to) = (from + 1, to + 1);
    }
    to
}

/// The bytes of all keywords, one after the other: an address of each would be put right at every start.
const LENGTH: usize = {
    let (mut length, mut at) = (0, 0);
    while at < COUNT {
        length += KEYWORDS[at].0.len();
        at += 1;
    }
    assert!(length <= u16::MAX as usize);
    length
};

/// The keywords, arranged.
pub(super) static TRIGGERS: Triggers<COUNT, LENGTH> = {
    let empty = Keyword { start: 0, length: 0, anchor: 0, any_case: false, head: (0, 0), lead: Lead::Name };
    let mut new = Triggers {
        marks: [0; MIXES],
        anchors: [0; MIXES],
        slots: [(0, 0); SLOTS],
        keywords: [empty; COUNT],
        texts: [0; LENGTH],
        longest: 0,
    };
    let mut places = [0; COUNT];
    let mut at = 0;
    while at < COUNT {
        let text = KEYWORDS[at].0.as_bytes();
        places[at] = rarest(text);
        let (_, rest) = text.split_at(places[at]);
        add_marks(&mut new, text, places[at]);
        new.slots[slot([rest[0], rest[1], rest[2]])].1 += 1;
        at += 1;
    }
    let (mut first, mut at) = (0, 0);
    while at < SLOTS {
        new.slots[at].0 = first;
        first += new.slots[at].1;
        // Counted again as they are put in.
        new.slots[at].1 = 0;
        at += 1;
    }
    // Keywords of one slot stay in the order of the table.
    let (mut start, mut at) = (0, 0);
    while at < COUNT {
        let (text, any_case, lead) = KEYWORDS[at];
        let text = text.as_bytes();
        let (_, rest) = text.split_at(places[at]);
        let slot = slot([rest[0], rest[1], rest[2]]);
        let to = (new.slots[slot].0 + new.slots[slot].1) as usize;
        new.slots[slot].1 += 1;
        new.keywords[to] = Keyword {
            start: start as u16,
            length: text.len() as u8,
            anchor: places[at] as u8,
            any_case,
            head: head(rest),
            lead,
        };
        let mut byte = 0;
        while byte < text.len() {
            new.texts[start] = text[byte];
            (byte, start) = (byte + 1, start + 1);
        }
        if text.len() > new.longest {
            new.longest = text.len();
        }
        at += 1;
    }
    new
};

/// Marks what tells of a keyword whose anchor is at a place.
const fn add_marks(new: &mut Triggers<COUNT, LENGTH>, text: &[u8], anchor: usize) {
    let (before, rest) = text.split_at(anchor);
    match *rest {
        [first, second, third] => {
            mark(&mut new.anchors, [first, second, third], None);
            mark(&mut new.marks, [first, second, third], None);
        }
        [first, second, third, fourth, ..] => {
            mark(&mut new.anchors, [first, second, third], Some(fourth));
            mark(&mut new.marks, [first, second, third], Some(fourth));
        }
        _ => {}
    }
    match (rest, before) {
        (&[_, second, third, fourth, fifth, ..], _) => {
            mark(&mut new.marks, [second, third, fourth], Some(fifth));
        }
        // Too short to be told from its second byte on: told by the byte before.
        (&[first, second, third, ..], &[.., before]) => {
            mark(&mut new.marks, [before, first, second], Some(third));
        }
        (&[_, second, third, fourth], []) => mark(&mut new.marks, [second, third, fourth], None),
        (&[first, second, third], []) => {
            let mut before = 0;
            while before <= FIRST_BITS {
                mark(&mut new.marks, [before, first, second], Some(third));
                before += 1;
            }
        }
        _ => {}
    }
}

/// Sets the mark of three bytes and the class of the fourth; of all classes, where it may be any.
const fn mark(marks: &mut [u8; MIXES], bytes: [u8; 3], next: Option<u8>) {
    let [first, second, third] = bytes;
    let mixed = mix(u16::from_le_bytes([first, second]), u16::from_le_bytes([third, 0]));
    marks[mixed as usize] |= match next {
        None => u8::MAX,
        Some(byte) => class(byte),
    };
}

/// The place of the bytes of a keyword that everyday texts have least of.
pub(super) const fn rarest(keyword: &[u8]) -> usize {
    let length = if keyword.len() < 4 { 3 } else { 4 };
    let (mut best, mut best_rarity, mut place) = (0, 0, 0);
    while place + length <= keyword.len() {
        let (mut rarity, mut at) = (0, place);
        while at + 1 < place + length {
            rarity += pair_rarity(keyword[at], keyword[at + 1]);
            at += 1;
        }
        // Of several, the first.
        if rarity > best_rarity {
            (best, best_rarity) = (place, rarity);
        }
        place += 1;
    }
    best
}

/// How rare a pair of bytes is.
const fn pair_rarity(first: u8, second: u8) -> u32 {
    // A space is the edge of a word, and as common as the letter beside it is there.
    match is_of_words(first) && is_of_words(second) {
        true => letters::pair_cost([first, second]),
        false => 14,
    }
}

const fn is_of_words(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b' '
}
