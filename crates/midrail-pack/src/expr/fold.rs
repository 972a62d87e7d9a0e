//! Answers of expressions that do not depend on the values of names.

use crate::expr::ast::{Ast, AstKind, Comparison};
use crate::expr::eval;
use crate::expr::value::{Scope, Value};
use crate::expr::vocabulary::{Name, Type};

pub(super) fn always(root: &Ast, names: &[Name]) -> Option<bool> {
    Folder { names }.fold(root)
}

struct Folder<'e> {
    names: &'e [Name],
}

/// The scope of parts without names.
struct Nothing;

impl Scope for Nothing {
    fn lookup<'s>(&'s self, _: &Name) -> Value<'s> {
        Value::Unknown
    }
}

/// A statement of a part about a name with one value.
struct Claim<'e> {
    name: usize,
    statement: Statement<'e>,
}

enum Statement<'e> {
    Is(Vec<&'e AstKind>),
    IsNot(Vec<&'e AstKind>),
    Number(Comparison, f64),
}

impl Folder<'_> {
    fn fold(&self, ast: &Ast) -> Option<bool> {
        match &ast.kind {
            AstKind::Not(part) => self.fold(part).map(|holds| !holds),
            AstKind::All(parts) => self.conjunction(parts, false),
            // NOT (a OR b) is (NOT a) AND (NOT b).
            AstKind::Any(parts) => self.conjunction(parts, true).map(|holds| !holds),
            _ if ast.names().is_empty() => eval::evaluate(ast, self.names, &Nothing).ok(),
            _ => None,
        }
    }

    fn conjunction(&self, parts: &[Ast], negated: bool) -> Option<bool> {
        let mut all_true = true;
        for part in parts {
            match self.fold(part).map(|holds| holds != negated) {
                Some(false) => return Some(false),
                Some(true) => {}
                None => all_true = false,
            }
        }
        if all_true {
            return Some(true);
        }
        let claims: Vec<Claim<'_>> = parts.iter().filter_map(|part| self.claim(part, negated)).collect();
        let contradicts =
            |claim: &Claim<'_>| is_impossible(claims.iter().filter(|other| other.name == claim.name));
        if claims.iter().any(contradicts) { Some(false) } else { None }
    }

    fn claim<'c>(&self, ast: &'c Ast, negated: bool) -> Option<Claim<'c>> {
        let (name, statement) = match &ast.kind {
            AstKind::Not(part) => return self.claim(part, !negated),
            AstKind::Name(name) => {
                let holds = if negated { &AstKind::Bool(false) } else { &AstKind::Bool(true) };
                (*name, Statement::Is(vec![holds]))
            }
            AstKind::Compare(operator, left, right) => {
                let (name, operator, value) = match (&left.kind, &right.kind) {
                    (AstKind::Name(name), value) => (*name, *operator, value),
                    (value, AstKind::Name(name)) => (*name, operator.mirrored(), value),
                    _ => return None,
                };
                let operator = if negated { operator.opposite() } else { operator };
                let statement = match (operator, value) {
                    (_, AstKind::Number(number)) => Statement::Number(operator, *number),
                    (Comparison::Equal, AstKind::Text(_) | AstKind::Bool(_)) => Statement::Is(vec![value]),
                    (Comparison::NotEqual, AstKind::Text(_) | AstKind::Bool(_)) => {
                        Statement::IsNot(vec![value])
                    }
                    _ => return None,
                };
                (name, statement)
            }
            AstKind::In(item, container, not_in) => {
                let (AstKind::Name(name), AstKind::List(items)) = (&item.kind, &container.kind) else {
                    return None;
                };
                let items: Vec<&AstKind> = items.iter().map(|item| &item.kind).collect();
                let constant = |item: &&AstKind| {
                    matches!(item, AstKind::Text(_) | AstKind::Bool(_) | AstKind::Number(_))
                };
                if !items.iter().all(constant) {
                    return None;
                }
                (*name, if *not_in == negated { Statement::Is(items) } else { Statement::IsNot(items) })
            }
            _ => return None,
        };
        // A name with several values can be equal to different ones.
        let kind = self.names.get(name)?.kind();
        matches!(kind, Type::Bool | Type::Number | Type::Text).then_some(Claim { name, statement })
    }
}

/// Whether no value satisfies all claims about a name.
fn is_impossible<'c>(claims: impl Iterator<Item = &'c Claim<'c>> + Clone) -> bool {
    let allows = |value: &AstKind| {
        claims.clone().all(|claim| match (&claim.statement, value) {
            (Statement::Is(values), _) => values.contains(&value),
            (Statement::IsNot(values), _) => !values.contains(&value),
            (Statement::Number(operator, number), AstKind::Number(value)) => {
                operator.holds(*value, *number) == Some(true)
            }
            (Statement::Number(..), _) => false,
        })
    };
    let listed = claims.clone().find_map(|claim| match &claim.statement {
        Statement::Is(values) => Some(values),
        Statement::IsNot(_) | Statement::Number(..) => None,
    });
    if let Some(values) = listed {
        return !values.iter().any(|value| allows(value));
    }

    let mut least = (f64::NEG_INFINITY, true);
    let mut most = (f64::INFINITY, true);
    for claim in claims.clone() {
        let Statement::Number(operator, number) = claim.statement else { continue };
        if matches!(operator, Comparison::Greater | Comparison::GreaterOrEqual | Comparison::Equal) {
            let bound = (number, operator != Comparison::Greater);
            if bound.0 > least.0 || (bound.0 == least.0 && !bound.1) {
                least = bound;
            }
        }
        if matches!(operator, Comparison::Less | Comparison::LessOrEqual | Comparison::Equal) {
            let bound = (number, operator != Comparison::Less);
            if bound.0 < most.0 || (bound.0 == most.0 && !bound.1) {
                most = bound;
            }
        }
    }
    if least.0 != most.0 {
        return least.0 > most.0;
    }
    let touch = least.1 && most.1;
    !touch || !allows(&AstKind::Number(least.0))
}
