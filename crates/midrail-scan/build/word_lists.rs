//! Compiles the lists of a `words.toml` file, each in the form that its lookup needs.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Spanned;

use crate::source::{Source, slice};
use crate::word_sign::{pair_number, word_hash, word_sign};

/// One list of words.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WordList {
    about: String,
    #[serde(default)]
    pub lookup: Lookup,
    #[serde(default)]
    pub words: Vec<Spanned<String>>,
    #[serde(default)]
    pairs: Vec<(String, String)>,
}

/// How the words of a list are looked up.
#[derive(Deserialize, Default, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Lookup {
    /// Whole words, by perfect hash.
    #[default]
    Set,
    /// All words in order, for automata and for prefixes and suffixes.
    List,
    /// Words near a candidate; `word*` is a prefix.
    Nearby,
    /// Texts that are compiled into another table.
    Keywords,
}

impl WordList {
    /// Its words.
    pub fn texts(&self) -> Vec<String> {
        self.words.iter().map(|word| word.get_ref().clone()).collect()
    }
}

/// The lists of a file, by name.
pub type WordLists = BTreeMap<String, WordList>;

/// Rust code for the lists of a file.
pub fn compile(source: &Source) -> String {
    let lists: WordLists = source.parse();
    let mut code = String::new();
    for (name, list) in &lists {
        let mut seen = BTreeSet::new();
        for word in &list.words {
            if !seen.insert(word.get_ref()) {
                source.problem(word.span().start, format!("duplicate word `{}` in `{name}`", word.get_ref()));
            }
        }
        let name = name.to_uppercase();
        let words = list.texts();
        let mut item = |name: &str, kind: &str, value: String| {
            let item = if list.lookup == Lookup::List { "const" } else { "static" };
            code.push_str(&format!("/// {}\npub(super) {item} {name}: {kind} = {value};\n", list.about));
        };
        match list.lookup {
            Lookup::Set => item(&name, "crate::words::Words", byte_set(&words)),
            Lookup::List if list.pairs.is_empty() => item(&name, "&[&str]", slice(&words)),
            Lookup::List => item(&name, "&[(&str, &str)]", format!("&{:?}", list.pairs)),
            Lookup::Nearby => item(&name, "super::word_set::WordSet", word_set(&words)),
            Lookup::Keywords => {}
        }
    }
    code
}

/// A set of words as bytes.
pub fn byte_set(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_ref().as_bytes()).collect();
    let bits = (words.len() * 2).next_power_of_two().trailing_zeros().max(1);
    let (mut slots, mut signs) = (vec![0; 1 << bits], 0_u128);
    for (number, word) in words.iter().enumerate() {
        signs |= 1 << word_sign(word);
        let mut slot = (word_hash(word) >> (u32::BITS - bits)) as usize;
        while slots[slot] != 0 {
            slot = (slot + 1) % slots.len();
        }
        slots[slot] = number + 1;
    }
    format!(
        "crate::words::Words {{ signs: {signs}, words: &{}, slots: &{slots:?}, shift: {} }}",
        byte_strings(&words),
        u32::BITS - bits
    )
}

fn byte_strings(words: &[&[u8]]) -> String {
    let items: Vec<String> = words.iter().map(|word| format!("b\"{}\"", word.escape_ascii())).collect();
    format!("[{}]", items.join(", "))
}

/// The pairs of letters of some words, as a table of bits. A word of one letter has a pair with every letter.
pub fn letter_pairs<'w>(words: impl Iterator<Item = &'w str>, pair: fn(&[u8]) -> [Option<u8>; 2]) -> String {
    let mut rows = [0_u32; 32];
    for word in words {
        match pair(word.as_bytes()) {
            [Some(first), Some(second)] => {
                let (row, bit) = pair_number(first, second);
                rows[row] |= 1 << bit;
            }
            [Some(first), None] => rows.iter_mut().for_each(|row| *row |= 1 << pair_number(first, 0).1),
            [None, Some(second)] => rows[pair_number(0, second).0] = u32::MAX,
            [None, None] => {}
        }
    }
    format!("crate::words::LetterPairs({rows:?})")
}

/// A set of words near a candidate. Words of scripts without spaces are searched for within longer runs.
pub fn word_set(words: &[String]) -> String {
    let (prefixes, others): (Vec<_>, Vec<_>) = words.iter().partition(|word| word.ends_with('*'));
    let is_beyond_ascii = |word: &str| {
        let bytes = word.as_bytes();
        !bytes.first().is_none_or(u8::is_ascii) && !bytes.last().is_none_or(u8::is_ascii)
    };
    let (parts, exact): (Vec<&String>, Vec<&String>) =
        others.into_iter().partition(|word| is_beyond_ascii(word));
    let prefixes: Vec<&str> = prefixes.iter().map(|word| word.trim_end_matches('*')).collect();
    format!(
        "super::word_set::WordSet {{ exact: {}, prefixes: &{prefixes:?}, parts: &{parts:?} }}",
        byte_set(&exact)
    )
}
