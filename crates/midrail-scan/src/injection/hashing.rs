//! Hashes of words, folded as texts are.

use super::confusables::{Fold, fold};

/// The hash of no letters.
pub(super) const FIRST_HASH: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash after one more letter.
pub(super) fn step(hash: u64, c: char) -> u64 {
    (hash ^ u64::from(c)).wrapping_mul(0x0000_0100_0000_01b3)
}

/// The hash of a word in the tables: folded as texts are.
pub(super) fn hash_word(word: &str) -> u64 {
    hash_and_beginning(word).0
}

/// How many letters a beginning has.
pub(super) const BEGINNING: usize = 3;

/// The hash of a word, and that of its first letters, or of all if there are fewer.
pub(super) fn hash_and_beginning(word: &str) -> (u64, u64) {
    let (mut hash, mut beginning, mut letters) = (FIRST_HASH, FIRST_HASH, 0);
    each_letter(word, |letter| {
        hash = step(hash, letter);
        letters += 1;
        if letters <= BEGINNING {
            beginning = hash;
        }
    });
    (hash, beginning)
}

/// Visits the letters of a word, folded as texts are.
pub(super) fn each_letter(word: &str, mut visit: impl FnMut(char)) {
    let mut more = Vec::new();
    for c in word.chars() {
        if c.is_ascii_alphanumeric() {
            visit(c.to_ascii_lowercase());
        } else if !c.is_ascii()
            && let Fold::Letter(letter) | Fold::Ideograph(letter) = fold(c, &mut more)
        {
            visit(letter);
        }
        more.drain(..).for_each(&mut visit);
    }
}
