//! The tail of a text that comes in parts, as a value that can be kept between two of them: what is not decided, and
//! how far the search is. It holds what may be half a secret, so whoever keeps it has to seal it.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use midrail_core::{Confidence, Severity};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::engine::Search;
use super::rules;
use super::view::LOOK_BACK;
use crate::finding::Hit;

/// A word of the program: the kind of a secret, or what it is.
pub(super) type Word = &'static str;

/// The end of a text that comes in parts.
///
/// Unlike a [`Stream`](super::stream::Stream) it holds a private key back as a whole: what comes out of it is decided.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Tail {
    search: Search,
    /// What is held back, and as much before it as the search needs to see.
    text: String,
    /// Where the text begins, from the beginning of all text.
    base: usize,
    /// How much of the text was taken.
    taken: usize,
    /// Up to where it is decided.
    decided: usize,
    /// What was found in what is decided and not taken. Places count from the beginning of all text.
    found: Vec<Found>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Found {
    start: usize,
    end: usize,
    severity: Severity,
    confidence: Confidence,
    #[serde(deserialize_with = "word")]
    kind: Word,
    what: String,
}

impl Tail {
    /// Takes in the next part of the text, or its last one.
    pub fn push(&mut self, chunk: &str, last: bool) {
        self.text.push_str(chunk);
        let (hits, decided) = self.search.advance(&self.text, last);
        self.decided = decided.clamp(self.decided, self.text.len());
        self.found.extend(hits.into_iter().map(|hit| Found {
            start: hit.start,
            end: hit.end,
            severity: hit.severity,
            confidence: hit.confidence,
            kind: hit.kind,
            what: hit.explanation.into_owned(),
        }));
    }

    /// What is decided and not taken.
    pub fn decided(&self) -> &str {
        self.text.get(self.taken..self.decided).unwrap_or_default()
    }

    /// What is not taken, decided or not.
    pub fn held(&self) -> &str {
        self.text.get(self.taken..).unwrap_or_default()
    }

    /// How many of the bytes that are decided can be taken: so many or fewer, so that nothing that was found is cut in
    /// two, and no character.
    pub fn fit(&self, bytes: usize) -> usize {
        let begin = self.base + self.taken;
        let mut end = begin + bytes.min(self.decided.saturating_sub(self.taken));
        // INVARIANT: secrets are found in order and without overlap.
        if let Some(cut) = self.found.iter().find(|found| found.start < end && end < found.end) {
            end = cut.start;
        }
        let mut length = end.saturating_sub(begin);
        while !self.text.is_char_boundary(self.taken + length) {
            length -= 1;
        }
        length
    }

    /// Takes as many bytes as [`Tail::fit`] says, with the secrets in them; places count from the beginning of what is
    /// taken.
    pub fn take(&mut self, bytes: usize) -> (String, Vec<Hit>) {
        let begin = self.base + self.taken;
        let length = self.fit(bytes);
        let ready = self.found.iter().take_while(|found| found.end <= begin + length).count();
        let hits = self.found.drain(..ready).map(|found| Hit {
            severity: found.severity,
            confidence: found.confidence,
            ..Hit::new(
                found.kind,
                found.start.saturating_sub(begin),
                found.end.saturating_sub(begin),
                found.what,
            )
        });
        let hits = hits.collect();
        let text = self.text.get(self.taken..self.taken + length).unwrap_or_default().to_owned();
        self.taken += text.len();
        self.shrink();
        (text, hits)
    }

    /// Lets go of text that no one needs to see again.
    fn shrink(&mut self) {
        let mut cut = self.taken.saturating_sub(LOOK_BACK);
        while cut > 0 && !self.text.is_char_boundary(cut) {
            cut -= 1;
        }
        self.text.drain(..cut);
        self.search.forget(cut);
        self.base += cut;
        self.taken -= cut;
        self.decided -= cut;
    }
}

/// Reads a word that was one of the program's own.
pub(super) fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
    let text = String::deserialize(deserializer)?;
    own_words()
        .get(text.as_str())
        .copied()
        .ok_or_else(|| D::Error::custom(format!("`{text}` is no kind of secret")))
}

/// The kinds of secrets, and what they are, beside the rules' own.
const OTHERS: &[Word] = &[
    "a JSON web token",
    "a key or token that is assigned to a name",
    "a password",
    "a password in an address",
    "a private key",
    "a random string that is assigned to a name like that of a secret",
    "a secret in a row of a table",
    "a user name and password in base 64",
    "basic-authorization",
    "generic-password",
    "generic-random",
    "generic-secret",
    "json-web-token",
    "private-key",
    "sql-password",
    "url-password",
];

fn own_words() -> &'static BTreeSet<Word> {
    static WORDS: OnceLock<BTreeSet<Word>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let of_rules = rules::all().flat_map(|rule| [rule.kind, rule.what]);
        of_rules.chain(OTHERS.iter().copied()).collect()
    })
}
