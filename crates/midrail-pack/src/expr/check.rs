//! Checks names and types, and converts the tree of the parser to code.

use crate::diagnostic::excerpt;
use crate::expr::ast::{Ast, AstKind, Comparison, Function, Patterns, Quantifier, TextTest};
use crate::expr::code::{Code, Globs, Holds, Literal, Pattern};
use crate::expr::problem::{Expected, ExprProblem};
use crate::expr::vocabulary::{Name, Segment, Type, Vocabulary, path_text};

/// Resolves names and checks types. A part with a problem gets the type `Any`, so that one mistake is reported once.
pub(super) struct Checker<'a> {
    source: &'a str,
    vocabulary: &'a Vocabulary,
    globs: Globs,
    names: Vec<Name>,
    problems: Vec<ExprProblem>,
}

const BROKEN: (Code, Type) = (Code::Null, Type::Any);

impl<'a> Checker<'a> {
    pub(super) fn new(source: &'a str, vocabulary: &'a Vocabulary, globs: Globs) -> Checker<'a> {
        Checker { source, vocabulary, globs, names: Vec::new(), problems: Vec::new() }
    }

    pub(super) fn finish(mut self) -> (Vec<Name>, Vec<ExprProblem>) {
        self.problems.sort_by_key(|problem| problem.span.start);
        (self.names, self.problems)
    }

    pub(super) fn problem(&mut self, problem: ExprProblem) {
        self.problems.push(problem);
    }

    pub(super) fn has_problems(&self) -> bool {
        !self.problems.is_empty()
    }

    /// The name of a checked part that is a name, for alerts.
    pub(super) fn metric(&self, ast: &Ast) -> Option<Name> {
        let AstKind::Name(segments) = &ast.kind else { return None };
        self.names.iter().find(|name| name.segments() == segments.as_slice()).cloned()
    }

    /// The number of a part that is a number, for alerts.
    pub(super) fn constant(&self, ast: &Ast) -> Option<f64> {
        match &ast.kind {
            AstKind::Number(value) => Some(*value),
            AstKind::Negate(part) => self.constant(part).map(|value| -value),
            _ => None,
        }
    }

    pub(super) fn root(&mut self, ast: &Ast, expected: Expected) -> Code {
        match expected {
            Expected::Bool | Expected::Alert { .. } => self.truth(ast),
            Expected::Any => self.part(ast).0,
            Expected::Text => self.typed(ast, &[Type::Text, Type::Texts], "a text"),
        }
    }

    /// A part that must have one of several types.
    fn typed(&mut self, ast: &Ast, types: &[Type], wanted: &str) -> Code {
        let (code, found) = self.part(ast);
        if !(found == Type::Any || types.contains(&found)) || matches!(ast.kind, AstKind::Null) {
            self.wrong(ast, found, wanted);
        }
        code
    }

    fn truth(&mut self, ast: &Ast) -> Code {
        self.typed(ast, &[Type::Bool], "true or false")
    }

    fn number(&mut self, ast: &Ast) -> Code {
        self.typed(ast, &[Type::Number], "a number")
    }

    fn wrong(&mut self, ast: &Ast, found: Type, wanted: &str) {
        let noun = if matches!(ast.kind, AstKind::Null) { "nothing" } else { found.noun() };
        let message = format!("`{}` is {noun}, where {wanted} is needed", self.text(ast));
        self.problem(ExprProblem::new(message, ast.span.clone()).with_help(operators(found)));
    }

    /// The source of a part for a message.
    fn text(&self, ast: &Ast) -> String {
        excerpt(self.source.get(ast.span.clone()).unwrap_or_default())
    }

    fn part(&mut self, ast: &Ast) -> (Code, Type) {
        match &ast.kind {
            AstKind::Null => (Code::Null, Type::Any),
            AstKind::Bool(value) => (Code::Bool(*value), Type::Bool),
            AstKind::Number(value) => (Code::Number(*value), Type::Number),
            AstKind::Text(text) => (Code::Text(text.clone()), Type::Text),
            AstKind::List(_) => {
                let problem =
                    ExprProblem::new("a list is only allowed after `in` or `matches`", ast.span.clone());
                self.problem(problem.with_help("for example `agent.role in ['planner', 'reviewer']`"));
                BROKEN
            }
            AstKind::Name(segments) => self.name(ast, segments),
            AstKind::All(parts) => {
                (Code::All(parts.iter().map(|part| self.truth(part)).collect()), Type::Bool)
            }
            AstKind::Any(parts) => {
                (Code::Any(parts.iter().map(|part| self.truth(part)).collect()), Type::Bool)
            }
            AstKind::Not(part) => (Code::Not(Box::new(self.truth(part))), Type::Bool),
            AstKind::Negate(part) => (Code::Negate(Box::new(self.number(part))), Type::Number),
            AstKind::Arithmetic(operator, left, right) => {
                let (left, right) = (self.number(left), self.number(right));
                (Code::Arithmetic(*operator, Box::new(left), Box::new(right)), Type::Number)
            }
            AstKind::Compare(operator, left, right) => (self.compare(*operator, left, right), Type::Bool),
            AstKind::In(item, container, negated) => (self.one_of(item, container, *negated), Type::Bool),
            AstKind::TextTest(TextTest::Contains, container, item, negated) => {
                (self.holds(container, item, *negated, false), Type::Bool)
            }
            AstKind::TextTest(test, left, right, negated) => {
                let left = Box::new(self.texts(left));
                let right = Box::new(self.texts(right));
                (Code::TextTest { test: *test, left, right, negated: *negated }, Type::Bool)
            }
            AstKind::Match(quantifier, left, patterns) => {
                let left = Box::new(self.texts(left));
                let (patterns, all) = (self.patterns(patterns), patterns.all);
                (Code::Match { quantifier: *quantifier, left, patterns, all }, Type::Bool)
            }
            AstKind::Known(part, known) => (Code::Known(Box::new(self.part(part).0), *known), Type::Bool),
            AstKind::Call(function, part) => self.call(*function, part),
        }
    }

    fn name(&mut self, ast: &Ast, segments: &[Segment]) -> (Code, Type) {
        let Some(name) = self.vocabulary.resolve(segments) else {
            let path = path_text(segments);
            let problem = match self.vocabulary.above(segments) {
                Some(term) => {
                    let message = format!("`{}` is {} and has no parts", term.name, term.kind.noun());
                    ExprProblem::new(message, ast.span.clone())
                }
                None => ExprProblem {
                    span: ast.span.clone(),
                    message: format!("unknown name `{}`", excerpt(&path)),
                    help: self.vocabulary.suggest(segments),
                },
            };
            self.problem(problem);
            return BROKEN;
        };
        let kind = name.kind();
        let index = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        (Code::Name(index), kind)
    }

    fn compare(&mut self, operator: Comparison, left: &Ast, right: &Ast) -> Code {
        if !operator.is_equality() {
            let (left, right) = (self.number(left), self.number(right));
            return Code::Compare(operator, Box::new(left), Box::new(right));
        }
        for side in [left, right] {
            if matches!(side.kind, AstKind::List(_)) {
                let problem = ExprProblem::new("a list cannot be compared as a whole", side.span.clone());
                self.problem(problem.with_help("use `in [...]` or `not in [...]`"));
                return Code::Null;
            }
        }
        let (left_code, left_type) = self.part(left);
        let (right_code, right_type) = self.part(right);
        if !comparable(left_type, right_type) {
            let message = format!(
                "`{}` is {} and cannot be compared with {}",
                self.text(left),
                left_type.noun(),
                right_type.noun()
            );
            self.problem(ExprProblem::new(message, right.span.clone()).with_help(operators(left_type)));
        }
        Code::Compare(operator, Box::new(left_code), Box::new(right_code))
    }

    fn one_of(&mut self, item: &Ast, container: &Ast, negated: bool) -> Code {
        let AstKind::List(parts) = &container.kind else { return self.holds(container, item, negated, true) };
        let (item_code, mut wanted) = self.part(item);
        let mut items = Vec::new();
        for part in parts {
            let (code, found) = self.part(part);
            if comparable(wanted, found) && !matches!(found, Type::List) {
                // The first item with a known type determines the type of the others.
                wanted = if wanted == Type::Any { found } else { wanted };
            } else {
                self.wrong(part, found, wanted.noun());
            }
            items.push(code);
        }
        Code::OneOf { item: Box::new(item_code), items, negated }
    }

    fn holds(&mut self, container: &Ast, item: &Ast, negated: bool, reversed: bool) -> Code {
        // Names are numbered in the order of the text.
        let ((container_code, container_type), (item_code, item_type)) = if reversed {
            let item = self.part(item);
            (self.part(container), item)
        } else {
            (self.part(container), self.part(item))
        };
        if container_type == Type::Patterns {
            // A text is in a list of patterns if it matches one of them.
            if !matches!(item_type, Type::Text | Type::Texts | Type::List | Type::Any) {
                self.wrong(item, item_type, "a text");
            }
            let quantifier = if negated { Quantifier::None } else { Quantifier::Any };
            let patterns = vec![Pattern::Value(container_code)];
            return Code::Match { quantifier, left: Box::new(item_code), patterns, all: false };
        }
        let holds = match container_type {
            Type::Text | Type::Texts => Holds::Part,
            Type::List => Holds::Member,
            Type::Any | Type::Patterns => Holds::Either,
            Type::Bool | Type::Number => {
                self.wrong(container, container_type, "a text or a list");
                Holds::Either
            }
        };
        if holds != Holds::Either && !matches!(item_type, Type::Text | Type::Texts | Type::List | Type::Any) {
            self.wrong(item, item_type, "a text");
        }
        Code::Holds {
            container: Box::new(container_code),
            item: Box::new(item_code),
            holds,
            negated,
            reversed,
        }
    }

    /// A part that is one text or several.
    fn texts(&mut self, ast: &Ast) -> Code {
        self.typed(ast, &[Type::Text, Type::Texts, Type::List], "a text")
    }

    fn patterns(&mut self, patterns: &Patterns) -> Vec<Pattern> {
        let mut codes = Vec::new();
        for item in &patterns.items {
            match &item.kind {
                AstKind::List(items) if items.is_empty() => {
                    self.problem(ExprProblem::new("a list of patterns cannot be empty", item.span.clone()));
                }
                AstKind::List(items) => codes.extend(items.iter().map(|item| self.pattern(item))),
                _ => codes.push(self.pattern(item)),
            }
        }
        codes
    }

    fn pattern(&mut self, ast: &Ast) -> Pattern {
        let AstKind::Text(pattern) = &ast.kind else {
            let (code, found) = self.part(ast);
            if matches!(found, Type::Bool | Type::Number) || matches!(ast.kind, AstKind::Null) {
                self.wrong(ast, found, "a pattern");
            }
            return Pattern::Value(code);
        };
        match (self.globs.compile)(pattern) {
            Ok(glob) => Pattern::Literal(Literal { pattern: pattern.clone(), glob }),
            Err(reason) => {
                let message = format!("invalid pattern `{}`: {reason}", excerpt(pattern));
                self.problem(ExprProblem::new(message, ast.span.clone()));
                Pattern::Value(Code::Null)
            }
        }
    }

    fn call(&mut self, function: Function, ast: &Ast) -> (Code, Type) {
        let (code, found) = self.part(ast);
        let fits = match function {
            Function::Len | Function::LenOfText => !matches!(found, Type::Bool | Type::Number),
            Function::Lower => matches!(found, Type::Text | Type::Texts | Type::List | Type::Any),
        };
        if !fits || matches!(ast.kind, AstKind::Null) {
            self.wrong(ast, found, "a text or a list");
        }
        match (function, found) {
            (Function::Lower, _) => (Code::Call(function, Box::new(code)), found),
            (_, Type::Text | Type::Texts) => (Code::Call(Function::LenOfText, Box::new(code)), Type::Number),
            (_, _) => (Code::Call(Function::Len, Box::new(code)), Type::Number),
        }
    }
}

/// Whether two types can be compared with `==`; a list is equal if one of its texts is.
fn comparable(left: Type, right: Type) -> bool {
    let is_text = |kind| matches!(kind, Type::Text | Type::Texts);
    match (left, right) {
        (Type::Any, _) | (_, Type::Any) => true,
        (Type::List, other) | (other, Type::List) => is_text(other),
        (Type::Bool, Type::Bool) | (Type::Number, Type::Number) => true,
        _ => is_text(left) && is_text(right),
    }
}

fn operators(kind: Type) -> &'static str {
    match kind {
        Type::Bool => "true or false supports `==`, `!=`, AND, OR and NOT",
        Type::Number => "a number supports `==`, `!=`, `<`, `<=`, `>`, `>=`, `+`, `-`, `*` and `/`",
        Type::Text | Type::Texts => {
            "a text supports `==`, `!=`, `in [...]`, `contains`, `starts with`, `ends with` and `matches`"
        }
        Type::List => "a list supports `contains`, `all match`, `any match`, `none match` and `len(...)`",
        Type::Patterns => "use patterns after `matches`, `all match` or `none match`",
        Type::Any => "compare a value with `==`, `!=` or `in [...]`",
    }
}
