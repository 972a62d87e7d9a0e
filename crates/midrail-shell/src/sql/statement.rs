//! What one statement does. This file reads its tokens; the modules below decide what they mean.

mod first_word;
mod keywords;
mod strings;

use std::cell::Cell;
use std::ops::Deref;

use super::detect;
use super::findings::Findings;
use super::lex::{SqlKind, SqlToken};
use super::tokens::Tokens;
use crate::words::sql::{DELETE_TAILS, DROP_TAILS, NEXT_STARTS, NOT_NAMES};

/// Each keyword can read to the end of its statement. A statement with very many keywords is reported as unreadable.
const STEPS_FOR_EACH_TOKEN: usize = 16;

/// The shortest word that does something by itself.
const SHORTEST_KEYWORD: usize = 4;

/// Analyses one statement: its tokens without the one that ends it.
pub(super) fn analyse(text: &str, tokens: &[SqlToken], found: &mut Findings) {
    // A short word by itself does nothing. Very many of them are passed over quickly.
    if let [token] = tokens
        && token.kind == SqlKind::Word
        && token.end - token.start < SHORTEST_KEYWORD
    {
        return;
    }
    let statement = Statement::new(text, tokens);
    let first = tokens.iter().position(|token| token.kind != SqlKind::Mark(b'(')).unwrap_or(0);
    if statement.is_only_explained(first) {
        return;
    }
    if statement.is_definition() {
        statement.define(found);
        return;
    }
    statement.call_defined(found);
    statement.first_word(first, found);
    for place in 0..tokens.len() {
        if tokens.get(place).is_some_and(|token| token.kind == SqlKind::Word) {
            statement.keyword(place, first, found);
            if statement.steps.get() == 0 {
                statement.hit(found, "sql-unreadable", first, tokens.len());
                return;
            }
        }
    }
}

/// The strings of a statement are run: `SELECT 'DROP TABLE ' || t FROM x \gexec`.
pub(super) fn run_strings(text: &str, tokens: &[SqlToken], found: &mut Findings) {
    Statement::new(text, tokens).strings(0, tokens.len(), found);
}

/// Whether a statement defines code that runs later: its body is no deed.
pub(super) fn is_definition(text: &str, tokens: &[SqlToken]) -> bool {
    Statement::new(text, tokens).is_definition()
}

struct Statement<'a> {
    source: Tokens<'a>,
    /// How many tokens may still be read.
    steps: Cell<usize>,
    /// It begins as SQL does: another statement may follow in it without a mark between them.
    is_sql: bool,
}

impl<'a> Deref for Statement<'a> {
    type Target = Tokens<'a>;

    fn deref(&self) -> &Tokens<'a> {
        &self.source
    }
}

impl<'a> Statement<'a> {
    fn new(text: &'a str, tokens: &'a [SqlToken]) -> Self {
        let first = tokens.iter().position(|token| token.kind != SqlKind::Mark(b'(')).unwrap_or(0);
        Statement {
            source: Tokens { text, tokens },
            steps: Cell::new(STEPS_FOR_EACH_TOKEN * tokens.len() + 4096),
            is_sql: detect::begins_as_sql(text, tokens.get(first..).unwrap_or_default()),
        }
    }

    /// Whether a statement may start here: at the start, on a new line, in a block, or after another statement.
    fn may_start(&self, place: usize, first: usize) -> bool {
        place <= first || self.is_sql || self.opens_statement(place) || {
            let gap = self
                .tokens
                .get(place - 1)
                .zip(self.tokens.get(place))
                .and_then(|(before, token)| self.text.get(before.end..token.start));
            gap.is_some_and(|gap| gap.contains('\n'))
                || [b'>', b':', b'{', b'}', b')'].iter().any(|mark| self.is_mark(place - 1, *mark))
        }
    }

    /// A statement may start after these, inside of others.
    fn opens_statement(&self, place: usize) -> bool {
        place == 0
            || self.follows(place, &["begin", "then", "else", "loop", "do", "as", "try", "catch", "atomic"])
            || self.is_mark(place - 1, b'(')
    }

    /// The place after a name with its parts: `a.b.c`, `{{ name }}`, `@x`.
    fn after_name(&self, mut at: usize) -> usize {
        if self.is_mark(at, b'{')
            || self.is_mark(at, b'<')
            || self.is_mark(at, b'%')
            || self.is_mark(at, b'$')
        {
            // A placeholder replaces the name.
            while at < self.tokens.len() && !self.is_any(at, DROP_TAILS) && !self.is_any(at, NEXT_STARTS) {
                at += 1;
            }
            return at;
        }
        loop {
            at += 1;
            let is_part = |mark: u8| self.is_mark(at, mark);
            if is_part(b'.') || is_part(b'-') || is_part(b':') || is_part(b'@') || is_part(b'/') {
                while [b'.', b'-', b':', b'@', b'/'].iter().any(|mark| self.is_mark(at, *mark)) {
                    at += 1;
                }
                continue;
            }
            // Names that run into each other without a blank are one: `t_${x}_old`, `x%`.
            let is_joined = at
                .checked_sub(1)
                .and_then(|before| self.tokens.get(before))
                .zip(self.tokens.get(at))
                .is_some_and(|(before, token)| before.end == token.start)
                && !matches!(self.kind(at), Some(SqlKind::End | SqlKind::Mark(b'(' | b')' | b',')));
            if !is_joined {
                return at;
            }
        }
    }

    /// Whether names, separated by commas, follow from here on, and then an end or a word that can follow them.
    fn fits_to_its_end(&self, from: usize, tails: &[&str]) -> bool {
        if self.is_any(from, NOT_NAMES) {
            return false;
        }
        let mut at = self.after_name(from);
        while self.is_mark(at, b',') {
            at = self.after_name(at + 1 + usize::from(self.is(at + 1, "only")));
        }
        self.spend(at - from);
        self.is_finished(at, tails)
    }

    fn is_finished(&self, at: usize, tails: &[&str]) -> bool {
        match self.kind(at) {
            Some(SqlKind::Word) => self.is_any(at, tails) || self.is_any(at, NEXT_STARTS),
            _ => true,
        }
    }

    /// Whether what follows the name of a table is what follows it in SQL, with another name for it in between.
    fn fits_delete(&self, from: usize) -> bool {
        let after = self.after_name(from + usize::from(self.is(from, "only")));
        if self.is_any(after, &["in"]) && !self.is(after + 1, "partition") {
            return false;
        }
        if self.is_finished(after, DELETE_TAILS) {
            return true;
        }
        let named = after + usize::from(self.is(after, "as"));
        self.is_name(named) && self.is_finished(named + 1, DELETE_TAILS) && !self.is(named + 1, "in")
    }

    fn spend(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_sub(steps));
    }

    /// `EXPLAIN` shows what would be done; with `ANALYZE` it does it.
    fn is_only_explained(&self, first: usize) -> bool {
        if !self.is_any(first, &["explain", "describe", "desc"]) {
            return false;
        }
        !(first + 1..first + 16)
            .take_while(|place| {
                !self.is_any(*place, &["delete", "update", "insert", "select", "with", "merge"])
            })
            .any(|place| self.is_any(place, &["analyze", "analyse"]))
    }

    fn is_definition(&self) -> bool {
        (self.is(0, "create") || self.is(0, "alter"))
            && (1..16).take_while(|place| !self.is_mark(*place, b'(') && !self.is(*place, "as")).any(
                |place| {
                    self.is_any(
                        place,
                        &["function", "procedure", "proc", "trigger", "package", "rule", "macro"],
                    ) && !(self.is(0, "alter") && self.is(1, "table"))
                },
            )
    }

    /// From here to the end of the statement, or of the bracket that this lies in.
    fn scope_end(&self, from: usize) -> usize {
        let mut depth = 0usize;
        for place in from..self.tokens.len() {
            match self.kind(place) {
                Some(SqlKind::Mark(b'(')) => depth += 1,
                Some(SqlKind::Mark(b')')) if depth == 0 => {
                    self.spend(place - from);
                    return place;
                }
                Some(SqlKind::Mark(b')')) => depth -= 1,
                _ => {}
            }
        }
        self.spend(self.tokens.len().saturating_sub(from));
        self.tokens.len()
    }

    /// The first of these words at the level of `from`.
    fn find(&self, from: usize, end: usize, words: &[&str]) -> Option<usize> {
        let place = self.find_at_level(from, end, words);
        self.spend(place.unwrap_or(end).saturating_sub(from));
        place
    }

    fn find_at_level(&self, from: usize, end: usize, words: &[&str]) -> Option<usize> {
        let mut depth = 0usize;
        for place in from..end {
            match self.kind(place) {
                Some(SqlKind::Mark(b'(')) => depth += 1,
                Some(SqlKind::Mark(b')')) => depth = depth.saturating_sub(1),
                Some(SqlKind::Word) if depth == 0 && self.is_any(place, words) => return Some(place),
                _ => {}
            }
        }
        None
    }

    fn hit(&self, found: &mut Findings, kind: &'static str, from: usize, end: usize) {
        let start = self.tokens.get(from).map_or(0, |token| token.start);
        let last =
            self.tokens.get(end.max(from + 1).min(self.tokens.len()) - 1).map_or(start, |token| token.end);
        found.hit(kind, start, last);
    }
}
