//! What databases in a file do beyond their tables, because they run within the program of their user: they start editors and
//! commands, load machine code, and write files.

use midrail_core::OpaqueKind;

use super::super::invocation::Arg;
use super::super::scope::Scope;
use super::state::{Listed, Walk};
use crate::words::sql::{DUCKDB_EXTENSIONS, FILE_DATABASES};

/// No more calls, texts and statements of one text are looked at.
const MOST: usize = 64;

impl Walk {
    /// Follows what a text of statements does to this machine.
    pub(super) fn file_database(&mut self, program: &str, text: &str, scope: &Scope) {
        if !FILE_DATABASES.contains(program) {
            return;
        }
        let text = &without_comments(text);
        for line in text.lines().map(str::trim).take(MOST) {
            self.database_command(line, scope);
        }
        for (arguments, _) in calls(text, "edit").take(MOST) {
            self.edited(arguments, scope);
        }
        if program == "duckdb" {
            text.split(';').take(MOST).for_each(|statement| self.duckdb_statement(statement.trim(), scope));
        }
    }

    /// A command of the client: `.load ./x`, `.once -x`.
    fn database_command(&mut self, line: &str, scope: &Scope) {
        let mut words = line.split_whitespace();
        let (name, first) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        // Names may be shortened.
        let is = |whole: &str| name.len() > 2 && whole.starts_with(name);
        let opens = |option: &str| matches!(option, "-x" | "-e" | "-w");
        match name {
            _ if is(".load") => self.loads_library(first.trim_matches(['\'', '"']), scope),
            // Both open what they print in a program of the user.
            _ if is(".excel") || is(".www") || is(".edit") => self.hide(OpaqueKind::Dynamic, name),
            _ if (is(".once") || is(".output")) && opens(first) => {
                self.hide(OpaqueKind::Dynamic, name);
            }
            _ => {}
        }
    }

    /// `edit(value, 'command')` runs the command, and `edit(value)` the editor of the user.
    fn edited(&mut self, arguments: &str, scope: &Scope) {
        let parts: Vec<&str> =
            literals(arguments).filter(|(_, before)| before.contains(',')).map(|(text, _)| text).collect();
        self.run(&format!("{} /tmp/value", parts.concat()), scope);
        let is_shown = matches!(parts.as_slice(), [only] if arguments.trim_end().ends_with(&format!(",'{only}'"))
            || arguments.trim_end().ends_with(&format!(", '{only}'")));
        if !is_shown {
            self.opaque_command("the statement starts an editor that it does not name", "edit()");
        }
    }

    /// `LOAD`, `INSTALL`, `COPY … TO 'file'`, `EXPORT DATABASE 'folder'`, and commands in names of files: `'cmd |'`.
    fn duckdb_statement(&mut self, statement: &str, scope: &Scope) {
        let lower = statement.to_ascii_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        match words.as_slice() {
            ["install", name, ..] | ["force", "install", name, ..] => self.hide(OpaqueKind::Install, name),
            ["load", name, ..] => {
                let name = name.trim_matches(['\'', '"']);
                if !DUCKDB_EXTENSIONS.contains(name) {
                    self.loads_library(name, scope);
                }
            }
            _ => {}
        }
        let writes = matches!(words.first(), Some(&"copy" | &"export"));
        for (text, before) in literals(statement).take(MOST) {
            let text = text.trim();
            let before = before.trim_end().to_ascii_lowercase();
            if let Some(command) = text.strip_prefix('|').or_else(|| text.strip_suffix('|')) {
                self.run(command, scope);
            } else if writes && (before.ends_with(" to") || before.ends_with("database")) && !scope.is_remote
            {
                self.note(Listed::Write, &scope.place(text));
                self.judge_redirection(&Arg::known(text), false, scope);
            }
        }
    }

    /// Machine code becomes a part of the program.
    fn loads_library(&mut self, file: &str, scope: &Scope) {
        if !file.is_empty() && !scope.is_remote {
            self.hide(OpaqueKind::Script, file);
        }
    }
}

/// A text of statements without `/* … */`.
fn without_comments(text: &str) -> String {
    let mut pieces = text.split("/*");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once("*/") {
            Some((_, rest)) => plain.extend([" ", rest]),
            None => plain.extend(["/*", piece]),
        }
    }
    plain
}

/// What calls of a function are given, outside of texts in quotes, and what is before each.
fn calls<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let places = text.char_indices().filter_map(|(at, _)| {
        let found = text.get(at..at + name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name));
        found.then_some(at)
    });
    places.filter_map(move |at| {
        let before = text.get(..at)?;
        let is_code = before.matches('\'').count() % 2 == 0 && !before.ends_with(is_name);
        let rest = text.get(at + name.len()..)?.trim_start().strip_prefix('(').filter(|_| is_code)?;
        Some((rest.get(..end_of_call(rest))?, before))
    })
}

/// Where the arguments of a call end.
fn end_of_call(rest: &str) -> usize {
    let (mut depth, mut is_text) = (0_usize, false);
    for (at, letter) in rest.char_indices() {
        match letter {
            '\'' => is_text = !is_text,
            '(' if !is_text => depth += 1,
            ')' if !is_text && depth == 0 => return at,
            ')' if !is_text => depth -= 1,
            _ => {}
        }
    }
    rest.len()
}

/// The texts in single quotes, each with what is before it.
fn literals(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut quotes = text.match_indices('\'').map(|(at, _)| at);
    std::iter::from_fn(move || {
        let (open, close) = (quotes.next()?, quotes.next()?);
        Some((text.get(open + 1..close)?, text.get(..open)?))
    })
}
