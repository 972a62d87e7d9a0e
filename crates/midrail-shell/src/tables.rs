//! The rows of `data`: everything known about programs, SQL, Windows and other languages, compiled by the build script.

pub(crate) mod hash;

use midrail_core::{Confidence, Severity};

type Text = &'static str;
type List = &'static [&'static str];
type Rows<T> = &'static [T];
type Ids = &'static [&'static Rule];
type Conditions = &'static [Condition];
type Examples = ();
type OptionUses = phf::OrderedMap<&'static str, OptionUse>;

macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident { $($(#[$note:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        #[allow(dead_code, reason = "examples exist in the data only")]
        pub(crate) struct $name { $($(#[$note])* pub(crate) $field: $type,)* }
    )*};
}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($(#[$note:meta])* $variant:ident,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$note])* $variant,)* }
    )*};
}

include!("../data/rows.rs.in");
include!(concat!(env!("OUT_DIR"), "/tables.rs"));

/// The rows of programs, by name.
pub(crate) struct Programs(&'static [&'static [(&'static str, &'static Program)]]);

impl Programs {
    /// The row of a program.
    pub(crate) fn get(&self, name: &str) -> Option<&'static Program> {
        let bucket = self.0.get(hash::bucket(name, self.0.len()))?;
        bucket.iter().find(|(known, _)| *known == name).map(|(_, row)| *row)
    }

    /// All names with their rows.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'static str, &'static Program)> {
        self.0.iter().flat_map(|bucket| bucket.iter().copied())
    }

    /// The rows, once for each of their names.
    pub(crate) fn values(&self) -> impl Iterator<Item = &'static Program> {
        self.entries().map(|(_, row)| row)
    }
}

/// What an option with a fixed meaning is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptionUse {
    /// It takes a value wherever it is.
    pub(crate) takes_value: bool,
    /// It takes a value in front of the subcommand.
    pub(crate) is_global: bool,
    /// It takes no value.
    pub(crate) is_flag: bool,
}

/// Terms that must all hold.
#[derive(Debug)]
pub(crate) struct Condition(pub(crate) &'static [Term]);

/// One term of a condition.
#[derive(Debug)]
pub(crate) struct Term {
    /// What it compares.
    pub(crate) kind: TermKind,
    /// It must not hold.
    pub(crate) is_denied: bool,
    /// It may match any later operand.
    pub(crate) is_anywhere: bool,
}

/// What a term compares.
#[derive(Debug)]
pub(crate) enum TermKind {
    /// The next operand.
    Word(&'static [Pattern]),
    /// Any operand after those that words matched.
    Operand(&'static [Pattern]),
    /// The text on standard input.
    Input(&'static [Pattern]),
    /// The program whose output is on standard input.
    Source(&'static [Pattern]),
    /// An option.
    Option(&'static [OptionPattern]),
    /// `--` with operands after it.
    EndOfOptions,
    /// Arguments that the command line does not contain.
    MoreArguments,
}

/// An option, perhaps with a certain value.
#[derive(Debug)]
pub(crate) struct OptionPattern {
    /// Its name, with dashes.
    pub(crate) name: Pattern,
    /// Its value.
    pub(crate) value: Option<Pattern>,
}

/// A word, or one with `*` for any text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pattern {
    /// This word.
    Exactly(&'static str),
    /// A word with `*` for any text.
    Like(&'static str),
}

#[cfg(test)]
pub(crate) mod tests;
