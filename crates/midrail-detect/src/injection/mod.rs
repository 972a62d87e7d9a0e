//! Prompt injections and jailbreaks in texts that reach a model.
//!
//! Three layers, none of which stands alone: `words` reads a text past disguises, `phrases` looks for the rows of
//! `rows`, and `model` judges what no row names. `hidden` and `encoded` bring to light what people do not see.

mod confusables;
mod encoded;
mod escapes;
mod family;
mod hidden;
mod links;
mod mention;
pub mod model;
mod phrases;
mod rows;
mod spaced;
mod spoken;
mod tags;
mod vocabulary;
mod words;

pub use family::{Intent, intent_of};

use std::ops::Range;

use midrail_core::Confidence;

use crate::finding::Hit;
use family::Family;
use phrases::Found;
use rows::Counts;
use vocabulary::{Vocabulary, vocabulary};
use words::{Manner, Noticed, Word};

/// Encodings inside encodings that are followed.
const MAX_DEPTH: u32 = 2;
/// Words within which weak signs add up.
const NEAR: usize = 40;
/// Bytes behind a mark of a chat format within which an order belongs to it.
const TAG_REACH: usize = 160;
/// The most words of a text that is hardly more than one phrase.
const ALONE: usize = 5;

/// Families of weak signs that make a hit.
const ENOUGH: usize = 3;
/// How far over its bar a window is when the model is rather sure.
const SURE: f64 = 1.5;
/// How far over it is when a quotation does not explain it.
const VERY_SURE: f64 = 2.5;
/// Words between two entries of a list of phrases.
const LIST_REACH: usize = 12;
/// Quotations of one text that are remembered.
const MAX_QUOTES: usize = 64;
/// Hits of one text that are told: a text that is all attack needs no more.
const MAX_HITS: usize = 1_000;

/// The attacks in a text, in order, no two of one kind overlapping.
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

fn hit(family: Family, span: Range<usize>, confidence: Confidence) -> Hit {
    Hit {
        kind: family.kind(),
        start: span.start,
        end: span.end,
        severity: family.severity(),
        confidence,
        explanation: family.explanation().into(),
    }
}

fn scan_at(text: &str, depth: u32) -> Vec<Hit> {
    let vocabulary = vocabulary();
    let (words, noticed) = words::read(text, vocabulary, Manner::default());
    let mut hits = Vec::new();
    let places = Places { hidden: hidden::markup(text), tags: tags::find(text) };
    let (addresses, found) = places.phrases(&words, vocabulary);
    spoken::scan(text, &words, &addresses, vocabulary, &mut hits);
    let mentioned = strong_hits(text, &words, &found, vocabulary, &mut hits);
    weak_hits(text, &words, &found, &places, &mentioned, &mut hits);
    for judged in model::judge(text, &words, &found) {
        let family = match judged.head {
            model::Head::Text => Family::Statistical,
            model::Head::Field => Family::DataInstruction,
        };
        // A phrase that is only quoted must not come back as a mere likeness.
        let quotes =
            mentioned.iter().any(|span| judged.span.start <= span.start && span.end <= judged.span.end);
        if quotes && judged.share < VERY_SURE {
            continue;
        }
        let confidence = if judged.share >= SURE { Confidence::Medium } else { Confidence::Low };
        hits.push(hit(family, judged.span, confidence));
    }
    links::scan(text, &mut hits);
    tags::scan_ends(text, &places.tags, &mut hits);
    other_readings(text, noticed, &places, vocabulary, &mut hits);
    if noticed.spaced_letters {
        spaced::scan(text, &words, vocabulary, &mut hits);
    }
    if depth < MAX_DEPTH {
        decoded_hits(text, &words, noticed, depth, &mut hits);
    }
    hits
}

/// Phrases that are a hit by themselves. Answers those that are only talked about, which are a hit of low confidence.
fn strong_hits(
    text: &str,
    words: &[Word],
    found: &[Found<'_>],
    vocabulary: &Vocabulary,
    hits: &mut Vec<Hit>,
) -> Vec<Range<usize>> {
    let mut mentioned = Vec::new();
    // The last quoted phrase: the other entries of a list share its heading.
    let mut quoted: Option<usize> = None;
    for found in found.iter().filter(|found| found.phrase.row.is_hit()) {
        let Some(span) = span_of(words, found.first, found.last) else { continue };
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

fn span_of(words: &[Word], first: usize, last: usize) -> Option<Range<usize>> {
    Some(words.get(first)?.start..words.get(last)?.end)
}

/// Is the phrase all of a quoted entry in a list of such, as in a table of phrases to block?
fn is_list_entry(text: &str, span: &Range<usize>) -> bool {
    let before = text.get(..span.start).unwrap_or_default();
    let after = text.get(span.end..).unwrap_or_default();
    let mut closing = after.chars();
    before.ends_with(['"', '\'', '`'])
        && closing.next().is_some_and(|c| matches!(c, '"' | '\'' | '`'))
        && closing.next().is_some_and(|c| matches!(c, ',' | ']' | ')' | '}' | '\n'))
}

/// Does the span lie in one of the pieces, which are in order?
fn is_inside(span: &Range<usize>, pieces: &[hidden::Piece]) -> bool {
    let piece = pieces.partition_point(|piece| piece.span.start <= span.start).checked_sub(1);
    piece.and_then(|at| pieces.get(at)).is_some_and(|piece| span.end <= piece.span.end)
}

/// The places of a text that decide about some phrases, each in order.
struct Places {
    hidden: Vec<hidden::Piece>,
    tags: Vec<Range<usize>>,
}

impl Places {
    /// Who is spoken to in a text, and the phrases that count where they stand.
    fn phrases<'a>(&self, words: &[Word], vocabulary: &'a Vocabulary) -> (Vec<Found<'a>>, Vec<Found<'a>>) {
        let mut found = phrases::find(words, 0..words.len(), &vocabulary.phrases, vocabulary);
        found.retain(|found| {
            let span = || span_of(words, found.first, found.last);
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

/// Weak signs of several families near each other. Markup that does not show counts as one more; behind a mark of a
/// chat format, one sign is enough.
fn weak_hits(
    text: &str,
    words: &[Word],
    found: &[Found<'_>],
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
        let Some(sign) = span_of(words, found.first, found.last) else { continue };
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
        let Some(span) = span_of(words, first, found.last) else { continue };
        let is_hidden = is_inside(&span, &places.hidden);
        if window.len() + usize::from(is_hidden) >= ENOUGH {
            let first = window.iter().map(|(family, _, _)| *family).min().unwrap_or(family);
            let family = if is_hidden { Family::HiddenText } else { first };
            hits.push(hit(family, span, Confidence::Medium));
            window.clear();
        }
    }
}

/// Readings that only a text with disguises needs.
fn other_readings(
    text: &str,
    noticed: Noticed,
    places: &Places,
    vocabulary: &Vocabulary,
    hits: &mut Vec<Hit>,
) {
    let mut manners = Vec::new();
    if noticed.invisible_spaces {
        manners.push(Manner { invisible_parts: true, ..Manner::default() });
    }
    if noticed.digits_as_letters {
        manners.push(Manner { signs_are_letters: true, ..Manner::default() });
    }
    if noticed.hyphens {
        manners.push(Manner { hyphens_vanish: true, ..Manner::default() });
    }
    for manner in manners {
        let (words, _) = words::read(text, vocabulary, manner);
        let (addresses, found) = places.phrases(&words, vocabulary);
        spoken::scan(text, &words, &addresses, vocabulary, hits);
        strong_hits(text, &words, &found, vocabulary, hits);
    }
}

/// What stands in another encoding, or in characters that do not show.
fn decoded_hits(text: &str, words: &[Word], noticed: Noticed, depth: u32, hits: &mut Vec<Hit>) {
    let vocabulary = vocabulary();
    for piece in hidden::invisible(text) {
        if piece.is_finding {
            hits.push(hit(Family::HiddenText, piece.span.clone(), Confidence::High));
        }
    }
    if noticed.long_words {
        for piece in encoded::pieces(text) {
            encoded_hit(piece, depth, hits);
        }
    }
    if noticed.pairs
        && let Some(piece) = encoded::spaced_hex(text)
    {
        encoded_hit(piece, depth, hits);
    }
    if noticed.numbers
        && let Some(piece) = encoded::numbers(text)
    {
        encoded_hit(piece, depth, hits);
    }
    if !noticed.turned {
        return;
    }
    for (class, encoding) in [(vocabulary.turned, "rot13"), (vocabulary.backwards, "backwards")] {
        let mut signs = words.iter().filter(|word| vocabulary.is_in(word.id, class));
        if let (Some(first), Some(last)) = (signs.next(), signs.next_back()) {
            let span = first.start..last.end;
            let part = text.get(span.clone()).unwrap_or_default();
            let text = match encoding {
                "rot13" => encoded::rot13(part),
                _ => part.chars().rev().collect(),
            };
            encoded_hit(encoded::Decoded { span, text, encoding }, depth, hits);
        }
    }
}

fn encoded_hit(piece: encoded::Decoded, depth: u32, hits: &mut Vec<Hit>) {
    let inner = scan_at(&piece.text, depth + 1);
    if let Some(confidence) = inner.iter().map(|hit| hit.confidence).max() {
        let mut hit = hit(Family::Encoded, piece.span, confidence);
        hit.explanation =
            format!("The text holds an attack in another encoding ({}).", piece.encoding).into();
        hits.push(hit);
    }
}

#[cfg(test)]
mod tests;
