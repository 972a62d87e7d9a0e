//! Compiles all phrases into flat tables of numbers: every known word, the sets it belongs to, and the phrases it begins.
//! The program maps them and builds nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io;

use serde::Deserialize;

use self::hashing::{each_letter, hash_and_beginning, hash_word};
use crate::choices::Counts;
use crate::injection_gate::{self, Gate};
use crate::source::{Source, write};
use crate::word_lists::WordLists;

#[path = "../src/injection/confusables.rs"]
mod confusables;
#[path = "../src/injection/hashing.rs"]
mod hashing;

/// Look-alikes, as the crate has them.
mod data {
    use std::collections::BTreeMap;
    use std::sync::LazyLock;

    use crate::source::Source;

    pub(super) static LOOK_ALIKES: LazyLock<BTreeMap<char, char>> = LazyLock::new(|| letters("look_alikes"));
    pub(super) static CAPITALS: LazyLock<BTreeMap<char, char>> = LazyLock::new(|| letters("capitals"));

    fn letters(table: &str) -> BTreeMap<char, char> {
        let source = Source::read("data/injection/look_alikes.toml");
        let tables = source.map(|source| source.parse::<BTreeMap<String, BTreeMap<char, String>>>());
        let letters = tables.unwrap_or_default().remove(table).unwrap_or_default();
        letters.iter().flat_map(|(letter, alike)| alike.chars().map(|other| (other, *letter))).collect()
    }
}

/// The number of a set of words; the last one is the set of all words.
pub type ClassId = u16;
pub const ANY: ClassId = ClassId::MAX;
/// No set.
const NONE: ClassId = ANY - 1;

/// The most fillers between two steps.
const MAX_FILLERS: usize = 5;

/// The patterns of one row, and where they count.
pub struct Row {
    pub counts: Counts,
    pub patterns: Vec<String>,
}

#[derive(Clone, Copy)]
pub struct Step {
    pub class: ClassId,
    pub gap: usize,
    is_any: bool,
    is_capitals: bool,
    is_after_comma: bool,
}

pub struct Phrase {
    row: usize,
    pub steps: Vec<Step>,
    not_after: ClassId,
    not_before: Vec<Vec<Step>>,
}

/// The number of a phrase, and its anchor: a number, and how many words ahead it may be.
type Start = (usize, Option<(usize, usize)>);

/// Words that everyday texts contain most, by how many of a million words they are.
#[derive(Deserialize, Default)]
struct EverydayWords {
    words: Vec<EquallyCommon>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EquallyCommon {
    per_million: u64,
    texts: Vec<String>,
}

/// How common a word is that is none of the everyday words, per million.
const RARE_WORD: u64 = 10;

/// How common words are, per million.
fn everyday_words() -> io::Result<BTreeMap<String, u64>> {
    let words: EverydayWords = Source::read("data/injection/everyday_words.toml")?.parse();
    let each = words.words.into_iter();
    Ok(each.flat_map(|equal| equal.texts.into_iter().map(move |word| (word, equal.per_million))).collect())
}

/// Writes the tables of some rows.
pub fn compile(rows: &[Row], sets: &BTreeMap<String, Vec<String>>) -> io::Result<()> {
    let lists: WordLists = Source::read("data/injection/words.toml")?.parse();
    let words = |name: &str| lists.get(name).map(|list| list.texts()).unwrap_or_default();
    let misspelled = words("misspelled").into_iter().collect();
    let attacks = words("attack_words");
    let rot13: Vec<String> = attacks.iter().map(|word| word.chars().map(rot13).collect()).collect();
    let backwards: Vec<String> = attacks.iter().map(|word| word.chars().rev().collect()).collect();
    let mut compiler = Compiler { sets, misspelled, frequency: everyday_words()?, ..Compiler::new(sets) };
    let mut code = String::new();
    let named = [
        ("FILLERS", "@filler"),
        ("MENTIONS", "@mention"),
        ("QUESTIONS", "@question"),
        ("REPORTS", "@reports"),
        ("CONDITIONS", "@condition"),
        ("TO", "to"),
        ("YOU", "you"),
        ("NEGATIONS", "@negation"),
        ("SUBJECTS", "@subject"),
        ("COURTESIES", "@courtesy"),
        ("WE", "@we"),
        ("VISITORS", "@visitor"),
        ("OCCASIONS", "@occasion"),
        ("REVERSED", &rot13.join("|")),
        ("BACKWARDS", &backwards.join("|")),
        ("DISGUISED", &[&rot13[..], &backwards].concat().join("|")),
    ];
    for (name, words) in named {
        let class = compiler.class(words);
        writeln!(code, "pub(super) const {name}: ClassId = {class};").map_err(io::Error::other)?;
    }
    let (mut phrases, mut orders, mut data_orders) = (Vec::new(), Vec::new(), Vec::new());
    for (number, row) in rows.iter().enumerate() {
        let list = match row.counts {
            Counts::Order | Counts::Request => &mut orders,
            Counts::Data | Counts::Hint => &mut data_orders,
            _ => &mut phrases,
        };
        for variant in row.patterns.iter().flat_map(|pattern| variants(pattern)) {
            list.push(compiler.phrase(number, &variant));
        }
    }
    let disguised = [rot13.join("|"), backwards.join("|")].map(|words| compiler.class(&words));
    let mut gate = Gate::new(&compiler.weights);
    phrases.iter().for_each(|phrase| gate.add_phrase(&phrase.steps));
    disguised.iter().for_each(|class| gate.add_class(*class));
    code.push_str(&gate.tables());
    let gate_classes = gate.classes();
    let lists = [("PHRASES", phrases), ("ORDERS", orders), ("DATA_ORDERS", data_orders)];
    code.push_str(&compiler.finish(&lists, &gate_classes));
    write("injection_vocabulary.rs", code)
}

struct Compiler<'s> {
    sets: &'s BTreeMap<String, Vec<String>>,
    misspelled: BTreeSet<String>,
    classes: BTreeMap<String, ClassId>,
    members: Vec<Vec<u64>>,
    /// How common words are, per million.
    frequency: BTreeMap<String, u64>,
    /// How common the words of each set are together.
    weights: Vec<u64>,
    /// The folded letters of the words of each set.
    texts: Vec<Vec<String>>,
    beginnings: BTreeSet<u64>,
    longest: usize,
}

impl<'s> Compiler<'s> {
    fn new(sets: &'s BTreeMap<String, Vec<String>>) -> Self {
        Compiler {
            sets,
            misspelled: BTreeSet::new(),
            classes: BTreeMap::new(),
            members: Vec::new(),
            frequency: BTreeMap::new(),
            weights: Vec::new(),
            texts: Vec::new(),
            beginnings: BTreeSet::new(),
            longest: 0,
        }
    }

    fn phrase(&mut self, row: usize, variant: &[String]) -> Phrase {
        let mut phrase = Phrase { row, steps: Vec::new(), not_after: NONE, not_before: Vec::new() };
        let mut gap = None;
        for item in variant {
            if let Some(count) = item.strip_prefix('~') {
                gap = count.parse().ok();
            } else if let Some(words) = item.strip_prefix('!') {
                let class = self.class(words);
                if phrase.steps.is_empty() {
                    phrase.not_after = class;
                } else {
                    let next =
                        Step { class, gap: 0, is_any: true, is_capitals: false, is_after_comma: false };
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
        let (is_capitals, is_after_comma) =
            (item.starts_with('^'), item.trim_start_matches('^').starts_with(':'));
        let words = item.trim_start_matches(['^', ':']);
        let class = if words == "*" { ANY } else { self.class(words) };
        Step { class, gap: gap.unwrap_or(MAX_FILLERS), is_any: gap.is_some(), is_capitals, is_after_comma }
    }

    fn class(&mut self, words: &str) -> ClassId {
        if let Some(id) = self.classes.get(words) {
            return *id;
        }
        let id = self.members.len() as ClassId;
        let (mut members, mut texts) = (Vec::new(), Vec::new());
        let mut weight = 0;
        for word in words.split('|').flat_map(|word| named(word, self.sets)) {
            weight += self.frequency.get(word).copied().unwrap_or(RARE_WORD);
            texts.push(letters(word));
            self.longest = self.longest.max(word.len());
            let (hash, beginning) = hash_and_beginning(word);
            self.beginnings.insert(beginning);
            members.push(hash);
            if self.misspelled.contains(word) {
                let wrong = misspellings(word);
                members.extend(wrong.iter().map(|word| hash_word(word)));
                texts.extend(wrong);
            }
        }
        self.classes.insert(words.to_owned(), id);
        self.members.push(members);
        self.texts.push(texts);
        self.weights.push(weight);
        id
    }

    fn finish(self, lists: &[(&str, Vec<Phrase>)], gate_classes: &[ClassId]) -> String {
        let mut words: BTreeMap<u64, Vec<ClassId>> = BTreeMap::new();
        for (class, members) in self.members.iter().enumerate() {
            for hash in members {
                words.entry(*hash).or_default().push(class as ClassId);
            }
        }
        // Words that belong to the same sets have one number: nothing else is asked about them.
        let mut numbers: BTreeMap<Vec<ClassId>, usize> = BTreeMap::from([(Vec::new(), 0)]);
        for sets in words.values_mut() {
            sets.dedup();
            let next = numbers.len();
            numbers.entry(sets.clone()).or_insert(next);
        }
        let mut by_number = vec![Vec::new(); numbers.len()];
        for (sets, number) in &numbers {
            by_number[*number] = sets.clone();
        }
        let stride = self.members.len().div_ceil(64);
        let mut bits = vec![0_u64; stride * by_number.len()];
        for (number, sets) in by_number.iter().enumerate() {
            for class in sets {
                bits[number * stride + usize::from(class >> 6)] |= 1 << (class & 63);
            }
        }
        let places: BTreeMap<u64, usize> = words.iter().map(|(hash, sets)| (*hash, numbers[sets])).collect();
        let (hashes, ids) = hash_table(&places);
        let beginnings = self.beginnings.iter().map(|hash| (*hash, 1)).collect();
        let mut code = String::new();
        table(&mut code, "HASHES", "u64", &hashes);
        table(&mut code, "IDS", "u16", &ids);
        table(&mut code, "BITS", "u64", &bits);
        table(&mut code, "BEGINNINGS", "u64", &hash_table(&beginnings).0);
        code.push_str(&format!(
            "const STRIDE: usize = {stride};\nconst LONGEST: usize = {};\n",
            self.longest
        ));
        for (name, phrases) in lists {
            code.push_str(&self.phrases(name, phrases, &by_number));
        }
        code.push_str(&injection_gate::word_anchors(gate_classes, &by_number));
        let gate_words = gate_classes.iter().flat_map(|class| &self.texts[usize::from(*class)]);
        let numbered = gate_words.map(|word| (word.as_str(), places[&hash_word(word)]));
        code.push_str(&injection_gate::word_table(numbered));
        code
    }

    /// The tables of some phrases.
    fn phrases(&self, name: &str, phrases: &[Phrase], by_number: &[Vec<ClassId>]) -> String {
        let mut anchors: BTreeMap<ClassId, usize> = BTreeMap::new();
        let mut begun: BTreeMap<ClassId, Vec<Start>> = BTreeMap::new();
        let (mut all, mut steps, mut lists) = (Vec::new(), Vec::new(), Vec::new());
        for (number, phrase) in phrases.iter().enumerate() {
            if let Some(first) = phrase.steps.first() {
                let anchor = rarest_step(&phrase.steps, &self.weights).map(|(class, reach)| {
                    let next = anchors.len();
                    (*anchors.entry(class).or_insert(next), reach)
                });
                begun.entry(first.class).or_default().push((number, anchor));
            }
            let own = span(&mut steps, phrase.steps.iter().copied());
            let not_before: Vec<String> =
                phrase.not_before.iter().map(|list| span(&mut steps, list.iter().copied())).collect();
            let not_before = span(&mut lists, not_before.into_iter());
            all.push(format!(
                "Phrase {{ row: {}, steps: {own}, not_after: {}, not_before: {not_before} }}",
                phrase.row, phrase.not_after
            ));
        }
        let steps: Vec<String> = steps
            .iter()
            .map(|step: &Step| {
                let Step { class, gap, is_any, is_capitals, is_after_comma } = step;
                format!(
                    "Step {{ class: {class}, gap: {gap}, any: {is_any}, capitals: {is_capitals}, \
                     after_comma: {is_after_comma} }}"
                )
            })
            .collect();
        let (mut starts, mut begins, mut anchored, mut word_anchors) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for sets in by_number {
            let mut own: Vec<_> = sets.iter().filter_map(|class| begun.get(class)).flatten().collect();
            own.sort_by_key(|(number, _)| *number);
            begins.push(span(
                &mut starts,
                own.into_iter().map(|(number, anchor)| {
                    let (anchor, reach) = anchor.map_or((u16::MAX.into(), 0), |it| it);
                    format!("PhraseStart {{ number: {number}, anchor: {anchor}, reach: {reach} }}")
                }),
            ));
            let own = sets.iter().filter_map(|class| anchors.get(class)).map(usize::to_string);
            word_anchors.push(span(&mut anchored, own));
        }
        let list = |items: &[String]| format!("&[{}]", items.join(", "));
        format!(
            "pub(super) static {name}: Phrases = Phrases {{ all: {}, steps: {}, not_before: {}, begins: {}, starts: {}, \
             word_anchors: {}, anchors: {}, anchor_count: {} }};\n",
            list(&all),
            list(&steps),
            list(&lists),
            list(&begins),
            list(&starts),
            list(&word_anchors),
            list(&anchored),
            anchors.len()
        )
    }
}

/// The folded letters of a word.
fn letters(word: &str) -> String {
    let mut letters = String::new();
    each_letter(word, |letter| letters.push(letter));
    letters
}

/// Adds items to a list, and returns their place as Rust code.
pub fn span<T>(list: &mut Vec<T>, items: impl Iterator<Item = T>) -> String {
    let start = list.len();
    list.extend(items);
    format!("Span {{ start: {start}, len: {} }}", list.len() - start)
}

/// An open-addressing hash table: hashes and their numbers; number 0 is an empty place.
fn hash_table(entries: &BTreeMap<u64, usize>) -> (Vec<u64>, Vec<u64>) {
    let size = (entries.len() * 2).next_power_of_two();
    let (mut hashes, mut numbers) = (vec![0; size], vec![0; size]);
    for (hash, number) in entries {
        let mut at = (hash ^ (hash >> 32)) as usize & (size - 1);
        while numbers[at] != 0 {
            at = (at + 1) & (size - 1);
        }
        (hashes[at], numbers[at]) = (*hash, *number as u64);
    }
    (hashes, numbers)
}

fn table(code: &mut String, name: &str, kind: &str, numbers: &[u64]) {
    let list: Vec<String> = numbers.iter().map(u64::to_string).collect();
    code.push_str(&format!("static {name}: [{kind}; {}] = [{}];\n", numbers.len(), list.join(",")));
}

/// The rarest set among the steps behind the first one, and how many words ahead it may be.
fn rarest_step(steps: &[Step], weights: &[u64]) -> Option<(ClassId, usize)> {
    let mut reach = 0;
    let behind = steps.iter().skip(1).map(|step| {
        reach += step.gap + 1;
        (step.class, reach)
    });
    let known = behind.filter(|(class, _)| *class != ANY);
    known.min_by_key(|(class, _)| weights.get(usize::from(*class)).copied().unwrap_or(u64::MAX))
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

/// The words of a named set, or the word itself.
fn named<'s>(word: &'s str, sets: &'s BTreeMap<String, Vec<String>>) -> Vec<&'s str> {
    match word.strip_prefix('@') {
        Some(name) => sets.get(name).into_iter().flatten().flat_map(|word| named(word, sets)).collect(),
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

fn rot13(letter: char) -> char {
    match letter {
        'a'..='m' => char::from(letter as u8 + 13),
        'n'..='z' => char::from(letter as u8 - 13),
        other => other,
    }
}
