//! Redirections and here-documents, as they are written.

use std::borrow::Cow;

use super::ast::{HereDoc, Redirect, RedirectKind, Word, WordPart, ends_word, is_name_byte};
use super::lex::{Until, is_quote};
use super::parse::{Parser, Pending};

impl<'a> Parser<'a> {
    pub(super) fn here_docs(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let start = self.at;
            let mut end = self.end;
            let mut next = self.end;
            let mut line_start = start;
            while line_start < self.end {
                let rest = self.bytes.get(line_start..self.end).unwrap_or(&[]);
                let line_end = memchr::memchr(b'\n', rest).map_or(self.end, |offset| line_start + offset);
                let mut line = self.slice(line_start, line_end);
                if pending.strips_tabs {
                    line = line.trim_start_matches('\t');
                }
                let line = line.trim_end_matches('\r');
                if line == pending.delimiter {
                    end = line_start;
                    next = (line_end + 1).min(self.end);
                    break;
                }
                // `EOF)` closes both in the shells.
                if let Some(after) = line.strip_prefix(pending.delimiter.as_str())
                    && self.depth > 0
                    && after.trim_start().starts_with(')')
                {
                    end = line_start;
                    next = line_end - self.slice(line_start, line_end).len()
                        + self.slice(line_start, line_end).find(pending.delimiter.as_str()).unwrap_or(0)
                        + pending.delimiter.len();
                    break;
                }
                line_start = line_end + 1;
            }
            let parts = if pending.is_quoted {
                vec![WordPart::Quoted(Cow::Borrowed(self.slice(start, end)))]
            } else {
                self.at = start;
                self.deeper(|parser| parser.within(end, |inner| inner.parts(Until::End))).unwrap_or_default()
            };
            self.at = if self.trouble.is_too_deep { self.end } else { next };
            let _ = pending.body.set(parts);
        }
    }

    pub(super) fn redirect(&mut self) -> Option<Redirect<'a>> {
        let start = self.at;
        let (fd, variable) = self.descriptor();
        let first = self.peek();
        let second = self.peek_at(1);
        let (length, make): (usize, fn(Word<'a>) -> RedirectKind<'a>) = match (first, second, self.peek_at(2))
        {
            (Some(b'<'), Some(b'<'), Some(b'<')) => (3, RedirectKind::HereString),
            (Some(b'<'), Some(b'<'), next) => {
                let strips_tabs = matches!(next, Some(b'-' | b'~'));
                self.at += if strips_tabs { 3 } else { 2 };
                return Some(Redirect { fd, variable, kind: self.here_doc(strips_tabs) });
            }
            (Some(b'<'), Some(b'>'), _) => (2, RedirectKind::Both),
            (Some(b'<'), Some(b'&'), _) => (2, RedirectKind::Duplicate),
            (Some(b'<'), next, _) if next != Some(b'(') => (1, RedirectKind::Read),
            (Some(b'>'), Some(b'>'), Some(b'|' | b'!')) => (3, RedirectKind::Append),
            (Some(b'>'), Some(b'>'), _) => (2, RedirectKind::Append),
            (Some(b'>'), Some(b'|' | b'!'), _) => (2, RedirectKind::Write),
            (Some(b'>'), Some(b'&'), _) => (2, RedirectKind::Duplicate),
            (Some(b'>'), next, _) if next != Some(b'(') => (1, RedirectKind::Write),
            (Some(b'&'), Some(b'>'), Some(b'>')) => (3, RedirectKind::Append),
            (Some(b'&'), Some(b'>'), Some(b'|')) => (3, RedirectKind::Write),
            (Some(b'&'), Some(b'>'), _) => (2, RedirectKind::Write),
            _ => {
                self.at = start;
                return None;
            }
        };
        self.at += length;
        self.skip_blanks();
        let word = self.argument();
        self.trouble.is_broken |= word.parts.is_empty();
        let mut kind = make(word);
        // `>& file` writes a file, `>&2` does not.
        if let RedirectKind::Duplicate(word) = &mut kind {
            let is_number =
                word.bare().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit() || b == b'-'));
            if !is_number && first == Some(b'>') && fd.is_none_or(|fd| fd == 1) && word.bare().is_some() {
                kind = RedirectKind::Write(std::mem::take(word));
            }
        }
        Some(Redirect { fd, variable, kind })
    }

    /// The digits or `{name}` before a redirection. They are skipped only where a redirection follows.
    pub(super) fn descriptor(&mut self) -> (Option<u32>, Option<&'a str>) {
        match self.peek() {
            Some(b'0'..=b'9') => {
                let digits = self.take_while(|byte| byte.is_ascii_digit());
                (digits.parse().ok(), None)
            }
            Some(b'{') => {
                let rest = self.bytes.get(self.at + 1..self.end).unwrap_or(&[]);
                let length = rest.iter().take(64).take_while(|byte| is_name_byte(**byte)).count();
                let closes =
                    rest.get(length) == Some(&b'}') && matches!(rest.get(length + 1), Some(b'<' | b'>'));
                if length > 0 && closes {
                    let name = self.slice(self.at + 1, self.at + 1 + length);
                    self.at += length + 2;
                    return (Some(10), Some(name));
                }
                (None, None)
            }
            _ => (None, None),
        }
    }

    pub(super) fn here_doc(&mut self, strips_tabs: bool) -> RedirectKind<'a> {
        self.skip_blanks();
        let mut delimiter = String::new();
        let mut is_quoted = false;
        while let Some(byte) = self.peek() {
            match byte {
                _ if ends_word(byte) => break,
                b'\'' | b'"' => {
                    is_quoted = true;
                    let open = self.at + 1;
                    let rest = self.bytes.get(open..self.end).unwrap_or(&[]);
                    let close = memchr::memchr2(byte, b'\n', rest).map_or(self.end, |offset| open + offset);
                    delimiter.push_str(self.slice(open, close));
                    self.at =
                        if self.bytes.get(close) == Some(&byte) { (close + 1).min(self.end) } else { close };
                }
                b'\\' => {
                    is_quoted = true;
                    self.at += 1;
                }
                b'$' if self.peek_at(1) == Some(b'\'') => self.at += 1,
                _ => {
                    let start = self.at;
                    while self.peek().is_some_and(|byte| !ends_word(byte) && !is_quote(byte)) {
                        self.at += 1;
                    }
                    delimiter.push_str(self.slice(start, self.at));
                }
            }
        }
        let body = HereDoc::default();
        self.pending.push(Pending { delimiter, is_quoted, strips_tabs, body: HereDoc::clone(&body) });
        RedirectKind::HereDoc(body)
    }
}
