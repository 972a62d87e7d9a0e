//! The output of a command without details that differ between runs: times, durations, process numbers, addresses, temporary
//! folders, and the order of lines.

use sha2::{Digest, Sha256};

use crate::data::{BEFORE_SET_TIMES, PROGRESS_WORDS, TEMPORARY_FOLDERS, TIME_UNITS};

/// Replaces an omitted detail.
const OMITTED: char = '#';

/// The longest line that is processed as a whole.
const MAX_LINE: usize = 64 << 10;

/// A line without details that differ between runs. Parts of names are kept: `issue_1234`, `test_5s`.
fn stable_line(line: &str) -> String {
    let mut stable = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_joined = stable.chars().next_back().is_some_and(is_word_char);
        let length = match volatile_part(&stable, rest).filter(|_| !is_joined) {
            Some((left, length)) => {
                stable.push_str(&left);
                length
            }
            None => {
                let length = if is_word_char(first) { word(rest) } else { first.len_utf8() };
                stable.push_str(rest.get(..length).unwrap_or_default());
                length
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    stable
}

/// The detail at the beginning of a text that differs between runs: its replacement and its length.
fn volatile_part(before: &str, text: &str) -> Option<(String, usize)> {
    if let Some(found) = temporary(before, text) {
        return Some(found);
    }
    let omitted = |length: usize| (OMITTED.to_string(), length);
    let hex = |length: Option<usize>| length.filter(|length| ends_word(text, *length)).map(omitted);
    if let Some(found) = hex(address(before, text)).or_else(|| hex(unique_id(text))) {
        return Some(found);
    }
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    timestamp(text).or_else(|| duration(before, text)).or_else(|| long_number(before, text)).map(omitted)
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of the word that a text begins with.
fn word(text: &str) -> usize {
    text.find(|c: char| !is_word_char(c)).unwrap_or(text.len())
}

/// Whether a word before a place ends there.
fn ends_word(text: &str, at: usize) -> bool {
    text.get(at..).is_some_and(|rest| !rest.starts_with(is_word_char))
}

/// How many of these characters a text begins with.
fn run(text: &str, of: impl Fn(char) -> bool) -> usize {
    text.find(|c: char| !of(c)).unwrap_or(text.len())
}

fn digits(text: &str) -> usize {
    run(text, |c| c.is_ascii_digit())
}

/// The length of groups of digits between separators: `2026-11-16` is `[4, 2, 2]` and `-`.
fn grouped(text: &str, groups: &[usize], separator: char) -> Option<usize> {
    groups_of(text, groups, separator, |c| c.is_ascii_digit())
}

/// The length of groups of characters between separators.
fn groups_of(text: &str, groups: &[usize], separator: char, of: fn(char) -> bool) -> Option<usize> {
    let mut rest = text;
    for (index, expected) in groups.iter().enumerate() {
        rest = if index > 0 { rest.strip_prefix(separator)? } else { rest };
        rest = rest.get(*expected..).filter(|_| run(rest, of) == *expected)?;
    }
    Some(text.len() - rest.len())
}

/// `2026-11-16T01:44:57.123Z`, `2026/11/16 01:44:57`, `20261116T014457Z`, `01:44:57`. A day alone is kept.
fn timestamp(text: &str) -> Option<usize> {
    let date = grouped(text, &[4, 2, 2], '-').or_else(|| grouped(text, &[4, 2, 2], '/'));
    let mut at = match date {
        Some(date) => {
            let rest = text.get(date..)?;
            let time = rest.strip_prefix(['T', 't', ' ', '_']).filter(|time| clock(time).is_some())?;
            date + 1 + clock(time)?
        }
        None if digits(text) == 8 => {
            let rest = text.get(8..)?.strip_prefix(['T', 't', '-', '_'])?;
            (digits(rest) == 6).then_some(15)?
        }
        None => seconds(text)?,
    };
    let rest = text.get(at..)?;
    // A fraction, and the zone.
    if let Some(fraction) = rest.strip_prefix(['.', ',']).map(digits).filter(|count| *count > 0) {
        at += 1 + fraction;
    }
    let rest = text.get(at..)?;
    if rest.starts_with(['Z', 'z']) {
        at += 1;
    } else if let Some(zone) = rest.strip_prefix(['+', '-']) {
        at += grouped(zone, &[2, 2], ':').or_else(|| (digits(zone) == 4).then_some(4)).map_or(0, |it| it + 1);
    }
    ends_word(text, at).then_some(at)
}

/// `01:44:57`
fn seconds(text: &str) -> Option<usize> {
    grouped(text, &[2, 2, 2], ':').or_else(|| grouped(text, &[1, 2, 2], ':'))
}

/// `01:44:57` or `01:44`.
fn clock(text: &str) -> Option<usize> {
    seconds(text).or_else(|| grouped(text, &[2, 2], ':'))
}

/// `0.31s`, `3 ms`, `1m30s`
fn duration(before: &str, text: &str) -> Option<usize> {
    let mut at = 0;
    let mut has_fraction = false;
    loop {
        let rest = text.get(at..)?;
        let blank = usize::from(at > 0 && rest.starts_with(' '));
        let Some((length, is_broken)) = rest.get(blank..).and_then(amount) else { break };
        at += blank + length;
        has_fraction |= is_broken;
    }
    if at == 0 || !ends_word(text, at) {
        return None;
    }
    let last = before.trim_end().rsplit(|c: char| !is_word_char(c)).next().unwrap_or_default();
    let is_set = !has_fraction && BEFORE_SET_TIMES.contains(last.to_ascii_lowercase().as_bytes());
    (!is_set).then_some(at)
}

/// A number with a unit of time, and whether it has a fraction.
fn amount(text: &str) -> Option<(usize, bool)> {
    let mut at = digits(text);
    if at == 0 {
        return None;
    }
    let fraction = text.get(at..)?.strip_prefix(['.', ',']).map_or(0, digits);
    if fraction > 0 {
        at += 1 + fraction;
    }
    let rest = text.get(at..)?;
    let blank = usize::from(rest.starts_with(' '));
    let unit = rest.get(blank..)?;
    let length = run(unit, char::is_alphabetic);
    TIME_UNITS.contains(unit.get(..length)?.as_bytes()).then_some((at + blank + length, fraction > 0))
}

/// A number of more than three digits that is a word of its own: of a process, a thread, a port.
fn long_number(before: &str, text: &str) -> Option<usize> {
    let number = text.get(..run(text, |c| c.is_ascii_digit() || c == '.'))?.trim_end_matches('.');
    let (length, count) = (number.len(), number.bytes().filter(u8::is_ascii_digit).count());
    let rest = text.get(length..)?;
    // `a.rs:1200:5` is a place, and so is `10:1200`.
    let is_place = rest.strip_prefix(':').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if count <= 3 || is_place || !ends_word(text, length) {
        return None;
    }
    // A part of a name: `case[1200]`, `a.rs:1200`, `issue-1200`, `v1.1200`. Servers write their process as `name[1200]:`.
    let mut ahead = before.chars().rev();
    let (sign, owner) = (ahead.next(), ahead.next());
    let has_owner = owner.is_some_and(is_word_char);
    let is_part = match sign {
        Some('[' | '(' | '{') => has_owner && !rest.starts_with("]:"),
        Some(':') => has_owner && !is_host(before),
        Some('-' | '.' | '/' | '+') => has_owner,
        _ => false,
    };
    (!is_part).then_some(length)
}

/// Whether a text ends with a host and a colon, so that a port follows.
fn is_host(before: &str) -> bool {
    let Some(before) = before.strip_suffix(':') else { return false };
    let host =
        before.rsplit(|c: char| !(is_word_char(c) || matches!(c, '.' | '-'))).next().unwrap_or_default();
    let parts: Vec<&str> = host.split('.').collect();
    host == "localhost" || (parts.len() == 4 && parts.iter().all(|part| part.parse::<u8>().is_ok()))
}

/// `0x7ffd1c3a`, and `@1b6d3586` behind the name of a type.
fn address(before: &str, text: &str) -> Option<usize> {
    let hex = |text: &str| run(text, |c| c.is_ascii_hexdigit());
    if let Some(rest) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return Some(hex(rest)).filter(|count| *count > 4).map(|count| count + 2);
    }
    let is_of_type = before.strip_suffix('@').is_some_and(|before| before.ends_with(is_word_char));
    Some(hex(text)).filter(|count| is_of_type && (6..=16).contains(count))
}

/// `6f1ed002-ab59-4f8c-9d3c-1f7a2f0f4f11`
fn unique_id(text: &str) -> Option<usize> {
    groups_of(text, &[8, 4, 4, 4, 12], '-', |c| c.is_ascii_hexdigit())
}

/// A path in a temporary folder without its first part, and without the digits of those that follow. The last of several
/// parts is the name of a file, and kept.
fn temporary(before: &str, text: &str) -> Option<(String, usize)> {
    if before.ends_with(|c: char| is_word_char(c) || matches!(c, '/' | '.' | '~' | '-')) {
        return None;
    }
    let folder = TEMPORARY_FOLDERS.iter().find(|folder| text.starts_with(**folder))?;
    let is_end =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ')' | ']' | '>' | ':' | ',' | ';');
    let length = text.find(is_end).unwrap_or(text.len());
    let path = text.get(folder.len()..length)?;
    let mut stable = format!("{folder}{OMITTED}");
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        stable.push('/');
        match parts.peek() {
            Some(_) => stable.extend(part.chars().filter(|c| !c.is_ascii_digit())),
            None => stable.push_str(part),
        }
    }
    Some((stable, length))
}

/// Whether a line of build output is not repeated by the next run.
fn is_progress(line: &str) -> bool {
    let text = line.trim_start();
    let has_margin = text.len() < line.len();
    let word = text.split(' ').next().unwrap_or_default();
    (has_margin && PROGRESS_WORDS.contains(word.as_bytes())) || line.starts_with("go: downloading ")
}

/// A digest of an output that arrives in chunks, by its stable lines in any order.
#[derive(Debug, Default)]
pub struct StableDigest {
    key: Vec<u8>,
    line: Vec<u8>,
    sums: [u64; 4],
    lines: u64,
}

impl StableDigest {
    /// A digest with a key, for output that may contain secrets.
    pub fn with_key(key: &[u8]) -> Self {
        StableDigest { key: key.to_vec(), ..StableDigest::default() }
    }

    /// Returns the digest of a whole output.
    pub fn compute(output: &str) -> String {
        let mut digest = StableDigest::default();
        digest.push(output.as_bytes());
        digest.finish()
    }

    /// Adds a chunk.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = MAX_LINE.saturating_sub(self.line.len());
            let end = bytes.iter().take(space).position(|byte| *byte == b'\n');
            let length = end.unwrap_or(space.min(bytes.len()));
            let (piece, rest) = bytes.split_at_checked(length).unwrap_or((bytes, &[]));
            self.line.extend_from_slice(piece);
            bytes = if end.is_some() { rest.get(1..).unwrap_or_default() } else { rest };
            if end.is_some() || self.line.len() >= MAX_LINE {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        if is_progress(&text) {
            return;
        }
        let digest = Sha256::new_with_prefix(&self.key).chain_update(stable_line(text.trim_end())).finalize();
        // A sum does not depend on the order.
        for (sum, part) in self.sums.iter_mut().zip(digest.chunks_exact(8)) {
            *sum = sum.wrapping_add(u64::from_le_bytes(<[u8; 8]>::try_from(part).unwrap_or_default()));
        }
        self.lines = self.lines.wrapping_add(1);
    }

    /// Returns the digest of the output.
    pub fn finish(mut self) -> String {
        if !self.line.is_empty() {
            self.end_line();
        }
        let [a, b, c, d] = self.sums;
        format!("{a:016x}{b:016x}{c:016x}{d:016x}-{}", self.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stable(output: &str) -> String {
        StableDigest::compute(output)
    }

    #[test]
    fn volatile_details_do_not_change_digest() {
        for (one, other) in [
            ("test a ... FAILED\nfinished in 0.31s", "finished in 12.02s\ntest a ... FAILED"),
            ("1 failed in 3 ms", "1 failed in 14 ms"),
            ("--- FAIL: TestA (0.00s)", "--- FAIL: TestA (12.31s)"),
            ("ok in 1m30s", "ok in 2m5.2s"),
            ("done in 59s", "done in 1m 2s"),
            ("thread 'a' (40231) panicked at a.rs:10:5", "thread 'a' (51377) panicked at a.rs:10:5"),
            ("12:00:01 error", "23:59:59 error"),
            ("2026-11-16T01:44:57Z error", "2026-11-17T09:00:00Z error"),
            ("[2026-11-16 01:44:57.123] error", "[2026-11-16 01:45:02.007] error"),
            ("at=2026-11-16T01:44:57.5+01:00 error", "at=2026-11-16T03:01:00+01:00 error"),
            ("2026/11/16 01:44:57 error", "2026/11/16 02:11:22 error"),
            ("20261116T014457Z error", "20261116T024457Z error"),
            ("<A object at 0x7f3a2c1d> failed", "<A object at 0x7f99aa01ff> failed"),
            ("Foo@1b6d3586 failed", "Foo@4554617c failed"),
            (
                "run 6f1ed002-ab59-4f8c-9d3c-1f7a2f0f4f11 failed",
                "run 0a1ed002-ab59-4f8c-9d3c-1f7a2f0f4f12 failed",
            ),
            ("connect 127.0.0.1:40231 refused", "connect 127.0.0.1:51377 refused"),
            ("connect localhost:40231: refused", "connect localhost:51377: refused"),
            ("server[40231]: stopped", "server[51377]: stopped"),
            ("   Compiling a v0.1.0\n    Finished in 1s\ntest a FAILED", "    Finished in 2s\ntest a FAILED"),
            ("go: downloading x v1\n--- FAIL: TestA", "--- FAIL: TestA"),
            ("wrote /tmp/tmpab12/log.txt", "wrote /tmp/tmpzz99/log.txt"),
            ("in '/tmp/pytest-of-me/pytest-12/out/a.txt'", "in '/tmp/pytest-of-me/pytest-13/out/a.txt'"),
        ] {
            assert_eq!(stable(one), stable(other), "{one}");
        }
    }

    #[test]
    fn different_failures_have_different_digests() {
        for (one, other) in [
            ("test a ... FAILED", "test b ... FAILED"),
            ("test issue_1234 ... FAILED", "test issue_5678 ... FAILED"),
            ("test issue1234 ... FAILED", "test issue5678 ... FAILED"),
            ("test test_case_100234 failed", "test test_case_100235 failed"),
            ("test waits_5s failed", "test waits_6s failed"),
            ("test 5s_timeout failed", "test 6s_timeout failed"),
            ("test wait_5s_then_go failed", "test wait_6s_then_go failed"),
            ("times out after 5s failed", "times out after 6s failed"),
            ("test_a.py::test_x[1234] FAILED", "test_a.py::test_x[5678] FAILED"),
            ("issue-1234 failed", "issue-5678 failed"),
            ("2 failed", "3 failed"),
            ("a.rs:10:5", "a.rs:11:5"),
            ("a.rs:1210:5", "a.rs:1211:5"),
            ("a.rs:1210", "a.rs:1211"),
            ("v1s failed", "v2s failed"),
            ("exit 1", "exit 2"),
            ("0x10 expected", "0x11 expected"),
            ("/tmp/tmpab12/a.rs failed", "/tmp/tmpab12/b.rs failed"),
            ("/srv/tmp/x1/a failed", "/srv/tmp/x2/a failed"),
            ("h2 failed", "h3 failed"),
            ("Checking a fails", "Checking b fails"),
            ("  a fails", "  b fails"),
            ("t_12:00:01 failed", "t_12:00:02 failed"),
        ] {
            assert_ne!(stable(one), stable(other), "{one}");
        }
    }

    #[test]
    fn digest_does_not_depend_on_chunks() {
        let of = |pieces: &[&str]| {
            let mut digest = StableDigest::default();
            pieces.iter().for_each(|piece| digest.push(piece.as_bytes()));
            digest.finish()
        };
        assert_eq!(of(&["a in 1ms\nb\n"]), of(&["b", "\na", " in 7ms"]));
        assert_ne!(of(&["a\nb"]), of(&["a\nc"]));
        assert_ne!(of(&["a\na"]), of(&["a"]));
        let long = "x".repeat(3 * MAX_LINE + 7);
        assert_eq!(of(&[&long]), of(&[long.get(..9).unwrap(), long.get(9..).unwrap()]));
    }
}
