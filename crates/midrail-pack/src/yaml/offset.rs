//! Conversion of positions: character counts to byte offsets, and offsets in the text of a scalar to offsets in the source.

use saphyr_parser::ScalarStyle as TextStyle;

use crate::diagnostic::Span;

/// Characters between two checkpoints.
const STRIDE: usize = 64;

/// Converts the parser's character counts to byte offsets.
pub(super) struct Offsets {
    /// Byte offset of every `STRIDE`th character; empty if every character is one byte.
    checkpoints: Vec<usize>,
}

impl Offsets {
    pub(super) fn new(source: &str) -> Offsets {
        if source.is_ascii() {
            return Offsets { checkpoints: Vec::new() };
        }
        Offsets { checkpoints: source.char_indices().step_by(STRIDE).map(|(at, _)| at).collect() }
    }

    pub(super) fn byte(&self, source: &str, character: usize) -> usize {
        if self.checkpoints.is_empty() {
            return character.min(source.len());
        }
        let Some(checkpoint) = self.checkpoints.get(character / STRIDE) else { return source.len() };
        let rest = source.get(*checkpoint..).unwrap_or_default();
        match rest.char_indices().nth(character % STRIDE) {
            Some((at, _)) => checkpoint + at,
            None => source.len(),
        }
    }
}

/// The source offset of byte `target` of a scalar's text.
///
/// Folding and block indentation change white space only, so source and text are aligned by their other characters;
/// white space in the text is placed after the preceding character.
pub(super) fn align(source: &str, span: &Span, text: &str, style: TextStyle, target: usize) -> Option<usize> {
    let raw = source.get(span.clone())?;
    let target = text.floor_char_boundary(target.min(text.len()));
    let (open, content) = match style {
        TextStyle::Plain | TextStyle::Literal | TextStyle::Folded => (0, raw),
        TextStyle::SingleQuoted => (1, raw.strip_prefix('\'')?.strip_suffix('\'')?),
        TextStyle::DoubleQuoted => (1, raw.strip_prefix('"')?.strip_suffix('"')?),
    };
    let base = span.start + open;
    if content == text {
        return Some(base + target);
    }

    let mut units = Units { content, at: 0, style };
    let mut after = 0;
    let mut blanks = 0;
    for (at, c) in text.char_indices() {
        if c.is_whitespace() {
            if at >= target {
                break;
            }
            blanks += c.len_utf8();
            continue;
        }
        let (start, end, unit) = units.find(|(_, _, unit)| !unit.is_whitespace())?;
        if unit != c {
            return None;
        }
        if at >= target {
            return Some(base + start);
        }
        after = end;
        blanks = 0;
    }
    // Spaces on the line of the preceding character are the same in source and text.
    let same_line = content.get(after..after + blanks).is_some_and(|gap| gap.chars().all(|c| c == ' '));
    Some(base + after + if same_line { blanks } else { 0 })
}

/// The characters of the source of a scalar with resolved escapes, each with its place.
struct Units<'a> {
    content: &'a str,
    at: usize,
    style: TextStyle,
}

impl Iterator for Units<'_> {
    type Item = (usize, usize, char);

    fn next(&mut self) -> Option<(usize, usize, char)> {
        let rest = self.content.get(self.at..)?;
        let mut chars = rest.chars();
        let first = chars.next()?;
        let (length, unit) = match (self.style, first) {
            (TextStyle::SingleQuoted, '\'') => (2, '\''),
            (TextStyle::DoubleQuoted, '\\') => escape(rest, chars.next()?),
            _ => (first.len_utf8(), first),
        };
        let start = self.at;
        self.at += length;
        Some((start, self.at, unit))
    }
}

fn escape(rest: &str, kind: char) -> (usize, char) {
    let hex = |digits: usize| {
        let code = rest.get(2..2 + digits).and_then(|code| u32::from_str_radix(code, 16).ok());
        (2 + digits, code.and_then(char::from_u32).unwrap_or('\u{fffd}'))
    };
    match kind {
        'x' => hex(2),
        'u' => hex(4),
        'U' => hex(8),
        'n' | 't' | 'r' | 'N' | '_' | 'L' | 'P' | 'v' | 'f' => (2, ' '),
        '0' => (2, '\0'),
        'a' => (2, '\u{7}'),
        'b' => (2, '\u{8}'),
        'e' => (2, '\u{1b}'),
        other => (1 + other.len_utf8(), other),
    }
}
