//! Patterns of texts that a pack names: `CUST-*`, `Project {Falcon,Heron}`, `ACC-[0-9][0-9]`. They match whole words in any case.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use midrail_core::glob;
use regex::{Regex, RegexBuilder};
use unicode_normalization::UnicodeNormalization;

/// What `*` stands for: text without blanks, control characters, quotes, brackets and separators. A backslash that begins an
/// escape ends it.
const WORD: &str =
    r#"(?:[^\s\x00-\x1f\x7f-\x9f"'`<>()\[\]{},;|\\]|\\[^\s\x00-\x1f\x7f-\x9f"'`<>()\[\]{},;|abefnrtvxu0])+"#;

/// What a word may follow, although it ends with a letter or digit: an escape of JSON, of a URL or of a mail.
const ESCAPES: &str = r"\\[abefnrtv0]|\\0[0-7]{2}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|%[0-9a-f]{2}|=[0-9a-f]{2}";

/// A sequence that controls a terminal: colours, a cursor, a character set, a title. Its first character may be escaped.
const CONTROLS: &str = r"(?:\x1b|\\u001b|\\x1b|\\033|\\e)(?:\[[0-?]*[ -/]*[@-~]|[()*+][0-9a-z]|\][^\x07\x1b]*(?:\x07|\x1b\\))|\x{9b}[0-?]*[ -/]*[@-~]";

/// White space, also as an escape.
const BLANKS: &str = r"\s|\\[nrtv]|\\u00(?:09|0a|0d|20|a0)|\\u20(?:28|29|2f)|%(?:20|09|0a|0d)|%c2%a0|=(?:20|0a|0d)|&nbsp;|&#(?:32|160);|\+";

/// Marks that are written after a letter: `u` and U+0308 are `ü`.
const MARKS: &str = r"[\x{300}-\x{36f}]*";

/// The longest pattern. Patterns are compiled when they are first used, which cannot fail below this length.
const MAX_LENGTH: usize = 256;

/// A pattern: `*` is any text within a word, `?` a character, `[0-9]` one of these, `{a,b}` one of these texts, and a blank any
/// white space.
#[derive(Debug, Clone)]
pub struct TextPattern {
    text: String,
    regex: OnceLock<Option<Regex>>,
    /// The same for texts with disguised characters, which few are.
    disguised: OnceLock<Option<Regex>>,
}

impl TextPattern {
    /// Reads a pattern. `Err` says why it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("is empty".to_owned());
        }
        glob::check(text)?;
        if !text.chars().any(char::is_alphanumeric) {
            return Err("names no letter or digit, so that it would match almost everything".to_owned());
        }
        if text.len() > MAX_LENGTH {
            return Err(format!("has more than {MAX_LENGTH} characters"));
        }
        translate(text, false)?;
        Ok(TextPattern { text: text.to_owned(), regex: OnceLock::new(), disguised: OnceLock::new() })
    }

    /// The places in a text that match, in order. `Err`: the pattern could not be compiled.
    pub fn find_in(&self, text: &str) -> Result<Vec<Range<usize>>, String> {
        let is_disguised = if text.is_ascii() { text.contains('%') } else { text.contains(is_disguise) };
        let compiled = if is_disguised { &self.disguised } else { &self.regex };
        let compiled = compiled.get_or_init(|| compile(&self.text, is_disguised));
        let regex =
            compiled.as_ref().ok_or_else(|| format!("the pattern `{}` could not be compiled", self.text))?;
        let ends_open = self.text.ends_with('*');
        let places = regex.captures_iter(text).filter_map(|found| {
            let found = found.get(1)?;
            // The end of a sentence is not a part of its last word.
            let matched = found.as_str();
            let is_emphasised = text.get(..found.start()).is_some_and(|before| before.ends_with('_'));
            let is_mark =
                |c: char| matches!(c, '.' | ':' | '!' | '?') || (matches!(c, '_' | '*') && is_emphasised);
            let kept = if ends_open { matched.trim_end_matches(is_mark) } else { matched };
            Some(found.start()..found.start() + kept.len())
        });
        Ok(places.collect())
    }

    /// The most words that a match consists of. Sequences that control a terminal may be between those of the pattern.
    pub fn words(&self) -> usize {
        (2 * self.text.split_whitespace().count()).saturating_sub(1)
    }
}

impl fmt::Display for TextPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for TextPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

fn compile(text: &str, is_disguised: bool) -> Option<Regex> {
    RegexBuilder::new(&translate(text, is_disguised).ok()?)
        .case_insensitive(true)
        .dot_matches_new_line(true)
        .build()
        .ok()
}

/// Whether a character disguises another one: it is not visible, another hyphen, a wide letter, or begins a code of a URL.
fn is_disguise(c: char) -> bool {
    matches!(
        c,
        '%' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2010}'..='\u{2015}' | '\u{2060}'..='\u{2064}' | '\u{2212}'
            | '\u{feff}' | '\u{ff01}'..='\u{ff5e}'
    )
}

/// Characters that are not visible, after any other.
const INVISIBLE: &str = r"[\x{ad}\x{200b}-\x{200f}\x{2060}-\x{2064}\x{feff}]*";

/// The pattern as a regular expression whose first group is the match. `is_disguised`: of texts with such characters.
fn translate(text: &str, is_disguised: bool) -> Result<String, &'static str> {
    // A pattern that begins or ends with a sign may touch a word.
    let is_word = |end: Option<char>| {
        end.is_some_and(|it| it.is_alphanumeric() || matches!(it, '_' | '[' | ']' | '{' | '}' | '?'))
    };
    let text: String = text.nfc().collect();
    let mut out = String::new();
    if is_word(text.chars().next()) {
        // Underscores around a word are emphasis in Markdown.
        out.push_str(&format!(r"(?:\b{{start-half}}|{ESCAPES}|{CONTROLS})_{{0,3}}"));
    }
    out.push('(');
    let mut chars = text.chars().peekable();
    let mut depth = 0_usize;
    while let Some(c) = chars.next() {
        match c {
            '\\' => chars.next().into_iter().for_each(|c| push_letter(&mut out, c, is_disguised)),
            '*' => {
                while chars.next_if_eq(&'*').is_some() {}
                out.push_str(WORD);
            }
            '?' => out.push_str(&format!(".{MARKS}")),
            '[' => push_class(&mut out, &mut chars)?,
            '{' => {
                depth += 1;
                out.push_str("(?:");
            }
            ',' if depth > 0 => out.push('|'),
            '}' => {
                depth = depth.saturating_sub(1);
                out.push(')');
            }
            c if c.is_whitespace() => {
                while chars.next_if(|c| c.is_whitespace()).is_some() {}
                out.push_str(&format!("(?:{BLANKS}|{CONTROLS})+"));
            }
            c => push_letter(&mut out, c, is_disguised),
        }
    }
    out.push(')');
    if is_word(text.chars().next_back()) {
        out.push_str(r"_{0,3}\b{end-half}");
    }
    Ok(out)
}

/// A character, also as a letter and its marks, and in its disguises.
fn push_letter(out: &mut String, c: char, is_disguised: bool) {
    if is_disguised && c.is_ascii_graphic() {
        let code = u32::from(c);
        let other =
            u32::from(if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() });
        let hyphens = if c == '-' { r"|[\x{2010}-\x{2015}\x{2212}]" } else { "" };
        let literal = regex::escape(&c.to_string());
        let wide = code + 0xfee0;
        out.push_str(&format!(r"(?:{literal}|\x{{{wide:x}}}|%{code:02x}|%{other:02x}{hyphens}){INVISIBLE}"));
        return;
    }
    let parts: String = std::iter::once(c).nfd().collect();
    if parts.chars().eq([c]) {
        return push_literal(out, c);
    }
    out.push_str(&format!("(?:{}|{})", regex::escape(&c.to_string()), regex::escape(&parts)));
}

fn push_literal(out: &mut String, c: char) {
    out.push_str(&regex::escape(&c.to_string()));
}

/// `[a-z]` and `[!a-z]`, up to its end.
fn push_class(
    out: &mut String,
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
) -> Result<(), &'static str> {
    out.push('[');
    if chars.next_if(|c| matches!(c, '!' | '^')).is_some() {
        out.push('^');
    }
    let mut last = None;
    while let Some(c) = chars.next_if(|c| last.is_none() || *c != ']') {
        let from = last.replace(c);
        match (from, chars.peek().copied()) {
            (Some(from), Some(to)) if c == '-' && to != ']' => {
                if from > to {
                    return Err("has a range that ends before it begins");
                }
                out.push('-');
            }
            _ => push_literal(out, c),
        }
    }
    chars.next();
    out.push(']');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found<'t>(pattern: &str, text: &'t str) -> Vec<&'t str> {
        let places = TextPattern::parse(pattern).unwrap().find_in(text).unwrap();
        places.into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn patterns_match_whole_words() {
        assert_eq!(found("CUST-*", "of CUST-12345, cust-9. (CUST-x)"), ["CUST-12345", "cust-9", "CUST-x"]);
        assert_eq!(found("CUST-*", "XCUST-1 and CUST only"), Vec::<&str>::new());
        assert_eq!(found("falcon", "falcon falcons Falcon."), ["falcon", "Falcon"]);
        assert_eq!(
            found("Project {Falcon,Heron}", "project\n falcon, Project Heron"),
            ["project\n falcon", "Project Heron"]
        );
        assert_eq!(found("ACC-[0-9][0-9]", "ACC-12 ACC-123 ACC-1x"), ["ACC-12"]);
        assert_eq!(found("*@corp.example", "mail a.b@corp.example now"), ["a.b@corp.example"]);
        assert_eq!(found("größe-?", "größe-ü GRÖSSE-1 GRÖßE-1 größe-12"), ["größe-ü", "GRÖßE-1"]);
        assert_eq!(found("[!0-9]4711", "é4711 14711"), ["é4711"]);
        assert_eq!(found("Project Falcon", "Project\u{a0}Falcon PROJECT\u{2028}FALCON").len(), 2);
        assert_eq!(found("a.b", "a.b axb"), ["a.b"]);
    }

    #[test]
    fn escapes_hide_no_word() {
        for text in
            ["\u{1b}[31mCUST-1\u{1b}[0m", r#"{"a":"b\nCUST-1"}"#, r"\u003cCUST-1", "a%20CUST-1", r"\tCUST-1"]
        {
            let found = found("CUST-?", text);
            assert_eq!(found, ["CUST-1"], "{text}");
        }
    }

    #[test]
    fn terminal_sequences_hide_no_word() {
        let both = ["CUST-1", "CUST-2"];
        assert_eq!(found("CUST-*", "\u{1b}[31mCUST-1\u{1b}[0mCUST-2"), both);
        assert_eq!(found("CUST-*", r"\u001b[31mCUST-1\u001b[0mCUST-2\n"), both);
        assert_eq!(found("CUST-*", r"\x1b[1mCUST-1\033[0mCUST-2"), both);
        for start in [
            "\u{1b}[38:5:1m",
            "\u{1b}[?25h",
            "\u{1b}(B",
            "\u{9b}1m",
            "\u{1b}]0;title\u{7}",
            r"\u001b[31m",
            r"\e[1;2m",
            "=3D",
        ] {
            assert_eq!(found("CUST-?", &format!("x {start}CUST-1 y")), ["CUST-1"], "{start:?}");
        }
        assert_eq!(
            found("CUST-*", r#"{\"id\":\"CUST-1\",\"b\":1}"#),
            ["CUST-1"],
            "the escape of the quote stays"
        );
        assert_eq!(found("CUST-*", r"CUST-a\Z9"), [r"CUST-a\Z9"]);
    }

    #[test]
    fn emphasis_hides_no_word() {
        for text in ["_CUST-4711_", "__CUST-4711__", "___CUST-4711___", "**_CUST-4711_**", "_CUST-4711, or_"]
        {
            assert_eq!(found("CUST-*", text), ["CUST-4711"], "{text}");
            assert_eq!(found("CUST-[0-9][0-9][0-9][0-9]", text), ["CUST-4711"], "{text}");
        }
        assert_eq!(found("falcon", "my_falcon falcon_x"), Vec::<&str>::new());
    }

    #[test]
    fn blanks_and_letters_may_be_written_differently() {
        for text in [
            r"Project\nFalcon",
            "Project%20Falcon",
            "Project+Falcon",
            "Project=20Falcon",
            "Project&nbsp;Falcon",
            r"Project\u00a0Falcon",
            "Project \u{1b}[1mFalcon",
            "Project\u{1b}[0m \u{1b}[1mFalcon",
        ] {
            assert_eq!(found("Project Falcon", text), [text], "{text:?}");
        }
        let (composed, decomposed) = ("M\u{fc}ller", "Mu\u{308}ller");
        for pattern in [composed, decomposed, "M?ller"] {
            assert_eq!(found(pattern, composed), [composed], "{pattern}");
            assert_eq!(found(pattern, decomposed), [decomposed], "{pattern}");
        }
        assert_eq!(found("Müller", "MU\u{308}LLER"), ["MU\u{308}LLER"]);
        assert_eq!(found("Projekt Falcon", "ProjektFalcon"), Vec::<&str>::new());
    }

    #[test]
    fn disguises_hide_no_word() {
        for text in [
            "CUST\u{2011}1",
            "\u{ff23}\u{ff35}\u{ff33}\u{ff34}-1",
            "CU\u{200b}ST-1",
            "C\u{ad}UST-\u{2060}1",
            "CUST%2D1",
            "%43%55st%2d1",
        ] {
            assert_eq!(found("CUST-?", &format!("100% of {text}.")).len(), 1, "{text:?}");
            assert_eq!(found("CUST-*", &format!("of {text} 100%")), [text], "{text:?}");
        }
        assert_eq!(found("CUST-1", "CUST%201 and CUST 1, CUST\u{2011}2"), Vec::<&str>::new());
    }

    #[test]
    fn patterns_of_everything_are_none() {
        for text in ["", "  ", "*", "?*", "--", "[a", "{a", "[z-a]x"] {
            assert!(TextPattern::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_longest_patterns_can_be_compiled() {
        for part in ["a ", "?a", "ü", "*a"] {
            let text = part.repeat(MAX_LENGTH / part.len());
            for sample in ["a b", "100% a"] {
                assert!(TextPattern::parse(&text).unwrap().find_in(sample).is_ok(), "{part}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_pattern_or_text_panics(pattern in "[a-cA-C*?{},\\[\\]!^\\\\ é.()|-]{0,12}", text in "[a-c*?{}() é%2\u{200b}.\"-]{0,40}") {
            if let Ok(pattern) = TextPattern::parse(&pattern) {
                for range in pattern.find_in(&text).unwrap() {
                    prop_assert!(range.start <= range.end && text.get(range).is_some());
                }
            }
        }
    }
}
