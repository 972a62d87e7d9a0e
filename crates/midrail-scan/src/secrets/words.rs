//! Everyday words of code and prose, as a bit table made by `examples/words.rs`.

/// The size of the table in bytes. It is large, so that random letters are rarely mistaken for a
/// word: a run of fifteen letters needs some hundred lookups.
pub const TABLE: usize = 64 * 1024;

static WORDS: &[u8; TABLE] = include_bytes!("words.bin");

/// The bits of a word in the table. The word is in lower case.
pub fn bits(word: &[u8]) -> [usize; 4] {
    // FNV-1a, then two halves that are combined.
    let hash = word.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    let hash = (hash ^ (hash >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let (low, high) = (hash & 0xFFFF_FFFF, (hash >> 32) | 1);
    [0, 1, 2, 3].map(|turn: u64| {
        usize::try_from(low.wrapping_add(high.wrapping_mul(turn)) % (8 * 64 * 1024)).unwrap_or(0)
    })
}

/// Whether letters, in lower case, are an everyday word.
pub(super) fn is_word(word: &[u8]) -> bool {
    bits(word).iter().all(|bit| WORDS.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1))
}

/// The longest run of letters that is split into words.
const MAX_RUN: usize = 48;

/// The most letters of a run that everyday words cover.
pub(super) fn covered(letters: &[u8]) -> usize {
    let letters: Vec<u8> = letters.iter().take(MAX_RUN).map(u8::to_ascii_lowercase).collect();
    // In a long run, three letters form a word by chance.
    let shortest = if letters.len() > 6 { 4 } else { 3 };
    // The best for each beginning of the run.
    let mut best = vec![0_usize; letters.len() + 1];
    for end in 1..=letters.len() {
        let mut most = best.get(end - 1).copied().unwrap_or(0);
        for length in shortest..=end.min(14) {
            let start = end - length;
            if letters.get(start..end).is_some_and(is_word) {
                most = most.max(best.get(start).copied().unwrap_or(0) + length);
            }
        }
        if let Some(place) = best.get_mut(end) {
            *place = most;
        }
    }
    best.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_and_random_letters_are_unknown() {
        for word in ["password", "enter", "required", "default", "string", "connection"] {
            assert_eq!(covered(word.as_bytes()), word.len(), "{word}");
        }
        for random in ["xqdkwzv", "bqlwgfh", "gzwvbnpqjx"] {
            assert!(covered(random.as_bytes()) * 2 < random.len(), "{random}");
        }
    }
}
