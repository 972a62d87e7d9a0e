//! Compiled phrases, indexed by the words that begin them. The tables refer to each other by number.

use super::rows::{ROWS, Row};

/// The number of a set of words.
pub(super) type ClassId = u16;

/// The set of all words.
pub(super) const ANY: ClassId = ClassId::MAX;

/// No set.
const NONE: ClassId = ANY - 1;

/// Items of another table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) start: u16,
    pub(super) len: u16,
}

impl Span {
    /// The items.
    pub(super) fn of<T>(self, table: &[T]) -> &[T] {
        let start = usize::from(self.start);
        table.get(start..start + usize::from(self.len)).unwrap_or_default()
    }
}

/// One step of a phrase: a word of the set, at most `gap` words behind the step before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) class: ClassId,
    pub(super) gap: u8,
    /// Whether any words may be in the gap, within the sentence, or only fillers.
    pub(super) any: bool,
    pub(super) capitals: bool,
    /// Whether a comma or colon is before the word.
    pub(super) after_comma: bool,
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Phrase {
    pub(super) row: u16,
    pub(super) steps: Span,
    pub(super) not_after: ClassId,
    pub(super) not_before: Span,
}

impl Phrase {
    /// The row that it belongs to.
    pub(super) fn row(&self) -> &'static Row {
        // INVARIANT: the build script writes numbers of existing rows.
        ROWS.get(usize::from(self.row)).unwrap_or(&ROWS[0])
    }

    /// None of these words is just before.
    pub(super) fn not_after(&self) -> Option<ClassId> {
        Some(self.not_after).filter(|class| *class != NONE)
    }
}

/// A phrase that a word may begin, by its number.
#[derive(Debug, Clone, Copy)]
pub(super) struct PhraseStart {
    pub(super) number: u16,
    /// The set of its rarest step. Without a word of it, the phrase is not tried.
    pub(super) anchor: u16,
    /// How many words ahead the anchor may be.
    pub(super) reach: u8,
}

impl PhraseStart {
    /// The set of its rarest step, and how many words ahead it may be, if it has one.
    pub(super) fn anchor(self) -> Option<(usize, usize)> {
        (self.anchor != u16::MAX).then(|| (usize::from(self.anchor), usize::from(self.reach)))
    }
}

/// A set of words that a phrase needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Need {
    /// The number of the set among those that the gate looks for.
    pub(super) anchor: u16,
    pub(super) class: ClassId,
    /// How many words behind the need before it may be.
    pub(super) reach: u16,
}

/// Phrases, by the words that begin them.
#[derive(Debug)]
pub(super) struct Phrases {
    pub(super) all: &'static [Phrase],
    pub(super) steps: &'static [Step],
    /// Lists of steps.
    pub(super) not_before: &'static [Span],
    /// For each word the phrases that it may begin.
    pub(super) begins: &'static [Span],
    pub(super) starts: &'static [PhraseStart],
    /// For each word the anchors that it belongs to.
    pub(super) word_anchors: &'static [Span],
    pub(super) anchors: &'static [u16],
    pub(super) anchor_count: usize,
}

impl Phrases {
    /// The phrases that a word may begin.
    pub(super) fn begun_by(&self, id: u16) -> &'static [PhraseStart] {
        self.begins.get(usize::from(id)).map_or(&[], |span| span.of(self.starts))
    }

    /// The anchors that a word belongs to.
    pub(super) fn word_anchors(&self, id: u16) -> &'static [u16] {
        self.word_anchors.get(usize::from(id)).map_or(&[], |span| span.of(self.anchors))
    }

    /// The steps of a phrase.
    pub(super) fn steps(&self, phrase: &Phrase) -> &'static [Step] {
        phrase.steps.of(self.steps)
    }

    /// Steps that must not come next in the sentence.
    pub(super) fn not_before(&self, phrase: &Phrase) -> impl Iterator<Item = &'static [Step]> {
        phrase.not_before.of(self.not_before).iter().map(|span| span.of(self.steps))
    }
}
