//! All phrases, compiled once: every known word, the sets it belongs to, and the phrases it begins.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::data::{ATTACK_WORDS_BACKWARDS, ATTACK_WORDS_ROT13, MISSPELLED, WORD_SETS};
use super::hashing::{hash_and_beginning, hash_word};
use super::phrase_index::{ANY, ClassId, Phrase, Phrases, Step};
use super::rows::{ROWS, Row};

/// Words that may be between two steps of a phrase.
pub(super) const FILLERS: &str = "@filler";
/// Sets of words that distinguish talk about attacks from attacks.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct TalkSets {
    /// Words that name a phrase: example, attack.
    pub(super) mentions: ClassId,
    /// Words that begin a question.
    pub(super) questions: ClassId,
    /// Verbs of asking and ordering: ask, tell.
    pub(super) reports: ClassId,
    /// Words of a condition or negation: if, not.
    pub(super) conditions: ClassId,
    pub(super) to: ClassId,
    pub(super) you: ClassId,
    /// Words that forbid what follows.
    pub(super) negations: ClassId,
    /// Subjects and modal verbs: I send, they may send.
    pub(super) subjects: ClassId,
}

/// The hashes of the beginnings of words.
#[expect(clippy::disallowed_types, reason = "only membership is read, never the random order")]
type Beginnings = std::collections::HashSet<u64>;

/// All words and phrases.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    /// An open-addressing hash table; 0 is an empty place.
    places: Vec<(u64, u32)>,
    /// For each word one bit for each set, `stride` numbers a word.
    bits: Vec<u64>,
    stride: usize,
    /// The hashes of the beginnings of all words.
    beginnings: Beginnings,
    /// The phrases of all rows but the orders.
    pub(super) phrases: Phrases,
    /// The phrases of orders, which are searched for behind an address.
    pub(super) orders: Phrases,
    pub(super) fillers: ClassId,
    pub(super) talk: TalkSets,
    /// Words of attacks in rot13.
    pub(super) reversed: ClassId,
    /// Words of attacks backwards.
    pub(super) backwards: ClassId,
    longest: usize,
}

/// The vocabulary of all rows.
pub(super) fn vocabulary() -> &'static Vocabulary {
    static ALL: LazyLock<Vocabulary> = LazyLock::new(|| Compiler::default().compile());
    &ALL
}

impl Vocabulary {
    /// The number of a word; 0 for an unknown word.
    pub(super) fn id(&self, hash: u64) -> u32 {
        let mask = self.places.len().wrapping_sub(1);
        let mut at = usize::try_from(hash ^ (hash >> 32)).unwrap_or_default() & mask;
        loop {
            match self.places.get(at) {
                Some((_, 0)) | None => return 0,
                Some((known, id)) if *known == hash => return *id,
                Some(_) => at = (at + 1) & mask,
            }
        }
    }

    pub(super) fn is_in(&self, id: u32, class: ClassId) -> bool {
        if class == ANY {
            return true;
        }
        let Ok(word) = usize::try_from(id) else { return false };
        let bits = self.bits.get(word * self.stride + usize::from(class >> 6));
        id != 0 && bits.is_some_and(|bits| bits >> (class & 63) & 1 == 1)
    }

    /// Whether a word is one of attacks, in rot13 or backwards.
    pub(super) fn is_reversed(&self, id: u32) -> bool {
        self.is_in(id, self.reversed) || self.is_in(id, self.backwards)
    }

    /// False if no word continues these first letters, by their hash.
    pub(super) fn may_begin(&self, hash: u64) -> bool {
        self.beginnings.contains(&hash)
    }

    /// Letters of the longest word.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }
}

#[derive(Default)]
struct Compiler {
    classes: BTreeMap<String, ClassId>,
    members: Vec<Vec<u64>>,
    /// An estimate of how common the words of each set are: short words are.
    weights: Vec<u64>,
    phrases: Vec<Phrase>,
    orders: Vec<Phrase>,
    beginnings: Beginnings,
    longest: usize,
}

impl Compiler {
    fn compile(mut self) -> Vocabulary {
        let fillers = self.class(FILLERS);
        let talk = TalkSets {
            mentions: self.class("@mention"),
            questions: self.class("@question"),
            reports: self.class("@reports"),
            conditions: self.class("@condition"),
            to: self.class("to"),
            you: self.class("you"),
            negations: self.class("@negation"),
            subjects: self.class("@subject"),
        };
        let reversed = self.class(&ATTACK_WORDS_ROT13.join("|"));
        let backwards = self.class(&ATTACK_WORDS_BACKWARDS.join("|"));
        for row in &ROWS {
            for pattern in row.patterns {
                for variant in variants(pattern) {
                    let phrase = self.phrase(row, &variant);
                    if row.is_order() { &mut self.orders } else { &mut self.phrases }.push(phrase);
                }
            }
        }
        Vocabulary { fillers, talk, reversed, backwards, ..self.finish() }
    }

    fn phrase(&mut self, row: &'static Row, variant: &[String]) -> Phrase {
        let mut phrase = Phrase { row, steps: Vec::new(), not_after: None, not_before: Vec::new() };
        let mut gap = None;
        for item in variant {
            if let Some(count) = item.strip_prefix('~') {
                gap = count.parse().ok();
            } else if let Some(words) = item.strip_prefix('!') {
                let class = self.class(words);
                if phrase.steps.is_empty() {
                    phrase.not_after = Some(class);
                } else {
                    let next = Step { class, gap: 0, any: true, capitals: false, after_comma: false };
                    phrase.not_before.push(vec![next]);
                }
            } else {
                let step = self.step(item, gap.take());
                phrase.not_before.last_mut().unwrap_or(&mut phrase.steps).push(step);
            }
        }
        phrase
    }

    fn step(&mut self, item: &str, gap: Option<usize>) -> Step {
        let (capitals, after_comma) = (item.starts_with('^'), item.trim_start_matches('^').starts_with(':'));
        let words = item.trim_start_matches(['^', ':']);
        let class = if words == "*" { ANY } else { self.class(words) };
        Step { class, gap: gap.unwrap_or(MAX_FILLERS), any: gap.is_some(), capitals, after_comma }
    }

    fn class(&mut self, words: &str) -> ClassId {
        if let Some(id) = self.classes.get(words) {
            return *id;
        }
        let id = ClassId::try_from(self.members.len()).unwrap_or(ClassId::MAX);
        let mut members = Vec::new();
        let mut weight = 0;
        for word in words.split('|').flat_map(named) {
            weight += 1 << 10_usize.saturating_sub(word.len());
            self.longest = self.longest.max(word.len());
            let (hash, beginning) = hash_and_beginning(word);
            self.beginnings.insert(beginning);
            members.push(hash);
            if MISSPELLED.contains(word.as_bytes()) {
                members.extend(misspellings(word).iter().map(|word| hash_word(word)));
            }
        }
        self.classes.insert(words.to_owned(), id);
        self.members.push(members);
        self.weights.push(weight);
        id
    }

    fn finish(self) -> Vocabulary {
        let mut entries: BTreeMap<u64, Vec<ClassId>> = BTreeMap::new();
        for (class, members) in self.members.iter().enumerate() {
            for hash in members {
                entries.entry(*hash).or_default().extend(ClassId::try_from(class));
            }
        }
        let size = (entries.len() * 4).next_power_of_two();
        let mut places = vec![(0_u64, 0_u32); size];
        let stride = self.members.len().div_ceil(64);
        let mut bits = vec![0_u64; stride * (entries.len() + 1)];
        let mut classes = vec![Vec::new()];
        for (hash, sets) in entries {
            let mut at = usize::try_from(hash ^ (hash >> 32)).unwrap_or_default() & (size - 1);
            while places.get(at).is_some_and(|place| place.1 != 0) {
                at = (at + 1) & (size - 1);
            }
            if let (Some(place), Ok(id)) = (places.get_mut(at), u32::try_from(classes.len())) {
                *place = (hash, id);
            }
            for class in &sets {
                if let Some(bits) = bits.get_mut(classes.len() * stride + usize::from(class >> 6)) {
                    *bits |= 1 << (class & 63);
                }
            }
            classes.push(sets);
        }
        let Compiler { phrases, orders, beginnings, longest, weights, .. } = self;
        let (phrases, orders) =
            (Phrases::new(phrases, &classes, &weights), Phrases::new(orders, &classes, &weights));
        Vocabulary { places, bits, stride, beginnings, phrases, orders, longest, ..Vocabulary::default() }
    }
}

/// A word with a letter missing, doubled or swapped with the next one.
fn misspellings(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut all = Vec::new();
    for at in 1..letters.len() {
        let (before, after) = letters.split_at(at);
        let Some((letter, rest)) = after.split_first() else { continue };
        let with = |middle: &[char]| before.iter().chain(middle).collect::<String>();
        all.push(with(rest));
        all.push(with(&[&[*letter], after].concat()));
        if let Some((next, rest)) = rest.split_first() {
            all.push(with(&[&[*next, *letter], rest].concat()));
        }
    }
    all
}

/// The most fillers between two steps.
const MAX_FILLERS: usize = 5;

/// The words of a named set, or the word itself.
fn named(word: &str) -> Vec<&str> {
    // INVARIANT: the build script has checked that all word sets exist.
    match word.strip_prefix('@') {
        Some(name) => WORD_SETS
            .get(name)
            .into_iter()
            .flat_map(|words| words.iter())
            .flat_map(|word| named(word))
            .collect(),
        None => vec![word],
    }
}

/// A pattern with alternatives of several words (`a_b`) becomes one variant with the single words and one for each of these.
fn variants(pattern: &str) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for item in pattern.split_whitespace() {
        let (singles, several): (Vec<&str>, Vec<&str>) =
            item.split('|').partition(|word| !word.contains('_'));
        let mut next = Vec::new();
        for before in &all {
            if !singles.is_empty() {
                next.push(before.iter().cloned().chain([singles.join("|")]).collect());
            }
            for words in &several {
                let mut variant = before.clone();
                for (number, word) in words.split('_').enumerate() {
                    if number > 0 {
                        variant.push("~0".to_owned());
                    }
                    variant.push(word.to_owned());
                }
                next.push(variant);
            }
        }
        all = next;
    }
    all
}
