//! Searches a text for secrets: keywords lead to rules, rules examine a bounded window around them, and of overlapping
//! candidates the more specific and longer one is kept.

use std::ops::Range;
use std::sync::OnceLock;

use midrail_core::{Confidence, Severity};
use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::candidate::{Candidate, RANK_ASSIGNED_FORMAT, RANK_BLOCK, RANK_FORMAT, RANK_GENERIC_FORMAT};
use super::formats::{FORMATS, Format, Position, Span};
use super::generic::assignment::{self, Until};
use super::generic::{self, names, placeholders, values};
use super::pem::Pem;
use super::triggers::{self, LONGEST_KEYWORD, Lead};
use super::view::View;
use crate::bytes::{KEY, is_in, is_word};

/// The remaining part of a value that is longer than one hit. Further hits cover it.
#[derive(Debug, Serialize, Deserialize)]
struct RemainingValue {
    start: usize,
    until: Until,
    hit: Candidate,
}

/// The longest hit for a value that is longer than its window.
const MAX_LONG: usize = 16 * 1024;

/// How far before its keyword a key may begin.
const MAX_LEAD: usize = 120;

/// A search that continues when more text arrives. Places are relative to the given text.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Search {
    /// How many bytes of the text are forgotten. Offsets of hits include them.
    base: usize,
    /// Keywords whose anchors are before this place are done.
    cursor: usize,
    /// Keywords between these places are part of a key or a block.
    covered: (usize, usize),
    /// Names between these places are part of a long value.
    valued: (usize, usize),
    /// The remaining part of a value that is longer than one hit.
    rest: Option<RemainingValue>,
    /// The block that the text is in.
    block: Option<Pem>,
    /// Candidates that are not yet compared with overlapping ones.
    pending: Vec<Candidate>,
    /// The best of the overlapping candidates so far.
    current: Option<Candidate>,
}

impl Search {
    /// A search for keywords with anchors at and after a place.
    pub(super) fn starting_at(cursor: usize) -> Self {
        Search { cursor, ..Search::default() }
    }

    /// Searches the text that has arrived. Returns the final hits, with offsets from the beginning of all text, and the place
    /// before which nothing can change.
    pub(super) fn advance(&mut self, text: &str, last: bool) -> (Vec<Candidate>, usize) {
        let view = View::new(text, last);
        let mut waiting = self.run(&view);
        if last {
            waiting = text.len();
        }
        let hits = self.settle(waiting, last);
        if self.block.is_some() {
            // A block wins against what overlaps its beginning.
            self.current = None;
        }
        let open = self.current.iter().chain(&self.pending).map(|candidate| candidate.start);
        let block = self.block.as_ref().map(|block| block.start);
        let block = block.into_iter().chain(self.rest.as_ref().map(|rest| rest.start));
        let settled = open.chain(block).fold(waiting, usize::min);
        (hits, settled)
    }

    /// The start of a block that has not ended, and the place up to which the text is part of it.
    pub(super) fn open_block(&self) -> Option<(usize, usize)> {
        // INVARIANT: nothing outranks a block, and candidates that overlap its beginning are dropped.
        self.block.as_ref().map(|block| (self.base + block.start - block.dropped, block.sure))
    }

    /// Forgets the first bytes of the text.
    pub(super) fn forget(&mut self, by: usize) {
        self.base += by;
        self.cursor = self.cursor.saturating_sub(by);
        for range in [&mut self.covered, &mut self.valued] {
            *range = (range.0.saturating_sub(by), range.1.saturating_sub(by));
        }
        if let Some(rest) = &mut self.rest {
            rest.start = rest.start.saturating_sub(by);
        }
        if let Some(block) = &mut self.block {
            block.moved(by);
        }
        for candidate in self.pending.iter_mut().chain(&mut self.current) {
            candidate.dropped += by.saturating_sub(candidate.start);
            candidate.start = candidate.start.saturating_sub(by);
            candidate.end = candidate.end.saturating_sub(by);
        }
    }

    /// Examines keywords in order, until one needs more text. Returns the first place that later text may change.
    fn run(&mut self, view: &View<'_>) -> usize {
        loop {
            if let Some(rest) = self.rest.take() {
                let (end, continues) = rest.until.end(view, rest.start, MAX_LONG);
                if view.was_short() {
                    let start = rest.start;
                    self.rest = Some(rest);
                    return start;
                }
                let start = rest.start;
                if end > start {
                    self.covered = (start, end);
                    self.cursor = self.cursor.max(end);
                    self.pending.push(Candidate {
                        start,
                        end,
                        rank: RANK_BLOCK,
                        dropped: 0,
                        ..rest.hit.clone()
                    });
                    self.rest = continues.then_some(RemainingValue { start: end, ..rest });
                    continue;
                }
            }
            if let Some(mut block) = self.block.take() {
                let end = block.end(view);
                let Some(end) = end else {
                    let start = block.start;
                    self.block = Some(block);
                    return start;
                };
                self.covered = (block.start, end);
                self.cursor = self.cursor.max(end);
                self.pending.push(Candidate {
                    severity: Severity::Critical,
                    confidence: Confidence::High,
                    rank: RANK_BLOCK,
                    dropped: block.dropped,
                    ..Candidate::new("private-key", "a private key", block.start..end)
                });
            }
            let bytes = view.text.as_bytes();
            // A keyword is examined when it is complete.
            let upto = if view.is_last() { bytes.len() } else { bytes.len().saturating_sub(LONGEST_KEYWORD) };
            let mut stopped = None;
            triggers::find(bytes, self.cursor, upto, |anchor, place, length, lead| {
                let continues = self.visit(view, place, place + length, lead);
                stopped = (!continues).then_some(anchor);
                continues
            });
            self.cursor = stopped.unwrap_or(upto.max(self.cursor));
            if self.block.is_some() || self.rest.is_some() {
                continue;
            }
            // A key that has not arrived yet begins in the current word, or after it.
            let word = view.run_back(self.cursor, MAX_LEAD + LONGEST_KEYWORD, |byte| byte > b' ');
            return view.floor(word);
        }
    }

    /// Examines a keyword. Returns false if the search has to stop at it: more text is needed, or a block or a long value has
    /// begun.
    fn visit(&mut self, view: &View<'_>, place: usize, end: usize, lead: Lead) -> bool {
        let is_inside = |(start, end): (usize, usize)| start < place && place < end;
        // Within a key there is no other, and a name within a long value is part of it. This keeps the work linear.
        if is_inside(self.covered) || is_generic(lead) && is_inside(self.valued) {
            return true;
        }
        let mut found = match lead {
            Lead::Format(index) => match_format(view, usize::from(index), place, end),
            Lead::Name => generic::find_assigned(view, place, end),
            Lead::Url => generic::find_url_password(view, place),
            Lead::Jwt => super::jwt::find(view, place),
            Lead::Pem => {
                let block = Pem::begin(view, place, end);
                if view.was_short() {
                    return false;
                }
                self.block = block;
                return self.block.is_none();
            }
            Lead::Insert => {
                let found = generic::insert::secrets(view, end);
                if view.was_short() {
                    return false;
                }
                self.pending.extend(found);
                return true;
            }
        };
        let mut left = None;
        if let Some(found) = &mut found
            && let Some(until) = found.more.take()
        {
            let (end, continues) = until.end(view, found.end, MAX_LONG);
            found.end = end;
            left = continues.then(|| RemainingValue { start: end, until, hit: found.clone() });
        }
        if view.was_short() {
            return false;
        }
        if let Some(found) = found {
            if found.length() >= assignment::MAX_VALUE / 2 && found.end > self.valued.1 {
                self.valued = (found.start, found.end);
            }
            if found.rank >= RANK_FORMAT && found.end > self.covered.1 {
                self.covered = (found.start, found.end);
            }
            self.pending.push(found);
        }
        // The value is hidden as a whole, so keywords within it do not matter.
        self.rest = left;
        self.rest.is_none()
    }

    /// Decides between overlapping candidates, given that all that begin before `known` are there.
    fn settle(&mut self, known: usize, last: bool) -> Vec<Candidate> {
        let mut hits = Vec::new();
        let base = self.base;
        if self.pending.is_empty() && self.current.is_none() {
            return hits;
        }
        self.pending.sort_by(|one, other| {
            one.start.cmp(&other.start).then(other.rank.cmp(&one.rank)).then(other.end.cmp(&one.end))
        });
        let ready = if last {
            self.pending.len()
        } else {
            self.pending.partition_point(|candidate| candidate.start < known)
        };
        for candidate in self.pending.drain(..ready) {
            match &mut self.current {
                Some(current) if candidate.start < current.end => {
                    if candidate.is_better_than(current) {
                        *current = candidate;
                    }
                }
                current => hits.extend(current.replace(candidate).map(|candidate| candidate.at_offset(base))),
            }
        }
        if last || self.current.as_ref().is_some_and(|current| current.end <= known) {
            hits.extend(self.current.take().map(|candidate| candidate.at_offset(base)));
        }
        hits
    }
}

/// Whether a keyword leads to an assigned value rather than to a format of its own.
fn is_generic(lead: Lead) -> bool {
    match lead {
        Lead::Name | Lead::Url | Lead::Insert => true,
        Lead::Format(index) => FORMATS
            .get(usize::from(index))
            .is_some_and(|format| format.position == Position::Assigned || format.is_generic),
        Lead::Pem | Lead::Jwt => false,
    }
}

/// The pattern of a format, compiled when it is first needed.
fn regex(index: usize) -> Option<&'static Regex> {
    static REGEXES: [OnceLock<Option<Regex>>; FORMATS.len()] = [const { OnceLock::new() }; FORMATS.len()];
    let regex = REGEXES.get(index)?.get_or_init(|| compile(FORMATS.get(index)?));
    regex.as_ref()
}

fn compile(format: &Format) -> Option<Regex> {
    let pattern = match format.position {
        Position::Start | Position::Assigned => format!(r"\A(?:{})", format.pattern),
        Position::Inside => format.pattern.to_owned(),
    };
    // INVARIANT: the build script has parsed all patterns.
    RegexBuilder::new(&pattern)
        .unicode(false)
        .case_insensitive(format.any_case && format.position != Position::Assigned)
        .build()
        .ok()
}

/// Whether a byte may be in a key.
fn in_key(byte: u8) -> bool {
    is_in(byte, KEY)
}

/// A key whose keyword is coloured, as in the output of a search: `\x1b[31mAKIA\x1b[mABCD…`.
fn coloured(
    view: &View<'_>,
    index: usize,
    place: usize,
    keyword_end: usize,
    past: usize,
) -> Option<Candidate> {
    let (format, regex) = (FORMATS.get(index)?, regex(index)?);
    let mut text = view.slice(place, keyword_end).to_vec();
    let mark = text.len();
    text.extend_from_slice(view.slice(past, view.run(past, format.window, in_key)));
    let found = regex.find(&text)?;
    let secret = text.get(..found.end())?;
    let end = past + found.end().checked_sub(mark)?;
    if view.at(end).is_some_and(is_word) { None } else { candidate(format, secret, place..end) }
}

/// The candidate for a key that matches a format, unless it is a dummy or fails the check.
fn candidate(format: &Format, secret: &[u8], range: Range<usize>) -> Option<Candidate> {
    if is_dummy(format, secret) {
        return None;
    }
    Some(Candidate {
        severity: format.severity,
        confidence: (format.check)(secret)?,
        rank: if format.is_generic { RANK_GENERIC_FORMAT } else { RANK_FORMAT },
        ..Candidate::new(format.kind, format.description, range)
    })
}

/// No key that begins with its keyword is shorter.
const SHORTEST_KEY: usize = 11;

fn match_format(view: &View<'_>, index: usize, place: usize, keyword_end: usize) -> Option<Candidate> {
    let format = FORMATS.get(index)?;
    let (from, looked, limit, value) = match format.position {
        Position::Start => {
            // A key does not begin with its keyword twice: the second one is examined separately.
            if !view.starts_word(place) || view.starts_with(keyword_end, view.slice(place, keyword_end)) {
                return None;
            }
            let past = view.past_ansi(keyword_end);
            if past > keyword_end {
                return coloured(view, index, place, keyword_end, past);
            }
            let limit = reach(view, format, place, keyword_end);
            // Compiling a pattern is slow, and `path` begins like a key.
            if limit - place < SHORTEST_KEY {
                return None;
            }
            (place, place, limit, None)
        }
        Position::Assigned => {
            let value = assignment::parse(view, place, keyword_end)?;
            let name = view.slice(value.name_start, value.name_end);
            let words = format.name_contains;
            let fits = words.iter().any(|word| names::mentions(name, word));
            if !(fits || words.is_empty() && names::has_secret_hint(name)) {
                return None;
            }
            (value.start, value.start, value.end.min(value.start + format.window), Some(value))
        }
        Position::Inside => {
            let from = view.run_back(place, format.bytes_before, in_key);
            (from, place, reach(view, format, place, keyword_end), None)
        }
    };
    let regex = regex(index)?;
    let window = view.slice(from, limit);
    let (start, end) = match regex.captures_len() {
        0 | 1 => regex.find(window).map(|found| (found.start(), found.end())),
        _ => {
            regex.captures(window).and_then(|groups| groups.get(1)).map(|found| (found.start(), found.end()))
        }
    }
    .map(|(start, end)| (from + start, from + end))?;
    if format.position == Position::Inside && !view.starts_word(start) && regex.captures_len() == 1 {
        return None;
    }
    let mut more = None;
    if end == limit && limit == looked + format.window {
        // The key may continue behind the window.
        more = Some(if format.ends_at_space { Until::Space } else { Until::Key });
    }
    let next = view.at(end);
    let continues = next.is_some_and(|byte| {
        is_word(byte) || (value.is_some() && matches!(byte, b'-' | b'+' | b'/' | b'=' | b'('))
    });
    if continues && more.is_none() {
        return None;
    }
    let follows = |text: &&str| view.slice(start.saturating_sub(text.len()), start) == text.as_bytes();
    let line = |word: &str| {
        let line = view.run_back(start, 100, |byte| byte != b'\n');
        names::mentions(view.slice(line, start), word)
    };
    if format.not_after.iter().any(follows) || !format.line_contains.is_none_or(line) {
        return None;
    }
    let found = Candidate { more, ..candidate(format, view.slice(start, end), start..end)? };
    Some(if value.is_some() {
        Candidate {
            confidence: found.confidence.min(Confidence::Medium),
            rank: RANK_ASSIGNED_FORMAT,
            ..found
        }
    } else {
        found
    })
}

/// Whether a value of the right form is no key: low entropy, a dummy, or blanked out.
fn is_dummy(format: &Format, secret: &[u8]) -> bool {
    values::entropy(secret) < format.min_entropy
        || if format.allow_dummies {
            placeholders::is_blanked(secret)
        } else {
            placeholders::is_dummy(secret)
        }
}

/// How far a format is searched from a place on.
fn reach(view: &View<'_>, format: &Format, place: usize, keyword_end: usize) -> usize {
    let limit = match format.span {
        Span::Word => return view.run(place, format.window, in_key),
        Span::Line => view.run(place, format.window, |byte| byte != b'\n'),
        Span::Block => view.run(place, format.window, |_| true),
    };
    let keyword = view.slice(place, keyword_end);
    if !keyword.contains(&b' ') {
        return limit;
    }
    // Text behind the same keyword is searched from there, so that rows of keywords take linear time.
    memchr::memmem::find(view.slice(keyword_end, limit), keyword).map_or(limit, |next| keyword_end + next)
}

/// The anchor of the first keyword in a text. Without a keyword, there is no secret.
pub(super) fn first_keyword(text: &str) -> Option<usize> {
    let mut first = None;
    triggers::find(text.as_bytes(), 0, text.len(), |anchor, _, _, _| {
        first = Some(anchor);
        false
    });
    first
}

/// Whether one format finds something in a text, regardless of the others.
#[cfg(test)]
pub(super) fn finds(wanted: usize, text: &str) -> bool {
    let view = View::new(text, true);
    let mut found = false;
    triggers::find(text.as_bytes(), 0, text.len(), |_, place, length, lead| {
        if let Lead::Format(index) = lead
            && usize::from(index) == wanted
        {
            found |= match_format(&view, wanted, place, place + length).is_some();
        }
        true
    });
    found
}
