//! What the arguments of a call hold, wherever in them: files, command lines, patches, statements, addresses.

use std::collections::BTreeSet;

use serde_json::Value;

/// The most files that one call may name.
pub(super) const MAX_TARGETS: usize = 10_000;

/// How deep arguments are looked into.
const MAX_DEPTH: usize = 64;

/// Argument names under which tools take one path.
pub const PATH_ARGS: &[&str] = &[
    "path",
    "file_path",
    "filepath",
    "notebook_path",
    "filePath",
    "file",
    "filename",
    "target_file",
    "absolute_path",
    "source",
    "destination",
    "old_path",
    "new_path",
    "directory",
    "folder",
    "dir",
    "from",
    "to",
    "src",
    "dst",
    "dest",
    "target",
    "target_path",
    "source_path",
    "destination_path",
    "input_path",
    "output_path",
    "input_file",
    "output_file",
    "glob",
    "include_pattern",
];

/// Argument names under which tools take several paths.
const PATH_LIST_ARGS: &[&str] = &["paths", "files", "file_paths", "sources", "destinations", "include"];

/// Argument names under which tools take a diff or patch.
const PATCH_ARGS: &[&str] =
    &["unified_diff", "diff", "patch", "input", "command", "patchText", "content_diff"];

/// Argument names under which tools take a command line.
const COMMAND_ARGS: &[&str] = &[
    "command",
    "cmd",
    "script",
    "commands",
    "command_line",
    "commandLine",
    "CommandLine",
    "shell_command",
    "bash_command",
];

/// Argument names under which tools that run commands take what is typed into one that runs.
const TYPED_ARGS: &[&str] = &["chars", "input", "keys", "stdin", "text"];

/// Argument names under which tools take code.
const CODE_ARGS: &[&str] = &["code", "source_code", "snippet"];

/// Argument names under which tools of databases take their statements.
const STATEMENT_ARGS: &[&str] = &["sql", "query", "statement", "statements", "queries", "sql_query"];

/// Argument names under which tools take an address.
const ADDRESS_ARGS: &[&str] = &["url", "uri", "endpoint", "urls"];

/// What the arguments of a call hold.
#[derive(Default)]
pub(super) struct Args<'a> {
    /// Files, each once, in order.
    pub(super) files: Vec<String>,
    known: BTreeSet<String>,
    /// Command lines, as a shell would be given them.
    pub(super) commands: Vec<String>,
    /// What is typed into a program that runs.
    pub(super) typed: Vec<&'a str>,
    pub(super) codes: Vec<&'a str>,
    /// Texts that may be patches, and whether they may as well be command lines.
    pub(super) patches: Vec<(&'a str, bool)>,
    pub(super) statements: Vec<&'a str>,
    pub(super) addresses: Vec<&'a str>,
    /// There is more than is looked at.
    pub(super) is_too_much: bool,
}

impl<'a> Args<'a> {
    pub(super) fn collect(&mut self, args: &'a serde_json::Map<String, Value>) {
        for (name, value) in args {
            self.value(name, value, 0);
        }
    }

    fn value(&mut self, name: &str, value: &'a Value, depth: usize) {
        if depth > MAX_DEPTH {
            self.is_too_much = true;
            return;
        }
        match value {
            Value::String(text) => self.text(name, text),
            // A command line as a list of words.
            Value::Array(words) if name != "commands" && COMMAND_ARGS.contains(&name) && are_texts(words) => {
                let words: Vec<String> = words.iter().filter_map(Value::as_str).map(quoted).collect();
                self.commands.push(words.join(" "));
            }
            Value::Array(items) => {
                for item in items {
                    self.value(name, item, depth + 1);
                }
            }
            Value::Object(map) => {
                for (name, value) in map {
                    self.value(name, value, depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, name: &str, text: &'a str) {
        if PATH_ARGS.contains(&name) || PATH_LIST_ARGS.contains(&name) || text.starts_with("file://") {
            self.add_file(text);
        }
        let is_command = COMMAND_ARGS.contains(&name);
        if is_command {
            self.commands.push(text.to_owned());
        }
        if PATCH_ARGS.contains(&name) {
            self.patches.push((text, is_command));
        }
        for (names, list) in [
            (TYPED_ARGS, &mut self.typed),
            (CODE_ARGS, &mut self.codes),
            (STATEMENT_ARGS, &mut self.statements),
            (ADDRESS_ARGS, &mut self.addresses),
        ] {
            if names.contains(&name) {
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

fn are_texts(values: &[Value]) -> bool {
    !values.is_empty() && values.iter().all(Value::is_string)
}

/// A word as a shell would be given it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The host of an address.
pub(super) fn host(address: &str) -> Option<String> {
    let (_, rest) = address.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}
