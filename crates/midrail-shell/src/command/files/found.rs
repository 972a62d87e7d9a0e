//! The files that a program touches, as they are collected: also those that are used without showing their content, and those
//! that are named inside of other things.

use crate::command::condition::does;
use crate::command::danger::is_credential;
use crate::command::invocation::{Arg, Invocation};
use crate::command::options::{Arguments, find_run};
use crate::command::programs::Tag;
use crate::command::scope::{is_absolute, join};
use crate::words::places::TEMPLATES;
use crate::words::shell::OWNER_ONLY_MODES;
use crate::words::sql::READING_FUNCTIONS;

/// A file that a program touches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Touched {
    pub(crate) path: String,
    pub(crate) is_read: bool,
    pub(crate) is_written: bool,
    /// It is a folder, or becomes one.
    pub(crate) is_folder: bool,
    /// It is written with everything in it, if it is a folder.
    pub(crate) is_swept: bool,
    /// Its content is neither shown nor changed: it is listed, tested or used as a key.
    pub(crate) is_named: bool,
}

/// The files found so far.
#[derive(Default)]
pub(super) struct TouchedFiles {
    pub(super) list: Vec<Touched>,
}

impl TouchedFiles {
    pub(super) fn add(&mut self, arg: &Arg, is_read: bool, is_written: bool) {
        let path = arg.text.as_str();
        let is_none = path.is_empty()
            || path == "-"
            || path.contains("://")
            || path.starts_with("/dev/null")
            || (path.starts_with("/dev/std") && !(is_written && path == "/dev/stdin"))
            || path.contains('\n')
            || path.len() > 4096;
        if !is_none {
            let is_folder = matches!(path, "." | ".." | "~") || path.ends_with('/');
            let path = path.to_owned();
            self.list.push(Touched { path, is_read, is_written, is_folder, ..Touched::default() });
        }
    }

    /// A file whose content is neither shown nor changed.
    pub(super) fn add_named(&mut self, arg: &Arg, is_written: bool) {
        let from = self.list.len();
        self.add(arg, !is_written, is_written);
        self.list.iter_mut().skip(from).for_each(|touched| touched.is_named = true);
    }

    /// A folder that is created, or that files are put into.
    pub(super) fn add_folder(&mut self, arg: &Arg) {
        let from = self.list.len();
        self.add(arg, false, true);
        self.list.iter_mut().skip(from).for_each(|touched| touched.is_folder = true);
    }
}

/// Whether a path is on another machine: `host:path`.
pub(crate) fn is_on_host(path: &str) -> bool {
    path.split_once(':').is_some_and(|(host, _)| !host.contains('/') && host.len() > 1)
}

/// `openssl rsa -in key`, `ssh-keygen -f key`
pub(super) fn keys(invocation: &Invocation, sorted: &Arguments, found: &mut TouchedFiles) {
    let makes_key = invocation.program == "ssh-keygen";
    for file in sorted.values_of(if makes_key { &["-f"] } else { &["-in"] }) {
        if does(invocation, Tag::KeepsKeys) {
            found.add_named(file, false);
        } else {
            found.add(file, !makes_key, makes_key);
        }
    }
}

/// What a symbolic link leads to: it counts from the folder of the link.
pub(crate) fn led_to(target: &str, link: &str) -> String {
    let folder = match link.rsplit_once('/') {
        _ if matches!(link, "." | ".." | "~") => link,
        Some((folder, _)) => folder,
        None => "",
    };
    if is_absolute(target) { target.to_owned() } else { join(folder, target) }
}

/// A link changes nothing of what it leads to, and shows nothing of it. Under another name, keys would be shown.
pub(super) fn linked(target: &Arg, link: Option<&Arg>, invocation: &Invocation, found: &mut TouchedFiles) {
    let link = link.map_or("", |link| link.text.as_str());
    let target = Arg { text: led_to(&target.text, link), ..target.clone() };
    if is_credential(&target, &invocation.folder) {
        found.add(&target, true, false);
    } else {
        found.add_named(&target, false);
    }
}

/// `cp .env.example .env`: what is written holds no credentials yet.
pub(super) fn is_from_template(operands: &[&Arg], invocation: &Invocation) -> bool {
    let [template, file] = operands else { return false };
    matches!(invocation.program.as_str(), "cp" | "gcp" | "install")
        && TEMPLATES.iter().any(|ending| template.text.ends_with(ending))
        && is_credential(file, &invocation.folder)
}

/// `chmod 600 ~/.ssh/id_rsa`: the file is as it was, and safer.
pub(super) fn only_keeps_others_out(operands: &[&Arg], file: &Arg, invocation: &Invocation) -> bool {
    let is_plain = |arg: &Arg| !arg.text.starts_with('-');
    invocation.program == "chmod"
        && invocation.args.iter().all(is_plain)
        && operands.first().is_some_and(|mode| OWNER_ONLY_MODES.contains(mode.text.as_str()))
        && (is_credential(file, &invocation.folder) || file.text.contains("/.ssh"))
}

/// The command of a client that reads a file.
const IMPORT: &str = ".import ";

/// Its commands that write a file.
const EXPORTS: [&str; 6] = [".output ", ".once ", ".backup ", ".save ", ".clone ", ".log "];

/// `sqlite3 :memory: "select readfile('x')"`, `sqlite3 a.db '.import x t'`
pub(super) fn read_by_statements(invocation: &Invocation, found: &mut TouchedFiles) {
    for arg in &invocation.args {
        let text = arg.text.as_str();
        for name in READING_FUNCTIONS.iter().filter(|name| text.contains(**name)) {
            for rest in text.split(name).skip(1).take(16) {
                let file = rest
                    .trim_start()
                    .strip_prefix(['\'', '"'])
                    .and_then(|rest| rest.split(['\'', '"']).next());
                file.into_iter().for_each(|file| found.add(&Arg::known(file), true, false));
            }
        }
        for line in text.lines().map(str::trim_start) {
            let named = |command: &str| {
                let mut words = line.strip_prefix(command)?.split_whitespace();
                let file = words.find(|word| !word.starts_with('-'))?;
                Some(Arg::known(file.trim_matches(['\'', '"'])))
            };
            if let Some(file) = named(IMPORT) {
                found.add(&file, true, false);
            }
            for file in EXPORTS.iter().filter_map(|command| named(command)) {
                found.add(&file, false, true);
            }
        }
    }
}

/// The hidden files below a mounted folder that the command of a container names, relative to that folder. What the command
/// does to them is not known: `rm -rf /mounted/.claude`.
fn hidden_paths(command: &[Arg], mounted: &str, workdir: Option<&Arg>) -> Vec<String> {
    let is_workdir = workdir.is_some_and(|folder| folder.text.trim_end_matches('/') == mounted);
    let words =
        command.iter().flat_map(|arg| arg.text.split([' ', '\'', '"', ';', '\n', '>', '<', '&', '|']));
    let below = |word: &str| match word.strip_prefix(mounted).and_then(|rest| rest.strip_prefix('/')) {
        Some(path) => Some(path.to_owned()),
        None => is_workdir.then(|| word.trim_start_matches("./").to_owned()),
    };
    let is_hidden = |path: &String| {
        path.split('/').any(|part| part.starts_with('.') && !matches!(part, "." | ".."))
            && !path.starts_with('/')
    };
    words.filter_map(below).filter(is_hidden).take(16).collect()
}

/// `docker run -v $PWD/.env:/x image cat /x`: a file with credentials that the command names as the container sees it.
pub(super) fn read_in_container(invocation: &Invocation, found: &mut TouchedFiles) {
    let Some((args, run)) = find_run(invocation, "run") else { return };
    let sorted = Arguments::before_command(invocation.row(), run, args, run.values);
    let command = sorted.rest().get(1..).unwrap_or_default();
    for volume in sorted.values_of(&["-v", "--volume"]) {
        let mut fields = volume.text.split(':');
        let (Some(here), Some(there)) = (fields.next(), fields.next()) else { continue };
        for path in hidden_paths(command, there, sorted.values_of(&["-w", "--workdir"]).last()) {
            found.add_named(&Arg::known(join(here, &path)), true);
        }
        let here = Arg::known(here);
        let is_named = command.iter().any(|arg| arg.text.contains(there));
        if is_named && is_credential(&here, &invocation.folder) {
            found.add(&here, true, false);
        }
    }
}
