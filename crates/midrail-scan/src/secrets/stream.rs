//! Scans texts that arrive in chunks. Decided text is released with its hits; the rest is held back.
//!
//! Only a tail that may be part of a secret is held back: in prose the last word, and never more than [`MAX_HELD`] bytes. A
//! long private key is not held back: its text is released as part of an open hit.

use super::candidate::Candidate;
use super::engine::Search;
use super::mask::{Digest, format_tag};
use super::view::LOOK_BACK;
use crate::bytes::floor;
use midrail_core::Hit;

/// The most bytes that [`SecretDetector`] holds back. The longest rule is that of web tokens.
pub const MAX_HELD: usize = 20 * 1024;

/// A detector that works on the beginning of a text.
pub trait Detector {
    /// Scans a text that may continue, unless `last` is set. Later calls repeat the text, without forgotten bytes, and
    /// append to it.
    fn advance(&mut self, text: &str, last: bool) -> Progress;

    /// Forgets the first bytes of the text. Later offsets count from behind them.
    fn forget(&mut self, bytes: usize);

    /// How many bytes of decided text it needs before the undecided text.
    fn look_back(&self) -> usize;
}

/// How far a text is decided.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// The final hits, in order. Offsets count from the beginning of all text.
    pub hits: Vec<Hit>,
    /// The offset in the given text before which nothing can change.
    pub decided: usize,
    /// A long hit whose text is decided before the hit ends.
    pub open: Option<OpenHit>,
}

/// A hit that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenHit {
    /// Its kind.
    pub kind: &'static str,
    /// Its first byte, from the beginning of all text.
    pub start: usize,
}

/// Decided text and its hits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReleasedText {
    /// Where the text begins, from the beginning of all text.
    pub start: usize,
    /// The text.
    pub text: String,
    /// The hits that end in it, in order. Offsets count from the beginning of all text. An open hit may have begun in
    /// earlier text.
    pub hits: Vec<Hit>,
    /// A hit that continues behind the text.
    pub open: Option<OpenHit>,
}

/// A text in chunks, with a detector.
#[derive(Debug, Default)]
pub struct Stream<D> {
    detector: D,
    /// The text that is held back, and as much before it as the detector needs.
    buffer: String,
    /// Where the buffer begins, from the beginning of all text.
    base: usize,
    /// How many bytes of the buffer are released.
    released: usize,
}

impl<D: Detector> Stream<D> {
    /// A stream without text.
    pub fn new(detector: D) -> Self {
        Stream { detector, buffer: String::new(), base: 0, released: 0 }
    }

    /// Adds a chunk, and releases the decided text.
    pub fn push(&mut self, chunk: &str) -> ReleasedText {
        self.buffer.push_str(chunk);
        self.release(false)
    }

    /// Releases the remaining text.
    pub fn finish(mut self) -> ReleasedText {
        self.release(true)
    }

    /// How many bytes are held back.
    pub fn held(&self) -> usize {
        self.buffer.len().saturating_sub(self.released)
    }

    fn release(&mut self, last: bool) -> ReleasedText {
        let progress = self.detector.advance(&self.buffer, last);
        let decided = progress.decided.clamp(self.released, self.buffer.len());
        let text = self.buffer.get(self.released..decided).unwrap_or_default().to_owned();
        let start = self.base + self.released;
        self.released += text.len();
        self.shrink();
        ReleasedText { start, text, hits: progress.hits, open: progress.open }
    }

    /// Drops text that the detector no longer needs, but not for every small chunk.
    fn shrink(&mut self) {
        const SLACK: usize = 4_096;
        let cut = floor(&self.buffer, self.released.saturating_sub(self.detector.look_back()));
        if cut >= SLACK {
            self.buffer.drain(..cut);
            self.detector.forget(cut);
            self.base += cut;
            self.released -= cut;
        }
    }
}

/// The detector of secrets.
#[derive(Debug, Default)]
pub struct SecretDetector(Search);

impl Detector for SecretDetector {
    fn advance(&mut self, text: &str, last: bool) -> Progress {
        let (found, settled) = self.0.advance(text, last);
        let hits = found.into_iter().map(Candidate::into_hit).collect();
        let block = self.0.open_block();
        let open = block.map(|(start, _)| OpenHit { kind: "private-key", start });
        Progress { hits, decided: block.map_or(settled, |(_, sure)| sure), open }
    }

    fn forget(&mut self, bytes: usize) {
        self.0.forget(bytes);
    }

    fn look_back(&self) -> usize {
        LOOK_BACK
    }
}

/// A detector of whole texts on a stream, for hits that depend only on a window of text around them.
#[derive(Debug, Clone)]
pub struct WindowedDetector {
    scan: fn(&str) -> Vec<Hit>,
    window: usize,
    base: usize,
    done: usize,
}

impl WindowedDetector {
    /// A detector whose hits are shorter than the window and depend on no text beyond it.
    pub fn new(scan: fn(&str) -> Vec<Hit>, window: usize) -> Self {
        WindowedDetector { scan, window, base: 0, done: 0 }
    }
}

impl Detector for WindowedDetector {
    fn advance(&mut self, text: &str, last: bool) -> Progress {
        let mut decided = if last { text.len() } else { text.len().saturating_sub(2 * self.window) };
        let mut hits = (self.scan)(text);
        hits.retain(|hit| hit.start >= self.done);
        if !last {
            // Hits over the edge are decided with more text.
            if let Some(over) = hits.iter().find(|hit| hit.end > decided) {
                decided = decided.min(over.start);
            }
            hits.retain(|hit| hit.end <= decided);
        }
        decided = floor(text, decided);
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

/// A stream that replaces hits in its text: `[redacted:aws-access-key#3f9a]`.
#[derive(Debug)]
pub struct Redactor<D> {
    stream: Stream<D>,
    key: Vec<u8>,
    open: Option<Digest>,
}

impl Redactor<SecretDetector> {
    /// A redactor of secrets. Fingerprints are made with `key`.
    pub fn for_secrets(key: &[u8]) -> Self {
        Redactor::new(SecretDetector::default(), key)
    }
}

impl<D: Detector> Redactor<D> {
    /// A redactor of a detector's hits. Fingerprints are made with `key`.
    pub fn new(detector: D, key: &[u8]) -> Self {
        Redactor { stream: Stream::new(detector), key: key.to_owned(), open: None }
    }

    /// Adds a chunk, and returns the decided text.
    pub fn push(&mut self, chunk: &str) -> String {
        let released = self.stream.push(chunk);
        self.redacted(released)
    }

    /// Returns the remaining text.
    pub fn finish(mut self) -> String {
        let released = self.stream.release(true);
        self.redacted(released)
    }

    fn redacted(&mut self, released: ReleasedText) -> String {
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
            out.push_str(&format_tag(hit.kind, &digest.finish()));
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
