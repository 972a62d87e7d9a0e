//! How common pairs of letters are in English and in code: how much a run of letters looks like a word.

/// What a pair of letters costs: twice its rarity in bits, as a letter from `A`. The lines are the first letter, the
/// columns the second; line and column 0 are the edge of a word. Counted over the words of some 40 MB of public
/// source code and its documentation.
static PAIRS: &[u8; 27 * LINE] = include_bytes!("../../data/secrets/letter_pairs.txt");

/// The length of a line with its end.
const LINE: usize = 28;

/// What a pair of letters costs, by row and column.
pub(crate) fn cost(row: usize, column: usize) -> u32 {
    let letter = PAIRS.get(row * LINE + column).copied().unwrap_or(b'Z');
    u32::from(letter - b'A')
}

/// The row and column of a letter.
pub(crate) fn place(letter: u8) -> usize {
    usize::from(letter.to_ascii_lowercase().saturating_sub(b'a' - 1).min(26))
}

/// The mean cost of the pairs of a word, in tenths. Words are below 90, random letters above 110.
pub(crate) fn strangeness(word: &[u8]) -> u32 {
    let mut total = 0;
    let mut pairs = 0;
    let mut last = 0;
    for here in word.iter().map(|byte| place(*byte)).chain([0]) {
        total += cost(last, here) * 10;
        pairs += 1;
        last = here;
    }
    total / pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_less_strange_than_random_letters() {
        for word in ["password", "administrator", "hunter", "tablespace", "localhost"] {
            assert!(strangeness(word.as_bytes()) < 90, "{word}");
        }
        for random in ["xqdkwz", "bqlwgfh", "gzwvbnpqjxsagip", "zkwfijqcvje"] {
            assert!(strangeness(random.as_bytes()) > 110, "{random}");
        }
    }
}
