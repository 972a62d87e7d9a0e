//! The files that a program reads and writes, by its row and its arguments. Some programs need more than a row.

mod formatters;
mod found;
mod uploads;

use self::found::TouchedFiles;
use super::condition::does;
use super::danger::is_credential;
use super::invocation::{Arg, Folder, Input, Invocation};
use super::options::{Arguments, FindPart, find_parts};
use super::programs::{self, Files, Operands, Tag};
use super::scope::join;

pub(super) use self::found::{Touched, is_on_host, led_to};
pub(super) use self::uploads::{sends_files, uploaded};
use crate::words::places::AGENT_FOLDERS;
use crate::words::shell::{CLONE_VALUES, CURL_DATA, FOLDER_PROGRAMS, GIT_PATCHES, GIT_SUMMARIES};

/// The files that a program touches.
pub(super) fn touched(invocation: &Invocation) -> Vec<Touched> {
    let mut found = TouchedFiles::default();
    match invocation.family() {
        "dd" => dd(invocation, &mut found),
        "git" => git_files(invocation, &mut found),
        "find" => printed_by_find(invocation, &mut found),
        "perl" | "ruby" => in_place(invocation, &mut found),
        "xargs" => xargs(invocation, &mut found),
        "socat" => opened_by_socat(invocation, &mut found),
        "docker" => found::read_in_container(invocation, &mut found),
        _ => {}
    }
    let row = invocation.row();
    match &row.files {
        Some(files) => by_row(files, invocation, &mut found),
        None => formatters::touched(invocation, &mut found),
    }
    for file in uploaded(invocation) {
        found.add(&file, true, false);
    }
    found.list
}

/// Whether it is known which files a program touches.
pub(super) fn is_known(program: &str) -> bool {
    matches!(programs::family(program), "git" | "find" | "perl" | "ruby" | "xargs" | "dd")
        || programs::row(program).files.is_some()
}

/// The folder that `git clone` makes for an address: its last part, without `.git`.
pub fn cloned_name(address: &str) -> &str {
    let path = address.trim_end_matches('/');
    let path = path.strip_suffix("/.git").unwrap_or(path);
    let name = path.rsplit(['/', ':']).next().unwrap_or(path);
    name.strip_suffix(".git").unwrap_or(name)
}

/// The folder in which a patch changes files that the line does not name, because it is in a file or comes from
/// elsewhere.
pub(super) fn patched(invocation: &Invocation) -> Option<String> {
    if invocation.program != "patch" {
        return None;
    }
    let sorted = Arguments::new(invocation);
    let reads_file = sorted.has_value(&["-i", "--input"]);
    let has_patch_text = matches!(invocation.input, Input::Text(_)) && !reads_file;
    if has_patch_text || !sorted.operands.is_empty() || sorted.has(&["--dry-run", "--help", "--version"]) {
        return None;
    }
    let folder = sorted.values_of(&["-d", "--directory"]).last();
    Some(folder.map_or_else(|| ".".to_owned(), |folder| folder.text.clone()))
}

fn by_row(row: &Files, invocation: &Invocation, found: &mut TouchedFiles) {
    let from = found.list.len();
    let sorted = Arguments::new(invocation);
    for value in sorted.values_of(row.reads) {
        found.add(value, true, false);
    }
    for value in sorted.values_of(row.names) {
        found.add_named(value, false);
    }
    let program = invocation.program.as_str();
    let target = ["-t", "--target-directory"];
    for (name, value) in sorted.values.iter().filter(|(name, _)| sorted.is_one_of(row.writes, name)) {
        if invocation.is(Tag::FillsFolders) || target.contains(&name.as_str()) {
            found.add_folder(value);
        } else {
            found.add(value, false, true);
        }
    }
    let operands = sorted.operands.as_slice();
    let last = operands.len().saturating_sub(1);
    for (index, operand) in operands.iter().enumerate() {
        match row.operands {
            Operands::None => {}
            Operands::Read => found.add(operand, true, false),
            Operands::Named => found.add_named(operand, false),
            Operands::NamedWrite => found.add_named(operand, true),
            // A folder that exists stays as it is.
            Operands::Write if makes_agent_folder(program, operand) => found.add_named(operand, false),
            Operands::Write if FOLDER_PROGRAMS.contains(program) => found.add_folder(operand),
            Operands::Write => found.add(operand, false, true),
            Operands::Both => found.add(operand, true, true),
            Operands::PatternThenRead => {
                let patterns = ["-e", "--regexp", "--expression", "-f", "--file", "--from-file"];
                let has_pattern = sorted.has_value(&patterns) || sorted.has(&["--files"]);
                if index > 0 || has_pattern {
                    found.add(operand, true, does(invocation, Tag::EditsInPlace));
                }
            }
            Operands::ReplacementThenRead if index < 2 => {}
            Operands::ReplacementThenRead => found.add(operand, true, does(invocation, Tag::EditsInPlace)),
            Operands::CopyToLast => {
                let has_target = sorted.has_value(&target);
                let is_elsewhere = matches!(program, "scp" | "rsync" | "rclone") && is_on_host(&operand.text);
                if is_elsewhere {
                    continue;
                }
                let is_source = index < last || has_target;
                if is_source && does(invocation, Tag::LinksSymbolically) {
                    found::linked(operand, operands.last().copied(), invocation, found);
                } else if is_source {
                    found.add(operand, true, false);
                } else if last == 1 && found::is_from_template(operands, invocation) {
                    found.add_named(operand, true);
                } else if last > 0 {
                    found.add(operand, false, true);
                }
            }
            Operands::MoveToLast => found.add(operand, index < last, true),
            Operands::ModeThenWrite => {
                if index > 0 {
                    found.add_named(operand, !found::only_keeps_others_out(operands, operand, invocation));
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
        match sorted.values_of(&target).last() {
            Some(folder) => put_into(&folder.text, operands, found),
            None => into_folder(operands, found),
        }
        // What is copied with all that is in it is a folder.
        if row.operands == Operands::CopyToLast && sorted.has(&["-r", "-R", "-a", "--recursive", "--archive"])
        {
            let written = found.list.iter_mut().skip(from).filter(|touched| touched.is_written);
            written.for_each(|touched| touched.is_folder = true);
        }
    }
    match invocation.family() {
        "curl" => curl(invocation, found),
        "tar" => tar(invocation, &sorted, found),
        "cpio" => sorted.values_of(&["-D", "--directory"]).for_each(|folder| found.add_folder(folder)),
        "openssl" | "ssh-keygen" => found::keys(invocation, &sorted, found),
        "sqlite3" | "litecli" | "duckdb" => found::read_by_statements(invocation, found),
        // Where nothing is piped to it, the one word is the file.
        "jq" if program == "yq" && operands.len() == 1 && matches!(invocation.input, Input::Inherited) => {
            let files = operands.iter().filter(|file| is_credential(file, &invocation.folder));
            files.for_each(|file| found.add(file, true, false));
        }
        _ => {}
    }
}

/// `mkdir -p .claude`: the folder of an agent's settings, but none of them.
fn makes_agent_folder(program: &str, operand: &Arg) -> bool {
    let name = operand.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    matches!(program, "mkdir" | "gmkdir" | "md") && name.starts_with('.') && AGENT_FOLDERS.contains(name)
}

/// What is copied or moved into a folder is written there under its own name.
fn into_folder(operands: &[&Arg], found: &mut TouchedFiles) {
    let Some((folder, sources)) = operands.split_last() else { return };
    let folder = folder.text.as_str();
    if is_on_host(folder) || !(matches!(folder, "." | ".." | "~") || folder.ends_with('/')) {
        return;
    }
    put_into(folder, sources, found);
}

fn put_into(folder: &str, sources: &[&Arg], found: &mut TouchedFiles) {
    for source in sources {
        let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        // `host:file`
        let name = if is_on_host(&source.text) { name.rsplit(':').next().unwrap_or_default() } else { name };
        if !name.is_empty() && name != "." && name != ".." {
            found.add(&Arg::known(format!("{}/{name}", folder.trim_end_matches('/'))), false, true);
        }
    }
}

/// `perl -pi -e code files`
fn in_place(invocation: &Invocation, found: &mut TouchedFiles) {
    let sorted = Arguments::new(invocation);
    if !sorted.has(&["-i"]) {
        return;
    }
    // Without code the first is the program.
    let skip = usize::from(!sorted.has_value(&["-e", "-E"]));
    sorted.operands.iter().skip(skip).for_each(|file| found.add(file, true, true));
}

/// `socat - FILE:path`
fn opened_by_socat(invocation: &Invocation, found: &mut TouchedFiles) {
    for arg in &invocation.args {
        let Some((kind, rest)) = arg.text.split_once(':') else { continue };
        let is_new = kind.eq_ignore_ascii_case("create")
            || ["trunc", "creat", "append", "wronly"].iter().any(|it| rest.contains(it));
        if is_new || ["file", "open", "gopen"].iter().any(|known| kind.eq_ignore_ascii_case(known)) {
            let path = rest.split(',').next().unwrap_or(rest);
            found.add(&Arg::known(path), !is_new, is_new);
        }
    }
}

/// `xargs -a file program`
fn xargs(invocation: &Invocation, found: &mut TouchedFiles) {
    let sorted = Arguments::leading(invocation.row(), &invocation.args, &[]);
    sorted.values_of(&["-a", "--arg-file"]).for_each(|file| found.add(file, true, false));
}

/// `find -fprint file`
fn printed_by_find(invocation: &Invocation, found: &mut TouchedFiles) {
    for part in find_parts(&invocation.args) {
        if let FindPart::Test("-fprint" | "-fprint0" | "-fprintf" | "-fls", Some(file)) = part {
            found.add(file, false, true);
        }
    }
}

/// `-d @file`, `-F name=@file`
fn curl(invocation: &Invocation, found: &mut TouchedFiles) {
    let sorted = Arguments::new(invocation);
    for (name, value) in sorted.values.iter().filter(|(name, _)| CURL_DATA.contains(name.as_str())) {
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
    // `--variable name@file`
    for value in sorted.values_of(&["--variable"]) {
        if let Some((_, path)) = value.text.split_once('@') {
            found.add(&Arg::known(path), true, false);
        }
    }
    let addresses = invocation.args.iter().filter(|arg| arg.text.starts_with(LOCAL));
    addresses.for_each(|arg| found.add(&arg.tail(LOCAL.len()), true, false));
}

/// How the address of a file of this machine begins.
const LOCAL: &str = "file://";

fn tar(invocation: &Invocation, sorted: &Arguments, found: &mut TouchedFiles) {
    // The letters can be written without a dash: `tar czf archive files`.
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
    let mut operands = sorted.operands.iter().copied().skip(usize::from(!first.starts_with('-')));
    let named = sorted.values_of(&["-f", "--file"]).next();
    let is_bare = !first.starts_with('-') && first.contains('f');
    if let Some(archive) = if is_bare { operands.next() } else { named } {
        found.add(archive, !is_create, is_create);
    }
    let is_list = letters.contains('t') || sorted.has(&["--list"]);
    let is_unpacked =
        !is_create && !is_list && (letters.contains('x') || sorted.has(&["--extract", "--get"]));
    let folder = sorted.values_of(&["-C", "--directory"]).last();
    for operand in operands {
        if is_create {
            found.add(operand, true, false);
        } else if is_unpacked {
            // The one file that is taken out of it.
            let folder = folder.map_or("", |folder| folder.text.as_str());
            found.add(&Arg { text: join(folder, &operand.text), ..operand.clone() }, false, true);
        }
    }
    if is_unpacked {
        let folder = folder.map_or("", |folder| folder.text.as_str());
        for name in sorted.values_of(&["--transform", "--xform", "-s"]).filter_map(|it| new_name(&it.text)) {
            found.add(&Arg::known(join(folder, name)), false, true);
        }
    }
    // Its value is a part of the word; without one, the name of the archive is the folder.
    let own = invocation
        .args
        .iter()
        .find_map(|arg| Some(arg.tail(arg.text.strip_prefix("--one-top-level=").map(|_| 16)?)));
    if let Some(own) = own.filter(|_| is_unpacked) {
        found.add_folder(&Arg {
            text: join(folder.map_or("", |folder| folder.text.as_str()), &own.text),
            ..own
        });
    }
    for folder in sorted.values_of(&["-C", "--directory"]) {
        if is_create || is_list {
            found.add(folder, true, false);
        } else {
            found.add_folder(folder);
        }
    }
}

/// The name that `--transform s,old,new,` gives to unpacked files, if it has a folder or a dot.
fn new_name(expression: &str) -> Option<&str> {
    let mark = expression.strip_prefix('s')?.chars().next()?;
    let name = expression.split(mark).nth(2)?;
    name.contains(['/', '.']).then_some(name)
}

fn dd(invocation: &Invocation, found: &mut TouchedFiles) {
    for arg in &invocation.args {
        if let Some(path) = arg.text.strip_prefix("if=") {
            found.add(&Arg::known(path), true, false);
        } else if let Some(path) = arg.text.strip_prefix("of=") {
            found.add(&Arg::known(path), false, true);
        }
    }
}

/// The files of a call of git, without the signs of pathspecs.
fn git_files(invocation: &Invocation, found: &mut TouchedFiles) {
    let from = found.list.len();
    git(invocation, found);
    for touched in found.list.iter_mut().skip(from) {
        let path = without_magic(&touched.path);
        // Git matches it, and not the shell.
        touched.is_swept |= touched.is_written && path.contains("**");
        touched.path = if path.is_empty() { ".".to_owned() } else { path.to_owned() };
    }
}

/// A pathspec without its signs. `:/file` and `:(top)file` count from the root of the repository, which is most often here.
fn without_magic(pathspec: &str) -> &str {
    match pathspec.strip_prefix(":(") {
        Some(rest) => rest.split_once(')').map_or("", |(_, path)| path),
        None => pathspec.strip_prefix(":/").unwrap_or(pathspec),
    }
}

/// `git show HEAD:file`, `git checkout -- file` and the like.
fn git(invocation: &Invocation, found: &mut TouchedFiles) {
    let sorted = Arguments::leading(programs::row("git"), &invocation.args, &[]);
    let Some((subcommand, rest)) = sorted.rest().split_first() else { return };
    let subcommand = subcommand.text.as_str();
    let after_dashes = rest.iter().position(|arg| arg.text == "--").map(|at| at + 1);
    match subcommand {
        "show" | "cat-file" | "blame" | "diff" | "log" | "annotate" | "stash" | "grep" | "whatchanged" => {
            shown_by_git(subcommand, rest, &invocation.folder, found);
            // `--output file`, also shortened.
            for (at, arg) in rest.iter().enumerate().filter(|(_, arg)| arg.text.starts_with("--ou")) {
                match arg.text.find('=') {
                    Some(mark) => found.add(&arg.tail(mark + 1), false, true),
                    None => rest.get(at + 1).into_iter().for_each(|file| found.add(file, false, true)),
                }
            }
            // Settings that are put aside are gone from here: `git stash push -- .midrail`.
            let is_put_aside = subcommand == "stash"
                && rest.first().is_some_and(|word| word.text == "push" || word.text.starts_with('-'));
            let from = after_dashes.unwrap_or(0);
            let named = rest.get(from..).filter(|_| is_put_aside).unwrap_or(&[]);
            let is_hidden = |arg: &&Arg| without_magic(&arg.text).trim_start_matches("./").starts_with('.');
            for arg in named.iter().filter(is_hidden) {
                found.add(arg, false, true);
            }
        }
        // `git cat-file` shows what was stored.
        "hash-object" => {
            rest.iter().filter(|arg| !arg.text.starts_with('-')).for_each(|arg| found.add(arg, true, false));
        }
        // What is added leaves with the next push.
        "add" | "stage" => {
            let files = rest.iter().filter(|arg| is_credential(arg, &invocation.folder));
            files.for_each(|arg| found.add(arg, true, false));
        }
        "clone" => {
            let sorted = Arguments::parse(programs::row("git"), rest, CLONE_VALUES);
            match sorted.operands.as_slice() {
                [_, folder, ..] => found.add_folder(folder),
                [address] if address.is_known() => found.add_folder(&Arg::known(cloned_name(&address.text))),
                _ => {}
            }
        }
        "init" | "submodule" => {
            // The folder that it is made in comes last.
            let words: Vec<&Arg> = rest.iter().filter(|arg| !arg.text.starts_with('-')).collect();
            let fewest = match (subcommand, words.first().map(|word| word.text.as_str())) {
                ("submodule", Some("add")) => 3,
                ("submodule", _) => return,
                _ => 1,
            };
            if words.len() >= fewest
                && let Some(folder) = words.last()
            {
                found.add_folder(folder);
            }
        }
        "checkout" => match after_dashes {
            Some(from) => rest.iter().skip(from).for_each(|arg| found.add(arg, false, true)),
            None => checked_out(rest, found),
        },
        "restore" | "rm" | "mv" => {
            let sorted = Arguments::parse(programs::row("git"), rest, &["-s", "--source"]);
            // What is taken from the index alone leaves the files as they are.
            let is_index = match subcommand {
                "restore" => sorted.has(&["-S", "--staged"]) && !sorted.has(&["-W", "--worktree"]),
                "rm" => sorted.has(&["--cached"]),
                _ => false,
            };
            if is_index {
                return;
            }
            for arg in sorted.operands {
                found.add(arg, false, true);
            }
        }
        // `git config --file`, where a value follows the name.
        "config" => {
            let sorted =
                Arguments::parse(programs::row("git"), rest, &["-f", "--file", "--type", "--default"]);
            let is_read = sorted.has(&["--get", "--get-all", "--list", "-l", "--get-regexp"]);
            for file in sorted.values_of(&["-f", "--file"]) {
                found.add(file, is_read, !is_read);
            }
        }
        "archive" | "bundle" => {
            let sorted = Arguments::parse(programs::row("git"), rest, &["-o", "--output"]);
            for file in sorted.values_of(&["-o", "--output"]) {
                found.add(file, false, true);
            }
            if subcommand == "bundle" && rest.first().is_some_and(|word| word.text == "create") {
                rest.iter()
                    .skip(1)
                    .find(|arg| !arg.text.starts_with('-'))
                    .into_iter()
                    .for_each(|file| found.add(file, false, true));
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

/// `git checkout main file`: without dashes, the words after a revision are files. The first is one if a branch cannot have its
/// name.
fn checked_out(rest: &[Arg], found: &mut TouchedFiles) {
    let creates = |arg: &Arg| matches!(arg.text.as_str(), "-b" | "-B" | "--orphan" | "-t" | "--track");
    if rest.iter().any(creates) {
        return;
    }
    for (at, arg) in rest.iter().filter(|arg| !arg.text.starts_with('-')).enumerate() {
        if at > 0 || arg.text.starts_with('.') {
            found.add(arg, false, true);
        }
    }
}

/// The files that a subcommand of git shows: `HEAD:file`, those after `--`, and others that hold keys or passwords by their name,
/// because a word without dashes may be a branch as well.
fn shown_by_git(subcommand: &str, args: &[Arg], folder: &Folder, found: &mut TouchedFiles) {
    let is_any = |options: &[&str]| args.iter().any(|arg| options.contains(&arg.text.as_str()));
    let takes_lines = args.iter().any(|arg| ["-L", "-U"].iter().any(|option| arg.text.starts_with(option)));
    let is_log = matches!(subcommand, "log" | "whatchanged");
    let is_summary = !takes_lines && !is_any(GIT_PATCHES) && (is_log || is_any(GIT_SUMMARIES));
    let after_dashes = args.iter().position(|arg| arg.text == "--");
    for (at, arg) in args.iter().enumerate().filter(|(_, arg)| !arg.text.starts_with('-')) {
        let in_commit = arg.text.split_once(':').map(|(_, path)| path).filter(|path| !path.is_empty());
        let is_file = after_dashes.is_some_and(|dashes| at > dashes)
            || matches!(subcommand, "blame" | "annotate")
            || is_credential(arg, folder);
        match in_commit {
            Some(path) if !is_log => found.add(&Arg::known(path), true, false),
            _ if is_file && is_summary => found.add_named(arg, false),
            _ if is_file => found.add(arg, true, false),
            _ => {}
        }
    }
}
