//! What the arguments of a call hold, wherever in them: files, command lines, patches, statements, addresses.

use std::collections::BTreeSet;

use serde_json::Value;

use super::names::file_ending;
use crate::command::invocation::quoted;
use crate::words::tools::{
    ADDRESS_ARGS, CODE_ARGS, COMMAND_ARGS, LANGUAGE_ARGS, PATCH_ARGS, PATH_ARGS, PATH_LIST_ARGS,
    PROGRAM_ARGS, PROGRAM_TOOLS, QUERY_ARGS, STATEMENT_ARGS, TYPED_ARGS, WORD_LIST_ARGS,
};

/// The most files that one call may name.
pub(super) const MAX_TARGETS: usize = 10_000;

/// How deep arguments are read.
const MAX_DEPTH: usize = 64;

/// What the arguments of a call hold.
#[derive(Default)]
pub(super) struct Args<'a> {
    /// Files, each once, in order.
    pub(super) files: Vec<String>,
    known: BTreeSet<String>,
    /// Command lines, as a shell would be given them.
    pub(super) commands: Vec<String>,
    /// The first of them whose program and arguments are separate.
    pub(super) split: Option<String>,
    /// What is typed into a program that runs.
    pub(super) typed: Vec<&'a str>,
    pub(super) codes: Vec<&'a str>,
    /// Texts that may be patches, and whether they may as well be command lines.
    pub(super) patches: Vec<(&'a str, bool)>,
    /// Statements, and whether they may as well be people's words.
    pub(super) statements: Vec<(&'a str, bool)>,
    pub(super) addresses: Vec<&'a str>,
    /// There is more than Midrail reads.
    pub(super) is_too_much: bool,
    /// The tool, if it may run code of a language that its name contains.
    runner: Option<&'a str>,
    /// The program that the tool starts by its name.
    program: Option<&'static str>,
}

impl<'a> Args<'a> {
    /// What the arguments of a tool hold, by its name without that of its server. `runner`: its whole name, where it may
    /// run code.
    pub(super) fn collect(
        tool: &str,
        runner: Option<&'a str>,
        args: &'a serde_json::Map<String, Value>,
    ) -> Self {
        let program = PROGRAM_TOOLS.iter().find(|program| **program == tool).copied();
        let mut all = Args { runner, program, ..Args::default() };
        all.map(args, 0);
        all
    }

    fn map(&mut self, map: &'a serde_json::Map<String, Value>, depth: usize) {
        self.split_command(map);
        for (name, value) in map {
            self.value(name, value, depth);
        }
    }

    /// A program and its arguments in separate fields: `{"command": "rm", "args": ["-rf", "/"]}`.
    fn split_command(&mut self, map: &serde_json::Map<String, Value>) {
        let words = WORD_LIST_ARGS.iter().find_map(|name| match map.get(*name)? {
            Value::Array(words) if are_words(words) => Some(joined(words)),
            Value::String(words) if !words.is_empty() => Some(words.clone()),
            _ => None,
        });
        let given = PROGRAM_ARGS.iter().find_map(|name| map.get(*name)?.as_str());
        let line = match (given, words) {
            (Some(program), Some(words)) => format!("{program} {words}"),
            (None, Some(words)) if self.program.is_some() => words,
            // `kubectl` with the command `delete ns x`.
            (Some(program), None) if self.program.is_some() => program.to_owned(),
            _ => return,
        };
        let line = match self.program {
            Some(own) if line.split_whitespace().next() != Some(own) => format!("{own} {line}"),
            _ => line,
        };
        self.split.get_or_insert_with(|| line.clone());
        self.commands.push(line);
    }

    fn value(&mut self, name: &str, value: &'a Value, depth: usize) {
        if depth > MAX_DEPTH {
            self.is_too_much = true;
            return;
        }
        match value {
            Value::String(text) => self.text(name, text),
            // A command line as a list of words.
            Value::Array(words) if name != "commands" && COMMAND_ARGS.contains(name) && are_words(words) => {
                self.commands.push(joined(words));
            }
            Value::Array(items) => {
                for item in items {
                    self.value(name, item, depth + 1);
                }
            }
            Value::Object(map) => self.map(map, depth + 1),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, name: &str, text: &'a str) {
        if LANGUAGE_ARGS.contains(name) && self.runner.and_then(file_ending).is_some() {
            self.codes.push(text);
            if text.contains(['(', '\n']) || text.starts_with(['!', '%']) {
                return;
            }
        }
        if PATH_ARGS.contains(name) || PATH_LIST_ARGS.contains(name) || text.starts_with("file://") {
            self.add_file(text);
        }
        let is_command = COMMAND_ARGS.contains(name);
        if is_command {
            self.commands.push(text.to_owned());
        }
        if PATCH_ARGS.contains(name) {
            self.patches.push((text, is_command));
        }
        if STATEMENT_ARGS.contains(name) {
            self.statements.push((text, QUERY_ARGS.contains(name)));
        }
        for (names, list) in
            [(TYPED_ARGS, &mut self.typed), (CODE_ARGS, &mut self.codes), (ADDRESS_ARGS, &mut self.addresses)]
        {
            if names.contains(name) {
                list.push(text);
            }
        }
    }

    pub(super) fn add_file(&mut self, path: &str) {
        if path.is_empty() || self.known.contains(path) {
            return;
        }
        if self.files.len() >= MAX_TARGETS {
            self.is_too_much = true;
            return;
        }
        self.known.insert(path.to_owned());
        self.files.push(path.to_owned());
    }
}

/// Whether a list is the words of one command line. Numbers are words.
pub(super) fn are_words(values: &[Value]) -> bool {
    let is_word = |value: &Value| matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_));
    values.iter().any(Value::is_string) && values.iter().all(is_word)
}

/// Words as one command line.
fn joined(words: &[Value]) -> String {
    let words: Vec<String> = words
        .iter()
        .map(|word| match word {
            Value::String(text) => quoted(text),
            other => other.to_string(),
        })
        .collect();
    words.join(" ")
}
