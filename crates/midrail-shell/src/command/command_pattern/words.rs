//! Words of a command that may not be known, compared with those of a pattern.

use midrail_core::{CommandCall, glob};

use super::super::invocation::Arg;
use super::super::programs::Program;
use crate::words::shell::ONE_WORD_OUTPUTS;

/// Whether a command, or a word of it, matches a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It does not.
    No,
    /// It depends on a part of the command that is not known.
    Unknown,
    /// It does.
    Yes,
}

/// An argument of a call. A variable in the value that is attached to an option (`--context=$C`) counts as one word: names of
/// contexts and folders rarely contain blanks, and such calls are frequent. A substitution there may be several words.
pub(super) fn to_arg(call: &CommandCall, at: usize, text: &str) -> Arg {
    if !call.unknown.contains(&at) {
        return Arg::known(text);
    }
    let may_split = call.splits.contains(&at);
    let is_plain = |name: &str| name.starts_with('-') && !name.contains(['$', '`', '*', '?', '[', '{', '(']);
    let is_one_word = |value: &str| !may_split || !(value.contains("$(") || value.contains(['`', '{']));
    match text.split_once('=') {
        Some((name, value)) if is_plain(name) && is_one_word(value) => {
            Arg { unknown: std::iter::once(name.len() + 1..text.len()).collect(), ..Arg::known(text) }
        }
        _ => Arg { may_split, ..Arg::unknown(text) },
    }
}

/// Whether an argument of a call that is not completely known may be an option.
pub(super) fn may_be_option(call: &CommandCall, at: usize) -> bool {
    call.args.get(at).is_none_or(|text| may_be("-*", &to_arg(call, at, text)))
}

/// Characters that the outputs of [`ONE_WORD_OUTPUTS`] do not begin with: names of branches, numbers, paths.
const NEVER_FIRST: [char; 6] = ['-', '+', ':', '=', '^', '@'];

/// Whether a word that is not completely known may be one that matches a pattern, or several words.
fn may_be(wanted: &str, word: &Arg) -> bool {
    // `src/*.rs` becomes words that all begin with `src/`.
    let is_split = word.may_split && word.text.contains(['$', '`', '{']);
    if is_split {
        return true;
    }
    if wanted.starts_with(NEVER_FIRST) && prints_one_word(&word.text) {
        return false;
    }
    let end = word.text.find(['$', '`', '*', '?', '[', '{']).unwrap_or(word.text.len());
    let known = word.text.as_bytes().get(..end).unwrap_or_default();
    let wanted = wanted.split(['*', '?', '[', '{']).next().unwrap_or_default().as_bytes();
    known.iter().zip(wanted).all(|(known, wanted)| known.eq_ignore_ascii_case(wanted))
}

/// Whether a word begins with the output of a command that prints one word: `$(git branch --show-current)`.
fn prints_one_word(text: &str) -> bool {
    let inner = text.strip_prefix("$(").and_then(|rest| rest.split_once(')'));
    let inner = inner.or_else(|| text.strip_prefix('`').and_then(|rest| rest.split_once('`')));
    inner.is_some_and(|(command, _)| ONE_WORD_OUTPUTS.contains(command.trim()))
}

/// Whether words begin with these.
pub(super) fn leading_words(program: &Program, wanted: &[&str], given: &[&Arg], has_more: bool) -> Fit {
    // For each place in `given`, whether the words from there on begin with the wanted words that were visited: from the last to
    // the first, so that the time is the product of both lengths.
    let mut fits = vec![Fit::Yes; given.len() + 1];
    for word in wanted.iter().rev() {
        // Whether the next wanted words follow one place later.
        let mut after = if has_more { Fit::Unknown } else { Fit::No };
        let mut is_end = true;
        for (at, fit) in fits.iter_mut().enumerate().rev() {
            let next = *fit;
            *fit = match given.get(at) {
                // Any words, or none.
                _ if *word == "*" => {
                    if is_end {
                        next
                    } else {
                        next.max(after)
                    }
                }
                None => after,
                // It may also be several words, or none.
                Some(first) if !first.is_known() && may_be(word, first) => Fit::Unknown,
                Some(first) if is_word(program, word, &first.text) => after,
                Some(_) => Fit::No,
            };
            after = if *word == "*" { *fit } else { next };
            is_end = false;
        }
    }
    fits.first().copied().unwrap_or(Fit::No)
}

fn is_word(program: &Program, word: &str, given: &str) -> bool {
    program.is_word(word, given) || glob::name_matches(word, given)
}
