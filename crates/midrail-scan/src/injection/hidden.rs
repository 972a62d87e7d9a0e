//! Text that people do not see: invisible characters that spell words, reversed text, comments and hidden styles.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::data::HIDDEN_MARKUP;

/// A hidden piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its place.
    pub(super) span: Range<usize>,
    /// Its text, if it differs from the text of the span.
    pub(super) content: Option<String>,
    /// Whether its existence is a finding.
    pub(super) is_finding: bool,
}

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
pub(super) fn invisible(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut run: Option<Run> = None;
    let mut before = ' ';
    let mut at = 0;
    let bytes = text.as_bytes();
    while let Some(offset) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte >= 0xc2)) {
        if offset > 0 {
            finish(&mut run, &mut pieces);
            before = ' ';
        }
        at += offset;
        let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else { break };
        let end = at + c.len_utf8();
        match c {
            '\u{e0000}'..='\u{e007f}' => {
                let run = run.get_or_insert_with(|| Run::new(at, before == '🏴'));
                run.span.end = end;
                run.tags += 1;
                run.content.extend(char::from_u32(u32::from(c) - 0xe0000).filter(|c| matches!(c, ' '..='~')));
            }
            '\u{200b}'..='\u{200f}'
            | '\u{2060}'..='\u{2064}'
            | '\u{feff}'
            | '\u{e0100}'..='\u{e01ef}'
            | '\u{fe00}'..='\u{fe0f}' => {
                let run = run.get_or_insert_with(|| Run::new(at, false));
                run.span.end = end;
                run.others += 1;
                run.content.extend(selector_byte(c));
            }
            '\u{202e}' | '\u{202d}' => {
                finish(&mut run, &mut pieces);
                pieces.extend(reversed(text, at, end));
            }
            _ => finish(&mut run, &mut pieces),
        }
        before = c;
        at = end;
    }
    finish(&mut run, &mut pieces);
    pieces
}

struct Run {
    span: Range<usize>,
    content: String,
    tags: usize,
    others: usize,
    is_flag: bool,
}

impl Run {
    fn new(at: usize, is_flag: bool) -> Self {
        Run { span: at..at, content: String::new(), tags: 0, others: 0, is_flag }
    }
}

fn finish(run: &mut Option<Run>, pieces: &mut Vec<Piece>) {
    let Some(run) = run.take() else { return };
    let is_flag = run.is_flag && run.tags < MIN_TAGS;
    if (run.tags >= 4 && !is_flag) || run.others >= MIN_RUN {
        pieces.push(Piece { span: run.span, content: Some(run.content), is_finding: true });
    }
}

/// Variation selectors can carry a byte each.
fn selector_byte(c: char) -> Option<char> {
    let code = u32::from(c);
    let byte = match code {
        0xfe00..=0xfe0f => code - 0xfe00,
        0xe0100..=0xe01ef => code - 0xe0100 + 16,
        _ => return None,
    };
    char::from_u32(byte).filter(|c| matches!(c, ' '..='~'))
}

/// Text behind a mark that reverses its direction, read backwards.
fn reversed(text: &str, at: usize, from: usize) -> Option<Piece> {
    let rest = text.get(from..)?;
    let content: String = rest
        .chars()
        .take(MAX_PIECE)
        .take_while(|c| !matches!(c, '\u{202c}' | '\n' | '\u{202e}' | '\u{202d}'))
        .collect();
    let latin = content.chars().filter(char::is_ascii_alphabetic).count();
    let others = content.chars().filter(|c| c.is_alphabetic() && !c.is_ascii()).count();
    let span = at..from + content.len();
    (latin >= MIN_REVERSED && latin > others).then(|| Piece {
        span,
        content: Some(content.chars().rev().collect()),
        is_finding: true,
    })
}

/// The last character boundary up to a length.
pub(super) fn floor(text: &str, length: usize) -> usize {
    let mut at = length.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Pieces of hidden markup. They are common: their text decides.
pub(super) fn markup(text: &str) -> Vec<Piece> {
    static BEGINNINGS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(HIDDEN_MARKUP.iter().map(|(begin, _)| begin))
            .ok()
    });
    // Without these characters there is no markup.
    if memchr::memchr2(b'<', b'[', text.as_bytes()).is_none() {
        return Vec::new();
    }
    let Some(beginnings) = BEGINNINGS.as_ref() else { return Vec::new() };
    let mut pieces: Vec<Piece> = Vec::new();
    for found in beginnings.find_iter(text) {
        if pieces.last().is_some_and(|piece| found.start() < piece.span.end) {
            continue;
        }
        let Some((_, end_mark)) = HIDDEN_MARKUP.get(found.pattern().as_usize()) else { continue };
        let rest = text.get(found.end()..floor(text, found.end() + MAX_PIECE)).unwrap_or_default();
        // A rule of a style sheet hides an element elsewhere.
        if *end_mark == "</" && rest.find(['>', '}']).is_some_and(|at| rest.get(at..=at) == Some("}")) {
            continue;
        }
        let length = rest.find(end_mark).unwrap_or_else(|| floor(rest, MAX_OPEN));
        pieces.push(Piece { span: found.end()..found.end() + length, content: None, is_finding: false });
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
        let pieces = invisible(&text);
        assert_eq!(pieces.len(), 1);
        assert_eq!(pieces[0].content.as_deref(), Some("ignore me"));
        assert!(text.is_char_boundary(pieces[0].span.start) && text.is_char_boundary(pieces[0].span.end));
    }

    #[test]
    fn flags_and_emoji_are_no_messages() {
        for text in [
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} England",
            "👩\u{200d}👩\u{200d}👧\u{fe0f} family",
            "می\u{200c}خواهم",
        ] {
            assert_eq!(invisible(text), [], "{text}");
        }
    }

    #[test]
    fn turned_latin_text_is_found() {
        let pieces = invisible("see \u{202e}snoitcurtsni eht erongi\u{202c} ok");
        assert_eq!(pieces[0].content.as_deref(), Some("ignore the instructions"));
        assert_eq!(invisible("שלום \u{202e}שלום\u{202c}"), []);
    }

    #[test]
    fn markup_that_does_not_show_is_found() {
        let text = "a <!-- one --> b <p style=\"display:none\">two</p>\n[//]: # (three)\n";
        let content: Vec<&str> = markup(text).iter().map(|piece| &text[piece.span.clone()]).collect();
        assert_eq!(content, [" one ", "\">two", " (three)"]);
        assert_eq!(markup("<style>.menu { display: none; }</style><p>Shown</p>"), []);
    }
}
