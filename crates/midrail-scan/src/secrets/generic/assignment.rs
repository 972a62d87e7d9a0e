//! Parses assignments of values to names in code, configuration, command lines, markup and query strings.

use serde::{Deserialize, Serialize};

use crate::bytes::{NAME, ends_with_any_case, is_in, is_word};
use crate::secrets::data::{SETTER_COMMANDS, WRAPPER_FUNCTIONS};
use crate::secrets::view::View;

/// A value and how it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Value {
    /// Where the name begins.
    pub(crate) name_start: usize,
    /// One past the name's last byte.
    pub(crate) name_end: usize,
    /// Where the value begins.
    pub(crate) start: usize,
    /// One past its last byte.
    pub(crate) end: usize,
    /// Whether it is in quotes.
    pub(crate) quoted: bool,
    /// What links the name to the value.
    pub(crate) link: Link,
    /// What ends the value, if it is longer than the window.
    pub(crate) more: Option<Until>,
}

/// What ends a long value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Until {
    /// The end of a value without quotes.
    Bare(Link),
    /// The quote, and whether it is an escaped one.
    Quote(u8, bool),
    /// The end of a key's alphabet.
    Key,
    /// Space, or a quote.
    Space,
}

impl Until {
    /// The end of a long value that continues at a place, at most `limit` bytes away, and whether it continues there.
    pub(crate) fn end(self, view: &View<'_>, from: usize, limit: usize) -> (usize, bool) {
        let end = match self {
            Until::Bare(link) => bare_end(view, from, limit, link),
            Until::Quote(quote, escaped) => quoted_end(view, from, limit, quote, escaped),
            Until::Key => view.run(from, limit, |byte| {
                is_word(byte) || matches!(byte, b'-' | b'+' | b'/' | b'=' | b'.' | b'%' | b'~')
            }),
            Until::Space => {
                view.run(from, limit, |byte| byte > b' ' && !matches!(byte, b'"' | b'\'' | b'`' | b'<'))
            }
        };
        // A split escape is left to the next part.
        let continues = end + 8 > from + limit;
        (view.floor(end).max(from), continues)
    }
}

/// What links a name to its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Link {
    /// `=`, `:=`, `=>` and the like.
    Equals,
    /// `:`.
    Colon,
    /// `==`, `!=`.
    Comparison,
    /// `name("value")` or `"name", "value"`.
    Call,
    /// `<name>value</name>`.
    Markup,
    /// `--name value`, `PASSWORD 'value'`.
    Space,
}

/// How far a name may extend to either side of its keyword.
const MAX_NAME: usize = 48;
/// The longest gap between a name and its value.
const MAX_GAP: usize = 80;
/// How many bytes of a value are classified. A longer one is followed to its end.
pub(crate) const MAX_VALUE: usize = 400;

/// The value assigned to the name that contains a keyword.
pub(crate) fn parse(view: &View<'_>, keyword: usize, keyword_end: usize) -> Option<Value> {
    let name_start = name_start(view, keyword);
    // Short words are keywords together with their sign: `pw:`.
    let signed = usize::from(matches!(view.before(keyword_end), Some(b':' | b'=')));
    let name_end = view.run(keyword_end - signed, MAX_NAME, is_name);
    // `self.tokens.next()`, which is common in code: a call without arguments.
    if view.at(name_end) == Some(b'(') && view.at(name_end + 1) == Some(b')') {
        return None;
    }
    link(view, name_start, name_end)
        .or_else(|| linked_in_words(view, name_start, name_end))
        .or_else(|| paired(view, name_start, name_end))
}

/// The value of a name of several words: `twilio auth token = …`, `var key string = …`.
fn linked_in_words(view: &View<'_>, name_start: usize, name_end: usize) -> Option<Value> {
    let mut in_words = name_end;
    for _ in 0..2 {
        let word = view.run(in_words, 4, is_blank);
        let end = if word == in_words { word } else { view.run(word, 24, is_name) };
        if end == word {
            break;
        }
        in_words = end;
    }
    if in_words == name_end || !may_link(view, in_words) {
        return None;
    }
    link(view, name_start, in_words)
        .filter(|value| value.link != Link::Space && value.link != Link::Markup && value.link != Link::Call)
}

/// A name and its value as two members: `"name": "DB_PASSWORD", "value": "…"`, `<key>password</key><string>…`.
fn paired(view: &View<'_>, name_start: usize, name_end: usize) -> Option<Value> {
    let parts = |byte: u8| is_space(byte) || matches!(byte, b'"' | b'\'' | b'\\' | b',');
    if view.at(name_end) == Some(b'<') {
        let close = view.run(name_end + 1, 24, |byte| byte == b'/' || is_name(byte));
        let open = view.run(close + 1, MAX_GAP, is_space);
        let tags: [&[u8]; 2] = [b"<string>", b"<value>"];
        let tag = tags.into_iter().find(|tag| view.starts_with(open, tag))?;
        let is_closed = view.at(name_end + 1) == Some(b'/') && view.at(close) == Some(b'>');
        let start = open + tag.len();
        return is_closed.then(|| value(view, name_start, name_end, start, Link::Markup)).flatten();
    }
    let mut member = view.run(name_end, MAX_GAP, parts);
    if member == name_end {
        return None;
    }
    // An escaped line end: `\\n`.
    if view.before(member) == Some(b'\\') && view.at(member) == Some(b'n') {
        member = view.run(member + 1, MAX_GAP, parts);
    }
    let end = view.run(member, 24, is_name);
    if !ends_with_any_case(view.slice(member, end), b"value") {
        return None;
    }
    let closed = view.run(end, 4, |byte| matches!(byte, b'"' | b'\'' | b'\\'));
    let operator = view.run(closed, 4, is_blank);
    let link = match view.at(operator)? {
        b':' => Link::Colon,
        b'=' => Link::Equals,
        _ => return None,
    };
    value(view, name_start, name_end, view.run(operator + 1, 8, is_blank), link)
}

/// The value alone in the line after its name, indented: `password:` or `password: |`, then the value.
fn in_next_line(view: &View<'_>, name_start: usize, name_end: usize, from: usize) -> Option<Value> {
    let line = view.run(from, 3, |byte| matches!(byte, b'|' | b'>' | b'-' | b'+'));
    let past = view.run(line, 2, |byte| matches!(byte, b'\r' | b'\n'));
    let start = view.run(past, 40, is_blank);
    if past == line || start == past || matches!(view.at(start), Some(b'-' | b'#' | b'*' | b'/')) {
        return None;
    }
    let found = value(view, name_start, name_end, start, Link::Colon)?;
    let after = view.run(found.end + usize::from(found.quoted), 8, is_blank);
    let is_alone = found.more.is_some() || view.at(after).is_none_or(|byte| matches!(byte, b'\r' | b'\n'));
    let is_name_itself = view.before(found.end) == Some(b':');
    (is_alone && !is_name_itself).then_some(found)
}

fn name_start(view: &View<'_>, keyword: usize) -> usize {
    let start = view.run_back(keyword, MAX_NAME, is_name);
    let start = view.past_ansi_tail(start, keyword);
    // An escape before the name is not part of it: `\nDB_PASSWORD`, `%26token`.
    if view.before(start) == Some(b'\\') && start < keyword { start + 1 } else { start }
}

fn is_name(byte: u8) -> bool {
    is_in(byte, NAME)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// False if no assignment can follow a name. Most names in sentences and code are followed by a word.
fn may_link(view: &View<'_>, name_end: usize) -> bool {
    let place = view.run(name_end, MAX_GAP, is_blank);
    view.at(place).is_some_and(|byte| {
        !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b',' | b';' | b'(' | b'{' | b'\n' | b'\r')
    })
}

fn link(view: &View<'_>, name_start: usize, name_end: usize) -> Option<Value> {
    let found = |start: usize, link: Link| value(view, name_start, name_end, start, link);
    // Closing quotes (perhaps escaped) and brackets. Most names have none.
    let mut place = view.run(name_end, 6, |byte| b"\"'`\\])*}?".contains(&byte));
    let closed = place > name_end
        && view.slice(name_end, place).iter().any(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    if view.starts_with(place, b"%22") {
        place += 3;
    }
    place = view.run(view.past_ansi(place), MAX_GAP, is_blank);
    let operator = place;
    match view.at(place)? {
        b'(' if operator == name_end || closed => {
            let start = view.run(place + 1, 4, is_blank);
            if view.at(start) == Some(b')') {
                return None;
            }
            let value = found(start, Link::Call)?;
            // Only a single argument: of several, any could be the secret.
            let after = value.end + 1;
            let is_only = value.quoted && view.run(after, 8, |byte| byte == b')') > after;
            return is_only.then_some(value);
        }
        b',' if closed && is_first_argument(view, name_start) => {
            let start = view.run(place + 1, MAX_GAP, is_space);
            return found(start, Link::Call);
        }
        b'>' if closed && is_name_of_element(view, name_start) => return found(place + 1, Link::Markup),
        b'>' if operator == name_end => {
            let start = view.run(place + 1, MAX_GAP, is_space);
            return found(start, Link::Markup);
        }
        b'"' | b'\'' if operator > name_end && !closed => return found(operator, Link::Space),
        // A word, as after most names: no assignment begins with one.
        byte if byte.is_ascii_alphanumeric() => return spaced(view, name_start, name_end, operator),
        _ => {}
    }
    if ["%3D", "%3d", "%3A"].iter().any(|sign| view.starts_with(place, sign.as_bytes())) {
        return found(place + 3, Link::Equals);
    }
    let end = view.run(place, 4, |byte| b":=?+.|!>-~".contains(&byte));
    let text = view.slice(place, end);
    if text == b"|" {
        return in_table(view, name_start, name_end, end);
    }
    if text.is_empty() && view.starts_with(place, "：".as_bytes()) {
        return found(view.run(place + 3, 8, is_blank), Link::Colon);
    }
    let link = match text {
        // The most common case.
        [b'='] => Link::Equals,
        [b':'] => Link::Colon,
        b"" | b"|" | b"||" | b"." | b"-" | b"--" | b"->" | b"?" | b"+" | b"<" | b">" | b"!" | b"..."
        | b".." | b"<=" | b">=" | b"::" | b"--&" | b"~" | b"?." | b"--&gt" => {
            return spaced(view, name_start, name_end, operator);
        }
        b"==" | b"===" | b"!=" | b"!==" | b"=~" => Link::Comparison,
        b"?:" => Link::Colon,
        _ if text.contains(&b'=') || text.contains(&b':') => Link::Equals,
        _ => return None,
    };
    // A dash after a colon or an equals sign belongs to the value.
    let end = match text.iter().position(|byte| *byte == b'-') {
        Some(0) | None => end,
        Some(at) => place + at,
    };
    // A label with emphasis ends behind its colon: `**Password:** …`.
    let marks: [&[u8]; 4] = [b"**", b"__", b"</b>", b"</strong>"];
    let mark = marks.iter().find(|mark| link == Link::Colon && view.starts_with(end, mark));
    let end = end + mark.map_or(0, |mark| mark.len());
    let mut start = view.past_ansi(view.run(view.past_ansi(end), MAX_GAP, is_blank));
    if link == Link::Colon {
        // A type between the colon and the equals sign: `key: &str = "…"`.
        let after = view.run(start, 32, |byte| {
            is_name(byte) || matches!(byte, b'&' | b'\'' | b'<' | b'>' | b' ' | b'[' | b']' | b'?' | b'|')
        });
        if after > start
            && after - start < 32
            && view.at(after) == Some(b'=')
            && !matches!(view.at(start), Some(b'\''))
        {
            let past = view.run(after, 3, |byte| matches!(byte, b'=' | b'>'));
            let quote = view.run(past, 8, is_blank);
            // Spaces around the equals sign leave no doubt, and a value with a type is code unless it is quoted:
            // `WRONG_PASSWORD: Code = 1323`, `PASSWORD: &[u8] = b"…"`.
            let is_spaced = view.before(after) == Some(b' ') && quote > past;
            if past == after + 1 && (is_spaced || matches!(view.at(quote), Some(b'"' | b'\'' | b'`'))) {
                return found(quote, Link::Equals).filter(|value| value.quoted);
            }
        }
        // YAML and JSON continue in the next line with a quoted value or a block.
        if matches!(view.at(start), Some(b'\n' | b'\r')) && closed {
            start = view.run(start, MAX_GAP, is_space);
        } else if matches!(view.at(start), Some(b'\n' | b'\r' | b'|' | b'>')) {
            return in_next_line(view, name_start, name_end, start);
        }
    }
    found(start, link)
}

/// Whether a name is that of an element: `<param name="password">`. Of `<input type="password">` it is not.
fn is_name_of_element(view: &View<'_>, name_start: usize) -> bool {
    let before = view.slice(name_start.saturating_sub(6), name_start);
    let before = before.strip_suffix(b"\"").or_else(|| before.strip_suffix(b"'")).unwrap_or_default();
    [b"name=".as_slice(), b"key=", b"id="].iter().any(|known| before.ends_with(known))
}

/// A value in the cell after its name: `| DB_PASSWORD | … |`.
fn in_table(view: &View<'_>, name_start: usize, name_end: usize, from: usize) -> Option<Value> {
    let open = view.run_back(name_start, 40, |byte| is_blank(byte) || matches!(byte, b'`' | b'*' | b'"'));
    if view.before(open) != Some(b'|') {
        return None;
    }
    let found = value(view, name_start, name_end, view.run(from, MAX_GAP, is_blank), Link::Space)?;
    let after = view.run(found.end + usize::from(found.quoted), MAX_GAP, is_blank);
    (found.more.is_some() || view.at(after) == Some(b'|')).then_some(found)
}

/// False if a text cannot end in one of these, by its last letters.
fn may_be_setter(text: &[u8]) -> bool {
    match text {
        [.., first, last, b' '] => {
            matches!([first | 0x20, last | 0x20], [b'n', b'v'] | [b't' | b'g' | b'-', b'x'] | [b'e', b't'])
        }
        _ => false,
    }
}

/// A value behind a space: an argument of a command.
fn spaced(view: &View<'_>, name_start: usize, name_end: usize, operator: usize) -> Option<Value> {
    if operator == name_end {
        return None;
    }
    let before = view.slice(name_start.saturating_sub(16), name_start);
    let is_set = may_be_setter(before)
        && SETTER_COMMANDS.iter().any(|setter| {
            // `ENV` is an instruction of Dockerfiles only in upper case.
            ends_with_any_case(before, setter.as_bytes()) && (*setter != "env " || before.ends_with(b"ENV "))
        });
    if !is_set && view.slice(name_start, name_start + 1) != b"-" {
        return None;
    }
    if view.at(operator) == Some(b'-') {
        // The next option.
        return None;
    }
    value(view, name_start, name_end, operator, Link::Space)
}

/// Whether a quoted name follows an opening bracket: `set("name", "value")`.
fn is_first_argument(view: &View<'_>, name_start: usize) -> bool {
    let quote = view.run_back(name_start, 3, |byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\'));
    let open = view.run_back(quote, 4, is_blank);
    quote < name_start && view.before(open) == Some(b'(')
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn value(view: &View<'_>, name_start: usize, name_end: usize, from: usize, link: Link) -> Option<Value> {
    let mut start = from;
    // Letters that mark the kind of string: b"…", r'…', @"…", $'…', f"…".
    let marks = view.run(start, 2, |byte| {
        matches!(byte, b'b' | b'r' | b'u' | b'f' | b'B' | b'R' | b'U' | b'L' | b'@' | b'$' | b'N')
    });
    if marks > start && matches!(view.at(marks), Some(b'"' | b'\'')) {
        start = marks;
    }
    for opening in [b'(', b'[', b'{'] {
        if view.at(start) == Some(opening) && matches!(view.at(start + 1), Some(b'"' | b'\'' | b'`')) {
            start += 1;
        }
    }
    start = past_wrapper(view, start);
    if view.at(start) == Some(b'`') && view.at(start + 1) == Some(b'`') {
        start += 1;
    }
    let (quote, skip) = match view.at(start)? {
        quote @ (b'"' | b'\'' | b'`') => (Some(quote), 1),
        b'\\' if matches!(view.at(start + 1), Some(b'"' | b'\'')) => (view.at(start + 1), 2),
        b'\\' if view.starts_with(start, b"\\\\\\\"") => (Some(b'"'), 4),
        b'\\' if view.starts_with(start, b"\\\\\"") => (Some(b'"'), 3),
        b'%' if view.starts_with(start, b"%22") => (Some(b'%'), 3),
        _ => (None, 0),
    };
    start += skip;
    let mut more = None;
    let end = match quote {
        Some(b'%') => view.run(start, MAX_VALUE, |byte| byte != b'%' && byte > b' '),
        Some(quote) => {
            if view.at(start) == Some(quote) {
                return None;
            }
            let escaped = skip > 1;
            let end = quoted_end(view, start, MAX_VALUE, quote, escaped);
            let is_long = end + 8 > start + MAX_VALUE;
            // An unclosed quote is no quote, unless the text ends.
            if !is_long && view.at(end).is_some_and(|byte| byte != quote && byte != b'\\') {
                return None;
            }
            more = is_long.then_some(Until::Quote(quote, escaped));
            end
        }
        None => {
            let end = bare_end(view, start, MAX_VALUE, link);
            more = (end + 8 > start + MAX_VALUE).then_some(Until::Bare(link));
            end
        }
    };
    let end = view.floor(end);
    (end > start).then_some(Value { name_start, name_end, start, end, quoted: quote.is_some(), link, more })
}

/// The end of a text in quotes. One that is cut off ends before an escape, not within.
fn quoted_end(view: &View<'_>, from: usize, limit: usize, quote: u8, escaped: bool) -> usize {
    let mut place = from;
    loop {
        place = view.run(place, limit.saturating_sub(place - from), |byte| {
            byte != quote && byte != b'\n' && byte != b'\r' && byte != b'\\'
        });
        // A backslash ends an escaped text; in a plain one it escapes the next character.
        let is_escape = !escaped && place + 2 < from + limit && view.at(place) == Some(b'\\');
        if !is_escape || view.at(place + 1).is_none_or(|byte| byte == b'\n') {
            return place;
        }
        place += 2;
    }
}

/// The end of a value without quotes. A quote or backslash that is escaped within it belongs to it.
fn bare_end(view: &View<'_>, from: usize, limit: usize, link: Link) -> usize {
    let mut place = from;
    loop {
        // Values of names within a value end where it does. They are not read again and again.
        let (start, stop) = if link == Link::Space { (0, 0) } else { view.bare.get() };
        let is_within = start <= place && place < stop;
        let known = if is_within { stop.min(from + limit) } else { place };
        let end = view.run(known, (from + limit).saturating_sub(known), |byte| is_bare(byte, link));
        if link != Link::Space {
            view.bare.set(if is_within { (start, stop.max(end)) } else { (place, end) });
        }
        place = end;
        if place + 4 >= from + limit || view.at(place) != Some(b'\\') || place == from {
            return place;
        }
        let past = match view.at(place + 1) {
            Some(b'\\' | b'"' | b'\'') => place + 2,
            _ => place + 1,
        };
        // What resembles the end of a line, or of an escaped text, ends the value.
        let continues = view.at(past).is_some_and(|byte| {
            byte.is_ascii_alphanumeric() && !matches!(byte, b'n' | b'r' | b't' | b'u' | b'x')
        });
        if !continues {
            return place;
        }
        place = past;
    }
}

/// The place behind functions that wrap a literal: `Buffer.from("…")`, `String::from("…")`, `Some("…")`.
fn past_wrapper(view: &View<'_>, start: usize) -> usize {
    let mut place = start;
    for _ in 0..2 {
        let end = view.run(place, 32, |byte| is_name(byte) || byte == b':');
        let name = view.slice(place, end);
        if name.is_empty() || view.at(end) != Some(b'(') {
            return start;
        }
        let last = name.last().map(u8::to_ascii_lowercase);
        let is_wrapper = |wrapper: &&str| {
            wrapper.as_bytes().last().copied() == last && ends_with_any_case(name, wrapper.as_bytes())
        };
        if !WRAPPER_FUNCTIONS.iter().any(is_wrapper) {
            return start;
        }
        place = end + 1;
        if matches!(view.at(place), Some(b'"' | b'\'' | b'`')) {
            return place;
        }
    }
    start
}

/// Whether a byte may be in a value without quotes.
fn is_bare(byte: u8, link: Link) -> bool {
    let ends = matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b'<' | b',' | b';');
    byte > b' ' && !ends && (byte != b'&' || link == Link::Space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_keeps_every_setter() {
        for setter in SETTER_COMMANDS {
            assert!(may_be_setter(setter.as_bytes()), "{setter}");
            assert!(may_be_setter(setter.to_uppercase().as_bytes()), "{setter}");
        }
        assert!(!may_be_setter(b"the next ") && !may_be_setter(b"env") && !may_be_setter(b""));
    }
}
