//! Lookup of programs in the rows of `data/programs`.

use crate::tables::{PROGRAMS, UNKNOWN};

pub(super) use crate::tables::{
    Client, Files, Formatted, Hosts, Inline, Loss, Operands, Program, RecipeForm, Rest, Rule, Run, Sent,
    Style, Tag, Targets, Transfer, Upload,
};

/// The row of a program.
pub(super) fn find(program: &str) -> Option<&'static Program> {
    let program = program.strip_suffix(".exe").unwrap_or(program);
    // `mkfs.ext4` is one of `mkfs.*`.
    let family =
        || program.split_once('.').and_then(|(family, _)| PROGRAMS.get(format!("{family}.*").as_str()));
    PROGRAMS.get(program).or_else(family).copied()
}

/// The row of a program on a file system that ignores case: `RM` is `rm`.
pub(super) fn row_ignoring_case(program: &str) -> &'static Program {
    row(&program.to_ascii_lowercase())
}

/// The row of a program, or an empty one if there is none.
pub(super) fn row(program: &str) -> &'static Program {
    find(program).unwrap_or(&UNKNOWN)
}

/// Whether a program has a property.
pub(super) fn is(program: &str, tag: Tag) -> bool {
    row(program).tags.contains(&tag)
}

/// Whether a word that follows the options of a wrapper is likely the command: a program that destroys or runs others.
pub(super) fn looks_like_command(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    find(name)
        .is_some_and(|row| !row.dangers.is_empty() || !row.runs.is_empty() || row.tags.contains(&Tag::Shell))
}

impl Program {
    /// Whether an option takes the next word as its value.
    pub(super) fn takes_value(&self, option: &str, is_leading: bool) -> bool {
        let is_in = |list: &[&str]| list.iter().any(|known| self.is_same(known, option));
        is_in(self.values)
            || is_in(self.folders)
            || (is_leading && is_in(self.globals))
            || self.files.as_ref().is_some_and(|it| is_in(it.reads) || is_in(it.names) || is_in(it.writes))
            || self.client.as_ref().is_some_and(|it| is_in(it.statements) || is_in(it.files))
            || self.recipes.as_ref().is_some_and(|it| is_in(it.options))
            || self.runs.iter().any(|run| run.subcommands.is_empty() && is_in(run.code))
    }

    /// Whether an option is documented and takes no value.
    pub(super) fn is_flag(&self, option: &str) -> bool {
        self.flags.iter().any(|known| self.is_same(known, option))
    }

    /// Whether two spellings mean one option.
    pub(super) fn is_same(&self, one: &str, other: &str) -> bool {
        one == other
            || (self.style != Style::Usual && one.trim_start_matches('-') == other.trim_start_matches('-'))
    }
}

#[cfg(test)]
mod tests;
