//! Compiles the keywords of secrets into the tables of the search, so that a process does not spend time on it.

use std::io;

use crate::keyword_hash::{
    BEHIND_ANCHOR, FIRST_BITS, FOURTH_BITS, MARKED, MIXES, SLOTS, class, head, mix, mix_four, slot,
};
use crate::letter_pairs::{cost, place};
use crate::source::write;

const AT_ANCHOR: u8 = BEHIND_ANCHOR << 1;
const BEFORE_ANCHOR: u8 = BEHIND_ANCHOR << 2;

/// A keyword, and what it leads to.
pub struct Keyword {
    text: String,
    any_case: bool,
    lead: String,
    /// Where the bytes begin that everyday texts have least of.
    anchor: usize,
}

impl Keyword {
    /// A keyword with the Rust code of what it leads to.
    pub fn new(text: &str, any_case: bool, lead: &str) -> Self {
        Keyword { text: text.to_owned(), any_case, lead: lead.to_owned(), anchor: rarest(text.as_bytes()) }
    }
}

/// Writes the keyword tables.
pub fn write_keywords(keywords: &[Keyword]) -> io::Result<()> {
    let (mut marks, mut anchors) = (vec![0_u8; MIXES], vec![0_u8; MIXES]);
    let mut by_slot: Vec<Vec<String>> = vec![Vec::new(); SLOTS];
    let (mut texts, mut plain) = (Vec::new(), String::new());
    for keyword in keywords.iter().filter(|keyword| keyword.text.len() >= 3) {
        let bytes = keyword.text.as_bytes();
        let (before, rest) = bytes.split_at(keyword.anchor);
        add_marks(&mut marks, &mut anchors, before, rest);
        // Keywords of one slot stay in the order of the data.
        by_slot[slot([rest[0], rest[1], rest[2]])].push(format!(
            "Keyword {{ start: {}, length: {}, anchor: {}, any_case: {}, head: {:?}, lead: {} }},\n",
            texts.len(),
            bytes.len(),
            keyword.anchor,
            keyword.any_case,
            head(rest),
            keyword.lead
        ));
        texts.extend_from_slice(bytes);
        let Keyword { text, any_case, lead, anchor } = keyword;
        plain.push_str(&format!("({text:?}, {anchor}, {any_case}, {lead}),\n"));
    }
    let (mut first, mut slots) = (0, String::new());
    for keywords in &by_slot {
        slots.push_str(&format!("({first},{}),", keywords.len()));
        first += keywords.len();
    }
    let longest = keywords.iter().map(|keyword| keyword.text.len()).max().unwrap_or_default();
    let code = format!(
        "/// The length of the longest keyword.\npub(super) const LONGEST_KEYWORD: usize = {longest};\n\
         static SLOT_KEYWORDS: [(u16, u16); SLOTS] = [{slots}];\n\
         static KEYWORDS: [Keyword; {first}] = [\n{}];\n",
        by_slot.concat().concat()
    );
    write("keywords.rs", code)?;
    write("keyword_marks.bin", marks)?;
    write("keyword_anchors.bin", anchors)?;
    write("keyword_texts.bin", texts)?;
    write("keyword_examples.rs", format!("const PLAIN: &[(&str, usize, bool, Lead)] = &[\n{plain}];\n"))
}

/// Marks what the search sees of a keyword: the bytes before its anchor, and those from it on.
fn add_marks(marks: &mut [u8], anchors: &mut [u8], before: &[u8], rest: &[u8]) {
    let fourth = rest.get(3).copied();
    let mixed = mix(u16::from_le_bytes([rest[0], rest[1]]), u16::from_le_bytes([rest[2], 0]));
    anchors[usize::from(mixed)] |= fourth.map_or(u8::MAX, class);
    mark(marks, AT_ANCHOR, [rest[0], rest[1], rest[2]], fourth);
    match (rest, before) {
        (&[_, second, third, fourth, fifth, ..], _) => {
            mark(marks, BEHIND_ANCHOR, [second, third, fourth], Some(fifth));
        }
        // Too short to be recognised from its second byte on: the byte before counts.
        (&[first, second, third, ..], &[.., before]) => {
            mark(marks, BEFORE_ANCHOR, [before, first, second], Some(third));
        }
        (&[_, second, third, fourth], []) => mark(marks, BEHIND_ANCHOR, [second, third, fourth], None),
        (&[first, second, third], []) => {
            for before in 0..=FIRST_BITS {
                mark(marks, BEFORE_ANCHOR, [before, first, second], Some(third));
            }
        }
        _ => {}
    }
}

/// Sets a mark of four bytes; of all fourth bytes, where it may be any.
fn mark(marks: &mut [u8], mark: u8, [first, second, third]: [u8; 3], next: Option<u8>) {
    let all = 0..=FOURTH_BITS;
    for fourth in next.map_or(all, |next| next..=next) {
        let pair = u16::from_le_bytes([first, second]);
        marks[usize::from(mix_four(pair, u16::from_le_bytes([third, fourth])))] |= MARKED | mark;
    }
}

fn rarest(keyword: &[u8]) -> usize {
    let length = if keyword.len() < 4 { 3 } else { 4 };
    let rarity = |part: &[u8]| part.windows(2).map(|pair| pair_rarity(pair[0], pair[1])).sum::<u32>();
    let parts = keyword.windows(length).enumerate();
    // Of several, the first.
    parts.rev().max_by_key(|(_, part)| rarity(part)).map_or(0, |(place, _)| place)
}

/// How rare a pair of bytes is. A space is the edge of a word.
fn pair_rarity(first: u8, second: u8) -> u32 {
    let is_of_words = |byte: u8| byte.is_ascii_alphabetic() || byte == b' ';
    if is_of_words(first) && is_of_words(second) { cost(place(first), place(second)) } else { 14 }
}
