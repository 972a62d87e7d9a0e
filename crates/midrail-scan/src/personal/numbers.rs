//! Applies to each run of digits the rules that its surroundings allow.

use midrail_core::Hit;

use super::context::Context;
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
    #[inline]
    pub(super) fn visit(&mut self, start: usize, end: usize) -> usize {
        let (before, after) = (byte_before(self.bytes, start), byte(self.bytes, end));
        let follows = is_word(before) && follows_word(self.bytes, start);
        // `12ms`, `64px`: no number of a person has lower case, and no network address has these letters.
        if !follows && matches!(after, b'g'..=b'z') && byte(self.bytes, end + 1).is_ascii_lowercase() {
            return run_end(self.bytes, end, is_word);
        }
        // `9fceb02d0ae5`: no number has lower case in so long a word. A network address has groups of four, with dashes
        // or colons between them.
        if !follows
            && matches!(after, b'a'..=b'f')
            && !matches!(before, b'-' | b':')
            && let Some(end) = plain_word_end(self.bytes, start, end)
        {
            return end;
        }
        // `v1`, `page22`: no number has these letters before its digits, except bank accounts, which start with two letters.
        if follows
            && matches!(before, b'g'..=b'z')
            && (end - start < 2 || follows_word(self.bytes, start.saturating_sub(2)))
        {
            return word_end(self.bytes, end);
        }
        // Every line of a log starts with a time.
        if !follows
            && (end - start == 2 && after == b':'
                || end - start == 4 && next_group(self.bytes, end).is_some())
            && let Some(end) = time_end(self.bytes, start, end)
        {
            return end;
        }
        // Most numbers in code and logs are short and separate.
        let is_alone = !follows && !is_word(after) && after != b':' && !matches!(before, b'+' | b'(');
        if end - start <= 6 && is_alone && !(before == b':' && may_be_colons(self.bytes, start - 1)) {
            if !may_join(after) && !matches!(before, b' ' | b'"' | b':') {
                return end;
            }
            if next_group(self.bytes, end).is_none() && !has_check_letter(self.bytes, end) {
                if addresses::may_start(before) {
                    self.short_number(start, end);
                }
                return end;
            }
            if start >= self.table_end
                && let Some(row_end) = short_row_end(self.bytes, start, end)
            {
                for (start, end) in groups(self.bytes, start, row_end) {
                    if addresses::may_start(byte_before(self.bytes, start)) {
                        self.short_number(start, end);
                    }
                }
                return row_end;
            }
        }
        if after == b'.'
            && is_alone
            && before != b':'
            && let Some(end) = short_fraction(self.bytes, start, end)
        {
            if start >= self.table_end {
                self.short_number(start, end);
            }
            return end;
        }
        self.number_or_word(start, end, follows)
    }

    /// Examines a run of digits that continues in other groups, or is part of a word. Separate from the common cases.
    #[inline(never)]
    fn number_or_word(&mut self, start: usize, end: usize, follows: bool) -> usize {
        let (before, after) = (byte_before(self.bytes, start), byte(self.bytes, end));
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

/// The end of the word at a place, with what dashes and full stops join to it.
fn word_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    loop {
        end = run_end(bytes, end, is_word);
        let (joint, next) = (byte(bytes, end), byte(bytes, end + 1));
        let is_joint = match joint {
            b'-' | b'.' => true,
            b'/' | b'+' => byte_before(bytes, end).is_ascii_digit() && next.is_ascii_digit(),
            _ => false,
        };
        if !is_joint || !next.is_ascii_alphanumeric() {
            return end;
        }
        end += 1;
    }
}

/// The card or international phone number that starts a row of groups.
fn first_in_row(bytes: &[u8], start: usize, end: usize) -> Option<Hit> {
    let ends = groups(bytes, start, end).map(|(_, end)| end);
    finance::card_in_row(bytes, start, ends.clone()).or_else(|| phone::in_row(bytes, start, ends))
}

/// The groups of digits from a place on: start and end of each.
fn groups(bytes: &[u8], start: usize, end: usize) -> impl Iterator<Item = (usize, usize)> + Clone + '_ {
    let group = |at: usize| (at, run_end(bytes, at, |byte| byte.is_ascii_digit()));
    std::iter::successors(Some(group(start)), move |(_, group_end)| next_group(bytes, *group_end).map(group))
        .take_while(move |(_, group_end)| *group_end <= end)
}

/// The end of a time stamp: `2024-05-01T10:11:12`, `2024-05-01 10:11:12`, `10:11:12`. Every line of a log has one.
fn time_end(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let time = match (end - start, byte(bytes, end)) {
        (4, b'-' | b'/') if matches!(byte(bytes, end + 6), b'T' | b' ') => start + 11,
        (2, b':') => start,
        _ => return None,
    };
    if !is_time_of_day(*bytes.get(time..)?.first_chunk()?) {
        return None;
    }
    // Six pairs are a network address.
    let end = time + 8;
    let next = byte(bytes, end);
    if next == b':' || next.is_ascii_alphanumeric() && next != b'Z' {
        return None;
    }
    let has_fraction = matches!(next, b'.' | b',') && byte(bytes, end + 1).is_ascii_digit();
    let end = if has_fraction { run_end(bytes, end + 1, |byte| byte.is_ascii_digit()) } else { end };
    Some(end + usize::from(byte(bytes, end) == b'Z'))
}

/// The end of a row of groups with single spaces between them that has too few digits for a number: `2 200 12ms`. `None` if
/// it has enough.
fn short_row_end(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let (mut group, mut group_end) = (start, end);
    loop {
        if group_end - group >= SHORTEST_PART || group_end - start > SHORTEST_NUMBER {
            return None;
        }
        match next_group(bytes, group_end) {
            None => {
                let goes_on = byte(bytes, group_end) == b':' || has_check_letter(bytes, group_end);
                return (!goes_on).then_some(group_end);
            }
            Some(next) if next == group_end + 1 && byte(bytes, group_end) == b' ' => {
                let next_end = run_end(bytes, next, |byte| byte.is_ascii_digit());
                if is_extension(bytes, next_end) {
                    return None;
                }
                // The word with letters is not part of the row.
                if is_word(byte(bytes, next_end)) || has_check_letter(bytes, next_end) {
                    return Some(group_end);
                }
                (group, group_end) = (next, next_end);
            }
            Some(_) => return None,
        }
    }
}

/// Whether eight bytes have the form `10:11:12`, checked all at once.
fn is_time_of_day(bytes: [u8; 8]) -> bool {
    // A digit becomes its value, and a colon becomes zero.
    let left = u64::from_le_bytes(bytes) ^ u64::from_le_bytes(*b"00:00:00");
    // A value above nine overflows half a byte.
    let grown = left.wrapping_add(u64::from_le_bytes([6, 6, 0, 6, 6, 0, 6, 6]));
    (left | grown) & u64::from_le_bytes([0xf0, 0xf0, 0xff, 0xf0, 0xf0, 0xff, 0xf0, 0xf0]) == 0
}

/// The end of a word that begins with digits, if it is too long for a network address and nothing is joined to it.
fn plain_word_end(bytes: &[u8], start: usize, digits_end: usize) -> Option<usize> {
    let end = run_end(bytes, digits_end, is_word);
    (end - start >= SHORTEST_WORD && !matches!(byte(bytes, end), b'-' | b'.' | b'/' | b'+')).then_some(end)
}

/// The end of a fraction with too few digits for a number of a person: `0.25 ms`, `3.5 percent`. `None` if it may continue
/// as one.
fn short_fraction(bytes: &[u8], start: usize, point: usize) -> Option<usize> {
    let end = run_end(bytes, point + 1, |byte| byte.is_ascii_digit());
    let is_short = end > point + 1 && end - start <= SHORTEST_PART;
    let ends = is_short && !is_word(byte(bytes, end)) && next_group(bytes, end).is_none();
    (ends && !has_check_letter(bytes, end)).then_some(end)
}

/// Whether the colon at a place may be part of a network address: `fe80:12`, `::12`.
fn may_be_colons(bytes: &[u8], colon: usize) -> bool {
    let before = byte_before(bytes, colon);
    before.is_ascii_hexdigit() || before == b':'
}

/// Whether a number may continue after a byte.
fn may_join(byte: u8) -> bool {
    matches!(byte, b'-' | b'.' | b'/' | b' ' | b'(' | b')' | b':' | b'+')
}

/// Where the next group of digits starts, if a separator of numbers is before it.
fn next_group(bytes: &[u8], end: usize) -> Option<usize> {
    let first = byte(bytes, end);
    if !matches!(first, b'-' | b'.' | b'/' | b' ' | b'(' | b')') {
        return None;
    }
    let second = byte(bytes, end + 1);
    if second.is_ascii_digit() {
        return Some(end + 1);
    }
    let is_pair = matches!((first, second), (b')', b' ' | b'-') | (b' ', b'('));
    (is_pair && byte(bytes, end + 2).is_ascii_digit()).then_some(end + 2)
}

fn opens(bytes: &[u8], start: usize) -> bool {
    byte_before(bytes, start) == b'(' && start >= 2 && byte(bytes, start - 2) == b' '
}

/// Whether a number ends here although a letter follows: `555-123-4567x12`.
fn is_extension(bytes: &[u8], end: usize) -> bool {
    byte(bytes, end) == b'x'
        && byte(bytes, end + 1).is_ascii_digit()
        && end >= 2
        && byte(bytes, end - 2).is_ascii_digit()
}

/// Whether a single letter follows, as in `12345678-Z`.
fn has_check_letter(bytes: &[u8], end: usize) -> bool {
    byte(bytes, end) == b'-' && byte(bytes, end + 1).is_ascii_uppercase() && !is_word(byte(bytes, end + 2))
}

/// The end of the part without spaces that starts at a group.
fn part_end(bytes: &[u8], start: usize, end: usize) -> usize {
    let mut last = start;
    for (group, group_end) in groups(bytes, start, end) {
        if group > start && bytes.get(last..group).is_some_and(|gap| gap.contains(&b' ')) {
            break;
        }
        last = group_end;
    }
    last
}

/// The end of the digits and separators without spaces that start at a place.
fn tight_end(bytes: &[u8], start: usize) -> usize {
    let mut end = run_end(bytes, start, |byte| byte.is_ascii_digit());
    while matches!(byte(bytes, end), b'-' | b'.' | b'/') && byte(bytes, end + 1).is_ascii_digit() {
        end = run_end(bytes, end + 1, |byte| byte.is_ascii_digit());
    }
    end
}

#[cfg(test)]
mod tests {
    use super::super::digit_runs::each_digit_run;
    use super::*;

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

    fn hits(text: &str, look: impl Fn(&mut Numbers<'_>, usize, usize) -> usize) -> (Vec<Hit>, Vec<Hit>) {
        let mut numbers = Numbers::new(text);
        each_digit_run(text.as_bytes(), |start, end| look(&mut numbers, start, end));
        (numbers.hits, numbers.addresses)
    }

    /// The shortcuts for common numbers give the same results as the rules.
    #[test]
    fn shortcuts_agree_with_rules() {
        let mut random = 1_u64;
        let mut below = |limit: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(random >> 33).unwrap() % limit
        };
        let mut found = 0;
        for _ in 0..20_000 {
            let text: String = (0..below(14)).map(|_| PIECES[below(PIECES.len())]).collect();
            let in_full = hits(&text, |numbers, start, end| {
                let follows = follows_word(numbers.bytes, start);
                numbers.number_or_word(start, end, follows)
            });
            found += in_full.0.len() + in_full.1.len();
            assert_eq!(hits(&text, |numbers, start, end| numbers.visit(start, end)), in_full, "{text}");
        }
        assert!(found > 1_000, "{found} numbers of people are too few to tell anything");
    }

    #[test]
    fn times_of_day_are_recognised() {
        assert!(["00:00:00", "10:11:12", "99:99:99"].iter().all(|text| is_time(text)));
        for wrong in ["10-11:12", "10:11-12", "1a:11:12", "10:11:1/", ":0:11:12", "10:11:1:", "10:11:1\u{9}"]
        {
            assert!(!is_time(wrong), "{wrong}");
        }
    }

    fn is_time(text: &str) -> bool {
        is_time_of_day(text.as_bytes().try_into().unwrap())
    }
}
