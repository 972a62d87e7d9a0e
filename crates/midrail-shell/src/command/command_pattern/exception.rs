//! Exceptions of rules: commands that certainly match a pattern, with nothing that it does not name.

use midrail_core::{CommandCall, glob};

use super::super::invocation::Arg;
use super::super::options::Arguments;
use super::super::programs::{self, Operands, Program};
use super::{CommandPattern, Fit};

impl CommandPattern {
    /// Whether a command certainly matches, as an exception must: its options are in effect, and nothing follows a file, a branch,
    /// an address or a target that the pattern names.
    pub fn fits_certainly(&self, call: &CommandCall) -> bool {
        if self.fit(call) != Fit::Yes {
            return false;
        }
        let args: Vec<Arg> = call.args.iter().map(Arg::known).collect();
        let row = programs::row(&call.program);
        let given = Arguments::parse(row, &args, &[]);
        let wanted = Arguments::parse(row, &self.args, &[]);
        let has_options = self.words().any(|word| word.starts_with('-'));
        if has_options && !self.has_options_in_effect(call, &given, &wanted) {
            return false;
        }
        !names_operand(row, &wanted) || is_whole(call, &given, &wanted)
    }

    /// Whether the options of the pattern are in effect. One that is repeated, revoked (`--no-dry-run`), has another value
    /// (`--dry-run=none`) or comes before the subcommand, where it means something else (`git -c`), may not be.
    fn has_options_in_effect(
        &self,
        call: &CommandCall,
        given: &Arguments<'_>,
        wanted: &Arguments<'_>,
    ) -> bool {
        let row = given.program;
        let subcommand = given.places.first().copied().unwrap_or_default();
        let name_of = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
        let is_in_effect = |option: &str| {
            let name = name_of(option);
            let name = name.as_str();
            let mut same = call.args.iter().enumerate().filter(|(_, arg)| name_of(arg) == name);
            // The value that the pattern names is the one that is given.
            let has_value = wanted.values.iter().any(|(of, value)| of == name && !value.text.is_empty());
            let is_it = |(at, arg): (usize, &String)| {
                (has_value || arg == option || (row.takes_value(name, false) && option == name))
                    && (at > subcommand || !row.globals.contains(&name))
            };
            same.next().is_none_or(is_it) && same.next().is_none() && (has_value || given.is_certain(name))
        };
        call.unknown.is_empty()
            && !call.has_more_args
            && !call.args.iter().any(|arg| arg.starts_with("--no-"))
            && self.words().filter(|word| word.starts_with('-')).all(is_in_effect)
    }
}

/// Whether a pattern names more than a program and its subcommand. `*` at its end says that more words may follow.
fn names_operand(row: &Program, wanted: &Arguments<'_>) -> bool {
    if wanted.operands.last().is_some_and(|word| word.text == "*") {
        return false;
    }
    let takes_files = row.files.as_ref().is_some_and(|files| files.operands != Operands::None);
    // Two words of git are a command and what it works on: `git stash list`, `git push origin`.
    let is_behind_subcommand = |at: usize| !row.subcommands.is_empty() && at > 1;
    let mut operands = wanted.operands.iter().enumerate().filter(|(_, word)| word.text != "*");
    operands.any(|(at, word)| {
        takes_files || row.recipes.is_some() || is_behind_subcommand(at) || !is_subcommand(&word.text)
    })
}

/// Whether a word is written as subcommands are: not as a path, an address, a version or a pattern.
fn is_subcommand(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | ':');
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(is_part)
}

/// Whether a call has no words beyond those of a pattern, and its wildcards stand for plain names.
fn is_whole(call: &CommandCall, given: &Arguments<'_>, wanted: &Arguments<'_>) -> bool {
    let names = |option: &String| {
        let same = |other: &String| given.program.is_same(option, other);
        let of_program = given.program.synonyms_of(option, "");
        wanted.flags.iter().any(same)
            || wanted.values.iter().any(|(name, _)| same(name))
            || wanted.flags.iter().any(|flag| of_program.contains(&flag.as_str()))
    };
    let has_gap = wanted.operands.iter().any(|word| word.text == "*");
    let patterns: Vec<&str> =
        wanted.operands.iter().map(|word| word.text.as_str()).filter(|word| glob::is_pattern(word)).collect();
    let colons = |word: &str| word.matches(':').count();
    let is_plain = |word: &str| {
        !word.split('/').any(|part| part == "..")
            && patterns.iter().any(|pattern| {
                colons(word) <= colons(pattern) && (pattern.contains('/') || !word.contains('/'))
            })
    };
    let is_named = |word: &str| wanted.operands.iter().any(|other| other.text == word);
    call.unknown.is_empty()
        && !call.has_more_args
        && (has_gap || given.operands.len() == wanted.operands.len())
        && given.flags.iter().all(names)
        && given.values.iter().all(|(name, _)| names(name))
        && (patterns.is_empty()
            || given.operands.iter().all(|word| is_named(&word.text) || is_plain(&word.text)))
}
