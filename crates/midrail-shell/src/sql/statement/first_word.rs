//! What the first word of a statement makes of the whole.

use super::Statement;
use crate::sql::condition;
use crate::sql::findings::Findings;
use crate::sql::lex::{Lexer, SqlKind};
use crate::words::places::SERVER_FOLDERS;
use crate::words::sql::MODIFIERS;

impl Statement<'_> {
    /// What depends on the first word of the statement.
    pub(super) fn first_word(&self, first: usize, found: &mut Findings) {
        let end = self.tokens.len();
        let next = first + 1;
        let has = |word: &str| self.find(first, end, &[word]).is_some();
        let kind = match self.spelling(first).to_ascii_lowercase().as_str() {
            // Whether what was made before is still there is not known.
            "rollback" | "abort" | "discard" | "use" | "connect" => return found.temporary.clear(),
            "alter" => return self.alter(first, found),
            "create" => match (next..first + 8).find(|place| self.is(*place, "table")) {
                Some(table) => return self.create_table(first, table, found),
                None if self.is_any(next, &["role", "user", "login"]) && has("superuser") => "sql-grant-wide",
                None => return,
            },
            "match" if self.is_mark(next, b'(') => return self.graph(first, found),
            "purge"
                if self.is_any(next, &["recyclebin", "dba_recyclebin", "table", "tablespace"])
                    && self.fits_to_its_end(next + usize::from(self.is(next, "table")), &["user"]) =>
            {
                "sql-purge"
            }
            "rename" if self.is_any(next, &["table", "tables"]) => {
                let to = self.find(next + 1, end, &["to"]);
                if !to.is_some_and(|to| to <= first + 8 && self.fits_to_its_end(to + 1, &[])) {
                    return;
                }
                "sql-rename"
            }
            "vacuum" => return self.vacuum(first, found),
            "do" => return self.strings(next, end, found),
            "shutdown" => {
                let modes = ["with", "immediate", "abort", "normal", "transactional", "compact"];
                if end != next && !self.is_any(next, &modes) {
                    return;
                }
                "sql-stop-server"
            }
            "reset" | "purge" if self.is_any(next, &["master", "binary"]) => "sql-stop-server",
            "kill"
                if self.kind(next) == Some(SqlKind::Number)
                    || self.is_any(next, &["query", "connection", "hard", "soft"]) =>
            {
                "sql-kill-session"
            }
            "insert" if self.is(next, "overwrite") => "sql-overwrite",
            "restore" if self.is(next, "database") && has("replace") => "sql-overwrite",
            "set" | "declare" | "select" => return self.remember_strings(first, found),
            _ if self.is_mark(next, b':') => return self.remember_strings(first, found),
            _ => return,
        };
        self.hit(found, kind, first, end);
    }

    /// `CREATE TEMP TABLE x` is the text's own to drop. `CREATE OR REPLACE TABLE x` is how warehouses are built.
    fn create_table(&self, first: usize, table: usize, found: &mut Findings) {
        let has = |word: &str| (first..table).any(|place| self.is(place, word));
        if !(first + 1..table).all(|place| self.is_any(place, MODIFIERS)) {
            return;
        }
        let name = table + 1 + if self.is(table + 1, "if") { 3 } else { 0 };
        let spelling = self.content(name);
        let goes_at_commit = (name..self.tokens.len())
            .any(|place| self.is(place, "on") && self.is(place + 1, "commit") && self.is(place + 2, "drop"));
        if (has("temp") || has("temporary") || has("volatile")) && !goes_at_commit {
            found.note_temporary(spelling);
        }
    }

    /// `VACUUM INTO 'file'`: a copy may lie anywhere, but not among the files of the system.
    fn vacuum(&self, first: usize, found: &mut Findings) {
        let into = self.find(first, self.tokens.len(), &["into"]);
        let file = into.and_then(|into| self.tokens.get(into + 1));
        let file = file.map_or("", |token| Lexer::content(self.text, *token));
        if SERVER_FOLDERS.iter().any(|folder| file.starts_with(folder)) {
            self.hit(found, "sql-server-file", first, self.tokens.len());
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
        // Everything where a clause starts: after the name, or after a comma.
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
                condition::is_always_true(self.text, self.tokens.get(place + 1..end).unwrap_or_default())
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
}
