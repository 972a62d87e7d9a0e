//! A scan of a text that arrives in chunks, as a value that can be stored between two chunks. It contains text that may be
//! half a secret, so it has to be stored encrypted.

use midrail_core::{Confidence, Hit, Severity};
use serde::{Deserialize, Serialize};

use super::candidate::{StaticText, static_text};
use super::engine::Search;
use super::view::LOOK_BACK;

/// A scan of a text that arrives in chunks.
///
/// Unlike a [`Stream`](super::stream::Stream) it holds back a private key as a whole: the text that it returns is decided.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ResumableScan {
    search: Search,
    /// The text that is held back, and as much before it as the search needs.
    text: String,
    /// Where the text begins, from the beginning of all text.
    base: usize,
    /// How many bytes of the text were taken.
    taken: usize,
    /// The end of the decided text.
    decided: usize,
    /// The secrets in decided text that was not taken. Offsets count from the beginning of all text.
    found: Vec<PendingHit>,
}

#[derive(Debug, Serialize, Deserialize)]
struct PendingHit {
    start: usize,
    end: usize,
    severity: Severity,
    confidence: Confidence,
    #[serde(deserialize_with = "static_text")]
    kind: StaticText,
    description: String,
}

impl ResumableScan {
    /// Adds a chunk, or the last one.
    pub fn push(&mut self, chunk: &str, last: bool) {
        self.text.push_str(chunk);
        let (hits, decided) = self.search.advance(&self.text, last);
        self.decided = decided.clamp(self.decided, self.text.len());
        self.found.extend(hits.into_iter().map(|hit| PendingHit {
            start: hit.start,
            end: hit.end,
            severity: hit.severity,
            confidence: hit.confidence,
            kind: hit.kind,
            description: hit.explanation.into_owned(),
        }));
    }

    /// The decided text that was not taken.
    pub fn decided(&self) -> &str {
        self.text.get(self.taken..self.decided).unwrap_or_default()
    }

    /// The text that was not taken, decided or not.
    pub fn held(&self) -> &str {
        self.text.get(self.taken..).unwrap_or_default()
    }

    /// How many decided bytes can be taken, at most `bytes`, without splitting a secret or a character.
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

    /// Takes as many bytes as [`ResumableScan::fit`] returns, with their secrets. Offsets count from the beginning of the
    /// returned text.
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
                found.description,
            )
        });
        let hits = hits.collect();
        let text = self.text.get(self.taken..self.taken + length).unwrap_or_default().to_owned();
        self.taken += text.len();
        self.shrink();
        (text, hits)
    }

    /// Drops text that the search no longer needs.
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
