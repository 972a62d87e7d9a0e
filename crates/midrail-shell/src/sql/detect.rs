//! Whether a text begins as SQL does, and not as a command of a shell does.

use super::lex::{Lexer, Reading, SqlKind, SqlToken};
use super::tokens::Tokens;
use crate::tables::{SQL_OBJECTS, SQL_STARTS};
use crate::words::sql::{EXPLAIN_OPTIONS, MODIFIERS, NOT_NAMES, TRANSACTION_WORDS, TRUNCATE_TAILS};

/// Whether a text begins as a statement of SQL does: after comments and brackets, with enough of its grammar that no
/// command of a shell is taken for it (`truncate -s 0 f`, `set -e`, `select x in a b; do`).
pub fn looks_like_sql(text: &str) -> bool {
    let reading = Reading { backslash_escapes: true, comments_nest: false };
    let mut lexer = Lexer::new(text, reading).skip_while(|token| token.kind == SqlKind::Mark(b'('));
    let Some(first) = lexer.next() else { return false };
    let word = text.get(first.start..first.end).unwrap_or("");
    if !SQL_STARTS.contains_key(&word.to_ascii_lowercase()) {
        return false;
    }
    let tokens: Vec<SqlToken> = std::iter::once(first).chain(lexer.take(24)).collect();
    Tokens { text, tokens: &tokens }.is_sql(0)
}

/// Whether the tokens of a statement begin as SQL does. What the languages around SQL start with counts too, where marks
/// show that it is code: `IF @x = 1`, `WHILE (…)`.
pub(super) fn begins_as_sql(text: &str, tokens: &[SqlToken]) -> bool {
    let start = Tokens { text, tokens: tokens.get(..64).unwrap_or(tokens) };
    let is_code = || {
        start.tokens.iter().any(|token| match token.kind {
            SqlKind::Mark(mark) => b"(=@<>".contains(&mark),
            SqlKind::Variable => true,
            _ => false,
        })
    };
    start.is_sql(0)
        || start.is_any(0, &["begin", "else", "end", "then", "go", "atomic"])
        || (start.is_any(
            0,
            &["if", "while", "for", "elseif", "elsif", "when", "print", "waitfor", "return", "exec"],
        ) && is_code())
}

impl Tokens<'_> {
    /// Nothing more belongs to the statement.
    fn is_end(&self, place: usize) -> bool {
        matches!(self.kind(place), None | Some(SqlKind::End | SqlKind::Delimiter))
    }

    /// One of these words comes soon.
    fn has(&self, from: usize, words: &[&str]) -> bool {
        (from..self.tokens.len())
            .take_while(|place| !self.is_end(*place))
            .any(|place| self.is_any(place, words))
    }

    /// An option of a program, `-s` or `--size`, comes before the end of the statement.
    fn has_option(&self) -> bool {
        (0..self.tokens.len()).take_while(|place| !self.is_end(*place)).any(|place| {
            let (Some(minus), Some(word)) = (self.tokens.get(place), self.tokens.get(place + 1)) else {
                return false;
            };
            let before = minus.start.checked_sub(1).and_then(|at| self.text.as_bytes().get(at));
            minus.kind == SqlKind::Mark(b'-')
                && word.start == minus.end
                && matches!(word.kind, SqlKind::Word | SqlKind::Mark(b'-'))
                && before.is_some_and(u8::is_ascii_whitespace)
        })
    }

    /// The place of what is created, dropped or altered, if it is something that databases have.
    fn object(&self, from: usize) -> Option<usize> {
        let place = (from..from + 8).find(|place| !self.is_any(*place, MODIFIERS))?;
        let after = self.tokens.get(place).and_then(|token| self.text.as_bytes().get(token.end));
        let is_whole = !matches!(after, Some(b'.' | b'-' | b'/'));
        let is_object = self.kind(place) == Some(SqlKind::Word)
            && SQL_OBJECTS.contains_key(&self.spelling(place).to_ascii_lowercase());
        (is_whole && is_object).then_some(place)
    }

    fn is_sql(&self, at: usize) -> bool {
        let Some(token) = self.tokens.get(at).filter(|token| token.kind == SqlKind::Word) else {
            return false;
        };
        // A longer word of a command: `create-react-app`, `drop.sh`, `update-alternatives`, `call/x`.
        let next = self.text.as_bytes().get(token.end).copied().unwrap_or(b' ');
        let is_comment = self.text.get(token.end..token.end + 2) == Some("/*");
        if matches!(next, b'-' | b'.' | b'/' | b':' | b'=') && !is_comment {
            return false;
        }
        let word = self.spelling(at).to_ascii_lowercase();
        let next = at + 1;
        match word.as_str() {
            "select" => {
                let is_loop =
                    self.is_name(next) && self.is_any(next + 1, &["in"]) && !self.is_mark(next + 2, b'(');
                !self.is_end(next) && !is_loop && !self.has_option()
            }
            "update" => {
                let set = (next..self.tokens.len()).find(|place| self.is_any(*place, &["set"]));
                let assigns = |set: usize| (set..self.tokens.len()).any(|place| self.is_mark(place, b'='));
                set.is_some_and(|set| set > next && (assigns(set) || self.tokens.len() >= 24))
                    && !self.has_option()
            }
            "delete" => self.has(next, &["from", "where"]) && self.is_delete(next) && !self.has_option(),
            "truncate" => {
                let after = |place: usize| {
                    self.is_end(place)
                        || self.is_mark(place, b',')
                        || self.is_mark(place, b'.')
                        || self.is_any(place, TRUNCATE_TAILS)
                };
                !self.has_option()
                    && (self.is_any(next, &["table"]) || (self.is_name(next) && after(next + 1)))
            }
            "drop" => {
                let is_named = |place: usize| !self.is_end(place) && !self.is_any(place, NOT_NAMES);
                self.object(next).is_some_and(|place| is_named(place + 1)) && !self.has_option()
            }
            "create" | "alter" => {
                (self.object(next).is_some() || self.is_any(next, &["system", "session", "definer", "sql"]))
                    && !self.has_option()
            }
            "explain" | "describe" | "desc" => {
                let skipped = (next..next + 8).find(|place| {
                    !self.is_any(*place, EXPLAIN_OPTIONS)
                        && !matches!(self.kind(*place), Some(SqlKind::Mark(b'(' | b')' | b',' | b'=')))
                });
                skipped.is_some_and(|place| self.is_sql(place))
                    || (word != "explain" && self.is_name(next) && !self.has_option())
            }
            "begin" | "commit" | "rollback" => {
                self.is_end(next) || self.is_any(next, TRANSACTION_WORDS) || self.is_sql(next)
            }
            "set" => {
                let is_value =
                    |place: usize| self.is_mark(place, b'=') || self.is_any(place, &["to", "on", "off"]);
                self.is_any(next, &["global", "session", "local", "names", "transaction", "time", "role"])
                    || (self.kind(next) == Some(SqlKind::Variable))
                    || (self.is_name(next)
                        && is_value(next + 1)
                        && !self.has_option()
                        && !self.is_expansion(next + 2))
            }
            "call" => self.is_name(next) && (next..next + 6).any(|place| self.is_mark(place, b'(')),
            "copy" => {
                self.has(next, &["from", "to", "into"])
                    && !self.has_option()
                    && self.text.len() > token.end + 4
                    && self.is_copy(next)
            }
            "vacuum" | "analyze" | "reindex" => {
                !self.text.contains(" -") && (self.is_end(next) || self.is_name(next))
            }
            word => SQL_STARTS.get(word).is_some_and(|start| {
                start.next.iter().any(|terms| self.begins(next, terms))
                    && (start.options || !self.has_option())
            }),
        }
    }

    /// Whether the tokens from here on begin with the terms of a row.
    fn begins(&self, mut at: usize, terms: &str) -> bool {
        let mut is_later = false;
        terms.split(' ').all(|term| {
            if term == "..." {
                is_later = true;
                return true;
            }
            let last = if is_later { self.tokens.len() } else { at };
            let mut places = (at..=last).take_while(|place| *place == at || !self.is_end(*place));
            let found = places.find(|place| term.split('|').any(|term| self.is_term(*place, term)));
            at = found.map_or(at, |place| place + 1);
            is_later = false;
            found.is_some()
        })
    }

    fn is_term(&self, place: usize, term: &str) -> bool {
        match term {
            "NAME" => self.is_name(place),
            "TEXT" => self.kind(place) == Some(SqlKind::Text),
            "VARIABLE" => self.kind(place) == Some(SqlKind::Variable),
            "END" => self.is_end(place),
            "(" => self.is_mark(place, b'('),
            word => self.is(place, word),
        }
    }

    /// `DELETE FROM t`, `DELETE FROM t x WHERE`, and not `delete from list in python`.
    fn is_delete(&self, at: usize) -> bool {
        let Some(from) = (at..at + 6).find(|place| self.is_any(*place, &["from"])) else { return true };
        let mut after = from + 2;
        while self.is_mark(after, b'.') {
            after += 2;
        }
        let clauses = ["where", "using", "returning", "order", "limit", "join", "output"];
        !self.is_any(from + 1, NOT_NAMES)
            && (self.kind(after) != Some(SqlKind::Word)
                || self.has(after, &clauses)
                || (self.is_any(after, &["as"]) && self.is_end(after + 2)))
    }

    /// Something that a shell would expand: `` `id` ``, `$x`.
    fn is_expansion(&self, place: usize) -> bool {
        let first = self.tokens.get(place).and_then(|token| self.text.as_bytes().get(token.start));
        matches!(first, Some(b'`' | b'$'))
    }

    /// `COPY t FROM …`, and not `copy a.txt to b.txt`.
    fn is_copy(&self, at: usize) -> bool {
        let place = (at..self.tokens.len()).find(|place| self.is_any(*place, &["from", "to"]));
        self.is_any(at, &["into"])
            || place.is_some_and(|place| {
                self.kind(place + 1) == Some(SqlKind::Text)
                    || self.is_any(place + 1, &["program", "stdin", "stdout"])
                    || self.kind(place + 1) == Some(SqlKind::Variable)
            })
    }
}
