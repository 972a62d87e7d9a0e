//! What commands do at most, by their program and its options.

use midrail_core::{CommandCall, glob};

use crate::shared::data::PROGRAMS;

/// What a command does at most. Files that it names are judged by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// Prints its arguments or facts about this machine.
    Prints,
    /// Reads the files that it names.
    Reads,
    /// Reads what is in its folder.
    ReadsFolder,
    /// Lists what is in its folder.
    Searches,
    /// Reads the repository.
    ReadsRepository,
    /// Changes the files that it names.
    Edits,
    /// Changes the index of the repository.
    EditsRepository,
    /// Receives from other machines.
    Fetches,
}

/// The list of commands whose arguments do not matter.
const PRINTING: &str = "printing commands";

/// The lists of commands. A row names a program, and a subcommand if it has some. Options with which it does more follow a colon.
const LISTS: &[(&str, Known)] = &[
    (PRINTING, Known::Prints),
    ("reading commands", Known::Reads),
    ("commands that read their folder", Known::ReadsFolder),
    ("commands that search folders", Known::Searches),
    ("commands that read the repository", Known::ReadsRepository),
    ("editing commands", Known::Edits),
    ("commands that edit the repository", Known::EditsRepository),
    ("fetching commands", Known::Fetches),
];

/// What a command does at most. `None`: not known.
pub(super) fn known(call: &CommandCall) -> Option<Known> {
    let is_usual =
        call.path.as_deref().is_none_or(|path| path.starts_with("/usr/bin/") || path.starts_with("/bin/"));
    if !is_usual || call.has_more_args || call.program.is_empty() {
        return None;
    }
    if let [only] = call.args.as_slice()
        && matches!(only.as_str(), "--version" | "--help")
    {
        return Some(Known::Prints);
    }
    let in_list = |name: &str| {
        PROGRAMS.list(name).iter().any(|row| fits(row, call) && (name == PRINTING || are_known(row, call)))
    };
    if call.program == "sed" && !is_plain_sed(&call.args) {
        return None;
    }
    let found = LISTS.iter().find(|(name, _)| in_list(name)).map(|(_, known)| *known);
    found.or_else(|| lists_only(call))
}

/// Whether a command is the one of a row, without the options that the row excludes.
fn fits(row: &str, call: &CommandCall) -> bool {
    let (words, excluded) = row.split_once(':').unwrap_or((row, ""));
    let mut words = words.split(' ');
    let subcommand: Vec<&str> = words.by_ref().skip(1).collect();
    let program = row.split([' ', ':']).next();
    program == Some(call.program.as_str())
        && call.args.len() >= subcommand.len()
        && subcommand.iter().zip(&call.args).all(|(word, arg)| word == arg)
        && !call.args.iter().any(|arg| excluded.split_whitespace().any(|option| is_option(option, arg)))
}

/// Whether an argument is an option, also as one of several letters (`-no` for `-o`) or abbreviated (`--out` for `--output`). A word
/// without a dash is part of the code of a program: `ENVIRON` for awk.
fn is_option(option: &str, arg: &str) -> bool {
    let name = arg.split('=').next().unwrap_or(arg);
    match (option.strip_prefix("--"), option.strip_prefix('-')) {
        (Some(_), _) => name.len() > 2 && name.starts_with("--") && option.starts_with(name),
        (None, Some(letter)) if letter.len() == 1 => {
            arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter)
        }
        (None, Some(_)) => arg.starts_with(option),
        (None, None) => arg.contains(option),
    }
}

/// Whether every argument is known, or is a wildcard that can become no option which the row excludes.
fn are_known(row: &str, call: &CommandCall) -> bool {
    let is_path = |at: &usize| {
        let arg = call.args.get(*at).map(String::as_str).unwrap_or_default();
        let can_be_option = arg.starts_with(['-', '*', '?', '[', '{', '~']);
        !(arg.contains(['$', '`', '(', '<', '>']) || can_be_option && row.contains(':'))
    };
    call.unknown.iter().chain(&call.splits).all(is_path)
}

/// Whether the scripts of `sed` only print, delete and replace: they can also run commands, and read and write other files.
fn is_plain_sed(args: &[String]) -> bool {
    let after_option = args.iter().zip(args.iter().skip(1)).filter(|(option, _)| *option == "-e");
    let scripts: Vec<&String> = after_option.map(|(_, script)| script).collect();
    let first = args.iter().find(|arg| !arg.starts_with('-'));
    let mut scripts = if scripts.is_empty() { first.into_iter().collect() } else { scripts };
    let has_other = args.iter().any(|arg| arg.starts_with("--exp") || (arg.starts_with("-e") && arg != "-e"));
    !has_other && !scripts.is_empty() && scripts.drain(..).all(|script| prints(script) || replaces(script))
}

/// A script such as `10,20p`.
fn prints(script: &str) -> bool {
    script
        .chars()
        .all(|char| char.is_ascii_digit() || matches!(char, ',' | '$' | ';' | ' ' | 'p' | 'd' | 'q'))
}

/// A script such as `s/a/b/g`.
fn replaces(script: &str) -> bool {
    let mut chars = script.strip_prefix('s').unwrap_or_default().chars();
    let Some(separator) = chars.next().filter(char::is_ascii_punctuation) else { return false };
    let text = chars.as_str();
    let mut parts = vec![String::new()];
    let mut is_escaped = false;
    for char in text.chars() {
        if char == separator && !is_escaped {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(char);
        }
        is_escaped = char == '\\' && !is_escaped;
    }
    let is_flag = |char: char| char.is_ascii_digit() || matches!(char, 'g' | 'i' | 'I' | 'p');
    matches!(parts.as_slice(), [_, _, flags] if separator != '\\' && flags.chars().all(is_flag))
}

/// A command that lists something with these arguments and no others.
fn lists_only(call: &CommandCall) -> Option<Known> {
    let args: Vec<&str> = call.args.iter().map(String::as_str).collect();
    let (program, args) = (call.program.as_str(), args.as_slice());
    let (first, rest) = args.split_first()?;
    let words = PROGRAMS.row("commands that list", &format!("{program} {first}"))?;
    let is_listed = rest.iter().all(|arg| words.contains(arg)) && call.unknown.is_empty();
    is_listed.then_some(Known::ReadsRepository)
}

/// Whether a command only starts the command that follows it.
pub(super) fn is_plain_wrapper(call: &CommandCall) -> bool {
    call.wraps
        && PROGRAMS.has("plain wrappers", &call.program)
        && call.path.as_deref().is_none_or(|path| path.starts_with("/usr/bin/") || path.starts_with("/bin/"))
}

/// Whether setting a variable changes no program.
pub(super) fn is_safe_variable(name: &str) -> bool {
    let mut patterns = PROGRAMS.list("variables of programs").iter();
    let name = name.to_ascii_uppercase();
    !patterns.any(|pattern| glob::name_matches(pattern, &name))
}
