//! Programs that print paths, and what these paths are: `find`, `fd`, `ls`, `grep -l`, `git ls-files`. What is done to
//! such a list is judged by where it comes from.

use super::super::invocation::{Arg, Invocation};
use super::super::options::{Arguments, FindPart, find_parts};
use super::super::programs;
use super::super::scope::is_absolute;
use crate::words::shell::FIND_TESTS;

/// A placeholder for some of the files in a folder, if a list was narrowed down.
const SOME: &str = "…";

/// How many roots of a list are kept.
pub(super) const MAX_ROOTS: usize = 8;

/// The paths that a program prints, as words of the shell: `~/*` for all below the home. Empty where it prints none.
pub(super) fn listed(invocation: &Invocation) -> Vec<Arg> {
    let args = invocation.args.as_slice();
    let mut paths = match invocation.family() {
        "find" => found(args),
        "fd" => fd(args),
        "ls" | "exa" => in_folders(args),
        "grep" => searched(&invocation.program, args, &["-r", "-R", "--recursive"]),
        "rg" | "ag" | "ack" => searched(&invocation.program, args, &[]),
        "git" => tracked(args),
        "locate" | "plocate" | "mlocate" => vec![all_in(&Arg::known("/"))],
        _ => Vec::new(),
    };
    paths.truncate(MAX_ROOTS);
    paths
}

/// All that is in a folder.
fn all_in(root: &Arg) -> Arg {
    let text = match root.text.trim_end_matches('/') {
        "" if root.text.starts_with('/') => "/*".to_owned(),
        "" | "." => "./*".to_owned(),
        trimmed => format!("{trimmed}/*"),
    };
    Arg { text, unknown: root.unknown.clone(), is_glob: true, ..Arg::default() }
}

/// A list of which only some is left. Far from the project that does not make it harmless.
pub(super) fn narrowed(mut path: Arg) -> Arg {
    let is_far = is_absolute(&path.text) || path.text.starts_with("..");
    if !is_far && let Some(folder) = path.text.strip_suffix('*') {
        path.text = format!("{folder}{SOME}");
    }
    path
}

/// Whether a path stands for some of the files in a folder.
pub(super) fn is_narrowed(path: &str) -> bool {
    path == SOME || path.strip_suffix(SOME).is_some_and(|folder| folder.ends_with('/'))
}

/// A path inside of code: the quotes around it are not known, so it must not contain a wildcard.
pub(super) fn in_code(path: &Arg) -> Arg {
    let text = match path.text.strip_suffix("/*") {
        Some("") => "/".to_owned(),
        Some(folder) => folder.to_owned(),
        None => path.text.clone(),
    };
    let unknown = path.unknown.iter().filter(|range| range.end <= text.len()).cloned().collect();
    Arg { text, unknown, ..Arg::default() }
}

/// The folder that a list is of, or the path where it is one.
pub(super) fn list_folder(path: &Arg) -> String {
    let path = in_code(path).text;
    match path.strip_suffix(SOME).map(|folder| folder.trim_end_matches('/')) {
        Some("") => ".".to_owned(),
        Some(folder) => folder.to_owned(),
        None => path,
    }
}

/// What `find` finds: by its folders, and by whether its tests narrow it down.
pub(super) fn found(args: &[Arg]) -> Vec<Arg> {
    let mut roots = Vec::new();
    let mut name = None;
    let mut tests = 0;
    let (mut is_negated, mut is_plain, mut is_pruned) = (false, true, false);
    let mut denied: usize = 0;
    for part in find_parts(args) {
        match part {
            FindPart::Folder(root) => roots.push(root.clone()),
            FindPart::Open => {
                is_plain = false;
                // All of a group that is turned round narrows nothing down.
                denied += usize::from(denied > 0 || is_negated);
                is_negated = false;
            }
            FindPart::Close => denied = denied.saturating_sub(1),
            FindPart::Or => {
                // What is left out: `-name x -prune -o …`.
                if std::mem::take(&mut is_pruned) {
                    tests = 0;
                }
                is_plain = false;
            }
            FindPart::Not => is_negated = !is_negated,
            FindPart::Run(..) => is_negated = false,
            FindPart::Test("-prune", _) => is_pruned = true,
            FindPart::Test(test, value) => {
                let is_all = value.is_some_and(|value| matches!(value.text.as_str(), "*" | "**" | "*.*"));
                let is_link = test == "-type" && value.is_some_and(|value| value.text == "l");
                if !is_negated && denied == 0 && !is_all && (FIND_TESTS.contains(test) || is_link) {
                    tests += 1;
                    name = value.filter(|_| test == "-name");
                }
                is_negated = false;
            }
        }
    }
    if roots.is_empty() {
        roots.push(Arg::known("."));
    }
    // One exact name is kept as it is.
    let exact =
        name.filter(|name| is_plain && tests == 1 && name.is_known() && !name.text.contains(['*', '?', '[']));
    let below = |root: &Arg| {
        let all = all_in(root);
        match exact {
            Some(name) => {
                let text = format!("{}{}", all.text.strip_suffix('*').unwrap_or(&all.text), name.text);
                Arg { text, unknown: all.unknown, ..Arg::default() }
            }
            None if tests > 0 => narrowed(all),
            None => all,
        }
    };
    roots.iter().take(MAX_ROOTS).map(below).collect()
}

/// What `fd` finds: its first operand is a pattern, the others are folders.
pub(super) fn fd(args: &[Arg]) -> Vec<Arg> {
    let end = args
        .iter()
        .position(|arg| matches!(arg.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"))
        .unwrap_or(args.len());
    let args = args.get(..end).unwrap_or(&[]);
    let sorted = Arguments::parse(programs::row("fd"), args, &[]);
    let mut operands = sorted.operands.iter().copied();
    let is_all = operands.next().is_none_or(|pattern| matches!(pattern.text.as_str(), "." | "" | ".*" | "*"));
    let filters = ["-e", "--extension", "-S", "--size", "--changed-within", "--changed-before"];
    let is_narrow = !is_all || sorted.has_value(&filters);
    let mut roots: Vec<&Arg> = operands.collect();
    roots.extend(sorted.values_of(&["--base-directory", "--search-path"]));
    let here = Arg::known(".");
    if roots.is_empty() {
        roots.push(&here);
    }
    let below = |root: &&Arg| if is_narrow { narrowed(all_in(root)) } else { all_in(root) };
    roots.iter().take(MAX_ROOTS).map(below).collect()
}

/// What `ls` prints: names, or the words that it was given.
fn in_folders(args: &[Arg]) -> Vec<Arg> {
    let names = Arg { is_glob: true, ..Arg::known("*") };
    let sorted = Arguments::parse(programs::row("ls"), args, &[]);
    if sorted.operands.is_empty() {
        return vec![names];
    }
    let shows_itself = sorted.has(&["-d", "--directory"]);
    let shown = |arg: &Arg| {
        let name = arg.text.rsplit('/').next().unwrap_or("");
        let is_file = name.trim_start_matches('.').contains('.');
        if shows_itself || arg.is_glob || is_file { arg.clone() } else { names.clone() }
    };
    sorted.operands.into_iter().take(MAX_ROOTS).map(shown).collect()
}

/// What a search for a text prints if it prints the names of files.
fn searched(program: &str, args: &[Arg], recursive: &[&str]) -> Vec<Arg> {
    let sorted = Arguments::parse(programs::row(program), args, &[]);
    let lists = sorted.has(&["-l", "-L", "--files-with-matches", "--files-without-match", "--files"]);
    if !lists || !(recursive.is_empty() || sorted.has(recursive)) {
        return Vec::new();
    }
    let has_pattern = sorted.has(&["--files"]) || sorted.has_value(&["-e", "--regexp", "-f", "--file"]);
    let folders = sorted.operands.iter().skip(usize::from(!has_pattern));
    let mut paths: Vec<Arg> = folders.take(MAX_ROOTS).map(|folder| narrowed(all_in(folder))).collect();
    if paths.is_empty() {
        paths.push(narrowed(all_in(&Arg::known("."))));
    }
    paths
}

/// `git ls-files`: what is tracked here, or some of it.
fn tracked(args: &[Arg]) -> Vec<Arg> {
    let mut words = args.iter().skip_while(|arg| arg.text.starts_with('-'));
    if words.next().is_none_or(|subcommand| subcommand.text != "ls-files") {
        return Vec::new();
    }
    let all = Arg { is_glob: true, ..Arg::known("./*") };
    let is_all = words.all(|arg| matches!(arg.text.as_str(), "-z" | "-c" | "--cached" | "--full-name" | "."));
    vec![if is_all { all } else { narrowed(all) }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(paths: &[Arg]) -> Vec<&str> {
        paths.iter().map(|path| path.text.as_str()).collect()
    }

    #[test]
    fn lists_are_named_by_their_folders() {
        for (words, expected) in [
            ("~ -type f", &["~/*"][..]),
            ("/ /opt", &["/*", "/opt/*"]),
            ("-type f", &["./*"]),
            (". -name *.o", &["./…"]),
            (". -name *", &["./*"]),
            (". ! -name keep", &["./*"]),
            ("src -name cache", &["src/cache"]),
            ("~ -name *.o", &["~/*"]),
            (". -name .git -prune -o -type f -print", &["./*"]),
            (". -not ( -name a -o -name b ) -type f", &["./*"]),
            (". ( -name a -o -name b )", &["./…"]),
            (". -name cache -prune", &["./cache"]),
        ] {
            let args: Vec<Arg> = words.split(' ').map(Arg::known).collect();
            assert_eq!(texts(&found(&args)), expected, "{words}");
        }
    }

    #[test]
    fn fd_takes_a_pattern_first() {
        for (words, expected) in
            [("-e pyc", &["./…"][..]), (". /etc", &["/etc/*"]), ("-t f", &["./*"]), ("x src", &["src/…"])]
        {
            let args: Vec<Arg> = words.split(' ').map(Arg::known).collect();
            assert_eq!(texts(&fd(&args)), expected, "{words}");
        }
    }
}
