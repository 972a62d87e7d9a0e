//! The tables of phrases, one file a theme, and the sets of words that they share.
//!
//! A pattern is a row of steps. A step is a set of words (`show|print`, `@orders` for a named set, `a_b` for words that
//! follow each other). Between two steps fillers such as "all of the" may stand; `~3` lets any three words stand there,
//! within the sentence. `^word` wants capitals, `:word` a comma or colon in front, `*` is any word. `!@not` in front
//! wants none of these words just before. Behind the steps, `!` begins what must not come next: one word, or steps as
//! in `!of|in ~4 @machine`.

mod addressed;
mod broad;
mod classes;
mod exfiltration;
mod languages;
mod orders;
mod orders_abroad;
mod override_;
mod parts;
mod persona;
mod pieces;
mod spoken;
mod tools;
mod turns;
mod weak;

pub(super) use classes::CLASSES;

use super::Family;

/// Where a row counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// Wherever it stands.
    Always,
    /// Not by itself: signs of several families have to stand near each other.
    Weak,
    /// Only where the text is hardly more than this: elsewhere it is an everyday phrase.
    Alone,
    /// Only in markup that people do not see.
    Hidden,
    /// Only behind a mark of a chat format.
    Tagged,
    /// Not by itself: whoever reads a text as a machine is spoken to.
    Address,
    /// Not by itself: a model is spoken to by its name, as people do who work with one.
    Name,
    /// Behind an address or a name.
    Order,
    /// Behind an address. Behind a name it is what people ask for.
    Deed,
}

/// What one row says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) family: Family,
    pub(super) counts: Counts,
    pub(super) patterns: &'static [&'static str],
    pub(super) must: &'static [&'static str],
    pub(super) must_not: &'static [&'static str],
}

impl Row {
    /// Is it a hit by itself, at least in some places?
    pub(super) fn is_hit(&self) -> bool {
        matches!(self.counts, Counts::Always | Counts::Alone | Counts::Hidden | Counts::Tagged)
    }

    /// Does it only say who is spoken to?
    pub(super) fn is_address(&self) -> bool {
        matches!(self.counts, Counts::Address | Counts::Name)
    }

    /// Is it looked for only where someone is spoken to?
    pub(super) fn is_order(&self) -> bool {
        matches!(self.counts, Counts::Order | Counts::Deed)
    }
}

/// The patterns of a row, or its examples: what has to match, and what must not.
type Lines = &'static [&'static str];

const fn strong(family: Family, patterns: Lines, must: Lines, must_not: Lines) -> Row {
    Row { family, counts: Counts::Always, patterns, must, must_not }
}

const fn weak(family: Family, patterns: Lines, must: Lines, must_not: Lines) -> Row {
    Row { family, counts: Counts::Weak, patterns, must, must_not }
}

const fn alone(family: Family, patterns: Lines, must: Lines, must_not: Lines) -> Row {
    Row { family, counts: Counts::Alone, patterns, must, must_not }
}

const fn hidden(patterns: Lines, must: Lines, must_not: Lines) -> Row {
    Row { family: Family::HiddenText, counts: Counts::Hidden, patterns, must, must_not }
}

const fn tagged(patterns: Lines, must: Lines, must_not: Lines) -> Row {
    Row { family: Family::FakeTag, counts: Counts::Tagged, patterns, must, must_not }
}

/// A row of what is said to a machine: who is spoken to, or what it is to do.
const fn spoken(counts: Counts, patterns: Lines, must: Lines, must_not: Lines) -> Row {
    Row { family: Family::Addressed, counts, patterns, must, must_not }
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
    spoken::ROWS,
    orders::ROWS,
    orders_abroad::ROWS,
];
