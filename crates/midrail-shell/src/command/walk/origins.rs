//! Where files come from: what is downloaded, copied, moved, packed and unpacked stays what it was, and what the agent was
//! shown or wrote itself is known to it.

use std::collections::BTreeSet;

use midrail_core::FileCopy;

use super::super::condition::does;
use super::super::files;
use super::super::invocation::{Arg, Invocation};
use super::super::options::{Arguments, after_subcommand};
use super::super::programs::{Tag, Transfer};
use super::super::scope::{Scope, join};
use super::flow::{base_name, has_fetched};
use super::output::is_cluster_with;
use super::state::{Content, Listed, MAX_COPIES, Source, Stream, Walk};
use crate::words::places::{ARCHIVES, SHARED_FOLDERS};

/// The most links of one line that are followed.
const MAX_LINKS: usize = 32;

/// How many files one text is made from.
const MAX_FILES: usize = 16;

/// As many lines of a file are all of it, or enough to know it.
const MANY_LINES: usize = 100;

impl Transfer {
    fn is_elsewhere(&self, path: &str) -> bool {
        match self.prefixes {
            [] => path.starts_with("rsync://") || files::is_on_host(path),
            heads => heads.iter().any(|head| path.starts_with(head)),
        }
    }
}

impl Walk {
    /// A copy holds what the original does.
    pub(super) fn copied(&mut self, invocation: &Invocation, scope: &Scope) {
        let sorted = Arguments::new(invocation);
        let mut sources = sorted.operands.clone();
        // `dd if=a of=b`
        let given = |name: &str| {
            let value = |arg: &Arg| arg.text.strip_prefix(name).map(|_| arg.tail(name.len()));
            invocation.args.iter().find_map(value).filter(|_| invocation.program == "dd")
        };
        let (dd_from, dd_to) = (given("if="), given("of="));
        if let (Some(from), Some(to)) = (&dd_from, &dd_to) {
            sources = vec![from, to];
        }
        sources.retain(|file| !files::is_on_host(&file.text));
        let folder = sorted.values_of(&["-t", "--target-directory"]).last();
        let Some(to) = folder.or_else(|| sources.pop()) else { return };
        let target = scope.place(&to.text);
        let is_link = does(invocation, Tag::LinksSymbolically);
        let original = |from: &Arg| {
            if is_link { scope.place(&files::led_to(&from.text, &to.text)) } else { scope.place(&from.text) }
        };
        if let (true, [from]) = (is_link, sources.as_slice())
            && self.links.len() < MAX_LINKS
        {
            self.links.push((target.clone(), original(from)));
        }
        let is_file = folder.is_none() && sources.len() == 1 && !to.text.ends_with('/');
        for from in sources.into_iter().take(MAX_COPIES) {
            let place = original(from);
            let is_secret =
                super::exfiltration::is_credential_place(&place) || self.secret_files.contains(&place);
            if is_secret {
                self.keep_secret_file(&join(&target, base_name(&from.text)), false, true);
                self.keep_secret_file(&target, !is_file, is_file);
            }
            // A copy of a file that the line did not write is that file under another name.
            let content = self.files.get(&place).cloned().unwrap_or(Content::Copy(place));
            self.files.insert(join(&target, base_name(&from.text)), content.clone());
            if is_file {
                self.files.insert(target.clone(), content);
            }
        }
    }

    /// Files that a program downloads have not been reviewed.
    pub(super) fn downloads(&mut self, invocation: &Invocation, scope: &Scope) {
        let remote = Stream { source: Source::Remote, ..Stream::printed_by(&invocation.program) };
        for touched in files::touched(invocation) {
            if touched.is_written && !touched.is_folder {
                self.write_file(&scope.place(&touched.path), false, &remote);
            }
        }
        if does(invocation, Tag::NamesDownloads) {
            for arg in &invocation.args {
                if arg.text.contains("://") || (arg.text.contains('.') && arg.text.contains('/')) {
                    let path = arg.text.split(['?', '#']).next().unwrap_or("");
                    self.write_file(&scope.place(base_name(path)), false, &remote);
                }
            }
        }
    }

    /// `scp host:file .`, `aws s3 cp s3://bucket/file .`: files of another machine come here.
    pub(super) fn transferred(&mut self, invocation: &Invocation, scope: &Scope) {
        let program = invocation.program.as_str();
        let row = invocation.row();
        let Some(transfer) = &row.transfers else { return };
        let Some(from) = after_subcommand(row, &invocation.args, transfer.subcommands, &[]) else { return };
        let args = invocation.args.get(from..).unwrap_or(&[]);
        let operands = Arguments::parse(row, args, &[]).operands;
        let to = match operands.as_slice() {
            // `sftp host:file`
            [from] if transfer.is_elsewhere(&from.text) => ".".to_owned(),
            [.., to] if !transfer.is_elsewhere(&to.text) && to.text != "-" => to.text.clone(),
            _ => return,
        };
        let remote = Stream { source: Source::Remote, ..Stream::printed_by(program) };
        for from in operands.into_iter().filter(|from| transfer.is_elsewhere(&from.text)).take(MAX_COPIES) {
            let name = from.text.rsplit(['/', ':']).next().unwrap_or_default();
            self.write_file(&scope.place(&join(&to, name)), false, &remote);
            if !to.ends_with(['/', '.']) {
                self.write_file(&scope.place(&to), false, &remote);
            }
        }
    }

    /// Something is unpacked. Where it was fetched from the network, what runs from then on may be of it.
    pub(super) fn unpacked(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        if !does(invocation, Tag::Unpacks) {
            return;
        }
        let is_remote = |arg: &Arg| matches!(self.files.get(&scope.place(&arg.text)), Some(Content::Remote));
        self.has_unpacked |= input.source == Source::Remote || invocation.args.iter().any(is_remote);
        if scope.is_remote {
            return;
        }
        let folder = target_folder(invocation).map(|folder| scope.place(&folder));
        let own = folder.as_deref().filter(|folder| !SHARED_FOLDERS.contains(folder));
        match (&input.source, own) {
            (Source::Remote, Some(folder)) => self.origins.unpack(format!("{folder}/")),
            (Source::Remote, None) => self.origins.is_scattered = true,
            _ => {}
        }
        for archive in invocation.args.iter().filter(|arg| arg.is_known()).take(MAX_COPIES) {
            let place = scope.place(&archive.text);
            let stem = ARCHIVES.iter().find_map(|ending| base_name(&archive.text).strip_suffix(ending));
            let Some(stem) = stem.filter(|stem| !stem.is_empty()) else { continue };
            let to = match (own, &folder) {
                (Some(folder), _) => format!("{folder}/"),
                (None, Some(shared)) => format!("{}/", join(shared, stem)),
                (None, None) => format!("{}/", join("", &scope.place(stem))),
            };
            match self.files.get(&place) {
                Some(Content::Remote) => self.origins.unpack(to),
                _ if self.origins.copies.len() < MAX_COPIES => {
                    self.origins.copies.insert((place.clone(), to));
                    self.origins.archives.push(place);
                }
                _ => self.analysis.is_partial = true,
            }
        }
    }

    /// `gzip file` and `gunzip file.gz`
    pub(super) fn compressed(&mut self, invocation: &Invocation, scope: &Scope) {
        let row = invocation.row();
        let has = |flag| invocation.args.iter().any(|arg| is_cluster_with(&arg.text, flag));
        let (ending, expands) = match (row.compresses, row.expands) {
            ("", "") => return,
            ("", ending) => (ending, true),
            (ending, _) => (ending, has('d')),
        };
        if has('c') || has('t') || has('l') || scope.is_remote {
            return;
        }
        for file in invocation.args.iter().filter(|arg| arg.is_known() && !arg.text.starts_with('-')) {
            let from = scope.place(&file.text);
            let to = match (expands, from.strip_suffix(ending)) {
                (true, Some(to)) => to.to_owned(),
                (true, None) => continue,
                (false, _) => format!("{from}{ending}"),
            };
            self.note(Listed::Write, &to);
            if super::exfiltration::is_credential_place(&from) || self.secret_files.contains(&from) {
                self.keep_secret_file(&to, false, true);
            }
            match self.files.get(&from) {
                Some(Content::Remote) => drop(self.files.insert(to, Content::Remote)),
                _ if self.origins.copies.len() < MAX_COPIES => drop(self.origins.copies.insert((from, to))),
                _ => self.analysis.is_partial = true,
            }
        }
    }

    /// The files that a filter's output is made from, and those of them that it shows.
    pub(super) fn made_from(
        &mut self,
        invocation: &Invocation,
        scope: &Scope,
        input: &Stream,
    ) -> (Vec<String>, Vec<String>) {
        if scope.is_remote {
            return (Vec::new(), Vec::new());
        }
        let program = invocation.program.as_str();
        let takes_script =
            matches!(invocation.family(), "sed" | "grep" | "awk" | "jq" | "tr" | "perl" | "ruby");
        let is_file = |arg: &&Arg| {
            arg.is_known()
                && !arg.text.starts_with(['-', '+'])
                && arg.text.parse::<u64>().is_err()
                && program != "tee"
        };
        let operands = invocation.args.iter().filter(is_file).skip(usize::from(takes_script));
        let files: Vec<String> = operands.take(MAX_FILES).map(|arg| scope.place(&arg.text)).collect();
        let shows = shows_all(invocation);
        if files.is_empty() {
            return (input.files.clone(), if shows { input.shown.clone() } else { Vec::new() });
        }
        if !shows {
            return (files, Vec::new());
        }
        for file in files.iter().filter(|file| self.files.get(*file) == Some(&Content::Remote)) {
            self.origins.shown.insert(file.clone());
        }
        (files.clone(), files)
    }

    /// A file gets new content: what was known of it before no longer holds.
    pub(super) fn rewritten(&mut self, place: &str, is_append: bool, stream: &Stream) {
        self.origins.shown.remove(place);
        if !is_append {
            self.origins.appended.remove(place);
        } else if !self.files.contains_key(place) {
            self.origins.appended.insert(place.to_owned());
        }
        for file in stream.files.iter().filter(|file| *file != place) {
            if self.origins.copies.len() < MAX_COPIES {
                self.origins.copies.insert((file.clone(), place.to_owned()));
            }
        }
    }

    /// Whether a file lies in a folder into which something from the network was unpacked.
    pub(super) fn is_unpacked(&self, place: &str) -> bool {
        self.origins.unpacked.iter().any(|folder| place.starts_with(folder.as_str()))
    }

    /// Lists the files that were fetched, those that the agent knows, and those that hold what others did.
    pub(super) fn list_origins(&mut self, shown: Vec<String>) {
        let origins = std::mem::take(&mut self.origins);
        let is_fetched = |content: &Content| match content {
            Content::Remote => true,
            Content::Known(text) => has_fetched(text),
            _ => false,
        };
        let mut copies = origins.copies;
        let mut seen: BTreeSet<String> = shown.into_iter().collect();
        seen.retain(|path| !self.files.get(path).is_some_and(is_fetched) || origins.shown.contains(path));
        let files = self.files.iter().filter(|(path, _)| !path.starts_with("/dev/"));
        for (path, content) in files {
            match content {
                content if is_fetched(content) && !seen.contains(path) => {
                    self.analysis.fetched.push(path.clone());
                }
                Content::Known(_) if !origins.appended.contains(path) => drop(seen.insert(path.clone())),
                Content::Copy(original) if original != path && copies.len() < 2 * MAX_COPIES => {
                    copies.insert((original.clone(), path.clone()));
                }
                _ => {}
            }
        }
        self.analysis.fetched.extend(origins.unpacked);
        self.analysis.seen = seen.into_iter().collect();
        self.analysis.copies = copies.into_iter().map(|(from, to)| FileCopy { from, to }).collect();
        // What was unpacked decides what a script that may be of it is.
        if !self.analysis.scripts.is_empty() {
            self.analysis.feeds.extend(origins.archives);
        }
    }
}

/// The folder that something is unpacked into, where one is named.
pub(super) fn target_folder(invocation: &Invocation) -> Option<String> {
    let is_tar = invocation.family() == "tar";
    let takes = match invocation.program.as_str() {
        _ if is_tar => ["-C", "--directory"],
        "cpio" => ["-D", "--directory"],
        _ => ["-d", "--directory"],
    };
    let sorted = Arguments::new(invocation);
    let named = sorted.values_of(&takes).last().map(|folder| folder.text.clone());
    let in_word = || invocation.args.iter().find_map(|arg| arg.text.strip_prefix("-o")).map(str::to_owned);
    named.or_else(|| in_word().filter(|folder| invocation.program.starts_with('7') && !folder.is_empty()))
}

/// Whether a program shows all of what it reads, or so much that it is known.
fn shows_all(invocation: &Invocation) -> bool {
    let args = invocation.args.as_slice();
    let number = |text: &str| text.parse::<usize>().is_ok_and(|lines| lines >= MANY_LINES);
    match invocation.program.as_str() {
        "head" | "tail" => {
            let is_bytes =
                args.iter().any(|arg| is_cluster_with(&arg.text, 'c') || arg.text.starts_with("--bytes"));
            let lines = |arg: &Arg| {
                arg.text.trim_start_matches("--lines").trim_start_matches(['-', 'n', '=']).to_owned()
            };
            !is_bytes
                && args.iter().map(lines).any(|lines| number(&lines) || matches!(lines.as_str(), "+1" | "+0"))
        }
        "sed" => args.iter().any(|arg| match arg.text.trim_matches([' ', ';']).strip_suffix('p') {
            Some("" | "1,$") => true,
            Some(lines) => {
                lines.split_once(',').is_some_and(|(from, to)| matches!(from, "0" | "1") && number(to))
            }
            None => false,
        }),
        _ => does(invocation, Tag::ShowsAll),
    }
}
