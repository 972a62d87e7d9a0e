//! Prompt injections and jailbreaks in texts that reach a model.
//!
//! `words` reads a text despite disguises, `phrases` searches for the phrases of `data/injection/phrases`, and `model`
//! classifies what no phrase covers. `hidden` and `encoded` extract text that people do not see.

mod confusables;
mod data;
mod encoded;
mod escapes;
mod family;
mod hashing;
mod hidden;
mod hits;
mod links;
mod mention;
pub mod model;
mod orders;
mod phrase_index;
mod phrases;
mod rows;
mod spaced;

mod tags;
mod vocabulary;
mod words;

pub use family::{Intent, intent_for_kind};

use std::ops::Range;

use midrail_core::{Confidence, Hit};

use family::Family;
use hits::{hit, word_span};
use phrases::PhraseMatch;
use rows::Counts;
use vocabulary::{Vocabulary, vocabulary};
use words::{Disguises, ReadMode, Word};

/// How many nested encodings are decoded.
const MAX_DEPTH: u32 = 2;
/// How many words apart weak signs may be.
const NEAR: usize = 40;
/// How many bytes behind a mark of a chat format an order may be.
const TAG_REACH: usize = 160;
/// The most words of a text that hardly contains more than one phrase.
const ALONE: usize = 5;

/// How many families of weak signs make a hit.
const ENOUGH: usize = 3;
/// The share of its threshold from which a window has medium confidence.
const SURE: f64 = 1.5;
/// The share from which a window counts although it contains a quotation.
const VERY_SURE: f64 = 2.5;
/// How many words apart two entries of a list of phrases may be.
const LIST_REACH: usize = 12;
/// How many quotations of one text are kept.
const MAX_QUOTES: usize = 64;
/// The most hits of one text.
const MAX_HITS: usize = 1_000;

/// Returns the attacks in a text, in order. No two of one kind overlap.
pub fn scan(text: &str) -> Vec<Hit> {
    let mut hits = scan_at(text, 0);
    hits.sort_by(|one, other| (one.start, one.end, one.kind).cmp(&(other.start, other.end, other.kind)));
    let mut kept: Vec<Hit> = Vec::new();
    for hit in hits {
        if let Some(old) =
            kept.iter_mut().rev().take(8).find(|old| old.kind == hit.kind && hit.start < old.end)
        {
            old.end = old.end.max(hit.end);
            old.confidence = old.confidence.max(hit.confidence);
        } else if kept.len() < MAX_HITS {
            kept.push(hit);
        }
    }
    kept
}

fn scan_at(text: &str, depth: u32) -> Vec<Hit> {
    let vocabulary = vocabulary();
    let (words, disguises) = words::read(text, vocabulary, ReadMode::default());
    let mut hits = Vec::new();
    let places = Places { hidden: hidden::markup(text), tags: tags::find(text) };
    let (addresses, found) = places.phrases(&words, vocabulary);
    orders::scan(text, &words, &addresses, vocabulary, &mut hits);
    let mentioned = strong_hits(text, &words, &found, vocabulary, &mut hits);
    weak_hits(text, &words, &found, &places, &mentioned, &mut hits);
    for scored in model::classify(text, &words, &found) {
        let family = match scored.head {
            model::Head::Text => Family::Statistical,
            model::Head::Field => Family::DataInstruction,
        };
        // A quoted phrase must not be reported again because the text resembles attacks.
        let quotes =
            mentioned.iter().any(|span| scored.span.start <= span.start && span.end <= scored.span.end);
        if quotes && scored.share < VERY_SURE {
            continue;
        }
        let confidence = if scored.share >= SURE { Confidence::Medium } else { Confidence::Low };
        hits.push(hit(family, scored.span, confidence));
    }
    links::scan(text, &mut hits);
    tags::scan_ends(text, &places.tags, &mut hits);
    other_readings(text, disguises, &places, vocabulary, &mut hits);
    if disguises.spaced_letters {
        spaced::scan(text, &words, vocabulary, &mut hits);
    }
    if depth < MAX_DEPTH {
        decoded_hits(text, &words, disguises, depth, &mut hits);
    }
    hits
}

/// Adds phrases that are a hit by themselves. Returns those that are only mentioned, which are hits of low confidence.
fn strong_hits(
    text: &str,
    words: &[Word],
    found: &[PhraseMatch<'_>],
    vocabulary: &Vocabulary,
    hits: &mut Vec<Hit>,
) -> Vec<Range<usize>> {
    let mut mentioned = Vec::new();
    // The last quoted phrase: the other entries of a list share its heading.
    let mut quoted: Option<usize> = None;
    for found in found.iter().filter(|found| found.phrase.row.is_hit()) {
        let Some(span) = word_span(words, found.first, found.last) else { continue };
        let is_entry = quoted.is_some_and(|last| found.first.saturating_sub(last) <= LIST_REACH)
            && is_list_entry(text, &span);
        if is_entry || mention::is_mentioned(text, words, found, &span, vocabulary) {
            quoted = Some(found.last);
            if mentioned.len() < MAX_QUOTES {
                hits.push(hit(found.phrase.row.family, span.clone(), Confidence::Low));
                mentioned.push(span);
            }
        } else {
            hits.push(hit(found.phrase.row.family, span, Confidence::High));
        }
    }
    mentioned
}

/// Whether the phrase is a whole quoted entry of a list, as in a table of phrases to block.
fn is_list_entry(text: &str, span: &Range<usize>) -> bool {
    let before = text.get(..span.start).unwrap_or_default();
    let after = text.get(span.end..).unwrap_or_default();
    let mut closing = after.chars();
    before.ends_with(['"', '\'', '`'])
        && closing.next().is_some_and(|c| matches!(c, '"' | '\'' | '`'))
        && closing.next().is_some_and(|c| matches!(c, ',' | ']' | ')' | '}' | '\n'))
}

/// Whether the span is in one of the pieces, which are in order.
fn is_inside(span: &Range<usize>, pieces: &[hidden::Piece]) -> bool {
    let piece = pieces.partition_point(|piece| piece.span.start <= span.start).checked_sub(1);
    piece.and_then(|at| pieces.get(at)).is_some_and(|piece| span.end <= piece.span.end)
}

/// The places of a text that decide whether some phrases count, each in order.
struct Places {
    hidden: Vec<hidden::Piece>,
    tags: Vec<Range<usize>>,
}

impl Places {
    /// The addresses of readers in a text, and the phrases that count at their place.
    fn phrases<'a>(
        &self,
        words: &[Word],
        vocabulary: &'a Vocabulary,
    ) -> (Vec<PhraseMatch<'a>>, Vec<PhraseMatch<'a>>) {
        let mut found = phrases::find(words, 0..words.len(), &vocabulary.phrases, vocabulary);
        found.retain(|found| {
            let span = || word_span(words, found.first, found.last);
            match found.phrase.row.counts {
                Counts::Alone => words.len() <= ALONE,
                Counts::Hidden => span().is_some_and(|span| is_inside(&span, &self.hidden)),
                Counts::Tagged => span().is_some_and(|span| self.tag_before(span.start).is_some()),
                _ => true,
            }
        });
        found.into_iter().partition(|found| found.phrase.row.is_address())
    }

    /// The mark of a chat format that an order at this place belongs to.
    fn tag_before(&self, start: usize) -> Option<&Range<usize>> {
        let before = self.tags.partition_point(|tag| tag.end <= start).checked_sub(1)?;
        self.tags.get(before).filter(|tag| start - tag.end <= TAG_REACH)
    }
}

/// Adds weak signs of several families near each other. Hidden markup counts as one more; behind a mark of a chat format, one
/// sign is enough.
fn weak_hits(
    text: &str,
    words: &[Word],
    found: &[PhraseMatch<'_>],
    places: &Places,
    mentioned: &[Range<usize>],
    hits: &mut Vec<Hit>,
) {
    let mut window: Vec<(Family, usize, usize)> = Vec::new();
    for found in found {
        let family = found.phrase.row.family;
        if family == Family::Statistical {
            continue;
        }
        let Some(sign) = word_span(words, found.first, found.last) else { continue };
        // A part of a quoted phrase is quoted too.
        let quote = mentioned.get(mentioned.partition_point(|quote| quote.end <= sign.start));
        if quote.is_some_and(|quote| quote.start < sign.end) {
            continue;
        }
        window.retain(|(other, _, last)| *other != family && found.first.saturating_sub(*last) <= NEAR);
        window.push((family, found.first, found.last));
        if let Some(tag) = places.tag_before(sign.start)
            && !mention::is_mentioned(text, words, found, &sign, vocabulary())
        {
            hits.push(hit(Family::FakeTag, tag.start..sign.end, Confidence::Medium));
        }
        let Some(first) = window.iter().map(|(_, first, _)| *first).min() else { continue };
        let Some(span) = word_span(words, first, found.last) else { continue };
        let is_hidden = is_inside(&span, &places.hidden);
        if window.len() + usize::from(is_hidden) >= ENOUGH {
            let first = window.iter().map(|(family, _, _)| *family).min().unwrap_or(family);
            let family = if is_hidden { Family::HiddenText } else { first };
            hits.push(hit(family, span, Confidence::Medium));
            window.clear();
        }
    }
}

/// Adds hits of other readings, which only a text with disguises needs.
fn other_readings(
    text: &str,
    disguises: Disguises,
    places: &Places,
    vocabulary: &Vocabulary,
    hits: &mut Vec<Hit>,
) {
    let mut modes = Vec::new();
    if disguises.invisible_spaces {
        modes.push(ReadMode { invisible_parts: true, ..ReadMode::default() });
    }
    if disguises.digits_as_letters {
        modes.push(ReadMode { signs_are_letters: true, ..ReadMode::default() });
    }
    if disguises.hyphens {
        modes.push(ReadMode { hyphens_vanish: true, ..ReadMode::default() });
    }
    for mode in modes {
        let (words, _) = words::read(text, vocabulary, mode);
        let (addresses, found) = places.phrases(&words, vocabulary);
        orders::scan(text, &words, &addresses, vocabulary, hits);
        strong_hits(text, &words, &found, vocabulary, hits);
    }
}

/// Adds hits in encoded text and in invisible characters.
fn decoded_hits(text: &str, words: &[Word], disguises: Disguises, depth: u32, hits: &mut Vec<Hit>) {
    let vocabulary = vocabulary();
    for piece in hidden::invisible(text) {
        if piece.is_finding {
            hits.push(hit(Family::HiddenText, piece.span.clone(), Confidence::High));
        }
    }
    if disguises.long_words {
        for piece in encoded::pieces(text) {
            encoded_hit(piece, depth, hits);
        }
    }
    if disguises.pairs
        && let Some(piece) = encoded::spaced_hex(text)
    {
        encoded_hit(piece, depth, hits);
    }
    if disguises.numbers
        && let Some(piece) = encoded::numbers(text)
    {
        encoded_hit(piece, depth, hits);
    }
    if !disguises.reversed {
        return;
    }
    for (class, encoding) in [(vocabulary.reversed, "rot13"), (vocabulary.backwards, "backwards")] {
        let mut signs = words.iter().filter(|word| vocabulary.is_in(word.id, class));
        if let (Some(first), Some(last)) = (signs.next(), signs.next_back()) {
            let span = first.start..last.end;
            let part = text.get(span.clone()).unwrap_or_default();
            let text = match encoding {
                "rot13" => encoded::rot13(part),
                _ => part.chars().rev().collect(),
            };
            encoded_hit(encoded::DecodedText { span, text, encoding }, depth, hits);
        }
    }
}

fn encoded_hit(piece: encoded::DecodedText, depth: u32, hits: &mut Vec<Hit>) {
    let inner = scan_at(&piece.text, depth + 1);
    if let Some(confidence) = inner.iter().map(|hit| hit.confidence).max() {
        let mut hit = hit(Family::Encoded, piece.span, confidence);
        hit.explanation = format!("The text contains an attack encoded as {}.", piece.encoding).into();
        hits.push(hit);
    }
}

#[cfg(test)]
mod tests;
