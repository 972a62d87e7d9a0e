//! The tokens of a statement with their text, and the lookups that analyses need.

use super::lex::{Lexer, SqlKind, SqlToken};

/// Tokens with the text that they are part of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tokens<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: &'a [SqlToken],
}

impl<'a> Tokens<'a> {
    pub(super) fn kind(&self, place: usize) -> Option<SqlKind> {
        self.tokens.get(place).map(|token| token.kind)
    }

    pub(super) fn spelling(&self, place: usize) -> &'a str {
        self.tokens.get(place).and_then(|token| self.text.get(token.start..token.end)).unwrap_or("")
    }

    /// The text of a token without its quotes.
    pub(super) fn content(&self, place: usize) -> &'a str {
        self.tokens.get(place).map_or("", |token| Lexer::content(self.text, *token))
    }

    pub(super) fn is(&self, place: usize, word: &str) -> bool {
        self.kind(place) == Some(SqlKind::Word) && self.spelling(place).eq_ignore_ascii_case(word)
    }

    pub(super) fn is_any(&self, place: usize, words: &[&str]) -> bool {
        let spelling = self.spelling(place);
        self.kind(place) == Some(SqlKind::Word)
            && words.iter().any(|word| spelling.eq_ignore_ascii_case(word))
    }

    pub(super) fn is_mark(&self, place: usize, mark: u8) -> bool {
        self.kind(place) == Some(SqlKind::Mark(mark))
    }

    pub(super) fn is_name(&self, place: usize) -> bool {
        matches!(self.kind(place), Some(SqlKind::Word | SqlKind::Quoted | SqlKind::Variable))
    }

    /// Whether the token before is one of these words.
    pub(super) fn follows(&self, place: usize, words: &[&str]) -> bool {
        place.checked_sub(1).is_some_and(|before| self.is_any(before, words))
    }
}
