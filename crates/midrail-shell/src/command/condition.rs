//! Evaluates the conditions of dangers, and of properties that programs have only with certain arguments.
//!
//! A condition is a list of terms separated by spaces; all of them must hold. `a|b` means one of several, `*` in a word
//! means any text, `[*]` means a star, `.[*]` an expression that matches everything.
//!
//! | term | holds if |
//! |---|---|
//! | `reset` | the next operand is this word; the first such term means the first operand |
//! | `...` | the word term after it may match any later operand |
//! | `-f\|--force` | one of these options is present, alone or in a cluster (`-xf`) |
//! | `--prune=now` | this option is present with this value |
//! | `--` | operands follow a `--` |
//! | `@x*` | one of the operands after those that word terms matched is like this |
//! | `<x*` | the standard input is known text like this |
//! | `>x*` | the standard input is the output of this program |
//! | `{}` | arguments follow that the command line does not contain: `xargs kill` |
//! | `!…` | the term after the `!` does not hold |

use std::borrow::Cow;

use super::invocation::{Input, Invocation};
use super::options::Arguments;
use super::programs::{Program, Tag};
use crate::tables::{Condition, OptionPattern, Pattern, TermKind};

/// Whether a program has a property with these arguments.
pub(super) fn does(invocation: &Invocation, tag: Tag) -> bool {
    let row = invocation.row();
    let mut sometimes = row.sometimes.iter().filter(|it| it.tag == tag);
    row.tags.contains(&tag)
        || sometimes.any(|it| applies(it.when, it.unless, &Call::new(invocation, row, &[])))
}

/// An invocation and its arguments.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// The invocation.
    pub(super) invocation: &'a Invocation,
    /// Its arguments.
    pub(super) arguments: Arguments<'a>,
}

impl<'a> Call<'a> {
    /// Parses the arguments of an invocation. The options in `more` take a value as well.
    pub(super) fn new(invocation: &'a Invocation, program: &'static Program, more: &[&str]) -> Call<'a> {
        let is_own = more.is_empty() && std::ptr::eq(program, invocation.row());
        let arguments = if is_own {
            Arguments::new(invocation)
        } else {
            Arguments::parse(program, &invocation.args, more)
        };
        Call { invocation, arguments }
    }

    /// The text of an operand, as conditions see it.
    pub(super) fn word(&self, index: usize) -> Option<Cow<'a, str>> {
        let text = self.arguments.operands.get(index)?.text.as_str();
        Some(if self.arguments.program.ignores_case {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        })
    }
}

/// Whether one of the first conditions holds, or there is none, and none of the second.
pub(super) fn applies(when: &[Condition], unless: &[Condition], call: &Call) -> bool {
    (when.is_empty() || when.iter().any(|condition| condition.holds(call, false)))
        && !unless.iter().any(|condition| condition.holds(call, true))
}

impl Condition {
    /// Whether it requires a certain operand.
    pub(super) fn has_word(&self) -> bool {
        self.0.iter().any(|term| matches!(term.kind, TermKind::Word(_)) && !term.is_denied)
    }

    /// Whether it requires this operand.
    pub(super) fn mentions(&self, word: &str) -> bool {
        let is_it = |pattern: &Pattern| matches!(pattern, Pattern::Exactly(exact) if *exact == word);
        self.0.iter().any(|term| matches!(term.kind, TermKind::Word(patterns) if patterns.iter().any(is_it)))
    }

    /// Whether it holds. `exempts`: then the call is harmless.
    fn holds(&self, call: &Call, exempts: bool) -> bool {
        let mut matched = 0;
        self.0.iter().all(|term| match &term.kind {
            TermKind::Word(patterns) if term.is_denied => word_from(patterns, call, 0, exempts).is_none(),
            TermKind::Word(patterns) => {
                let found = if term.is_anywhere {
                    word_from(patterns, call, matched, exempts)
                } else {
                    call.word(matched).filter(|word| is_word(patterns, word, call, exempts)).map(|_| matched)
                };
                matched = found.map_or(matched, |index| index + 1);
                found.is_some()
            }
            kind => kind.holds(call, matched, exempts != term.is_denied) != term.is_denied,
        })
    }
}

impl TermKind {
    /// Whether it holds, for the kinds that match no operand by position. `exempts`: then the call is harmless.
    fn holds(&self, call: &Call, matched: usize, exempts: bool) -> bool {
        match self {
            TermKind::Word(patterns) | TermKind::Operand(patterns) => {
                word_from(patterns, call, matched, true).is_some()
            }
            TermKind::Input(patterns) => match &call.invocation.input {
                Input::Text(text) => one_of(patterns, text),
                Input::Inherited | Input::Program(_) | Input::File(_) => false,
            },
            TermKind::Source(patterns) => match &call.invocation.input {
                Input::Program(name) => one_of(patterns, name),
                Input::Inherited | Input::Text(_) | Input::File(_) => false,
            },
            TermKind::Option(options) => options.iter().any(|option| option.is_given(call, exempts)),
            TermKind::MoreArguments => call.invocation.has_more_args,
            TermKind::EndOfOptions => {
                call.arguments.end_of_options.is_some_and(|before| before < call.arguments.operands.len())
            }
        }
    }
}

impl OptionPattern {
    fn is_given(&self, call: &Call, exempts: bool) -> bool {
        let is_it = |given: &str| {
            let is_certain = !exempts || self.value.is_some() || call.arguments.is_certain(given);
            self.is_named(given, call, exempts) && is_certain
        };
        let arguments = &call.arguments;
        arguments
            .values
            .iter()
            .any(|(name, value)| is_it(name) && self.value.is_none_or(|pattern| pattern.matches(&value.text)))
            || (self.value.is_none() && arguments.flags.iter().any(|flag| is_it(flag)))
    }

    /// Whether an option is this one, perhaps shortened (`--recurs`). What allows a command must be written in full.
    fn is_named(&self, given: &str, call: &Call, exempts: bool) -> bool {
        let program = call.arguments.program;
        match self.name {
            Pattern::Exactly(name) => {
                let is_shortened = !exempts
                    && program.abbreviates
                    && given.len() > 3
                    && given.starts_with("--")
                    && name.starts_with(given);
                program.is_same(name, given) || is_shortened
            }
            Pattern::Like(name) => {
                let is_short = |option: &str| option.len() == 2;
                is_short(name) == is_short(given)
                    && like(name.trim_start_matches('-'), given.trim_start_matches('-'))
            }
        }
    }
}

impl Pattern {
    fn matches(self, text: &str) -> bool {
        match self {
            Pattern::Exactly(exact) => exact == text,
            Pattern::Like(pattern) => like(pattern, text),
        }
    }
}

fn word_from(patterns: &[Pattern], call: &Call, from: usize, exempts: bool) -> Option<usize> {
    (from..call.arguments.operands.len())
        .find(|index| call.word(*index).is_some_and(|word| is_word(patterns, &word, call, exempts)))
}

/// Whether a word is one of these. What allows a command must be written in full.
fn is_word(patterns: &[Pattern], given: &str, call: &Call, exempts: bool) -> bool {
    let is_shortened = |pattern: &Pattern| match pattern {
        Pattern::Exactly(word) => call.arguments.program.is_word(word, given),
        Pattern::Like(_) => false,
    };
    one_of(patterns, given) || (!exempts && patterns.iter().any(is_shortened))
}

fn one_of(patterns: &[Pattern], text: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(text))
}

/// Whether a text is like a pattern in which `*` means any text. Linear for each star.
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
