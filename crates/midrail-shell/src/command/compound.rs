//! Compound commands: conditions, loops, groups, functions and arithmetic.

use std::borrow::Cow;

use super::ast::{Command, CommandKind, Item, List, Word, is_name_byte};
use super::parse::{Parser, Stops};

impl<'a> Parser<'a> {
    /// `None`: no compound command begins here. `Some(None)`: one does, too deep to read.
    pub(super) fn compound(&mut self, stops: Stops) -> Option<Option<CommandKind<'a>>> {
        match self.peek()? {
            b'(' => Some(self.parentheses()),
            b'{' if self.eat_word("{") => Some(self.deeper(|parser| {
                let list = parser.list(stops.with(Stops::BRACE));
                parser.expect_word("}");
                CommandKind::Group(list)
            })),
            b'[' if self.is_keyword("[[") => Some(self.deeper(Parser::double_brackets)),
            b'i' if self.eat_word("if") => Some(self.deeper(|parser| parser.if_command(stops))),
            b'w' if self.eat_word("while") => Some(self.deeper(|parser| parser.while_command(stops))),
            b'u' if self.eat_word("until") => Some(self.deeper(|parser| parser.while_command(stops))),
            b'f' if self.eat_word("for") => Some(self.deeper(|parser| parser.for_command(stops, false))),
            b'f' if self.eat_word("foreach") => Some(self.deeper(|parser| parser.for_command(stops, true))),
            b's' if self.eat_word("select") => Some(self.deeper(|parser| parser.for_command(stops, false))),
            b'r' if self.is_keyword("repeat") && self.is_repeat() => {
                self.at += "repeat".len();
                Some(self.deeper(|parser| {
                    parser.skip_blanks();
                    let head = parser.word();
                    let body = parser.loop_body(stops);
                    CommandKind::Repeat { head, body }
                }))
            }
            b'c' if self.eat_word("case") => Some(self.deeper(Parser::case_command)),
            b'c' if self.eat_word("coproc") => Some(self.deeper(|parser| {
                // `coproc NAME { … }`
                parser.skip_blanks();
                let before = parser.at;
                let _ = parser.take_while(is_name_byte);
                parser.skip_blanks();
                if !matches!(parser.peek(), Some(b'{' | b'(')) {
                    parser.at = before;
                }
                CommandKind::Subshell(vec![Item { is_background: true, ..parser.pipeline(stops) }])
            })),
            b'f' if self.eat_word("function") => {
                self.skip_blanks();
                let name = self.word();
                self.skip_blanks();
                if self.eat(b'(') {
                    self.skip_blanks();
                    self.eat(b')');
                }
                Some(self.function(name.bare().map(Cow::Borrowed).unwrap_or_default()))
            }
            _ => None,
        }
    }

    /// `repeat 3 …` of zsh, and not a program of that name.
    pub(super) fn is_repeat(&self) -> bool {
        let rest = self.text.get(self.at + "repeat".len()..self.end).unwrap_or("").trim_start();
        rest.starts_with(|c: char| c.is_ascii_digit() || c == '$')
    }

    pub(super) fn parentheses(&mut self) -> Option<CommandKind<'a>> {
        if self.peek_at(1) == Some(b'(')
            && let Some(close) = self.arithmetic_end(self.at + 2)
            && !is_command(self.slice(self.at + 2, close))
        {
            let parts = self.arithmetic(self.at + 2, close, 2)?;
            return Some(CommandKind::Test(vec![Word { parts, has_brace: false }]));
        }
        self.at += 1;
        self.parenthesised().map(CommandKind::Subshell)
    }

    pub(super) fn double_brackets(&mut self) -> CommandKind<'a> {
        self.at += 2;
        let mut words = Vec::new();
        loop {
            self.skip_lines();
            if self.peek().is_none() {
                self.trouble.is_broken = true;
                break;
            }
            if self.eat_word("]]") {
                break;
            }
            let before = self.at;
            let word = self.argument();
            if self.at == before {
                // Operators: `&&`, `||`, `(`, `)`, `<`.
                self.at += 1;
            } else {
                words.push(word);
            }
        }
        CommandKind::Test(words)
    }

    pub(super) fn if_command(&mut self, stops: Stops) -> CommandKind<'a> {
        let mut arms = Vec::new();
        let mut otherwise = List::default();
        loop {
            let test = self.list(stops.with(Stops::THEN).with(Stops::FI));
            self.skip_lines();
            // `if (( x )) { … }` of zsh needs no `then`.
            self.trouble.is_broken |= !self.eat_word("then");
            let body = self.list(stops.with(Stops::FI));
            arms.push((test, body));
            if self.eat_word("elif") {
                continue;
            }
            if self.eat_word("else") {
                otherwise = self.list(stops.with(Stops::FI));
            }
            self.trouble.is_broken |= !self.eat_word("fi");
            return CommandKind::If { arms, otherwise };
        }
    }

    pub(super) fn while_command(&mut self, stops: Stops) -> CommandKind<'a> {
        let test = self.list(stops.with(Stops::DO));
        let body = self.loop_body(stops);
        CommandKind::While { test, body }
    }

    /// `do … done`, or `{ … }`, or one command.
    pub(super) fn loop_body(&mut self, stops: Stops) -> List<'a> {
        self.skip_lines();
        if self.eat(b';') {
            self.skip_lines();
        }
        if self.eat_word("do") {
            let body = self.list(stops.with(Stops::DONE));
            self.trouble.is_broken |= !self.eat_word("done");
            return body;
        }
        if self.eat_word("{") {
            let body = self.list(stops.with(Stops::BRACE));
            self.expect_word("}");
            return body;
        }
        vec![self.pipeline(stops)]
    }

    pub(super) fn for_command(&mut self, stops: Stops, is_foreach: bool) -> CommandKind<'a> {
        self.skip_blanks();
        if self.peek() == Some(b'(')
            && self.peek_at(1) == Some(b'(')
            && let Some(close) = self.arithmetic_end(self.at + 2)
        {
            let parts = self.arithmetic(self.at + 2, close, 2).unwrap_or_default();
            let head = Word { parts, has_brace: false };
            return CommandKind::Repeat { head, body: self.loop_body(stops) };
        }
        let name = self.take_while(is_name_byte);
        self.skip_lines();
        let mut words = None;
        let was_argument = std::mem::replace(&mut self.is_argument, true);
        if self.eat_word("in") {
            let mut list = Vec::new();
            loop {
                self.skip_blanks();
                let before = self.at;
                let word = self.word();
                if self.at == before {
                    break;
                }
                list.push(word);
            }
            words = Some(list);
        } else if self.eat(b'(') {
            words = self.deeper(Parser::array);
        }
        self.is_argument = was_argument;
        let body = if is_foreach {
            let body = self.list(stops.with(Stops::END));
            self.trouble.is_broken |= !self.eat_word("end");
            body
        } else {
            self.loop_body(stops)
        };
        CommandKind::For { name, words, body }
    }

    pub(super) fn case_command(&mut self) -> CommandKind<'a> {
        self.skip_blanks();
        let subject = self.argument();
        self.expect_word("in");
        let mut arms = Vec::new();
        loop {
            self.skip_lines();
            if self.eat_word("esac") {
                break;
            }
            if self.peek().is_none() {
                self.trouble.is_broken = true;
                break;
            }
            let before = self.at;
            self.eat(b'(');
            // Any of its patterns may match.
            loop {
                self.skip_blanks();
                let _ = self.word();
                self.skip_blanks();
                if !self.eat(b'|') {
                    break;
                }
            }
            self.expect(b')');
            arms.push(self.list(Stops::CASE));
            if self.eat(b';') {
                while matches!(self.peek(), Some(b';' | b'&')) {
                    self.at += 1;
                }
            }
            if self.at == before {
                self.trouble.is_broken = true;
                self.at += 1;
            }
        }
        CommandKind::Case { subject, arms }
    }

    /// The words of an array up to its `)`, which is consumed.
    pub(super) fn array(&mut self) -> Vec<Word<'a>> {
        let mut words = Vec::new();
        loop {
            self.skip_lines();
            if self.eat(b')') {
                return words;
            }
            let before = self.at;
            let word = self.argument();
            if self.at > before {
                words.push(word);
                continue;
            }
            self.trouble.is_broken = true;
            if self.peek().is_none() {
                return words;
            }
            self.at += 1;
        }
    }

    pub(super) fn function(&mut self, name: Cow<'a, str>) -> Option<CommandKind<'a>> {
        self.skip_lines();
        let start = self.at;
        // `f(){x;}` needs no blank in zsh.
        let command = if self.eat(b'{') {
            let list = self.deeper(|parser| parser.list(Stops::BRACE))?;
            self.expect_word("}");
            Command { kind: CommandKind::Group(list), redirects: Vec::new(), start, end: self.at }
        } else {
            self.deeper(|parser| parser.command(Stops::NONE))??
        };
        let body = self.slice(start, self.at);
        Some(CommandKind::Function { name, body, command: Box::new(command) })
    }

    /// The place of the `))` that closes arithmetic whose text begins here. `None` where it is no arithmetic.
    pub(super) fn arithmetic_end(&mut self, from: usize) -> Option<usize> {
        if self.has_no_arithmetic_end {
            return None;
        }
        let mut level = 0_usize;
        let mut at = from;
        while at < self.end {
            match self.bytes.get(at) {
                Some(b'\\') => at += 1,
                Some(b'(') => level += 1,
                Some(b')') if level > 0 => level -= 1,
                Some(b')') => {
                    let closes = self.bytes.get(at + 1) == Some(&b')') && at + 1 < self.end;
                    return closes.then_some(at);
                }
                // Programs in it: a subshell in a subshell.
                Some(b';' | b'"' | b'`') if level == 0 && self.is_statement_end(from, at) => return None,
                _ => {}
            }
            at += 1;
        }
        self.has_no_arithmetic_end = true;
        None
    }

    pub(super) fn is_statement_end(&self, from: usize, at: usize) -> bool {
        // `for ((i=0; i<3; i++))` has semicolons too; a command does not begin as an expression does.
        let head = self.slice(from, at).trim_start();
        let Some(first) = head.split_whitespace().next() else { return false };
        first.bytes().all(|byte| byte.is_ascii_lowercase())
            && head.len() > first.len()
            && head.get(first.len()..).is_some_and(|rest| {
                rest.trim_start()
                    .starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '~' | '"' | '\''))
                    || rest.trim_start().starts_with("-r")
            })
    }
}

/// Whether the text between `((` and `))` reads as a command: `((rm -rf x))` is arithmetic in some shells, and a subshell in
/// a subshell in others.
fn is_command(text: &str) -> bool {
    let text = text.trim_start();
    let name = text.bytes().take_while(u8::is_ascii_lowercase).count();
    let Some(rest) = text.get(name..).filter(|rest| name > 0 && rest.starts_with([' ', '\t'])) else {
        return false;
    };
    let mut bytes = rest.trim_start().bytes();
    let is_word = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphabetic());
    match bytes.next() {
        Some(b'-' | b'/') => is_word(bytes.next()),
        Some(b'~' | b'"' | b'\'') => true,
        first => is_word(first),
    }
}
