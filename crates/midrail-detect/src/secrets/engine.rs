//! The search: keywords lead to rules, rules look at a bounded window around them, and of what overlaps the more
//! specific and longer is kept.

use std::sync::OnceLock;

use midrail_core::{Confidence, Severity};
use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::generic::assignment::{self, Until};
use super::generic::{self, names, placeholders, values};
use super::pem::Pem;
use super::rules::{self, Name, Reach, Rule, Shape, Verify};
use super::tail::{self, Word};
use super::triggers::{self, Lead};
use super::verify;
use super::view::{View, word};
use crate::finding::Hit;

/// What a rule found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Candidate {
    pub(super) start: usize,
    pub(super) end: usize,
    #[serde(deserialize_with = "tail::word")]
    pub(super) kind: Word,
    #[serde(deserialize_with = "tail::word")]
    pub(super) what: Word,
    pub(super) severity: Severity,
    pub(super) confidence: Confidence,
    /// How specific the rule is.
    pub(super) rank: u8,
    /// How many bytes it begins before the text at hand.
    pub(super) gone: usize,
    /// What ends it, where it goes on behind its end.
    pub(super) more: Option<Until>,
}

/// The rest of a value that is longer than one hit may be. It is told in further hits.
#[derive(Debug, Serialize, Deserialize)]
struct Rest {
    start: usize,
    until: Until,
    of: Candidate,
}

const RANK_ASSIGNED_FORMAT: u8 = 2;
const RANK_FORMAT: u8 = 3;
const RANK_BLOCK: u8 = 4;

/// A value that is longer than what was looked at is taken up to this length in one hit.
const MAX_LONG: usize = 16 * 1024;

/// How far before its keyword a key may begin.
const MAX_LEAD: usize = 120;

impl Candidate {
    fn is_better_than(&self, other: &Candidate) -> bool {
        (self.rank, self.length()) > (other.rank, other.length())
    }

    fn length(&self) -> usize {
        self.end - self.start + self.gone
    }

    fn hit(self, base: usize) -> Hit {
        let (start, end) = (base + self.start - self.gone, base + self.end);
        Hit {
            severity: self.severity,
            confidence: self.confidence,
            ..Hit::new(self.kind, start, end, self.what)
        }
    }
}

/// A search that may go on when more of the text comes. Places are relative to the text that it is given.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Search {
    /// How much of the text is forgotten. Hits count from before that.
    base: usize,
    /// Keywords whose anchors lie before this place are dealt with.
    cursor: usize,
    /// Keywords between these places are part of a key or a block.
    covered: (usize, usize),
    /// Names between these places are part of a long value.
    valued: (usize, usize),
    /// What is left of a value that is longer than one hit.
    rest: Option<Rest>,
    /// The block that the text is in.
    block: Option<Pem>,
    /// What was found, and not yet compared with what may overlap it.
    pending: Vec<Candidate>,
    /// The best of those that overlap each other so far.
    current: Option<Candidate>,
}

impl Search {
    /// Looks at what has come. Returns what is found for good, and the place up to which nothing can change any more.
    pub(super) fn advance(&mut self, text: &str, last: bool) -> (Vec<Hit>, usize) {
        let view = View::new(text, last);
        let mut waiting = self.run(&view);
        if last {
            waiting = text.len();
        }
        let hits = self.settle(waiting, last);
        if self.block.is_some() {
            // What reaches into the block gives way to it.
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
        // INVARIANT: nothing outranks a block, and what begins before it and reaches into it is given up.
        self.block.as_ref().map(|block| (self.base + block.start - block.gone, block.sure))
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
            candidate.gone += by.saturating_sub(candidate.start);
            candidate.start = candidate.start.saturating_sub(by);
            candidate.end = candidate.end.saturating_sub(by);
        }
    }

    /// Deals with keywords in their order, until one needs to see more. Returns the first place that what is still to
    /// come may change.
    fn run(&mut self, view: &View<'_>) -> usize {
        loop {
            if let Some(rest) = self.rest.take() {
                let (end, goes_on) = rest.until.end(view, rest.start, MAX_LONG);
                if view.was_short() {
                    let start = rest.start;
                    self.rest = Some(rest);
                    return start;
                }
                let start = rest.start;
                if end > start {
                    self.covered = (start, end);
                    self.cursor = self.cursor.max(end);
                    self.pending.push(Candidate { start, end, rank: RANK_BLOCK, gone: 0, ..rest.of.clone() });
                    self.rest = goes_on.then_some(Rest { start: end, ..rest });
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
                    start: block.start,
                    end,
                    kind: "private-key",
                    what: "a private key",
                    severity: Severity::Critical,
                    confidence: Confidence::High,
                    rank: RANK_BLOCK,
                    gone: block.gone,
                    more: None,
                });
            }
            let bytes = view.text.as_bytes();
            // A keyword is looked at when all of it is there.
            let upto =
                if view.is_last() { bytes.len() } else { bytes.len().saturating_sub(triggers::longest()) };
            let mut stopped = None;
            let (covered, pending, block) = (&mut self.covered, &mut self.pending, &mut self.block);
            let (valued, rest) = (&mut self.valued, &mut self.rest);
            triggers::find(bytes, self.cursor, upto, |anchor, place, length, lead| {
                // Within a key there is no other: this also keeps the work linear.
                if place < covered.1 && place > covered.0 {
                    return true;
                }
                if lead == Lead::Pem {
                    let begun = Pem::begin(view, place, place + length);
                    if view.was_short() {
                        stopped = Some(anchor);
                    } else if begun.is_some() {
                        *block = begun;
                        stopped = Some(anchor);
                    }
                    return stopped.is_none();
                }
                // A name within a long value is part of it. This too keeps the work linear.
                if place < valued.1 && place > valued.0 && is_generic(lead) {
                    return true;
                }
                if lead == Lead::Insert {
                    let found = generic::insert::secrets(view, place + length);
                    if view.was_short() {
                        stopped = Some(anchor);
                        return false;
                    }
                    pending.extend(found);
                    return true;
                }
                let mut found = look(view, place, place + length, lead);
                let mut left = None;
                if let Some(found) = &mut found
                    && let Some(until) = found.more.take()
                {
                    let (end, goes_on) = until.end(view, found.end, MAX_LONG);
                    found.end = end;
                    left = goes_on.then(|| Rest { start: end, until, of: found.clone() });
                }
                if view.was_short() {
                    stopped = Some(anchor);
                    return false;
                }
                if let Some(found) = &found
                    && found.length() >= assignment::MAX_VALUE / 2
                    && found.end > valued.1
                {
                    *valued = (found.start, found.end);
                }
                if let Some(found) = &found
                    && found.rank >= RANK_FORMAT
                    && found.end > covered.1
                {
                    *covered = (found.start, found.end);
                }
                pending.extend(found);
                if left.is_some() {
                    // Nothing within the value matters any more: it is hidden as a whole.
                    *rest = left;
                    stopped = Some(anchor);
                }
                stopped.is_none()
            });
            self.cursor = stopped.unwrap_or(upto.max(self.cursor));
            if self.block.is_some() || self.rest.is_some() {
                continue;
            }
            // A key that is still to come begins in the word that the search stands in, or after it.
            let word = view.run_back(self.cursor, MAX_LEAD + triggers::longest(), |byte| byte > b' ');
            return view.floor(word);
        }
    }

    /// Decides between what overlaps, as far as everything that begins before a place is known.
    fn settle(&mut self, known: usize, last: bool) -> Vec<Hit> {
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
                current => hits.extend(current.replace(candidate).map(|candidate| candidate.hit(base))),
            }
        }
        if last || self.current.as_ref().is_some_and(|current| current.end <= known) {
            hits.extend(self.current.take().map(|candidate| candidate.hit(base)));
        }
        hits
    }
}

/// Whether a keyword leads to what is assigned, rather than to a format of its own.
fn is_generic(lead: Lead) -> bool {
    match lead {
        Lead::Name | Lead::Address | Lead::Insert => true,
        Lead::Rule(index) => rules::all_indexed(index).is_some_and(|rule| {
            rule.shape == Shape::Near || rule.rank.is_some_and(|rank| rank < RANK_FORMAT)
        }),
        Lead::Pem | Lead::Jwt => false,
    }
}

fn look(view: &View<'_>, place: usize, end: usize, lead: Lead) -> Option<Candidate> {
    match lead {
        Lead::Rule(index) => by_rule(view, index, place, end),
        Lead::Name => generic::assigned(view, place, end),
        Lead::Address => generic::in_address(view, place),
        Lead::Jwt => super::jwt::end(view, place).map(|(end, sure)| Candidate {
            start: place,
            end,
            kind: "json-web-token",
            what: "a JSON web token",
            severity: Severity::High,
            confidence: if sure { Confidence::High } else { Confidence::Medium },
            rank: RANK_FORMAT,
            gone: 0,
            more: None,
        }),
        Lead::Pem | Lead::Insert => None,
    }
}

/// A row with its pattern, which is made when it is first needed.
struct Compiled {
    rule: &'static Rule,
    regex: OnceLock<Option<Regex>>,
}

fn compiled(index: usize) -> Option<(&'static Rule, &'static Regex)> {
    static RULES: OnceLock<Vec<Compiled>> = OnceLock::new();
    let rules =
        RULES.get_or_init(|| rules::all().map(|rule| Compiled { rule, regex: OnceLock::new() }).collect());
    let compiled = rules.get(index)?;
    let regex = compiled.regex.get_or_init(|| compile(compiled.rule));
    Some((compiled.rule, regex.as_ref()?))
}

fn compile(rule: &Rule) -> Option<Regex> {
    let pattern = match rule.shape {
        Shape::Prefix | Shape::Near => format!(r"\A(?:{})", rule.pattern),
        Shape::Inside => rule.pattern.to_owned(),
    };
    // A test compiles all rows, so that none is lost here.
    RegexBuilder::new(&pattern)
        .unicode(false)
        .case_insensitive(rule.any_case && rule.shape != Shape::Near)
        .build()
        .ok()
}

/// Whether a byte may stand in a key.
fn in_key(byte: u8) -> bool {
    byte > b' ' && byte < 0x7f && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b',' | b';' | b'\\')
}

/// A key whose mark is coloured, as a search that shows what it found does: `\x1b[31mAKIA\x1b[mABCD…`.
fn coloured(
    view: &View<'_>,
    index: usize,
    place: usize,
    keyword_end: usize,
    past: usize,
) -> Option<Candidate> {
    let (rule, regex) = compiled(index)?;
    let mut text = view.slice(place, keyword_end).to_vec();
    let mark = text.len();
    text.extend_from_slice(view.slice(past, view.run(past, rule.window, in_key)));
    let found = regex.find(&text)?;
    let secret = text.get(..found.end())?;
    let end = past + found.end().checked_sub(mark)?;
    if view.at(end).is_some_and(word) || is_left_out(rule, secret) {
        return None;
    }
    Some(Candidate {
        start: place,
        end,
        kind: rule.kind,
        what: rule.what,
        severity: rule.severity,
        confidence: verify::confidence(rule.verify, secret)?,
        rank: rule.rank.unwrap_or(RANK_FORMAT),
        gone: 0,
        more: None,
    })
}

/// No key that begins with its mark is shorter.
pub(super) const SHORTEST: usize = 11;

fn by_rule(view: &View<'_>, index: usize, place: usize, keyword_end: usize) -> Option<Candidate> {
    let rule = rules::all_indexed(index)?;
    let (from, looked, limit, value) = match rule.shape {
        Shape::Prefix => {
            // A key does not begin with its mark twice: the second one is looked at by itself.
            if !view.starts_word(place) || view.starts_with(keyword_end, view.slice(place, keyword_end)) {
                return None;
            }
            let past = view.past_ansi(keyword_end);
            if past > keyword_end {
                return coloured(view, index, place, keyword_end, past);
            }
            let limit = reach(view, rule, place, keyword_end);
            // To make a pattern takes longer than all else, and `path` begins as some key does.
            if limit - place < SHORTEST {
                return None;
            }
            (place, place, limit, None)
        }
        Shape::Near => {
            let value = assignment::parse(view, place, keyword_end)?;
            let name = view.slice(value.name_start, value.name_end);
            let fits = match rule.name {
                Name::Secretish => names::is_secretish(name),
                Name::Secret => names::mentions(name, "secret"),
                Name::Key => names::mentions(name, "token") || names::mentions(name, "key"),
            };
            if !fits {
                return None;
            }
            (value.start, value.start, value.end.min(value.start + rule.window), Some(value))
        }
        Shape::Inside => {
            let from = view.run_back(place, rule.lead, in_key);
            (from, place, reach(view, rule, place, keyword_end), None)
        }
    };
    let (rule, regex) = compiled(index)?;
    let window = view.slice(from, limit);
    let (start, end) = match regex.captures_len() {
        0 | 1 => regex.find(window).map(|found| (found.start(), found.end())),
        _ => {
            regex.captures(window).and_then(|groups| groups.get(1)).map(|found| (found.start(), found.end()))
        }
    }
    .map(|(start, end)| (from + start, from + end))?;
    if rule.shape == Shape::Inside && !view.starts_word(start) && regex.captures_len() == 1 {
        return None;
    }
    let mut more = None;
    if end == limit && limit == looked + rule.window {
        // The window ends within the key, perhaps.
        more = Some(if rule.verify == Verify::Password { Until::Space } else { Until::Key });
    }
    let next = view.at(end);
    let goes_on = next.is_some_and(|byte| {
        word(byte) || (value.is_some() && matches!(byte, b'-' | b'+' | b'/' | b'=' | b'('))
    });
    if goes_on && more.is_none() {
        return None;
    }
    let secret = view.slice(start, end);
    if is_left_out(rule, secret) || (rule.verify == Verify::Aws && is_signer(view, start)) {
        return None;
    }
    if let Some(beside) = rule.beside {
        let line = view.run_back(start, 100, |byte| byte != b'\n');
        if !names::mentions(view.slice(line, start), beside) {
            return None;
        }
    }
    let confidence = verify::confidence(rule.verify, secret)?;
    Some(Candidate {
        start,
        end,
        kind: rule.kind,
        what: rule.what,
        severity: rule.severity,
        confidence: if value.is_some() { confidence.min(Confidence::Medium) } else { confidence },
        rank: if value.is_some() { RANK_ASSIGNED_FORMAT } else { rule.rank.unwrap_or(RANK_FORMAT) },
        gone: 0,
        more,
    })
}

/// Whether a key id only says who signed an address or a request. It is there for all to see, and opens nothing.
fn is_signer(view: &View<'_>, start: usize) -> bool {
    let stands_before = |mark: &[u8]| view.slice(start.saturating_sub(mark.len()), start) == mark;
    stands_before(b"X-Amz-Credential=") || stands_before(b"HMAC-SHA256 Credential=")
}

/// Whether a value of the right form is no key: too plain, a dummy, or blanked out.
fn is_left_out(rule: &Rule, secret: &[u8]) -> bool {
    values::entropy_of(secret) < rule.entropy
        || if rule.plain { placeholders::is_blanked(secret) } else { placeholders::is_dummy(secret) }
}

/// How far a rule looks from a place on.
fn reach(view: &View<'_>, rule: &Rule, place: usize, keyword_end: usize) -> usize {
    let limit = match rule.reach {
        Reach::Word => return view.run(place, rule.window, in_key),
        Reach::Line => view.run(place, rule.window, |byte| byte != b'\n'),
        Reach::Block => view.run(place, rule.window, |_| true),
    };
    let keyword = view.slice(place, keyword_end);
    if !keyword.contains(&b' ') {
        return limit;
    }
    // What follows the same keyword is looked at from there. Many in a row are not looked at over and over.
    memchr::memmem::find(view.slice(keyword_end, limit), keyword).map_or(limit, |next| keyword_end + next)
}

/// Whether the name of a member may say that its value is a secret.
pub(super) fn is_telling_name(name: &str) -> bool {
    let mut found = false;
    triggers::find(name.as_bytes(), 0, name.len(), |_, _, _, _| {
        found = true;
        false
    });
    found
}

/// Whether one row finds something in a text, whatever the others say.
#[cfg(test)]
pub(super) fn finds(wanted: &Rule, text: &str) -> bool {
    let view = View::new(text, true);
    let mut found = false;
    triggers::find(text.as_bytes(), 0, text.len(), |_, place, length, lead| {
        if let Lead::Rule(index) = lead
            && rules::all_indexed(index).is_some_and(|rule| std::ptr::eq(rule, wanted))
        {
            found |= by_rule(&view, index, place, place + length).is_some();
        }
        true
    });
    found
}
