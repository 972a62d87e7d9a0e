//! What one statement does.

use std::cell::Cell;

use super::lex::{Kind, Lexer, Token};
use super::rules::{DROP_MODIFIERS, DROPPED, FUNCTIONS, MIGHTY_ROLES, RUNNERS};
use super::{Findings, start, truth};
use crate::shell::decode;

/// Each verb may read to the end of its statement. A statement of very many verbs is given up: nobody writes it.
const STEPS_FOR_EACH_TOKEN: usize = 16;

/// Looks at one statement: its tokens without the one that ends it.
pub(super) fn look(text: &str, tokens: &[Token], found: &mut Findings) {
    let statement = Statement::new(text, tokens);
    let first = tokens.iter().position(|token| token.kind != Kind::Mark(b'(')).unwrap_or(0);
    if statement.is_only_explained(first) || statement.is_definition() {
        return;
    }
    statement.whole(first, found);
    for place in 0..tokens.len() {
        if tokens.get(place).is_some_and(|token| token.kind == Kind::Word) {
            statement.verb(place, first, found);
            if statement.steps.get() == 0 {
                statement.hit(found, "sql-unreadable", first, tokens.len());
                return;
            }
        }
    }
}

/// The strings of a statement are run: `SELECT 'DROP TABLE ' || t FROM x \gexec`.
pub(super) fn run_strings(text: &str, tokens: &[Token], found: &mut Findings) {
    Statement::new(text, tokens).strings(0, tokens.len(), found);
}

/// Whether a statement defines code that runs later: its body is no deed.
pub(super) fn is_definition(text: &str, tokens: &[Token]) -> bool {
    Statement::new(text, tokens).is_definition()
}

struct Statement<'a> {
    text: &'a str,
    tokens: &'a [Token],
    /// How many tokens may still be read.
    steps: Cell<usize>,
    /// It begins as SQL does: another statement may follow in it without a mark between them.
    is_sql: bool,
}

/// Words that may follow the names of what a statement drops or empties. Any other word makes it prose.
const TAILS: &[&str] = &[
    "and",
    "by",
    "cascade",
    "constraints",
    "continue",
    "contents",
    "datafiles",
    "delay",
    "drop",
    "for",
    "force",
    "from",
    "identity",
    "if",
    "immediate",
    "including",
    "keep",
    "no",
    "nowait",
    "on",
    "online",
    "partition",
    "permanently",
    "purge",
    "restart",
    "restrict",
    "returning",
    "reuse",
    "settings",
    "storage",
    "sync",
    "using",
    "wait",
    "with",
];

/// Words that may follow the name of a table whose rows are deleted.
const DELETE_TAILS: &[&str] = &[
    "allow",
    "cross",
    "for",
    "from",
    "full",
    "if",
    "in",
    "inner",
    "join",
    "left",
    "limit",
    "natural",
    "offset",
    "option",
    "order",
    "output",
    "outer",
    "partition",
    "returning",
    "right",
    "settings",
    "tablesample",
    "using",
    "where",
    "with",
];

/// Words that may start the next statement, or end the block that this one stands in.
const NEXT: &[&str] = &[
    "alter",
    "begin",
    "call",
    "catch",
    "commit",
    "create",
    "declare",
    "delete",
    "drop",
    "else",
    "elseif",
    "elsif",
    "end",
    "exception",
    "exec",
    "execute",
    "explain",
    "go",
    "grant",
    "insert",
    "merge",
    "print",
    "raiserror",
    "return",
    "revoke",
    "rollback",
    "select",
    "set",
    "shutdown",
    "truncate",
    "update",
    "use",
    "values",
    "waitfor",
    "when",
    "while",
];

impl<'a> Statement<'a> {
    fn new(text: &'a str, tokens: &'a [Token]) -> Self {
        let first = tokens.iter().position(|token| token.kind != Kind::Mark(b'(')).unwrap_or(0);
        Statement {
            text,
            tokens,
            steps: Cell::new(STEPS_FOR_EACH_TOKEN * tokens.len() + 4096),
            is_sql: start::begins_as_sql(text, tokens.get(first..).unwrap_or_default()),
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

    /// The place after a name with its parts: `a.b.c`, `{{ name }}`, `@x`.
    fn after_name(&self, mut at: usize) -> usize {
        if self.is_mark(at, b'{')
            || self.is_mark(at, b'<')
            || self.is_mark(at, b'%')
            || self.is_mark(at, b'$')
        {
            // A placeholder stands for the name.
            while at < self.tokens.len() && !self.is_any(at, TAILS) && !self.is_any(at, NEXT) {
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
                && !matches!(self.kind(at), Some(Kind::End | Kind::Mark(b'(' | b')' | b',')));
            if !is_joined {
                return at;
            }
        }
    }

    /// Whether names, separated by commas, stand from here on, and then an end or a word that may follow them.
    fn fits_to_its_end(&self, from: usize, tails: &[&str]) -> bool {
        if self.is_any(from, start::NO_NAMES) {
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
            Some(Kind::Word) => self.is_any(at, tails) || self.is_any(at, NEXT),
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

    fn spelling(&self, place: usize) -> &'a str {
        self.tokens.get(place).and_then(|token| self.text.get(token.start..token.end)).unwrap_or("")
    }

    fn kind(&self, place: usize) -> Option<Kind> {
        self.tokens.get(place).map(|token| token.kind)
    }

    fn is(&self, place: usize, word: &str) -> bool {
        self.kind(place) == Some(Kind::Word) && self.spelling(place).eq_ignore_ascii_case(word)
    }

    fn is_any(&self, place: usize, words: &[&str]) -> bool {
        self.kind(place) == Some(Kind::Word)
            && words.iter().any(|word| self.spelling(place).eq_ignore_ascii_case(word))
    }

    fn is_mark(&self, place: usize, mark: u8) -> bool {
        self.kind(place) == Some(Kind::Mark(mark))
    }

    /// Whether the token before is one of these words.
    fn follows(&self, place: usize, words: &[&str]) -> bool {
        place.checked_sub(1).is_some_and(|before| self.is_any(before, words))
    }

    fn is_name(&self, place: usize) -> bool {
        matches!(self.kind(place), Some(Kind::Word | Kind::Quoted | Kind::Variable))
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
                Some(Kind::Mark(b'(')) => depth += 1,
                Some(Kind::Mark(b')')) if depth == 0 => {
                    self.spend(place - from);
                    return place;
                }
                Some(Kind::Mark(b')')) => depth -= 1,
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
                Some(Kind::Mark(b'(')) => depth += 1,
                Some(Kind::Mark(b')')) => depth = depth.saturating_sub(1),
                Some(Kind::Word) if depth == 0 && self.is_any(place, words) => return Some(place),
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

    /// What depends on the first word of the statement.
    fn whole(&self, first: usize, found: &mut Findings) {
        let end = self.tokens.len();
        if self.is(first, "alter") {
            self.alter(first, found);
        } else if self.is(first, "create")
            && let Some(table) = (first + 1..first + 8).find(|place| self.is(*place, "table"))
        {
            self.create_table(first, table, found);
        } else if self.is(first, "match") && self.is_mark(first + 1, b'(') {
            self.graph(first, found);
        } else if self.is(first, "purge")
            && self.is_any(first + 1, &["recyclebin", "dba_recyclebin", "table", "tablespace"])
            && self.fits_to_its_end(first + 1 + usize::from(self.is(first + 1, "table")), &["user"])
        {
            self.hit(found, "sql-purge", first, end);
        } else if self.is(first, "rename") && self.is_any(first + 1, &["table", "tables"]) {
            let to = self.find(first + 2, end, &["to"]);
            if to.is_some_and(|to| to <= first + 8 && self.fits_to_its_end(to + 1, &[])) {
                self.hit(found, "sql-rename", first, end);
            }
        } else if self.is(first, "create") && self.is_any(first + 1, &["role", "user", "login"]) {
            if self.find(first, end, &["superuser"]).is_some() {
                self.hit(found, "sql-grant-wide", first, end);
            }
        } else if self.is(first, "do") {
            self.strings(first + 1, end, found);
        } else if self.is(first, "shutdown") {
            let is_alone = end == first + 1
                || self
                    .is_any(first + 1, &["with", "immediate", "abort", "normal", "transactional", "compact"]);
            if is_alone {
                self.hit(found, "sql-stop-server", first, end);
            }
        } else if (self.is(first, "reset") && self.is_any(first + 1, &["master", "binary"]))
            || (self.is(first, "purge") && self.is_any(first + 1, &["binary", "master"]))
        {
            self.hit(found, "sql-stop-server", first, end);
        } else if self.is(first, "kill")
            && (self.kind(first + 1) == Some(Kind::Number)
                || self.is_any(first + 1, &["query", "connection", "hard", "soft"]))
        {
            self.hit(found, "sql-kill-session", first, end);
        } else if (self.is(first, "insert") && self.is(first + 1, "overwrite"))
            || (self.is(first, "restore")
                && self.is(first + 1, "database")
                && self.find(first, end, &["replace"]).is_some())
        {
            self.hit(found, "sql-overwrite", first, end);
        } else if self.is_any(first, &["set", "declare", "select"]) || self.is_mark(first + 1, b':') {
            self.remember_strings(first, found);
        }
    }

    /// `CREATE TEMP TABLE x` is the text's own to drop. `CREATE OR REPLACE TABLE` is how warehouses are built, every day.
    fn create_table(&self, first: usize, table: usize, found: &mut Findings) {
        let has = |word: &str| (first..table).any(|place| self.is(place, word));
        if !(first + 1..table).all(|place| self.is_any(place, DROP_MODIFIERS)) {
            return;
        }
        if has("temp") || has("temporary") || has("volatile") {
            let name = table + 1 + if self.is(table + 1, "if") { 3 } else { 0 };
            let name = self.tokens.get(name).map_or("", |token| Lexer::content(self.text, *token));
            found.note_temporary(name);
        }
    }

    /// Cypher: `MATCH (n) DETACH DELETE n`.
    fn graph(&self, first: usize, found: &mut Findings) {
        let end = self.tokens.len();
        let deletes = self.find(first, end, &["delete"]);
        let is_narrow = |delete: usize| {
            self.find(first, delete, &["where", "limit"]).is_some()
                || (first..delete).any(|place| self.is_mark(place, b'{'))
        };
        if deletes.is_some_and(|delete| self.is_name(delete + 1) && !is_narrow(delete)) {
            self.hit(found, "sql-graph-delete", first, end);
        }
    }

    fn alter(&self, first: usize, found: &mut Findings) {
        let end = self.tokens.len();
        if self.is_any(first + 1, &["role", "user", "login", "group"]) {
            if self.find(first, end, &["superuser"]).is_some() {
                self.hit(found, "sql-grant-wide", first, end);
            }
            return;
        }
        if self.is(first + 1, "default") {
            return;
        }
        if !self.is_sql && !self.is(first + 1, "table") {
            return;
        }
        // Whatever stands where a clause starts: after the name, or after a comma.
        let mut drops = false;
        let mut at = first + 2;
        while let Some(place) = self.find(at, end, &["drop"]).filter(|_| !drops) {
            let holds_tables = self.is_any(first + 1, &["publication", "extension", "subscription", "share"]);
            // `ALTER COLUMN a DROP NOT NULL` takes no value away.
            let of_column = place >= 2 && self.is_any(place - 2, &["alter", "column"]);
            let is_property =
                of_column && self.is_any(place + 1, &["not", "default", "identity", "expression"]);
            drops =
                !is_property && (holds_tables || !self.is_any(place + 1, &["table", "database", "schema"]));
            at = place + 1;
        }
        let disabled = self.find(first + 2, end, &["disable", "force"]);
        let is_unprotected = disabled.is_some_and(|place| {
            (self.is(place, "disable") || self.follows(place, &["no"])) && self.is(place + 1, "row")
                || self.is(place, "disable")
                    && self.is(place + 1, "trigger")
                    && self.is_any(place + 2, &["all", "user"])
        });
        if is_unprotected {
            self.hit(found, "sql-protection-off", first, end);
        }
        if drops {
            self.hit(found, "sql-alter-drop", first, end);
        }
        let truncated = self.find(first + 2, end, &["truncate"]);
        if truncated.is_some_and(|place| self.is_any(place + 1, &["partition", "subpartition"])) {
            self.hit(found, "sql-truncate", first, end);
        }
        // ClickHouse deletes and updates by ALTER.
        if let Some(place) = self.find(first + 2, end, &["delete", "update"]) {
            let is_condition = self.find(place, end, &["where"]).is_some_and(|place| {
                truth::is_always_true(self.text, self.tokens.get(place + 1..end).unwrap_or_default())
            });
            if is_condition && !self.follows(place, &["on", "after", "before"]) {
                self.hit(
                    found,
                    if self.is(place, "delete") { "sql-delete-all" } else { "sql-update-all" },
                    first,
                    end,
                );
            }
        }
    }

    /// What a word starts, wherever it stands in the statement.
    fn verb(&self, place: usize, first: usize, found: &mut Findings) {
        let word = self.spelling(place);
        let is_first = place == first;
        let is_start = || self.may_start(place, first);
        // Most words are names: their length and first letter tell that quickly.
        match (word.len(), word.as_bytes().first().map(u8::to_ascii_lowercase)) {
            (4, Some(b'd')) if self.is(place, "drop") && is_start() => self.drop(place, is_first, found),
            (4, Some(b'e')) if self.is(place, "exec") => self.execute(place, found),
            (4, Some(b'i')) if self.is(place, "into") => {
                if self.is_any(place + 1, &["outfile", "dumpfile"])
                    && self.kind(place + 2) == Some(Kind::Text)
                {
                    self.hit(found, "sql-server-file", place, place + 3);
                }
            }
            (4, Some(b'c')) if self.is(place, "copy") && is_first => self.copy(place, found),
            (5, Some(b'g')) if self.is(place, "grant") && is_start() => self.grant(place, first, found),
            (6, Some(b'd')) if self.is(place, "delete") && is_start() => self.delete(place, is_first, found),
            (6, Some(b'u')) if self.is(place, "update") && is_start() => self.update(place, found),
            (6, Some(b'r')) if self.is(place, "revoke") && is_first => {
                if self.is(place + 1, "all") {
                    self.hit(found, "sql-revoke-all", place, self.tokens.len());
                }
            }
            (7, Some(b'e')) if self.is(place, "execute") => self.execute(place, found),
            (7, Some(b'p')) if self.is(place, "prepare") && is_first => self.execute(place, found),
            (8, Some(b't')) if self.is(place, "truncate") && is_start() => {
                self.truncate(place, is_first, found)
            }
            (11, Some(b'x')) if self.is(place, "xp_cmdshell") => {
                self.hit(found, "sql-server-command", place, self.scope_end(place));
                if let Some(token) = self.tokens.get(place + 1).filter(|token| token.kind == Kind::Text) {
                    found.command(unquote(self.text, *token), *token);
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
        if let Some((_, kind)) = FUNCTIONS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name)) {
            self.hit(found, kind, place, self.scope_end(place + 2));
            if let (true, Some(token)) =
                (word.len() > 4 && word.as_bytes().starts_with(b"sys_"), self.tokens.get(place + 2))
            {
                found.command(unquote(self.text, *token), *token);
            }
        }
        let is_runner = RUNNERS.iter().any(|name| word.eq_ignore_ascii_case(name));
        if is_runner {
            self.strings(place + 1, self.tokens.len(), found);
            found.look_into_remembered();
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
        while self.is_any(at, DROP_MODIFIERS) && at < place + 8 {
            is_temporary |= self.is_any(at, &["temp", "temporary"]);
            at += 1;
        }
        let row = DROPPED.iter().find(|(name, _)| self.is(at, name));
        let kind = match row {
            Some((_, kind)) => *kind,
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
        let fits = found.span.is_some() || self.is(at, "operator") || self.fits_to_its_end(name, TAILS);
        if !is_first && !self.is_name(name) || !fits {
            return;
        }
        let spelling =
            self.tokens.get(name).map_or("", |token| Lexer::content(self.text, *token)).to_ascii_lowercase();
        is_temporary |= spelling.starts_with(['#', '@'])
            || ["tmp", "temp"].iter().any(|mark| {
                spelling == *mark || spelling.strip_prefix(mark).is_some_and(|rest| rest.starts_with('_'))
            });
        is_temporary |= found.is_temporary(&spelling);
        let kind = if kind == "sql-drop-table" && is_temporary { "sql-drop-temporary-table" } else { kind };
        self.hit(found, kind, place, self.scope_end(place));
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
        if (is_table || is_named) && (found.span.is_some() || self.fits_to_its_end(name, TAILS)) {
            self.hit(found, "sql-truncate", place, self.scope_end(place));
        }
    }

    /// A statement may start after these, inside of others.
    fn opens_statement(&self, place: usize) -> bool {
        place == 0
            || self.follows(place, &["begin", "then", "else", "loop", "do", "as", "try", "catch", "atomic"])
            || self.is_mark(place - 1, b'(')
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
        let Some(condition) = condition else {
            return false;
        };
        let after = [
            "returning",
            "order",
            "limit",
            "option",
            "select",
            "insert",
            "drop",
            "exec",
            "execute",
            "union",
            "output",
            "end",
            "go",
        ];
        let end = self.find(condition + 1, end, &after).unwrap_or(end);
        // A WHERE without anything after it is broken, and no harm.
        end == condition + 1
            || !truth::is_always_true(self.text, self.tokens.get(condition + 1..end).unwrap_or_default())
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
        let value = (column..end).find(|place| !matches!(self.kind(*place), Some(Kind::Mark(_))))?;
        let operator: String = (column..value).map(|place| self.spelling(place)).collect();
        let is_nothing = match self.kind(value) {
            Some(Kind::Number) => matches!(self.spelling(value), "0" | "1"),
            Some(Kind::Text) => {
                self.tokens.get(value).is_some_and(|token| Lexer::content(self.text, *token).is_empty())
            }
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
        let Some(set) = self.find(place + 1, end.min(place + 64), &["set"]) else {
            return;
        };
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
        let Some(to) = self.find(place + 1, end, &["to"]) else {
            return;
        };
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
        } else if is_public || (on.is_none() && (place + 1..to).any(|role| self.is_any(role, MIGHTY_ROLES))) {
            self.hit(found, "sql-grant-wide", place, end);
        }
    }

    fn copy(&self, place: usize, found: &mut Findings) {
        let program = self.find(place + 1, self.tokens.len(), &["program"]);
        let Some(program) = program.filter(|program| self.follows(*program, &["to", "from"])) else {
            return;
        };
        self.hit(found, "sql-copy-program", place, self.tokens.len());
        if let Some(token) = self.tokens.get(program + 1).filter(|token| token.kind == Kind::Text) {
            found.command(unquote(self.text, *token), *token);
        }
    }

    /// `EXECUTE '…'`, `EXEC(@s)`, `EXECUTE IMMEDIATE '…'`, `PREPARE p FROM '…'`.
    fn execute(&self, place: usize, found: &mut Findings) {
        if self.is_any(place + 1, &["function", "procedure", "on"]) {
            return;
        }
        let end = self.scope_end(place + 1);
        self.strings(place + 1, end, found);
        let uses_variable = (place + 1..end).any(|place| self.kind(place) == Some(Kind::Variable));
        if uses_variable || self.is(place + 1, "immediate") {
            found.look_into_remembered();
        }
    }

    /// The strings of some tokens, joined as `||`, `+` and `CONCAT` join them, are run.
    fn strings(&self, from: usize, end: usize, found: &mut Findings) {
        if let Some((code, start, end)) = self.joined(from, end) {
            found.look_into(&code, start, end);
        }
    }

    fn remember_strings(&self, first: usize, found: &mut Findings) {
        let assigns = (first..self.tokens.len().min(first + 12)).any(|place| self.is_mark(place, b'='));
        let has_variable = self.is_any(first, &["declare"])
            || (first..self.tokens.len().min(first + 4))
                .any(|place| self.kind(place) == Some(Kind::Variable))
            || self.is_mark(first + 1, b':');
        if assigns
            && has_variable
            && let Some(joined) = self.joined(first, self.tokens.len())
        {
            found.remember(joined);
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
                Kind::Text => unquote(self.text, *token),
                // Some dialects take double quotes for strings.
                Kind::Quoted if self.text.as_bytes().get(token.start) == Some(&b'"') => {
                    unquote(self.text, *token)
                }
                Kind::Number => match Some(self.text.get(token.start..token.end)?)
                    .filter(|text| text.len() > 8 && text.starts_with("0x"))
                    .and_then(decode::hex)
                {
                    Some(text) => text,
                    None => continue,
                },
                Kind::Mark(b'(') => {
                    brackets.push(std::mem::take(&mut is_concat));
                    continue;
                }
                Kind::Mark(b')') => {
                    brackets.pop();
                    continue;
                }
                Kind::Mark(b',') if brackets.last() == Some(&true) => continue,
                Kind::Mark(b',') => {
                    code.push(';');
                    continue;
                }
                Kind::Word if self.text.get(token.start..token.end)?.eq_ignore_ascii_case("concat") => {
                    is_concat = true;
                    continue;
                }
                Kind::Mark(_) => continue,
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
pub(super) fn unquote(text: &str, token: Token) -> String {
    let content = Lexer::content(text, token);
    match text.as_bytes().get(token.start) {
        Some(b'$') => content.to_owned(),
        Some(b'"') => content.replace("\"\"", "\""),
        _ => content.replace("''", "'"),
    }
}
