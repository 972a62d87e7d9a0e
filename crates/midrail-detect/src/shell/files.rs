//! The files that a program reads and writes, by its arguments: `rows` is a table of programs, and some need more than a row.

mod rows;

use self::rows::{Operands, ROWS, Row};
use super::invocation::{Arg, Invocation};
use super::options;

/// A file that a program touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touched {
    pub(super) path: String,
    pub(super) is_read: bool,
    pub(super) is_written: bool,
}

/// The files that a program touches.
pub(super) fn touched(invocation: &Invocation) -> Vec<Touched> {
    let program = invocation.program.as_str();
    let mut found = Found::default();
    match program {
        "dd" => dd(invocation, &mut found),
        "git" => git(invocation, &mut found),
        _ => {}
    }
    if let Some(row) = ROWS.iter().find(|row| row.programs.contains(&program)) {
        by_row(row, invocation, &mut found);
    }
    found.list
}

#[derive(Default)]
struct Found {
    list: Vec<Touched>,
}

impl Found {
    fn add(&mut self, arg: &Arg, is_read: bool, is_written: bool) {
        let path = arg.text.as_str();
        let is_none = path.is_empty()
            || path == "-"
            || path.contains("://")
            || path.starts_with("/dev/null")
            || path.starts_with("/dev/std")
            || path.contains('\n')
            || path.len() > 4096;
        if !is_none {
            self.list.push(Touched { path: path.to_owned(), is_read, is_written });
        }
    }
}

fn by_row(row: &Row, invocation: &Invocation, found: &mut Found) {
    let mut takes: Vec<&str> = Vec::with_capacity(row.reads.len() + row.writes.len() + row.values.len());
    takes.extend(row.reads);
    takes.extend(row.writes);
    takes.extend(row.values);
    let sorted = options::sort(&invocation.args, &takes, false);
    for value in sorted.values_of(row.reads) {
        found.add(value, true, false);
    }
    for value in sorted.values_of(row.writes) {
        found.add(value, false, true);
    }
    let program = invocation.program.as_str();
    let operands: Vec<&Arg> = sorted.operands.iter().filter_map(|at| invocation.args.get(*at)).collect();
    let last = operands.len().saturating_sub(1);
    for (index, operand) in operands.iter().enumerate() {
        match row.operands {
            Operands::None => {}
            Operands::Read => found.add(operand, true, false),
            Operands::Write => found.add(operand, false, true),
            Operands::Both => found.add(operand, true, true),
            Operands::PatternThenRead => {
                let has_pattern = sorted
                    .values_of(&["-e", "--regexp", "--expression", "-f", "--file", "--from-file"])
                    .next()
                    .is_some()
                    || sorted.has(&["--files"]);
                if index > 0 || has_pattern {
                    let is_in_place = edits_in_place(program, &invocation.args);
                    found.add(operand, true, is_in_place);
                }
            }
            Operands::CopyToLast => {
                let has_target = sorted.values_of(&["-t", "--target-directory"]).next().is_some();
                let is_elsewhere = matches!(program, "scp" | "rsync" | "rclone") && is_on_host(&operand.text);
                if is_elsewhere {
                    continue;
                }
                if index < last || has_target {
                    found.add(operand, true, false);
                } else if last > 0 {
                    found.add(operand, false, true);
                }
            }
            Operands::MoveToLast => found.add(operand, index < last, true),
            Operands::ModeThenWrite => {
                if index > 0 {
                    found.add(operand, false, true);
                }
            }
            Operands::WriteThenRead => found.add(operand, index > 0, index == 0),
            Operands::ReadThenWrite => found.add(operand, index == 0, index == 1),
            Operands::FirstBoth if index == 0 && operand.text != ":memory:" => {
                found.add(operand, true, true);
            }
            Operands::FirstBoth => {}
        }
    }
    if matches!(row.operands, Operands::CopyToLast | Operands::MoveToLast) {
        into_folder(&operands, found);
    }
    match program {
        "curl" | "curlie" => curl(invocation, found),
        "tar" | "gtar" | "bsdtar" => tar(invocation, &sorted, found),
        _ => {}
    }
}

/// What is copied or moved into a folder is written there under its own name.
fn into_folder(operands: &[&Arg], found: &mut Found) {
    let Some((folder, sources)) = operands.split_last() else { return };
    let folder = folder.text.as_str();
    if !(matches!(folder, "." | ".." | "~") || folder.ends_with('/')) {
        return;
    }
    for source in sources {
        let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if !name.is_empty() && name != "." && name != ".." {
            found.add(&Arg::known(format!("{}/{name}", folder.trim_end_matches('/'))), false, true);
        }
    }
}

/// `sed -i`, `yq -i`, `perl -i`
fn edits_in_place(program: &str, args: &[Arg]) -> bool {
    matches!(program, "sed" | "gsed" | "yq" | "gawk")
        && args.iter().any(|arg| {
            let text = arg.text.as_str();
            text.starts_with("--in-place")
                || text == "--inplace"
                || (text.starts_with('-')
                    && !text.starts_with("--")
                    && text.contains('i')
                    && !text.starts_with("-e"))
        })
}

fn is_on_host(path: &str) -> bool {
    path.split_once(':').is_some_and(|(host, _)| !host.contains('/') && host.len() > 1)
}

/// `-d @file`, `-F name=@file`
fn curl(invocation: &Invocation, found: &mut Found) {
    let options = [
        "-d",
        "--data",
        "--data-binary",
        "--data-ascii",
        "--data-urlencode",
        "--json",
        "-F",
        "--form",
        "-H",
        "--header",
        "-b",
        "--cookie",
    ];
    let sorted = options::sort(&invocation.args, &options, false);
    for (name, value) in &sorted.values {
        let is_form = matches!(name.as_str(), "-F" | "--form" | "--data-urlencode");
        let path = match value.text.strip_prefix('@') {
            Some(path) => Some(path),
            None if is_form => {
                value.text.split_once(['=']).and_then(|(_, rest)| rest.strip_prefix(['@', '<']))
            }
            None => None,
        };
        if let Some(path) = path {
            found.add(&Arg::known(path.split(';').next().unwrap_or(path)), true, false);
        }
    }
}

fn tar(invocation: &Invocation, sorted: &options::Sorted, found: &mut Found) {
    // The letters may stand without a dash: `tar czf archive files`.
    let first = invocation.args.first().map_or("", |arg| arg.text.as_str());
    let letters: String = invocation
        .args
        .iter()
        .enumerate()
        .filter(|(index, arg)| {
            (arg.text.starts_with('-') && !arg.text.starts_with("--"))
                || (*index == 0 && !first.starts_with('-'))
        })
        .map(|(_, arg)| arg.text.as_str())
        .collect();
    let is_create = letters.contains(['c', 'r', 'u']) || sorted.has(&["--create", "--append"]);
    let mut operands: Vec<&Arg> = sorted.operands.iter().filter_map(|at| invocation.args.get(*at)).collect();
    if !first.starts_with('-') && !operands.is_empty() {
        operands.remove(0);
    }
    let mut operands = operands.into_iter();
    if letters.contains('f')
        && let Some(archive) = operands.next()
    {
        found.add(archive, !is_create, is_create);
    }
    if is_create {
        for operand in operands {
            found.add(operand, true, false);
        }
    }
}

fn dd(invocation: &Invocation, found: &mut Found) {
    for arg in &invocation.args {
        if let Some(path) = arg.text.strip_prefix("if=") {
            found.add(&Arg::known(path), true, false);
        } else if let Some(path) = arg.text.strip_prefix("of=") {
            found.add(&Arg::known(path), false, true);
        }
    }
}

/// `git show HEAD:file`, `git checkout -- file` and the like.
fn git(invocation: &Invocation, found: &mut Found) {
    let sorted = options::sort(&invocation.args, &["-c", "-C", "--git-dir", "--work-tree"], true);
    let Some(at) = sorted.operands.first().copied() else { return };
    let verb = invocation.args.get(at).map_or("", |arg| arg.text.as_str());
    let rest = invocation.args.get(at + 1..).unwrap_or(&[]);
    let after_dashes = rest.iter().position(|arg| arg.text == "--").map(|at| at + 1);
    match verb {
        "show" | "cat-file" | "blame" | "diff" | "log" | "annotate" => {
            for arg in rest {
                if let Some((_, path)) = arg.text.split_once(':')
                    && verb != "log"
                    && !arg.text.starts_with('-')
                    && !path.is_empty()
                {
                    found.add(&Arg::known(path), true, false);
                }
            }
            if let Some(from) = after_dashes {
                for arg in rest.iter().skip(from) {
                    found.add(arg, true, false);
                }
            } else if matches!(verb, "blame" | "annotate") {
                for arg in rest.iter().filter(|arg| !arg.text.starts_with('-')) {
                    found.add(arg, true, false);
                }
            }
        }
        "clone" | "init" | "submodule" => {
            // The folder that it is made in stands last.
            let mut words = rest.iter().filter(|arg| !arg.text.starts_with('-'));
            let fewest = if verb == "clone" { 2 } else { 1 };
            if words.clone().count() >= fewest
                && let Some(folder) = words.next_back()
            {
                found.add(folder, false, true);
            }
        }
        "checkout" => {
            for arg in after_dashes.map(|from| rest.iter().skip(from)).into_iter().flatten() {
                found.add(arg, false, true);
            }
        }
        "restore" | "rm" | "mv" => {
            let sorted = options::sort(rest, &["-s", "--source"], false);
            for arg in sorted.operands.iter().filter_map(|at| rest.get(*at)) {
                found.add(arg, false, true);
            }
        }
        "apply" | "am" => {
            for arg in rest.iter().filter(|arg| !arg.text.starts_with('-')) {
                found.add(arg, true, false);
            }
        }
        _ => {}
    }
}
