//! Clients of databases, and the statements that they are given.

use midrail_core::{Danger, Severity};

use super::super::danger;
use super::super::invocation::{Arg, Input, Invocation};
use super::super::options::Arguments;
use super::super::programs::Client;
use super::super::scope::Scope;
use super::state::{Listed, MAX_DEPTH, ProgramCall, Source, Stream, Walk};
use crate::sql;
use crate::words::sql::{BEYOND_TABLES, INCLUDES, OTHER_DATABASES};

/// The files that lines name after such a word.
fn included<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = &'t str> {
    let files = text.split(['\n', ';']).filter_map(move |line| line.trim_start().strip_prefix(word));
    files.map(|file| file.trim().trim_matches(['\'', '"'])).filter(|file| !file.is_empty()).take(16)
}

/// How much the content of a database matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// It must be kept.
    Kept,
    /// It belongs to tests: `psql app_test -c 'truncate users'`. Its user decides.
    OfTests,
    /// Nothing is lost: the database is in memory or in a temporary folder (`sqlite3 :memory: 'drop table t'`).
    Spare,
}

impl Content {
    /// Of the database of a call, if it is the only one.
    fn of(invocation: &Invocation, sorted: &Arguments<'_>, input: &Stream) -> Self {
        let names_other = |text: &str| {
            let text = text.to_ascii_lowercase();
            OTHER_DATABASES.iter().any(|word| text.contains(word))
        };
        let reads = input.text.as_ref().map_or("", |text| text.text.as_str());
        if names_other(reads) || invocation.args.iter().any(|arg| names_other(&arg.text)) {
            return Content::Kept;
        }
        let is_file = matches!(invocation.program.as_str(), "sqlite3" | "sqlite" | "duckdb");
        let named = sorted.values_of(&["-d", "--dbname", "-D", "--database"]).last();
        match named.or(sorted.operands.first().copied()) {
            None if is_file => Content::Spare,
            Some(file) if is_file && matches!(file.text.as_str(), ":memory:" | "") => Content::Spare,
            Some(file) if is_file && danger::is_temporary(file, &invocation.folder) => Content::Spare,
            Some(name) if is_test_name(&name.text) => Content::OfTests,
            _ => Content::Kept,
        }
    }
}

/// Whether a database, or an address of one, is named as one for tests: `app_test`, `postgres://host/test`.
fn is_test_name(name: &str) -> bool {
    let name = name.split('?').next().unwrap_or_default();
    let last = name.rsplit('/').next().unwrap_or_default();
    last.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| matches!(word, "test" | "tests" | "testing"))
}

impl Walk {
    pub(super) fn client(
        &mut self,
        client: &Client,
        call: ProgramCall<'_>,
        scope: &mut Scope,
    ) -> Option<Stream> {
        let ProgramCall { invocation, input } = call;
        let sorted = Arguments::new(invocation);
        if let Some(subcommand) = client.subcommand {
            sorted.operands.iter().position(|arg| arg.text == subcommand)?;
        }
        // Nothing can be lost there.
        if sorted.has(&["-readonly", "-safe", "--readonly", "--safe"]) {
            return Some(Stream::printed_by(&invocation.program));
        }
        let content = Content::of(invocation, &sorted, input);
        let program = invocation.program.as_str();
        let mut has_statement = false;
        for value in sorted.values_of(client.statements) {
            has_statement = true;
            self.file_database(program, &value.text, scope);
            self.statements_for(&value.text, scope, content);
        }
        for file in sorted.values_of(client.files) {
            has_statement = true;
            self.statement_file(file, scope);
        }
        if let Some(from) = client.operand {
            for operand in sorted.operands.iter().skip(from) {
                has_statement = true;
                self.file_database(program, &operand.text, scope);
                self.statements_for(&operand.text, scope, content);
            }
        }
        match (has_statement, &input.text, &input.source) {
            (false, Some(text), _) => {
                self.file_database(program, &text.text, scope);
                self.statements_for(&text.text, scope, content);
            }
            (false, None, Source::File(file)) => self.note(Listed::Script, file),
            _ => {}
        }
        Some(Stream::printed_by(&invocation.program))
    }

    /// The files of a client that speaks no SQL: `mongosh app file.js`, `redis-cli < file`.
    pub(super) fn other_client(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        if let (None, Source::File(file)) = (&input.text, &input.source) {
            self.note(Listed::Script, file);
        }
        let sorted = Arguments::new(invocation);
        let operands = sorted.operands.iter().copied();
        let scripts = operands.filter(|file| file.text.ends_with(".js") || file.text.ends_with(".mongodb"));
        let named = sorted.values_of(&["-f", "--file"]).filter(|_| invocation.program.starts_with("mongo"));
        for file in scripts.chain(named) {
            if let Some(text) = self.obeyed_text(file, scope) {
                let read = Invocation { input: Input::Text(text.text), ..invocation.clone() };
                self.judge_with_files(&read, scope);
            }
        }
    }

    /// The text of a file that a database obeys, where it is known.
    fn obeyed_text(&mut self, file: &Arg, scope: &Scope) -> Option<Arg> {
        let stream = self.obeyed_file(file, scope);
        if stream.text.is_none() && stream.source == Source::Remote {
            self.remote_code("a database does what comes from the network", &file.text);
        }
        stream.text
    }

    /// A file of statements.
    fn statement_file(&mut self, file: &Arg, scope: &Scope) {
        if self.depth >= MAX_DEPTH {
            return;
        }
        self.depth += 1;
        if let Some(text) = self.obeyed_text(file, scope) {
            self.statements(&text.text, scope);
        }
        self.depth -= 1;
    }

    /// Statements of SQL.
    pub(super) fn statements(&mut self, text: &str, scope: &Scope) {
        self.statements_for(text, scope, Content::Kept);
    }

    /// Statements for a database.
    fn statements_for(&mut self, text: &str, scope: &Scope, content: Content) {
        self.spend(10 + text.len() / 8);
        if self.is_exhausted() {
            return;
        }
        for hit in sql::scan(text) {
            if content == Content::Spare && !BEYOND_TABLES.contains(hit.kind) {
                continue;
            }
            let command = super::state::shorten(text.get(hit.start..hit.end).unwrap_or(text));
            let (start, end) = self.span;
            let mut danger = Danger { command, start, end, ..sql::danger(text, &hit) };
            if content == Content::OfTests && matches!(hit.kind, "sql-truncate" | "sql-delete-all") {
                danger.severity = danger.severity.min(Severity::Medium);
            }
            self.add_danger(danger);
        }
        for file in INCLUDES.iter().filter(|word| text.contains(**word)).flat_map(|word| included(text, word))
        {
            self.statement_file(&Arg::known(file), scope);
        }
        for command in sql::shell_commands(text) {
            self.run(&command, scope);
        }
    }
}
