//! Finds the variables that a module declares at its top level, without understanding the rest of it.
//!
//! A name too many does no harm (it is looked up later, and passed over where there is no such variable). What it must
//! get right is where strings, templates, comments and regular expressions end.

mod imports;

use std::iter::Peekable;
use std::str::CharIndices;

pub(super) use imports::place_of;

/// A variable of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: String,
    /// Declared with `const`: its content may change, but it cannot be given another value.
    pub(super) is_const: bool,
}

/// The variables that the source of a module declares at its top level, each once.
pub(super) fn variables(source: &str) -> Vec<Variable> {
    let mut found = Found::default();
    let mut tokens = Tokens::new(source);
    while let Some(token) = tokens.next() {
        found.take(token);
    }
    found.variables
}

/// Where a declaration stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// In none.
    Nowhere,
    /// Where a name or a pattern is next.
    Name,
    /// Inside a pattern that was opened at this depth.
    Pattern(usize),
    /// After a name or pattern: its value, a comma or the end is next.
    Value,
}

struct Found {
    variables: Vec<Variable>,
    at: At,
    is_const: bool,
    depth: usize,
    /// The word inside a pattern that is declared unless a `:` follows it.
    candidate: Option<String>,
    /// Depths at which defaults of a pattern began. Words in them declare nothing.
    in_default: Option<usize>,
    previous: Kind,
}

impl Default for Found {
    fn default() -> Self {
        Found {
            variables: Vec::new(),
            at: At::Nowhere,
            is_const: false,
            depth: 0,
            candidate: None,
            in_default: None,
            previous: Kind::Operator,
        }
    }
}

impl Found {
    fn take(&mut self, token: Token<'_>) {
        let previous = std::mem::replace(&mut self.previous, token.kind);
        if let At::Pattern(depth) = self.at {
            self.pattern(token, depth);
            return;
        }
        match token.kind {
            Kind::Open => {
                if self.at == At::Name && matches!(token.text, "{" | "[") {
                    self.at = At::Pattern(self.depth);
                }
                self.depth += 1;
            }
            Kind::Close => self.depth = self.depth.saturating_sub(1),
            _ if self.depth > 0 => {}
            Kind::Word if matches!(token.text, "let" | "var" | "const") && previous != Kind::Dot => {
                self.at = At::Name;
                self.is_const = token.text == "const";
            }
            Kind::Word if self.at == At::Name => {
                self.declare(token.text);
                self.at = At::Value;
            }
            Kind::Word | Kind::Operand if self.at == At::Value => {
                // Two values in a row on two lines: the declaration ended without a semicolon.
                let goes_on = matches!(token.text, "in" | "instanceof" | "of");
                let had_value = matches!(previous, Kind::Word | Kind::Operand | Kind::Close);
                if token.follows_line && had_value && !goes_on {
                    self.at = At::Nowhere;
                }
            }
            Kind::Operator if token.text == ";" => self.at = At::Nowhere,
            Kind::Operator if token.text == "," && self.at == At::Value => self.at = At::Name,
            Kind::Word | Kind::Operand | Kind::Operator | Kind::Dot => {}
        }
    }

    /// A token inside a pattern: `{ a, b: c, d = 1, ...rest }` declares a, c, d and rest.
    fn pattern(&mut self, token: Token<'_>, opened_at: usize) {
        match token.kind {
            Kind::Open => {
                // A computed key is no name, and what follows it is in brackets that close again.
                self.candidate = None;
                self.depth += 1;
            }
            Kind::Close => {
                if self.in_default.is_some_and(|depth| self.depth <= depth) {
                    self.in_default = None;
                }
                if self.in_default.is_none() {
                    self.accept();
                }
                self.depth = self.depth.saturating_sub(1);
                if self.depth <= opened_at {
                    self.at = At::Value;
                }
            }
            _ if self.in_default.is_some_and(|depth| self.depth > depth) => {}
            Kind::Operator if token.text == "," => {
                if self.in_default.take().is_none() {
                    self.accept();
                }
            }
            _ if self.in_default.is_some() => {}
            Kind::Operator if token.text == ":" => self.candidate = None,
            Kind::Operator if token.text == "=" => {
                self.accept();
                self.in_default = Some(self.depth);
            }
            Kind::Word => self.candidate = Some(token.text.to_owned()),
            Kind::Operand | Kind::Operator | Kind::Dot => {}
        }
    }

    fn accept(&mut self) {
        if let Some(name) = self.candidate.take() {
            self.declare(&name);
        }
    }

    fn declare(&mut self, name: &str) {
        let is_plain = !name.contains('\\') && !RESERVED.contains(&name);
        if is_plain && !self.variables.iter().any(|variable| variable.name == name) {
            self.variables.push(Variable { name: name.to_owned(), is_const: self.is_const });
        }
    }
}

/// Words that cannot name a variable of a module.
const RESERVED: &[&str] = &[
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Words after which a value is next, so that a slash begins a regular expression.
const BEFORE_VALUE: &[&str] = &[
    "await",
    "case",
    "delete",
    "do",
    "else",
    "extends",
    "in",
    "instanceof",
    "new",
    "of",
    "return",
    "throw",
    "typeof",
    "void",
    "yield",
    "default",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A name or a keyword.
    Word,
    /// A string, a template, a number, a regular expression.
    Operand,
    Operator,
    /// The dot before a property.
    Dot,
    Open,
    Close,
}

#[derive(Debug, Clone, Copy)]
struct Token<'s> {
    kind: Kind,
    text: &'s str,
    /// Where it begins.
    start: usize,
    /// Whether a line ended before it.
    follows_line: bool,
}

struct Tokens<'s> {
    source: &'s str,
    chars: Peekable<CharIndices<'s>>,
    /// Whether a slash would divide.
    after_value: bool,
    /// Brackets that are open.
    brackets: Vec<Bracket>,
    /// The last word, for what a parenthesis belongs to.
    last_word: &'s str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// The condition of a statement: a statement follows.
    Condition,
    /// `${` in a template, whose text goes on afterwards.
    Template,
    Other,
}

impl<'s> Tokens<'s> {
    fn new(source: &'s str) -> Self {
        let mut tokens = Tokens {
            source,
            chars: source.char_indices().peekable(),
            after_value: false,
            brackets: Vec::new(),
            last_word: "",
        };
        if source.starts_with("#!") {
            tokens.rest_of_line();
        }
        tokens
    }

    fn next(&mut self) -> Option<Token<'s>> {
        let mut follows_line = false;
        loop {
            let (start, first) = self.chars.next()?;
            let kind = match first {
                '\n' | '\r' | '\u{2028}' | '\u{2029}' => {
                    follows_line = true;
                    continue;
                }
                _ if first.is_whitespace() || first == '\u{feff}' => continue,
                '/' if self.peek() == Some('/') => {
                    self.rest_of_line();
                    continue;
                }
                '/' if self.peek() == Some('*') => {
                    follows_line |= self.comment();
                    continue;
                }
                '/' if !self.after_value => {
                    self.regex();
                    Kind::Operand
                }
                '"' | '\'' => {
                    self.string(first);
                    Kind::Operand
                }
                '`' => self.template(),
                '(' | '[' | '{' => Kind::Open,
                '}' if self.brackets.last() == Some(&Bracket::Template) => {
                    self.brackets.pop();
                    // The rest of the template. What opened it is closed only at its end.
                    if self.template() == Kind::Open {
                        self.brackets.push(Bracket::Template);
                        continue;
                    }
                    Kind::Close
                }
                ')' | ']' | '}' => Kind::Close,
                '0'..='9' => {
                    self.word();
                    Kind::Operand
                }
                '.' if self.peek().is_some_and(|next| next.is_ascii_digit()) => {
                    self.word();
                    Kind::Operand
                }
                '.' if self.peek() != Some('.') => Kind::Dot,
                '.' => {
                    // The dots of a rest or spread.
                    while self.peek() == Some('.') {
                        self.chars.next();
                    }
                    Kind::Operator
                }
                '+' | '-' if self.peek() == Some(first) => {
                    self.chars.next();
                    // `a++ / b` divides, `++ /x/` does not occur.
                    let text = self.text(start);
                    return Some(Token { kind: Kind::Operator, text, start, follows_line });
                }
                _ if is_word(first) => {
                    self.word();
                    Kind::Word
                }
                '=' if matches!(self.peek(), Some('=' | '>')) => {
                    while matches!(self.peek(), Some('=' | '>')) {
                        self.chars.next();
                    }
                    Kind::Operator
                }
                _ => Kind::Operator,
            };
            let text = self.text(start);
            self.after(kind, text);
            return Some(Token { kind, text, start, follows_line });
        }
    }

    /// Notes what a token means for the next one.
    fn after(&mut self, kind: Kind, text: &'s str) {
        match kind {
            Kind::Open if text.ends_with("${") => {
                self.brackets.push(Bracket::Template);
                self.after_value = false;
            }
            Kind::Open => {
                let is_condition = text == "(" && matches!(self.last_word, "if" | "while" | "for" | "with");
                self.brackets.push(if is_condition { Bracket::Condition } else { Bracket::Other });
                self.after_value = false;
            }
            Kind::Close if text.ends_with('`') => self.after_value = true,
            Kind::Close => {
                let was_condition = self.brackets.pop() == Some(Bracket::Condition);
                // Nobody divides by a block, and hardly anybody divides an object.
                self.after_value = text != "}" && !was_condition;
            }
            Kind::Word => self.after_value = self.last_word == "." || !BEFORE_VALUE.contains(&text),
            Kind::Operand => self.after_value = true,
            Kind::Operator | Kind::Dot => self.after_value = false,
        }
        self.last_word = if matches!(kind, Kind::Word | Kind::Dot) { text } else { "" };
    }

    fn peek(&mut self) -> Option<char> {
        self.chars.peek().map(|(_, next)| *next)
    }

    fn text(&mut self, start: usize) -> &'s str {
        let end = self.chars.peek().map_or(self.source.len(), |(at, _)| *at);
        self.source.get(start..end).unwrap_or_default()
    }

    fn word(&mut self) {
        while self.peek().is_some_and(is_word) {
            self.chars.next();
        }
    }

    fn rest_of_line(&mut self) {
        while self.peek().is_some_and(|next| !matches!(next, '\n' | '\r' | '\u{2028}' | '\u{2029}')) {
            self.chars.next();
        }
    }

    /// Passes over a comment, and says whether it spans lines.
    fn comment(&mut self) -> bool {
        self.chars.next();
        let mut spans = false;
        while let Some((_, next)) = self.chars.next() {
            spans |= next == '\n';
            if next == '*' && self.peek() == Some('/') {
                self.chars.next();
                break;
            }
        }
        spans
    }

    fn string(&mut self, quote: char) {
        while let Some((_, next)) = self.chars.next() {
            match next {
                '\\' => {
                    self.chars.next();
                }
                '\n' => return,
                _ if next == quote => return,
                _ => {}
            }
        }
    }

    fn regex(&mut self) {
        let mut in_class = false;
        while let Some((_, next)) = self.chars.next() {
            match next {
                '\\' => {
                    self.chars.next();
                }
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => break,
                '\n' => return,
                _ => {}
            }
        }
        self.word();
    }

    /// The text of a template up to its end, or up to a `${`, which opens a bracket.
    fn template(&mut self) -> Kind {
        while let Some((_, next)) = self.chars.next() {
            match next {
                '\\' => {
                    self.chars.next();
                }
                '`' => return Kind::Operand,
                '$' if self.peek() == Some('{') => {
                    self.chars.next();
                    self.after_value = false;
                    return Kind::Open;
                }
                _ => {}
            }
        }
        Kind::Operand
    }
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '_' | '$' | '\\' | '#' | '\u{200c}' | '\u{200d}')
}
