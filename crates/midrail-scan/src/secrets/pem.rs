//! Private keys in PEM blocks, read word by word, so that a stream does not hold back a block until it ends.

use serde::{Deserialize, Serialize};

use super::view::View;

/// The beginning of a block, up to its title.
pub(super) const BEGINS: &[&str] = &["-----BEGIN ", "---- BEGIN "];

const END: &[u8] = b"--END";
const ALTERNATIVE_END: &[u8] = b"- END";

/// The longest block with odd words in it. A block without an end continues as long as it resembles a key.
const MAX_BLOCK: usize = 64 * 1024;
/// The longest first and last line.
const MAX_LINE: usize = 80;
/// The shortest line of base 64, except for the last.
const MIN_LINE: usize = 20;
/// How many words in a row that are no base 64 end a block.
const MAX_ODD_WORDS: u32 = 6;
/// The longest gap between two words, such as indentation.
const MAX_GAP: usize = 256;
/// How many bytes from its first line on a block has to show a key.
const MAX_HEAD: usize = 2_048;
/// A longer word is read in parts.
const MAX_WORD: usize = 2_048;

/// A block that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pem {
    /// Where it begins.
    pub(super) start: usize,
    /// How many bytes it begins before the given text.
    pub(super) dropped: usize,
    /// The text before this place is part of the block.
    pub(super) sure: usize,
    place: usize,
    odd: u32,
}

impl Pem {
    /// A block with a private key, if one begins at a place.
    pub(super) fn begin(view: &View<'_>, start: usize, keyword_end: usize) -> Option<Self> {
        let title_end = view.run(keyword_end, MAX_LINE, |byte| byte.is_ascii_alphanumeric() || byte == b' ');
        let title = view.slice(keyword_end, title_end);
        let is_private = title.windows(11).any(|window| window == b"PRIVATE KEY");
        if !is_private || view.at(title_end) != Some(b'-') {
            return None;
        }
        let body = view.run(title_end, 8, |byte| byte == b'-');
        let mut pem = Pem { start, dropped: 0, sure: body, place: body, odd: 0 };
        pem.has_body(view).then_some(pem)
    }

    /// Whether a key follows, and not an ellipsis or the text of a manual.
    fn has_body(&mut self, view: &View<'_>) -> bool {
        let mut place = self.place;
        for _ in 0..24 {
            let (start, end) = word(view, place);
            let text = view.slice(start, end);
            if text.is_empty() || is_end(text) || end > self.place + MAX_HEAD + MAX_WORD {
                return false;
            }
            let text = unnumbered(text);
            let letters = text.strip_prefix(b"n").or(text.strip_prefix(b"r")).unwrap_or(text);
            let is_known = [&b"MII"[..], b"MIG", b"MHc", b"MC4", b"b3Bl", b"lQ", b"lI", b"xc"]
                .iter()
                .any(|known| letters.starts_with(known) && letters.iter().all(|byte| is_base64(*byte)));
            if is_known && letters.len() >= 4 || text == b"Proc-Type:" || is_line(text) {
                return true;
            }
            place = end;
        }
        false
    }

    /// Continues reading. Returns the end of the block, if it has arrived.
    pub(super) fn end(&mut self, view: &View<'_>) -> Option<usize> {
        loop {
            let (start, end) = word(view, self.place);
            let text = view.slice(start, end);
            if text.is_empty() {
                // The text ends, or may continue.
                return (!view.was_short())
                    .then(|| if self.odd == 0 { view.floor(start) } else { self.sure });
            }
            if is_end(text) {
                let title = view.run(end, MAX_LINE, |byte| byte.is_ascii_alphanumeric() || byte == b' ');
                let close = view.run(title, 5, |byte| byte == b'-');
                return (!view.was_short()).then_some(close);
            }
            if view.was_short() {
                return None;
            }
            if is_line(unnumbered(text)) {
                self.odd = 0;
                self.sure = end;
            } else if !is_number(text) {
                self.odd += 1;
            }
            self.place = end;
            let is_long = self.place + self.dropped > self.start + MAX_BLOCK;
            if self.odd > MAX_ODD_WORDS || is_long && self.odd > 0 {
                return Some(self.sure);
            }
        }
    }

    /// Moves the block after text before it was dropped.
    pub(super) fn moved(&mut self, by: usize) {
        self.dropped += by.saturating_sub(self.start);
        for place in [&mut self.start, &mut self.sure, &mut self.place] {
            *place = place.saturating_sub(by);
        }
    }
}

/// The next word from a place on.
fn word(view: &View<'_>, place: usize) -> (usize, usize) {
    let parts = |byte: u8| byte <= b' ' || matches!(byte, b'"' | b'\'' | b'\\' | b',' | b'`');
    let start = view.run(place, MAX_GAP, parts);
    (start, view.floor(view.run(start, MAX_WORD, |byte| !parts(byte))).max(start))
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn is_line(text: &[u8]) -> bool {
    text.len() >= MIN_LINE && text.iter().all(|byte| is_base64(*byte))
}

/// The number of a line, or what separates it from the line.
fn is_number(text: &[u8]) -> bool {
    text.len() <= 8
        && text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'|' | b'.' | b')' | b'>'))
}

/// A line without what tools add: `12→…`, `12:…`, `path/file:12:…`, `file-12-…`, `…$`.
fn unnumbered(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"$").unwrap_or(text);
    let mark = text.iter().rposition(|byte| matches!(byte, b':' | b'|' | b'-' | b'>' | 0x92));
    mark.and_then(|mark| text.get(mark + 1..)).filter(|rest| !rest.is_empty()).unwrap_or(text)
}

/// Whether a private key may begin in a text.
pub(super) fn may_begin(text: &str) -> bool {
    BEGINS.iter().any(|begin| text.contains(begin))
}

/// Lines of a private key in separate texts, as an array of strings or of objects.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The number of texts since the last line of a key, if one has begun.
    open: Option<u32>,
}

impl Lines {
    /// Whether the next text is a line of a key that has begun.
    pub(super) fn next(&mut self, text: &str) -> bool {
        let text = text.trim();
        let head = text.get(..text.len().min(MAX_LINE * 4)).unwrap_or(text);
        if BEGINS.iter().any(|begin| head.contains(begin)) && head.contains("PRIVATE KEY") {
            self.open = (!is_end(text.as_bytes())).then_some(1);
            return false;
        }
        let Some(odd) = self.open else { return false };
        let line = unnumbered(text.as_bytes());
        if is_end(text.as_bytes()) || odd > MAX_ODD_WORDS {
            self.open = None;
            return false;
        }
        // The last line is short.
        let is_last = odd == 0 && line.len() >= 2 && line.iter().all(|byte| is_base64(*byte));
        let is_long = is_line(line);
        self.open = Some(if is_long { 0 } else { odd + 1 });
        is_long || is_last
    }
}

fn is_end(text: &[u8]) -> bool {
    [END, ALTERNATIVE_END].iter().any(|end| text.windows(end.len()).any(|window| window == *end))
}
