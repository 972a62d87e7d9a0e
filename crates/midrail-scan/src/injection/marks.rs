//! Finds marks in any case: short texts that have a rare character. Nothing is built when the program starts.

use crate::bytes::byte;

/// The rare characters. The first of them in a mark is its anchor; a letter only if there is no other.
const RARE: &[u8; 5] = b"<[#:=";
const LETTER: u8 = b'y';

/// A mark.
#[derive(Clone, Copy)]
struct Mark {
    /// In lower case.
    text: &'static str,
    anchor: u8,
    /// Where the anchor is in the mark.
    offset: usize,
}

/// A list of marks.
pub(super) struct Marks<const N: usize> {
    marks: [Mark; N],
    /// The characters before and after the anchors of marks. Most anchors in a text have others.
    neighbours: u128,
}

/// A mark in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundMark {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The place of the mark in its list.
    pub(super) index: usize,
}

impl<const N: usize> Marks<N> {
    /// Marks of lower-case letters and ASCII characters. Each has a rare character or a `y`.
    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
    #[expect(clippy::as_conversions, reason = "evaluated by the compiler")]
    pub(super) const fn new(texts: [&'static str; N]) -> Self {
        let mut marks = [Mark { text: "", anchor: 0, offset: 0 }; N];
        let mut neighbours = 0;
        let mut at = 0;
        while at < N {
            let text = texts[at];
            let (anchor, offset) = anchor(text.as_bytes());
            marks[at] = Mark { text, anchor, offset };
            neighbours |= 1 << neighbour(text.as_bytes(), offset) as u32;
            at += 1;
        }
        Marks { marks, neighbours }
    }

    /// The marks of a text in order. Of overlapping ones, the one that ends first counts.
    pub(super) fn find(&self, text: &str) -> Vec<FoundMark> {
        let bytes = text.as_bytes();
        let mut found = Vec::new();
        let mut visit = |place: usize| self.find_at(bytes, place, &mut found);
        memchr::memchr3_iter(b'<', b'[', b'#', bytes).for_each(&mut visit);
        if self.has(b':') || self.has(b'=') {
            memchr::memchr2_iter(b':', b'=', bytes).for_each(&mut visit);
        }
        if self.has(LETTER) {
            memchr::memchr2_iter(LETTER, LETTER.to_ascii_uppercase(), bytes).for_each(&mut visit);
        }
        found.sort_by_key(|mark| (mark.end, mark.start));
        let mut done = 0;
        found.retain(|mark| {
            let is_free = mark.start >= done;
            done = if is_free { mark.end } else { done };
            is_free
        });
        found
    }

    /// The texts of the marks, in order.
    #[cfg(test)]
    pub(super) fn texts(&self) -> Vec<&'static str> {
        self.marks.iter().map(|mark| mark.text).collect()
    }

    fn has(&self, anchor: u8) -> bool {
        self.marks.iter().any(|mark| mark.anchor == anchor)
    }

    /// Adds the marks whose anchor is at a place.
    fn find_at(&self, bytes: &[u8], place: usize, found: &mut Vec<FoundMark>) {
        let anchor = byte(bytes, place).to_ascii_lowercase();
        let near = |at: usize| {
            let near = byte(bytes, at).to_ascii_lowercase();
            near < 128 && self.neighbours >> near & 1 == 1
        };
        if !near(place + 1) && !place.checked_sub(1).is_some_and(near) {
            return;
        }
        for (index, mark) in self.marks.iter().enumerate().filter(|(_, mark)| mark.anchor == anchor) {
            let start = place.checked_sub(mark.offset);
            let here = start.and_then(|start| bytes.get(start..start + mark.text.len()));
            if let Some(start) = start
                && here.is_some_and(|here| here.eq_ignore_ascii_case(mark.text.as_bytes()))
            {
                found.push(FoundMark { start, end: start + mark.text.len(), index });
            }
        }
    }
}

/// Two lists in one.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
pub(super) const fn joined<const N: usize>(
    first: &[&'static str],
    second: &[&'static str],
) -> [&'static str; N] {
    let mut all = [""; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() { first[at] } else { second[at - first.len()] };
        at += 1;
    }
    all
}

/// The first texts of pairs.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
pub(super) const fn firsts<const N: usize>(pairs: &[(&'static str, &'static str)]) -> [&'static str; N] {
    let mut all = [""; N];
    let mut at = 0;
    while at < N {
        all[at] = pairs[at].0;
        at += 1;
    }
    all
}

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn anchor(mark: &[u8]) -> (u8, usize) {
    let mut at = 0;
    while at < mark.len() {
        let mut rare = 0;
        while rare < RARE.len() {
            if mark[at] == RARE[rare] {
                return (mark[at], at);
            }
            rare += 1;
        }
        at += 1;
    }
    at = 0;
    while mark[at] != LETTER {
        at += 1;
    }
    (LETTER, at)
}

/// The character after an anchor at the beginning of a mark, or before any other.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn neighbour(mark: &[u8], offset: usize) -> u8 {
    if offset == 0 { mark[1] } else { mark[offset - 1] }
}
