//! Recognises talk about attacks: names in code, quotations, and reports of what others ask a model to do. Such a phrase has
//! low confidence; an order that is merely quoted is still an order.

use std::ops::Range;

use super::phrases::{PhraseMatch, has_word};
use super::vocabulary::Vocabulary;
use super::words::{BREAK, Word};

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
pub(super) fn is_mentioned(
    text: &str,
    words: &[Word],
    found: &PhraseMatch<'_>,
    span: &Range<usize>,
    vocabulary: &Vocabulary,
) -> bool {
    is_name(text, words, found, span) || is_talk(text, words, found, span, vocabulary)
}

/// Whether the phrase is quoted or reported.
pub(super) fn is_talk(
    text: &str,
    words: &[Word],
    found: &PhraseMatch<'_>,
    span: &Range<usize>,
    vocabulary: &Vocabulary,
) -> bool {
    is_pattern(text, span)
        || is_quoted(text, words, found, span, vocabulary)
        || is_reported(words, found, vocabulary)
}

/// Whether the phrase is a name in code, as in `ignore_previous_instructions()`, and no sentence continues it.
fn is_name(text: &str, words: &[Word], found: &PhraseMatch<'_>, span: &Range<usize>) -> bool {
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
fn is_quoted(
    text: &str,
    words: &[Word],
    found: &PhraseMatch<'_>,
    span: &Range<usize>,
    vocabulary: &Vocabulary,
) -> bool {
    let Some((opens, closes)) = quotation(text, span) else { return false };
    let inside = text.get(span.end..closes).unwrap_or_default();
    if inside.contains("://") || inside.contains('@') {
        return false;
    }
    let talk = vocabulary.talk;
    let outside = words.partition_point(|word| word.end <= opens);
    // The content of a comment proves nothing about it.
    let is_comment = text.get(opens..).is_some_and(|text| text.starts_with('<'));
    let until = if is_comment { outside } else { found.first };
    let behind = words.partition_point(|word| word.start < closes);
    has_word(words, outside.saturating_sub(12), until, talk.mentions, vocabulary)
        || has_word(words, behind, behind + 10, talk.mentions, vocabulary)
        || is_asked(text, words, outside, closes, vocabulary)
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
fn is_asked(text: &str, words: &[Word], outside: usize, closes: usize, vocabulary: &Vocabulary) -> bool {
    let from = (outside.saturating_sub(16)..outside)
        .rev()
        .find(|at| words.get(*at).is_some_and(|word| word.flags & BREAK != 0));
    let begins = from.and_then(|at| words.get(at));
    let rest = text.get(closes..).unwrap_or_default();
    begins.is_some_and(|word| vocabulary.is_in(word.id, vocabulary.talk.questions))
        && rest.chars().take(ASKS_WITHIN).any(|c| matches!(c, '?' | '？'))
}

/// Whether the text reports that others ask for this ("attackers ask the model to …"), or what to do if they do.
fn is_reported(words: &[Word], found: &PhraseMatch<'_>, vocabulary: &Vocabulary) -> bool {
    let talk = vocabulary.talk;
    let first = found.first;
    let Some(before) = first.checked_sub(1) else { return false };
    let is = |at: usize, class| words.get(at).is_some_and(|word| vocabulary.is_in(word.id, class));
    let breaks = |at: usize| words.get(at).is_some_and(|word| word.flags & BREAK != 0);
    if !is(before, talk.to) || breaks(before) || breaks(first) {
        return false;
    }
    let begins = (before.saturating_sub(16)..before).rev().find(|at| breaks(*at)).unwrap_or(before);
    let begins = if breaks(begins) { begins } else { before.saturating_sub(16) };
    let reports =
        (begins.max(before.saturating_sub(REPORTED_WITHIN))..before).rev().find(|at| is(*at, talk.reports));
    reports.is_some_and(|at| {
        !has_word(words, at, first, talk.you, vocabulary)
            || has_word(words, begins, at, talk.conditions, vocabulary)
    })
}
