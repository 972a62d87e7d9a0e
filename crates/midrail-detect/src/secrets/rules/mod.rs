//! The table of providers' formats. A row says what a key looks like, which literal makes it worth a look, and shows
//! examples that a test runs: texts that it must find, and texts that it must leave alone.

use midrail_core::Severity;

mod chat;
mod cloud;
mod code;
mod data;
mod files;
mod models;
mod packages;
mod payment;
mod people;
mod watch;

/// All rows, by theme.
pub(super) const THEMES: &[&[Rule]] = &[
    cloud::RULES,
    code::RULES,
    packages::RULES,
    chat::RULES,
    payment::RULES,
    watch::RULES,
    models::RULES,
    data::RULES,
    people::RULES,
    files::RULES,
];

/// Where the pattern stands in relation to the keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The key begins with the keyword.
    Prefix,
    /// The keyword is part of a name that the key is assigned to. The pattern is that of the value.
    Near,
    /// The keyword stands within the key or before it. The pattern is searched for around it.
    Inside,
}

/// What a match may reach over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// No space and no quote.
    Word,
    /// No new line.
    Line,
    /// Anything.
    Block,
}

/// What the name that a key is assigned to has to say, besides the keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// That it is a key, a token, a secret, or something of an interface or an account.
    Secretish,
    /// That it is a secret.
    Secret,
    /// That it is a key or a token.
    Key,
}

/// A look at the shape of a key that goes beyond its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verify {
    /// The pattern says it all.
    None,
    /// A key id in the base-32 alphabet is surer than one that is not.
    Aws,
    /// The last six characters are a base-62 CRC-32 of what stands before: a hint, not a condition.
    Crc32,
    /// A macaroon of the package index.
    Pypi,
    /// Groups of digits between dashes.
    Slack,
    /// No words joined by dashes.
    OpenAi,
    /// There is a digit among the letters, and a letter among the digits.
    Digit,
    /// There is something other than letters and digits.
    Symbol,
    /// It decodes to a user and a password.
    Basic,
    /// It is not made of everyday words, as names in code are.
    NotWords,
    /// It is no placeholder, and no word.
    Token,
    /// It is no placeholder.
    Password,
    /// Words, most of them different, and none that holds a sentence together.
    Phrase,
    /// As a password, and no word: letters and digits, mixed.
    Told,
}

/// One format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// The kind in findings. Several rows may share one.
    pub(super) kind: &'static str,
    /// What it is, in words.
    pub(super) what: &'static str,
    /// Literals, one of which stands in every match.
    pub(super) keywords: &'static [&'static str],
    /// Bytes without Unicode. The first group is the key; without one, the whole match is.
    pub(super) pattern: &'static str,
    pub(super) shape: Shape,
    /// How far the match may begin before the keyword.
    pub(super) lead: usize,
    /// How many bytes from the keyword on, or from the value on, are looked at.
    pub(super) window: usize,
    pub(super) reach: Reach,
    /// How specific it is, where it differs from other formats.
    pub(super) rank: Option<u8>,
    /// Whether the keyword counts in any case.
    pub(super) any_case: bool,
    /// The least entropy of the key, in tenths of a bit a character.
    pub(super) entropy: u32,
    /// Whether keys that look like dummies count all the same: the format leaves no room for doubt.
    pub(super) plain: bool,
    pub(super) name: Name,
    /// A word that has to stand in the line, before the key.
    pub(super) beside: Option<&'static str>,
    pub(super) verify: Verify,
    pub(super) severity: Severity,
    /// Texts in which it is found. A `¦` is taken out first: it keeps other scanners from taking the example for a key.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are run by tests"))]
    pub(super) yes: &'static [&'static str],
    /// Texts in which it is not.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are run by tests"))]
    pub(super) no: &'static [&'static str],
}

const fn rule(
    shape: Shape,
    kind: &'static str,
    what: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
) -> Rule {
    Rule {
        kind,
        what,
        keywords,
        pattern,
        shape,
        lead: 0,
        window: 256,
        reach: Reach::Word,
        rank: None,
        any_case: matches!(shape, Shape::Near),
        entropy: 0,
        plain: false,
        name: Name::Secretish,
        beside: None,
        verify: Verify::None,
        severity: Severity::High,
        yes: &[],
        no: &[],
    }
}

/// A key that begins with one of the keywords.
const fn prefix(
    kind: &'static str,
    what: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
) -> Rule {
    rule(Shape::Prefix, kind, what, keywords, pattern)
}

/// A key that is assigned to a name with one of the keywords in it.
const fn near(
    kind: &'static str,
    what: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
) -> Rule {
    rule(Shape::Near, kind, what, keywords, pattern)
}

/// A key that has one of the keywords in it, or after it.
const fn inside(
    kind: &'static str,
    what: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
) -> Rule {
    rule(Shape::Inside, kind, what, keywords, pattern)
}

impl Rule {
    const fn lead(self, lead: usize) -> Self {
        Rule { lead, ..self }
    }

    const fn window(self, window: usize) -> Self {
        Rule { window, ..self }
    }

    const fn line(self) -> Self {
        Rule { reach: Reach::Line, ..self }
    }

    const fn block(self) -> Self {
        Rule { reach: Reach::Block, ..self }
    }

    const fn rank(self, rank: u8) -> Self {
        Rule { rank: Some(rank), ..self }
    }

    const fn any_case(self) -> Self {
        Rule { any_case: true, ..self }
    }

    const fn entropy(self, entropy: u32) -> Self {
        Rule { entropy, ..self }
    }

    const fn plain(self) -> Self {
        Rule { plain: true, ..self }
    }

    const fn name(self, name: Name) -> Self {
        Rule { name, ..self }
    }

    const fn beside(self, word: &'static str) -> Self {
        Rule { beside: Some(word), ..self }
    }

    const fn verify(self, verify: Verify) -> Self {
        Rule { verify, ..self }
    }

    const fn severity(self, severity: Severity) -> Self {
        Rule { severity, ..self }
    }

    const fn yes(self, yes: &'static [&'static str]) -> Self {
        Rule { yes, ..self }
    }

    const fn no(self, no: &'static [&'static str]) -> Self {
        Rule { no, ..self }
    }
}

/// The row with an index in [`all`].
pub(super) fn all_indexed(index: usize) -> Option<&'static Rule> {
    let mut left = index;
    for theme in THEMES {
        match theme.get(left) {
            Some(rule) => return Some(rule),
            None => left -= theme.len(),
        }
    }
    None
}

/// Every row.
pub(super) fn all() -> impl Iterator<Item = &'static Rule> {
    THEMES.iter().flat_map(|theme| theme.iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::scan;

    #[test]
    fn every_row_finds_its_examples_and_nothing_else() {
        let mut wrong = Vec::new();
        for rule in all() {
            for text in rule.yes {
                let text = text.replace('¦', "");
                let kinds: Vec<_> = scan(&text).into_iter().map(|hit| hit.kind).collect();
                if kinds.is_empty() || !crate::secrets::engine::finds(rule, &text) {
                    wrong.push(format!("{} misses {text}: {kinds:?}", rule.kind));
                }
            }
            for text in rule.no {
                let text = text.replace('¦', "");
                if crate::secrets::engine::finds(rule, &text) {
                    wrong.push(format!("{} wrongly finds {text}", rule.kind));
                }
            }
        }
        assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    }

    #[test]
    fn every_row_has_keywords_and_examples() {
        for rule in all() {
            assert!(!rule.yes.is_empty() && !rule.no.is_empty(), "{}", rule.kind);
            assert!(rule.keywords.iter().all(|keyword| keyword.len() >= 3), "{}", rule.kind);
        }
        assert!(all().count() >= 220, "{}", all().count());
    }
}
