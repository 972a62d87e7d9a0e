//! Words that name a file of Midrail or the settings of an agent. What the analysis does not know to read such a file may change it.

use midrail_core::{Danger, Severity};

use super::super::condition::does;
use super::super::inner_command::find_command;
use super::super::invocation::{Arg, Invocation, variable_folder};
use super::super::named::{QUOTES, is_mentioned, is_place, paths_in_code, paths_in_word};
use super::super::programs::{self, Hosts, Program, Rest, Tag};
use super::super::scope::Scope;
use super::super::snippet::Language;
use super::super::{ast::Assignment, files};
use super::flow::command_line;
use super::invoke::program_name;
use super::state::{Listed, Stream, Walk, shorten};
use crate::words::places::PROGRAM_FOLDERS;
use crate::words::shell::{EXCLUDING_OPTIONS, OUTPUT_VARIABLES};

/// Paths that a command names.
pub(super) struct NamedPaths {
    command: String,
    places: Vec<String>,
    /// What the command runs in turn does not account for them, or reading is not all that it does.
    is_strict: bool,
    /// How many accesses were known before it.
    from: usize,
}

impl Walk {
    /// Remembers an access to a file that may be protected.
    pub(super) fn remember_access(&mut self, listed: Listed, place: &str) {
        let is_access =
            matches!(listed, Listed::Read | Listed::Write | Listed::Script | Listed::Sweep | Listed::Patch);
        if is_access && is_mentioned(place) && is_place(place) {
            self.accesses.push(place.to_owned());
        } else if let Some(path) = self.beyond_link(place).filter(|_| is_access) {
            self.accesses.push(path);
        }
    }

    /// The paths that the words of a program name, unless it changes none of them.
    pub(super) fn named_words(&mut self, argv: &[Arg], scope: &Scope, input: &Stream) -> Option<NamedPaths> {
        let (name, args) = argv.split_first()?;
        let text = input.text.as_ref().filter(|text| is_mentioned(&text.text));
        // In a protected folder, and where the line made links, any word may name such a file.
        let is_inside = is_mentioned(&scope.place("."));
        let is_export = matches!(name.text.as_str(), "export" | "declare");
        let is_named =
            |arg: &Arg| is_inside || is_export || is_mentioned(&arg.text) || !self.links.is_empty();
        if scope.is_remote || (text.is_none() && !args.iter().any(is_named)) {
            return None;
        }
        let args = args.iter().map(|arg| self.localise(arg.clone(), scope)).collect();
        let invocation = self.invocation(&program_name(name), args, scope);
        // What `midrail` does is judged by its subcommand.
        let is_own_program = is_local_program(&name.text) && invocation.program != "midrail";
        if does(&invocation, Tag::Reads) && !is_own_program {
            let words = invocation.args.iter().filter(|arg| !arg.text.contains(' '));
            let paths: Vec<String> = words.flat_map(|arg| paths_in_word(&arg.text)).collect();
            paths.iter().for_each(|path| self.remember_access(Listed::Read, &scope.place(path)));
            return None;
        }
        let text = text.map_or("", |text| text.text.as_str());
        let (paths, has_inner) = self.own_paths(&invocation, text, scope);
        let mut places: Vec<String> = paths.iter().map(|path| scope.place(path)).collect();
        if is_inside {
            let pieces = invocation.args.iter().flat_map(|arg| arg.text.split(['=', ':', ',']));
            let local = pieces.filter(|piece| !piece.starts_with('-')).map(|piece| scope.place(piece));
            let local: Vec<String> =
                local.filter(|place| is_place(place) && !places.contains(place)).collect();
            places.extend(local);
        }
        let is_strict = has_inner || is_own_program || does(&invocation, Tag::LinksHard);
        self.named_places(places, command_line(&name.text, &invocation.args), is_strict)
    }

    /// The paths in a program's own words and in the code that it reads, and whether it runs a command.
    fn own_paths(&self, invocation: &Invocation, input: &str, scope: &Scope) -> (Vec<String>, bool) {
        let row = programs::find(&invocation.program);
        let language = Language::from_program(&invocation.program);
        let is_inline = row.is_some_and(|row| row.inline.is_some());
        let is_interpreter = is_inline
            || language.is_some()
            || matches!(invocation.program.as_str(), "tclsh" | "wish" | "jimsh");
        let quotes = if language == Some(Language::Node) { &['"', '\'', '`'] } else { QUOTES };
        let is_code_option = |arg: &Arg| CODE_OPTIONS.contains(&arg.text.as_str());
        let has_bare_words = is_inline || (row.is_none() && invocation.args.iter().any(is_code_option));
        let mut paths = Vec::new();
        let (words, has_inner) = own_words(row.unwrap_or(programs::row("")), invocation);
        for word in words {
            let text = spelling(word);
            let is_code = text.contains(|mark: char| mark.is_whitespace() || matches!(mark, '(' | '{'));
            if !is_code || is_path_with_blank(&text) {
                paths.extend(paths_in_word(&text));
                paths.extend(self.linked_paths(&text, scope));
                let value = exported(invocation, &text, scope);
                paths.extend(value.into_iter().flat_map(|value| paths_in_word(&value.text)));
            } else if row.is_none() || is_interpreter {
                paths.extend(paths_in_code(&text, quotes, has_bare_words));
            }
        }
        if is_interpreter {
            paths.extend(paths_in_code(input, quotes, language.is_none()));
        }
        if has_inner {
            let touched = files::touched(invocation);
            paths.retain(|path| !touched.iter().any(|it| it.path == *path && !it.is_written));
        }
        (paths, has_inner)
    }

    /// What the paths in a word lead to by links that the line made.
    fn linked_paths(&self, word: &str, scope: &Scope) -> Vec<String> {
        let mut found = Vec::new();
        for path in word.split(['=', ':', ',']).filter(|_| !self.links.is_empty()) {
            found.extend(self.beyond_link(&scope.place(path)));
        }
        found
    }

    /// What a place leads to by a link that the line made, if that may be protected.
    fn beyond_link(&self, place: &str) -> Option<String> {
        self.links.iter().find_map(|(link, to)| {
            let rest = place.strip_prefix(link.as_str())?;
            let path = format!("{}{rest}", to.trim_end_matches('/'));
            ((rest.is_empty() || rest.starts_with('/')) && is_place(&path)).then_some(path)
        })
    }

    /// The paths in variables that are set for one program: `GIT_TRACE=file git status`.
    pub(super) fn named_in_variables(
        &self,
        assignments: &[Assignment<'_>],
        is_for_program: bool,
        scope: &Scope,
    ) -> Option<NamedPaths> {
        let mut paths = Vec::new();
        for assignment in assignments {
            let counts = is_for_program || OUTPUT_VARIABLES.contains(assignment.name);
            let value = scope.first_value(assignment.name).filter(|_| counts && !scope.is_remote);
            paths.extend(
                value
                    .into_iter()
                    .flat_map(|value| paths_in_word(&spelling(&self.localise(value.clone(), scope)))),
            );
        }
        let names: Vec<&str> = assignments.iter().map(|assignment| assignment.name).collect();
        let places = paths.iter().map(|path| scope.place(path)).collect();
        self.named_places(places, format!("{}=…", names.join("=… ")), false)
    }

    /// The paths in code that is not followed.
    pub(super) fn named_in_code(&self, code: &str, scope: &Scope) -> Option<NamedPaths> {
        let paths = if scope.is_remote { Vec::new() } else { paths_in_code(code, QUOTES, false) };
        self.named_places(paths.iter().map(|path| scope.place(path)).collect(), code.to_owned(), false)
    }

    fn named_places(&self, places: Vec<String>, command: String, is_strict: bool) -> Option<NamedPaths> {
        let from = self.accesses.len();
        (!places.is_empty()).then_some(NamedPaths { command, places, is_strict, from })
    }

    /// Reports the paths that nothing accessed in a known way since. Each access accounts for one word.
    pub(super) fn report_named(&mut self, named: Option<NamedPaths>) {
        let Some(named) = named else { return };
        let mut known: Vec<&String> =
            self.accesses.iter().skip(named.from).filter(|_| !named.is_strict).collect();
        let mut targets = Vec::new();
        for place in named.places {
            // A file in a folder accounts for the folder: `os.path.join(".claude", "settings.json")`.
            let is_it = |access: &&String| {
                let rest = access.strip_prefix(place.trim_end_matches('/'));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            match known.iter().position(is_it) {
                Some(at) => drop(known.swap_remove(at)),
                None => targets.push(place),
            }
        }
        let Some(first) = targets.first() else { return };
        let danger = Danger {
            rule: "midrail-named".to_owned(),
            severity: Severity::Medium,
            reason: format!("is given '{first}' and may change it"),
            safer: "use a program that only reads the file, or ask a person to change it".to_owned(),
            command: shorten(&named.command),
            targets,
            start: self.span.0,
            end: self.span.1,
            ..Danger::default()
        };
        self.add_danger(danger);
    }
}

/// Options with code, for programs that are not known.
const CODE_OPTIONS: [&str; 6] = ["-c", "-e", "--eval", "--exec", "--command", "-r"];

/// A word in which each unknown part is one variable: `$FOLDER/.claude` for `$(git rev-parse --show-toplevel)/.claude`.
fn spelling(word: &Arg) -> String {
    let is_name = |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let unknown = |text: &str| match variable_folder(text) {
        Some(folder) => folder.to_owned(),
        None => {
            let name = text.trim_start_matches(['$', '{']).trim_end_matches('}');
            format!("${}", if is_name(name) { name } else { "FOLDER" })
        }
    };
    word.pieces().map(|(text, is_known)| if is_known { text.to_owned() } else { unknown(text) }).collect()
}

/// Whether a text is a path although it has a blank.
fn is_path_with_blank(text: &str) -> bool {
    text.to_ascii_lowercase().contains("/application support/") && !text.contains(['(', '{', '\n'])
}

/// Whether a program is named by its path, and in no folder of programs: its name says nothing about it.
fn is_local_program(name: &str) -> bool {
    let folder = name.rsplit_once('/').map(|(folder, _)| folder.rsplit('/').next().unwrap_or_default());
    folder.is_some_and(|folder| !matches!(folder, "bin" | ".bin" | "sbin" | "shims" | "Scripts"))
        && !PROGRAM_FOLDERS.iter().any(|known| name.starts_with(known))
}

/// The value of a variable that is given to programs from here on: `export NAME`.
fn exported<'s>(invocation: &Invocation, word: &str, scope: &'s Scope) -> Option<&'s Arg> {
    matches!(invocation.program.as_str(), "export" | "declare").then(|| scope.first_value(word)).flatten()
}

/// The words that are a program's own: not those of a command that it runs, not what it leaves out, and not files elsewhere.
/// With it: whether it runs a command.
fn own_words<'a>(row: &'static Program, invocation: &'a Invocation) -> (Vec<&'a Arg>, bool) {
    let mut end = invocation.args.len();
    let mut codes = Vec::new();
    for run in row.runs {
        let Some(found) = find_command(row, run, &invocation.args, &[]) else { continue };
        if run.rest != Rest::Nothing {
            end = end.min(found.at);
        }
        let code = found.options.values_of(run.code).map(|code| code.text.clone());
        codes.extend(code.filter(|code| !code.is_empty()));
    }
    let is_shell = row.tags.contains(&Tag::Shell);
    let args = invocation.args.get(..end).unwrap_or_default();
    let before = std::iter::once(None).chain(args.iter().map(Some));
    let is_excluding = |word: &str| EXCLUDING_OPTIONS.contains(word);
    let is_left_out = |word: &Arg| {
        let option = word.text.split_once('=').map(|(option, _)| option);
        option.is_some_and(is_excluding) || [":!", ":^", "!"].iter().any(|mark| word.text.starts_with(mark))
    };
    let words = args
        .iter()
        .zip(before)
        .filter(|(word, before)| {
            let follows = before.is_some_and(|before| is_excluding(&before.text));
            let is_code = codes.iter().any(|code| word.text.ends_with(code.as_str()))
                || (is_shell && word.text.contains(char::is_whitespace));
            let is_elsewhere = row.hosts == Hosts::Copy && files::is_on_host(&word.text);
            !(follows || is_code || is_elsewhere || is_left_out(word))
        })
        .map(|(word, _)| word)
        .collect();
    (words, end < invocation.args.len())
}
