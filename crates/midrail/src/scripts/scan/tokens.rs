//! The tokens of a JavaScript module, as far as strings, templates, comments and regular expressions matter.

use std::iter::Peekable;
use std::str::CharIndices;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Kind {
    /// A name or a keyword.
    Word,
    /// A string, a template, a number, a regular expression.
    Operand,
    #[default]
    Operator,
    /// The dot before a property.
    Dot,
    Open,
    Close,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind,
    pub(super) text: &'s str,
    /// Where it begins.
    pub(super) start: usize,
    /// Whether a line ended before it.
    pub(super) follows_line: bool,
}

pub(super) struct Tokens<'s> {
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
    /// `${` in a template, whose text continues afterwards.
    Template,
    Other,
}

impl<'s> Tokens<'s> {
    pub(super) fn new(source: &'s str) -> Self {
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

    pub(super) fn next(&mut self) -> Option<Token<'s>> {
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
                // A slash after a block starts a regular expression; dividing an object is rare.
                self.after_value = text != "}" && !was_condition;
            }
            Kind::Word => {
                self.after_value = self.last_word == "." || !BEFORE_VALUE.split(' ').any(|word| word == text)
            }
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

    /// Skips a comment, and returns whether it spans lines.
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

/// Words after which a value is next, so that a slash begins a regular expression.
const BEFORE_VALUE: &str = "\
    await case delete do else extends in instanceof new of return throw typeof void yield default";
