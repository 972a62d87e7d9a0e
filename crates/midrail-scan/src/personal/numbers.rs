//! Applies to each run of digits the rules that its surroundings allow.

use midrail_core::Hit;

use super::context::Context;
use super::digit_groups::{
    groups, has_check_letter, is_extension, next_group, opens, part_end, tight_end, time_end, word_end,
};
use super::token::{LONGEST, Token};
use super::{addresses, births, coordinates, finance, identities, network, phone};
use crate::bytes::{byte, byte_before, follows_word, is_escape, is_word, run_end};

/// The longest row of groups of digits that may be one number. A longer one is a table of numbers.
pub(super) const LONGEST_ROW: usize = 96;

/// The shortest word of letters and digits that may be a number of a person.
const SHORTEST_WORD: usize = 6;

/// The fewest digits of a date, a coordinate or a network address.
const SHORTEST_PART: usize = 4;

/// The fewest digits of a number of any other kind.
const SHORTEST_NUMBER: usize = 7;

/// The numbers found so far.
pub(super) struct Numbers<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// Up to here the text is a table of numbers.
    table_end: usize,
    /// Numbers, in order.
    pub(super) hits: Vec<Hit>,
    /// Addresses, which may overlap numbers and each other.
    pub(super) addresses: Vec<Hit>,
}

/// A row of groups of digits with single separators between them.
struct Row {
    /// `None` if letters are joined to the first groups.
    end: Option<usize>,
    has_space: bool,
    is_long: bool,
}

impl<'a> Numbers<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        Numbers { text, bytes, table_end: 0, hits: Vec::new(), addresses: Vec::new() }
    }

    /// Examines a run of digits, and returns where to continue.
    pub(super) fn visit(&mut self, start: usize, end: usize) -> usize {
        let (before, after) = (byte_before(self.bytes, start), byte(self.bytes, end));
        let follows = follows_word(self.bytes, start);
        let in_word = is_word(after) || follows;
        // `0x1f`.
        if !follows && after == b'x' && self.bytes.get(start..end) == Some(b"0") {
            return word_end(self.bytes, end);
        }
        if let Some(end) = time_end(self.bytes, start, end) {
            return end;
        }
        if (after == b':' || before == b':' || in_word)
            && let Some((hit, end)) = network::colons(self.bytes, start)
        {
            self.add(hit);
            return end;
        }
        if in_word && (follows || !is_extension(self.bytes, end)) {
            return self.word(start, end);
        }
        self.row(start, end)
    }

    /// A token of letters and digits.
    fn word(&mut self, digits: usize, digits_end: usize) -> usize {
        let bytes = self.bytes;
        let mut start = digits;
        let mut is_name = false;
        while digits - start <= LONGEST {
            let before = byte_before(bytes, start);
            let joins = before == b'-' && start >= 2 && byte(bytes, start - 2).is_ascii_alphanumeric();
            if start > 0 && is_escape(bytes, start - 1) || !(before.is_ascii_alphanumeric() || joins) {
                is_name = before == b'_';
                break;
            }
            start -= 1;
        }
        let end = word_end(bytes, digits_end);
        let text = bytes.get(start..end).unwrap_or_default();
        if is_name || text.contains(&b'_') {
            return end;
        }
        if let Some((hit, end)) = finance::iban(bytes, start) {
            self.add(hit);
            return end;
        }
        // `12a Main Street`, `Musterweg 5b`.
        if text.len() < SHORTEST_WORD {
            if start == digits && end == digits_end + 1 {
                self.short_number(start, end);
            }
            return end;
        }
        // Numbers of people are printed in capitals; lower case means a name, a word or a hash.
        let is_mac = text.len() == 17 && byte(bytes, start + 2) == b'-';
        if !is_mac && text.iter().any(u8::is_ascii_lowercase) {
            return end;
        }
        let Some(token) = Token::new(bytes, start, end) else { return end };
        // `A123456(3)`.
        let is_bracketed = byte(bytes, end) == b'(' && byte(bytes, end + 2) == b')';
        let bracketed = if is_bracketed { Token::new(bytes, start, end + 3) } else { None };
        let hit = network::dashed_mac(&token)
            .or_else(|| bracketed.and_then(|token| identities::find(&token)))
            .or_else(|| identities::find(&token));
        self.add(hit);
        end
    }

    /// A row of digits, perhaps with spaces and brackets between them.
    fn row(&mut self, start: usize, end: usize) -> usize {
        // Most numbers are short and alone, and of no kind but parts of addresses and dates.
        let is_alone = end - start < SHORTEST_PART
            && next_group(self.bytes, end).is_none()
            && !has_check_letter(self.bytes, end)
            && !is_word(byte(self.bytes, end))
            && byte_before(self.bytes, start) != b'+';
        if is_alone {
            if start >= self.table_end {
                self.short_number(start, end);
            }
            return end;
        }
        if start < self.table_end {
            let end = tight_end(self.bytes, start);
            self.part(start, end);
            return end;
        }
        let row = Row::new(self.bytes, start);
        if row.is_long {
            self.table_end = groups(self.bytes, start, usize::MAX).last().map_or(end, |(_, end)| end);
            let end = tight_end(self.bytes, start);
            self.part(start, end);
            return end;
        }
        let Some(row_end) = row.end else { return self.word(start, end) };
        if let Some(hit) = self.lettered(start, row_end).or_else(|| self.letter_inside(start, row_end)) {
            let end = hit.end;
            self.add(Some(hit));
            return end;
        }
        // A short number with spaces is of no kind.
        if row.has_space && row_end - start > SHORTEST_NUMBER {
            let whole = Token::new(self.bytes, start, row_end);
            let hit = whole.and_then(|token| self.number(&token));
            if hit.is_some() {
                self.add(hit);
                return row_end;
            }
        }
        self.parts(start, row_end);
        row_end
    }

    /// A number with a letter between its groups: `65 170839 J 003`.
    fn letter_inside(&self, start: usize, end: usize) -> Option<Hit> {
        const TAIL: usize = 6;
        let tail = self.bytes.get(end..end + TAIL)?;
        let is_tail =
            matches!(tail, [b' ', b'A'..=b'Z', b' ', rest @ ..] if rest.iter().all(u8::is_ascii_digit));
        if end - start != 9 || !is_tail || is_word(byte(self.bytes, end + TAIL)) {
            return None;
        }
        identities::find(&Token::new(self.bytes, start, end + TAIL)?)
    }

    /// A number with letters around it: `AB 12 34 56 C`.
    fn lettered(&self, start: usize, end: usize) -> Option<Hit> {
        if end - start != 8 || byte_before(self.bytes, start) != b' ' || byte(self.bytes, end) != b' ' {
            return None;
        }
        let token = Token::new(self.bytes, start.checked_sub(3)?, end + 2)?;
        if follows_word(self.bytes, token.start) || is_word(byte(self.bytes, token.end)) {
            return None;
        }
        identities::find(&token)
    }

    /// Examines the parts of a row between spaces.
    fn parts(&mut self, start: usize, end: usize) {
        let bytes = self.bytes;
        let (mut at, mut done) = (start, start);
        loop {
            let mut group_end = run_end(bytes, at, |byte| byte.is_ascii_digit());
            let starts_part = at == start || byte_before(bytes, at) == b' ' || opens(bytes, at);
            if at >= done && starts_part {
                let may_be_first = end - at >= finance::SHORTEST_IN_ROW || byte_before(bytes, at) == b'+';
                if let Some(hit) = may_be_first.then(|| first_in_row(bytes, at, end)).flatten() {
                    done = hit.end;
                    self.add(Some(hit));
                } else {
                    group_end = part_end(bytes, at, end);
                    done = group_end;
                    self.part(at, done);
                }
            }
            match next_group(bytes, group_end) {
                Some(next) if next < end => at = next,
                _ => return,
            }
        }
    }

    /// A number without spaces in it.
    fn part(&mut self, start: usize, end: usize) {
        let part = self.bytes.get(start..end).unwrap_or_default();
        if part.len() < 2 * SHORTEST_PART
            && part.iter().filter(|byte| byte.is_ascii_digit()).count() < SHORTEST_PART
        {
            if start >= self.table_end {
                self.short_number(start, end);
            }
            return;
        }
        let Some(token) = Token::new(self.bytes, start, end) else { return };
        let hit = self.number(&token);
        if hit.is_some() {
            self.add(hit);
        } else if matches!(token.shape(), b"99999-999" | b"99999-9999") {
            self.add(addresses::post_code(self.bytes, start, end));
        } else if start >= self.table_end {
            self.short_number(start, end);
        }
    }

    fn number(&self, token: &Token<'_>) -> Option<Hit> {
        let count = token.bare().len();
        if let Some(hit) = network::quad(token) {
            return hit;
        }
        if !(SHORTEST_PART..=19).contains(&count) {
            return None;
        }
        if let Some(hit) = births::numeric(token).or_else(|| coordinates::coordinate(token)) {
            return Some(hit);
        }
        if count < SHORTEST_NUMBER {
            return None;
        }
        if let Some(hit) = finance::card(token) {
            return Some(hit);
        }
        // A number in a path or a name has no words of its own: `/items/1234567`.
        let is_in_name = matches!(byte_before(self.bytes, token.start), b'/' | b'-' | b'#' | b'@');
        if is_in_name && !identities::has_shape(token) {
            return None;
        }
        let context = Context::new(token.bytes, token.start, token.end);
        let id = identities::best(token, &context);
        let phone = phone::find(token, &context);
        match (id, phone) {
            // The nearer word decides.
            (Some((id, rank)), Some((phone, phone_rank))) => {
                Some(if rank <= phone_rank { id } else { phone })
            }
            (Some((hit, _)), None) | (None, Some((hit, _))) => Some(hit),
            (None, None) => None,
        }
    }

    /// Examines a short number: of a house, a year, a town.
    fn short_number(&mut self, start: usize, end: usize) {
        if end - start > 6 {
            return;
        }
        if let Some(hit) = births::in_words(self.bytes, start, end) {
            self.add(Some(hit));
        } else {
            self.addresses.extend(addresses::around(self.text, start, end));
        }
    }

    fn add(&mut self, hit: Option<Hit>) {
        self.hits.extend(hit);
    }
}

impl Row {
    fn new(bytes: &[u8], start: usize) -> Self {
        // The end of the groups before the last space.
        let (mut at, mut parted) = (start, None);
        loop {
            let end = run_end(bytes, at, |byte| byte.is_ascii_digit());
            let has_space = parted.is_some();
            if end - start > LONGEST_ROW {
                return Row { end: None, has_space, is_long: true };
            }
            if is_word(byte(bytes, end)) && !is_extension(bytes, end) || has_check_letter(bytes, end) {
                // The last word has letters: it is not part of the row, nor is what it is joined to.
                return Row { end: parted, has_space, is_long: false };
            }
            let Some(next) = next_group(bytes, end) else {
                return Row { end: Some(end), has_space, is_long: false };
            };
            if bytes.get(end..next).is_some_and(|gap| gap.contains(&b' ')) {
                parted = Some(end);
            }
            at = next;
        }
    }
}

/// The card or international phone number that starts a row of groups.
fn first_in_row(bytes: &[u8], start: usize, end: usize) -> Option<Hit> {
    let ends = groups(bytes, start, end).map(|(_, end)| end);
    finance::card_in_row(bytes, start, ends.clone()).or_else(|| phone::in_row(bytes, start, ends))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outline::Outline;

    /// Pieces of random texts: numbers of people, similar ones, and their surroundings.
    const PIECES: &[&str] = &[
        "1",
        "12",
        "200",
        "1981",
        "8841",
        "123456",
        "9fceb02d0ae598e9",
        "12ms ",
        "3a",
        "9f",
        "0x1f",
        " ",
        " ",
        " ",
        " ",
        " ",
        "-",
        "-",
        ":",
        "/",
        "(",
        ")",
        "+",
        "\n",
        "_",
        "x",
        "x12",
        "-Z",
        "A",
        "ab",
        "Main Street",
        "rue ",
        "Musterweg ",
        "ZIP: ",
        "phone ",
        "address: ",
        "10:11:12",
        "2024-05-01",
        "\\n",
        "=",
        "\"",
        "J",
        "65 170839",
        "AB 12 34 56 C",
        "81.2.69.142",
        "3c:22:fb:7a:01:9e",
        "DE89",
        "4539 1488 0343 6467",
        "P.O. Box ",
        "é",
        "5th",
        "f",
    ];

    /// Hits of random texts are within the text, and a text of numbers is read in one pass.
    #[test]
    fn hits_of_random_texts_are_in_order() {
        let mut random = 1_u64;
        let mut below = |limit: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(random >> 33).unwrap() % limit
        };
        let mut found = 0;
        for _ in 0..20_000 {
            let text: String = (0..below(14)).map(|_| PIECES[below(PIECES.len())]).collect();
            let (mut numbers, mut done) = (Numbers::new(&text), 0);
            Outline::new(text.as_bytes()).each_number(|start, end| {
                assert!(start >= done, "{text}");
                done = numbers.visit(start, end);
                assert!(done > start, "{text}");
                done
            });
            let hits = [numbers.hits, numbers.addresses].concat();
            assert!(hits.iter().all(|hit| hit.start < hit.end && hit.end <= text.len()), "{text}");
            found += hits.len();
        }
        assert!(found > 1_000, "{found} numbers of people are too few for a meaningful test");
    }
}
