//! A small statistical model: hashed words, stems and short sequences, weighted by logistic regression.
//!
//! Two heads share the features. One classifies windows of any text; the other classifies the values of structured data, where
//! an order is out of place. `examples/train_injection.rs` trains the weights; `model.txt` describes the training data.

use std::ops::Range;

use super::data_orders::{self, DataOrder};
use super::family;
use super::hashing::hash_word;
use super::phrases::{self, PhraseMatch};
use super::rows::Counts;
use super::values;
use super::vocabulary;
use super::words::{self, BREAK, EMPTY_LINE, NUMBER, ReadMode, Reading, Word};

/// The number of features, as a power of two.
pub const FEATURE_BITS: u32 = 16;
/// The number of thresholds: two for each length of windows of a text, and two for values: with and without a sign in the
/// window.
pub const THRESHOLDS: usize = 6;
/// Bytes before the weights: the thresholds, each a little-endian `f32`.
pub const HEADER: usize = 4 * THRESHOLDS;

static MODEL: &[u8; HEADER + (2 << FEATURE_BITS)] = include_bytes!("model.bin");

/// The weights of a feature for both heads, each an `i8`.
const WEIGHTS: &[[u8; 2]; 1 << FEATURE_BITS] = match MODEL.last_chunk::<{ 2 << FEATURE_BITS }>() {
    Some(bytes) => match bytes.as_chunks::<2>().0.first_chunk() {
        Some(weights) => weights,
        None => panic!("the model has no weights"),
    },
    None => panic!("the model has no weights"),
};

/// Which head classifies a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Head {
    /// Any text.
    Text,
    /// A value of structured data.
    Value,
}

/// Windows of text begin and end at multiples of this many words, or with the text.
const STRIDE: usize = 12;
/// Windows in words, and the distance between two: a sentence, a paragraph. Longer ones would classify the genre, not the
/// content.
const WINDOWS: &[(usize, usize)] = &[(2 * STRIDE, STRIDE), (8 * STRIDE, 4 * STRIDE)];
/// The longest window of a value.
const VALUE_WINDOW: usize = 64;
/// The fewest words of a value or window.
const MIN_WORDS: usize = 4;
/// The least length that is used as a norm: a few words are weak evidence.
const MIN_LENGTH: u32 = 8;

/// What the rows of the data found: signs that an attack may be there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signs<'a> {
    pub(super) phrases: &'a [PhraseMatch],
    pub(super) orders: &'a [DataOrder],
}

/// A range of words that one head classifies.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// The head.
    pub head: Head,
    /// First byte and one past the last.
    pub span: Range<usize>,
    /// By how much the sum of the weights is divided.
    pub norm: f64,
    /// Which threshold it has to reach. Without a sign, the likeness may be that of the genre, and the threshold is higher.
    pub threshold: usize,
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
        let reading = words::read(text, ReadMode::Plain);
        let words = &reading.words;
        let mut found = phrases::find(words, 0..words.len(), &vocabulary::PHRASES);
        found.retain(|found| !found.phrase.row().is_address());
        let values = values::find(text);
        let orders = data_orders::find(&reading, &values);
        let signs = Signs { phrases: &found, orders: &orders };
        let windows = windows(&reading, signs, &values);
        let mut known = TextFeatures { features: Vec::new(), ends: vec![0], windows };
        let (mut sequence, mut signs) = (Sequence::new(), NextSigns::new(signs));
        for (at, word) in words.iter().enumerate() {
            known.features.extend(sequence.features(word).map(u32::from));
            if signs.next <= at {
                known.features.extend(signs.features(at + 1).into_iter().map(u32::from));
            }
            known.ends.push(known.features.len());
        }
        known
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

/// What windows of a kind have to reach.
fn threshold(number: usize) -> f64 {
    let bytes = MODEL.get(4 * number..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(f64::INFINITY, |bytes| f64::from(f32::from_le_bytes(*bytes)))
}

/// Classifies the words of a text. Of overlapping windows, the one with the highest share is returned.
// Not inlined, so that callgrind counts what the model costs.
#[inline(never)]
pub(super) fn classify(
    reading: &Reading<'_>,
    signs: Signs<'_>,
    values: &[Range<usize>],
) -> Vec<ScoredWindow> {
    let words = &reading.words;
    let windows = windows(reading, signs, values);
    if windows.is_empty() {
        return Vec::new();
    }
    // Values begin at any word.
    let (step, sums) =
        if values.is_empty() { (STRIDE, sums::<STRIDE>(words, signs)) } else { (1, sums::<1>(words, signs)) };
    let mut scored: Vec<ScoredWindow> = Vec::new();
    for window in windows {
        let at = |word: usize| sums.get(word.div_ceil(step)).copied().unwrap_or_default();
        let ([text_from, value_from], [text_to, value_to]) = (at(window.words.start), at(window.words.end));
        let sum = match window.head {
            Head::Text => text_to.wrapping_sub(text_from),
            Head::Value => value_to.wrapping_sub(value_from),
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

/// The sums of the weights by head: at the start, and then up to the end of every `STEP` words. Those of values only where every
/// word counts, because windows of text begin at every `STRIDE`th word.
fn sums<const STEP: usize>(words: &[Word], signs: Signs<'_>) -> Vec<[i32; 2]> {
    let mut sums = Vec::with_capacity(words.len() / STEP + 2);
    let (mut text_sum, mut value_sum) = (0_i32, 0_i32);
    sums.push([text_sum, value_sum]);
    let (mut sequence, mut signs) = (Sequence::new(), NextSigns::new(signs));
    let mut end = 0;
    for part in words.chunks(STEP) {
        let mut add = |feature: u16| {
            let [text, value] = WEIGHTS.get(usize::from(feature)).copied().unwrap_or_default();
            text_sum = i32::wrapping_add(text_sum, text.cast_signed().into());
            if STEP == 1 {
                value_sum = i32::wrapping_add(value_sum, value.cast_signed().into());
            }
        };
        for word in part {
            sequence.features(word).into_iter().for_each(&mut add);
        }
        end += part.len();
        if signs.next < end {
            signs.features(end).into_iter().for_each(add);
        }
        sums.push([text_sum, value_sum]);
    }
    sums
}

/// The word before the current one, and the one before that. 1 and 2 stand for none.
struct Sequence {
    before: u64,
    earlier: u64,
}

impl Sequence {
    fn new() -> Self {
        Sequence { before: 2, earlier: 2 }
    }

    /// The features of a word and of the sequences that end at it. Words come in order.
    #[inline(always)]
    fn features(&mut self, word: &Word) -> [u16; 5] {
        let hash = token(word);
        let [before, earlier] =
            if word.flags & (BREAK | EMPTY_LINE) == 0 { [self.before, self.earlier] } else { [1, 2] };
        (self.before, self.earlier) = (hash, self.before);
        let (pair, far) = (hash ^ before.rotate_left(21), earlier.rotate_left(42));
        [
            bucket(hash, 3),
            bucket(word.stem, 5),
            bucket(pair, 7),
            bucket(hash ^ far, 11),
            bucket(pair ^ far, 13),
        ]
    }
}

/// The signs that are not reached yet. They are features too: weak ones add up here.
struct NextSigns<'a> {
    signs: Signs<'a>,
    /// Where the next sign is.
    next: usize,
}

impl<'a> NextSigns<'a> {
    fn new(signs: Signs<'a>) -> Self {
        let mut signs = NextSigns { signs, next: 0 };
        signs.find_next();
        signs
    }

    /// The features of the next signs before a word.
    #[cold]
    fn features(&mut self, end: usize) -> Vec<u16> {
        let mut features = Vec::new();
        while let Some((order, rest)) =
            self.signs.orders.split_first().filter(|(order, _)| order.sentence.start < end)
        {
            self.signs.orders = rest;
            features.push(bucket(u64::from(order.is_hint), 19));
        }
        while let Some((sign, rest)) = self.signs.phrases.split_first().filter(|(sign, _)| sign.first < end) {
            self.signs.phrases = rest;
            let row = sign.phrase.row();
            // The subjects of attacks are no features: they would classify the subject.
            if row.family != &family::STATISTICAL {
                features.push(bucket(hash_word(row.family.kind) ^ u64::from(row.counts == Counts::Weak), 17));
            }
        }
        self.find_next();
        features
    }

    fn find_next(&mut self) {
        let order = self.signs.orders.first().map_or(usize::MAX, |order| order.sentence.start);
        let phrase = self.signs.phrases.first().map_or(usize::MAX, |sign| sign.first);
        self.next = order.min(phrase);
    }
}

/// All numbers are one word.
fn token(word: &Word) -> u64 {
    if word.flags & NUMBER != 0 { 3 } else { word.hash }
}

#[inline(always)]
fn bucket(hash: u64, salt: u64) -> u16 {
    let mixed = (hash ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    u16::try_from(mixed >> (64 - FEATURE_BITS)).unwrap_or_default()
}

fn windows(reading: &Reading<'_>, signs: Signs<'_>, values: &[Range<usize>]) -> Vec<Window> {
    let words = &reading.words;
    let mut windows = Vec::with_capacity(words.len() / STRIDE + words.len() / (4 * STRIDE) + 2);
    for (length, (size, stride)) in WINDOWS.iter().enumerate() {
        let mut from = 0;
        loop {
            let range = from..(from + size).min(words.len());
            let next = signs.phrases.partition_point(|sign| sign.first < range.start);
            let has_sign = signs.phrases.get(next).is_some_and(|sign| sign.first < range.end);
            push(&mut windows, Head::Text, 2 * length + usize::from(!has_sign), words, range);
            if from + size >= words.len() {
                break;
            }
            from += stride;
        }
        if words.len() <= *size {
            break;
        }
    }
    for value in values {
        let value = reading.words_in(value);
        let mut push_value = |from: usize, to: usize| {
            let next = signs.orders.partition_point(|order| order.sentence.start < from);
            let has_sign = signs.orders.get(next).is_some_and(|order| order.sentence.start < to);
            let threshold = 2 * WINDOWS.len() + usize::from(!has_sign);
            push(&mut windows, Head::Value, threshold, words, from..to.min(from + VALUE_WINDOW));
        };
        let mut from = value.start;
        for at in value.clone().skip(1) {
            // A sentence of a value, and the value as a whole.
            if reading.has_flag(at, BREAK | EMPTY_LINE) && at - from >= MIN_WORDS {
                push_value(from, at);
                from = at;
            }
        }
        push_value(from, value.end);
        if from != value.start {
            push_value(value.start, value.end);
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
    windows.push(Window { head, span: first.start..last.end, norm, threshold, words: range });
}
