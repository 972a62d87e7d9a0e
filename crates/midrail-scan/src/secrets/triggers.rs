//! Finds all keywords of secrets in a text in one pass. The build script fills the tables.
//!
//! The rarest bytes of each keyword are its anchor. A small table shows for three bytes of the text, and three bits of the
//! fourth, whether an anchor may be there; this excludes most of a text. Only every second place is looked up: what begins
//! at the places between is found by its second byte, or by the byte before it. A place that the table leaves is looked up in
//! another one, which has the anchors at the place itself only.

use super::keyword_hash::{BEHIND_ANCHOR, MARKED, MIXES, SLOTS, class, head, mix, mix_four, slot};

/// What a keyword leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    /// A format, by its index.
    Format(u16),
    /// A name that a secret may be assigned to.
    Name,
    /// A private key.
    Pem,
    /// A JSON web token.
    Jwt,
    /// A URL that may contain a password.
    Url,
    /// An SQL statement that inserts rows.
    Insert,
}

/// A keyword in the table.
struct Keyword {
    /// Where it begins among the bytes of all keywords, and how long it is.
    start: u16,
    length: u8,
    /// Where its rarest bytes begin.
    anchor: u8,
    any_case: bool,
    /// The first four bytes of the anchor in lower case, and which of their bits count.
    head: (u32, u32),
    lead: Lead,
}

include!(concat!(env!("OUT_DIR"), "/keywords.rs"));

/// For each mix of four bytes [`MARKED`] where an anchor may be at these bytes, or one place before or after, with its kinds.
static MARKS: &[u8; MIXES] = include_bytes!(concat!(env!("OUT_DIR"), "/keyword_marks.bin"));

/// For each mix of three bytes a bit for each class of fourth bytes, set where an anchor is at these bytes.
static ANCHORS: &[u8; MIXES] = include_bytes!(concat!(env!("OUT_DIR"), "/keyword_anchors.bin"));

/// The bytes of all keywords. References to each would have to be relocated at every start.
static TEXTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/keyword_texts.bin"));

/// How many bytes are looked up together.
const BLOCK: usize = 64;

/// Visits the keywords of a text in the order of their anchors: the places of the anchor and of the keyword, its length,
/// and what it leads to. Anchors from `from` to before `upto` count. Stops when the visitor returns `false`.
pub(super) fn find(
    text: &[u8],
    from: usize,
    upto: usize,
    mut visit: impl FnMut(usize, usize, usize, Lead) -> bool,
) {
    // Anchors before this place are done.
    let (mut done, mut at) = (from, from);
    while let Some(block) = text.get(at..).and_then(|rest| rest.first_chunk())
        && at < upto
    {
        let mut marked = marked(block);
        while marked != 0 {
            let offset = 2 * usize::try_from(marked.trailing_zeros()).unwrap_or(0);
            marked &= marked - 1;
            let four = block.get(offset..).and_then(|four| four.first_chunk());
            let mut kinds = four.map_or(0, |four| marks(*four)) / BEHIND_ANCHOR;
            while kinds != 0 {
                let next = at + offset + usize::try_from(kinds.trailing_zeros()).unwrap_or(0);
                kinds &= kinds - 1;
                let Some(anchor) = next.checked_sub(1).filter(|anchor| (done..upto).contains(anchor)) else {
                    continue;
                };
                done = next;
                if may_be_at(text, anchor) && !visit_anchor(text, anchor, &mut visit) {
                    return;
                }
            }
        }
        at += BLOCK;
    }
    // The last bytes are too few for a block, and they show what begins right before them.
    for anchor in done.max(at.saturating_sub(1))..upto.min(text.len()) {
        if may_be_at(text, anchor) && !visit_anchor(text, anchor, &mut visit) {
            return;
        }
    }
}

/// The marks of four bytes.
#[inline(always)]
fn marks([first, second, third, fourth]: [u8; 4]) -> u8 {
    let mixed = mix_four(u16::from_le_bytes([first, second]), u16::from_le_bytes([third, fourth]));
    MARKS.get(usize::from(mixed)).copied().unwrap_or_default()
}

/// False where no anchor can be at a place.
fn may_be_at(text: &[u8], place: usize) -> bool {
    let four = text.get(place..).and_then(|rest| rest.first_chunk());
    four.is_none_or(|&[first, second, third, fourth]| {
        let mixed = mix(u16::from_le_bytes([first, second]), u16::from_le_bytes([third, fourth]));
        ANCHORS.get(usize::from(mixed)).is_some_and(|classes| classes & class(fourth) != 0)
    })
}

#[inline(never)]
fn visit_anchor(
    text: &[u8],
    place: usize,
    visit: &mut impl FnMut(usize, usize, usize, Lead) -> bool,
) -> bool {
    let rest = text.get(place..).unwrap_or_default();
    let Some(anchor) = rest.first_chunk::<3>() else { return true };
    let Some(&(first, count)) = SLOT_KEYWORDS.get(slot(*anchor)) else { return true };
    let first = usize::from(first);
    let Some(keywords) = KEYWORDS.get(first..first + usize::from(count)) else { return true };
    let (here, _) = head(rest);
    for keyword in keywords {
        let (wanted, mask) = keyword.head;
        if here & mask != wanted {
            continue;
        }
        let Some(start) = place.checked_sub(usize::from(keyword.anchor)) else { continue };
        let (from, length) = (usize::from(keyword.start), usize::from(keyword.length));
        let Some(wanted) = TEXTS.get(from..from + length) else { continue };
        let Some(found) = text.get(start..start + length) else { continue };
        let same = found == wanted || keyword.any_case && found.eq_ignore_ascii_case(wanted);
        if same && !visit(place, start, length, keyword.lead) {
            return false;
        }
    }
    true
}

/// Looks up every second place of a block, and sets a bit for each that is marked.
#[expect(clippy::indexing_slicing, reason = "the places are in the block, and iterators are slower")]
#[inline(never)]
fn marked(block: &[u8; BLOCK + 2]) -> u32 {
    // A loop of its own, so that it is vectorized.
    let mut mixed = [0; BLOCK / 2];
    for at in 0..BLOCK / 2 {
        let here = u16::from_le_bytes([block[2 * at], block[2 * at + 1]]);
        let behind = u16::from_le_bytes([block[2 * at + 2], block[2 * at + 3]]);
        mixed[at] = mix_four(here, behind);
    }
    let (mut bits, mut shift) = (0, 0);
    // Marks are hard to predict: a branch for each would be slow.
    for group in mixed.as_chunks::<8>().0 {
        let mut any = 0;
        for mixed in group {
            any |= MARKS[usize::from(*mixed)];
        }
        if any != 0 {
            for (place, mixed) in group.iter().enumerate() {
                bits |= u32::from(MARKS[usize::from(*mixed)] & MARKED) << (shift + place);
            }
        }
        shift += 8;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    include!(concat!(env!("OUT_DIR"), "/keyword_examples.rs"));

    type Found = Vec<(usize, usize, usize, Lead)>;

    /// The keywords that a search finds that tries every keyword at every place.
    fn plain(text: &[u8], from: usize, upto: usize) -> Found {
        let mut found = Vec::new();
        for place in from..upto.min(text.len()) {
            for &(keyword, anchor, any_case, lead) in PLAIN {
                let keyword = keyword.as_bytes();
                let start = place.checked_sub(anchor);
                let part = start.and_then(|start| text.get(start..start + keyword.len()));
                let is_same = |part: &[u8]| part == keyword || any_case && part.eq_ignore_ascii_case(keyword);
                if part.is_some_and(is_same) {
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

    /// Keywords in either case, parts of keywords, and random bytes.
    fn random_text() -> impl Strategy<Value = Vec<u8>> {
        let keyword = (0..PLAIN.len()).prop_map(|index| PLAIN[index].0.as_bytes().to_vec());
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
        fn table_search_finds_what_plain_search_finds(
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
