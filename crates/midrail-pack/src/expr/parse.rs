//! Parses tokens into a tree by operator precedence. Names and types are not checked here.

use crate::diagnostic::{Diagnostic, Span, excerpt};
use crate::expr::ast::power::{ALL, ANY, COMPARE, NOT, SIGN, SUM};
use crate::expr::ast::{Arithmetic, Ast, AstKind, Comparison, Function, Patterns, Quantifier, TextTest};
use crate::expr::lex::{Kind, Token, lex};
use crate::expr::vocabulary::Segment;
use crate::expr::words;

/// The maximum nesting of an expression.
pub const MAX_DEPTH: usize = 64;

/// Words that cannot start a name.
const RESERVED: [&str; 11] =
    ["and", "or", "not", "in", "is", "true", "false", "null", "matches", "match", "does"];

/// Advice for a word that is not an operator.
const OPERATORS: &str = "operators are `==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `contains`, `starts with`, `ends with`, \
                         `matches` and `is known`";

pub(super) struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Token<'s>>,
    at: usize,
    depth: usize,
    /// The paths of the names so far, each once.
    paths: Vec<Vec<Segment>>,
}

/// An operator between two parts or after one.
enum Infix {
    All,
    Any,
    Arithmetic(Arithmetic),
    Compare(Comparison),
    In(bool),
    TextTest(TextTest, bool),
    Match(Quantifier),
    Known,
}

impl Infix {
    fn power(&self) -> u8 {
        match self {
            Infix::Any => ANY,
            Infix::All => ALL,
            Infix::Compare(_) | Infix::In(_) | Infix::TextTest(..) | Infix::Match(_) | Infix::Known => {
                COMPARE
            }
            Infix::Arithmetic(operator) => operator.power(),
        }
    }
}

type Parsed<T = Ast> = Result<T, Diagnostic>;

impl<'s> Parser<'s> {
    pub(super) fn new(source: &'s str) -> Parsed<Self> {
        let tokens = lex(source)?;
        if tokens.is_empty() {
            return Err(Diagnostic::new("the expression is empty", 0..source.len())
                .with_help("write a condition such as `tool.args.amount <= 100`, or leave the key out"));
        }
        Ok(Parser { source, tokens, at: 0, depth: 0, paths: Vec::new() })
    }

    /// Parses an expression.
    pub(super) fn whole(&mut self) -> Parsed {
        self.expression(ANY)
    }

    /// Checks that nothing follows, and returns the paths of the names.
    pub(super) fn finish(self) -> Parsed<Vec<Vec<Segment>>> {
        match self.peek() {
            None => Ok(self.paths),
            Some(_) => Err(self.unexpected("AND, OR or the end").with_help(self.advice())),
        }
    }

    /// Advice for a token after a complete part.
    fn advice(&self) -> String {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let number = before.filter(|token| matches!(token.kind, Kind::Number(..)));
        let number = number.and_then(|token| self.source.get(token.span.clone()));
        match (self.peek(), number) {
            (Some(Kind::Symbol(",")), Some(_)) => {
                "write a number without separators, or with `_`: `1_000`".to_owned()
            }
            (Some(Kind::Symbol("(")), _) => {
                "a name has no methods: use `starts with`, `ends with`, `contains` or `matches`".to_owned()
            }
            (Some(Kind::Word(word)), number) => words::after(word, number).unwrap_or_else(|| {
                let first = self.tokens.first().map(|token| &token.kind);
                match first {
                    Some(Kind::Word(word)) if self.at == 1 => {
                        words::first(word).unwrap_or(OPERATORS).to_owned()
                    }
                    _ => OPERATORS.to_owned(),
                }
            }),
            (Some(Kind::Text(_)), _) => "put an operator between two values, such as `==`".to_owned(),
            _ => OPERATORS.to_owned(),
        }
    }

    pub(super) fn peek(&self) -> Option<&Kind<'s>> {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Option<&Kind<'s>> {
        self.tokens.get(self.at + by).map(|token| &token.kind)
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// The place of the next token, or of the end.
    pub(super) fn span(&self) -> Span {
        let end = self.source.trim_end().len();
        self.tokens.get(self.at).map_or(end..end, |token| token.span.clone())
    }

    /// Where the last token ended.
    pub(super) fn last_end(&self) -> usize {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(0, |token| token.span.end)
    }

    pub(super) fn is_word(&self, by: usize, words: &[&str]) -> bool {
        matches!(self.ahead(by), Some(Kind::Word(word)) if words.iter().any(|other| word.eq_ignore_ascii_case(other)))
    }

    pub(super) fn eat_word(&mut self, words: &[&str]) -> bool {
        let found = self.is_word(0, words);
        self.at += usize::from(found);
        found
    }

    fn is_symbol(&self, by: usize, symbol: &str) -> bool {
        matches!(self.ahead(by), Some(Kind::Symbol(found)) if *found == symbol)
    }

    fn eat_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(0, symbol);
        self.at += usize::from(found);
        found
    }

    pub(super) fn unexpected(&self, wanted: &str) -> Diagnostic {
        let span = self.span();
        match self.source.get(span.clone()).filter(|found| !found.is_empty()) {
            Some(found) => Diagnostic::new(format!("expected {wanted}, found `{}`", excerpt(found)), span)
                .with_help(match found {
                    "/" => "a pattern is a text in quotes, and not a regular expression: `matches '*rm*'`",
                    "*" => "a pattern is a text in quotes: `matches '*.rs'`",
                    _ => OPERATORS,
                }),
            None => Diagnostic::new(format!("expected {wanted}, found the end"), span)
                .with_help(format!("the expression ends too early: add {wanted}, or remove the last word")),
        }
    }

    /// Checks the depth of every part, so that later passes can recurse.
    fn node(&self, kind: AstKind, start: usize) -> Parsed {
        let span = start..self.last_end();
        let height = 1 + kind.parts().iter().map(|part| part.height).max().unwrap_or(0);
        if height > MAX_DEPTH { Err(too_deep(span)) } else { Ok(Ast { span, kind, height }) }
    }

    fn expression(&mut self, least: u8) -> Parsed {
        if self.depth >= MAX_DEPTH {
            return Err(too_deep(self.span()));
        }
        self.depth += 1;
        let ast = self.operators(least);
        self.depth -= 1;
        ast
    }

    fn operators(&mut self, least: u8) -> Parsed {
        let mut left = self.prefix()?;
        let mut compared = false;
        loop {
            let start = left.span.start;
            let before = self.at;
            let Some(infix) = self.infix()? else { return Ok(left) };
            let power = infix.power();
            if power < least {
                self.at = before;
                return Ok(left);
            }
            if power == COMPARE && compared {
                self.at = before;
                let problem = Diagnostic::new("comparisons cannot be chained", self.span());
                let help = if self.is_word(0, &["in"]) {
                    "join two comparisons with AND; the window of an alert is written as `over 1 hour`"
                } else {
                    "join two comparisons with AND"
                };
                return Err(problem.with_help(help));
            }
            compared = power == COMPARE;
            let kind = match infix {
                Infix::All => AstKind::All(self.chain(left, ALL)?),
                Infix::Any => AstKind::Any(self.chain(left, ANY)?),
                Infix::Arithmetic(operator) => {
                    let right = self.expression(power + 1)?;
                    AstKind::Arithmetic(operator, Box::new(left), Box::new(right))
                }
                Infix::Compare(operator) => {
                    let right = self.expression(SUM)?;
                    AstKind::Compare(operator, Box::new(left), Box::new(right))
                }
                Infix::In(negated) => AstKind::In(Box::new(left), Box::new(self.expression(SUM)?), negated),
                Infix::TextTest(test, negated) => {
                    AstKind::TextTest(test, Box::new(left), Box::new(self.expression(SUM)?), negated)
                }
                Infix::Match(quantifier) => {
                    AstKind::Match(quantifier, Box::new(left), self.patterns(quantifier)?)
                }
                Infix::Known => AstKind::Known(Box::new(left), self.known()?),
            };
            left = self.node(kind, start)?;
        }
    }

    /// The parts of a chain of ANDs or ORs, after its first part and operator.
    fn chain(&mut self, first: Ast, power: u8) -> Parsed<Vec<Ast>> {
        let mut parts = vec![first];
        loop {
            parts.push(self.expression(power + 1)?);
            let before = self.at;
            match self.infix()? {
                Some(infix) if infix.power() == power => {}
                _ => {
                    self.at = before;
                    return Ok(parts);
                }
            }
        }
    }

    /// Reads the next operator.
    fn infix(&mut self) -> Parsed<Option<Infix>> {
        let infix = match self.peek() {
            Some(Kind::Symbol(symbol)) => match *symbol {
                "&&" => Infix::All,
                "||" => Infix::Any,
                symbol => match (Arithmetic::from_symbol(symbol), Comparison::from_symbol(symbol)) {
                    (Some(operator), _) => Infix::Arithmetic(operator),
                    (None, Some(operator)) => Infix::Compare(operator),
                    (None, None) => return Ok(None),
                },
            },
            Some(Kind::Word(word)) => {
                let word = word.to_ascii_lowercase();
                return self.word_infix(&word);
            }
            _ => return Ok(None),
        };
        self.advance();
        Ok(Some(infix))
    }

    fn word_infix(&mut self, word: &str) -> Parsed<Option<Infix>> {
        let simple = match word {
            "and" => Some(Infix::All),
            "or" => Some(Infix::Any),
            "in" => Some(Infix::In(false)),
            "is" => Some(Infix::Known),
            _ => None,
        };
        if let Some(infix) = simple {
            self.advance();
            return Ok(Some(infix));
        }
        let quantifier = match word {
            "all" => Quantifier::All,
            "any" => Quantifier::Any,
            "none" => Quantifier::None,
            "not" | "does" => {
                self.advance();
                if word == "does" && !self.eat_word(&["not"]) {
                    return Err(self.unexpected("`not` after `does`"));
                }
                if word == "not" && self.eat_word(&["in"]) {
                    return Ok(Some(Infix::In(true)));
                }
                return match self.test(true)? {
                    Some(infix) => Ok(Some(infix)),
                    None if word == "not" => Err(self.unexpected("`in` or `match` after `not`").with_help(
                        "to compare values, use `!=`; `not` is written before a condition: `not (…)`",
                    )),
                    None => Err(self
                        .unexpected("`match`, `contain`, `start with` or `end with`")
                        .with_help("for example `does not contain 'x'`; to compare values, use `!=`")),
                };
            }
            _ => return self.test(false),
        };
        self.advance();
        if !self.eat_word(&["match", "matches"]) {
            return Err(self.unexpected(&format!("`match` after `{word}`")));
        }
        Ok(Some(Infix::Match(quantifier)))
    }

    /// Reads `matches`, `contains`, `starts with` or `ends with`, also after `does not`.
    fn test(&mut self, negated: bool) -> Parsed<Option<Infix>> {
        if self.eat_word(&["matches", "match"]) {
            return Ok(Some(Infix::Match(if negated { Quantifier::None } else { Quantifier::Any })));
        }
        if self.eat_word(&["contains", "contain"]) {
            return Ok(Some(Infix::TextTest(TextTest::Contains, negated)));
        }
        let test = if self.is_word(0, &["starts", "start"]) {
            TextTest::StartsWith
        } else if self.is_word(0, &["ends", "end"]) {
            TextTest::EndsWith
        } else {
            return Ok(None);
        };
        self.advance();
        if !self.eat_word(&["with"]) {
            return Err(self.unexpected("`with`"));
        }
        Ok(Some(Infix::TextTest(test, negated)))
    }

    fn known(&mut self) -> Parsed<bool> {
        let negated = self.eat_word(&["not"]);
        if self.eat_word(&["known"]) {
            return Ok(!negated);
        }
        if self.eat_word(&["unknown"]) {
            return Ok(negated);
        }
        Err(self.unexpected("`known` or `unknown` after `is`").with_help(
            "use `is unknown` for a value that is missing; to compare values, use `==`, `!=`, `<` or `>`",
        ))
    }

    /// Reads the patterns of a match. A text after AND or OR is another pattern, unless it starts a comparison.
    fn patterns(&mut self, quantifier: Quantifier) -> Parsed<Patterns> {
        if self.is_word(0, &["regex", "regexp"]) && matches!(self.ahead(1), Some(Kind::Text(_))) {
            return Err(Diagnostic::new("regular expressions are not supported", self.span())
                .with_help("use a glob: `matches '**/*.rs'`"));
        }
        let first = self.expression(SUM)?;
        let extends = matches!(first.kind, AstKind::Text(_));
        let mut items = match first.kind {
            AstKind::List(items) if items.is_empty() => {
                return Err(Diagnostic::new("a list of patterns cannot be empty", first.span)
                    .with_help("write at least one pattern, such as `['*.example.com']`"));
            }
            AstKind::List(items) => items,
            _ => vec![first],
        };
        let mut joined_by_and: Option<bool> = None;
        while extends && self.pattern_follows() {
            let and = self.is_word(0, &["and"]) || self.is_symbol(0, "&&");
            if quantifier != Quantifier::None && joined_by_and.is_some_and(|joined| joined != and) {
                return Err(Diagnostic::new("patterns are joined by both AND and OR", self.span())
                    .with_help("write the match twice, with parentheses"));
            }
            joined_by_and = Some(and);
            self.advance();
            items.push(self.prefix()?);
        }
        self.eat_word(&["patterns", "pattern"]);
        let all = joined_by_and == Some(true) && quantifier != Quantifier::None;
        Ok(Patterns { items, all })
    }

    fn pattern_follows(&self) -> bool {
        let joins =
            |by| self.is_word(by, &["and", "or"]) || self.is_symbol(by, "&&") || self.is_symbol(by, "||");
        let ends = |by| {
            self.ahead(by).is_none()
                || joins(by)
                || self.is_symbol(by, ")")
                || self.is_word(by, &["patterns", "pattern", "over", "per"])
        };
        joins(0) && matches!(self.ahead(1), Some(Kind::Text(_))) && ends(2)
    }

    fn prefix(&mut self) -> Parsed {
        let start = self.span().start;
        let kind = match self.peek() {
            Some(Kind::Number(value, _)) => AstKind::Number(*value),
            Some(Kind::Text(text)) => AstKind::Text(text.clone()),
            Some(Kind::Symbol("!")) => {
                self.advance();
                let part = self.expression(NOT)?;
                return self.node(AstKind::Not(Box::new(part)), start);
            }
            Some(Kind::Symbol("-")) => {
                self.advance();
                let part = self.expression(SIGN)?;
                return self.node(AstKind::Negate(Box::new(part)), start);
            }
            Some(Kind::Symbol("(")) => {
                self.advance();
                let part = self.expression(ANY)?;
                if !self.eat_symbol(")") {
                    return Err(self.unexpected("`)`"));
                }
                return Ok(part);
            }
            Some(Kind::Symbol("[")) => return self.list(start),
            Some(Kind::Word(word)) => {
                let word = *word;
                return self.word(word, start);
            }
            Some(Kind::Symbol(_)) | None => return Err(self.unexpected("a value")),
        };
        self.advance();
        self.node(kind, start)
    }

    fn word(&mut self, word: &str, start: usize) -> Parsed {
        let lower = word.to_ascii_lowercase();
        let constant = match lower.as_str() {
            "true" => Some(AstKind::Bool(true)),
            "false" => Some(AstKind::Bool(false)),
            "null" => Some(AstKind::Null),
            _ => None,
        };
        if let Some(kind) = constant {
            self.advance();
            return self.node(kind, start);
        }
        if lower == "not" {
            self.advance();
            let part = self.expression(NOT)?;
            return self.node(AstKind::Not(Box::new(part)), start);
        }
        if RESERVED.contains(&lower.as_str()) {
            return Err(self.unexpected("a value"));
        }
        if self.is_symbol(1, "(") {
            return self.call(&lower, start);
        }
        self.name(word, start)
    }

    fn call(&mut self, word: &str, start: usize) -> Parsed {
        let function = match word {
            "len" => Function::Len,
            "lower" => Function::Lower,
            "statements" => Function::Statements,
            _ => {
                let help =
                    words::function(word).unwrap_or("known functions are `len`, `lower` and `statements`");
                return Err(Diagnostic::new(format!("unknown function `{}`", excerpt(word)), self.span())
                    .with_help(help));
            }
        };
        self.at += 2;
        let part = self.expression(ANY)?;
        if !self.eat_symbol(")") {
            return Err(self.unexpected("`)`"));
        }
        self.node(AstKind::Call(function, Box::new(part)), start)
    }

    fn name(&mut self, first: &str, start: usize) -> Parsed {
        let mut segments = vec![Segment::Key(first.to_owned())];
        self.advance();
        loop {
            // A bracket after a space starts a list.
            if self.is_symbol(0, "[") && self.span().start == self.last_end() {
                self.advance();
                segments.push(self.index()?);
            } else if self.eat_symbol(".") {
                let Some(Kind::Word(word)) = self.peek() else {
                    return Err(self.unexpected("a name after `.`"));
                };
                segments.push(Segment::Key((*word).to_owned()));
                self.advance();
            } else {
                let index = self.paths.iter().position(|path| *path == segments).unwrap_or(self.paths.len());
                if index == self.paths.len() {
                    self.paths.push(segments);
                }
                return self.node(AstKind::Name(index), start);
            }
        }
    }

    fn index(&mut self) -> Parsed<Segment> {
        let segment = match self.peek() {
            Some(Kind::Text(key)) => Segment::Key(key.clone()),
            Some(Kind::Number(..)) => {
                let digits = self.source.get(self.span()).unwrap_or_default();
                let index = digits.parse().map_err(|_| self.unexpected("a whole number"))?;
                Segment::Index(index)
            }
            _ => return Err(self.unexpected("a key in quotes or a whole number")),
        };
        self.advance();
        if self.eat_symbol("]") { Ok(segment) } else { Err(self.unexpected("`]`")) }
    }

    fn list(&mut self, start: usize) -> Parsed {
        self.advance();
        let mut items = Vec::new();
        while !self.eat_symbol("]") {
            items.push(self.expression(ANY)?);
            if !self.eat_symbol(",") && !self.is_symbol(0, "]") {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
        self.node(AstKind::List(items), start)
    }
}

fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::new(format!("nested more than {MAX_DEPTH} levels deep"), span)
}
