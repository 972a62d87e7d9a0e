//! Where a text is worth a look: the places of all keywords, found in one pass.
//!
//! Some bytes of each keyword, the rarest ones, are its anchor. A small table tells for each three bytes of the text,
//! and a hint of the fourth, whether they may be an anchor; most of a text is passed over by that alone. The table is
//! made when it is first needed, in some microseconds: a hook process lives two milliseconds.

use std::sync::OnceLock;

use super::generic::letters;

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

struct Keyword {
    text: &'static [u8],
    any_case: bool,
    anchor: usize,
    /// The first four bytes of the anchor, folded, and which of their bits count.
    head: (u32, u32),
    slot: usize,
    lead: Lead,
}

const SLOTS: usize = 1 << 14;

/// The keywords, arranged for the search.
pub(super) struct Triggers {
    /// For each slot a bit for each class of fourth bytes that an anchor goes on with.
    fourth: Box<[u16; SLOTS]>,
    /// For each slot the keywords whose anchor falls into it: the first, and how many.
    slots: Box<[(u16, u16); SLOTS]>,
    keywords: Vec<Keyword>,
    /// The length of the longest keyword.
    pub(super) longest: usize,
}

/// The keywords of all rules.
pub(super) fn triggers() -> &'static Triggers {
    static TRIGGERS: OnceLock<Triggers> = OnceLock::new();
    TRIGGERS.get_or_init(|| Triggers::new(super::engine::keywords()))
}

impl Triggers {
    fn new(all: Vec<(&'static str, bool, Lead)>) -> Self {
        let mut fourth = Box::new([0_u16; SLOTS]);
        let mut slots = Box::new([(0_u16, 0_u16); SLOTS]);
        let mut keywords: Vec<Keyword> = Vec::with_capacity(all.len());
        for (text, any_case, lead) in all {
            let text = text.as_bytes();
            let anchor = rarest(text);
            let rest = text.get(anchor..).unwrap_or_default();
            let Some(first) = rest.first_chunk::<3>() else { continue };
            let slot = slot(*first);
            if let Some(classes) = fourth.get_mut(slot) {
                *classes |= rest.get(3).map_or(u16::MAX, |byte| 1 << class(*byte));
            }
            keywords.push(Keyword { text, any_case, anchor, head: head(rest), slot, lead });
        }
        // Stable: keywords of one slot stay in the order of the table.
        keywords.sort_by_key(|keyword| keyword.slot);
        for (index, keyword) in (0_u16..).zip(&keywords) {
            if let Some(range) = slots.get_mut(keyword.slot) {
                *range = if range.1 == 0 { (index, 1) } else { (range.0, range.1 + 1) };
            }
        }
        let longest = keywords.iter().map(|keyword| keyword.text.len()).max().unwrap_or(0);
        Triggers { fourth, slots, keywords, longest }
    }

    /// Tells the keywords of a text, in the order of their anchors: places of the anchor and of the keyword, its
    /// length, and where it leads. Anchors from `from` to before `upto` count. Ends when the visitor says so.
    pub(super) fn find(
        &self,
        text: &[u8],
        from: usize,
        upto: usize,
        mut visit: impl FnMut(usize, usize, usize, Lead) -> bool,
    ) {
        let Some(rest) = text.get(from..text.len().min(upto.saturating_add(3))) else { return };
        for (offset, &[first, second, third, next]) in rest.array_windows::<4>().enumerate() {
            let classes = self.fourth.get(slot([first, second, third])).copied().unwrap_or(0);
            if classes >> class(next) & 1 == 1 && !self.at_anchor(text, from + offset, &mut visit) {
                return;
            }
        }
        // The last three bytes have no fourth.
        if let Some(tail) = text.len().checked_sub(3)
            && (from..upto).contains(&tail)
        {
            self.at_anchor(text, tail, &mut visit);
        }
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
            let Some(start) = place.checked_sub(keyword.anchor) else { continue };
            let Some(found) = text.get(start..start + keyword.text.len()) else { continue };
            let same = if keyword.any_case {
                found.eq_ignore_ascii_case(keyword.text)
            } else {
                found == keyword.text
            };
            if same && !visit(place, start, keyword.text.len(), keyword.lead) {
                return false;
            }
        }
        true
    }
}

/// The first four bytes of a text, or three, with both cases of a letter made one; and a mask of those that there are.
fn head(text: &[u8]) -> (u32, u32) {
    let (bytes, mask) = match text {
        [first, second, third, fourth, ..] => ([*first, *second, *third, *fourth], 0xffff_ffff),
        [first, second, third] => ([*first, *second, *third, 0], 0x00ff_ffff),
        _ => ([0; 4], 0),
    };
    ((u32::from_le_bytes(bytes) | 0x2020_2020) & mask, mask)
}

fn slot(bytes: [u8; 3]) -> usize {
    let [first, second, third] = bytes;
    let folded = u32::from_le_bytes([first, second, third, 0]) | 0x0020_2020;
    // The upper bits of a product are the well-mixed ones.
    usize::try_from(folded.wrapping_mul(0x9E37_79B1) >> 18).unwrap_or(0) % SLOTS
}

/// One of sixteen classes, the same for both cases of a letter.
fn class(byte: u8) -> u8 {
    byte & 15
}

/// The place of the bytes of a keyword that everyday texts have least of.
fn rarest(keyword: &[u8]) -> usize {
    let length = keyword.len().clamp(3, 4);
    let places = keyword.windows(length).enumerate();
    places.max_by_key(|(place, window)| (rarity(window), usize::MAX - place)).map_or(0, |(place, _)| place)
}

/// How rare some bytes are, by the pairs of letters in them.
fn rarity(bytes: &[u8]) -> u32 {
    let pair = |pair: &[u8; 2]| match pair.iter().all(u8::is_ascii_alphabetic) {
        true => letters::pair_cost(*pair),
        false => 14,
    };
    bytes.array_windows::<2>().map(pair).sum()
}
