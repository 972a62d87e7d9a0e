//! Patterns of texts that a pack names: `CUST-*`, `Project {Falcon,Heron}`, `ACC-[0-9][0-9]`. They match whole words in any case.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use midrail_core::glob;
use regex::bytes::{Regex, RegexBuilder};

/// What `*` stands for: text without blanks, quotes, brackets and separators.
const WORD: &str = r#"[^\s"'`<>()\[\]{},;|]+"#;

/// One character.
const CHARACTER: &str = r"(?:[\x00-\x7F]|[\xC2-\xF4][\x80-\xBF]+)";

/// The longest pattern. Patterns are compiled when they are first used, which cannot fail below this length.
const MAX_LENGTH: usize = 256;

/// A pattern: `*` is any text within a word, `?` a character, `[0-9]` one of these, `{a,b}` one of these texts, and a blank any
/// white space.
#[derive(Debug, Clone)]
pub struct TextPattern {
    text: String,
    regex: OnceLock<Option<Regex>>,
}

impl TextPattern {
    /// Compiles a pattern. `Err` says why it is none.
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
        Ok(TextPattern { text: text.to_owned(), regex: OnceLock::new() })
    }

    /// The places in a text that match, in order. `Err`: the pattern could not be compiled.
    pub fn find_in(&self, text: &str) -> Result<Vec<Range<usize>>, String> {
        let compiled = self.regex.get_or_init(|| compile(&self.text).ok());
        let regex =
            compiled.as_ref().ok_or_else(|| format!("the pattern `{}` could not be compiled", self.text))?;
        let ends_open = self.text.ends_with('*');
        let places = regex.find_iter(text.as_bytes()).map(|found| {
            let matched = text.get(found.range()).unwrap_or_default();
            // The end of a sentence is not a part of its last word.
            let kept = if ends_open { matched.trim_end_matches(['.', ':', '!', '?']) } else { matched };
            found.start()..found.start() + kept.len()
        });
        Ok(places.collect())
    }

    /// The most words that a match consists of.
    pub fn words(&self) -> usize {
        self.text.split_whitespace().count()
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

fn compile(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&translate(text)).unicode(false).case_insensitive(true).build()
}

/// The pattern as a regular expression over bytes.
fn translate(text: &str) -> String {
    // A pattern that begins or ends with a sign may touch a word.
    let is_word = |end: Option<char>| {
        end.is_some_and(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '[' | ']' | '{' | '}' | '?'))
    };
    let mut out = String::new();
    if is_word(text.chars().next()) {
        out.push_str(r"\b{start-half}");
    }
    let mut chars = text.chars().peekable();
    let mut depth = 0_usize;
    while let Some(c) = chars.next() {
        match c {
            '\\' => chars.next().into_iter().for_each(|c| push_literal(&mut out, c)),
            '*' => {
                while chars.next_if_eq(&'*').is_some() {}
                out.push_str(WORD);
            }
            '?' => out.push_str(CHARACTER),
            '[' => push_class(&mut out, &mut chars),
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
                out.push_str(r"\s+");
            }
            c => push_literal(&mut out, c),
        }
    }
    if is_word(text.chars().next_back()) {
        out.push_str(r"\b{end-half}");
    }
    out
}

fn push_literal(out: &mut String, c: char) {
    out.push_str(&regex::escape(&c.to_string()));
}

/// `[a-z]` and `[!a-z]`, up to its end.
fn push_class(out: &mut String, chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    out.push('[');
    if chars.next_if(|c| matches!(c, '!' | '^')).is_some() {
        out.push('^');
    }
    let mut is_first = true;
    while let Some(c) = chars.next_if(|c| is_first || *c != ']') {
        is_first = false;
        if c == '-' { out.push('-') } else { push_literal(out, c) }
    }
    chars.next();
    out.push(']');
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
        assert_eq!(found("größe-?", "größe-ü größe-12"), ["größe-ü"]);
        assert_eq!(found("a.b", "a.b axb"), ["a.b"]);
    }

    #[test]
    fn patterns_of_everything_are_none() {
        for text in ["", "  ", "*", "?*", "--", "[a", "{a"] {
            assert!(TextPattern::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_pattern_or_text_panics(pattern in "[a-cA-C*?{},\\[\\]!^\\\\ é.()|-]{0,12}", text in "[a-c*?{}() é.\"-]{0,40}") {
            if let Ok(pattern) = TextPattern::parse(&pattern) {
                for range in pattern.find_in(&text).unwrap() {
                    prop_assert!(range.start <= range.end && text.get(range).is_some());
                }
            }
        }
    }
}
