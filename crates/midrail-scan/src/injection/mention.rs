//! Recognises talk about attacks: names in code, quotations, and reports of what others ask a model to do. Such a phrase has
//! low confidence; an order that is merely quoted is still an order.

use std::ops::Range;

use super::phrases::PhraseMatch;
use super::vocabulary;
use super::words::{BREAK, Reading};

/// How many characters before a phrase its quotation may open.
const OPENS_WITHIN: usize = 40;
/// How many characters behind a phrase its quotation may close.
const CLOSES_WITHIN: usize = 64;
/// How many characters behind a quotation a question may end.
const ASKS_WITHIN: usize = 80;
/// How many words before a phrase report that others ask for it.
const REPORTED_WITHIN: usize = 12;
const QUOTES: &[char] = &['"', '\'', '`', '“', '”', '‘', '’', '«', '»', '„'];

/// Whether the phrase is only mentioned.
pub(super) fn is_mentioned(reading: &Reading<'_>, found: &PhraseMatch, span: &Range<usize>) -> bool {
    is_name(reading, found, span) || is_talk(reading, found, span)
}

/// Whether the phrase is quoted or reported.
pub(super) fn is_talk(reading: &Reading<'_>, found: &PhraseMatch, span: &Range<usize>) -> bool {
    is_pattern(reading.text, span) || is_quoted(reading, found, span) || is_reported(reading, found)
}

/// Whether the phrase is a name in code, as in `ignore_previous_instructions()`, and no sentence continues it.
fn is_name(reading: &Reading<'_>, found: &PhraseMatch, span: &Range<usize>) -> bool {
    let (text, words) = (reading.text, &reading.words);
    let (Some(first), Some(second)) = (words.get(found.first), words.get(found.first + 1)) else {
        return false;
    };
    let before = text.get(..span.start).unwrap_or_default();
    let after = text.get(span.end..).unwrap_or_default();
    let is_joined = match text.get(first.end..second.start) {
        Some("_" | "(") => true,
        // An option, a path or a file: elsewhere hyphens may be a disguise.
        Some("-") => {
            before.ends_with(['-', '/', '.']) || after.starts_with(['/', '=']) || is_extension(after)
        }
        _ => false,
    };
    is_joined && !["and ", "then ", "to "].iter().any(|word| after.trim_start().starts_with(word))
}

/// Whether a text continues as the name of a file: `.md`.
fn is_extension(after: &str) -> bool {
    after.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

/// Whether the phrase is part of a regular expression.
fn is_pattern(text: &str, span: &Range<usize>) -> bool {
    let phrase = text.get(span.clone()).unwrap_or_default();
    (phrase.contains('(') && phrase.contains('|'))
        || [")?", "\\s", ".*", "\\b"].iter().any(|mark| phrase.contains(mark))
}

/// Whether the phrase is quoted in a text or question about such phrases. A quotation with a URL or an e-mail address is an
/// order.
fn is_quoted(reading: &Reading<'_>, found: &PhraseMatch, span: &Range<usize>) -> bool {
    let (text, words) = (reading.text, &reading.words);
    let Some((opens, closes)) = quotation(text, span) else { return false };
    let inside = text.get(span.end..closes).unwrap_or_default();
    if inside.contains("://") || inside.contains('@') {
        return false;
    }
    let mentions = vocabulary::MENTIONS;
    let outside = words.partition_point(|word| word.end <= opens);
    // The content of a comment proves nothing about it.
    let is_comment = text.get(opens..).is_some_and(|text| text.starts_with('<'));
    let until = if is_comment { outside } else { found.first };
    let behind = words.partition_point(|word| word.start < closes);
    reading.has_word(outside.saturating_sub(12), until, mentions)
        || reading.has_word(behind, behind + 10, mentions)
        || is_asked(reading, outside, closes)
}

/// Where the quotation around a span opens and closes. A comment of markup counts as one.
fn quotation(text: &str, span: &Range<usize>) -> Option<(usize, usize)> {
    let before = text.get(..span.start)?;
    let opens = before
        .char_indices()
        .rev()
        .take(OPENS_WITHIN)
        .find(|(at, c)| {
            // An apostrophe inside a word opens nothing.
            (QUOTES.contains(c)
                && !before.get(..*at).is_some_and(|text| text.ends_with(char::is_alphanumeric)))
                || before.get(*at..).is_some_and(|text| text.starts_with("<!--"))
        })
        .map(|(at, _)| at)
        .or_else(|| text.get(span.clone())?.find(['"', '`', '“']).map(|at| span.start + at))?;
    let after = text.get(span.end..)?;
    let (closes, _) = after.char_indices().take(CLOSES_WITHIN).find(|(at, c)| {
        let rest = after.get(at + c.len_utf8()..).unwrap_or_default();
        (QUOTES.contains(c) && !rest.starts_with(char::is_alphanumeric))
            || (*c == '-' && rest.starts_with("->"))
    })?;
    Some((opens, span.end + closes))
}

/// Whether the quotation is in a question about it. "Can you …?" is a request.
fn is_asked(reading: &Reading<'_>, outside: usize, closes: usize) -> bool {
    let begins = (outside.saturating_sub(16)..outside).rev().find(|at| reading.has_flag(*at, BREAK));
    let rest = reading.text.get(closes..).unwrap_or_default();
    begins.is_some_and(|at| reading.has_word(at, at + 1, vocabulary::QUESTIONS))
        && rest.chars().take(ASKS_WITHIN).any(|c| matches!(c, '?' | '？'))
}

/// Whether the text reports that others ask for this ("attackers ask the model to …"), or what to do if they do.
fn is_reported(reading: &Reading<'_>, found: &PhraseMatch) -> bool {
    let first = found.first;
    let Some(before) = first.checked_sub(1) else { return false };
    let breaks = |at: &usize| reading.has_flag(*at, BREAK);
    if !reading.has_word(before, first, vocabulary::TO) || breaks(&before) || breaks(&first) {
        return false;
    }
    let earliest = before.saturating_sub(16);
    let begins = (earliest..before).rev().find(breaks).unwrap_or(earliest);
    let mut reports = (begins.max(before.saturating_sub(REPORTED_WITHIN))..before).rev();
    reports.find(|at| reading.has_word(*at, *at + 1, vocabulary::REPORTS)).is_some_and(|at| {
        !reading.has_word(at, first, vocabulary::YOU) || reading.has_word(begins, at, vocabulary::CONDITIONS)
    })
}
