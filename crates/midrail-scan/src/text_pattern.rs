//! Patterns of texts that a pack names: `CUST-*`, `Project {Falcon,Heron}`, `ACC-[0-9][0-9]`. They match whole words in any case.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use midrail_core::glob;
use regex::{Regex, RegexBuilder};

/// What `*` stands for: text without blanks, quotes, brackets and separators.
const WORD: &str = r#"[^\s"'`<>()\[\]{},;|]+"#;

/// What a word may follow, although it ends with a letter or digit: an escape of JSON, of a URL or of a terminal.
const ESCAPES: &str = r"\\[abfnrtv0]|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|%[0-9a-f]{2}|\x1b\[[0-9;]*[a-z]";

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
        translate(text)?;
        Ok(TextPattern { text: text.to_owned(), regex: OnceLock::new() })
    }

    /// The places in a text that match, in order. `Err`: the pattern could not be compiled.
    pub fn find_in(&self, text: &str) -> Result<Vec<Range<usize>>, String> {
        let compiled = self.regex.get_or_init(|| compile(&self.text));
        let regex =
            compiled.as_ref().ok_or_else(|| format!("the pattern `{}` could not be compiled", self.text))?;
        let ends_open = self.text.ends_with('*');
        let places = regex.captures_iter(text).filter_map(|found| {
            let found = found.get(1)?;
            // The end of a sentence is not a part of its last word.
            let matched = found.as_str();
            let kept = if ends_open { matched.trim_end_matches(['.', ':', '!', '?']) } else { matched };
            Some(found.start()..found.start() + kept.len())
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

fn compile(text: &str) -> Option<Regex> {
    RegexBuilder::new(&translate(text).ok()?).case_insensitive(true).dot_matches_new_line(true).build().ok()
}

/// The pattern as a regular expression whose first group is the match.
fn translate(text: &str) -> Result<String, &'static str> {
    // A pattern that begins or ends with a sign may touch a word.
    let is_word = |end: Option<char>| {
        end.is_some_and(|it| it.is_alphanumeric() || matches!(it, '_' | '[' | ']' | '{' | '}' | '?'))
    };
    let mut out = String::new();
    if is_word(text.chars().next()) {
        out.push_str(&format!(r"(?:\b{{start-half}}|{ESCAPES})"));
    }
    out.push('(');
    let mut chars = text.chars().peekable();
    let mut depth = 0_usize;
    while let Some(c) = chars.next() {
        match c {
            '\\' => chars.next().into_iter().for_each(|c| push_literal(&mut out, c)),
            '*' => {
                while chars.next_if_eq(&'*').is_some() {}
                out.push_str(WORD);
            }
            '?' => out.push('.'),
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
                out.push_str(r"\s+");
            }
            c => push_literal(&mut out, c),
        }
    }
    out.push(')');
    if is_word(text.chars().next_back()) {
        out.push_str(r"\b{end-half}");
    }
    Ok(out)
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
    fn patterns_of_everything_are_none() {
        for text in ["", "  ", "*", "?*", "--", "[a", "{a", "[z-a]x"] {
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
