//! The small language in which a row says when it holds.
//!
//! A condition is a list of terms with spaces between them; all of them must hold. `a|b` means one of several, `*` in a
//! word means any text, `[*]` means a star as such, `.[*]` an expression that fits all.
//!
//! | term | holds where |
//! |---|---|
//! | `reset` | the next operand is this word; the first such term means the first operand |
//! | `...` | the word term after it may match any later operand |
//! | `-f\|--force` | one of these options is given, alone or in a cluster (`-xf`) |
//! | `--prune=now` | this option is given with this value |
//! | `--` | operands follow a `--` |
//! | `@x*` | one of the operands after those that word terms took is like this |
//! | `<x*` | its standard input is known text like this |
//! | `>x*` | its standard input is what this program prints |
//! | `{}` | arguments follow that the line does not tell: `xargs kill` |
//! | `!…` | the term after the `!` does not hold |

use super::call::{Call, Given};
use super::grammar::Style;
use super::rule::Rule;
use crate::shell::invocation::Input;

/// A row whose conditions are read.
#[derive(Debug)]
pub(super) struct Compiled {
    /// The row.
    pub(super) rule: &'static Rule,
    when: Vec<Condition>,
    unless: Vec<Condition>,
}

impl Compiled {
    /// Reads the conditions of a row.
    pub(super) fn new(rule: &'static Rule) -> Compiled {
        let read = |conditions: &'static [&'static str]| {
            conditions.iter().map(|text| Condition::new(text)).collect()
        };
        Compiled { rule, when: read(rule.when), unless: read(rule.unless) }
    }

    /// Whether the row holds for a call.
    pub(super) fn holds(&self, call: &Call) -> bool {
        self.when.iter().any(|condition| condition.holds(call))
            && !self.unless.iter().any(|condition| condition.holds(call))
    }
}

/// Terms that must all hold.
#[derive(Debug)]
struct Condition(Vec<Term>);

#[derive(Debug)]
struct Term {
    kind: Kind,
    is_denied: bool,
    /// It may match any later operand.
    is_anywhere: bool,
}

#[derive(Debug)]
enum Kind {
    Word(Vec<Pattern>),
    Operand(Vec<Pattern>),
    Input(Vec<Pattern>),
    Source(Vec<Pattern>),
    Option(Vec<OptionPattern>),
    EndOfOptions,
    MoreArguments,
}

#[derive(Debug)]
struct OptionPattern {
    name: Pattern,
    /// It is written with one dash.
    is_single: bool,
    value: Option<Pattern>,
}

#[derive(Debug, Clone, Copy)]
enum Pattern {
    Exactly(&'static str),
    Like(&'static str),
}

impl Condition {
    fn new(text: &'static str) -> Condition {
        let mut terms = Vec::new();
        let mut is_anywhere = false;
        for word in text.split_ascii_whitespace() {
            if word == "..." {
                is_anywhere = true;
                continue;
            }
            let term = word.strip_prefix('!').unwrap_or(word);
            terms.push(Term { kind: Kind::new(term), is_denied: term.len() < word.len(), is_anywhere });
            is_anywhere = false;
        }
        Condition(terms)
    }

    fn holds(&self, call: &Call) -> bool {
        let mut taken = 0;
        self.0.iter().all(|term| match &term.kind {
            Kind::Word(patterns) if term.is_denied => word_from(patterns, call, 0).is_none(),
            Kind::Word(patterns) => {
                let found = if term.is_anywhere {
                    word_from(patterns, call, taken)
                } else {
                    call.word(taken).filter(|word| one_of(patterns, word)).map(|_| taken)
                };
                taken = found.map_or(taken, |index| index + 1);
                found.is_some()
            }
            kind => kind.holds(call, taken, term.is_denied) != term.is_denied,
        })
    }
}

impl Kind {
    fn new(term: &'static str) -> Kind {
        let patterns = |text: &'static str| text.split('|').map(Pattern::new).collect();
        if term == "--" {
            Kind::EndOfOptions
        } else if term == "{}" {
            Kind::MoreArguments
        } else if term.starts_with('-') {
            Kind::Option(term.split('|').map(OptionPattern::new).collect())
        } else if let Some(operand) = term.strip_prefix('@') {
            Kind::Operand(patterns(operand))
        } else if let Some(input) = term.strip_prefix('<') {
            Kind::Input(patterns(input))
        } else if let Some(source) = term.strip_prefix('>') {
            Kind::Source(patterns(source))
        } else {
            Kind::Word(patterns(term))
        }
    }

    /// Whether it holds, for those kinds that take no operand.
    fn holds(&self, call: &Call, taken: usize, is_denied: bool) -> bool {
        match self {
            Kind::Word(patterns) | Kind::Operand(patterns) => word_from(patterns, call, taken).is_some(),
            Kind::Input(patterns) => match &call.invocation.input {
                Input::Text(text) => one_of(patterns, text),
                Input::Inherited | Input::Program(_) | Input::File(_) => false,
            },
            Kind::Source(patterns) => match &call.invocation.input {
                Input::Program(name) => one_of(patterns, name),
                Input::Inherited | Input::Text(_) | Input::File(_) => false,
            },
            Kind::Option(options) => call
                .options
                .iter()
                .any(|given| options.iter().any(|option| option.fits(given, call, is_denied))),
            Kind::MoreArguments => call.invocation.has_more_args,
            Kind::EndOfOptions => call.end_of_options.is_some_and(|before| before < call.operands.len()),
        }
    }
}

impl OptionPattern {
    fn new(text: &'static str) -> OptionPattern {
        let bare = text.trim_start_matches('-');
        let (name, value) = match bare.split_once('=') {
            Some((name, value)) => (name, Some(Pattern::new(value))),
            None => (bare, None),
        };
        OptionPattern { name: Pattern::new(name), is_single: text.len() - bare.len() == 1, value }
    }

    fn fits(&self, given: &Given, call: &Call, is_denied: bool) -> bool {
        let is_short = self.is_single && call.grammar.style == Style::Usual;
        given.is_short == is_short
            && (self.name.fits(given.name) || (!is_denied && self.is_cut_short(given.name, call)))
            && match self.value {
                None => true,
                Some(pattern) => given.value_text().is_some_and(|text| pattern.fits(text)),
            }
    }

    /// `--recurs` for `--recursive`, where the program accepts that. What lets a command pass must be spelt out.
    fn is_cut_short(&self, given: &str, call: &Call) -> bool {
        match self.name {
            Pattern::Exactly(name) => call.grammar.abbreviates && given.len() > 1 && name.starts_with(given),
            Pattern::Like(_) => false,
        }
    }
}

impl Pattern {
    fn new(text: &'static str) -> Pattern {
        if text.contains('*') { Pattern::Like(text) } else { Pattern::Exactly(text) }
    }

    fn fits(self, text: &str) -> bool {
        match self {
            Pattern::Exactly(exact) => exact == text,
            Pattern::Like(pattern) => like(pattern, text),
        }
    }
}

fn word_from(patterns: &[Pattern], call: &Call, from: usize) -> Option<usize> {
    (from..call.operands.len()).find(|index| call.word(*index).is_some_and(|word| one_of(patterns, &word)))
}

fn one_of(patterns: &[Pattern], text: &str) -> bool {
    patterns.iter().any(|pattern| pattern.fits(text))
}

/// Whether a text is like a pattern in which `*` stands for any text. Linear for each star.
fn like(pattern: &str, text: &str) -> bool {
    if pattern == "[*]" {
        return matches!(text, "*" | "**" | "*.*" | "./*");
    }
    if pattern == ".[*]" {
        return matches!(text, ".*" | ".+" | "^" | "^.*");
    }
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(found) = rest.find(piece) else { return false };
        rest = rest.get(found + piece.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, expected) in [
            ("rm", "rm", true),
            ("rm", "rmdir", false),
            ("delete-*", "delete-user", true),
            ("delete-*", "undelete-user", false),
            ("*:destroy", "apps:destroy", true),
            ("a*a", "a", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("*", "", true),
        ] {
            assert_eq!(like(pattern, text), expected, "{pattern} and {text}");
        }
    }
}
