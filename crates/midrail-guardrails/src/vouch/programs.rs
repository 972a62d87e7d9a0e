//! What commands do at most, by their program and its options.

use midrail_core::CommandCall;

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
    /// Reads the repository.
    ReadsRepository,
    /// Creates the files and folders that it names.
    Creates,
}

/// The lists of commands.
const LISTS: &[(&str, Known)] = &[
    ("printing commands", Known::Prints),
    ("reading commands", Known::Reads),
    ("commands that read their folder", Known::ReadsFolder),
    ("commands that read the repository", Known::ReadsRepository),
    ("creating commands", Known::Creates),
];

/// Programs whose second file is one that they write.
const ONE_FILE: &[&str] = &["uniq", "xxd"];

/// What a command does at most. `None`: not known.
pub(super) fn known(call: &CommandCall) -> Option<Known> {
    let operands = call.args.iter().filter(|arg| !arg.starts_with('-')).count();
    if call.path.is_some() || (ONE_FILE.contains(&call.program.as_str()) && operands > 1) {
        return None;
    }
    match call.program.as_str() {
        "find" => return finds(&call.args).then_some(Known::ReadsFolder),
        "sed" => return prints_lines(&call.args).then_some(Known::Reads),
        _ => {}
    }
    let in_list = |name: &str| PROGRAMS.list(name).iter().any(|row| fits(row, call));
    LISTS.iter().find(|(name, _)| in_list(name)).map(|(_, known)| *known)
}

/// Whether a command is the one of a row, with its options only.
fn fits(row: &str, call: &CommandCall) -> bool {
    let (words, options) = row.split_once(": ").unwrap_or((row, ""));
    let mut words = words.split(' ');
    if words.next() != Some(call.program.as_str()) {
        return false;
    }
    let mut args: Vec<&str> = call.args.iter().map(String::as_str).collect();
    for word in words {
        // A subcommand comes first; an option that is needed may come anywhere.
        let place = if word.starts_with('-') { args.iter().position(|arg| *arg == word) } else { Some(0) };
        match place.filter(|at| args.get(*at) == Some(&word)) {
            Some(at) => drop(args.remove(at)),
            None => return false,
        }
    }
    let letters: String =
        options.split(' ').filter(|it| !it.starts_with("--")).flat_map(|it| it.chars().skip(1)).collect();
    let is_allowed = |arg: &&str| match (arg.strip_prefix("--"), arg.strip_prefix('-')) {
        (Some(long), _) => {
            let name = long.split('=').next().unwrap_or(long);
            options.split(' ').any(|option| option.strip_prefix("--") == Some(name))
        }
        (None, Some(short)) => short.chars().all(|char| char.is_ascii_digit() || letters.contains(char)),
        (None, None) => true,
    };
    let has_form = call.program != "date" || args.iter().all(|arg| arg.starts_with(['+', '-']));
    // `git branch x`, `git tag x` and `git remote add` change something; a list of branches has no further words.
    let subcommand = call.args.first().map(String::as_str).unwrap_or_default();
    let only_lists = call.program == "git" && matches!(subcommand, "branch" | "tag" | "remote");
    has_form && args.iter().all(is_allowed) && !(only_lists && args.iter().any(|arg| !arg.starts_with('-')))
}

/// Whether the words after the folders of `find` only select files.
fn finds(args: &[String]) -> bool {
    let words = PROGRAMS.list("find words");
    args.iter().filter(|arg| arg.starts_with('-')).all(|arg| words.contains(&arg.as_str()))
}

/// Whether `sed` only prints lines of files: `-n 10,20p`. Other scripts also run commands, and read and write other files.
fn prints_lines(args: &[String]) -> bool {
    let [option, script, files @ ..] = args else { return false };
    let is_script = |char: char| char.is_ascii_digit() || matches!(char, ',' | '$' | 'p');
    option == "-n"
        && script.ends_with('p')
        && script.chars().all(is_script)
        && !files.iter().any(|file| file.starts_with('-'))
}
