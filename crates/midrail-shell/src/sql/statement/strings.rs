//! Strings that a statement runs as code, or keeps for one that does, and functions that a text defines and calls.

use super::Statement;
use crate::command::decode;
use crate::sql::findings::Findings;
use crate::sql::lex::{Lexer, SqlKind, SqlToken};

/// The most functions of one text that are remembered.
const MOST_FUNCTIONS: usize = 16;

impl Statement<'_> {
    /// `EXECUTE '…'`, `EXEC(@s)`, `EXECUTE IMMEDIATE '…'`, `PREPARE p FROM '…'`.
    pub(super) fn execute(&self, place: usize, found: &mut Findings) {
        if self.is_any(place + 1, &["function", "procedure", "on"]) {
            return;
        }
        let end = self.scope_end(place + 1);
        self.strings(place + 1, end, found);
        let uses_variable = (place + 1..end).any(|place| self.kind(place) == Some(SqlKind::Variable));
        if uses_variable || self.is(place + 1, "immediate") {
            found.analyse_remembered();
        }
    }

    /// The strings of some tokens, joined as `||`, `+` and `CONCAT` join them, are run.
    pub(super) fn strings(&self, from: usize, end: usize, found: &mut Findings) {
        if let Some((code, start, end)) = self.joined(from, end) {
            found.analyse_string(&code, start, end);
        }
    }

    pub(super) fn remember_strings(&self, first: usize, found: &mut Findings) {
        let assigns = (first..self.tokens.len().min(first + 12)).any(|place| self.is_mark(place, b'='));
        let has_variable = self.is_any(first, &["declare"])
            || (first..self.tokens.len().min(first + 4))
                .any(|place| self.kind(place) == Some(SqlKind::Variable))
            || self.is_mark(first + 1, b':');
        if assigns
            && has_variable
            && let Some(joined) = self.joined(first, self.tokens.len())
        {
            found.remember(joined);
        }
    }

    /// `CREATE FUNCTION f() AS $$ … $$`, `CREATE PROCEDURE p() BEGIN … END`
    pub(super) fn define(&self, found: &mut Findings) {
        let kind = (1..16).find(|place| self.is_any(*place, &["function", "procedure", "proc"]));
        let Some(kind) = kind.filter(|_| found.defined.len() < MOST_FUNCTIONS) else { return };
        let named = kind + 1 + if self.is(kind + 1, "if") { 3 } else { 0 };
        let last = self.after_name(named) - 1;
        let name = self.content(last);
        let strings = self.tokens.iter().skip(last).filter(|token| token.kind == SqlKind::Text);
        let quoted = strings.map(|token| Lexer::content(self.text, *token)).max_by_key(|text| text.len());
        let begin = self.find(last, self.tokens.len(), &["begin", "as"]);
        let block = begin.and_then(|begin| {
            let (first, last) = (self.tokens.get(begin + 1)?, self.tokens.last()?);
            self.text.get(first.start..last.end)
        });
        if let Some(body) = quoted.or(block).filter(|_| !name.is_empty()) {
            found.defined.push((name.to_owned(), body.to_owned()));
        }
    }

    /// `SELECT f()`, `CALL p`, `EXEC p`
    pub(super) fn call_defined(&self, found: &mut Findings) {
        if found.defined.is_empty() {
            return;
        }
        let is_call = |place: usize| {
            self.is_mark(place + 1, b'(') || self.follows(place, &["call", "exec", "execute", "perform"])
        };
        for (place, token) in self.tokens.iter().enumerate() {
            let name = self.content(place);
            let at = found.defined.iter().position(|(known, _)| known.eq_ignore_ascii_case(name));
            // A body is read once, so that functions that call each other come to an end.
            if let Some(at) = at.filter(|_| is_call(place)) {
                let (_, body) = found.defined.swap_remove(at);
                found.analyse_string(&body, token.start, token.end);
            }
        }
    }

    /// The strings among some tokens as one text, and where they lie.
    fn joined(&self, from: usize, end: usize) -> Option<(String, usize, usize)> {
        self.spend(end.saturating_sub(from));
        let mut code = String::new();
        let mut span: Option<(usize, usize)> = None;
        // Brackets that are open, and whether each is one of CONCAT.
        let mut brackets: Vec<bool> = Vec::new();
        let mut is_concat = false;
        for token in self.tokens.get(from..end.min(self.tokens.len()))? {
            let part = match token.kind {
                SqlKind::Text => unquote(self.text, *token),
                // Some dialects take double quotes for strings.
                SqlKind::Quoted if self.text.as_bytes().get(token.start) == Some(&b'"') => {
                    unquote(self.text, *token)
                }
                SqlKind::Number => match Some(self.text.get(token.start..token.end)?)
                    .filter(|text| text.len() > 8 && text.starts_with("0x"))
                    .and_then(decode::hex)
                {
                    Some(text) => text,
                    None => continue,
                },
                SqlKind::Mark(b'(') => {
                    brackets.push(std::mem::take(&mut is_concat));
                    continue;
                }
                SqlKind::Mark(b')') => {
                    brackets.pop();
                    continue;
                }
                SqlKind::Mark(b',') if brackets.last() == Some(&true) => continue,
                SqlKind::Mark(b',') => {
                    code.push(';');
                    continue;
                }
                SqlKind::Word if self.text.get(token.start..token.end)?.eq_ignore_ascii_case("concat") => {
                    is_concat = true;
                    continue;
                }
                SqlKind::Mark(_) => continue,
                _ => {
                    if !code.is_empty() {
                        code.push_str(" x ");
                    }
                    continue;
                }
            };
            code.push_str(&part);
            span = Some((span.map_or(token.start, |(start, _)| start), token.end));
        }
        span.map(|(start, end)| (code, start, end))
    }
}

/// The content of a string, with doubled quotes undone.
pub(super) fn unquote(text: &str, token: SqlToken) -> String {
    let content = Lexer::content(text, token);
    match text.as_bytes().get(token.start) {
        Some(b'$') => content.to_owned(),
        Some(b'"') => content.replace("\"\"", "\""),
        _ => content.replace("''", "'"),
    }
}
