//! What a keyword does, at any place in a statement.

use super::Statement;
use super::strings::unquote;
use crate::sql::condition;
use crate::sql::findings::Findings;
use crate::sql::lex::SqlKind;
use crate::tables::{SQL_FUNCTIONS, SQL_OBJECTS};
use crate::words::sql::{
    AFTER_CONDITION, DELETE_TAILS, DROP_TAILS, KEYWORDS, MODIFIERS, POWERFUL_ROLES, RUNNERS,
};

impl Statement<'_> {
    /// What a word starts, at any place in the statement.
    pub(super) fn keyword(&self, place: usize, first: usize, found: &mut Findings) {
        let is_first = place == first;
        let is_start = || self.may_start(place, first);
        let word = self.spelling(place);
        match KEYWORDS.iter().find(|known| word.eq_ignore_ascii_case(known)).copied().unwrap_or_default() {
            "drop" if is_start() => self.drop(place, is_first, found),
            "exec" | "execute" => self.execute(place, found),
            "prepare" if is_first => self.execute(place, found),
            "into" => {
                if self.is_any(place + 1, &["outfile", "dumpfile"])
                    && self.kind(place + 2) == Some(SqlKind::Text)
                {
                    self.hit(found, "sql-server-file", place, place + 3);
                }
            }
            "copy" if is_first => self.copy(place, found),
            "grant" if is_start() => self.grant(place, first, found),
            "delete" if is_start() => self.delete(place, is_first, found),
            "update" if is_start() => self.update(place, found),
            "revoke" if is_first => {
                if self.is(place + 1, "all") {
                    self.hit(found, "sql-revoke-all", place, self.tokens.len());
                }
            }
            "truncate" if is_start() => self.truncate(place, is_first, found),
            "xp_cmdshell" => {
                self.hit(found, "sql-server-command", place, self.scope_end(place));
                if let Some(token) = self.tokens.get(place + 1).filter(|token| token.kind == SqlKind::Text) {
                    found.command(unquote(self.text, *token));
                }
            }
            _ => self.function(place, found),
        }
    }

    fn function(&self, place: usize, found: &mut Findings) {
        if !self.is_mark(place + 1, b'(') && !self.is(place, "sp_executesql") {
            return;
        }
        let word = self.spelling(place);
        // One object that is named is no more than one row.
        let is_one = word.eq_ignore_ascii_case("lo_unlink")
            && matches!(self.kind(place + 2), Some(SqlKind::Number | SqlKind::Text));
        let rule = SQL_FUNCTIONS.get(&word.to_ascii_lowercase()).filter(|_| !is_one);
        if let Some(kind) = rule {
            self.hit(found, kind, place, self.scope_end(place + 2));
            if let (true, Some(token)) =
                (word.len() > 4 && word.as_bytes().starts_with(b"sys_"), self.tokens.get(place + 2))
            {
                found.command(unquote(self.text, *token));
            }
        }
        let is_runner = RUNNERS.iter().any(|name| word.eq_ignore_ascii_case(name));
        if is_runner {
            self.strings(place + 1, self.tokens.len(), found);
            found.analyse_remembered();
        }
    }

    fn drop(&self, place: usize, is_first: bool, found: &mut Findings) {
        let in_alter = self.is(0, "alter") && !self.is_any(place + 1, &["table", "database", "schema"]);
        let in_list = self.is(0, "alter")
            && self.is_any(1, &["publication", "extension", "subscription", "share", "default"]);
        if in_alter || in_list || self.is(0, "grant") || self.is(0, "revoke") {
            return;
        }
        let mut at = place + 1;
        let mut is_temporary = false;
        while self.is_any(at, MODIFIERS) && at < place + 8 {
            is_temporary |= self.is_any(at, &["temp", "temporary"]);
            at += 1;
        }
        let is_word = self.kind(at) == Some(SqlKind::Word);
        let object = SQL_OBJECTS.get(&self.spelling(at).to_ascii_lowercase()).filter(|_| is_word);
        let kind = match object {
            Some(kind) => *kind,
            None if is_first && self.is_name(at) && self.is_name(at + 1) => "sql-drop-object",
            None => return,
        };
        // In the middle of a statement a name must follow: `drop table` alone may be two columns.
        let mut name = at + 1;
        // `DROP INDEX CONCURRENTLY i`, `DROP EVENT TRIGGER t`, `DROP OPERATOR CLASS c`
        let is_longer = self.is_any(name, &["concurrently", "trigger", "class", "family"])
            && self.is_any(at, &["index", "event", "operator", "view"]);
        name += usize::from(is_longer && self.is_name(name + 1));
        if self.is(name, "if") {
            name += 2;
        }
        if self.is(at, "owned") && self.is(name, "by") {
            name += 1;
        }
        // A string that is run is SQL, with parts that are not known.
        let fits = found.span.is_some() || self.is(at, "operator") || self.fits_to_its_end(name, DROP_TAILS);
        if !is_first && !self.is_name(name) || !fits {
            return;
        }
        let spelling = self.content(name).to_ascii_lowercase();
        let is_named_so = ["tmp", "temp"].iter().any(|mark| {
            spelling == *mark || spelling.strip_prefix(mark).is_some_and(|rest| rest.starts_with('_'))
        });
        // What the text made for itself, and what only its own session sees, goes with the session anyway.
        let is_own = is_temporary || self.are_own(name, found);
        if kind == "sql-drop-table" && is_own {
            found.forget_temporary(&spelling);
            return;
        }
        is_temporary |= is_named_so || spelling.starts_with('@');
        let kind = if kind == "sql-drop-table" && is_temporary { "sql-drop-temporary-table" } else { kind };
        self.hit(found, kind, place, self.scope_end(place));
    }

    /// Whether all tables that are named from here on are temporary ones of this text: `#work`, or made by it.
    pub(super) fn are_own(&self, mut at: usize, found: &Findings) -> bool {
        loop {
            let name = self.content(at);
            let is_own = name.starts_with('#') || found.is_temporary(name);
            if !is_own || self.after_name(at) != at + 1 {
                return false;
            }
            if !self.is_mark(at + 1, b',') {
                return true;
            }
            at += 2;
        }
    }

    fn truncate(&self, place: usize, is_first: bool, found: &mut Findings) {
        if self.is(0, "alter")
            || self.is_any(0, &["grant", "revoke"])
            || self.follows(place, &["on", "before", "after", "or", "for"])
        {
            return;
        }
        let is_table = self.is(place + 1, "table") && (is_first || self.is_name(place + 2));
        let is_named = (is_first || self.opens_statement(place))
            && self.is_name(place + 1)
            && !self.is_any(place + 1, &["on", "to", "from"]);
        let mut name = place + 1 + usize::from(is_table);
        name += usize::from(self.is_any(name, &["only"]));
        name += if self.is(name, "if") { 2 } else { 0 };
        if self.are_own(name, found) {
            return;
        }
        if (is_table || is_named) && (found.span.is_some() || self.fits_to_its_end(name, DROP_TAILS)) {
            self.hit(found, "sql-truncate", place, self.scope_end(place));
        }
    }

    fn delete(&self, place: usize, is_first: bool, found: &mut Findings) {
        if self.is_any(0, &["grant", "revoke", "alter"])
            || self.follows(place, &["on", "for", "or", "before", "after", "of", "instead"])
            || (place > 0 && self.is_mark(place - 1, b','))
        {
            return;
        }
        if self.follows(place, &["then"]) && self.is(0, "merge") || self.is_in_merge(place) {
            if !self.has_condition_before(place) {
                self.hit(found, "sql-merge-delete", place, place + 1);
            }
            return;
        }
        let from = (place + 1..place + 6).find(|place| self.is(*place, "from"));
        let is_bare = (is_first || self.opens_statement(place)) && self.is_name(place + 1);
        if from.is_none() && !is_bare {
            return;
        }
        let end = self.scope_end(place);
        let fits = match from {
            Some(from) => self.fits_delete(from + 1),
            None => self.fits_to_its_end(place + 1, DELETE_TAILS),
        };
        if !fits && found.span.is_none() {
            return;
        }
        if self.are_own(from.unwrap_or(place) + 1, found) {
            return;
        }
        let from = from.unwrap_or(place);
        let condition = self.find(from + 1, end, &["where"]);
        if self.restricts(condition, end) {
            let condition = condition.map_or(end, |place| place + 1);
            if let Some(kind) = self.hardly_restricts(from + 1, condition, end) {
                self.hit(found, kind, place, end);
            }
            return;
        }
        let is_limited =
            self.find(place + 1, end, &["limit", "top", "join", "using"]).is_some() && condition.is_none();
        self.hit(found, if is_limited { "sql-delete-many" } else { "sql-delete-all" }, place, end);
    }

    /// Whether a condition leaves rows out.
    fn restricts(&self, condition: Option<usize>, end: usize) -> bool {
        let Some(condition) = condition else { return false };
        let end = self.find(condition + 1, end, AFTER_CONDITION).unwrap_or(end);
        // A WHERE without anything after it is broken, and no harm.
        end == condition + 1
            || !condition::is_always_true(self.text, self.tokens.get(condition + 1..end).unwrap_or_default())
    }

    /// A condition that leaves out few rows or none, without being plainly true: `id > 0`, `id IN (SELECT id FROM t)`.
    fn hardly_restricts(&self, table: usize, from: usize, end: usize) -> Option<&'static str> {
        let from = (from..end).find(|place| !self.is_mark(*place, b'(')).unwrap_or(end).min(from + 4);
        let end = (from..end).rev().find(|place| !self.is_mark(*place, b')')).map_or(end, |last| last + 1);
        let column = self.after_name(from);
        let name =
            self.spelling(column.saturating_sub(1)).trim_matches(['"', '`', '[', ']']).to_ascii_lowercase();
        let is_key =
            matches!(name.as_str(), "id" | "_id" | "uuid" | "guid" | "rowid" | "_rowid_" | "pk" | "ctid");
        if is_key && self.is(column, "is") && self.is(column + 1, "not") && self.is(column + 2, "null") {
            return (end == column + 3).then_some("sql-delete-nearly-all");
        }
        if self.is(column, "in") && self.is_mark(column + 1, b'(') && self.is(column + 2, "select") {
            let source = self.after_name(column + 3);
            let reads_itself = self.is(source, "from")
                && self.is_same_name(source + 1, table)
                && self.after_name(source + 1) >= end
                && self.spelling(column + 3).eq_ignore_ascii_case(self.spelling(column - 1));
            return reads_itself.then_some("sql-delete-all");
        }
        let is_wide = |mark: usize| matches!(self.spelling(mark), ">" | "<" | "!");
        let value = (column..end).find(|place| !matches!(self.kind(*place), Some(SqlKind::Mark(_))))?;
        let operator: String = (column..value).map(|place| self.spelling(place)).collect();
        let is_nothing = match self.kind(value) {
            Some(SqlKind::Number) => matches!(self.spelling(value), "0" | "1"),
            Some(SqlKind::Text) => self.content(value).is_empty(),
            _ => false,
        };
        let is_wide = is_wide(column)
            && match operator.as_str() {
                ">" | "<>" | "!=" => self.spelling(value) != "1",
                ">=" | ">-" | ">=-" | "<>-" | "!=-" => true,
                _ => false,
            };
        (is_key && is_wide && is_nothing && value + 1 == end).then_some("sql-delete-nearly-all")
    }

    fn is_same_name(&self, one: usize, other: usize) -> bool {
        let (one_end, other_end) = (self.after_name(one), self.after_name(other));
        let last = |end: usize| self.spelling(end.saturating_sub(1)).trim_matches(['"', '`', '[', ']']);
        last(one_end).eq_ignore_ascii_case(last(other_end))
    }

    fn is_in_merge(&self, place: usize) -> bool {
        self.follows(place, &["then"])
            && (place.saturating_sub(12)..place).any(|before| self.is(before, "matched"))
    }

    /// `WHEN MATCHED AND x THEN DELETE`
    fn has_condition_before(&self, place: usize) -> bool {
        let matched = (0..place).rev().take(64).find(|before| self.is(*before, "matched"));
        matched.is_some_and(|matched| self.is(matched + 1, "and"))
    }

    fn update(&self, place: usize, found: &mut Findings) {
        if self.is_any(0, &["grant", "revoke", "alter"])
            || self.follows(
                place,
                &["for", "on", "do", "key", "of", "or", "before", "after", "instead", "matched", "no"],
            )
            || self.is_in_merge(place)
        {
            return;
        }
        let end = self.scope_end(place);
        let Some(set) = self.find(place + 1, end.min(place + 64), &["set"]) else { return };
        if set == place + 1 || self.find(place + 1, set, &["join"]).is_some() {
            return;
        }
        // In prose nothing is set to a value.
        let assigns = (set + 2..end.min(set + 48)).any(|place| self.is_mark(place, b'='));
        if !assigns {
            return;
        }
        let condition = self.find(set + 1, end, &["where"]);
        if !self.restricts(condition, end) {
            self.hit(found, "sql-update-all", place, end);
        }
    }

    fn grant(&self, place: usize, first: usize, found: &mut Findings) {
        if place != first && !self.opens_statement(place) {
            return;
        }
        let end = self.scope_end(place);
        let Some(to) = self.find(place + 1, end, &["to"]) else { return };
        let is_public = self.find(to + 1, end, &["public"]).is_some();
        let hands_on =
            self.find(to + 1, end, &["with"]).is_some_and(|with| self.is_any(with + 1, &["grant", "admin"]));
        let on = self.find(place + 1, to, &["on"]);
        let is_everywhere = on.is_some_and(|on| {
            self.is_mark(on + 1, b'*')
                && (self.is_mark(on + 2, b'.') && self.is_mark(on + 3, b'*') || on + 2 == to)
        });
        let after_all = place + 2 + usize::from(self.is(place + 2, "privileges"));
        if self.is(place + 1, "all") && on.is_none() && after_all != to {
            return;
        }
        if self.is(place + 1, "all") {
            let kind =
                if is_everywhere || is_public || hands_on { "sql-grant-everything" } else { "sql-grant-all" };
            self.hit(found, kind, place, end);
        } else if is_public || (on.is_none() && (place + 1..to).any(|role| self.is_any(role, POWERFUL_ROLES)))
        {
            self.hit(found, "sql-grant-wide", place, end);
        }
    }

    fn copy(&self, place: usize, found: &mut Findings) {
        let program = self.find(place + 1, self.tokens.len(), &["program"]);
        let Some(program) = program.filter(|program| self.follows(*program, &["to", "from"])) else { return };
        self.hit(found, "sql-copy-program", place, self.tokens.len());
        if let Some(token) = self.tokens.get(program + 1).filter(|token| token.kind == SqlKind::Text) {
            found.command(unquote(self.text, *token));
        }
    }
}
