//! Placeholders in `reason` and `advice`: `Refunds of {tool.args.amount} need a person.`

use std::sync::Arc;

use midrail_core::visible::visible_start;
use midrail_core::{Context, Effect, Fault, Guardrail, Verdict};
use midrail_guardrails::{Middleware, VerdictMapper};

use crate::names::EVENT_NAMES;
use crate::rule::{Deferred, shown_value};

/// The most characters of one value.
const MAX_VALUE: usize = 200;

/// A text with placeholders.
pub(crate) struct Template(Vec<Piece>);

enum Piece {
    Text(String),
    Value(Deferred),
}

/// A part of a text: as it is, or the name in a placeholder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part<'t> {
    Text(&'t str),
    Name(&'t str),
}

/// Splits a text at its placeholders. Braces around anything else than a name stay as they are.
pub(crate) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut start = 0;
    while let Some(open) = rest.get(start..).and_then(|rest| rest.find('{')).map(|at| at + start) {
        let inside = rest.get(open + 1..).unwrap_or_default();
        let end = inside.find('}').unwrap_or(0);
        let name = inside.get(..end).unwrap_or_default();
        if is_name(name) {
            parts.push(Part::Text(rest.get(..open).unwrap_or_default()));
            parts.push(Part::Name(name));
            rest = inside.get(end + 1..).unwrap_or_default();
            start = 0;
        } else {
            start = open + 1;
        }
    }
    parts.push(Part::Text(rest));
    parts.retain(|part| *part != Part::Text(""));
    parts
}

/// Whether a text is meant as a name of expressions: it begins like one.
fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_word = |word: &str| !word.is_empty() && word.chars().all(is_letter);
    let mut words = text.split('.');
    let first = words.next().unwrap_or_default();
    let has_more = text.contains('.');
    let is_first = |name: &str| match name.split_once('.') {
        Some((start, _)) => has_more && start == first,
        None => !has_more && name == first,
    };
    is_word(first) && words.all(is_word) && EVENT_NAMES.terms().iter().any(|term| is_first(term.name))
}

impl Template {
    /// A text whose names `parse` reads. `None`: it has none, or one of them is invalid.
    pub(crate) fn new(text: &str, mut parse: impl FnMut(&str) -> Option<Deferred>) -> Option<Self> {
        let parts = parts(text);
        if !parts.iter().any(|part| matches!(part, Part::Name(_))) {
            return None;
        }
        let pieces: Vec<Option<Piece>> = parts
            .into_iter()
            .map(|part| match part {
                Part::Text(text) => Some(Piece::Text(text.to_owned())),
                Part::Name(name) => parse(name).map(Piece::Value),
            })
            .collect();
        pieces.into_iter().collect::<Option<_>>().map(Template)
    }

    /// The text with values. They come from the event, so they are on one line, visible and short.
    fn fill(&self, context: &Context<'_>) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Value(expression) => {
                let value = shown_value(expression, context).unwrap_or_else(|| "(unknown)".to_owned());
                visible_start(&value, MAX_VALUE)
            }
        };
        self.0.iter().map(piece).collect()
    }
}

/// A guardrail whose objections have these texts.
pub(crate) fn with_texts(
    inner: Arc<dyn Guardrail>,
    reason: Option<Template>,
    advice: Option<Template>,
) -> Arc<dyn Guardrail> {
    if reason.is_none() && advice.is_none() {
        return inner;
    }
    let texts = Arc::new((reason, advice));
    VerdictMapper(move |context: &Context<'_>, verdict: Result<Verdict, Fault>| {
        let mut verdict = verdict?;
        if verdict.effect > Effect::Allow && !verdict.timed_out {
            let (reason, advice) = &*texts;
            if let Some(reason) = reason {
                verdict.reason = reason.fill(context);
            }
            if let Some(advice) = advice {
                verdict.advice = Some(advice.fill(context));
            }
        }
        Ok(verdict)
    })
    .wrap(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_are_placeholders() {
        assert_eq!(
            parts("a {tool.args.amount} b {x} {} {a b} {config.yaml} {text}"),
            [
                Part::Text("a "),
                Part::Name("tool.args.amount"),
                Part::Text(" b {x} {} {a b} {config.yaml} "),
                Part::Name("text")
            ]
        );
        assert_eq!(parts("{{tool.name}}"), [Part::Text("{"), Part::Name("tool.name"), Part::Text("}")]);
        assert_eq!(parts("plain"), [Part::Text("plain")]);
        assert_eq!(parts("open {tool.name"), [Part::Text("open {tool.name")]);
    }
}
