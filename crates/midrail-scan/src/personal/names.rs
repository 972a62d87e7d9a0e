//! Names of people behind a title, a key, a greeting or a signature.

use std::ops::Range;

use midrail_core::{Confidence, Hit, Severity};

use super::data::{
    BEFORE_DOCTOR, GIVEN_NAME_KEYS, GIVEN_NAMES, NAME_PARTICLES, NOT_NAMES, ONE_WORD_KEYS, TWO_WORD_KEYS,
};
use super::name_triggers::{self, LONGEST_TRIGGER, Then};
use crate::bytes::{byte, byte_before, follows_word, run_start, window};

/// How many bytes before a trigger are read as a key.
const KEY: usize = 16;

/// The longest name, in bytes.
pub(super) const LONGEST: usize = 64;

/// The most words of a name.
const MOST_WORDS: usize = 4;

/// The names found so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// In order.
    pub(super) hits: Vec<Hit>,
    /// The end of the last trigger.
    done: usize,
}

impl Names {
    /// Adds the names whose triggers begin in a piece of the text. Pieces come in order.
    pub(super) fn scan(&mut self, text: &str, piece: Range<usize>) {
        let from = piece.start.max(self.done);
        // A trigger may extend over the end of the piece.
        let part = window(text.as_bytes(), from, (piece.end + LONGEST_TRIGGER).saturating_sub(from));
        for (place, trigger, then) in name_triggers::find(part) {
            let (start, end) = (from + place, from + place + trigger.len());
            if start < piece.end {
                self.done = end;
                self.hits.extend(name_after(text, start, end, trigger, then));
            }
        }
    }
}

fn name_after(text: &str, trigger_start: usize, start: usize, trigger: &str, then: Then) -> Option<Hit> {
    let bytes = text.as_bytes();
    let is_key = ["ame", "NAME", "Name"].iter().any(|key| trigger.starts_with(key));
    let then = if is_key { name_key_rule(bytes, trigger_start, trigger)? } else { then };
    let is_inside = trigger.starts_with(char::is_uppercase) && follows_word(bytes, trigger_start);
    if is_inside || trigger.starts_with("Dr") && follows_name(bytes, trigger_start) {
        return None;
    }
    let (end, words, first) = read_name(text, start)?;
    let is_given = is_given_name(first);
    let is_enough = match then {
        Then::OneWord => true,
        Then::TwoWords => words >= 2 || is_given && words == 1 && trigger.ends_with("is "),
        Then::GivenName => is_given,
        Then::FullName => is_given && words >= 2,
    };
    if !is_enough || NOT_NAMES.contains(first.as_bytes()) {
        return None;
    }
    let confidence = if is_given || then == Then::OneWord { Confidence::Medium } else { Confidence::Low };
    let hit = Hit::new("person-name", start, end, "a person's name");
    Some(Hit { severity: Severity::Low, confidence, ..hit })
}

/// Whether a capitalised word other than a greeting is right before: `12 Oak Dr Springfield` names a street.
fn follows_name(bytes: &[u8], at: usize) -> bool {
    if byte_before(bytes, at) != b' ' {
        return false;
    }
    let start = run_start(bytes, at - 1, KEY, |byte| byte.is_ascii_alphabetic() || byte >= 0x80);
    let word = bytes.get(start..at - 1).unwrap_or_default();
    word.first().is_some_and(u8::is_ascii_uppercase) && !BEFORE_DOCTOR.contains(word)
}

/// What has to follow a key that ends in `name`: `file_name` is no person, `first_name` is.
fn name_key_rule(bytes: &[u8], at: usize, trigger: &str) -> Option<Then> {
    // The first letter is not part of the trigger `ame`.
    let letter = usize::from(trigger.starts_with('a'));
    if letter == 1 && !matches!(byte_before(bytes, at), b'n' | b'N') {
        return None;
    }
    let at = at.saturating_sub(letter);
    let joint = usize::from(matches!(byte_before(bytes, at), b'_' | b'-' | b' '));
    let start = run_start(bytes, at - joint, KEY - joint, |byte| byte.is_ascii_alphabetic());
    let word = bytes.get(start..at - joint).unwrap_or_default().to_ascii_lowercase();
    if word.is_empty() {
        // A key of one word: `Name:` at the start of a line.
        let is_line = trigger.starts_with('N') && byte_before(bytes, at) != b'.';
        return Some(if is_line { Then::TwoWords } else { Then::FullName });
    }
    let rules = [
        (&ONE_WORD_KEYS, Then::OneWord),
        (&TWO_WORD_KEYS, Then::TwoWords),
        (&GIVEN_NAME_KEYS, Then::GivenName),
    ];
    rules.into_iter().find(|(keys, _)| keys.contains(word.as_slice())).map(|(_, then)| then)
}

/// The end of a name, how many words it has, and the first of them.
fn read_name(text: &str, start: usize) -> Option<(usize, usize, &str)> {
    let bytes = text.as_bytes();
    let (mut at, mut end, mut words, mut first) = (start, start, 0, "");
    while words < MOST_WORDS && at - start < LONGEST {
        let length: usize = text
            .get(at..)?
            .chars()
            .take(24)
            .take_while(|c| c.is_alphabetic() || matches!(c, '\'' | '-' | '’'))
            .map(char::len_utf8)
            .sum();
        let word = text.get(at..at + length).map(|word| word.trim_end_matches(['\'', '’', '-']));
        let Some(word) = word.filter(|word| !word.is_empty()) else { break };
        let length = word.len();
        if is_name_word(word) {
            words += 1;
            end = at + length;
            if words == 1 {
                first = word;
            }
            // An initial ends in a full stop.
            if word.chars().count() == 1 && byte(bytes, end) == b'.' {
                end += 1;
            }
        } else if words == 0 || !NAME_PARTICLES.contains(word.as_bytes()) {
            break;
        }
        at = end.max(at + length);
        if byte(bytes, at) != b' ' {
            break;
        }
        at += 1;
    }
    // `Main.java`, `Foo(`, `Foo_bar`, `Foo::` are names in code.
    let next = byte(bytes, end);
    let is_code = matches!(next, b'(' | b'_' | b'{' | b'[' | b'=' | b'/' | b'$' | b'*' | b'0'..=b'9')
        || matches!(next, b'.' | b':')
            && (byte(bytes, end + 1).is_ascii_alphanumeric() || byte(bytes, end + 1) == b':');
    (words > 0 && !is_code).then_some((end, words, first))
}

fn is_name_word(word: &str) -> bool {
    let mut letters = word.chars();
    let starts = letters.next().is_some_and(char::is_uppercase);
    let rest = letters.as_str();
    let is_shouted = rest.len() > 2 && rest.chars().all(|c| !c.is_lowercase());
    // `OpenHands` is no name; `McDonald`, `O'Neil` and `Smith-Jones` are.
    let has_hump = word.char_indices().any(|(at, c)| {
        let before = word.get(..at).and_then(|before| before.chars().next_back());
        c.is_uppercase()
            && before.is_some_and(char::is_lowercase)
            && !matches!(word.get(..at), Some("Mc" | "Mac" | "De" | "Di" | "La" | "Le" | "Van" | "Fitz"))
    });
    starts && !has_hump && (!is_shouted || is_given_name(word))
}

fn is_given_name(word: &str) -> bool {
    GIVEN_NAMES.contains(word.to_lowercase().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::scan;

    fn names(text: &str) -> Vec<&str> {
        scan(text)
            .iter()
            .filter(|hit| hit.kind == "person-name")
            .map(|hit| &text[hit.start..hit.end])
            .collect()
    }

    #[test]
    fn words_before_names_are_recognised() {
        for (text, name) in [
            ("Dear Mr. Okonkwo, thank you", "Okonkwo"),
            ("Name: Petra van der Berg\nAge: 4", "Petra van der Berg"),
            (r#"{"name": "Jane Q. Miller"}"#, "Jane Q. Miller"),
            (r#"{"first_name":"Zenobia"}"#, "Zenobia"),
            ("Name: Johanna Lindqvist", "Johanna Lindqvist"),
            ("my name is Tariq Aziz.", "Tariq Aziz"),
            ("This was signed by Ines Duarte today", "Ines Duarte"),
            ("Sehr geehrte Frau Müller-Lüdenscheid,", "Müller-Lüdenscheid"),
            ("Author: Ines Duarte <x>", "Ines Duarte"),
        ] {
            assert_eq!(names(text), [name], "{text}");
        }
    }

    #[test]
    fn names_in_code_are_ignored() {
        for text in [
            "name: Build And Test",
            "- name: Install Python",
            r#""name": "Visual Studio""#,
            "class Name: pass",
            "fileName: Main.java",
            "I am The Walrus",
            r#""package_name": "Mary Sue""#,
            "Dear Customer, hello",
            "patient zero",
            "AppName: My App",
        ] {
            assert!(names(text).is_empty(), "{text}: {:?}", names(text));
        }
    }
}
