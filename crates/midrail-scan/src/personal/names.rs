//! Names of people behind a title, a key, a greeting or a signature.

use midrail_core::{Confidence, Hit, Severity};

use super::data::{
    AFTER_GIVEN_NAMES, AFTER_NAMES, AMBIGUOUS_NAMES, BEFORE_DOCTOR, GIVEN_NAME_KEYS, GIVEN_NAMES,
    NAME_PARTICLES, NEAR_GIVEN_NAMES, NOT_NAMES, ONE_WORD_KEYS, TWO_WORD_KEYS,
};
use super::name_triggers::{self, Then};
use crate::bytes::{Threes, byte, byte_before, follows_word, run_end, run_start, window};

/// How many bytes before a trigger are read as a key.
const KEY: usize = 16;

/// The longest name, in bytes.
pub(super) const LONGEST: usize = 64;

/// The most words of a name.
const MOST_WORDS: usize = 4;

/// The name that begins at a place, if the text before it or behind it says so, or if it is a common one.
pub(super) fn name_at(text: &str, place: usize) -> Option<Hit> {
    match name_triggers::before(text.as_bytes(), place) {
        Some((trigger, then)) => name_after(text, place - trigger.len(), place, trigger, then),
        None => name_by_itself(text, place),
    }
}

/// A name without a word before it: a common given name with another name, or a name that does what only people do.
fn name_by_itself(text: &str, start: usize) -> Option<Hit> {
    let bytes = text.as_bytes();
    // Most capitalised words are followed by a lower-case word or a sign of code.
    let (before, second) = (byte_before(bytes, start), byte(bytes, start + 1));
    let is_apart = matches!(before, b' ' | b'\n' | b'"' | b'\'');
    if !is_apart || !(second.is_ascii_lowercase() || second >= 0x80) {
        return None;
    }
    let word_end = start + run_end(window(bytes, start, LONGEST), 0, |byte| byte.is_ascii_alphabetic());
    let (next, after) = (byte(bytes, word_end), byte(bytes, word_end + 1));
    let may_be_name = match next {
        b' ' if after.is_ascii_uppercase() => true,
        b':' if before == b'\n' => true,
        next if next >= 0x80 || after >= 0x80 => true,
        b'-' | b'\'' => after.is_ascii_alphabetic(),
        _ => FIRST_BYTES.may_have([next, after, byte(bytes, word_end + 2)]),
    };
    if !may_be_name {
        return None;
    }
    let (end, words, first) = read_name(text, start)?;
    let rest = text.get(end..)?;
    let follows = |texts: &[&str]| texts.iter().any(|after| rest.starts_with(after));
    let is_subject = follows(AFTER_NAMES);
    // A turn of a conversation: `Nicole: What a day.`
    let is_speaker = rest.starts_with(": ") && before == b'\n';
    let is_person = is_subject || is_speaker || follows(AFTER_GIVEN_NAMES);
    if words < 2 && !is_person && !follows(NEAR_GIVEN_NAMES) || NOT_NAMES.contains(first.as_bytes()) {
        return None;
    }
    let lower = first.to_lowercase();
    let is_given = GIVEN_NAMES.contains(lower.as_bytes());
    let is_ambiguous = AMBIGUOUS_NAMES.contains(lower.as_bytes());
    let confidence = match (is_given && !is_ambiguous, words) {
        (true, _) if is_person => Confidence::Medium,
        (false, 2..) if is_subject && is_given => Confidence::Medium,
        (false, 2..) if is_subject => Confidence::Low,
        (true, _) => Confidence::Low,
        _ => return None,
    };
    Some(hit(start, end, confidence))
}

/// The first bytes of the texts behind names.
static FIRST_BYTES: Threes = {
    const fn with_all(mut bytes: Threes, mut texts: &[&str]) -> Threes {
        while let [text, rest @ ..] = texts {
            if let [first, second, third, ..] = text.as_bytes() {
                bytes = bytes.with([*first, *second, *third]);
            }
            texts = rest;
        }
        bytes
    }
    with_all(with_all(with_all(Threes::EMPTY, AFTER_NAMES), AFTER_GIVEN_NAMES), NEAR_GIVEN_NAMES)
};

fn hit(start: usize, end: usize, confidence: Confidence) -> Hit {
    let hit = Hit::new("person-name", start, end, "a person's name");
    Hit { severity: Severity::Low, confidence, ..hit }
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
    Some(hit(start, end, confidence))
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
        let word = text.get(at..at + length).map(|word| {
            // `Olga's` belongs to Olga.
            let owner = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s"));
            owner.unwrap_or(word).trim_end_matches(['\'', '’', '-'])
        });
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
    fn names_of_subjects_and_common_names_are_recognised() {
        for (text, name) in [
            ("Ilse lives at the lake.", "Ilse"),
            ("Yesterday Ferenc Halmos told us.", "Ferenc Halmos"),
            ("Nadia: Are you there?\nme: yes", "Nadia"),
            ("It was Monika Berger, again", "Monika Berger"),
            ("Hello Pedro, how are you?", "Pedro"),
            ("Quorra Vestergren lives on the second floor", "Quorra Vestergren"),
            ("what is your last name? Abernathy", "Abernathy"),
            ("Olga's account is closed", "Olga"),
        ] {
            assert_eq!(names(text), [name], "{text}");
        }
        for text in [
            "The cache lives in memory",
            "Mark the file, and Grant access",
            "Rust is a language, Paris is a town",
            "Error: Not Found",
            "Virginia: a state",
            "Logic lives in this crate",
            "Main Street said nothing",
        ] {
            assert!(names(text).is_empty(), "{text}: {:?}", names(text));
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
