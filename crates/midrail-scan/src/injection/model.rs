//! A small statistical model: hashed words, stems and short sequences, weighted by logistic regression.
//!
//! Two heads share the features. One classifies windows of any text; the other classifies the fields of structured data, where
//! an order is out of place. `examples/train_injection.rs` trains the weights; `model.txt` describes the training data.

use std::ops::Range;

use super::family;
use super::hashing::hash_word;
use super::phrases::{self, PhraseMatch};
use super::rows::Counts;
use super::vocabulary;
use super::words::{self, BREAK, EMPTY_LINE, NUMBER, ReadMode, Reading, Word};

/// The number of features, as a power of two.
pub const FEATURE_BITS: u32 = 16;
/// The number of thresholds: one for each length of windows of a text, and the last one for fields.
pub const THRESHOLDS: usize = 3;
/// Bytes before the weights: the thresholds, each a little-endian `f32`.
pub const HEADER: usize = 4 * THRESHOLDS;

const WEIGHTS: &[u8] = include_bytes!("model.bin");

/// Which head classifies a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Head {
    /// Any text.
    Text,
    /// A field of structured data.
    Field,
}

/// Windows in words, and the distance between two: a sentence, a paragraph. Longer ones would classify the genre, not the
/// content.
const WINDOWS: &[(usize, usize)] = &[(24, 12), (96, 48)];
/// The longest window of a field.
const FIELD_WINDOW: usize = 64;
/// The fewest words of a field or window.
const MIN_WORDS: usize = 4;
/// The least length that is used as a norm: a few words are weak evidence.
const MIN_LENGTH: u32 = 8;

/// A range of words that one head classifies.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// The head.
    pub head: Head,
    /// First byte and one past the last.
    pub span: Range<usize>,
    /// By how much the sum of the weights is divided.
    pub norm: f64,
    /// Which threshold it has to reach.
    pub threshold: usize,
    /// Whether a phrase of the data is in it. Without one, the likeness may be that of the genre: no finding.
    pub has_sign: bool,
    words: Range<usize>,
}

/// The features of a text.
#[derive(Debug)]
pub struct TextFeatures {
    /// Features by word: those of word `n` are `ends[n - 1]..ends[n]`.
    features: Vec<u32>,
    ends: Vec<usize>,
    /// The windows to classify.
    pub windows: Vec<Window>,
}

impl TextFeatures {
    /// Extracts the features of a text, for training.
    pub fn new(text: &str) -> Self {
        let words = words::read(text, ReadMode::Plain).words;
        let mut found = phrases::find(&words, 0..words.len(), &vocabulary::PHRASES);
        found.retain(|found| !found.phrase.row().is_address());
        let mut reading =
            TextFeatures { features: Vec::new(), ends: vec![0], windows: windows(text, &words, &found) };
        let mut signs = found.as_slice();
        for at in 0..words.len() {
            for_each_feature(&words, at, &mut signs, |feature| reading.features.push(feature));
            reading.ends.push(reading.features.len());
        }
        reading
    }

    /// The features of a window.
    pub fn features(&self, window: &Window) -> &[u32] {
        let end = |at: usize| self.ends.get(at).copied().unwrap_or_default();
        self.features.get(end(window.words.start)..end(window.words.end)).unwrap_or_default()
    }
}

/// A window that reached its threshold, and by how much of it: 1 is just enough.
#[derive(Debug, Clone)]
pub(super) struct ScoredWindow {
    pub(super) head: Head,
    pub(super) span: Range<usize>,
    pub(super) share: f64,
}

/// The weights of a feature for both heads.
fn weights(feature: u32) -> [i8; 2] {
    let at = HEADER + 2 * usize::try_from(feature).unwrap_or_default();
    match WEIGHTS.get(at..at + 2) {
        Some([text, field]) => [text.cast_signed(), field.cast_signed()],
        _ => [0, 0],
    }
}

/// What windows of a kind have to reach.
fn threshold(number: usize) -> f64 {
    let bytes = WEIGHTS.get(4 * number..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(f64::INFINITY, |bytes| f64::from(f32::from_le_bytes(*bytes)))
}

/// Classifies the words of a text. Of overlapping windows, the one with the highest share is returned.
pub(super) fn classify(reading: &Reading<'_>, found: &[PhraseMatch]) -> Vec<ScoredWindow> {
    let words = &reading.words;
    let mut windows = windows(reading.text, words, found);
    windows.retain(|window| window.has_sign);
    if windows.is_empty() {
        return Vec::new();
    }
    let mut sums = Vec::with_capacity(words.len() + 1);
    let mut sum = [0_i32; 2];
    sums.push(sum);
    let mut signs = found;
    for at in 0..words.len() {
        for_each_feature(words, at, &mut signs, |feature| {
            let [text, field] = weights(feature);
            let [text_sum, field_sum] = sum;
            sum = [text_sum.wrapping_add(i32::from(text)), field_sum.wrapping_add(i32::from(field))];
        });
        sums.push(sum);
    }
    let mut scored: Vec<ScoredWindow> = Vec::new();
    for window in windows {
        let at = |word: usize| sums.get(word).copied().unwrap_or_default();
        let ([text_from, field_from], [text_to, field_to]) = (at(window.words.start), at(window.words.end));
        let sum = match window.head {
            Head::Text => text_to.wrapping_sub(text_from),
            Head::Field => field_to.wrapping_sub(field_from),
        };
        let threshold = threshold(window.threshold);
        let share = f64::from(sum) / window.norm / threshold;
        if share < 1.0 || threshold <= 0.0 {
            continue;
        }
        let window = ScoredWindow { head: window.head, span: window.span, share };
        let overlaps = |last: &ScoredWindow| last.head == window.head && window.span.start < last.span.end;
        match scored.last_mut() {
            Some(last) if overlaps(last) => {
                if last.share < share {
                    *last = window;
                }
            }
            _ => scored.push(window),
        }
    }
    scored
}

/// The features that end at a word. `signs` are the remaining phrases.
fn for_each_feature(words: &[Word], at: usize, signs: &mut &[PhraseMatch], mut give: impl FnMut(u32)) {
    let Some(word) = words.get(at) else { return };
    let hash = token(word);
    let before = match at.checked_sub(1).and_then(|at| words.get(at)) {
        Some(before) if word.flags & (BREAK | EMPTY_LINE) == 0 => token(before),
        _ => 1,
    };
    let earlier = match at.checked_sub(2).and_then(|at| words.get(at)) {
        Some(earlier) if before != 1 => token(earlier),
        _ => 2,
    };
    give(bucket(hash, 3));
    give(bucket(word.stem, 5));
    give(bucket(hash ^ before.rotate_left(21), 7));
    give(bucket(hash ^ earlier.rotate_left(42), 11));
    give(bucket(hash ^ before.rotate_left(21) ^ earlier.rotate_left(42), 13));
    // Phrases are features too: weak signs add up here.
    while let Some((sign, rest)) = signs.split_first() {
        if sign.first > at {
            break;
        }
        *signs = rest;
        let row = sign.phrase.row();
        // The subjects of attacks are no features: they would classify the subject.
        if row.family != &family::STATISTICAL {
            give(bucket(hash_word(row.family.kind) ^ u64::from(row.counts == Counts::Weak), 17));
        }
    }
}

/// All numbers are one word.
fn token(word: &Word) -> u64 {
    if word.flags & NUMBER != 0 { 3 } else { word.hash }
}

fn bucket(hash: u64, salt: u64) -> u32 {
    let mixed = (hash ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    u32::try_from(mixed >> (64 - FEATURE_BITS)).unwrap_or_default()
}

fn windows(text: &str, words: &[Word], found: &[PhraseMatch]) -> Vec<Window> {
    let mut windows = Vec::new();
    for (threshold, (size, stride)) in WINDOWS.iter().enumerate() {
        let mut from = 0;
        loop {
            push(&mut windows, Head::Text, threshold, words, from..(from + size).min(words.len()));
            if from + size >= words.len() {
                break;
            }
            from += stride;
        }
        if words.len() <= *size {
            break;
        }
    }
    for window in &mut windows {
        let next = found.partition_point(|sign| sign.first < window.words.start);
        window.has_sign = found.get(next).is_some_and(|sign| sign.first < window.words.end);
    }
    for field in fields(text, words) {
        let mut push_field = |from: usize, to: usize| {
            push(&mut windows, Head::Field, THRESHOLDS - 1, words, from..to.min(from + FIELD_WINDOW));
        };
        let mut from = field.start;
        for at in field.clone().skip(1) {
            // A sentence of a field, and the field as a whole.
            if words.get(at).is_some_and(|word| word.flags & (BREAK | EMPTY_LINE) != 0)
                && at - from >= MIN_WORDS
            {
                push_field(from, at);
                from = at;
            }
        }
        push_field(from, field.end);
        if from != field.start {
            push_field(field.start, field.end);
        }
    }
    windows
}

fn push(windows: &mut Vec<Window>, head: Head, threshold: usize, words: &[Word], range: Range<usize>) {
    let length = range.len();
    if length < MIN_WORDS {
        return;
    }
    let span = range.start..range.end.saturating_sub(1);
    let (Some(first), Some(last)) = (words.get(span.start), words.get(span.end)) else { return };
    let norm = f64::from(u32::try_from(length).unwrap_or(u32::MAX).max(MIN_LENGTH)).sqrt();
    windows.push(Window { head, span: first.start..last.end, norm, threshold, has_sign: true, words: range });
}

/// The longest name of a field.
const MAX_KEY: usize = 48;

/// Whether a quoted name ends before the colon, and begins where a name may begin. Quotation marks are before colons in prose
/// and code, too.
fn is_key(bytes: &[u8], colon: usize) -> bool {
    let before = bytes.get(colon.saturating_sub(MAX_KEY)..colon).unwrap_or_default();
    let mut rest = before.iter().rev().skip_while(|byte| matches!(byte, b'"' | b'\'' | b'\\'));
    let opening =
        rest.find(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b' ' | b'.' | b'$')));
    matches!(opening, Some(b'"' | b'\''))
        && rest
            .find(|byte| !byte.is_ascii_whitespace() && **byte != b'\\')
            .is_some_and(|byte| matches!(byte, b'{' | b',' | b'n'))
}

/// Whether a text has named fields, which a head of its own classifies.
pub(super) fn has_fields(text: &str) -> bool {
    keys(text.as_bytes()).next().is_some()
}

/// The colons behind the names of fields, if a text is structured data.
fn keys(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let data = if opens_data(bytes) { bytes } else { &[] };
    memchr::memchr_iter(b':', data).filter(|at| {
        let before = bytes.get(at.saturating_sub(1));
        let after = bytes.get(at + 1..).unwrap_or_default().iter().take(4).find(|byte| **byte != b' ');
        matches!(before, Some(b'"' | b'\''))
            && matches!(after, Some(b'"' | b'\'' | b'\\'))
            && is_key(bytes, *at)
    })
}

/// Whether a text begins as structured data: it opens with a name, a text or more data. A link or an attribute of code opens
/// with something else.
fn opens_data(bytes: &[u8]) -> bool {
    (0..64).any(|at| {
        let inside = bytes.get(at + 1..).unwrap_or_default().iter().take(16);
        matches!(bytes.get(at), Some(b'{' | b'['))
            && matches!(
                inside.copied().find(|byte| !byte.is_ascii_whitespace() && *byte != b'\\'),
                Some(b'"' | b'\'' | b'{' | b'[')
            )
    })
}

/// The values of structured data, as ranges of words between one `"key":` and the next.
fn fields(text: &str, words: &[Word]) -> Vec<Range<usize>> {
    let mut fields = Vec::new();
    let mut keys = keys(text.as_bytes());
    let Some(mut key) = keys.next() else { return fields };
    let mut word = 0;
    loop {
        let next = keys.next();
        while words.get(word).is_some_and(|word| word.start < key) {
            word += 1;
        }
        let from = word;
        while words.get(word).is_some_and(|word| next.is_none_or(|next| word.end < next)) {
            word += 1;
        }
        // The last words belong to the next key.
        let to = if next.is_some() { word.saturating_sub(1).max(from) } else { word };
        fields.push(from..to);
        let Some(next) = next else { return fields };
        key = next;
    }
}
