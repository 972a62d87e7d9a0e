//! Lookup of programs in the rows of `data/programs`.

use crate::tables::{PROGRAMS, UNKNOWN};

pub(super) use crate::tables::{
    Client, Contact, Files, Formatted, Hosts, Inline, Loss, Named, Operands, OptionUse, Options, Program,
    RecipeForm, Rest, Rule, Run, Sent, Style, Tag, Targets, Transfer, Upload,
};

/// The row of a program.
pub(super) fn find(program: &str) -> Option<&'static Program> {
    PROGRAMS.get(program).or_else(|| {
        let program = program.strip_suffix(".exe").unwrap_or(program);
        // `mkfs.ext4` is one of `mkfs.*`.
        let family =
            || program.split_once('.').and_then(|(family, _)| PROGRAMS.get(format!("{family}.*").as_str()));
        PROGRAMS.get(program).or_else(family)
    })
}

/// The row of a program, or an empty one if there is none.
pub(super) fn row(program: &str) -> &'static Program {
    find(program).unwrap_or(&UNKNOWN)
}

/// The first name in the row of a program, which stands for all of them: `docker` for `podman`.
pub(super) fn family(program: &str) -> &str {
    find(program).and_then(|row| row.names.first()).copied().unwrap_or(program)
}

/// Whether a program has a property.
pub(super) fn is(program: &str, tag: Tag) -> bool {
    row(program).tags.contains(&tag)
}

/// Whether a word that follows the options of a wrapper is likely the command: a program that destroys or runs others.
pub(super) fn looks_like_command(word: &str) -> bool {
    let first = word.split_whitespace().next().unwrap_or(word);
    let name = first.rsplit('/').next().unwrap_or(first);
    // `npx rimraf@5`
    let name = name.split('@').next().unwrap_or(name);
    find(name)
        .is_some_and(|row| !row.dangers.is_empty() || !row.runs.is_empty() || row.tags.contains(&Tag::Shell))
}

impl Program {
    /// What an option is, if its meaning does not depend on the subcommand.
    fn use_of(&self, option: &str) -> Option<OptionUse> {
        let name = if self.style == Style::Usual { option } else { option.trim_start_matches('-') };
        self.uses.get(name).copied()
    }

    /// Whether an option takes the next word as its value.
    pub(super) fn takes_value(&self, option: &str, is_leading: bool) -> bool {
        self.use_of(option).is_some_and(|it| it.takes_value || (is_leading && it.is_global))
    }

    /// Whether an option of a subcommand takes the next word as its value.
    pub(super) fn takes_own_value(&self, option: &str, subcommand: &str) -> bool {
        self.options_of(subcommand).any(|row| row.values.contains(&option))
    }

    fn options_of(&self, subcommand: &str) -> impl Iterator<Item = &'static Options> {
        let is_meant =
            move |row: &&Options| row.subcommands.is_empty() || row.subcommands.contains(&subcommand);
        self.options.iter().filter(is_meant)
    }

    /// The full name of a long option with a value that may be shortened: `--split` for `--split-string`.
    pub(super) fn spelled_out<'o>(&self, option: &'o str) -> &'o str
    where
        'static: 'o,
    {
        let may_be_short = self.abbreviates && option.len() > 3 && option.starts_with("--");
        let is_other =
            || self.runs.iter().any(|run| run.values.contains(&option) || run.code.contains(&option));
        if !may_be_short || self.is_flag(option) || self.takes_value(option, true) || is_other() {
            return option;
        }
        let mut valued = self.uses.entries().filter(|(_, it)| it.takes_value).map(|(name, _)| *name);
        valued.find(|name| name.starts_with(option)).unwrap_or(option)
    }

    /// Whether a word is an operand as a user may write it, perhaps shortened.
    pub(super) fn is_word(&self, word: &str, given: &str) -> bool {
        let is_short = |(word, given): (&str, &str)| !given.is_empty() && word.starts_with(given);
        let is_shortened = || {
            let (parts, given_parts) = (word.split(':'), given.split(':'));
            given.len() >= self.abbreviates_words
                && parts.clone().count() == given_parts.clone().count()
                && parts.zip(given_parts).all(is_short)
        };
        word == given || (self.abbreviates_words > 0 && is_shortened())
    }

    /// Whether another word of the subcommand follows this one.
    pub(super) fn is_prefix(&self, word: &str) -> bool {
        self.groups.contains(&word) || self.prefixes.contains(&word)
    }

    /// Whether an option is documented and takes no value.
    pub(super) fn is_flag(&self, option: &str) -> bool {
        self.use_of(option).is_some_and(|it| it.is_flag)
    }

    /// The names of an option of a subcommand: `-d` and `--delete`.
    pub(super) fn synonyms_of<'o>(&self, option: &'o str, subcommand: &str) -> Vec<&'o str>
    where
        'static: 'o,
    {
        let rows = self.options_of(subcommand).flat_map(|row| row.names);
        let names =
            rows.map(|names| names.split(' ')).filter(|names| names.clone().any(|name| name == option));
        std::iter::once(option).chain(names.flatten()).collect()
    }

    /// Whether an option may be this one, shortened: `--del`. Other options may begin with the same letters.
    pub(super) fn may_be_short(&self, given: &str, option: &str) -> bool {
        self.abbreviates
            && given.len() > 2
            && given.starts_with("--")
            && given != option
            && option.starts_with(given)
            && !self.is_flag(given)
            && !self.takes_value(given, true)
    }

    /// Whether a word in the place of a subcommand may be an alias that the user defined. A longer word than a subcommand, such
    /// as `pushx`, is documented to be another command.
    pub(super) fn may_be_alias(&self, word: &str) -> bool {
        !self.subcommands.is_empty() && !self.subcommands.iter().any(|known| word.starts_with(known))
    }

    /// Whether two spellings mean one option.
    pub(super) fn is_same(&self, one: &str, other: &str) -> bool {
        one == other
            || (self.style != Style::Usual && one.trim_start_matches('-') == other.trim_start_matches('-'))
    }
}

#[cfg(test)]
mod tests;
