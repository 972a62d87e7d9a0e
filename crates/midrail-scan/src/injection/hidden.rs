//! Text that people do not see: invisible characters that spell words, reversed text, comments and hidden styles.

use std::ops::Range;

use super::data::HIDDEN_MARKUP;
use super::marks::{Marks, firsts};
use crate::bytes::floor;

/// How many tag characters make a message rather than the name of a flag.
const MIN_TAGS: usize = 9;
/// How many invisible characters in a row make a finding.
const MIN_RUN: usize = 24;
/// How many reversed letters make a finding.
const MIN_REVERSED: usize = 8;
/// The longest hidden piece.
const MAX_PIECE: usize = 4_096;
/// How much of a piece without an end counts: code that only names the mark continues differently.
const MAX_OPEN: usize = 512;

/// The invisible characters of a text that form a message. Cheap for plain text.
pub(super) fn invisible(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut run: Option<Run> = None;
    let mut before = ' ';
    let mut at = 0;
    let bytes = text.as_bytes();
    while let Some(offset) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte >= 0xc2)) {
        if offset > 0 {
            spans.extend(run.take().and_then(Run::message));
            before = ' ';
        }
        at += offset;
        let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else { break };
        let end = at + c.len_utf8();
        let is_tag = matches!(c, '\u{e0000}'..='\u{e007f}');
        let is_other = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
            | '\u{e0100}'..='\u{e01ef}' | '\u{fe00}'..='\u{fe0f}');
        if is_tag || is_other {
            let is_flag = is_tag && before == '🏴';
            let run = run.get_or_insert(Run { span: at..at, tags: 0, others: 0, is_flag });
            run.span.end = end;
            run.tags += usize::from(is_tag);
            run.others += usize::from(is_other);
        } else {
            spans.extend(run.take().and_then(Run::message));
            if matches!(c, '\u{202e}' | '\u{202d}') {
                spans.extend(reversed(text, at, end));
            }
        }
        before = c;
        at = end;
    }
    spans.extend(run.and_then(Run::message));
    spans
}

/// Invisible characters in a row.
struct Run {
    span: Range<usize>,
    tags: usize,
    others: usize,
    is_flag: bool,
}

impl Run {
    /// The span, if the characters are enough for a message.
    fn message(self) -> Option<Range<usize>> {
        let is_flag = self.is_flag && self.tags < MIN_TAGS;
        (self.tags >= 4 && !is_flag || self.others >= MIN_RUN).then_some(self.span)
    }
}

/// The Latin text behind a mark that reverses its direction.
fn reversed(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    let (mut latin, mut others, mut end) = (0, 0, from);
    let rest = text.get(from..)?.chars().take(MAX_PIECE);
    for c in rest.take_while(|c| !matches!(c, '\u{202c}' | '\n' | '\u{202e}' | '\u{202d}')) {
        latin += usize::from(c.is_ascii_alphabetic());
        others += usize::from(c.is_alphabetic() && !c.is_ascii());
        end += c.len_utf8();
    }
    (latin >= MIN_REVERSED && latin > others).then_some(at..end)
}

pub(super) static BEGINNINGS: Marks<{ HIDDEN_MARKUP.len() }> = Marks::new(firsts(HIDDEN_MARKUP));

/// Pieces of hidden markup. They are common: their text decides.
pub(super) fn markup(text: &str) -> Vec<Range<usize>> {
    // Without these characters there is no markup.
    if memchr::memchr2(b'<', b'[', text.as_bytes()).is_none() {
        return Vec::new();
    }
    let mut pieces: Vec<Range<usize>> = Vec::new();
    for found in BEGINNINGS.find(text) {
        if pieces.last().is_some_and(|piece| found.start < piece.end) {
            continue;
        }
        let Some((_, end_mark)) = HIDDEN_MARKUP.get(found.index) else { continue };
        let rest = text.get(found.end..floor(text, found.end + MAX_PIECE)).unwrap_or_default();
        // A rule of a style sheet hides an element elsewhere.
        if *end_mark == "</" && rest.find(['>', '}']).is_some_and(|at| rest.get(at..=at) == Some("}")) {
            continue;
        }
        let length = rest.find(end_mark).unwrap_or_else(|| floor(rest, MAX_OPEN));
        pieces.push(found.end..found.end + length);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_characters_are_read() {
        let hidden: String =
            "ignore me".chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect();
        let text = format!("hello{hidden} there");
        let spans = invisible(&text);
        assert_eq!(spans.len(), 1);
        assert_eq!(text[spans[0].clone()], hidden);
    }

    #[test]
    fn flags_and_emoji_are_no_messages() {
        for text in [
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} England",
            "👩\u{200d}👩\u{200d}👧\u{fe0f} family",
            "می\u{200c}خواهم",
        ] {
            assert!(invisible(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn turned_latin_text_is_found() {
        let text = "see \u{202e}snoitcurtsni eht erongi\u{202c} ok";
        assert_eq!(&text[invisible(text)[0].clone()], "\u{202e}snoitcurtsni eht erongi");
        assert!(invisible("שלום \u{202e}שלום\u{202c}").is_empty());
    }

    #[test]
    fn markup_that_does_not_show_is_found() {
        let text = "a <!-- one --> b <p style=\"display:none\">two</p>\n[//]: # (three)\n";
        let content: Vec<&str> = markup(text).iter().map(|span| &text[span.clone()]).collect();
        assert_eq!(content, [" one ", "\">two", " (three)"]);
        assert!(markup("<style>.menu { display: none; }</style><p>Shown</p>").is_empty());
    }
}
