//! Names of people behind a title, a key, a greeting or a signature.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::packed;
use aho_corasick::{AhoCorasick, MatchKind};
use midrail_core::{Confidence, Hit, Severity};

use super::candidates::{byte, byte_before, follows_word, run_start};
use super::data::{
    BEFORE_GIVEN_NAME, BEFORE_ONE_WORD, BEFORE_TWO_WORDS, GIVEN_NAMES, NAME_PARTICLES, NOT_NAMES,
};

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

/// A text that a name follows, and what has to follow it.
struct Trigger {
    text: &'static str,
    then: Then,
}

/// Titles, greetings, signatures and keys. All have three bytes or more, which the packed search needs.
fn triggers() -> impl Iterator<Item = Trigger> {
    let lists = [
        (BEFORE_ONE_WORD, Then::OneWord),
        (BEFORE_TWO_WORDS, Then::TwoWords),
        (BEFORE_GIVEN_NAME, Then::GivenName),
    ];
    lists.into_iter().flat_map(|(texts, then)| texts.iter().map(move |text| Trigger { text, then }))
}

/// How many bytes before a trigger are read as a key.
const KEY: usize = 16;

/// The longest name, in bytes.
pub(super) const LONGEST: usize = 64;

/// The most words of a name.
const MOST_WORDS: usize = 4;

/// The longest trigger, in bytes.
const LONGEST_TRIGGER: usize = 16;

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
        static SEARCH: OnceLock<Search> = OnceLock::new();
        let search = SEARCH.get_or_init(Search::new);
        let from = piece.start.max(self.done);
        // A trigger may extend over the end of the piece.
        let upto = text.len().min(piece.end + LONGEST_TRIGGER);
        let part = text.as_bytes().get(from..upto).unwrap_or_default();
        let mut add = |found: aho_corasick::Match| {
            let (start, end) = (from + found.start(), from + found.end());
            if start < piece.end
                && let Some(trigger) = search.triggers.get(found.pattern().as_usize())
            {
                self.done = end;
                self.hits.extend(name_after(text, start, end, trigger));
            }
        };
        match &search.automaton {
            Automaton::Packed(automaton) => automaton.find_iter(part).for_each(&mut add),
            Automaton::Plain(automaton) => automaton.find_iter(part).for_each(&mut add),
            Automaton::None => {}
        }
    }
}

/// The search for triggers.
struct Search {
    triggers: Vec<Trigger>,
    automaton: Automaton,
}

/// A packed search where the processor supports it, or else a plain automaton.
enum Automaton {
    Packed(packed::Searcher),
    Plain(AhoCorasick),
    None,
}

impl Search {
    fn new() -> Self {
        let triggers: Vec<Trigger> = triggers().collect();
        let automaton = Automaton::new(&triggers);
        Search { triggers, automaton }
    }
}

impl Automaton {
    fn new(triggers: &[Trigger]) -> Self {
        let texts = || triggers.iter().map(|trigger| trigger.text);
        let packed = packed::Config::new()
            .match_kind(packed::MatchKind::LeftmostLongest)
            .builder()
            .extend(texts())
            .build();
        if let Some(search) = packed {
            return Automaton::Packed(search);
        }
        let plain = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(texts());
        plain.map_or(Automaton::None, Automaton::Plain)
    }
}

fn name_after(text: &str, trigger_start: usize, start: usize, trigger: &Trigger) -> Option<Hit> {
    let bytes = text.as_bytes();
    let is_key = trigger.text.starts_with("ame")
        || trigger.text.starts_with("NAME")
        || trigger.text.starts_with("Name");
    let then = if is_key { name_key_rule(bytes, trigger_start, trigger)? } else { trigger.then };
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
    if !is_enough || is_not_name(first) {
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
    let is_greeting = matches!(
        word,
        b"Dear" | b"Hello" | b"Hi" | b"And" | b"Prof" | b"By" | b"To" | b"From" | b"Herr" | b"Frau"
    );
    word.first().is_some_and(u8::is_ascii_uppercase) && !is_greeting
}

/// What has to follow a key that ends in `name`: `file_name` is no person, `first_name` is.
fn name_key_rule(bytes: &[u8], at: usize, trigger: &Trigger) -> Option<Then> {
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

fn is_given_name(word: &str) -> bool {
    GIVEN_NAMES.contains(word.to_lowercase().as_bytes())
}

fn is_particle(word: &str) -> bool {
    NAME_PARTICLES.contains(word.as_bytes())
}

/// Whether a capitalised word begins no name.
fn is_not_name(word: &str) -> bool {
    NOT_NAMES.contains(word.as_bytes())
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
    fn triggers_have_three_to_sixteen_bytes() {
        use super::{LONGEST_TRIGGER, triggers};
        assert!(triggers().all(|trigger| (3..=LONGEST_TRIGGER).contains(&trigger.text.len())));
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
