//! A tolerant parser for the command language of sh, bash and zsh: recursive descent, linear, of limited depth. What
//! it cannot make sense of it skips and says so; it never fails.

use std::borrow::Cow;

use super::ast::{Assignment, Command, CommandKind, HereDoc, Item, List, Script, Trouble, Value, Word};
use super::ast::{ends_word, is_name_byte, is_name_start};

/// How deep brackets, quotes and keywords may nest. A frame of a debug build takes some kilobytes of stack.
const MAX_DEPTH: usize = 48;

/// How many words are parsed.
const MAX_WORDS: usize = 150_000;

/// The most text that is parsed. The longest argument that Linux takes is an eighth of it.
const MAX_TEXT: usize = 1 << 20;

/// The part of a text that is analysed.
pub(super) fn bounded(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or(text)
}

/// Parses a text.
pub(super) fn parse(text: &str) -> Script<'_> {
    let end = bounded(text).len();
    let trouble = Trouble { is_too_long: end < text.len(), ..Trouble::default() };
    let mut parser = Parser { text, bytes: text.as_bytes(), end, trouble, ..Parser::default() };
    let mut list = List::default();
    loop {
        list.extend(parser.list(Stops::NONE));
        if parser.peek().is_none() {
            break;
        }
        // A `)` or a keyword that closes nothing.
        parser.trouble.is_broken = true;
        parser.at += 1;
    }
    Script { list, trouble: parser.trouble }
}

/// What may close the list that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stops(u16);

impl Stops {
    pub(super) const NONE: Stops = Stops(0);
    pub(super) const PARENTHESIS: Stops = Stops(1);
    pub(super) const BRACE: Stops = Stops(1 << 1);
    pub(super) const THEN: Stops = Stops(1 << 2);
    pub(super) const FI: Stops = Stops(1 << 3);
    pub(super) const DO: Stops = Stops(1 << 4);
    pub(super) const DONE: Stops = Stops(1 << 5);
    pub(super) const CASE: Stops = Stops(1 << 6);
    pub(super) const END: Stops = Stops(1 << 7);

    pub(super) fn with(self, other: Stops) -> Stops {
        Stops(self.0 | other.0)
    }

    fn has(self, other: Stops) -> bool {
        self.0 & other.0 != 0
    }
}

/// Keywords that close something, with what they close.
const CLOSERS: &[(&str, Stops)] = &[
    ("}", Stops::BRACE),
    ("then", Stops::THEN),
    ("elif", Stops::FI),
    ("else", Stops::FI),
    ("fi", Stops::FI),
    ("do", Stops::DO),
    ("done", Stops::DONE),
    ("esac", Stops::CASE),
    ("end", Stops::END),
];

/// The parser: a place in the text, and what is still to be read.
#[derive(Default)]
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) depth: usize,
    pub(super) pending: Vec<Pending<'a>>,
    pub(super) trouble: Trouble,
    pub(super) words: usize,
    /// The word that is read is not the first of its command.
    pub(super) is_argument: bool,
    /// A search for `))` came to the end of the text: there is no need to look again.
    pub(super) has_no_arithmetic_end: bool,
}

/// A here-document whose body is still to come.
pub(super) struct Pending<'a> {
    pub(super) delimiter: String,
    pub(super) is_quoted: bool,
    pub(super) strips_tabs: bool,
    pub(super) body: HereDoc<'a>,
}

impl<'a> Parser<'a> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, offset: usize) -> Option<u8> {
        let at = self.at + offset;
        if at < self.end { self.bytes.get(at).copied() } else { None }
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or("")
    }

    /// Skips a byte if it comes next.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Skips a byte that must come next.
    pub(super) fn expect(&mut self, byte: u8) {
        self.trouble.is_broken |= !self.eat(byte);
    }

    /// Reads a word that is not the first of its command.
    pub(super) fn argument(&mut self) -> Word<'a> {
        let outer = std::mem::replace(&mut self.is_argument, true);
        let word = self.word();
        self.is_argument = outer;
        word
    }

    pub(super) fn take_while(&mut self, test: fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(test) {
            self.at += 1;
        }
        self.slice(start, self.at)
    }

    /// Runs one level deeper. Where that is too deep, parsing ends: the rest of the text is left alone.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.trouble.is_too_deep = true;
            self.at = self.end;
            return None;
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        Some(result)
    }

    /// Reads with an earlier end of the text.
    pub(super) fn within<T>(&mut self, end: usize, read: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.end;
        self.end = end.min(outer);
        let result = read(self);
        self.end = outer;
        result
    }

    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.at += 2,
                Some(b'\\') if self.peek_at(1) == Some(b'\r') && self.peek_at(2) == Some(b'\n') => {
                    self.at += 3
                }
                Some(b'#') => {
                    let rest = self.bytes.get(self.at..self.end).unwrap_or(&[]);
                    self.at = memchr::memchr(b'\n', rest).map_or(self.end, |offset| self.at + offset);
                }
                _ => return,
            }
        }
    }

    /// Skips blanks, comments and line ends; reads the here-documents that follow the lines.
    pub(super) fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'\n') {
                return;
            }
            self.at += 1;
            self.here_docs();
        }
    }

    /// Whether a keyword comes next, as a whole word.
    pub(super) fn is_keyword(&self, word: &str) -> bool {
        let end = self.at + word.len();
        end <= self.end
            && self.text.get(self.at..end) == Some(word)
            && (end == self.end || self.bytes.get(end).is_none_or(|byte| ends_word(*byte)))
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let is_next = self.is_keyword(word);
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    /// Reads a keyword that must come here; parsing continues without it.
    pub(super) fn expect_word(&mut self, word: &str) {
        self.skip_lines();
        self.trouble.is_broken |= !self.eat_word(word);
    }

    /// Reads pipelines until something that closes the list.
    pub(super) fn list(&mut self, stops: Stops) -> List<'a> {
        let mut list = List::default();
        let (mut is_conditional, mut is_alternative) = (false, false);
        loop {
            self.skip_lines();
            match self.peek() {
                None => break,
                Some(b')') if stops.has(Stops::PARENTHESIS.with(Stops::CASE)) => break,
                Some(b')') if stops == Stops::NONE => break,
                Some(b')') => {
                    self.trouble.is_broken = true;
                    break;
                }
                Some(b';') => {
                    if matches!(self.peek_at(1), Some(b';' | b'&')) && stops.has(Stops::CASE) {
                        break;
                    }
                    self.at += 1;
                    continue;
                }
                Some(b'&' | b'|') => {
                    // An operator without a command before it.
                    self.trouble.is_broken = true;
                    self.at += 1;
                    continue;
                }
                Some(_) => {}
            }
            if let Some((word, stop)) = CLOSERS.iter().find(|(word, _)| self.is_keyword(word)) {
                if stops.has(*stop) {
                    break;
                }
                if *word != "end" {
                    self.trouble.is_broken = true;
                    // It closes something further out.
                    if stops.0 & !Stops::PARENTHESIS.0 != 0 {
                        break;
                    }
                    self.at += word.len();
                    continue;
                }
            }
            if self.words > MAX_WORDS {
                self.trouble.is_too_long = true;
                self.at = self.end;
                break;
            }
            let before = self.at;
            let mut item = Item { is_conditional, is_alternative, ..self.pipeline(stops) };
            (is_conditional, is_alternative) = (false, false);
            self.skip_blanks();
            match (self.peek(), self.peek_at(1)) {
                (Some(mark @ (b'&' | b'|')), Some(next)) if mark == next => {
                    self.at += 2;
                    (is_conditional, is_alternative) = (true, mark == b'|');
                }
                (Some(b'&'), next) => {
                    self.at += 1;
                    item.is_background = true;
                    // `&!` and `&|` of zsh.
                    if matches!(next, Some(b'!' | b'|')) {
                        self.at += 1;
                    }
                }
                _ => {}
            }
            list.push(item);
            if self.at == before {
                // A byte that begins nothing.
                self.trouble.is_broken = true;
                self.at += 1;
            }
        }
        list
    }

    pub(super) fn pipeline(&mut self, stops: Stops) -> Item<'a> {
        let mut item = Item::default();
        loop {
            self.skip_blanks();
            if self.eat_word("!") {
                item.is_negated = !item.is_negated;
                continue;
            }
            if self.is_keyword("time") && !self.starts_option("time") {
                self.at += "time".len();
                self.skip_blanks();
                self.eat_word("-p");
                continue;
            }
            break;
        }
        loop {
            if let Some(command) = self.command(stops) {
                item.commands.push(command);
            }
            self.skip_blanks();
            if self.peek() == Some(b'|') && self.peek_at(1) != Some(b'|') {
                self.at += 1;
                self.eat(b'&');
                self.skip_lines();
            } else {
                return item;
            }
        }
    }

    /// Whether an option other than `-p` follows a word: then `time` is the program, not the keyword.
    fn starts_option(&self, word: &str) -> bool {
        let rest = self.text.get(self.at + word.len()..self.end).unwrap_or("").trim_start();
        rest.starts_with('-') && !rest.starts_with("-p ")
    }

    pub(super) fn command(&mut self, stops: Stops) -> Option<Command<'a>> {
        self.skip_blanks();
        let start = self.at;
        let kind = match self.compound(stops) {
            Some(kind) => kind?,
            None => return self.simple(start),
        };
        let end = self.at;
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect() {
                Some(redirect) => redirects.push(redirect),
                None => break,
            }
        }
        Some(Command { kind, redirects, start, end: end.max(self.at) })
    }

    fn simple(&mut self, start: usize) -> Option<Command<'a>> {
        let mut assignments = Vec::new();
        let mut words = Vec::new();
        let mut redirects = Vec::new();
        let mut end = start;
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect() {
                redirects.push(redirect);
                end = self.at;
                continue;
            }
            if words.is_empty()
                && let Some(assignment) = self.assignment()
            {
                assignments.push(assignment);
                end = self.at;
                continue;
            }
            let before = self.at;
            if self.words > MAX_WORDS {
                break;
            }
            let was_argument = std::mem::replace(&mut self.is_argument, !words.is_empty());
            let word = self.word();
            self.is_argument = was_argument;
            if self.at == before {
                break;
            }
            end = self.at;
            words.push(word);
            if let [name] = words.as_slice()
                && assignments.is_empty()
                && let Some(name) = name.bare()
                && self.eat_function_parentheses()
            {
                let kind = self.function(Cow::Borrowed(name))?;
                return Some(Command { kind, redirects, start, end: self.at });
            }
        }
        if assignments.is_empty() && words.is_empty() && redirects.is_empty() {
            return None;
        }
        Some(Command { kind: CommandKind::Simple { assignments, words }, redirects, start, end })
    }

    fn eat_function_parentheses(&mut self) -> bool {
        let before = self.at;
        self.skip_blanks();
        if self.eat(b'(') {
            self.skip_blanks();
            if self.eat(b')') {
                return true;
            }
        }
        self.at = before;
        false
    }

    /// `name=value`, `name+=value`, `name[i]=value`, `name=(…)`.
    fn assignment(&mut self) -> Option<Assignment<'a>> {
        if !self.peek().is_some_and(is_name_start) {
            return None;
        }
        let start = self.at;
        let name = self.take_while(is_name_byte);
        let mut index = None;
        if self.peek() == Some(b'[') {
            let rest = self.bytes.get(self.at..self.end).unwrap_or(&[]);
            let Some(close) = rest.iter().take(200).position(|byte| *byte == b']') else {
                self.at = start;
                return None;
            };
            index = Some(self.slice(self.at + 1, self.at + close));
            self.at += close + 1;
        }
        let is_append = self.eat(b'+');
        if !self.eat(b'=') {
            self.at = start;
            return None;
        }
        let value = if self.eat(b'(') {
            Value::Array(self.deeper(Parser::array)?)
        } else {
            Value::Word(self.argument())
        };
        Some(Assignment { name, is_append, index, value })
    }
}
