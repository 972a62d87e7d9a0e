//! The tables of phrases, one file a theme, and the sets of words that they share.
//!
//! A pattern is a row of steps. A step is a set of words (`show|print`, `@orders` for a named set, `a_b` for words that
//! follow each other). Between two steps fillers such as "all of the" may stand; `~3` lets any three words stand there,
//! within the sentence. `^word` wants capitals, `:word` a comma or colon in front; `!@not` in front wants none of these
//! words just before, and at the end none of them next.

mod addressed;
mod broad;
mod classes;
mod exfiltration;
mod languages;
mod override_;
mod parts;
mod persona;
mod pieces;
mod tools;
mod turns;
mod weak;

pub(super) use classes::CLASSES;

use super::Family;

/// What one row says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) family: Family,
    /// A weak row is no hit by itself: it takes two of different families near each other.
    pub(super) weak: bool,
    /// It counts only where the text is hardly more than this: elsewhere it is an everyday phrase.
    pub(super) alone: bool,
    /// It counts only in markup that people do not see.
    pub(super) hidden: bool,
    /// It counts only behind a mark of a chat format.
    pub(super) tagged: bool,
    pub(super) patterns: &'static [&'static str],
    pub(super) must: &'static [&'static str],
    pub(super) must_not: &'static [&'static str],
}

impl Row {
    /// Is it a hit wherever it stands?
    pub(super) fn is_plain(&self) -> bool {
        !(self.weak || self.alone || self.hidden || self.tagged)
    }
}

const fn strong(
    family: Family,
    patterns: &'static [&'static str],
    must: &'static [&'static str],
    must_not: &'static [&'static str],
) -> Row {
    Row { family, weak: false, alone: false, hidden: false, tagged: false, patterns, must, must_not }
}

const fn alone(
    family: Family,
    patterns: &'static [&'static str],
    must: &'static [&'static str],
    must_not: &'static [&'static str],
) -> Row {
    Row { family, weak: false, alone: true, hidden: false, tagged: false, patterns, must, must_not }
}

const fn hidden(
    patterns: &'static [&'static str],
    must: &'static [&'static str],
    must_not: &'static [&'static str],
) -> Row {
    Row {
        family: Family::HiddenText,
        weak: false,
        alone: false,
        hidden: true,
        tagged: false,
        patterns,
        must,
        must_not,
    }
}

const fn tagged(
    patterns: &'static [&'static str],
    must: &'static [&'static str],
    must_not: &'static [&'static str],
) -> Row {
    Row {
        family: Family::FakeTag,
        weak: false,
        alone: false,
        hidden: false,
        tagged: true,
        patterns,
        must,
        must_not,
    }
}

const fn weak(
    family: Family,
    patterns: &'static [&'static str],
    must: &'static [&'static str],
    must_not: &'static [&'static str],
) -> Row {
    Row { family, weak: true, alone: false, hidden: false, tagged: false, patterns, must, must_not }
}

/// All tables.
pub(super) const TABLES: &[&[Row]] = &[
    override_::ROWS,
    languages::ROWS,
    exfiltration::ROWS,
    persona::ROWS,
    tools::ROWS,
    addressed::ROWS,
    broad::ROWS,
    turns::ROWS,
    pieces::ROWS,
    parts::ROWS,
    weak::ROWS,
];
