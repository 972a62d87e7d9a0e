//! Checks names and types.

use midrail_core::glob;

use crate::diagnostic::{Diagnostic, did_you_mean, excerpt};
use crate::expr::ast::{Ast, AstKind, Comparison, Function, TextTest};
use crate::expr::vocabulary::{Name, Segment, Type, Vocabulary, path_text};

/// The values of `time.weekday`.
pub(crate) const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// What an expression is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// A condition or a check.
    Bool,
    /// A key of any type.
    Any,
    /// A comparison of a metric with a number, with an optional window and group.
    Alert {
        /// The words that may follow `per`.
        groups: &'static [&'static str],
    },
}

/// Resolves names and checks types. A part with a problem has the type `Any`, so that one mistake is reported once.
pub(super) struct Checker<'a> {
    source: &'a str,
    vocabulary: &'a Vocabulary,
    names: Vec<Name>,
    problems: Vec<Diagnostic>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(source: &'a str, vocabulary: &'a Vocabulary, paths: Vec<Vec<Segment>>) -> Self {
        let resolve =
            |path: Vec<Segment>| vocabulary.resolve(&path).unwrap_or_else(|| Name::unresolved(path));
        let names = paths.into_iter().map(resolve).collect();
        Checker { source, vocabulary, names, problems: Vec::new() }
    }

    /// The resolved names, or all problems.
    pub(super) fn finish(mut self) -> Result<Vec<Name>, Vec<Diagnostic>> {
        self.problems.sort_by_key(|problem| problem.span.start);
        if self.problems.is_empty() { Ok(self.names) } else { Err(self.problems) }
    }

    pub(super) fn problem(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    pub(super) fn has_problems(&self) -> bool {
        !self.problems.is_empty()
    }

    /// The name of a part that is a name, for alerts.
    pub(super) fn metric(&self, ast: &Ast) -> Option<&Name> {
        let AstKind::Name(index) = ast.kind else { return None };
        self.names.get(index)
    }

    /// The number of a part that is a number, for alerts.
    pub(super) fn constant(&self, ast: &Ast) -> Option<f64> {
        match &ast.kind {
            AstKind::Number(value) => Some(*value),
            AstKind::Negate(part) => self.constant(part).map(|value| -value),
            _ => None,
        }
    }

    pub(super) fn root(&mut self, ast: &Ast, expected: Expected) {
        match expected {
            Expected::Bool | Expected::Alert { .. } => self.truth(ast),
            Expected::Any => _ = self.part(ast),
        }
    }

    /// A part that must have one of several types.
    fn typed(&mut self, ast: &Ast, types: &[Type], wanted: &str) {
        let found = self.part(ast);
        if !(found == Type::Any || types.contains(&found)) || matches!(ast.kind, AstKind::Null) {
            self.wrong(ast, found, wanted);
        }
    }

    fn truth(&mut self, ast: &Ast) {
        self.typed(ast, &[Type::Bool], "true or false");
    }

    fn number(&mut self, ast: &Ast) {
        self.typed(ast, &[Type::Number], "a number");
    }

    /// A part that is one text or several.
    fn texts(&mut self, ast: &Ast) {
        self.typed(ast, &[Type::Text, Type::Path, Type::List, Type::Paths], "a text");
    }

    fn wrong(&mut self, ast: &Ast, found: Type, wanted: &str) {
        let noun = if matches!(ast.kind, AstKind::Null) { "nothing" } else { found.noun() };
        let text = self.text(ast);
        let message = format!("`{text}` is {noun}, where {wanted} is needed");
        let help = match (ast.as_text(), wanted) {
            (Some(number), "a number") if number.parse::<f64>().is_ok() => {
                format!("write the number without quotes: `{number}`")
            }
            (Some(_), "a number") => {
                "a text has no order: use `==`, or `in [...]` with all texts that fit".to_owned()
            }
            (Some(_), "true or false") => {
                "to compare with several texts, use `in`: `agent.role in ['planner', 'reviewer']`".to_owned()
            }
            (None, "true or false") if found.is_text() => {
                format!("compare it, as in `{text} == 'TEXT'`, or use `{text} is known`")
            }
            (None, "true or false") if found == Type::Number => format!("compare it, as in `{text} > 0`"),
            (None, "true or false") if found.is_list() => {
                format!("use `{text} contains 'TEXT'`, `{text} any match ['PATTERN']` or `len({text}) > 0`")
            }
            (None, "a number") if found.is_text() => {
                format!("a text has no order: compare it as in `{text} == 'TEXT'` or `{text} in ['A', 'B']`")
            }
            _ => operators(found).to_owned(),
        };
        self.problem(Diagnostic::new(message, ast.span.clone()).with_help(help));
    }

    /// The source of a part for a message.
    fn text(&self, ast: &Ast) -> String {
        excerpt(self.source.get(ast.span.clone()).unwrap_or_default())
    }

    /// Checks a part, and returns its type.
    fn part(&mut self, ast: &Ast) -> Type {
        match &ast.kind {
            AstKind::Null | AstKind::Bool(_) | AstKind::Number(_) | AstKind::Text(_) => {}
            AstKind::List(_) => {
                let problem =
                    Diagnostic::new("a list is only allowed after `in` or `matches`", ast.span.clone());
                self.problem(problem.with_help("for example `agent.role in ['planner', 'reviewer']`"));
            }
            AstKind::Name(index) => self.name(ast, *index),
            AstKind::All(parts) | AstKind::Any(parts) => parts.iter().for_each(|part| self.truth(part)),
            AstKind::Not(part) => self.truth(part),
            AstKind::Negate(part) => self.number(part),
            AstKind::Arithmetic(_, left, right) => {
                self.number(left);
                self.number(right);
            }
            AstKind::Compare(operator, left, right) => {
                self.compare(*operator, left, right);
                self.time_value(left, right);
                self.time_value(right, left);
            }
            AstKind::In(item, container, _) => match &container.kind {
                AstKind::List(items) => {
                    self.one_of(item, items);
                    items.iter().for_each(|value| self.time_value(item, value));
                }
                _ => self.holds(container, item),
            },
            AstKind::TextTest(TextTest::Contains, container, item, _) => self.holds(container, item),
            AstKind::TextTest(_, left, right, _) => {
                self.texts(left);
                self.texts(right);
            }
            AstKind::Match(_, left, patterns) => {
                self.texts(left);
                patterns.items.iter().for_each(|pattern| self.pattern(pattern));
            }
            AstKind::Known(part, _) => _ = self.part(part),
            AstKind::Call(function, part) => self.call(*function, part),
        }
        ast.value_type(&self.names)
    }

    fn name(&mut self, ast: &Ast, index: usize) {
        let Some(name) = self.names.get(index).filter(|name| !name.is_resolved()) else { return };
        let segments = name.segments();
        let problem = match self.vocabulary.above(segments) {
            Some(term) => {
                let message = format!("`{}` is {} and has no parts", term.name, term.kind.noun());
                Diagnostic::new(message, ast.span.clone()).with_help(operators(term.kind))
            }
            None => {
                let message = format!("unknown name `{}`", excerpt(&path_text(segments)));
                let help = self.vocabulary.suggest(segments);
                Diagnostic { help, ..Diagnostic::new(message, ast.span.clone()) }
            }
        };
        self.problem(problem);
    }

    fn compare(&mut self, operator: Comparison, left: &Ast, right: &Ast) {
        if !operator.is_equality() {
            let before = self.problems.len();
            self.number(left);
            // Two texts are one mistake.
            if self.problems.len() > before && right.as_text().is_some() {
                return;
            }
            return self.number(right);
        }
        for side in [left, right] {
            if matches!(side.kind, AstKind::List(_)) {
                let problem = Diagnostic::new("a list cannot be compared as a whole", side.span.clone());
                return self.problem(problem.with_help("use `in [...]` or `not in [...]`"));
            }
        }
        let (left_type, right_type) = (self.part(left), self.part(right));
        for (side, found) in [(left, left_type), (right, right_type)] {
            if found.is_list() {
                let other = if std::ptr::eq(side, left) { right } else { left };
                return self.list_compared(operator, side, found, other);
            }
        }
        if !comparable(left_type, right_type) {
            let message = format!(
                "`{}` is {} and cannot be compared with {}",
                self.text(left),
                left_type.noun(),
                right_type.noun()
            );
            let help = match right.as_text() {
                Some(word @ ("true" | "false")) if left_type == Type::Bool => {
                    format!("write it without quotes: `{word}`")
                }
                Some(number) if left_type == Type::Number && number.parse::<f64>().is_ok() => {
                    format!("write the number without quotes: `{number}`")
                }
                _ => operators(left_type).to_owned(),
            };
            self.problem(Diagnostic::new(message, right.span.clone()).with_help(help));
        }
    }

    /// A value that a time of day is compared with. One that it never has would silently disable the guardrail.
    fn time_value(&mut self, name: &Ast, value: &Ast) {
        let term = self.metric(name).map_or("", |name| name.term());
        let help = match term {
            "time.weekday" => match value.as_text() {
                Some(day) if !WEEKDAYS.contains(&day) => {
                    let lower = day.to_lowercase();
                    let begun = WEEKDAYS.iter().find(|known| lower.len() > 1 && known.starts_with(&lower));
                    match begun {
                        Some(known) => format!("write `'{known}'`"),
                        None => did_you_mean(&lower, WEEKDAYS, |all| format!("it is one of {all}")),
                    }
                }
                _ => return,
            },
            "time.hour" => match self.constant(value) {
                Some(hour) if !(0.0..=23.0).contains(&hour) => "it is a number from 0 to 23".to_owned(),
                _ => return,
            },
            _ => return,
        };
        let message = format!("`{term}` is never `{}`", self.text(value).trim_matches(['\'', '"']));
        self.problem(Diagnostic::new(message, value.span.clone()).with_help(help));
    }

    fn one_of(&mut self, item: &Ast, items: &[Ast]) {
        let mut wanted = self.part(item);
        if wanted.is_list() {
            return self.list_as_one(item, wanted);
        }
        for part in items {
            let found = self.part(part);
            if comparable(wanted, found) {
                // The first item with a known type determines the type of the others.
                wanted = if wanted == Type::Any { found } else { wanted };
            } else {
                self.wrong(part, found, wanted.noun());
            }
        }
    }

    /// A container, and an item that it may contain.
    fn holds(&mut self, container: &Ast, item: &Ast) {
        let (container_type, item_type) = (self.part(container), self.part(item));
        match container_type {
            Type::Bool | Type::Number => self.wrong(container, container_type, "a text or a list"),
            _ if item_type.is_list() => self.list_as_one(item, item_type),
            Type::Any => {}
            _ if item_type.is_text() || item_type == Type::Any => {}
            Type::Text | Type::Path | Type::List | Type::Paths | Type::Patterns => {
                self.wrong(item, item_type, "a text");
            }
        }
    }

    /// A list where one value is needed.
    fn list_as_one(&mut self, list: &Ast, found: Type) {
        let name = self.text(list);
        let message = format!("`{name}` is {}, where one value is needed", found.noun());
        let help = format!("use `{name} contains …`, `{name} all match […]` or `{name} none match […]`");
        self.problem(Diagnostic::new(message, list.span.clone()).with_help(help));
    }

    /// A list that is compared with one value.
    fn list_compared(&mut self, operator: Comparison, list: &Ast, found: Type, other: &Ast) {
        let (name, value) = (self.text(list), self.text(other));
        let message = format!("`{name}` is {}, where one value is needed", found.noun());
        let help = if operator == Comparison::Equal {
            format!(
                "use `{name} contains {value}` if one item is enough, or `{name} all match [{value}]` for all"
            )
        } else {
            format!(
                "use `{name} does not contain {value}`, or `{name} all match […]` for the items that may be in it"
            )
        };
        self.problem(Diagnostic::new(message, list.span.clone()).with_help(help));
    }

    fn pattern(&mut self, ast: &Ast) {
        let found = self.part(ast);
        if matches!(found, Type::Bool | Type::Number) || matches!(ast.kind, AstKind::Null) {
            self.wrong(ast, found, "a pattern");
        }
        if let Some(pattern) = ast.as_text()
            && let Err(reason) = glob::check(pattern)
        {
            let message = format!("invalid pattern `{}`: {reason}", excerpt(pattern));
            let help = "write `\\\\` before a special character that is meant literally";
            self.problem(Diagnostic::new(message, ast.span.clone()).with_help(help));
        }
    }

    fn call(&mut self, function: Function, ast: &Ast) {
        let found = self.part(ast);
        let fits = match function {
            Function::Len => !matches!(found, Type::Bool | Type::Number),
            Function::Lower => found.is_text() || found.is_list() || found == Type::Any,
            Function::Statements => found.is_text() || found == Type::Any,
        };
        if !fits || matches!(ast.kind, AstKind::Null) {
            self.wrong(ast, found, "a text or a list");
        }
    }
}

/// Whether two types can be compared with `==`.
fn comparable(left: Type, right: Type) -> bool {
    match (left, right) {
        (Type::Any, _) | (_, Type::Any) | (Type::Bool, Type::Bool) | (Type::Number, Type::Number) => true,
        _ => left.is_text() && right.is_text(),
    }
}

fn operators(kind: Type) -> &'static str {
    match kind {
        Type::Bool => "true or false supports `==`, `!=`, AND, OR and NOT",
        Type::Number => "a number supports `==`, `!=`, `<`, `<=`, `>`, `>=`, `+`, `-`, `*` and `/`",
        Type::Text | Type::Path => {
            "a text supports `==`, `!=`, `in [...]`, `contains`, `starts with`, `ends with` and `matches`"
        }
        Type::List | Type::Paths => {
            "a list supports `contains`, `all match`, `any match`, `none match` and `len(...)`"
        }
        Type::Patterns => "use patterns after `matches`, `all match` or `none match`",
        Type::Any => "compare a value with `==`, `!=` or `in [...]`",
    }
}
