//! What can be said of an expression before anything is known.

use super::ast::Comparison;
use super::code::{Code, MatchGlob};
use super::eval::{self, Truth};
use super::value::{Scope, Value};
use super::vocabulary::{Name, Type};

pub(super) fn always(code: &Code, names: &[Name], matches: MatchGlob) -> Option<bool> {
    Folder { names, matches }.fold(code)
}

struct Folder<'e> {
    names: &'e [Name],
    matches: MatchGlob,
}

/// The scope of parts without names.
struct Nothing;

impl Scope for Nothing {
    fn lookup<'s>(&'s self, _: &Name) -> Value<'s> {
        Value::Unknown
    }
}

/// What a part says about one name that stands for one value.
struct Claim<'e> {
    name: usize,
    says: Says<'e>,
}

enum Says<'e> {
    Is(Vec<&'e Code>),
    IsNot(Vec<&'e Code>),
    Number(Comparison, f64),
}

impl Folder<'_> {
    fn fold(&self, code: &Code) -> Option<bool> {
        match code {
            Code::Not(part) => self.fold(part).map(|holds| !holds),
            Code::All(parts) => self.conjunction(parts, false),
            // NOT (a OR b) is (NOT a) AND (NOT b).
            Code::Any(parts) => self.conjunction(parts, true).map(|holds| !holds),
            _ => {
                let mut has_names = false;
                code.each_name(&mut |_| has_names = true);
                if has_names {
                    return None;
                }
                match eval::evaluate(code, self.names, &Nothing, self.matches) {
                    Truth::True => Some(true),
                    Truth::False => Some(false),
                    Truth::Unknown(_) => None,
                }
            }
        }
    }

    fn conjunction(&self, parts: &[Code], negated: bool) -> Option<bool> {
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

    fn claim<'c>(&self, code: &'c Code, negated: bool) -> Option<Claim<'c>> {
        let (name, says) = match code {
            Code::Not(part) => return self.claim(part, !negated),
            Code::Name(name) => {
                (*name, Says::Is(vec![if negated { &Code::Bool(false) } else { &Code::Bool(true) }]))
            }
            Code::Compare(operator, left, right) => {
                let (name, operator, value) = match (left.as_ref(), right.as_ref()) {
                    (Code::Name(name), value) => (*name, *operator, value),
                    (value, Code::Name(name)) => (*name, mirrored(*operator), value),
                    _ => return None,
                };
                let operator = if negated { opposite(operator) } else { operator };
                let says = match (operator, value) {
                    (_, Code::Number(number)) => Says::Number(operator, *number),
                    (Comparison::Equal, Code::Text(_) | Code::Bool(_)) => Says::Is(vec![value]),
                    (Comparison::NotEqual, Code::Text(_) | Code::Bool(_)) => Says::IsNot(vec![value]),
                    _ => return None,
                };
                (name, says)
            }
            Code::OneOf { item, items, negated: not_in } => {
                let Code::Name(name) = item.as_ref() else { return None };
                let constant = |item: &Code| matches!(item, Code::Text(_) | Code::Bool(_) | Code::Number(_));
                if !items.iter().all(constant) {
                    return None;
                }
                let items = items.iter().collect();
                (*name, if *not_in == negated { Says::Is(items) } else { Says::IsNot(items) })
            }
            _ => return None,
        };
        // A name that may stand for several values can be equal to one and to another.
        let kind = self.names.get(name)?.kind();
        matches!(kind, Type::Bool | Type::Number | Type::Text).then_some(Claim { name, says })
    }
}

/// Whether no one value fits all claims about a name.
fn is_impossible<'c>(claims: impl Iterator<Item = &'c Claim<'c>> + Clone) -> bool {
    let allows = |value: &Code| {
        claims.clone().all(|claim| match (&claim.says, value) {
            (Says::Is(values), _) => values.contains(&value),
            (Says::IsNot(values), _) => !values.contains(&value),
            (Says::Number(operator, number), Code::Number(value)) => {
                operator.holds(*value, *number) == Some(true)
            }
            (Says::Number(..), _) => false,
        })
    };
    let listed = claims.clone().find_map(|claim| match &claim.says {
        Says::Is(values) => Some(values),
        Says::IsNot(_) | Says::Number(..) => None,
    });
    if let Some(values) = listed {
        return !values.iter().any(|value| allows(value));
    }

    let mut least = (f64::NEG_INFINITY, true);
    let mut most = (f64::INFINITY, true);
    for claim in claims.clone() {
        let Says::Number(operator, number) = claim.says else { continue };
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
    !touch || !allows(&Code::Number(least.0))
}

fn mirrored(operator: Comparison) -> Comparison {
    match operator {
        Comparison::Equal | Comparison::NotEqual => operator,
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
    }
}

fn opposite(operator: Comparison) -> Comparison {
    match operator {
        Comparison::Equal => Comparison::NotEqual,
        Comparison::NotEqual => Comparison::Equal,
        Comparison::Less => Comparison::GreaterOrEqual,
        Comparison::LessOrEqual => Comparison::Greater,
        Comparison::Greater => Comparison::LessOrEqual,
        Comparison::GreaterOrEqual => Comparison::Less,
    }
}
