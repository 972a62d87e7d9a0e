//! Decides whether a text can contain an attack, so that ordinary texts are neither read word by word nor classified.
//!
//! It reads words out of the outline, and looks for the anchors of phrases, which the build script chooses, and for disguises. Only words with
//! escapes, other scripts, joints or digits are read as `words` does. The gate may open for a text without an attack; it
//! never stays closed for one that has one.

use super::confusables::{Fold, fold, is_invisible};
use super::escapes::{markup_length, unescape};
use super::gate_words::{FIRST_LETTERS, LONG_WORD, SEVERAL, word_hash, word_slot, word_tag};
use super::hashing::{FIRST_HASH, step};
use super::phrase_index::Need;
use super::vocabulary::{
    self, GATE_ANCHORS, GATE_BY_RAREST, GATE_IDS, GATE_NEEDS, GATE_PHRASES, GATE_TABLE, GATE_WORD_ANCHORS,
    GATE_WORDS,
};
use super::words::{self, LONG, MAX_LETTERS, NUMBER, ReadMode, SINGLE, digit_as_letters};
use super::{encoded, hidden, links, tags};
use crate::bytes::{byte, byte_before, run_end};
use crate::outline::{BLOCK, Block, Outline, behind, place, rest_of_run};

/// Whether a text with this outline has to be searched.
pub(super) fn is_open(text: &str, outline: &Outline) -> bool {
    let mut gate = Gate::new(text);
    gate.read_all(outline.blocks()) || gate.has_phrase() || gate.has_more()
}

/// What was seen of a text.
struct Gate<'t> {
    text: &'t str,
    bytes: &'t [u8],
    /// How many words there are so far.
    count: u32,
    /// The known words: how many are before each, and its number.
    words: Vec<(u32, u16)>,
    /// Which numbers of words were seen.
    seen: Bits<{ GATE_IDS.div_ceil(64) }>,
    /// Which anchors were seen.
    anchors: Bits<{ GATE_ANCHORS.div_ceil(64) }>,
    /// Up to here the text is read.
    done: usize,
    rows: Rows,
    signs: Signs,
}

/// How many short words and numbers are in a row.
#[derive(Default)]
struct Rows {
    /// A longer word has ended all rows.
    are_over: bool,
    /// Single characters, and the letters among them.
    singles: u32,
    single_letters: u32,
    /// Words of two characters.
    pairs: u32,
    /// Numbers.
    numbers: u32,
}

/// Signs of what is examined at the end.
#[derive(Default)]
struct Signs {
    long_word: bool,
    pairs: bool,
    numbers: bool,
    invisible: bool,
    closing_tag: bool,
}

impl<'t> Gate<'t> {
    fn new(text: &'t str) -> Self {
        Gate {
            text,
            bytes: text.as_bytes(),
            count: 0,
            words: Vec::new(),
            seen: Bits([0; _]),
            anchors: Bits([0; _]),
            done: 0,
            rows: Rows::default(),
            signs: Signs::default(),
        }
    }

    /// Reads the text. Returns true once a disguise is found.
    fn read_all(&mut self, blocks: &[Block]) -> bool {
        let (mut start, mut before, mut rest) = (0, 0, blocks);
        while let Some((block, next)) = rest.split_first() {
            let parts = block.parts();
            let starts = parts & !behind::<1>(before, parts);
            before = parts;
            if self.read_block(start, starts, block, next) {
                return true;
            }
            start += BLOCK;
            rest = next;
        }
        false
    }

    /// Reads the words that begin in a block, and its signs.
    fn read_block(&mut self, start: usize, starts: u64, block: &Block, next: &[Block]) -> bool {
        let here = self.bytes.get(start..).unwrap_or_default();
        let mut last = [b' '; BLOCK + FIRST_LETTERS];
        let window = here.first_chunk().unwrap_or_else(|| {
            if let Some(last) = last.get_mut(..here.len()) {
                last.copy_from_slice(here);
            }
            &last
        });
        // Before a letter, an apostrophe or a hyphen joins words.
        let letters_behind = block.letters >> 1 | next.first().map_or(0, |next| next.letters << 63);
        let joins = block.high | block.signs | block.joints & letters_behind;
        let mut places = starts | block.signs;
        if self.done > start {
            places &= block.signs | not_before(self.done - start);
        }
        while places != 0 {
            let offset = places.trailing_zeros();
            places &= places - 1;
            let letters = window.get(place(offset)..).and_then(|letters| letters.first_chunk());
            let letters = letters.map_or(0, |letters| u64::from_le_bytes(*letters));
            let length = (!(block.letters >> offset)).trailing_zeros();
            let end = offset + length;
            // Most words begin and end in the block, and nothing joins them to the next one.
            let is_open = if length != 0 && end < u64::BITS && (joins | block.digits) >> end & 1 == 0 {
                self.read_letters(start + place(offset), letters, length)
            } else {
                let length = (!(block.digits >> offset)).trailing_zeros();
                let end = offset + length;
                if matches!(length, 1..=8) && end < u64::BITS && (joins | block.letters) >> end & 1 == 0 {
                    self.read_digits(start + place(offset), letters, length)
                } else {
                    let is_open = self.read_place(start, offset, block, next);
                    if self.done > start {
                        places &= block.signs | not_before(self.done - start);
                    }
                    is_open
                }
            };
            if is_open {
                return true;
            }
        }
        false
    }

    /// Reads a word of ASCII letters, of which the first ones are given, with any bytes behind the last.
    #[inline(always)]
    fn read_letters(&mut self, at: usize, letters: u64, length: u32) -> bool {
        let letters = letters | LOWER_CASE;
        let mut key = letters & first(length);
        if length > 8 {
            key = letters ^ LONG_WORD;
            self.signs.long_word |= length >= LONG;
        }
        if length > 2 {
            self.rows.are_over = true;
        } else if self.is_row_open_with(length, false) {
            return true;
        }
        let id = known_word(key);
        if id != 0 && length <= MAX_LETTERS {
            self.add_known(id, at, place(length));
        }
        self.count += 1;
        false
    }

    /// Reads what begins at a place of a block: a sign, a number, or a word that something may join to the next one.
    #[inline(never)]
    fn read_place(&mut self, start: usize, offset: u32, block: &Block, next: &[Block]) -> bool {
        let at = start + place(offset);
        if block.signs >> offset & 1 == 1 {
            return self.read_special(at);
        }
        if at < self.done {
            return false;
        }
        let is_number = block.digits >> offset & 1 == 1;
        let class = |block: &Block| if is_number { block.digits } else { block.letters };
        let mut length = place((!(class(block) >> offset)).trailing_zeros());
        if place(offset) + length == BLOCK {
            length += rest_of_run(next, class);
        }
        let end = at + length;
        let letters = self.bytes.get(at..).and_then(|rest| rest.first_chunk());
        let (Some(letters), false) = (letters, is_part(byte(self.bytes, end)) || self.is_joined(end, length))
        else {
            return self.read_token(at, end + token_length(end - start, block, next));
        };
        let letters = u64::from_le_bytes(*letters);
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        if !is_number {
            return self.read_letters(at, letters, length);
        }
        if length > 8 { self.read_token(at, end) } else { self.read_digits(at, letters, length) }
    }

    /// Reads a number of a few digits, which are given with any bytes behind the last.
    #[inline(always)]
    fn read_digits(&mut self, at: usize, digits: u64, length: u32) -> bool {
        let id = known_word(digits & first(length));
        if id != 0 {
            self.add_known(id, at, place(length));
        }
        self.count += 1;
        self.is_row_open_with(length, true)
    }

    /// Reads a run of letters and digits.
    #[inline(never)]
    fn read_token(&mut self, start: usize, end: usize) -> bool {
        let token = self.bytes.get(start..end).unwrap_or_default();
        let letters = self.first_letters(start, token.len());
        // Letters have this bit, digits do not.
        let of_token = first(u32::try_from(token.len()).unwrap_or(u32::MAX));
        let digits = !letters & LETTER_BITS & of_token;
        let rest = token.get(FIRST_LETTERS..).unwrap_or_default();
        let (all, any) = rest.iter().fold((u8::MAX, 0), |(all, any), byte| (all & byte, any | byte));
        if (letters & NOT_ASCII != 0) | (any >= 0x80) || self.is_joined(end, token.len()) {
            return self.read_piece(start);
        }
        let has_digit = (digits != 0) | (all & 0x40 == 0);
        let is_number = digits == LETTER_BITS & of_token && any & 0x40 == 0;
        if has_digit && !is_number && is_spelled_with_digits(token) {
            return true;
        }
        let length = u32::try_from(token.len()).unwrap_or(u32::MAX);
        self.signs.long_word |= length >= LONG;
        let is_open = self.is_row_open_with(length, is_number);
        let letters = letters | LOWER_CASE & of_token;
        let is_long = token.len() > FIRST_LETTERS;
        let id = known_word(if is_long { letters ^ LONG_WORD } else { letters });
        if id != 0 && length <= MAX_LETTERS {
            self.add_known(id, start, token.len());
        }
        self.count += 1;
        is_open
    }

    /// The first letters at a place, as a number.
    fn first_letters(&self, start: usize, length: usize) -> u64 {
        let here = self.bytes.get(start..).unwrap_or_default();
        let letters = here.first_chunk().copied().unwrap_or_else(|| {
            let mut letters = [0; FIRST_LETTERS];
            letters.iter_mut().zip(here).for_each(|(letter, byte)| *letter = *byte);
            letters
        });
        u64::from_le_bytes(letters) & first(u32::try_from(length).unwrap_or(u32::MAX))
    }

    /// Whether the word that a token begins may continue behind it.
    fn is_joined(&self, end: usize, length: usize) -> bool {
        match byte(self.bytes, end) {
            b'\'' => byte(self.bytes, end + 1).is_ascii_alphabetic(),
            b'-' => length > 1 && byte(self.bytes, end + 1).is_ascii_alphabetic(),
            b'<' => self.behind_markup(end).is_some_and(|behind| {
                let next = byte(self.bytes, behind);
                is_part(next) || matches!(next, b'\'' | b'-' | b'\\' | b'&' | b'%')
            }),
            _ => false,
        }
    }

    /// The end of the inline tags that begin at a place.
    fn behind_markup(&self, at: usize) -> Option<usize> {
        let length = |at: usize| match self.bytes.get(at..) {
            Some(rest @ [b'<', ..]) => markup_length(rest),
            _ => None,
        };
        let mut behind = at + length(at)?;
        while let Some(more) = length(behind) {
            behind += more;
        }
        Some(behind)
    }

    /// Reads what may begin an escape, inline markup or a comment.
    fn read_special(&mut self, at: usize) -> bool {
        let next = byte(self.bytes, at + 1);
        let is_escape = match byte(self.bytes, at) {
            b'\\' => matches!(next, b'n' | b'r' | b't' | b'x' | b'u'),
            b'%' => next.is_ascii_hexdigit(),
            b'&' => next == b'#' || next.is_ascii_lowercase(),
            b'<' => {
                self.signs.closing_tag |= next == b'/';
                false
            }
            _ => false,
        };
        if at < self.done {
            return false;
        }
        if is_escape {
            let Some((c, end)) = unescape(self.text, at) else { return false };
            self.done = end;
            // A letter or an invisible character is no ordinary escape.
            return !is_boundary(c) || is_part(byte(self.bytes, end)) && self.read_run(end);
        }
        let from = match byte(self.bytes, at) {
            b'<' => Some(at),
            b'*' if byte_before(self.bytes, at) == b'/' && at > self.done => at.checked_sub(1),
            _ => None,
        };
        let length = from.and_then(|from| markup_length(self.bytes.get(from..)?).map(|length| from + length));
        self.done = length.unwrap_or(self.done);
        false
    }

    /// Reads the run of letters and digits at a place.
    fn read_run(&mut self, start: usize) -> bool {
        self.done = run_end(self.bytes, start, is_part);
        self.read_token(start, self.done)
    }

    /// Reads the words of a piece letter by letter.
    fn read_piece(&mut self, start: usize) -> bool {
        let end = self.piece_end(start);
        self.done = end;
        if byte(self.bytes, end) == b'<' && self.is_joined(end, end - start) {
            return true;
        }
        let piece = self.text.get(start..end).unwrap_or_default();
        let reading = words::read(piece, ReadMode::Plain);
        let disguises = reading.disguises;
        self.signs.long_word |= disguises.long_words;
        self.signs.invisible |= !piece.is_ascii() && piece.chars().any(is_invisible);
        if disguises.invisible_spaces | disguises.digits_as_letters | disguises.hyphens {
            return true;
        }
        self.end_rows();
        for word in &reading.words {
            self.add_word(word.id);
            self.count += 1;
            let first = piece.get(word.start..).and_then(|rest| rest.chars().next());
            // Ideographs do not end a row.
            if first.is_some_and(|c| c < '\u{3041}') {
                self.rows.numbers = if word.flags & NUMBER != 0 { self.rows.numbers + 1 } else { 0 };
                self.add_single(word.flags & SINGLE != 0, word.flags & NUMBER == 0);
            }
            // How many letters it has is not known.
            self.rows.pairs += 1;
            if self.is_row_open() {
                return true;
            }
        }
        false
    }

    /// Where a piece ends: behind it a new word begins in any case.
    fn piece_end(&self, start: usize) -> usize {
        run_end(self.bytes, start, |byte| {
            is_part(byte) || matches!(byte, b'\'' | b'-' | b'\\' | b'&' | b'%' | b'#' | b';')
        })
    }

    /// Adds a short word or a number to the rows, and returns whether they are long enough for a disguise.
    fn is_row_open_with(&mut self, length: u32, is_number: bool) -> bool {
        self.end_rows();
        self.rows.numbers = if is_number { self.rows.numbers + 1 } else { 0 };
        self.rows.pairs = if length == 2 { self.rows.pairs + 1 } else { 0 };
        self.add_single(length == 1, !is_number);
        self.is_row_open()
    }

    /// Ends the rows that a longer word has ended.
    fn end_rows(&mut self) {
        if self.rows.are_over {
            self.rows = Rows::default();
        }
    }

    fn add_single(&mut self, is_single: bool, is_letter: bool) {
        let Rows { singles, single_letters, .. } = &mut self.rows;
        (*singles, *single_letters) =
            if is_single { (*singles + 1, *single_letters + u32::from(is_letter)) } else { (0, 0) };
    }

    /// Whether rows of short words are long enough for a disguise. No word of the data has less than two letters.
    fn is_row_open(&mut self) -> bool {
        self.signs.pairs |= self.rows.pairs >= 10;
        self.signs.numbers |= self.rows.numbers >= 12;
        self.rows.singles >= 5 && self.rows.single_letters >= 2
    }

    /// Adds a word that the table knows.
    #[inline]
    fn add_known(&mut self, id: u16, start: usize, length: usize) {
        if id != SEVERAL && self.seen.has(id) {
            self.words.push((self.count, id));
        } else {
            self.add_unseen(id, start, length);
        }
    }

    /// The same for a word that was not seen before, or one of several.
    #[inline(never)]
    fn add_unseen(&mut self, id: u16, start: usize, length: usize) {
        if id == SEVERAL {
            let word = self.bytes.get(start..start + length).unwrap_or_default();
            let lower = word.iter().map(|byte| char::from(byte.to_ascii_lowercase()));
            self.add_word(vocabulary::id(lower.fold(FIRST_HASH, step)));
        } else {
            self.add_word(id);
        }
    }

    /// Adds a word by its number. Unknown words have none.
    #[inline]
    fn add_word(&mut self, id: u16) {
        if id != 0 {
            if !self.seen.has(id) {
                self.seen.set(id);
                anchors_of(id).iter().for_each(|anchor| self.anchors.set(*anchor));
            }
            self.words.push((self.count, id));
        }
    }

    /// Whether all that a phrase needs is near the rarest of it.
    fn has_phrase(&self) -> bool {
        // The anchors of phrases of which everything is somewhere in the text.
        let mut live = Bits([0; GATE_ANCHORS.div_ceil(64)]);
        let mut is_live = false;
        for anchor in self.anchors.iter() {
            if self.live_phrases(anchor).next().is_some() {
                live.set(anchor);
                is_live = true;
            }
        }
        if !is_live {
            return false;
        }
        let has_live_anchor = |id: u16| anchors_of(id).iter().any(|anchor| live.has(*anchor));
        let mut live_words = Bits([0; GATE_IDS.div_ceil(64)]);
        self.seen.iter().filter(|id| has_live_anchor(*id)).for_each(|id| live_words.set(id));
        self.words.iter().enumerate().filter(|(_, (_, id))| live_words.has(*id)).any(|(place, (_, id))| {
            anchors_of(*id)
                .iter()
                .filter(|anchor| live.has(**anchor))
                .any(|anchor| self.live_phrases(*anchor).any(|needs| self.is_complete(needs, *anchor, place)))
        })
    }

    /// The phrases whose rarest anchor this is, and whose other anchors were seen.
    fn live_phrases(&self, rarest: u16) -> impl Iterator<Item = &'static [Need]> {
        let phrases = GATE_BY_RAREST.get(usize::from(rarest)).map_or(&[][..], |span| span.of(GATE_PHRASES));
        let needs = phrases.iter().map(|needs| needs.of(GATE_NEEDS));
        needs.filter(|needs| needs.iter().all(|need| self.anchors.has(need.anchor)))
    }

    /// Whether all needs are as near the word at a place as they may be from the rarest one.
    fn is_complete(&self, needs: &[Need], rarest: u16, place: usize) -> bool {
        let Some(number) = needs.iter().position(|need| need.anchor == rarest) else { return true };
        let (before, after) = needs.split_at(number);
        let Some((own, after)) = after.split_first() else { return true };
        let (words_before, words_after) = self.words.split_at(place);
        let Some(((at, _), words_after)) = words_after.split_first() else { return true };
        let is_near = |words: &mut dyn Iterator<Item = &(u32, u16)>, class, reach| {
            words
                .take_while(|(other, _)| other.abs_diff(*at) <= reach)
                .any(|(_, id)| vocabulary::is_in(*id, class))
        };
        let mut reach = 0;
        let follow = after.iter().all(|need| {
            reach += u32::from(need.reach);
            is_near(&mut words_after.iter(), need.class, reach)
        });
        let mut reach = u32::from(own.reach);
        follow
            && before.iter().rev().all(|need| {
                let within = reach;
                reach += u32::from(need.reach);
                is_near(&mut words_before.iter().rev(), need.class, within)
            })
    }

    /// Whether something other than phrases needs a search.
    fn has_more(&self) -> bool {
        let Gate { text, signs, .. } = self;
        let has_hits = |add: fn(&str, &mut Vec<midrail_core::Hit>)| {
            let mut hits = Vec::new();
            add(text, &mut hits);
            !hits.is_empty()
        };
        has_hits(links::scan)
            || signs.closing_tag && has_hits(|text, hits| tags::scan_ends(text, &tags::find(text), hits))
            || signs.invisible && !hidden::invisible(text).is_empty()
            || signs.long_word && !encoded::long_words(text).is_empty()
            || signs.pairs && encoded::spaced_hex(text).is_some()
            || signs.numbers && encoded::numbers(text).is_some()
    }
}

/// A set of small numbers.
struct Bits<const N: usize>([u64; N]);

impl<const N: usize> Bits<N> {
    fn set(&mut self, number: u16) {
        if let Some(bits) = self.0.get_mut(usize::from(number / 64)) {
            *bits |= 1 << (number % 64);
        }
    }

    fn has(&self, number: u16) -> bool {
        self.0.get(usize::from(number / 64)).is_some_and(|bits| bits >> (number % 64) & 1 == 1)
    }

    /// The numbers, in order.
    fn iter(&self) -> impl Iterator<Item = u16> {
        self.0.iter().zip((0..).step_by(64)).flat_map(|(bits, start)| {
            let rest = std::iter::successors(Some(*bits), |bits| Some(bits & bits.wrapping_sub(1)));
            rest.take_while(|bits| *bits != 0)
                .map(move |bits| start + u16::try_from(bits.trailing_zeros()).unwrap_or_default())
        })
    }
}

/// What distinguishes letters from digits, in each byte.
const LETTER_BITS: u64 = u64::from_ne_bytes([0x40; 8]);
const LOWER_CASE: u64 = u64::from_ne_bytes([0x20; 8]);
const NOT_ASCII: u64 = u64::from_ne_bytes([0x80; 8]);

/// The number of the word with these first letters, if one is an anchor, or [`SEVERAL`]. A word that is none seldom has a number.
#[inline(always)]
fn known_word(letters: u64) -> u16 {
    let hash = word_hash(letters);
    let mut slot = word_slot(hash);
    loop {
        let entry = GATE_TABLE.get(slot).copied().unwrap_or(0);
        if entry == 0 || entry >> 16 == word_tag(hash) {
            return u16::try_from(entry & 0xffff).unwrap_or_default();
        }
        slot = (slot + 1) % GATE_TABLE.len();
    }
}

/// The anchors that a word belongs to.
fn anchors_of(id: u16) -> &'static [u16] {
    GATE_WORDS.get(usize::from(id)).map_or(&[], |span| span.of(GATE_WORD_ANCHORS))
}

/// The bits of the first bytes.
#[inline(always)]
fn first(length: u32) -> u64 {
    u64::MAX >> (u64::BITS - 8 * length.min(8))
}

/// The bits of the bytes of a block that are not before a place.
fn not_before(place: usize) -> u64 {
    u32::try_from(place).ok().and_then(|place| u64::MAX.checked_shl(place)).unwrap_or(0)
}

/// The length of the run of letters and digits at a place in or behind a block.
fn token_length(offset: usize, block: &Block, next: &[Block]) -> usize {
    let blocks = std::iter::once(block).chain(next);
    let mut length = 0;
    let mut offset = offset;
    for block in blocks {
        if offset >= BLOCK {
            offset -= BLOCK;
            continue;
        }
        let more = place((!(block.parts() >> offset)).trailing_zeros());
        length += more;
        if offset + more < BLOCK {
            break;
        }
        offset = 0;
    }
    length
}

/// Whether a byte is part of a word wherever it is.
fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() | (byte >= 0x80)
}

/// Whether a word with letters and digits is a known one if digits stand for letters: `1gn0r3`.
fn is_spelled_with_digits(token: &[u8]) -> bool {
    let is_long = u32::try_from(token.len()).is_ok_and(|length| length > MAX_LETTERS);
    // These three stand for no letters.
    if is_long || token.iter().any(|byte| matches!(byte, b'2' | b'6' | b'9')) {
        return false;
    }
    let (mut one, mut other) = (FIRST_HASH, FIRST_HASH);
    for byte in token {
        let [first, second] = digit_as_letters(char::from(byte.to_ascii_lowercase()));
        (one, other) = (step(one, first), step(other, second));
    }
    vocabulary::id(one) != 0 || one != other && vocabulary::id(other) != 0
}

/// Whether an escaped character only separates words.
fn is_boundary(c: char) -> bool {
    match c {
        // Within a word it is an apostrophe.
        '’' | '‘' | 'ʼ' => false,
        c if c.is_ascii() => !c.is_ascii_alphanumeric(),
        c => fold(c, &mut Vec::new()) == Fold::Boundary,
    }
}

#[cfg(test)]
mod tests;
