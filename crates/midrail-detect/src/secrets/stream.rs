//! Texts that come in parts. What is decided is released, with what was found in it; the rest is held back.
//!
//! Held back is only a tail that may begin a secret or belong to one: in plain prose the last word, at most
//! [`MAX_HELD`] bytes in all. A long private key is not held back: the text is released as it comes, and said to lie
//! within a secret.

use super::engine::Search;
use super::mask::{Digest, tagged};
use super::view::LOOK_BACK;
use crate::finding::Hit;

/// The most that [`Secrets`] holds back, whatever comes. The longest rule is that of web tokens.
pub const MAX_HELD: usize = 20 * 1024;

/// A detector that can say how far a text is decided before all of it has come.
pub trait Detector {
    /// Looks at a text of which more may come, unless this is the last of it. Is called again with the same text and
    /// more behind it, less what it was told to forget.
    fn advance(&mut self, text: &str, last: bool) -> Progress;

    /// The first bytes of the text are let go of: the places that follow count from behind them.
    fn forget(&mut self, bytes: usize);

    /// How many bytes of decided text it needs to see before what is not decided.
    fn look_back(&self) -> usize;
}

/// How far a text is decided.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// What was found for good, in order. Places count from the beginning of all text.
    pub hits: Vec<Hit>,
    /// The place in the text at hand before which nothing can change.
    pub decided: usize,
    /// A hit that has begun and is so long that its text goes on being decided before it ends.
    pub open: Option<Open>,
}

/// A hit that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    /// Its kind.
    pub kind: &'static str,
    /// Its first byte, from the beginning of all text.
    pub start: usize,
}

/// Text that is decided, and what was found in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Released {
    /// Where the text begins, from the beginning of all text.
    pub start: usize,
    /// The text.
    pub text: String,
    /// The hits that end in it, in order. Places count from the beginning of all text; one may have begun earlier,
    /// where it was told as open.
    pub hits: Vec<Hit>,
    /// A hit that the text ends within.
    pub open: Option<Open>,
}

/// A text in parts, with a detector.
#[derive(Debug, Default)]
pub struct Stream<D> {
    detector: D,
    /// What is held back, and as much before it as the detector needs to see.
    buffer: String,
    /// Where the buffer begins, from the beginning of all text.
    base: usize,
    /// How much of the buffer is released.
    released: usize,
}

impl<D: Detector> Stream<D> {
    /// A text of which nothing has come.
    pub fn new(detector: D) -> Self {
        Stream { detector, buffer: String::new(), base: 0, released: 0 }
    }

    /// Takes the next part, and releases what is decided.
    pub fn push(&mut self, chunk: &str) -> Released {
        self.buffer.push_str(chunk);
        self.release(false)
    }

    /// Releases the rest: nothing more will come.
    pub fn finish(mut self) -> Released {
        self.release(true)
    }

    /// How many bytes are held back.
    pub fn held(&self) -> usize {
        self.buffer.len().saturating_sub(self.released)
    }

    fn release(&mut self, last: bool) -> Released {
        let progress = self.detector.advance(&self.buffer, last);
        let decided = progress.decided.clamp(self.released, self.buffer.len());
        let text = self.buffer.get(self.released..decided).unwrap_or_default().to_owned();
        let start = self.base + self.released;
        self.released += text.len();
        self.shrink();
        Released { start, text, hits: progress.hits, open: progress.open }
    }

    /// Lets go of text that no one needs to see again, not for each small part anew.
    fn shrink(&mut self) {
        const SLACK: usize = 4_096;
        let mut cut = self.released.saturating_sub(self.detector.look_back());
        while cut > 0 && !self.buffer.is_char_boundary(cut) {
            cut -= 1;
        }
        if cut >= SLACK {
            self.buffer.drain(..cut);
            self.detector.forget(cut);
            self.base += cut;
            self.released -= cut;
        }
    }
}

/// The detector of secrets, for streams.
#[derive(Debug, Default)]
pub struct Secrets(Search);

impl Detector for Secrets {
    fn advance(&mut self, text: &str, last: bool) -> Progress {
        let (hits, settled) = self.0.advance(text, last);
        match self.0.open_block() {
            Some((start, sure)) => {
                Progress { hits, decided: sure, open: Some(Open { kind: "private-key", start }) }
            }
            None => Progress { hits, decided: settled, open: None },
        }
    }

    fn forget(&mut self, bytes: usize) {
        self.0.forget(bytes);
    }

    fn look_back(&self) -> usize {
        LOOK_BACK
    }
}

/// A detector of whole texts, used on a stream: for hits that depend on no more than a window of text to either side.
#[derive(Debug, Clone)]
pub struct Windowed {
    scan: fn(&str) -> Vec<Hit>,
    window: usize,
    base: usize,
    done: usize,
}

impl Windowed {
    /// A detector whose hits are shorter than the window, and depend on no more than that to either side.
    pub fn new(scan: fn(&str) -> Vec<Hit>, window: usize) -> Self {
        Windowed { scan, window, base: 0, done: 0 }
    }
}

impl Detector for Windowed {
    fn advance(&mut self, text: &str, last: bool) -> Progress {
        let mut decided = if last { text.len() } else { text.len().saturating_sub(2 * self.window) };
        let mut hits = (self.scan)(text);
        hits.retain(|hit| hit.start >= self.done);
        if !last {
            // What reaches over the edge is decided when more has come.
            if let Some(over) = hits.iter().find(|hit| hit.end > decided) {
                decided = decided.min(over.start);
            }
            hits.retain(|hit| hit.end <= decided);
        }
        while decided > 0 && !text.is_char_boundary(decided) {
            decided -= 1;
        }
        self.done = self.done.max(decided);
        for hit in &mut hits {
            hit.start += self.base;
            hit.end += self.base;
        }
        Progress { hits, decided, open: None }
    }

    fn forget(&mut self, bytes: usize) {
        self.base += bytes;
        self.done = self.done.saturating_sub(bytes);
    }

    fn look_back(&self) -> usize {
        2 * self.window
    }
}

/// A stream that gives out its text with what was found replaced: `[redacted:aws-access-key#3f9a]`.
#[derive(Debug)]
pub struct Redactor<D> {
    stream: Stream<D>,
    key: Vec<u8>,
    open: Option<Digest>,
}

impl Redactor<Secrets> {
    /// A stream without its secrets. Fingerprints are made under the key.
    pub fn of_secrets(key: &[u8]) -> Self {
        Redactor::new(Secrets::default(), key)
    }
}

impl<D: Detector> Redactor<D> {
    /// A stream without what a detector finds in it.
    pub fn new(detector: D, key: &[u8]) -> Self {
        Redactor { stream: Stream::new(detector), key: key.to_owned(), open: None }
    }

    /// Takes the next part, and gives out what is decided.
    pub fn push(&mut self, chunk: &str) -> String {
        let released = self.stream.push(chunk);
        self.redacted(released)
    }

    /// Gives out the rest.
    pub fn finish(mut self) -> String {
        let released = self.stream.release(true);
        self.redacted(released)
    }

    fn redacted(&mut self, released: Released) -> String {
        let text = |start: usize, end: usize| {
            let from = start.saturating_sub(released.start);
            released.text.get(from..end.saturating_sub(released.start)).unwrap_or_default()
        };
        let end = released.start + released.text.len();
        let mut out = String::with_capacity(released.text.len());
        let mut done = released.start;
        for hit in &released.hits {
            if self.open.is_none() {
                out.push_str(text(done, hit.start));
            }
            let mut digest = self.open.take().unwrap_or_else(|| Digest::new(&self.key));
            digest.add(text(hit.start.max(done), hit.end));
            out.push_str(&tagged(hit.kind, &digest.finish()));
            done = hit.end;
        }
        match &released.open {
            Some(open) => {
                if self.open.is_none() {
                    out.push_str(text(done, open.start));
                }
                let digest = self.open.get_or_insert_with(|| Digest::new(&self.key));
                digest.add(text(open.start.max(done), end));
            }
            None => out.push_str(text(done, end)),
        }
        out
    }
}
