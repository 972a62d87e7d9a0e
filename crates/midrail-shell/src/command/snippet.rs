//! Code of other languages that a command line holds (`python -c`, `perl -e`): what it starts, removes, reads, writes
//! and contacts, as far as its text shows without a full parser.

mod arguments;
mod effects;
mod eval;
mod lex;
mod pure;
mod state;
mod statements;
#[cfg(test)]
mod tests;
mod value;
mod world;

use std::borrow::Cow;

use crate::tables::{INTERPRETERS, LANGUAGES, LanguageRow, NO_LANGUAGE};

pub(crate) use self::state::{Snippet, Start};
pub(crate) use crate::tables::Language;

impl Language {
    /// What is known about the language.
    pub(crate) fn row(self) -> &'static LanguageRow {
        LANGUAGES.iter().find(|row| row.name == Some(self)).unwrap_or(&NO_LANGUAGE)
    }

    /// The language of an interpreter by its program's name: `python3.11`, `nodejs`, `gawk`, `osascript`.
    pub(crate) fn from_program(program: &str) -> Option<Self> {
        let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
        let name = name.strip_suffix(".exe").unwrap_or(name);
        let name =
            name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-');
        let has_capitals = name.bytes().any(|byte| byte.is_ascii_uppercase());
        let name = if has_capitals { Cow::Owned(name.to_ascii_lowercase()) } else { Cow::Borrowed(name) };
        // A program of its own, and no version of R.
        if program == "r2" {
            return None;
        }
        INTERPRETERS.get(&*name).copied()
    }
}

/// Analyses a snippet of code that is started in a certain way.
pub(crate) fn analyse(language: Language, code: &str, start: &Start) -> Snippet {
    let mut state = state::SnippetState::new(code, start);
    state.run(language, code);
    state.finish(code)
}
