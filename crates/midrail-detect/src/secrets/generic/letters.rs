//! How much a run of letters looks like a word, by how common its pairs of letters are in English and in code.

/// What a pair of letters costs: twice its rarity in bits, as a letter from `A`. The rows are the first letter, the
/// columns the second; row and column 0 stand for the edge of a word. Counted over the words of some 40 MB of public
/// source code and its documentation.
const PAIRS: [&[u8; 27]; 27] = [
    b"ZIJHIJJLLJQOJJKKHPIGJKMLPQP",
    b"KQJIJSOKSKTNGJHWJVGIFMNPPMS",
    b"HHMKOHNRRGMSFNPHOWJILHPUTMT",
    b"HGPKOGOTHKWIJNPFNRKMGKPSTOX",
    b"DJPOLFOPQGQTLQPKPUKKPKONQPZ",
    b"FJPIGLMNSOVRKKHPLOGGJQMPKQW",
    b"HIPMLHGNTFXSINPGPUJJLJURTMX",
    b"DJSPRFRMJIXUKOJKQRIJOKRRUQV",
    b"GFOMLFQRSHUTMKNGNUJMKLQPWMT",
    b"LKLIJKKJUTWPJJEHLULIHUKZOZK",
    b"HGQLQEOQQJQKQONFQQQJLGQQQQQ",
    b"EIQMLEOOPGTUMPLMPSNHLMPPUOS",
    b"GHPPKFOQTFVQHQRHLXRLKLOTUIZ",
    b"HFKONERQTGYQOKQIGUQINJRSTQY",
    b"GISIHHLGQJTNNQNKPUQHGMMRWPS",
    b"JOMIKQMMTMRMJIEKJZGJJIKJPRV",
    b"HGPMOGPOKIYPHQPHJVGJIKPPROY",
    b"GPNNNLPMRNRRJRMMNPLLNCRNRRO",
    b"FHPLLEONTHWNNKMHNVKIJLNQULV",
    b"DLQKQGQOKHXONOPKKQPJGJQPTMO",
    b"FHRMPFPRJFZUMOQJNVHJKLRRPKT",
    b"MJJJMJKMWJWSHIFNIUHHGQVTOWR",
    b"HFRMPCOPSFUVNMQKNTPMPTVVPTP",
    b"GFPMKHOQIGSQLQHHNUHINRUORQP",
    b"EIMIMHKUMIUUNNPNGQQNGOOOPMR",
    b"CNNMPLPQRKVVLLJLHVNILRPOQSP",
    b"GIQMLCLSPISPPOMKMQPLQMNQSNJ",
];

/// What a pair of letters costs.
#[expect(
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "called when the program is compiled, and the places are below 27"
)]
pub(crate) const fn pair_cost(pair: [u8; 2]) -> u32 {
    let [first, second] = pair;
    (PAIRS[place(first)][place(second)] - b'A') as u32
}

/// The row and column of a letter.
#[expect(clippy::as_conversions, reason = "no other conversion is possible in a constant")]
const fn place(letter: u8) -> usize {
    let place = letter.to_ascii_lowercase().saturating_sub(b'a' - 1);
    if place < 26 { place as usize } else { 26 }
}

/// The mean cost of the pairs of a word, in tenths. Words lie below 90, random letters above 110.
pub(crate) fn strangeness(word: &[u8]) -> u32 {
    let mut cost = 0;
    let mut pairs = 0;
    let mut last = 0;
    for here in word.iter().map(|byte| place(*byte)).chain([0]) {
        let letter = PAIRS.get(last).and_then(|row| row.get(here)).copied().unwrap_or(b'Z');
        cost += u32::from(letter - b'A') * 10;
        pairs += 1;
        last = here;
    }
    cost / pairs
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
