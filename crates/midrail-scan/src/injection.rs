//! Prompt injections and jailbreaks in texts that reach a model.
//!
//! `words` reads a text despite disguises, `phrases` searches for the phrases of `data/injection/phrases`, and `model`
//! classifies what no phrase covers in text from outside of the project. `hidden` and `encoded` extract text that people do not
//! see.

mod confusables;
mod data;
mod data_orders;
mod encoded;
mod escapes;
mod family;
mod gate;
mod gate_words;
mod hashing;
mod hidden;
mod links;
mod marks;
mod mention;
pub mod model;
mod name_text;
mod orders;
mod phrase_index;
mod phrases;
mod rows;
mod spaced;
mod tags;
mod values;
mod vocabulary;
mod words;

pub use family::intent_code;
pub use name_text::{invisible_character, name_letters};

use std::ops::Range;

use midrail_core::{Confidence, Hit};

use encoded::DecodedText;
use family::Family;
use phrases::PhraseMatch;
use rows::Counts;
use words::{ReadMode, Reading};

use crate::outline::Outline;

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
/// The share of its threshold from which a window counts although it contains a quotation.
const VERY_SURE: f64 = 2.5;
/// How many words apart two entries of a list of phrases may be.
const LIST_REACH: usize = 12;
/// How many quotations of one text are kept.
const MAX_QUOTES: usize = 64;
/// The most hits of one text.
const MAX_HITS: usize = 1_000;

/// Where a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The project, or the agent itself: only phrases count.
    Project,
    /// A prompt, or data that others may have written: orders in data and the statistical model count, too.
    Outside,
    /// The same, and the text is a value of structured data.
    Value,
}

/// Returns the attacks in a text from outside of the project, in order. No two of one kind overlap.
pub fn scan(text: &str) -> Vec<Hit> {
    scan_from(text, Origin::Outside)
}

/// Returns the attacks in a text, in order. No two of one kind overlap.
pub fn scan_from(text: &str, origin: Origin) -> Vec<Hit> {
    scan_outlined(text, origin, &Outline::new(text.as_bytes()))
}

/// The same for a text whose outline is known.
pub(crate) fn scan_outlined(text: &str, origin: Origin, outline: &Outline) -> Vec<Hit> {
    if gate::is_open(text, outline) {
        return search(text, origin);
    }
    let mut hits = Vec::new();
    if origin != Origin::Project {
        let values = values_of(text, origin);
        // Only orders in values are found by the vocabulary.
        let mode = if values.is_empty() { ReadMode::Unnumbered } else { ReadMode::Plain };
        outside_hits(&words::read(text, mode), &values, &[], &[], &mut hits);
    }
    merged(hits)
}

/// The attacks in a text that the gate does not rule out.
fn search(text: &str, origin: Origin) -> Vec<Hit> {
    merged(scan_at(text, origin, 0))
}

/// Hits in order, those of one kind that overlap as one.
fn merged(mut hits: Vec<Hit>) -> Vec<Hit> {
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

fn scan_at(text: &str, origin: Origin, depth: u32) -> Vec<Hit> {
    let reading = words::read(text, ReadMode::Plain);
    let mut hits = Vec::new();
    let places = Places { hidden: hidden::markup(text), tags: tags::find(text) };
    let (found, mentioned) = places.scan(&reading, &mut hits);
    weak_hits(&reading, &found, &places, &mentioned, &mut hits);
    if origin != Origin::Project {
        outside_hits(&reading, &values_of(text, origin), &found, &mentioned, &mut hits);
    }
    links::scan(text, &mut hits);
    tags::scan_ends(text, &places.tags, &mut hits);
    let disguises = reading.disguises;
    for (mode, is_needed) in [
        (ReadMode::InvisibleSpaces, disguises.invisible_spaces),
        (ReadMode::SignsAsLetters, disguises.digits_as_letters),
        (ReadMode::WithoutHyphens, disguises.hyphens),
    ] {
        if is_needed {
            places.scan(&words::read(text, mode), &mut hits);
        }
    }
    if disguises.spaced_letters {
        spaced::scan(&reading, &mut hits);
    }
    if depth < MAX_DEPTH {
        let invisible = hidden::invisible(text).into_iter();
        hits.extend(invisible.map(|span| family::HIDDEN_TEXT.hit(span, Confidence::High)));
        let decoded = encoded::pieces(&reading);
        hits.extend(decoded.into_iter().filter_map(|piece| encoded_hit(piece, origin, depth)));
    }
    hits
}

/// The values of a text that is structured data, or a value of such data.
fn values_of(text: &str, origin: Origin) -> Vec<Range<usize>> {
    let mut values = values::find(text);
    if origin == Origin::Value && values.is_empty() {
        values.push(0..text.len());
    }
    values
}

/// Adds what counts only in text from outside: orders in data, and windows that the model classifies as attacks.
fn outside_hits(
    reading: &Reading<'_>,
    values: &[Range<usize>],
    found: &[PhraseMatch],
    mentioned: &[Range<usize>],
    hits: &mut Vec<Hit>,
) {
    let orders = data_orders::find(reading, values);
    data_orders::hits(reading, &orders, hits);
    for scored in model::classify(reading, model::Signs { phrases: found, orders: &orders }, values) {
        // A quoted phrase must not be reported again because the text resembles attacks.
        let quotes =
            mentioned.iter().any(|span| scored.span.start <= span.start && span.end <= scored.span.end);
        if !quotes || scored.share >= VERY_SURE {
            hits.push(family::STATISTICAL.hit(scored.span, Confidence::Medium));
        }
    }
}

/// Adds phrases that are a hit by themselves. Returns those that are only mentioned, which are hits of low confidence.
fn strong_hits(reading: &Reading<'_>, found: &[PhraseMatch], hits: &mut Vec<Hit>) -> Vec<Range<usize>> {
    let mut mentioned = Vec::new();
    // The last quoted phrase: the other entries of a list share its heading.
    let mut quoted: Option<usize> = None;
    for found in found.iter().filter(|found| found.phrase.row().is_hit()) {
        let Some(span) = reading.span(found.first, found.last) else { continue };
        let is_entry = quoted.is_some_and(|last| found.first.saturating_sub(last) <= LIST_REACH)
            && is_list_entry(reading.text, &span);
        if is_entry || mention::is_mentioned(reading, found, &span) {
            quoted = Some(found.last);
            if mentioned.len() < MAX_QUOTES {
                hits.push(found.phrase.row().family.hit(span.clone(), Confidence::Low));
                mentioned.push(span);
            }
        } else {
            hits.push(found.phrase.row().family.hit(span, Confidence::High));
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

/// The places of a text that decide whether some phrases count, each in order.
struct Places {
    hidden: Vec<Range<usize>>,
    tags: Vec<Range<usize>>,
}

impl Places {
    /// Adds the orders and phrases of a reading that are a hit by themselves. Returns all phrases that count at their place,
    /// and those that are only mentioned.
    fn scan(&self, reading: &Reading<'_>, hits: &mut Vec<Hit>) -> (Vec<PhraseMatch>, Vec<Range<usize>>) {
        let mut found = phrases::find(&reading.words, 0..reading.words.len(), &vocabulary::PHRASES);
        found.retain(|found| {
            let span = || reading.span(found.first, found.last);
            match found.phrase.row().counts {
                Counts::Alone => reading.words.len() <= ALONE,
                Counts::Hidden => span().is_some_and(|span| self.is_hidden(&span)),
                Counts::Tagged => span().is_some_and(|span| self.tag_before(span.start).is_some()),
                _ => true,
            }
        });
        let (addresses, found): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|found| found.phrase.row().is_address());
        orders::scan(reading, &addresses, hits);
        let mentioned = strong_hits(reading, &found, hits);
        (found, mentioned)
    }

    /// Whether a span is in hidden markup.
    fn is_hidden(&self, span: &Range<usize>) -> bool {
        let piece = self.hidden.partition_point(|piece| piece.start <= span.start).checked_sub(1);
        piece.and_then(|at| self.hidden.get(at)).is_some_and(|piece| span.end <= piece.end)
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
    reading: &Reading<'_>,
    found: &[PhraseMatch],
    places: &Places,
    mentioned: &[Range<usize>],
    hits: &mut Vec<Hit>,
) {
    let mut window: Vec<(&Family, usize, usize)> = Vec::new();
    for found in found {
        let family = found.phrase.row().family;
        if family == &family::STATISTICAL {
            continue;
        }
        let Some(sign) = reading.span(found.first, found.last) else { continue };
        // A part of a quoted phrase is quoted too.
        let quote = mentioned.get(mentioned.partition_point(|quote| quote.end <= sign.start));
        if quote.is_some_and(|quote| quote.start < sign.end) {
            continue;
        }
        window.retain(|(other, _, last)| *other != family && found.first.saturating_sub(*last) <= NEAR);
        window.push((family, found.first, found.last));
        if let Some(tag) = places.tag_before(sign.start)
            && !mention::is_mentioned(reading, found, &sign)
        {
            hits.push(family::FAKE_TAG.hit(tag.start..sign.end, Confidence::Medium));
        }
        let Some(first) = window.iter().map(|(_, first, _)| *first).min() else { continue };
        let Some(span) = reading.span(first, found.last) else { continue };
        let is_hidden = places.is_hidden(&span);
        if window.len() + usize::from(is_hidden) >= ENOUGH {
            let first = window.iter().map(|(family, _, _)| *family).min().unwrap_or(family);
            let family = if is_hidden { &family::HIDDEN_TEXT } else { first };
            hits.push(family.hit(span, Confidence::Medium));
            window.clear();
        }
    }
}

fn encoded_hit(piece: DecodedText, origin: Origin, depth: u32) -> Option<Hit> {
    let confidence = scan_at(&piece.text, origin, depth + 1).iter().map(|hit| hit.confidence).max()?;
    let mut hit = family::ENCODED_INSTRUCTION.hit(piece.span, confidence);
    hit.explanation = format!("The text contains an attack encoded as {}.", piece.encoding).into();
    Some(hit)
}

#[cfg(test)]
mod tests;
