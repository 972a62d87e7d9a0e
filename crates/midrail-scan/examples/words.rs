//! Makes the table of everyday words that distinguishes passwords from words: reads text, writes the table.
//!
//! `find … -name '*.md' -o -name '*.rs' -o -name '*.py' | sort | xargs cat | cargo run --example words > words.bin`
//!
//! The words that occur most often in code and its documentation are hashed into a bit table of 64 KB (a Bloom filter
//! with four hashes). Nothing is random: the same text makes the same table.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};

use midrail_scan::secrets::words::{TABLE, bits};

/// How many words are kept.
const KEPT: usize = 16_000;
/// The size of a part of the text. Words are ranked by how many parts contain them.
const PART: usize = 20_000;

fn main() -> std::io::Result<()> {
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let mut counts: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for part in input.chunks(PART) {
        let mut seen = BTreeSet::new();
        for word in part.split(|byte| !byte.is_ascii_alphabetic()) {
            // Capitals separate words: `tokenStream` has two.
            let mut start = 0;
            for place in 1..=word.len() {
                let is_hump = word.get(place).is_none_or(|byte| {
                    byte.is_ascii_uppercase() && word.get(place - 1).is_some_and(u8::is_ascii_lowercase)
                });
                if is_hump {
                    if let Some(word) = word.get(start..place)
                        && (3..=14).contains(&word.len())
                    {
                        seen.insert(word.to_ascii_lowercase());
                    }
                    start = place;
                }
            }
        }
        for word in seen {
            *counts.entry(word).or_default() += 1;
        }
    }
    let mut words: Vec<(usize, Vec<u8>)> = counts.into_iter().map(|(word, count)| (count, word)).collect();
    // Short ones have to be more common: three random letters are a rare word by chance.
    words.retain(|(count, word)| *count >= if word.len() == 3 { 60 } else { 6 });
    words.sort_by(|one, other| other.cmp(one));
    let mut table = vec![0_u8; TABLE];
    for (_, word) in words.iter().take(KEPT) {
        for bit in bits(word) {
            if let Some(byte) = table.get_mut(bit / 8) {
                *byte |= 1 << (bit % 8);
            }
        }
    }
    eprintln!(
        "{} words of {}, least {:?}",
        words.len().min(KEPT),
        words.len(),
        words.get(KEPT.min(words.len()) - 1)
    );
    std::io::stdout().write_all(&table)
}
