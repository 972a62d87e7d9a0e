//! Names of people, only where words make them likely: a title, a key, a greeting, a signature.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::packed;
use aho_corasick::{AhoCorasick, MatchKind};
use midrail_core::{Confidence, Severity};

use super::super::candidates::{byte, byte_before, follows_word, run_start};
use super::given_names::is_given_name;
use crate::finding::Hit;

/// What has to follow a trigger.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// One capitalised word is enough.
    OneWord,
    /// Two capitalised words.
    TwoWords,
    /// A common given name.
    GivenName,
    /// A common given name and another word.
    FullName,
}

/// A text that a name follows.
struct Trigger {
    text: &'static str,
    then: Then,
}

const fn trigger(text: &'static str, then: Then) -> Trigger {
    Trigger { text, then }
}

/// Titles, greetings, signatures and keys. All are of three bytes or more, so that the search can be quick.
const TRIGGERS: &[Trigger] = &[
    trigger("Mr. ", Then::OneWord),
    trigger("Mr ", Then::OneWord),
    trigger("Mrs. ", Then::OneWord),
    trigger("Mrs ", Then::OneWord),
    trigger("Ms. ", Then::OneWord),
    trigger("Ms ", Then::TwoWords),
    trigger("Miss ", Then::GivenName),
    trigger("Dr. ", Then::OneWord),
    trigger("Dr ", Then::TwoWords),
    trigger("Prof. ", Then::OneWord),
    trigger("Professor ", Then::OneWord),
    trigger("Herr ", Then::OneWord),
    trigger("Herrn ", Then::OneWord),
    trigger("Frau ", Then::OneWord),
    trigger("Monsieur ", Then::OneWord),
    trigger("Madame ", Then::OneWord),
    trigger("Mme ", Then::OneWord),
    trigger("Señor ", Then::OneWord),
    trigger("Señora ", Then::OneWord),
    trigger("Sra. ", Then::OneWord),
    trigger("Dear ", Then::GivenName),
    trigger("signed by ", Then::TwoWords),
    trigger("Signed by ", Then::TwoWords),
    trigger("igned-off-by: ", Then::TwoWords),
    trigger("o-authored-by: ", Then::TwoWords),
    trigger("Author: ", Then::TwoWords),
    trigger("Sincerely,\n", Then::TwoWords),
    trigger("egards,\n", Then::TwoWords),
    trigger("atient: ", Then::TwoWords),
    trigger("Patient ", Then::TwoWords),
    trigger("patient ", Then::TwoWords),
    trigger("ardholder: ", Then::TwoWords),
    trigger("mployee: ", Then::TwoWords),
    trigger("ustomer: ", Then::TwoWords),
    trigger("ontact: ", Then::GivenName),
    trigger("ame is ", Then::TwoWords),
    trigger("Name: ", Then::TwoWords),
    trigger("NAME: ", Then::TwoWords),
    trigger("ame: ", Then::GivenName),
    trigger("ame\": \"", Then::GivenName),
    trigger("ame\":\"", Then::GivenName),
    trigger("ame': '", Then::GivenName),
    trigger("ame=\"", Then::GivenName),
    trigger("I am ", Then::GivenName),
    trigger("I'm ", Then::GivenName),
];

/// How far before a trigger a key is read.
const KEY: usize = 16;

/// The longest name, in bytes.
pub(in super::super) const LONGEST: usize = 64;

/// The most words of a name.
const MOST_WORDS: usize = 4;

/// The longest trigger, in bytes.
const LONGEST_TRIGGER: usize = 16;

/// The names of a text, as far as it was searched.
#[derive(Debug, Default)]
pub(in super::super) struct Names {
    /// In order.
    pub(in super::super) hits: Vec<Hit>,
    /// The end of the last trigger.
    done: usize,
}

impl Names {
    /// Adds the names whose triggers begin in a piece of the text. Pieces come in order.
    pub(in super::super) fn scan(&mut self, text: &str, piece: Range<usize>) {
        static SEARCH: OnceLock<Search> = OnceLock::new();
        let from = piece.start.max(self.done);
        // One that begins in the last bytes ends behind them.
        let upto = text.len().min(piece.end + LONGEST_TRIGGER);
        let part = text.as_bytes().get(from..upto).unwrap_or_default();
        let mut add = |found: aho_corasick::Match| {
            let (start, end) = (from + found.start(), from + found.end());
            if start < piece.end
                && let Some(trigger) = TRIGGERS.get(found.pattern().as_usize())
            {
                self.done = end;
                self.hits.extend(name_after(text, start, end, trigger));
            }
        };
        match SEARCH.get_or_init(Search::new) {
            Search::Packed(search) => search.find_iter(part).for_each(&mut add),
            Search::Plain(search) => search.find_iter(part).for_each(&mut add),
            Search::None => {}
        }
    }
}

/// The search for triggers: many bytes at once where the processor can, and a plain automaton where it cannot.
enum Search {
    Packed(packed::Searcher),
    Plain(AhoCorasick),
    None,
}

impl Search {
    fn new() -> Self {
        let texts = || TRIGGERS.iter().map(|trigger| trigger.text);
        let packed = packed::Config::new()
            .match_kind(packed::MatchKind::LeftmostLongest)
            .builder()
            .extend(texts())
            .build();
        if let Some(search) = packed {
            return Search::Packed(search);
        }
        let plain = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(texts());
        plain.map_or(Search::None, Search::Plain)
    }
}

fn name_after(text: &str, trigger_start: usize, start: usize, trigger: &Trigger) -> Option<Hit> {
    let bytes = text.as_bytes();
    let is_key = trigger.text.starts_with("ame")
        || trigger.text.starts_with("NAME")
        || trigger.text.starts_with("Name");
    let then = if is_key { key_of_name(bytes, trigger_start, trigger)? } else { trigger.then };
    let starts_word = trigger.text.starts_with(char::is_uppercase);
    if starts_word && follows_word(bytes, trigger_start) {
        return None;
    }
    if trigger.text.starts_with("Dr") && follows_name(bytes, trigger_start) {
        return None;
    }
    let (end, words, first) = read_name(text, start)?;
    let is_given = is_given_name(first);
    let is_enough = match then {
        Then::OneWord => true,
        Then::TwoWords => words >= 2 || is_given && words == 1 && trigger.text.ends_with("is "),
        Then::GivenName => is_given,
        Then::FullName => is_given && words >= 2,
    };
    if !is_enough || is_no_name(first) {
        return None;
    }
    let confidence = if is_given || then == Then::OneWord { Confidence::Medium } else { Confidence::Low };
    let hit = Hit::new("person-name", start, end, "a person's name");
    Some(Hit { severity: Severity::Low, confidence, ..hit })
}

/// Whether a capitalised word other than a greeting stands right before: `12 Oak Dr Springfield` names a street.
fn follows_name(bytes: &[u8], at: usize) -> bool {
    if byte_before(bytes, at) != b' ' {
        return false;
    }
    let start = run_start(bytes, at - 1, KEY, |byte| byte.is_ascii_alphabetic() || byte >= 0x80);
    let word = bytes.get(start..at - 1).unwrap_or_default();
    let is_greeting = matches!(
        word,
        b"Dear" | b"Hello" | b"Hi" | b"And" | b"Prof" | b"By" | b"To" | b"From" | b"Herr" | b"Frau"
    );
    word.first().is_some_and(u8::is_ascii_uppercase) && !is_greeting
}

/// What a key that ends in `name` asks for: `file_name` is no person, `first_name` surely is.
fn key_of_name(bytes: &[u8], at: usize, trigger: &Trigger) -> Option<Then> {
    let (is_whole, at) = match trigger.text.get(..1) {
        Some("a") => (matches!(byte_before(bytes, at), b'n' | b'N'), at.saturating_sub(1)),
        _ => (true, at),
    };
    if !is_whole {
        return None;
    }
    let from = at.saturating_sub(KEY);
    let before = bytes.get(from..at).unwrap_or_default().to_ascii_lowercase();
    let is_part = |byte: &u8| byte.is_ascii_alphabetic();
    let joined = before.last().is_some_and(|byte| matches!(byte, b'_' | b'-' | b' '));
    let before = if joined { before.split_last().map_or(&[][..], |(_, rest)| rest) } else { &before };
    let word = before
        .iter()
        .rposition(|byte| !is_part(byte))
        .map_or(before, |place| before.get(place + 1..).unwrap_or_default());
    match word {
        b"first" | b"last" | b"given" | b"family" | b"sur" | b"maiden" | b"middle" | b"vor" | b"nach" => {
            Some(Then::OneWord)
        }
        b"full" | b"customer" | b"patient" | b"employee" | b"client" | b"holder" | b"cardholder"
        | b"contact" | b"my" | b"his" | b"her" | b"their" | b"your" | b"student" | b"member" | b"guest"
        | b"owner" | b"account" | b"real" => Some(Then::TwoWords),
        // A key of one word: `Name:` at the start of a line.
        b"" => Some(if trigger.text.starts_with('N') && byte_before(bytes, at) != b'.' {
            Then::TwoWords
        } else {
            Then::FullName
        }),
        b"display" | b"author" | b"user" | b"sender" | b"recipient" | b"the" | b"is" => Some(Then::GivenName),
        _ => None,
    }
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
        } else if words == 0 || !is_particle(word) {
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

fn is_particle(word: &str) -> bool {
    const PARTICLES: &[&str] = &[
        "al", "bin", "da", "das", "de", "del", "della", "den", "der", "di", "do", "dos", "du", "el", "ibn",
        "la", "le", "van", "von", "zu", "ter", "ten", "y",
    ];
    PARTICLES.contains(&word)
}

/// Capitalised words that start what is no name.
fn is_no_name(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "A",
        "All",
        "Ambassador",
        "An",
        "And",
        "Any",
        "Care",
        "Chairman",
        "Customer",
        "Data",
        "Default",
        "Education",
        "Error",
        "False",
        "For",
        "He",
        "Health",
        "How",
        "I",
        "If",
        "In",
        "Is",
        "It",
        "Madam",
        "My",
        "No",
        "None",
        "Not",
        "Null",
        "Of",
        "On",
        "Or",
        "Our",
        "Portal",
        "President",
        "Safety",
        "She",
        "Sir",
        "Team",
        "That",
        "The",
        "There",
        "They",
        "This",
        "To",
        "True",
        "Type",
        "Unknown",
        "User",
        "We",
        "What",
        "When",
        "Who",
        "You",
        "Your",
    ];
    WORDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::super::super::scan;

    fn names(text: &str) -> Vec<&str> {
        scan(text)
            .iter()
            .filter(|hit| hit.kind == "person-name")
            .map(|hit| &text[hit.start..hit.end])
            .collect()
    }

    #[test]
    fn no_trigger_is_longer_than_is_searched_for() {
        use super::{LONGEST_TRIGGER, TRIGGERS};
        assert!(TRIGGERS.iter().all(|trigger| (3..=LONGEST_TRIGGER).contains(&trigger.text.len())));
    }

    #[test]
    fn words_make_names() {
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
    fn names_in_code_are_none() {
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
