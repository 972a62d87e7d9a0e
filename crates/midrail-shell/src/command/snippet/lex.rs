//! A tolerant tokenizer that the languages of snippets share: words, strings with what they interpolate, and brackets.

use crate::tables::{Language, LanguageRow};

/// A piece of a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StringPart {
    /// Plain text.
    Known(String),
    /// Code whose value is put here: `${x}`, `#{x}`, `{x}`, `$x`.
    Code(String),
}

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CodeKind<'a> {
    /// A name or keyword, with its sigil: `os`, `$x`.
    Word(&'a str),
    /// A number without sign.
    Number(&'a str),
    /// A string.
    Text(Vec<StringPart>),
    /// A string that is run as a command: `` `ls` ``, `%x(ls)`.
    Shell(Vec<StringPart>),
    /// A regular expression, or something else without meaning here.
    Other,
    /// One character of punctuation.
    Mark(u8),
    /// The end of a line.
    Line,
}

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeToken<'a> {
    /// What it is.
    pub(super) kind: CodeKind<'a>,
    /// It follows the token before it without a blank.
    pub(super) is_joined: bool,
}

/// The tokens of a snippet.
pub(super) fn tokens(language: Language, code: &str) -> Vec<CodeToken<'_>> {
    let (row, bytes) = (language.row(), code.as_bytes());
    let mut lexer = Lexer { language, row, code, bytes, at: 0, tokens: Vec::new(), missing: [0; 2] };
    while lexer.at < lexer.bytes.len() {
        lexer.step();
    }
    lexer.tokens
}

struct Lexer<'a> {
    language: Language,
    row: &'static LanguageRow,
    code: &'a str,
    bytes: &'a [u8],
    at: usize,
    tokens: Vec<CodeToken<'a>>,
    /// Bytes that were searched for and do not come again. Keeps the many searches for closing quotes linear.
    missing: [u64; 2],
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn rest(&self) -> &'a str {
        self.code.get(self.at..).unwrap_or("")
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.code.get(start..end).unwrap_or("")
    }

    fn push(&mut self, start: usize, kind: CodeKind<'a>) {
        let before = start.checked_sub(1).and_then(|place| self.bytes.get(place));
        let is_joined = before.is_some_and(|byte| !byte.is_ascii_whitespace());
        self.tokens.push(CodeToken { kind, is_joined });
    }

    fn step(&mut self) {
        let start = self.at;
        let byte = self.peek(0);
        if byte == b'\n' {
            self.at += 1;
            return self.push(start, CodeKind::Line);
        }
        if byte.is_ascii_whitespace() {
            self.at += 1;
            return;
        }
        if self.skip_comment() || self.string() || self.regex() {
            return;
        }
        let is_sigil = byte == b'$'
            && match self.language {
                Language::Node => true,
                Language::Perl | Language::Php | Language::Awk => is_word(self.peek(1)),
                _ => false,
            };
        if is_sigil || (is_word(byte) && !byte.is_ascii_digit()) {
            self.at += 1;
            while is_word(self.peek(0)) {
                self.at += 1;
            }
            return self.push(start, CodeKind::Word(self.slice(start, self.at)));
        }
        if byte.is_ascii_digit() {
            while self.peek(0).is_ascii_alphanumeric()
                || (self.peek(0) == b'.' && self.peek(1).is_ascii_digit())
            {
                self.at += 1;
            }
            return self.push(start, CodeKind::Number(self.slice(start, self.at)));
        }
        self.at += 1;
        if byte.is_ascii() {
            self.push(start, CodeKind::Mark(byte));
        }
    }

    fn skip_comment(&mut self) -> bool {
        let (row, rest) = (self.row, self.rest());
        if let [open, close] = row.block_comment
            && let Some(inside) = rest.strip_prefix(open)
        {
            self.at += open.len() + inside.find(close).map_or(inside.len(), |found| found + close.len());
            return true;
        }
        // `$#x` of Perl is the last index of a list, `--[` of Lua begins no comment.
        let is_index = self.language == Language::Perl
            && self.at.checked_sub(1).is_some_and(|before| self.bytes.get(before) == Some(&b'$'));
        let is_line = row.comments.iter().any(|mark| rest.starts_with(mark));
        if is_line && !is_index && !rest.starts_with("--[") {
            self.at += memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
            return true;
        }
        false
    }

    /// Takes a string, if one starts here.
    fn string(&mut self) -> bool {
        let start = self.at;
        if self.language == Language::Python {
            return self.python_string();
        }
        if self.quote_operator() {
            return true;
        }
        let quote = self.peek(0);
        let is_in = |quotes: &str| quotes.as_bytes().contains(&quote);
        let (is_raw, is_shell) = (is_in(self.row.raw_quotes), is_in(self.row.shell_quotes));
        if !is_raw && !is_shell && !is_in(self.row.quotes) {
            return false;
        }
        let Some(end) = self.closing(start + 1, quote) else { return false };
        let body = self.slice(start + 1, end);
        self.at = end + 1;
        let keeps_escapes = quote == b'\'' && !matches!(self.language, Language::Node | Language::Lua);
        let parts = self.parts(body, is_raw, keeps_escapes, is_shell);
        self.push(start, if is_shell { CodeKind::Shell(parts) } else { CodeKind::Text(parts) });
        true
    }

    fn python_string(&mut self) -> bool {
        let start = self.at;
        let prefix: usize = self
            .bytes
            .get(start..)
            .unwrap_or_default()
            .iter()
            .take(3)
            .take_while(|byte| matches!(byte.to_ascii_lowercase(), b'r' | b'b' | b'f' | b'u'))
            .count();
        let quote = self.peek(prefix);
        if prefix == 3 || !matches!(quote, b'\'' | b'"') {
            return false;
        }
        let letters = self.slice(start, start + prefix).to_ascii_lowercase();
        let is_triple = self.peek(prefix + 1) == quote && self.peek(prefix + 2) == quote;
        let opening = start + prefix + if is_triple { 3 } else { 1 };
        let (end, after) = if is_triple {
            let fence = if quote == b'"' { "\"\"\"" } else { "'''" };
            let found = self.code.get(opening..).and_then(|rest| rest.find(fence));
            let end = found.map_or(self.code.len(), |found| opening + found);
            (end, (end + 3).min(self.code.len()))
        } else {
            match self.closing(opening, quote) {
                Some(end) => (end, end + 1),
                None => return false,
            }
        };
        let body = self.slice(opening, end);
        self.at = after;
        let parts = self.parts(body, !letters.contains('f'), letters.contains('r'), false);
        self.push(start, CodeKind::Text(parts));
        true
    }

    /// `q(…)`, `qq{…}`, `qx/…/`, `qw(…)`, `s/…/…/` of Perl; `%q(…)`, `%x(…)`, `%w[…]` of Ruby.
    fn quote_operator(&mut self) -> bool {
        let start = self.at;
        let is_after_word =
            start > 0 && self.bytes.get(start - 1).is_some_and(|byte| is_word(*byte) || *byte == b'$');
        if is_after_word {
            return false;
        }
        let rest = self.rest();
        let mut operators = self.row.quote_operators.iter().filter_map(|it| it.split_once(' '));
        let Some((name, meaning)) = operators.find(|(name, _)| rest.starts_with(name)) else {
            return false;
        };
        let open = self.peek(name.len());
        if !open.is_ascii_punctuation()
            || matches!(open, b'_' | b',' | b';' | b'=' | b')' | b'>' | b'.' | b'-' | b'+')
        {
            return false;
        }
        let close = closing_bracket(open);
        let body_start = start + name.len() + 1;
        let Some(end) = self.closing_nested(body_start, open, close) else { return false };
        let body = self.slice(body_start, end);
        self.at = end + 1;
        if meaning == "s" {
            if open != close {
                while self.peek(0).is_ascii_whitespace() {
                    self.at += 1;
                }
                self.at += 1;
            }
            if let Some(second) = self.closing_nested(self.at, open, close) {
                self.at = second + 1;
            }
        }
        let token = match meaning {
            "\"" => CodeKind::Text(self.parts(body, false, false, false)),
            "'" => CodeKind::Text(self.parts(body, true, true, false)),
            "`" => CodeKind::Shell(self.parts(body, false, false, true)),
            "w" => {
                self.push(start, CodeKind::Mark(b'['));
                for word in body.split_ascii_whitespace() {
                    self.push(start, CodeKind::Text(vec![StringPart::Known(word.to_owned())]));
                    self.push(start, CodeKind::Mark(b','));
                }
                CodeKind::Mark(b']')
            }
            _ => {
                while self.peek(0).is_ascii_alphabetic() {
                    self.at += 1;
                }
                CodeKind::Other
            }
        };
        self.push(start, token);
        true
    }

    /// A regular expression between slashes, where a value can be.
    fn regex(&mut self) -> bool {
        use Language::{Awk, Node, Perl, Ruby};
        if self.peek(0) != b'/' || !matches!(self.language, Node | Perl | Ruby | Awk) {
            return false;
        }
        let is_value_before = match self.tokens.last().map(|token| &token.kind) {
            Some(CodeKind::Word(word)) => {
                !matches!(*word, "return" | "if" | "and" | "or" | "not" | "unless" | "split" | "grep")
            }
            Some(CodeKind::Number(_) | CodeKind::Text(_) | CodeKind::Other | CodeKind::Shell(_)) => true,
            Some(CodeKind::Mark(mark)) => matches!(mark, b')' | b']' | b'}'),
            Some(CodeKind::Line) | None => false,
        };
        if is_value_before {
            return false;
        }
        let start = self.at;
        let Some(end) = self.closing(start + 1, b'/') else { return false };
        if self.slice(start, end).contains('\n') {
            return false;
        }
        self.at = end + 1;
        while self.peek(0).is_ascii_alphabetic() {
            self.at += 1;
        }
        self.push(start, CodeKind::Other);
        true
    }

    /// The place of the next `quote` without a backslash in front.
    fn closing(&mut self, from: usize, quote: u8) -> Option<usize> {
        self.closing_nested(from, quote, quote)
    }

    /// The place of the bracket that closes one opened just before `from`. Brackets may be nested.
    fn closing_nested(&mut self, from: usize, open: u8, close: u8) -> Option<usize> {
        if self.is_missing(close) {
            return None;
        }
        let mut depth = 0usize;
        let mut at = from;
        while let Some(byte) = self.bytes.get(at) {
            match *byte {
                b'\\' => at += 1,
                byte if byte == close && depth == 0 => return Some(at),
                byte if byte == close => depth -= 1,
                byte if byte == open => depth += 1,
                _ => {}
            }
            at += 1;
        }
        if let Some(word) = self.missing.get_mut(usize::from(close >> 6)) {
            *word |= 1 << (close & 63);
        }
        None
    }

    fn is_missing(&self, byte: u8) -> bool {
        self.missing.get(usize::from(byte >> 6)).is_none_or(|word| word & (1 << (byte & 63)) != 0)
    }

    /// Divides the inside of a string into what is known and what is code.
    fn parts(&self, body: &str, is_plain: bool, keeps_escapes: bool, is_shell: bool) -> Vec<StringPart> {
        let mut parts = Vec::new();
        let mut known = String::new();
        let mut rest = body;
        while let Some(letter) = rest.chars().next() {
            if letter == '\\' && !is_shell {
                let length = unescape(rest, keeps_escapes, &mut known);
                rest = rest.get(length..).unwrap_or("");
                continue;
            }
            if !is_plain && let Some((code, length)) = self.interpolation(rest) {
                if !known.is_empty() {
                    parts.push(StringPart::Known(std::mem::take(&mut known)));
                }
                if !code.is_empty() {
                    parts.push(StringPart::Code(code));
                } else {
                    known.push_str(rest.get(..length.min(1)).unwrap_or(""));
                }
                rest = rest.get(length..).unwrap_or("");
                continue;
            }
            known.push(letter);
            rest = rest.get(letter.len_utf8()..).unwrap_or("");
        }
        if !known.is_empty() || parts.is_empty() {
            parts.push(StringPart::Known(known));
        }
        parts
    }

    /// Code that is put into a string here, and the length of its spelling. No code: a doubled brace.
    fn interpolation(&self, rest: &str) -> Option<(String, usize)> {
        // Longer ones are plain text, so that this stays linear.
        const LONGEST: usize = 512;
        let (open, close) = match self.language {
            Language::Python if rest.starts_with("{{") => return Some((String::new(), 2)),
            Language::Perl if rest.starts_with("@{[") => ("@{[", ']'),
            Language::Php if rest.starts_with("{$") => ("{", '}'),
            Language::Perl | Language::Php => {
                let word = rest.strip_prefix(['$', '@'])?;
                let length = word.bytes().take(LONGEST).take_while(|byte| is_word(*byte)).count();
                // `$ENV{HOME}`
                let key = word.get(length..).filter(|_| length > 0).and_then(|rest| rest.strip_prefix('{'));
                let key = key.and_then(|rest| rest.bytes().take(64).position(|byte| byte == b'}'));
                let tail = key.map_or(0, |end| end + 2);
                let is_named = length > 0
                    && (rest.starts_with('$')
                        || word.starts_with(|letter: char| letter.is_ascii_lowercase()));
                return is_named
                    .then(|| (rest.get(..length + 1 + tail).unwrap_or("").to_owned(), length + 1 + tail));
            }
            _ => match self.row.interpolation {
                [open, _] => (*open, '}'),
                _ => return None,
            },
        };
        let inside = rest.strip_prefix(open)?;
        let end = inside.bytes().take(LONGEST).position(|byte| char::from(byte) == close)?;
        let code = inside.get(..end)?.to_owned();
        // The rest of `@{[ … ]}`.
        let tail = usize::from(close == ']');
        Some((if code.is_empty() { "_".to_owned() } else { code }, open.len() + end + 1 + tail))
    }
}

/// Appends what an escape at the start of `rest` means; returns the length of its spelling.
fn unescape(rest: &str, keeps_escapes: bool, out: &mut String) -> usize {
    let Some(letter) = rest.chars().nth(1) else {
        out.push('\\');
        return 1;
    };
    let length = 1 + letter.len_utf8();
    if keeps_escapes {
        // Single quotes of Perl, PHP and Ruby know two escapes, raw strings of Python none; paths of Windows matter more.
        if !matches!(letter, '\'' | '\\') {
            out.push('\\');
        }
        out.push(letter);
        return length;
    }
    let digits = |from: usize, most: usize, base: u32| {
        let text = rest.get(from..).unwrap_or("");
        let count = text.bytes().take(most).take_while(|byte| char::from(*byte).is_digit(base)).count();
        let value =
            text.get(..count).and_then(|text| u32::from_str_radix(text, base).ok()).and_then(char::from_u32);
        value.map(|value| (value, from + count))
    };
    let coded = match letter {
        'x' => digits(2, 2, 16),
        'u' if rest.get(2..3) == Some("{") => digits(3, 6, 16).map(|(value, end)| (value, end + 1)),
        'u' => digits(2, 4, 16),
        'U' => digits(2, 8, 16),
        '0'..='7' => digits(1, 3, 8),
        _ => None,
    };
    if let Some((value, end)) = coded {
        out.push(value);
        return end;
    }
    match letter {
        'n' => out.push('\n'),
        't' => out.push('\t'),
        'r' => out.push('\r'),
        '\n' => {}
        other => out.push(other),
    }
    length
}

pub(super) fn closing_bracket(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'[' => b']',
        b'{' => b'}',
        b'<' => b'>',
        other => other,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}
