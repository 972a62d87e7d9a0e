//! Text that people do not see: invisible characters that spell words, turned text, comments and invisible styles.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// A piece of a text that does not show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where it stands.
    pub(super) span: Range<usize>,
    /// What it says, where that is not the plain text of the span.
    pub(super) says: Option<String>,
    /// That it is there at all is a finding.
    pub(super) is_finding: bool,
}

/// Letters that tag characters spell before they are a message, and not the name of a flag.
const MIN_TAGS: usize = 9;
/// Invisible characters in a row that no honest text has.
const MIN_RUN: usize = 24;
/// Turned letters that hide something.
const MIN_TURNED: usize = 8;
/// The longest hidden piece that is looked at as one.
const MAX_PIECE: usize = 4_096;
/// What is taken of a piece that does not end: code that only names the mark goes on otherwise.
const MAX_OPEN: usize = 512;

/// The invisible characters of a text that are a message. Costs nothing where a text is plain.
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
                run.says.extend(char::from_u32(u32::from(c) - 0xe0000).filter(|c| matches!(c, ' '..='~')));
            }
            '\u{200b}'..='\u{200f}'
            | '\u{2060}'..='\u{2064}'
            | '\u{feff}'
            | '\u{e0100}'..='\u{e01ef}'
            | '\u{fe00}'..='\u{fe0f}' => {
                let run = run.get_or_insert_with(|| Run::new(at, false));
                run.span.end = end;
                run.others += 1;
                run.says.extend(selector_byte(c));
            }
            '\u{202e}' | '\u{202d}' => {
                finish(&mut run, &mut pieces);
                pieces.extend(turned(text, at, end));
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
    says: String,
    tags: usize,
    others: usize,
    is_flag: bool,
}

impl Run {
    fn new(at: usize, is_flag: bool) -> Self {
        Run { span: at..at, says: String::new(), tags: 0, others: 0, is_flag }
    }
}

fn finish(run: &mut Option<Run>, pieces: &mut Vec<Piece>) {
    let Some(run) = run.take() else { return };
    let is_flag = run.is_flag && run.tags < MIN_TAGS;
    if (run.tags >= 4 && !is_flag) || run.others >= MIN_RUN {
        pieces.push(Piece { span: run.span, says: Some(run.says), is_finding: true });
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

/// Text behind a mark that turns its direction: what it says is read backwards.
fn turned(text: &str, at: usize, from: usize) -> Option<Piece> {
    let rest = text.get(from..)?;
    let says: String = rest
        .chars()
        .take(MAX_PIECE)
        .take_while(|c| !matches!(c, '\u{202c}' | '\n' | '\u{202e}' | '\u{202d}'))
        .collect();
    let latin = says.chars().filter(char::is_ascii_alphabetic).count();
    let others = says.chars().filter(|c| c.is_alphabetic() && !c.is_ascii()).count();
    let span = at..from + says.len();
    (latin >= MIN_TURNED && latin > others).then(|| Piece {
        span,
        says: Some(says.chars().rev().collect()),
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

/// How a piece of markup begins that does not show, and how it ends.
const MARKUP: &[(&str, &str)] = &[
    ("<!--", "-->"),
    ("[//]: #", "\n"),
    ("[comment]: #", "\n"),
    ("[comment]: <>", "\n"),
    ("display:none", "</"),
    ("display: none", "</"),
    ("visibility:hidden", "</"),
    ("visibility: hidden", "</"),
    ("font-size:0", "</"),
    ("font-size: 0", "</"),
    ("font-size:1px", "</"),
    ("opacity:0;", "</"),
    ("opacity: 0;", "</"),
    ("opacity:0\"", "</"),
    ("color:white", "</"),
    ("color: white", "</"),
    ("color:#fff", "</"),
    ("color: #fff", "</"),
    ("color:transparent", "</"),
    ("aria-hidden=\"true\"", "</"),
    ("<hidden>", "</hidden"),
    ("left:-9999", "</"),
    ("left: -9999", "</"),
    ("<template", "</template"),
    ("<noscript", "</noscript"),
];

/// Pieces of markup that do not show. They are everyday things: what they say decides.
pub(super) fn markup(text: &str) -> Vec<Piece> {
    static BEGINNINGS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        AhoCorasick::builder().ascii_case_insensitive(true).build(MARKUP.iter().map(|(begin, _)| begin)).ok()
    });
    // Without these characters there is no markup to look at.
    if memchr::memchr2(b'<', b'[', text.as_bytes()).is_none() {
        return Vec::new();
    }
    let Some(beginnings) = BEGINNINGS.as_ref() else { return Vec::new() };
    let mut pieces: Vec<Piece> = Vec::new();
    for found in beginnings.find_iter(text) {
        if pieces.last().is_some_and(|piece| found.start() < piece.span.end) {
            continue;
        }
        let Some((_, end_mark)) = MARKUP.get(found.pattern().as_usize()) else { continue };
        let rest = text.get(found.end()..floor(text, found.end() + MAX_PIECE)).unwrap_or_default();
        // A rule of a style sheet hides an element that stands elsewhere.
        if *end_mark == "</" && rest.find(['>', '}']).is_some_and(|at| rest.get(at..=at) == Some("}")) {
            continue;
        }
        let length = rest.find(end_mark).unwrap_or_else(|| floor(rest, MAX_OPEN));
        pieces.push(Piece { span: found.end()..found.end() + length, says: None, is_finding: false });
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
        assert_eq!(pieces[0].says.as_deref(), Some("ignore me"));
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
        assert_eq!(pieces[0].says.as_deref(), Some("ignore the instructions"));
        assert_eq!(invisible("שלום \u{202e}שלום\u{202c}"), []);
    }

    #[test]
    fn markup_that_does_not_show_is_found() {
        let text = "a <!-- one --> b <p style=\"display:none\">two</p>\n[//]: # (three)\n";
        let says: Vec<&str> = markup(text).iter().map(|piece| &text[piece.span.clone()]).collect();
        assert_eq!(says, [" one ", "\">two", " (three)"]);
        assert_eq!(markup("<style>.menu { display: none; }</style><p>Shown</p>"), []);
    }
}
