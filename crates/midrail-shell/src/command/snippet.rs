//! Code of other languages that a command line holds (`python -c`, `perl -e`): what it starts, removes, reads, writes
//! and talks to, as far as its text tells without a full parser.

mod calls;
mod effect;
mod effects;
mod eval;
mod lex;
mod model;
mod pure;
mod state;
mod statements;
#[cfg(test)]
mod tests;
mod value;
mod world;

pub use self::model::{Language, Removal, Snippet, Start};

impl Language {
    /// The language of an interpreter by its program's name: `python3.11`, `nodejs`, `gawk`, `osascript`.
    pub fn of_program(program: &str) -> Option<Self> {
        let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
        let name = name.strip_suffix(".exe").unwrap_or(name);
        let name =
            name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-');
        calls::PROGRAMS
            .iter()
            .find(|(known, _)| name.eq_ignore_ascii_case(known))
            .map(|(_, language)| *language)
    }
}

/// Looks into a snippet of code.
pub fn look(language: Language, code: &str) -> Snippet {
    look_started(language, code, &Start::default())
}

/// Looks into a snippet of code of which it is known how it is started.
pub fn look_started(language: Language, code: &str, start: &Start) -> Snippet {
    let mut world = state::World::new(code, start);
    world.run(language, code);
    world.finish(code)
}
