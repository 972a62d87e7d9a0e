//! The tokens of SQL in many dialects. Strings and comments are separated from code; hints that servers run
//! (`/*!50000 DROP … */`) are code.

/// How the parts of a text are read where dialects disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Reading {
    /// A backslash escapes the quote after it, as in MySQL. Elsewhere it is an ordinary character.
    pub(super) backslash_escapes: bool,
    /// Comments nest, as in PostgreSQL and SQL Server. Elsewhere the first `*/` ends them.
    pub(super) comments_nest: bool,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SqlKind {
    /// A keyword or a name.
    Word,
    /// A name in quotes: `"t"`, `` `t` ``, `[t]`. Some dialects take `"t"` for a string.
    Quoted,
    /// A string; the bytes between the quotes are `inner`.
    Text,
    /// A number.
    Number,
    /// A variable or a parameter: `@x`, `:x`, `$1`, `?`.
    Variable,
    /// A character of punctuation.
    Mark(u8),
    /// The end of a statement: `;`, `GO`, `\g`.
    End,
    /// The end of a statement by the delimiter that the text itself has set.
    Delimiter,
    /// A command of a client (`\! ls`, `.shell ls`, `DELIMITER //`), up to the end of its line.
    Meta,
}

impl SqlKind {
    /// Whether a value continues or ends with it.
    pub(super) fn is_value(self) -> bool {
        use SqlKind::{Mark, Number, Quoted, Text, Variable};
        matches!(self, Quoted | Text | Number | Variable | Mark(b']'))
    }
}

/// One token: bytes `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SqlToken {
    pub(super) kind: SqlKind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Bytes to leave out at both ends for the content: the quotes.
    pub(super) quotes: (usize, usize),
}

/// Reads a text token by token.
#[derive(Default)]
pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    bytes: &'a [u8],
    at: usize,
    reading: Reading,
    /// Inside of `/*! … */`.
    is_in_hint: bool,
    delimiter: Option<&'a str>,
    /// The last two tokens.
    last: Option<SqlToken>,
    before_last: Option<SqlToken>,
    /// Only blanks come between the start of the line, or of the statement, and here.
    is_fresh: bool,
    failed_searches: usize,
    /// A string was never closed.
    pub(super) is_unfinished: bool,
    /// Dialects disagree about a quote after a backslash in this text.
    pub(super) saw_backslash_quote: bool,
    /// Dialects disagree about a comment inside a comment in this text.
    pub(super) saw_nested_comment: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, reading: Reading) -> Self {
        Lexer { text, bytes: text.as_bytes(), reading, is_fresh: true, ..Lexer::default() }
    }

    /// The text of a token without its quotes.
    pub(super) fn content(text: &'a str, token: SqlToken) -> &'a str {
        text.get(token.start + token.quotes.0..token.end.saturating_sub(token.quotes.1)).unwrap_or("")
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Where the line ends that `at` lies in.
    fn line_end(&self) -> usize {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        memchr::memchr2(b'\n', b'\r', rest).map_or(self.bytes.len(), |found| self.at + found)
    }

    /// Skips a comment, if one starts here.
    fn comment(&mut self) -> bool {
        let (byte, next, third) = (self.peek(0), self.peek(1), self.peek(2));
        match (byte, next) {
            (b'-', b'-') if !self.is_double_minus(third) => self.at = self.line_end(),
            (b'#', _) if self.is_hash_comment(next, third) => self.at = self.line_end(),
            (b'/', b'*') if third == b'!' || (third == b'M' && self.peek(3) == b'!') => {
                self.at += if third == b'M' { 4 } else { 3 };
                while self.peek(0).is_ascii_digit() {
                    self.at += 1;
                }
                self.is_in_hint = true;
            }
            (b'/', b'*') => self.block_comment(),
            (b'*', b'/') if self.is_in_hint => {
                self.at += 2;
                self.is_in_hint = false;
            }
            _ => return false,
        }
        true
    }

    /// `x--1` is `x - -1` in MySQL. Only arithmetic is taken for that: `DELETE FROM t--1` is a comment elsewhere.
    fn is_double_minus(&self, third: u8) -> bool {
        let is_value = self
            .last
            .is_some_and(|last| last.end == self.at && matches!(last.kind, SqlKind::Word | SqlKind::Number));
        let is_after_operator = matches!(
            self.before_last.map(|token| token.kind),
            Some(SqlKind::Mark(b'=' | b'+' | b'-' | b'*' | b'/' | b'('))
        );
        third.is_ascii_digit() && is_value && is_after_operator
    }

    /// `#` starts a comment in MySQL, a temporary table in SQL Server, and operators in PostgreSQL.
    fn is_hash_comment(&self, next: u8, third: u8) -> bool {
        if next == b'>' || next == b'=' || (next == b'-' && third != b'-') {
            return false;
        }
        let expects_name = self.last.is_some_and(|last| match last.kind {
            SqlKind::Word => {
                let word = self.text.get(last.start..last.end).unwrap_or("");
                ["from", "into", "table", "join", "update", "exists", "delete", "using", "merge", "on"]
                    .iter()
                    .any(|known| word.eq_ignore_ascii_case(known))
            }
            SqlKind::Mark(b',' | b'.') => true,
            _ => false,
        });
        !(expects_name && (next.is_ascii_alphabetic() || next == b'#' || next == b'_'))
    }

    fn block_comment(&mut self) {
        self.at += 2;
        let mut depth = 1usize;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(found) = memchr::memchr2(b'*', b'/', rest) else {
                self.at = self.bytes.len();
                return;
            };
            self.at += found;
            match (self.peek(0), self.peek(1)) {
                (b'*', b'/') => {
                    self.at += 2;
                    depth -= 1;
                    if depth == 0 {
                        return;
                    }
                }
                (b'/', b'*') => {
                    self.saw_nested_comment = true;
                    depth += usize::from(self.reading.comments_nest);
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
    }

    /// The end of a string that is closed by `quote`; doubled quotes belong to it. One past the closing quote.
    fn quoted_end(&mut self, from: usize, quote: u8, has_escapes: bool) -> Option<usize> {
        let mut at = from;
        loop {
            let rest = self.bytes.get(at..)?;
            at += memchr::memchr2(quote, b'\\', rest)?;
            let (found, next) = (self.bytes.get(at)?, self.bytes.get(at + 1));
            if *found == b'\\' {
                self.saw_backslash_quote |= next == Some(&quote);
                at += if has_escapes { 2 } else { 1 };
            } else if next == Some(&quote) {
                at += 2;
            } else {
                return Some(at + 1);
            }
        }
    }

    /// As [`Self::quoted_end`], with the length of the closing quote. A string without an end takes the rest: no server
    /// would run it.
    fn closed_or_rest(&mut self, from: usize, quote: u8, has_escapes: bool) -> (usize, usize) {
        match self.quoted_end(from, quote, has_escapes) {
            Some(end) => (end, 1),
            None => {
                self.is_unfinished = true;
                (self.bytes.len(), 0)
            }
        }
    }

    /// A string or a quoted name, if one starts here.
    fn quoted(&mut self) -> Option<SqlToken> {
        let start = self.at;
        let quote = self.peek(0);
        let token = |kind, end, open, close| SqlToken { kind, start, end, quotes: (open, close) };
        match quote {
            b'\'' | b'"' | b'`' => {
                let has_escapes = self.reading.backslash_escapes && quote != b'`';
                let kind = if quote == b'\'' { SqlKind::Text } else { SqlKind::Quoted };
                let (end, close) = self.closed_or_rest(start + 1, quote, has_escapes);
                Some(token(kind, end, 1, close))
            }
            b'[' => {
                let is_index = self.last.is_some_and(|last| {
                    last.end == start && !matches!(last.kind, SqlKind::Mark(b'.' | b'(' | b',' | b'='))
                });
                let inside = self.bytes.get(start + 1..)?;
                let end = inside
                    .iter()
                    .take(128)
                    .position(|byte| matches!(byte, b']' | b'\'' | b'\n' | b'[' | b'('))?;
                let is_name = !is_index
                    && inside.get(end) == Some(&b']')
                    && inside.first().is_some_and(|byte| !byte.is_ascii_digit());
                is_name.then(|| token(SqlKind::Quoted, start + end + 2, 1, 1))
            }
            b'$' => {
                let rest = self.bytes.get(start + 1..)?;
                let tag =
                    rest.iter().take(64).position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
                let is_tag = rest.get(tag) == Some(&b'$') && !rest.first().is_some_and(u8::is_ascii_digit);
                // Hostile texts open many that never close; each search reads to the end.
                if !is_tag || self.failed_searches > 8 {
                    return None;
                }
                let fence = self.text.get(start..start + tag + 2)?;
                let Some(found) = self.text.get(start + fence.len()..)?.find(fence) else {
                    self.failed_searches += 1;
                    return None;
                };
                Some(token(SqlKind::Text, start + found + 2 * fence.len(), fence.len(), fence.len()))
            }
            _ => None,
        }
    }

    /// A string with letters in front of its quote: `E'…'`, `N'…'`, `q'[…]'`.
    fn prefixed(&mut self, word_end: usize) -> Option<SqlToken> {
        let start = self.at;
        let prefix = self.text.get(start..word_end)?;
        if self.bytes.get(word_end) != Some(&b'\'') {
            return None;
        }
        let opening = word_end + 1;
        if prefix.eq_ignore_ascii_case("q") || prefix.eq_ignore_ascii_case("nq") {
            let close = match self.bytes.get(opening)? {
                b'[' => "]'".to_owned(),
                b'{' => "}'".to_owned(),
                b'(' => ")'".to_owned(),
                b'<' => ">'".to_owned(),
                other if other.is_ascii_punctuation() => format!("{}'", char::from(*other)),
                _ => return None,
            };
            if self.failed_searches > 8 {
                return None;
            }
            let Some(found) = self.text.get(opening + 1..)?.find(&close) else {
                self.failed_searches += 1;
                return None;
            };
            let end = opening + 1 + found + 2;
            return Some(SqlToken { kind: SqlKind::Text, start, end, quotes: (prefix.len() + 2, 2) });
        }
        let is_escaped = prefix.eq_ignore_ascii_case("e");
        if !is_escaped
            && !["n", "b", "x", "u", "r", "_utf8", "_latin1", "_binary"]
                .iter()
                .any(|known| prefix.eq_ignore_ascii_case(known))
        {
            return None;
        }
        let has_escapes = is_escaped || self.reading.backslash_escapes;
        let (end, close) = self.closed_or_rest(opening, b'\'', has_escapes);
        Some(SqlToken { kind: SqlKind::Text, start, end, quotes: (prefix.len() + 1, close) })
    }

    /// A command of a client, which starts a line.
    fn meta(&mut self) -> Option<SqlToken> {
        let start = self.at;
        let rest = self.rest();
        let byte = self.peek(0);
        let is_word = |word: &str| {
            rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
                && rest.as_bytes().get(word.len()).is_none_or(u8::is_ascii_whitespace)
        };
        let meta = |kind, end| Some(SqlToken { kind, start, end, quotes: (0, 0) });
        if byte == b'\\' && (self.peek(1).is_ascii_alphabetic() || self.peek(1) == b'!') {
            // `\g`, `\G` and `\gexec` end a statement; others take their line.
            let is_end = matches!(self.peek(1), b'g' | b'G');
            if is_end {
                let end = start + 1 + rest.bytes().skip(1).take_while(u8::is_ascii_alphabetic).count();
                return meta(SqlKind::End, end);
            }
            return meta(SqlKind::Meta, self.line_end());
        }
        if !self.is_fresh {
            return None;
        }
        // A token that starts a line or a statement: the end of its line is looked for once.
        if !matches!(byte.to_ascii_lowercase(), b'.' | b'g' | b'd' | b's') {
            return None;
        }
        self.is_fresh = false;
        if byte == b'.' && self.peek(1).is_ascii_alphabetic() {
            return meta(SqlKind::Meta, self.line_end());
        }
        let word = ["go", "delimiter", "system"].into_iter().find(|word| is_word(word))?;
        let line_end = self.line_end();
        let tail = self.text.get(start + word.len()..line_end).unwrap_or("").trim();
        let is_end = |kind| matches!(kind, SqlKind::End | SqlKind::Delimiter | SqlKind::Meta);
        match word {
            "go" if tail.bytes().all(|byte| byte.is_ascii_digit()) => meta(SqlKind::End, line_end),
            "delimiter" => {
                self.delimiter = (!tail.is_empty() && tail != ";" && tail.len() <= 16).then_some(tail);
                meta(SqlKind::Meta, line_end)
            }
            "system" if self.last.is_none_or(|last| is_end(last.kind)) => meta(SqlKind::Meta, line_end),
            _ => None,
        }
    }

    fn single(&mut self) -> SqlToken {
        let start = self.at;
        let byte = self.peek(0);
        let token = |kind, end| SqlToken { kind, start, end, quotes: (0, 0) };
        if let Some(delimiter) = self.delimiter
            && self.rest().starts_with(delimiter)
        {
            return token(SqlKind::Delimiter, start + delimiter.len());
        }
        if byte == b';' {
            return token(SqlKind::End, start + 1);
        }
        let run = |from: usize, test: fn(&u8) -> bool| {
            from + self.bytes.get(from..).unwrap_or_default().iter().take_while(|byte| test(byte)).count()
        };
        let is_word: fn(&u8) -> bool =
            |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#') || !byte.is_ascii();
        if byte.is_ascii_digit() || (byte == b'.' && self.peek(1).is_ascii_digit()) {
            return token(
                SqlKind::Number,
                run(start + 1, |byte| byte.is_ascii_alphanumeric() || *byte == b'.'),
            );
        }
        if byte.is_ascii_alphabetic()
            || byte == b'_'
            || !byte.is_ascii()
            || (byte == b'#' && is_word(&self.peek(1)))
        {
            let end = run(start + 1, is_word);
            return self.prefixed(end).unwrap_or(token(SqlKind::Word, end));
        }
        let is_parameter = match byte {
            b'@' => true,
            b':' => {
                self.peek(1).is_ascii_alphabetic()
                    && self.last.is_none_or(|last| last.end != start || last.kind != SqlKind::Mark(b':'))
            }
            b'$' => self.peek(1).is_ascii_alphanumeric() || self.peek(1) == b'{',
            _ => false,
        };
        if is_parameter {
            return token(
                SqlKind::Variable,
                run(start + 1, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'@' | b'$')),
            );
        }
        if byte == b'?' {
            return token(SqlKind::Variable, start + 1);
        }
        token(SqlKind::Mark(byte), start + 1)
    }
}

impl Iterator for Lexer<'_> {
    type Item = SqlToken;

    fn next(&mut self) -> Option<SqlToken> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            if byte.is_ascii_whitespace() || matches!(byte, 0xc2 if self.peek(1) == 0xa0) {
                self.is_fresh |= byte == b'\n' || byte == b'\r';
                self.at += if byte == 0xc2 { 2 } else { 1 };
            } else if let Some(delimiter) = self.delimiter
                && self.rest().starts_with(delimiter)
            {
                break;
            } else if !self.comment() {
                break;
            }
        }
        let token = match self.meta() {
            Some(token) => token,
            None => match self.quoted() {
                Some(token) if self.delimiter.is_none_or(|delimiter| !self.rest().starts_with(delimiter)) => {
                    token
                }
                _ => self.single(),
            },
        };
        self.at = token.end.max(self.at + 1);
        self.is_fresh = matches!(token.kind, SqlKind::End | SqlKind::Delimiter);
        self.before_last = self.last;
        self.last = Some(token);
        Some(token)
    }
}
