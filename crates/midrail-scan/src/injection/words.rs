//! Reads the words of a text as a model does: folded, unescaped, each with its place in the original.

use std::ops::Range;

use super::confusables::{Fold, fold, is_invisible_space};
use super::escapes::{markup_length, unescape};
use super::hashing::{FIRST_HASH, step};
use super::phrase_index::ClassId;
use super::vocabulary;

/// Sentence punctuation or the edge of a quoted or bracketed piece is before the word.
pub(super) const BREAK: u8 = 1;
/// A field of data ends or begins before the word.
pub(super) const FIELD: u8 = 64;
/// An empty line is before the word.
pub(super) const EMPTY_LINE: u8 = 32;
/// All of its letters are capitals, and there are two or more.
pub(super) const CAPITALS: u8 = 2;
/// The edge of a quoted piece is before the word: the beginning of a field of data.
pub(super) const QUOTE: u8 = 4;
/// It has only digits.
pub(super) const NUMBER: u8 = 8;
/// A comma, a colon or the like is before the word, as behind an address.
pub(super) const AFTER_COMMA: u8 = 128;
/// It is a single letter.
pub(super) const SINGLE: u8 = 16;

/// The most letters of a word.
pub(super) const MAX_LETTERS: u32 = 28;
/// From this length on, a word may be a piece in another encoding.
pub(super) const LONG: u32 = 16;
/// The longest word of the vocabulary in a script without spaces.
const MAX_IDEOGRAPHS: usize = 10;

/// One word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    /// Hash of the folded letters.
    pub(super) hash: u64,
    /// Hash of the first letters: words of one stem share it.
    pub(super) stem: u64,
    /// Its number in the vocabulary; 0 for an unknown word.
    pub(super) id: u16,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) flags: u8,
}

/// How a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadMode {
    /// Invisible characters vanish inside words, hyphens separate words, and signs are no letters.
    Plain,
    /// Invisible characters separate words.
    InvisibleSpaces,
    /// Signs are letters: `@` is a, `$` is s, `!` and `|` are i.
    SignsAsLetters,
    /// Hyphens vanish inside words.
    WithoutHyphens,
    /// As `Plain`, but the words have no numbers of the vocabulary: only the model reads them.
    Unnumbered,
}

/// A text and its words.
#[derive(Debug)]
pub(super) struct Reading<'t> {
    pub(super) text: &'t str,
    pub(super) words: Vec<Word>,
    pub(super) disguises: Disguises,
}

impl Reading<'_> {
    /// The bytes from the first to the last of some words.
    pub(super) fn span(&self, first: usize, last: usize) -> Option<Range<usize>> {
        Some(self.words.get(first)?.start..self.words.get(last)?.end)
    }

    /// The words in some bytes of the text.
    pub(super) fn words_in(&self, bytes: &Range<usize>) -> Range<usize> {
        let first = self.words.partition_point(|word| word.start < bytes.start);
        first..self.words.partition_point(|word| word.end <= bytes.end).max(first)
    }

    /// Whether the word at a place has one of some flags.
    pub(super) fn has_flag(&self, at: usize, flags: u8) -> bool {
        self.words.get(at).is_some_and(|word| word.flags & flags != 0)
    }

    /// Whether a word of a set is in `words[from..to]`.
    pub(super) fn has_word(&self, from: usize, to: usize, class: ClassId) -> bool {
        has_word(&self.words, from, to, class)
    }
}

/// Whether a word of a set is in `words[from..to]`.
pub(super) fn has_word(words: &[Word], from: usize, to: usize, class: ClassId) -> bool {
    let to = to.min(words.len());
    words.get(from.min(to)..to).unwrap_or_default().iter().any(|word| vocabulary::is_in(word.id, class))
}

/// Signs of disguises, which need another reading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Disguises {
    /// Invisible characters that may replace spaces.
    pub(super) invisible_spaces: bool,
    /// Words with digits as letters: `1gn0r3`.
    pub(super) digits_as_letters: bool,
    /// Five or more single letters in a row.
    pub(super) spaced_letters: bool,
    /// Words that are long enough for an encoding.
    pub(super) long_words: bool,
    /// Ten or more pairs of characters in a row, as in spaced hex.
    pub(super) pairs: bool,
    /// Twelve or more numbers in a row, which may be character codes.
    pub(super) numbers: bool,
    /// A hyphen inside a known word, as in `ig-nore`.
    pub(super) hyphens: bool,
    /// A word of attacks that is written backwards or in rot13.
    pub(super) reversed: bool,
}

/// Letters of a stem.
const STEM_LETTERS: u32 = 5;

/// The bit that distinguishes lower case.
const LOWER_CASE: u8 = 0x20;

/// Whether a byte behind a word of ASCII letters ends it in every reading.
#[inline(always)]
fn separates(byte: u8) -> bool {
    // A word goes on behind an apostrophe, a hyphen, markup, escapes, and signs that are read as letters.
    let joins = matches!(
        byte,
        b'\'' | b'-' | b'<' | b'/' | b'\\' | b'&' | b'%' | b'@' | b'$' | b'!' | b'|' | b'0'..=b'9' | 0x80..
    );
    !joins
}

/// How many ASCII letters a text begins with.
#[inline(always)]
fn letter_run(bytes: &[u8]) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    let mut length = 0;
    loop {
        let rest = bytes.get(length..).unwrap_or_default();
        let Some(chunk) = rest.first_chunk::<8>() else {
            return length + rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        };
        let chunk = u64::from_le_bytes(*chunk);
        let lower = (chunk | (u64::from(LOWER_CASE) * EACH)) & !HIGH;
        // The high bit of each byte: from `a` on, and not behind `z`.
        let from_a = lower + (0x80 - u64::from(b'a')) * EACH;
        let behind_z = lower + (0x7f - u64::from(b'z')) * EACH;
        let others = !(from_a & !behind_z & !chunk) & HIGH;
        if others != 0 {
            return length + usize::try_from(others.trailing_zeros() / 8).unwrap_or_default();
        }
        length += 8;
    }
}

/// Reads a text.
pub(super) fn read(text: &str, mode: ReadMode) -> Reading<'_> {
    let words = Vec::with_capacity(text.len() / 6 + 8);
    let mut reader = Reader {
        reading: Reading { text, words, disguises: Disguises::default() },
        mode,
        current: Current::new(),
        flags: BREAK,
        singles: 0,
        pairs: 0,
        numbers: 0,
        newlines: 0,
    };
    reader.run();
    reader.reading
}

/// The word that is being read.
struct Current {
    hash: u64,
    stem: u64,
    /// Hashes with digits read as letters, once there is a digit; 1 is i in one and l in the other.
    spelled: Option<[u64; 2]>,
    /// The hash together with the letters before a hyphen.
    joined: Option<u64>,
    span: Range<usize>,
    letters: u32,
    digits: u32,
    capitals: u32,
}

impl Current {
    fn new() -> Self {
        Current {
            hash: FIRST_HASH,
            stem: FIRST_HASH,
            spelled: None,
            joined: None,
            span: 0..0,
            letters: 0,
            digits: 0,
            capitals: 0,
        }
    }

    fn len(&self) -> u32 {
        self.letters + self.digits
    }
}

struct Reader<'t> {
    reading: Reading<'t>,
    mode: ReadMode,
    current: Current,
    /// Flags of the next word.
    flags: u8,
    singles: u32,
    pairs: u32,
    numbers: u32,
    newlines: u32,
}

impl Reader<'_> {
    fn run(&mut self) {
        let bytes = self.reading.text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let next_is = |is: fn(&u8) -> bool| bytes.get(at + 1).is_some_and(is);
            if byte.is_ascii_alphabetic()
                && let Some(end) = self.plain_word(at)
            {
                at = end;
                continue;
            }
            at = match byte {
                b'a'..=b'z' => self.push_lowercase(at),
                b'A'..=b'Z' | b'0'..=b'9' => self.push(char::from(byte), at, at + 1),
                b' ' => {
                    self.flush();
                    at + 1
                }
                b'\\' | b'&' | b'%' => match unescape(self.reading.text, at) {
                    Some((c, end)) => {
                        self.take(c, at, end);
                        end
                    }
                    None => self.boundary(byte, at + 1),
                },
                // An apostrophe inside a word belongs to it: don't.
                b'\'' if self.current.letters > 0 && next_is(u8::is_ascii_alphabetic) => at + 1,
                // No sentence ends inside a name or a URL: .env, example.org/?a=1
                b'.' | b'?' if next_is(u8::is_ascii_alphanumeric) => {
                    self.flush();
                    at + 1
                }
                // Inline markup does not separate words: <b>Ignore</b> all
                b'<' | b'/' if let Some(length) = markup_length(bytes.get(at..).unwrap_or_default()) => {
                    if byte == b'/' {
                        self.flush();
                    }
                    at + length
                }
                b'-' if self.current.letters > 1 && next_is(u8::is_ascii_alphabetic) => {
                    if self.mode != ReadMode::WithoutHyphens {
                        let joined = self.current.joined.unwrap_or(self.current.hash);
                        self.boundary(byte, at + 1);
                        self.current.joined = Some(joined);
                    }
                    at + 1
                }
                b'@' if self.mode == ReadMode::SignsAsLetters => self.push('a', at, at + 1),
                b'$' if self.mode == ReadMode::SignsAsLetters => self.push('s', at, at + 1),
                b'!' | b'|' if self.mode == ReadMode::SignsAsLetters => self.push('i', at, at + 1),
                0..=0x7f => self.boundary(byte, at + 1),
                _ => {
                    let Some(c) = self.reading.text.get(at..).and_then(|rest| rest.chars().next()) else {
                        break;
                    };
                    self.take(c, at, at + c.len_utf8())
                }
            }
        }
        self.flush();
    }

    /// Reads a word of ASCII letters that begins at a place and ends before a byte that only separates words, as most do. Returns
    /// where the next character begins. `None`: the word has to be read letter by letter.
    #[inline(always)]
    fn plain_word(&mut self, at: usize) -> Option<usize> {
        // First, so that no letter is looked at more than twice.
        if self.current.len() != 0 || self.current.joined.is_some() {
            return None;
        }
        let bytes = self.reading.text.as_bytes().get(at..)?;
        let length = letter_run(bytes);
        let (letters, rest) = bytes.split_at_checked(length)?;
        let next = *rest.first().filter(|next| separates(**next))?;
        let hash = |hash, letters: &[u8]| {
            letters.iter().fold(hash, |hash, byte| step(hash, char::from(byte | LOWER_CASE)))
        };
        let of_stem = usize::try_from(STEM_LETTERS).unwrap_or_default();
        let (first, more) = letters.split_at_checked(of_stem).unwrap_or((letters, &[]));
        let stem = hash(FIRST_HASH, first);
        let word_hash = hash(stem, more);
        let count = u32::try_from(length).unwrap_or(u32::MAX);
        let id = self.id(word_hash, count);
        let mut flags = std::mem::take(&mut self.flags);
        self.newlines = 0;
        let disguises = &mut self.reading.disguises;
        if id != 0 {
            disguises.reversed |= vocabulary::is_reversed(id);
        }
        if length > 2 {
            disguises.long_words |= count >= LONG;
            (self.numbers, self.pairs, self.singles) = (0, 0, 0);
        } else {
            self.numbers = 0;
            disguises.pairs |= in_row(&mut self.pairs, length == 2) >= 10;
            disguises.spaced_letters |= in_row(&mut self.singles, length == 1) >= 5;
            if length == 1 {
                flags |= SINGLE;
            }
        }
        if length > 1 && first.iter().all(u8::is_ascii_uppercase) && more.iter().all(u8::is_ascii_uppercase) {
            flags |= CAPITALS;
        }
        let end = at + length;
        self.reading.words.push(Word { hash: word_hash, stem, id, start: at, end, flags });
        // A space does no more than to end the word.
        Some(end + usize::from(next == b' '))
    }

    /// The number of a word of so many letters and digits in the vocabulary.
    #[inline(always)]
    fn id(&self, hash: u64, length: u32) -> u16 {
        if length <= MAX_LETTERS && self.mode != ReadMode::Unnumbered { vocabulary::id(hash) } else { 0 }
    }

    /// Reads one character at `at..end`, and returns where the next one begins.
    fn take(&mut self, c: char, at: usize, end: usize) -> usize {
        if c.is_ascii_alphanumeric() {
            return self.push(c, at, end);
        }
        if c.is_ascii() {
            return self.boundary(u8::try_from(u32::from(c)).unwrap_or(b' '), end);
        }
        if matches!(c, '’' | '‘' | 'ʼ') && self.current.letters > 0 {
            let next = self.reading.text.get(end..).and_then(|rest| rest.chars().next());
            if next.is_some_and(char::is_alphabetic) {
                return end;
            }
        }
        let mut more = Vec::new();
        match fold(c, &mut more) {
            Fold::Letter(letter) => {
                self.push(letter, at, end);
                if c.is_uppercase() && letter.is_lowercase() {
                    self.current.capitals += 1;
                }
                for letter in more {
                    self.push(letter, at, end);
                }
            }
            Fold::Invisible => {
                if is_invisible_space(c) {
                    self.reading.disguises.invisible_spaces = true;
                    if self.mode == ReadMode::InvisibleSpaces {
                        self.flush();
                    }
                }
            }
            Fold::Ideograph(_) => return self.ideographs(at),
            Fold::Boundary => {
                self.flush();
                match c {
                    '。' | '！' | '？' | '…' | '．' => self.flags |= BREAK,
                    '“' | '”' | '«' | '»' | '„' | '「' | '」' | '『' | '』' => {
                        self.flags |= BREAK | QUOTE
                    }
                    _ => {}
                }
            }
        }
        end
    }

    /// Adds a letter at `at..end` to the current word, and returns where the next character begins.
    fn push(&mut self, c: char, at: usize, end: usize) -> usize {
        let lower = c.to_ascii_lowercase();
        let current = &mut self.current;
        if current.len() == 0 {
            current.span.start = at;
        }
        current.span.end = end;
        let before = current.hash;
        current.hash = step(before, lower);
        current.joined = current.joined.map(|joined| step(joined, lower));
        if current.len() < STEM_LETTERS {
            current.stem = current.hash;
        }
        let read_as = if lower.is_ascii_digit() {
            current.digits += 1;
            current.spelled.get_or_insert([before; 2]);
            digit_as_letters(lower)
        } else {
            current.letters += 1;
            current.capitals += u32::from(lower != c);
            [lower; 2]
        };
        if let Some([first, second]) = current.spelled {
            let [one, other] = read_as;
            current.spelled = Some([step(first, one), step(second, other)]);
        }
        end
    }

    /// Adds the lowercase letters at a place to the current word, and returns where they end.
    fn push_lowercase(&mut self, at: usize) -> usize {
        let letters = self.reading.text.as_bytes().get(at..).unwrap_or_default();
        let count = letters.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
        let current = &mut self.current;
        if current.spelled.is_some() || current.joined.is_some() {
            for (at, letter) in (at..).zip(letters.iter().take(count)) {
                self.push(char::from(*letter), at, at + 1);
            }
            return at + count;
        }
        if current.len() == 0 {
            current.span.start = at;
        }
        current.span.end = at + count;
        let hash =
            |hash, letters: &[u8]| letters.iter().fold(hash, |hash, byte| step(hash, char::from(*byte)));
        let of_stem = count.min(usize::try_from(STEM_LETTERS.saturating_sub(current.len())).unwrap_or(0));
        let (first, rest) = letters.get(..count).unwrap_or_default().split_at(of_stem);
        if !first.is_empty() {
            current.hash = hash(current.hash, first);
            current.stem = current.hash;
        }
        current.hash = hash(current.hash, rest);
        current.letters += u32::try_from(count).unwrap_or(u32::MAX);
        at + count
    }

    /// Ends the current word, and returns where the next character begins.
    fn boundary(&mut self, byte: u8, end: usize) -> usize {
        self.flush();
        match byte {
            b'.' | b'!' | b'?' => self.flags |= BREAK,
            b'"' | b'\'' | b'`' => self.flags |= BREAK | QUOTE,
            b',' | b':' | b'{' | b'}' | b'[' | b']' if self.flags & QUOTE != 0 => self.flags |= FIELD,
            b',' | b':' | b';' | b'-' => self.flags |= AFTER_COMMA,
            b'\n' => {
                self.newlines += 1;
                if self.newlines > 1 {
                    self.flags |= EMPTY_LINE;
                }
            }
            _ => {}
        }
        end
    }

    fn flush(&mut self) {
        if self.current.len() == 0 {
            // Letters before a hyphen do not continue.
            self.current.joined = None;
            return;
        }
        // Field by field: a whole new value would have to be copied for each word.
        let current = &mut self.current;
        let (hash, stem, span) = (current.hash, current.stem, current.span.clone());
        let (letters, length, capitals) = (current.letters, current.len(), current.capitals);
        let (spelled, joined) = (current.spelled.take(), current.joined.take());
        (current.hash, current.stem) = (FIRST_HASH, FIRST_HASH);
        (current.letters, current.digits, current.capitals) = (0, 0, 0);
        let mut flags = std::mem::take(&mut self.flags);
        self.newlines = 0;
        if capitals > 1 && capitals == letters {
            flags |= CAPITALS;
        }
        let mut id = self.id(hash, length);
        let disguises = &mut self.reading.disguises;
        if id == 0
            && length <= MAX_LETTERS
            && letters > 0
            && let Some([one, other]) = spelled
        {
            id = vocabulary::id(one);
            if id == 0 {
                id = vocabulary::id(other);
            }
            disguises.digits_as_letters |= id != 0;
        }
        disguises.reversed |= id != 0 && vocabulary::is_reversed(id);
        disguises.long_words |= length >= LONG;
        if let Some(joined) = joined {
            disguises.hyphens |= vocabulary::id(joined) != 0;
        }
        if letters > 0 && length > 2 {
            (self.numbers, self.pairs, self.singles) = (0, 0, 0);
        } else {
            if letters == 0 {
                flags |= NUMBER;
            }
            disguises.numbers |= in_row(&mut self.numbers, letters == 0) >= 12;
            disguises.pairs |= in_row(&mut self.pairs, length == 2) >= 10;
            disguises.spaced_letters |= in_row(&mut self.singles, length == 1) >= 5;
            if length == 1 {
                flags |= SINGLE;
            }
        }
        self.reading.words.push(Word { hash, stem, id, start: span.start, end: span.end, flags });
    }

    /// The longest word of the vocabulary here, or else one character.
    fn ideographs(&mut self, at: usize) -> usize {
        self.flush();
        let rest = self.reading.text.get(at..).unwrap_or_default();
        let mut hash = FIRST_HASH;
        let mut best: Option<Word> = None;
        for (offset, c) in rest.char_indices().take(MAX_IDEOGRAPHS) {
            if !matches!(fold(c, &mut Vec::new()), Fold::Ideograph(_)) {
                break;
            }
            hash = step(hash, c);
            let id = vocabulary::id(hash);
            if best.is_none() || id != 0 {
                let end = at + offset + c.len_utf8();
                best = Some(Word { hash, stem: hash, id, start: at, end, flags: self.flags });
            }
        }
        self.flags = 0;
        self.newlines = 0;
        let Some(word) = best else { return at + rest.chars().next().map_or(1, char::len_utf8) };
        self.reading.words.push(word);
        word.end
    }
}

/// Counts words in a row, and returns how many there are.
fn in_row(count: &mut u32, is_one_more: bool) -> u32 {
    *count = if is_one_more { *count + 1 } else { 0 };
    *count
}

/// The letters that a digit may replace.
pub(super) fn digit_as_letters(digit: char) -> [char; 2] {
    match digit {
        '0' => ['o', 'o'],
        '1' => ['i', 'l'],
        '3' => ['e', 'e'],
        '4' => ['a', 'a'],
        '5' => ['s', 's'],
        '7' => ['t', 't'],
        '8' => ['b', 'b'],
        other => [other, other],
    }
}
