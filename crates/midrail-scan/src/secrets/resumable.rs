//! A scan of a text that arrives in chunks, as a value that can be stored between two chunks. It contains text that may be
//! half a secret, so it has to be stored encrypted.

use midrail_core::Hit;
use serde::{Deserialize, Serialize};

use super::candidate::Candidate;
use super::engine::Search;
use super::view::LOOK_BACK;
use crate::bytes::floor;

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
    found: Vec<Candidate>,
}

impl ResumableScan {
    /// Adds a chunk, or the last one.
    pub fn push(&mut self, chunk: &str, last: bool) {
        self.text.push_str(chunk);
        let (found, decided) = self.search.advance(&self.text, last);
        self.decided = decided.clamp(self.decided, self.text.len());
        self.found.extend(found);
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
        floor(&self.text, self.taken + end.saturating_sub(begin)).saturating_sub(self.taken)
    }

    /// Takes as many bytes as [`ResumableScan::fit`] returns, with their secrets. Offsets count from the beginning of the
    /// returned text.
    pub fn take(&mut self, bytes: usize) -> (String, Vec<Hit>) {
        let begin = self.base + self.taken;
        let length = self.fit(bytes);
        let ready = self.found.iter().take_while(|found| found.end <= begin + length).count();
        let hits = self.found.drain(..ready).map(|found| Hit {
            start: found.start.saturating_sub(begin),
            end: found.end.saturating_sub(begin),
            ..found.into_hit()
        });
        let hits = hits.collect();
        let text = self.text.get(self.taken..self.taken + length).unwrap_or_default().to_owned();
        self.taken += text.len();
        self.shrink();
        (text, hits)
    }

    /// Drops text that the search no longer needs.
    fn shrink(&mut self) {
        let cut = floor(&self.text, self.taken.saturating_sub(LOOK_BACK));
        self.text.drain(..cut);
        self.search.forget(cut);
        self.base += cut;
        self.taken -= cut;
        self.decided -= cut;
    }
}
