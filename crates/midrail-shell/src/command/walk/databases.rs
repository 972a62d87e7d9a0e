//! Clients of databases, and the statements that they are given.

use midrail_core::Danger;

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

/// Whether a database lies in memory or in a temporary folder, and stays the only one: `sqlite3 :memory: 'drop table t'`.
fn is_spare(invocation: &Invocation, sorted: &Arguments<'_>, input: &Stream) -> bool {
    if !matches!(invocation.program.as_str(), "sqlite3" | "sqlite" | "duckdb") {
        return false;
    }
    let database = sorted.operands.first();
    let is_gone_soon = match database {
        None => true,
        Some(file) => {
            matches!(file.text.as_str(), ":memory:" | "") || danger::is_temporary(file, &invocation.folder)
        }
    };
    let names_other = |text: &str| {
        let text = text.to_ascii_lowercase();
        OTHER_DATABASES.iter().any(|word| text.contains(word))
    };
    let reads = input.text.as_ref().map_or("", |text| text.text.as_str());
    is_gone_soon && !names_other(reads) && !invocation.args.iter().any(|arg| names_other(&arg.text))
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
        let is_spare = is_spare(invocation, &sorted, input);
        let mut has_statement = false;
        for value in sorted.values_of(client.statements) {
            has_statement = true;
            self.statements_for(&value.text, scope, is_spare);
        }
        for file in sorted.values_of(client.files) {
            has_statement = true;
            self.statement_file(file, scope);
        }
        if let Some(from) = client.operand {
            for operand in sorted.operands.iter().skip(from) {
                has_statement = true;
                self.statements_for(&operand.text, scope, is_spare);
            }
        }
        match (has_statement, &input.text, &input.source) {
            (false, Some(text), _) => self.statements_for(&text.text, scope, is_spare),
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
        self.statements_for(text, scope, false);
    }

    /// Statements for a database. The content of a temporary one does not matter.
    fn statements_for(&mut self, text: &str, scope: &Scope, is_spare: bool) {
        self.spend(10 + text.len() / 8);
        if self.is_exhausted() {
            return;
        }
        for hit in sql::scan(text).into_iter().filter(|hit| !is_spare || BEYOND_TABLES.contains(&hit.kind)) {
            let command = super::state::shorten(text.get(hit.start..hit.end).unwrap_or(text));
            let (start, end) = self.span;
            self.add_danger(Danger { command, start, end, ..sql::danger(text, &hit) });
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
