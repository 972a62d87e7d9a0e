//! Where a text is worth a look: the places of all keywords, found in one pass.
//!
//! Some bytes of each keyword, the rarest ones, are its anchor. A small table tells for three bytes of the text, and a
//! hint of the fourth, whether an anchor may lie there; most of a text is passed over by that alone. Only every second
//! place is looked up: what begins at the places between is found by its second byte, or by the byte before it.

use super::arrange;

/// What a keyword leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    /// A row of the table, by its index.
    Rule(usize),
    /// A name that something secret may be assigned to.
    Name,
    /// A private key.
    Pem,
    /// A JSON web token.
    Jwt,
    /// An address that may hold a password.
    Address,
    /// Rows of a table.
    Insert,
}

/// A keyword, arranged.
#[derive(Clone, Copy)]
pub(super) struct Keyword {
    /// Where it begins among the bytes of all keywords, and how long it is.
    pub(super) start: u16,
    pub(super) length: u8,
    pub(super) anchor: u8,
    pub(super) any_case: bool,
    /// The first four bytes of the anchor, folded, and which of their bits count.
    pub(super) head: (u32, u32),
    pub(super) lead: Lead,
}

/// How many different mixes of three bytes there are.
pub(super) const MIXES: usize = 1 << u16::BITS;

pub(super) const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 14;

/// How many bytes are looked up together.
const BLOCK: usize = 64;

/// The bits of the first of three bytes that count. They are few, so that a byte that may be any takes few marks.
pub(super) const FIRST_BITS: u8 = 31;

/// The keywords, arranged for the search.
pub(super) struct Triggers<const COUNT: usize, const LENGTH: usize> {
    /// For each mix of three bytes a bit for each class of fourth bytes, set where an anchor lies at these bytes, or one
    /// place before or after.
    pub(super) marks: [u8; MIXES],
    /// The same for anchors at these bytes alone.
    pub(super) anchors: [u8; MIXES],
    /// For each slot the keywords whose anchor falls into it: the first, and how many.
    pub(super) slots: [(u16, u16); SLOTS],
    pub(super) keywords: [Keyword; COUNT],
    /// The bytes of all keywords.
    pub(super) texts: [u8; LENGTH],
    /// The length of the longest keyword.
    pub(super) longest: usize,
}

/// The length of the longest keyword.
pub(super) fn longest() -> usize {
    arrange::TRIGGERS.longest
}

/// Tells the keywords of a text, in the order of their anchors: places of the anchor and of the keyword, its length, and
/// where it leads. Anchors from `from` to before `upto` count. Ends when the visitor says so.
pub(super) fn find(
    text: &[u8],
    from: usize,
    upto: usize,
    visit: impl FnMut(usize, usize, usize, Lead) -> bool,
) {
    arrange::TRIGGERS.find(text, from, upto, visit);
}

impl<const COUNT: usize, const LENGTH: usize> Triggers<COUNT, LENGTH> {
    fn find(
        &self,
        text: &[u8],
        from: usize,
        upto: usize,
        mut visit: impl FnMut(usize, usize, usize, Lead) -> bool,
    ) {
        // Anchors before this place are dealt with.
        let (mut done, mut at) = (from, from);
        while let Some(block) = text.get(at..).and_then(|rest| rest.first_chunk())
            && at < upto
        {
            let mut marked = marked(&self.marks, block);
            while marked != 0 {
                let place = at + 2 * usize::try_from(marked.trailing_zeros()).unwrap_or(0);
                marked &= marked - 1;
                for anchor in done.max(place.saturating_sub(1))..upto.min(place + 2) {
                    if self.may_be_at(text, anchor) && !self.at_anchor(text, anchor, &mut visit) {
                        return;
                    }
                }
                done = place + 2;
            }
            at += BLOCK;
        }
        // The last bytes are too few for a block, and what begins right before them is told by them.
        for anchor in done.max(at.saturating_sub(1))..upto.min(text.len()) {
            if self.may_be_at(text, anchor) && !self.at_anchor(text, anchor, &mut visit) {
                return;
            }
        }
    }

    /// False where surely no anchor lies at a place.
    fn may_be_at(&self, text: &[u8], place: usize) -> bool {
        let four = text.get(place..).and_then(|rest| rest.first_chunk());
        four.is_none_or(|&[first, second, third, fourth]| {
            let mixed = mix(u16::from_le_bytes([first, second]), u16::from_le_bytes([third, fourth]));
            is_marked(&self.anchors, mixed, fourth) == 1
        })
    }

    #[inline(never)]
    fn at_anchor(
        &self,
        text: &[u8],
        place: usize,
        visit: &mut impl FnMut(usize, usize, usize, Lead) -> bool,
    ) -> bool {
        let rest = text.get(place..).unwrap_or_default();
        let Some(anchor) = rest.first_chunk::<3>() else { return true };
        let Some(&(first, count)) = self.slots.get(slot(*anchor)) else { return true };
        let first = usize::from(first);
        let Some(keywords) = self.keywords.get(first..first + usize::from(count)) else { return true };
        let (here, _) = head(rest);
        for keyword in keywords {
            let (wanted, mask) = keyword.head;
            if here & mask != wanted {
                continue;
            }
            let Some(start) = place.checked_sub(usize::from(keyword.anchor)) else { continue };
            let (from, length) = (usize::from(keyword.start), usize::from(keyword.length));
            let Some(wanted) = self.texts.get(from..from + length) else { continue };
            let Some(found) = text.get(start..start + length) else { continue };
            // As it is written in the table, in most texts.
            let same = found == wanted || keyword.any_case && found.eq_ignore_ascii_case(wanted);
            if same && !visit(place, start, length, keyword.lead) {
                return false;
            }
        }
        true
    }
}

/// Looks up every second place of a block, and sets a bit for each that is marked.
///
/// There is no branch in it: which places are marked cannot be foretold.
fn marked(marks: &[u8; MIXES], block: &[u8; BLOCK + 2]) -> u32 {
    let ((here, _), (behind, _)) = (block.as_chunks(), block.split_at(2).1.as_chunks());
    // By themselves, so that a compiler makes many at once.
    let mut mixed = [0; BLOCK / 2];
    for ((mixed, here), behind) in mixed.iter_mut().zip(here).zip(behind) {
        *mixed = mix(u16::from_le_bytes(*here), u16::from_le_bytes(*behind));
    }
    let places = mixed.iter().zip(behind).rev();
    places.fold(0, |bits, (mixed, [_, fourth])| bits << 1 | is_marked(marks, *mixed, *fourth))
}

/// One where four bytes are marked, else zero.
#[inline(always)]
fn is_marked(marks: &[u8; MIXES], mixed: u16, fourth: u8) -> u32 {
    // A shift by a number that is not known takes longer than a look at a table.
    static CLASSES: [u8; 256] = {
        let mut classes = [0; 256];
        let (mut left, mut byte): (&mut [u8], u8) = (&mut classes, 0);
        while let [of_byte, rest @ ..] = left {
            *of_byte = class(byte);
            byte = byte.wrapping_add(1);
            left = rest;
        }
        classes
    };
    let marks = marks.get(usize::from(mixed)).copied().unwrap_or(0);
    u32::from(marks & CLASSES.get(usize::from(fourth)).copied().unwrap_or(0) != 0)
}

/// The bit of the class that a fourth byte is in, the same for both cases of a letter.
pub(super) const fn class(fourth: u8) -> u8 {
    1 << (fourth & 7)
}

/// The first four bytes of a text, or three, with both cases of a letter made one; and a mask of those that there are.
pub(super) const fn head(text: &[u8]) -> (u32, u32) {
    let (bytes, mask) = match text {
        [first, second, third, fourth, ..] => ([*first, *second, *third, *fourth], 0xffff_ffff),
        [first, second, third] => ([*first, *second, *third, 0], 0x00ff_ffff),
        _ => ([0; 4], 0),
    };
    ((u32::from_le_bytes(bytes) | 0x2020_2020) & mask, mask)
}

pub(super) const fn slot(bytes: [u8; 3]) -> usize {
    let [first, second, third] = bytes;
    slot_of(mix(u16::from_le_bytes([first, second]), u16::from_le_bytes([third, 0])))
}

/// Mixes the first three of four bytes, the same for both cases of a letter.
#[inline(always)]
pub(super) const fn mix(pair: u16, next: u16) -> u16 {
    let pair = pair & u16::from_le_bytes([FIRST_BITS, 0xdf]);
    let third = next & u16::from_le_bytes([0xdf, 0]);
    // Of fifteen hundred pairs of factors, those that mark fewest places of source code, documents and logs in vain.
    pair.wrapping_mul(0x6C39) ^ third.wrapping_mul(0xF2A1)
}

/// The slot of mixed bytes. The upper bits of a product are the well-mixed ones.
#[inline(always)]
#[expect(
    clippy::as_conversions,
    reason = "no conversion but this is possible in a constant, and it makes the number wider"
)]
const fn slot_of(mixed: u16) -> usize {
    (mixed >> (u16::BITS - SLOT_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::super::arrange::rarest;
    use super::*;
    use proptest::prelude::*;

    type Found = Vec<(usize, usize, usize, Lead)>;

    /// What a search tells that tries each keyword at each place.
    fn plain(text: &[u8], from: usize, upto: usize) -> Found {
        let mut found = Vec::new();
        let keywords: Vec<(&[u8], usize, bool, Lead)> = arrange::KEYWORDS
            .into_iter()
            .map(|(text, any_case, lead)| (text.as_bytes(), rarest(text.as_bytes()), any_case, lead))
            .collect();
        for place in from..upto.min(text.len()) {
            for &(keyword, anchor, any_case, lead) in &keywords {
                let start = place.checked_sub(anchor);
                let part = start.and_then(|start| text.get(start..start + keyword.len()));
                let is_same = |part: &[u8]| part == keyword || any_case && part.eq_ignore_ascii_case(keyword);
                if keyword.len() >= 3 && part.is_some_and(is_same) {
                    found.push((place, start.unwrap(), keyword.len(), lead));
                }
            }
        }
        found
    }

    fn quick(text: &[u8], from: usize, upto: usize) -> Found {
        let mut found = Vec::new();
        find(text, from, upto, |anchor, start, length, lead| {
            found.push((anchor, start, length, lead));
            true
        });
        found
    }

    /// Keywords in either case, what is nearly one, and rubbish.
    fn random_text() -> impl Strategy<Value = Vec<u8>> {
        let keyword =
            (0..arrange::KEYWORDS.len()).prop_map(|index| arrange::KEYWORDS[index].0.as_bytes().to_vec());
        let piece = prop_oneof![
            3 => keyword.clone(),
            1 => keyword.clone().prop_map(|text| text.to_ascii_uppercase()),
            1 => keyword.prop_map(|text| text[1..].to_vec()),
            2 => proptest::collection::vec(any::<u8>(), 0..4),
            1 => proptest::collection::vec(prop_oneof![Just(b'a'), Just(b' '), Just(b'=')], 0..70),
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_quick_search_finds_what_a_plain_one_finds(
            text in random_text(),
            from in 0_usize..40,
            cut in 0_usize..40,
        ) {
            let upto = text.len().saturating_sub(cut);
            prop_assert_eq!(quick(&text, 0, text.len()), plain(&text, 0, text.len()));
            prop_assert_eq!(quick(&text, from, upto), plain(&text, from, upto));
        }
    }
}
