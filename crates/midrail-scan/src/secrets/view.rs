//! A view of a text that may continue: the text so far, and whether a read went past its end.

use std::cell::Cell;

use crate::bytes::{floor, is_word};

/// How far any rule looks back from its keyword. A stream keeps this much released text.
pub(super) const LOOK_BACK: usize = 160;

/// The longest list of numbers in a colour sequence.
const MAX_ANSI: usize = 20;

/// A text that may continue.
///
/// INVARIANT: every rule reads bytes through a view, so that a stream knows when a rule needed more text. The result of a rule
/// that never read past the end is the same on the whole text.
#[derive(Debug)]
pub(super) struct View<'t> {
    pub(super) text: &'t str,
    bytes: &'t [u8],
    /// Whether the text is complete.
    last: bool,
    short: Cell<bool>,
    /// The range of the last value without quotes.
    pub(super) bare: Cell<(usize, usize)>,
}

impl<'t> View<'t> {
    pub(super) fn new(text: &'t str, last: bool) -> Self {
        View { text, bytes: text.as_bytes(), last, short: Cell::new(false), bare: Cell::new((0, 0)) }
    }

    /// Whether the text is complete.
    pub(super) fn is_last(&self) -> bool {
        self.last
    }

    /// The byte at a place, if there is one.
    pub(super) fn at(&self, place: usize) -> Option<u8> {
        let byte = self.bytes.get(place).copied();
        if byte.is_none() && !self.last {
            self.short.set(true);
        }
        byte
    }

    /// The byte before a place.
    pub(super) fn before(&self, place: usize) -> Option<u8> {
        self.bytes.get(place.checked_sub(1)?).copied()
    }

    /// Bytes that exist.
    pub(super) fn slice(&self, start: usize, end: usize) -> &'t [u8] {
        self.bytes.get(start..end.min(self.bytes.len())).unwrap_or_default()
    }

    /// The end of the run of members from a place on, at most `limit` bytes away.
    pub(super) fn run(&self, from: usize, limit: usize, member: impl Fn(u8) -> bool) -> usize {
        let end = from.saturating_add(limit);
        let found = self.slice(from, end).iter().position(|byte| !member(*byte));
        let place = found.map_or(self.bytes.len().min(end), |length| from + length);
        if found.is_none() && place < end {
            // The run reaches the end of the text.
            self.at(place);
        }
        place
    }

    /// The start of the run of members before a place, at most `limit` bytes away.
    pub(super) fn run_back(&self, from: usize, limit: usize, member: impl Fn(u8) -> bool) -> usize {
        let start = from.saturating_sub(limit);
        let back = self.slice(start, from).iter().rev().take_while(|byte| member(**byte)).count();
        from - back
    }

    /// Whether a text is at a place.
    pub(super) fn starts_with(&self, place: usize, text: &[u8]) -> bool {
        text.iter().enumerate().all(|(index, byte)| self.at(place + index) == Some(*byte))
    }

    /// Whether a read went past the end since the last call.
    pub(super) fn was_short(&self) -> bool {
        self.short.replace(false)
    }

    /// The nearest character boundary at or before a place.
    pub(super) fn floor(&self, place: usize) -> usize {
        floor(self.text, place)
    }

    /// Whether an escape (`\n`, `%3D`), and not a word, ends at a place.
    pub(super) fn follows_escape(&self, place: usize) -> bool {
        let back = |count: usize| place.checked_sub(count).and_then(|place| self.bytes.get(place)).copied();
        let is_hex = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit());
        let is_byte = is_hex(back(2)) && is_hex(back(1));
        (back(2) == Some(b'\\') && matches!(back(1), Some(b'n' | b't' | b'r')))
            || (back(3) == Some(b'%') && is_byte)
            || (back(4) == Some(b'\\') && back(3) == Some(b'x') && is_byte)
            || (back(6) == Some(b'\\')
                && back(5) == Some(b'u')
                && is_hex(back(4))
                && is_hex(back(3))
                && is_byte)
            || matches!(back(1), Some(b'm' | b'K')) && self.is_ansi_before(place - 1)
    }

    /// Whether the head of a colour sequence is before its last letter: `\x1b[32`, as a byte or spelled out.
    fn is_ansi_before(&self, letter: usize) -> bool {
        const HEADS: &[&[u8]] = &[b"\x1b", b"\\u001b", b"\\u001B", b"\\x1b", b"\\x1B", b"\\e", b"\\033"];
        let open = self.run_back(letter, MAX_ANSI, |byte| byte.is_ascii_digit() || byte == b';');
        let Some(bracket) = open.checked_sub(1) else { return false };
        let head = self.slice(bracket.saturating_sub(6), bracket);
        self.bytes.get(bracket) == Some(&b'[') && HEADS.iter().any(|known| head.ends_with(known))
    }

    /// The place behind a sequence that is cut off by the start of a name: in `\x1b[32mtoken` the name is `token`.
    pub(super) fn past_ansi_tail(&self, start: usize, upto: usize) -> usize {
        if self.before(start) != Some(b'[') {
            return start;
        }
        let letter = start
            + self
                .slice(start, upto)
                .iter()
                .take_while(|byte| byte.is_ascii_digit() || **byte == b';')
                .count();
        let is_letter = matches!(self.slice(letter, upto).first(), Some(b'm' | b'K'));
        if is_letter && self.is_ansi_before(letter) { letter + 1 } else { start }
    }

    /// The place behind the colour sequences at a place.
    #[inline]
    pub(super) fn past_ansi(&self, from: usize) -> usize {
        if matches!(self.at(from), Some(b'\x1b' | b'\\')) { self.past_some_ansi(from) } else { from }
    }

    fn past_some_ansi(&self, from: usize) -> usize {
        const HEADS: &[&[u8]] = &[b"\x1b[", b"\\u001b[", b"\\u001B[", b"\\x1b[", b"\\e[", b"\\033["];
        let mut place = from;
        for _ in 0..6 {
            if !matches!(self.at(place), Some(b'\x1b' | b'\\')) {
                break;
            }
            let Some(head) = HEADS.iter().find(|head| self.starts_with(place, head)) else { break };
            let letter = self.run(place + head.len(), MAX_ANSI, |byte| byte.is_ascii_digit() || byte == b';');
            if !matches!(self.at(letter), Some(b'm' | b'K')) {
                break;
            }
            place = letter + 1;
        }
        place
    }

    /// Whether a word may begin at a place.
    pub(super) fn starts_word(&self, place: usize) -> bool {
        self.before(place).is_none_or(|byte| !is_word(byte)) || self.follows_escape(place)
    }
}
