//! Functions that a text defines and then calls: what they do is done.

use super::Statement;
use crate::sql::findings::{Defined, Findings};
use crate::sql::lex::{Kind, Lexer};

/// No more functions of one text than this are kept in mind.
const MOST: usize = 16;

impl Statement<'_> {
    /// `CREATE FUNCTION f() AS $$ … $$`, `CREATE PROCEDURE p() BEGIN … END`
    pub(super) fn define(&self, found: &mut Findings) {
        let kind = (1..16).find(|place| self.is_any(*place, &["function", "procedure", "proc"]));
        let Some(kind) = kind.filter(|_| found.defined.len() < MOST) else { return };
        let named = kind + 1 + if self.is(kind + 1, "if") { 3 } else { 0 };
        let last = self.after_name(named) - 1;
        let name = self.content(last);
        let strings = self.tokens.iter().skip(last).filter(|token| token.kind == Kind::Text);
        let quoted = strings.map(|token| Lexer::content(self.text, *token)).max_by_key(|text| text.len());
        let begin = self.find(last, self.tokens.len(), &["begin", "as"]);
        let block = begin.and_then(|begin| {
            let (first, last) = (self.tokens.get(begin + 1)?, self.tokens.last()?);
            self.text.get(first.start..last.end)
        });
        if let Some(body) = quoted.or(block).filter(|_| !name.is_empty()) {
            found.defined.push(Defined { name: name.to_owned(), body: body.to_owned() });
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
            let at = found.defined.iter().position(|known| known.name.eq_ignore_ascii_case(name));
            // A body is read once, so that functions that call each other come to an end.
            if let Some(at) = at.filter(|_| is_call(place)) {
                let Defined { body, .. } = found.defined.swap_remove(at);
                found.look_into(&body, token.start, token.end);
            }
        }
    }
}
