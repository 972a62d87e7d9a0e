//! A reader for the part of Starlark that rule files use: calls with literal arguments.

use crate::policy::json::line_at;

/// A literal value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Literal>),
    /// Anything else, such as a number or a name.
    Other(String),
}

impl Literal {
    pub(super) fn text(&self) -> Option<&str> {
        if let Literal::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn list(&self) -> Option<&[Literal]> {
        if let Literal::List(items) = self { Some(items) } else { None }
    }
}

/// The arguments of a call, with their names.
type Arguments = Vec<(Option<String>, Literal)>;

/// A call: `name(value, key = value)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    /// The line, from 1.
    pub(super) line: usize,
    /// The name of the function.
    pub(super) name: String,
    /// Its arguments, with their names.
    pub(super) arguments: Arguments,
    /// The call as it is written, without line breaks.
    pub(super) text: String,
}

/// A statement of a file: a call, or the line of one that cannot be read.
pub(super) type Statement = Result<Call, Unreadable>;

/// A statement that is not a call with literal arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unreadable {
    /// Its line, from 1.
    pub(super) line: usize,
    /// Its first line.
    pub(super) text: String,
}

/// The deepest nesting of lists.
const MAX_DEPTH: usize = 16;

/// The statements of a file.
pub(super) fn statements(source: &str) -> Vec<Statement> {
    let mut reader = Reader { source, at: 0 };
    let mut statements = Vec::new();
    loop {
        reader.skip_blank(true);
        if reader.peek().is_none() {
            return statements;
        }
        let start = reader.at;
        let line = reader.line();
        match reader.call() {
            Some((name, arguments)) => {
                let text = source.get(start..reader.at).unwrap_or_default();
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                statements.push(Ok(Call { line, name, arguments, text }));
            }
            None => {
                reader.at = start;
                let text = reader.rest().lines().next().unwrap_or_default().trim_end().to_owned();
                statements.push(Err(Unreadable { line, text }));
                reader.skip_statement();
            }
        }
    }
}

struct Reader<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Reader<'s> {
    fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    fn line(&self) -> usize {
        line_at(self.source, self.at)
    }

    /// Skips spaces, comments, and line breaks if they do not end a statement.
    fn skip_blank(&mut self, lines: bool) {
        while let Some(c) = self.peek() {
            match c {
                '#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                '\n' | ';' if !lines => return,
                c if c.is_whitespace() || c == ';' => self.at += c.len_utf8(),
                _ => return,
            }
        }
    }

    /// Skips a statement that cannot be read, with its indented lines and open brackets.
    fn skip_statement(&mut self) {
        let mut depth = 0_usize;
        while let Some(c) = self.peek() {
            match c {
                '"' | '\'' => {
                    let start = self.at;
                    if self.string(false).is_none() {
                        self.at = start + 1;
                    }
                    continue;
                }
                '#' => {
                    self.skip_blank(false);
                    continue;
                }
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                '\n' => {
                    let next = self.rest().chars().nth(1);
                    let is_same =
                        depth > 0 || next.is_some_and(|c| c.is_whitespace() || c == ')' || c == ']');
                    // A call at the start of a line ends what was never closed.
                    let after = self.rest().get(1..).unwrap_or_default();
                    let is_call = FUNCTIONS.iter().any(|name| after.starts_with(name));
                    if !is_same || is_call {
                        return;
                    }
                }
                _ => {}
            }
            self.at += c.len_utf8();
        }
    }

    fn name(&mut self) -> Option<String> {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = rest.get(..length).filter(|name| !name.is_empty())?;
        self.at += length;
        Some(name.to_owned())
    }

    fn call(&mut self) -> Option<(String, Arguments)> {
        let name = self.name()?;
        self.skip_blank(false);
        if !self.eat("(") {
            return None;
        }
        let mut arguments = Vec::new();
        loop {
            self.skip_blank(true);
            if self.eat(")") {
                break;
            }
            let start = self.at;
            let key = self.name().filter(|_| {
                self.skip_blank(true);
                self.rest().starts_with('=') && !self.rest().starts_with("==") && self.eat("=")
            });
            if key.is_none() {
                self.at = start;
            }
            self.skip_blank(true);
            arguments.push((key, self.value(0)?));
            self.skip_blank(true);
            if !self.eat(",") {
                self.skip_blank(true);
                if !self.eat(")") {
                    return None;
                }
                break;
            }
        }
        self.skip_blank(false);
        matches!(self.peek(), None | Some('\n' | ';')).then_some((name, arguments))
    }

    fn value(&mut self, depth: usize) -> Option<Literal> {
        match self.peek()? {
            '"' | '\'' => self.string(false).map(Literal::Text),
            'r' if matches!(self.rest().as_bytes().get(1), Some(b'"' | b'\'')) => {
                self.at += 1;
                self.string(true).map(Literal::Text)
            }
            '[' if depth < MAX_DEPTH => {
                self.at += 1;
                let mut items = Vec::new();
                loop {
                    self.skip_blank(true);
                    if self.eat("]") {
                        return Some(Literal::List(items));
                    }
                    items.push(self.value(depth + 1)?);
                    self.skip_blank(true);
                    if !self.eat(",") && !self.rest().starts_with(']') {
                        return None;
                    }
                }
            }
            _ => {
                let name = self.name()?;
                matches!(name.as_str(), "None" | "True" | "False").then_some(Literal::Other(name))
            }
        }
    }

    fn string(&mut self, is_raw: bool) -> Option<String> {
        let quote = self.peek()?;
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        let close = if self.rest().starts_with(&triple) { triple } else { quote.to_string() };
        self.at += close.len();
        let mut text = String::new();
        loop {
            if self.eat(&close) {
                return Some(text);
            }
            match self.bump()? {
                '\n' if close.len() == 1 => return None,
                '\\' if is_raw => {
                    text.push('\\');
                    text.push(self.bump()?);
                }
                '\\' => match self.bump()? {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    '\n' => {}
                    c @ ('\\' | '\'' | '"') => text.push(c),
                    // Numeric escapes are not read.
                    _ => return None,
                },
                c => text.push(c),
            }
        }
    }
}

/// The functions of rule files.
pub(super) const FUNCTIONS: [&str; 3] = ["prefix_rule", "host_executable", "network_rule"];
