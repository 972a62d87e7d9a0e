//! Words of the shell: quotes, escapes and every kind of expansion, parsed into parts. The grammar of commands is in
//! [`super::parse`].

use std::borrow::Cow;
use std::rc::Rc;

use super::ast::{List, Param, Substitution, Word, WordPart, ends_word, is_name_byte, is_name_start};
use super::decode::{self, Escapes};
use super::parse::{Parser, Stops};

/// Where the parts that are being read end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// The end of a word.
    Word,
    /// The quote that closes `"…"`.
    Quote,
    /// The `}` of `${…}`, or a `/` or `:` before it.
    Brace { is_quoted: bool, stop: Option<u8> },
    /// The end of the text: a here-document or arithmetic.
    End,
}

/// Bytes that quote others.
pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'\\' | b'\'' | b'"')
}

/// Bytes that end a run of plain text in a word.
fn is_special(byte: u8) -> bool {
    ends_word(byte) || is_quote(byte) || matches!(byte, b'$' | b'`')
}

impl<'a> Parser<'a> {
    /// Reads a word. The caller has made sure that one begins here.
    pub(super) fn word(&mut self) -> Word<'a> {
        self.words += 1;
        let parts = self.parts(Until::Word);
        let has_brace = parts.iter().any(|part| matches!(part, WordPart::Bare(text) if text.contains('{')));
        Word { parts, has_brace }
    }

    /// Reads parts up to the given end, which is not consumed.
    pub(super) fn parts(&mut self, until: Until) -> Vec<WordPart<'a>> {
        let mut parts = Vec::new();
        while let Some(byte) = self.peek() {
            let before = self.at;
            match byte {
                b'\\' => self.escape(until, &mut parts),
                b'$' => self.dollar(until, &mut parts),
                b'`' => self.backtick(until, &mut parts),
                b'"' => match until {
                    Until::Quote => break,
                    Until::End => self.plain(until, &mut parts),
                    // Inside of `"${x:-"y"}"` the inner quotes are quotes of their own.
                    Until::Word | Until::Brace { .. } => self.double(&mut parts),
                },
                b'\'' if matches!(until, Until::Word | Until::Brace { is_quoted: false, .. }) => {
                    self.single(&mut parts)
                }
                b'}' if matches!(until, Until::Brace { .. }) => break,
                _ if matches!(until, Until::Brace { stop, .. } if stop == Some(byte)) => break,
                b'<' | b'>' | b'=' if until == Until::Word && self.peek_at(1) == Some(b'(') => {
                    // `=(…)` is one of zsh, and only at the start of a word; elsewhere an array is assigned.
                    if byte == b'=' && !parts.is_empty() {
                        self.equals_sign(&mut parts);
                    } else {
                        self.process(&mut parts);
                    }
                }
                b'(' if until == Until::Word => {
                    if !self.parenthesis_in_word(&mut parts) {
                        break;
                    }
                }
                _ if until == Until::Word && is_special(byte) => break,
                _ => self.plain(until, &mut parts),
            }
            if self.at == before {
                // A byte that no rule takes is plain text.
                self.at += 1;
                self.push_bare(before, self.at, &mut parts);
            }
        }
        parts
    }

    /// The `=` before a parenthesis: one text with the name before it.
    fn equals_sign(&mut self, parts: &mut Vec<WordPart<'a>>) {
        let mut start = self.at;
        if let Some(WordPart::Bare(name)) = parts.last() {
            start = start.saturating_sub(name.len());
            parts.pop();
        }
        self.at += 1;
        self.push_bare(start, self.at, parts);
    }

    /// A run of plain text.
    fn plain(&mut self, until: Until, parts: &mut Vec<WordPart<'a>>) {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.peek() {
            let ends = match until {
                Until::Word => is_special(byte) || (byte == b'=' && self.peek_at(1) == Some(b'(')),
                Until::Quote => matches!(byte, b'\\' | b'"' | b'$' | b'`'),
                Until::Brace { stop, .. } => {
                    matches!(byte, b'\\' | b'"' | b'\'' | b'$' | b'`' | b'}') || stop == Some(byte)
                }
                Until::End => matches!(byte, b'\\' | b'$' | b'`'),
            };
            if ends {
                break;
            }
            self.at += 1;
        }
        self.push_bare(start, self.at, parts);
    }

    fn push_bare(&self, start: usize, end: usize, parts: &mut Vec<WordPart<'a>>) {
        if start < end {
            parts.push(WordPart::Bare(self.slice(start, end)));
        }
    }

    fn escape(&mut self, until: Until, parts: &mut Vec<WordPart<'a>>) {
        let start = self.at;
        let Some(next) = self.peek_at(1) else {
            self.at += 1;
            parts.push(WordPart::Quoted(Cow::Borrowed("\\")));
            return;
        };
        let length =
            self.text.get(start + 1..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        self.at = (start + 1 + length).min(self.end);
        if next == b'\n' {
            return;
        }
        // Windows line ends: a backslash before them continues the line too.
        if next == b'\r' && self.peek() == Some(b'\n') {
            self.at += 1;
            return;
        }
        let keeps = match until {
            Until::Word | Until::Brace { is_quoted: false, .. } => false,
            Until::Quote | Until::Brace { is_quoted: true, .. } => {
                !matches!(next, b'$' | b'`' | b'"' | b'\\' | b'}')
            }
            Until::End => !matches!(next, b'$' | b'`' | b'\\'),
        };
        let from = if keeps { start } else { start + 1 };
        parts.push(WordPart::Quoted(Cow::Borrowed(self.slice(from, self.at))));
    }

    fn single(&mut self, parts: &mut Vec<WordPart<'a>>) {
        let start = self.at + 1;
        let found = self.bytes.get(start..self.end).and_then(|rest| memchr::memchr(b'\'', rest));
        let end = match found {
            Some(offset) => start + offset,
            None => {
                self.trouble.is_broken = true;
                self.end
            }
        };
        parts.push(WordPart::Quoted(Cow::Borrowed(self.slice(start, end))));
        self.at = (end + 1).min(self.end);
    }

    pub(super) fn double(&mut self, parts: &mut Vec<WordPart<'a>>) {
        self.at += 1;
        let Some(inner) = self.deeper(|parser| parser.parts(Until::Quote)) else { return };
        self.expect(b'"');
        parts.push(WordPart::Double(Rc::new(inner)));
    }

    /// `$'…'`: escapes as in C.
    fn ansi(&mut self, parts: &mut Vec<WordPart<'a>>) {
        self.at += 2;
        let start = self.at;
        let mut has_escape = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'\'' => break,
                b'\\' => {
                    has_escape = true;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.end);
        let raw = self.slice(start, self.at);
        self.expect(b'\'');
        let decoded = if has_escape { decode::escapes(raw, Escapes::AnsiC) } else { None };
        parts.push(WordPart::Quoted(decoded.map_or(Cow::Borrowed(raw), Cow::Owned)));
    }

    fn dollar(&mut self, until: Until, parts: &mut Vec<WordPart<'a>>) {
        let start = self.at;
        let Some(next) = self.peek_at(1) else { return self.plain_dollar(parts) };
        match next {
            b'\'' if matches!(until, Until::Word | Until::Brace { is_quoted: false, .. }) => self.ansi(parts),
            b'"' if matches!(until, Until::Word | Until::Brace { is_quoted: false, .. }) => {
                self.at += 1;
                self.double(parts);
            }
            b'(' => self.dollar_parenthesis(parts),
            b'[' => self.old_arithmetic(parts),
            b'{' => self.braced(until, parts),
            _ if is_name_start(next) => {
                self.at += 1;
                let name = self.take_while(is_name_byte);
                parts.push(plain_param(name, self.slice(start, self.at)));
            }
            b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => {
                self.at += 2;
                parts.push(plain_param(self.slice(start + 1, self.at), self.slice(start, self.at)));
            }
            _ => self.plain_dollar(parts),
        }
    }

    /// A `$` that expands nothing.
    fn plain_dollar(&mut self, parts: &mut Vec<WordPart<'a>>) {
        self.at += 1;
        parts.push(WordPart::Quoted(Cow::Borrowed("$")));
    }

    fn dollar_parenthesis(&mut self, parts: &mut Vec<WordPart<'a>>) {
        let start = self.at;
        if self.peek_at(2) == Some(b'(')
            && let Some(close) = self.arithmetic_end(start + 3)
        {
            let Some(inner) = self.arithmetic(start + 3, close, 2) else { return };
            parts.push(WordPart::Arithmetic { parts: Rc::new(inner), source: self.slice(start, self.at) });
            return;
        }
        self.at += 2;
        let Some(list) = self.parenthesised() else { return };
        parts.push(WordPart::Command(self.substitution(start, list)));
    }

    /// The parts of arithmetic between two places. The signs that close it are consumed. `None` where it is nested too deep.
    pub(super) fn arithmetic(
        &mut self,
        from: usize,
        close: usize,
        signs: usize,
    ) -> Option<Vec<WordPart<'a>>> {
        self.at = from;
        let parts = self.deeper(|parser| parser.within(close, |inner| inner.parts(Until::End)))?;
        self.at = close + signs;
        Some(parts)
    }

    /// A list of commands whose output takes the place of the text from a byte to here.
    fn substitution(&self, start: usize, list: List<'a>) -> Rc<Substitution<'a>> {
        let is_sink = self.bytes.get(start) == Some(&b'>');
        Rc::new(Substitution { list, source: self.slice(start, self.at), is_sink })
    }

    /// The list up to a `)`, which is consumed. `None` where it is nested too deep.
    pub(super) fn parenthesised(&mut self) -> Option<List<'a>> {
        let list = self.deeper(|parser| parser.list(Stops::PARENTHESIS))?;
        self.expect(b')');
        Some(list)
    }

    fn old_arithmetic(&mut self, parts: &mut Vec<WordPart<'a>>) {
        let start = self.at;
        let found =
            self.bytes.get(start..self.end).and_then(|rest| rest.iter().take(200).position(|b| *b == b']'));
        let Some(offset) = found else { return self.plain_dollar(parts) };
        let inner = self.arithmetic(start + 2, start + offset, 1).unwrap_or_default();
        let source = self.slice(start, self.at);
        parts.push(WordPart::Arithmetic { parts: Rc::new(inner), source });
    }

    /// `${…}`
    fn braced(&mut self, until: Until, parts: &mut Vec<WordPart<'a>>) {
        let start = self.at;
        self.at += 2;
        let is_quoted = matches!(until, Until::Quote | Until::End | Until::Brace { is_quoted: true, .. });
        // `${ command; }` and `${| command; }` run a command in new shells.
        if matches!(self.peek(), Some(b' ' | b'\n' | b'\t' | b'|')) {
            self.eat(b'|');
            let Some(list) = self.deeper(|parser| parser.list(Stops::BRACE)) else { return };
            self.eat_word("}");
            parts.push(WordPart::Command(self.substitution(start, list)));
            return;
        }
        // Flags of zsh: `${(f)x}`.
        if self.peek() == Some(b'(') {
            self.skip_balanced_text(b'(', b')');
        }
        let is_prefix = self.peek_at(1).is_some_and(|next| is_name_byte(next) || matches!(next, b'@' | b'*'));
        let is_indirect = is_prefix && self.eat(b'!');
        let is_length = is_prefix && !is_indirect && self.eat(b'#');
        let name_start = self.at;
        match self.peek() {
            Some(byte) if is_name_byte(byte) => {
                let _ = self.take_while(is_name_byte);
            }
            Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => self.at += 1,
            _ => {}
        }
        let name = self.slice(name_start, self.at);
        let mut index = None;
        if self.peek() == Some(b'[') {
            let open = self.at + 1;
            self.skip_balanced_text(b'[', b']');
            index = Some(self.slice(open, self.at.saturating_sub(1)));
        }
        let operator_start = self.at;
        self.at += self.operator_length();
        let operator = self.slice(operator_start, self.at);
        let stop = match operator {
            "/" | "//" | "/#" | "/%" => Some(b'/'),
            ":" => Some(b':'),
            _ => None,
        };
        let read = self.deeper(|parser| {
            let operand = parser.parts(Until::Brace { is_quoted, stop });
            let mut second = None;
            if stop.is_some() && parser.peek() == stop {
                parser.at += 1;
                second = Some(parser.parts(Until::Brace { is_quoted, stop: None }));
            }
            (operand, second)
        });
        let Some((operand, second)) = read else { return };
        self.expect(b'}');
        let source = self.slice(start, self.at);
        let param = Param { name, index, is_indirect, is_length, operator, operand, second, source };
        parts.push(WordPart::Param(Rc::new(param)));
    }

    fn operator_length(&self) -> usize {
        let next = self.peek_at(1);
        match self.peek() {
            Some(b':') if matches!(next, Some(b'-' | b'=' | b'+' | b'?')) => 2,
            Some(first @ (b'#' | b'%' | b'^' | b',')) if next == Some(first) => 2,
            Some(b'/') if matches!(next, Some(b'/' | b'#' | b'%')) => 2,
            Some(b':' | b'-' | b'=' | b'+' | b'?' | b'#' | b'%' | b'/' | b'^' | b',' | b'@' | b'~') => 1,
            _ => 0,
        }
    }

    fn backtick(&mut self, until: Until, parts: &mut Vec<WordPart<'a>>) {
        let start = self.at;
        self.at += 1;
        let mut code = String::new();
        let mut run = self.at;
        loop {
            match self.peek() {
                None => {
                    self.trouble.is_broken = true;
                    code.push_str(self.slice(run, self.at));
                    break;
                }
                Some(b'`') => {
                    code.push_str(self.slice(run, self.at));
                    self.at += 1;
                    break;
                }
                Some(b'\\') => {
                    let next = self.peek_at(1);
                    let removes = matches!(next, Some(b'`' | b'\\' | b'$'))
                        || (until == Until::Quote && next == Some(b'"'));
                    if removes {
                        code.push_str(self.slice(run, self.at));
                        run = self.at + 1;
                    }
                    self.at = (self.at + 2).min(self.end);
                }
                Some(_) => self.at += 1,
            }
        }
        parts.push(WordPart::Backtick { code: code.into(), source: self.slice(start, self.at) });
    }

    fn process(&mut self, parts: &mut Vec<WordPart<'a>>) {
        let start = self.at;
        self.at += 2;
        let Some(list) = self.parenthesised() else { return };
        parts.push(WordPart::Process(self.substitution(start, list)));
    }

    /// A `(` inside of a word: an array, a pattern such as `@(a|b)`, or a qualifier of zsh. False where it is none.
    fn parenthesis_in_word(&mut self, parts: &mut Vec<WordPart<'a>>) -> bool {
        let Some(WordPart::Bare(before)) = parts.last() else { return false };
        if before.ends_with('=') && before.bytes().next().is_some_and(is_name_start) {
            self.at += 1;
            let Some(words) = self.deeper(Parser::array) else { return false };
            parts.push(WordPart::Array(Rc::new(words)));
            return true;
        }
        let is_pattern = before.ends_with(['?', '*', '+', '@', '!']);
        // The `()` of a function.
        if !is_pattern && (self.peek_at(1) == Some(b')') || !self.is_argument) {
            return false;
        }
        let start = self.at;
        self.skip_balanced_text(b'(', b')');
        self.push_bare(start, self.at, parts);
        true
    }

    /// Skips from an opening bracket past the one that closes it.
    pub(super) fn skip_balanced_text(&mut self, open: u8, close: u8) {
        let mut level = 0_usize;
        while let Some(byte) = self.peek() {
            self.at += 1;
            if byte == b'\\' {
                self.at = (self.at + 1).min(self.end);
            } else if byte == open {
                level += 1;
            } else if byte == close {
                level = level.saturating_sub(1);
                if level == 0 {
                    return;
                }
            } else if byte == b'\n' {
                break;
            }
        }
        self.trouble.is_broken = true;
    }
}

fn plain_param<'a>(name: &'a str, source: &'a str) -> WordPart<'a> {
    WordPart::Param(Rc::new(Param { name, source, ..Param::default() }))
}
