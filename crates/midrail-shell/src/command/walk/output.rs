//! What programs print, if their arguments and input show it.

use super::super::condition::does;
use super::super::decode::{self, Escapes};
use super::super::invocation::{Arg, Invocation};
use super::super::options::Arguments;
use super::super::programs::{self, Tag};
use super::super::scope::{START, Scope};
use super::flow::base_name;
use super::listing;
use super::processes;
use super::state::{Content, Source, Stream, Walk};
use crate::words::shell::{HINTS, SILENT_PROGRAMS};

impl Walk {
    /// What a program prints.
    pub(super) fn printed(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) -> Stream {
        let program = invocation.program.as_str();
        if let Some(text) = self.printed_text(invocation, scope, input) {
            self.spend(text.text.len() / 16);
            return Stream::from_text(text);
        }
        let paths = listing::listed(invocation);
        if !paths.is_empty() {
            self.remember_lists(invocation, &paths, scope);
            return Stream { paths, hints: has_hints(invocation), ..Stream::printed_by(program) };
        }
        // Commands of the past, whatever they did.
        if matches!(program, "history" | "fc") {
            return Stream { source: Source::Hidden, ..Stream::printed_by(program) };
        }
        self.transferred(invocation, scope);
        if invocation.is(Tag::Fetches) {
            self.downloads(invocation, scope);
            return Stream { source: Source::Remote, ..Stream::printed_by(program) };
        }
        if invocation.is(Tag::Filters) {
            let is_decoder = does(invocation, Tag::Decodes);
            let source = match &input.source {
                Source::Remote => Source::Remote,
                // Whatever the environment holds goes into it.
                _ if is_decoder || program == "envsubst" => Source::Hidden,
                Source::Hidden => Source::Hidden,
                // `cat` and the like without operands.
                Source::File(file)
                    if matches!(program, "cat" | "tee" | "pv") && invocation.args.is_empty() =>
                {
                    Source::File(file.clone())
                }
                Source::Inherited | Source::Local | Source::File(_) => self.file_source(invocation, scope),
            };
            let hints = input.hints || has_hints(invocation);
            let paths = self.passed_on(invocation, scope, input);
            let (files, shown) = self.made_from(invocation, scope, input);
            self.compressed(invocation, scope);
            return Stream { source, hints, paths, files, shown, ..Stream::printed_by(program) };
        }
        if matches!(program, "cp" | "mv" | "install" | "ln" | "rsync" | "ditto" | "dd") {
            self.copied(invocation, scope);
        }
        if SILENT_PROGRAMS.contains(program) {
            return Stream::silent();
        }
        if does(invocation, Tag::PrintsRemote) {
            return Stream { source: Source::Remote, ..Stream::printed_by(program) };
        }
        Stream { hints: has_hints(invocation), ..Stream::printed_by(program) }
    }

    /// The paths that a filter lets through.
    fn passed_on(&self, invocation: &Invocation, scope: &Scope, input: &Stream) -> Vec<Arg> {
        let from_file =
            invocation.args.iter().find_map(|arg| match self.files.get(&scope.place(&arg.text)) {
                Some(Content::Paths(paths)) => Some(paths),
                _ => None,
            });
        let paths = from_file.unwrap_or(&input.paths).iter().cloned();
        if does(invocation, Tag::KeepsAll) { paths.collect() } else { paths.map(listing::narrowed).collect() }
    }

    /// `cat file`: where the line wrote that file or fetched it, and else the file.
    fn file_source(&self, invocation: &Invocation, scope: &Scope) -> Source {
        for arg in &invocation.args {
            match self.files.get(&scope.place(&arg.text)) {
                Some(Content::Remote) => return Source::Remote,
                // What a filter makes of a text that is known, and what is not known here.
                Some(Content::Hidden | Content::Known(_)) => return Source::Hidden,
                Some(Content::Copy(original)) if invocation.program == "cat" => {
                    return Source::File(original.clone());
                }
                _ => {}
            }
        }
        if scope.is_remote || !matches!(invocation.program.as_str(), "cat" | "bat" | "head" | "tail" | "pv") {
            return Source::Local;
        }
        let sorted = Arguments::new(invocation);
        // `tail +2`
        let mut files = sorted.operands.iter().filter(|arg| !arg.text.starts_with('+') && arg.text != "-");
        match (files.next(), files.next()) {
            (Some(file), None) if file.is_known() => Source::File(scope.place(&file.text)),
            _ => Source::Local,
        }
    }

    fn printed_text(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) -> Option<Arg> {
        let args = invocation.args.as_slice();
        let known = |arg: &Arg| (arg.is_known() && !arg.is_glob).then(|| arg.text.clone());
        match invocation.program.as_str() {
            "echo" | "print" => Some(echo(args)),
            "printf" => printf(args),
            "cat" | "tee" | "bat" | "pv" | "sponge" | "command_output" => self.cat(invocation, scope, input),
            "basename" => {
                let operands: Vec<&Arg> = args.iter().filter(|arg| !arg.text.starts_with('-')).collect();
                let path = known(operands.first()?)?;
                let base = base_name(path.trim_end_matches('/')).to_owned();
                let suffix = operands.get(1).map_or("", |arg| arg.text.as_str());
                Some(Arg::known(base.strip_suffix(suffix).unwrap_or(&base)))
            }
            "dirname" => {
                let path = known(args.first()?)?;
                // `$0`: the folder of the script that this is.
                if programs::is(&path, Tag::Shell) {
                    return None;
                }
                Some(Arg::known(
                    path.rsplit_once('/').map_or(".", |(head, _)| if head.is_empty() { "/" } else { head }),
                ))
            }
            "which" | "type" | "whereis" | "whence" | "where" => {
                let name = args.iter().find(|arg| !arg.text.starts_with('-'))?;
                known(name).map(installed)
            }
            "command" => {
                let [flag, name, ..] = args else { return None };
                (matches!(flag.text.as_str(), "-v" | "-V")).then(|| known(name))?.map(installed)
            }
            "realpath" | "readlink" => {
                let path = args.iter().find(|arg| !arg.text.starts_with('-'))?;
                known(path).map(Arg::known)
            }
            "pgrep" | "pidof" => processes::looked_up(invocation),
            "grep" | "egrep" | "awk" | "cut" | "head" | "tail" | "tr" | "sort" | "uniq"
                if processes::is_list(input) =>
            {
                processes::selected(invocation, input)
            }
            "mktemp" => Some(Arg::known("/tmp/mktemp")),
            "pwd" => scope.working_folder(),
            "git" => {
                let words: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
                (words == ["rev-parse", "--show-toplevel"] && !scope.has_other_tree())
                    .then(|| Arg::known(START.to_string()))
            }
            "rev" | "tr" | "base64" | "base32" | "xxd" | "sed" | "head" | "tail" | "tac" | "cut" | "grep"
            | "sort" | "uniq" | "openssl" | "rot13" => {
                let text = self.filter_input(invocation, scope, input)?;
                filter(invocation, &text).map(Arg::known)
            }
            _ => None,
        }
    }

    /// The text that a filter reads, where it is known: from its pipe, or from a file that the line wrote.
    fn filter_input(&self, invocation: &Invocation, scope: &Scope, input: &Stream) -> Option<String> {
        let from_file = invocation.args.iter().rev().find_map(|arg| {
            let Content::Known(text) = self.files.get(&scope.place(&arg.text))? else { return None };
            Some(text)
        });
        let text = from_file.or(input.text.as_ref())?;
        text.is_known().then(|| text.text.clone())
    }

    fn cat(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) -> Option<Arg> {
        let operands: Vec<&Arg> =
            invocation.args.iter().filter(|arg| !arg.text.starts_with('-') || arg.text == "-").collect();
        if invocation.program == "tee" {
            let is_append = invocation.args.iter().any(|arg| arg.text == "-a" || arg.text == "--append");
            for operand in operands {
                self.write_file(&scope.place(&operand.text), is_append, input);
            }
            return input.text.clone();
        }
        if operands.is_empty() {
            return input.text.clone();
        }
        let mut whole = Arg::default();
        for operand in operands {
            let piece = match self.files.get(&scope.place(&operand.text)) {
                Some(Content::Known(text)) => text,
                _ if matches!(operand.text.as_str(), "-" | "/dev/stdin") => input.text.as_ref()?,
                _ => return None,
            };
            whole.append(piece);
            if whole.text.len() > (1 << 20) {
                return None;
            }
        }
        Some(whole)
    }
}

/// Where a program is installed, by its name.
fn installed(name: String) -> Arg {
    Arg::known(if name.contains('/') { name } else { format!("/usr/local/bin/{name}") })
}

/// Whether what a program prints may name something that destroys.
fn has_hints(invocation: &Invocation) -> bool {
    invocation.args.iter().any(|arg| {
        arg.text.contains(' ')
            && arg.text.split(|c: char| !c.is_alphanumeric()).any(|word| HINTS.contains(word))
    })
}

pub(super) fn is_cluster_with(text: &str, flag: char) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains(flag)
}

fn echo(args: &[Arg]) -> Arg {
    let mut has_newline = true;
    let mut has_escapes = false;
    let mut rest = args;
    while let Some((first, after)) = rest.split_first() {
        let flags = first.text.strip_prefix('-').unwrap_or("");
        if flags.is_empty() || !flags.bytes().all(|byte| matches!(byte, b'n' | b'e' | b'E')) {
            break;
        }
        has_newline &= !flags.contains('n');
        has_escapes |= flags.contains('e');
        rest = after;
    }
    let mut text = Arg::default();
    for (index, arg) in rest.iter().enumerate() {
        if index > 0 {
            text.text.push(' ');
        }
        text.append(arg);
    }
    if has_escapes
        && text.is_known()
        && let Some(decoded) = decode::escapes(&text.text, Escapes::Echo)
    {
        text.text = decoded;
    }
    if has_newline {
        text.text.push('\n');
    }
    text.is_glob = false;
    text
}

/// What `printf` prints, for the formats that put text together.
pub(super) fn printf(args: &[Arg]) -> Option<Arg> {
    let args = match args {
        [first, rest @ ..] if first.text == "--" => rest,
        _ => args,
    };
    let (format, values) = args.split_first()?;
    if !format.is_known() || format.text.len() > 1 << 16 {
        return None;
    }
    // The format is used again until no value is left.
    let pieces = format_pieces(&format.text)?;
    let takes = pieces.iter().filter(|piece| matches!(piece, Piece::Value(_))).count();
    let mut result = Arg::default();
    let mut values = values.iter();
    loop {
        for piece in &pieces {
            match piece {
                Piece::Text(text) => result.text.push_str(text),
                Piece::Value(kind) => {
                    let value = values.next().cloned().unwrap_or_default();
                    let changed = match kind {
                        'b' if value.is_known() => decode::escapes(&value.text, Escapes::Echo),
                        'c' => Some(value.text.chars().take(1).collect()),
                        _ => None,
                    };
                    result.append(&changed.map_or(value, Arg::known));
                }
            }
            if result.text.len() > 1 << 18 {
                return None;
            }
        }
        if takes == 0 || values.len() == 0 {
            result.is_glob = false;
            return Some(result);
        }
    }
}

enum Piece {
    Text(String),
    Value(char),
}

fn format_pieces(format: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\\' {
            text.push(c);
            text.extend(chars.next());
            continue;
        }
        if c != '%' {
            text.push(c);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            text.push_str("%%");
            continue;
        }
        while chars.peek().is_some_and(|c| matches!(c, '0'..='9' | '-' | '+' | ' ' | '.' | '#')) {
            chars.next();
        }
        let kind = chars.next()?;
        if !matches!(kind, 's' | 'b' | 'd' | 'i' | 'u' | 'c' | 'q') {
            return None;
        }
        pieces.push(Piece::Text(decode::escapes(&text, Escapes::Printf)?));
        text.clear();
        pieces.push(Piece::Value(kind));
    }
    pieces.push(Piece::Text(decode::escapes(&text, Escapes::Printf)?));
    Some(pieces)
}

/// What a filter makes of a known text.
fn filter(invocation: &Invocation, text: &str) -> Option<String> {
    let args = invocation.args.as_slice();
    let operands: Vec<&str> =
        args.iter().map(|arg| arg.text.as_str()).filter(|text| !text.starts_with('-')).collect();
    if args.iter().any(|arg| !arg.is_known()) {
        return None;
    }
    let is_decoder = || does(invocation, Tag::Decodes);
    match invocation.program.as_str() {
        "rev" => Some(decode::reverse(text)),
        "rot13" => Some(decode::rot13(text)),
        "tac" => {
            let lines: Vec<&str> = text.lines().rev().collect();
            Some(lines.join("\n") + "\n")
        }
        "tr" => {
            let flags: String =
                args.iter().map(|arg| arg.text.as_str()).filter(|text| text.starts_with('-')).collect();
            match operands.as_slice() {
                [set] if flags.contains('d') => decode::delete(text, set),
                [from, to] if !flags.contains('c') => decode::translate(text, from, to),
                _ => None,
            }
        }
        "base64" if is_decoder() => decode::base64(text),
        "base32" if is_decoder() => decode::base32(text),
        "openssl" if is_decoder() && args.iter().any(|arg| arg.text.contains("base64")) => {
            decode::base64(text)
        }
        "xxd" if is_decoder() => decode::hex(text),
        "head" | "tail" => {
            let count = args.iter().find_map(|arg| {
                arg.text.trim_start_matches("-n").trim_start_matches('-').parse::<usize>().ok()
            });
            let has_count = args.iter().any(|arg| arg.text.starts_with(['-', '+']));
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            if args.iter().any(|arg| arg.text.starts_with("-c") || arg.text.starts_with("--b")) {
                return None;
            }
            // `tail -n +2`: from the second line on.
            let from = args.iter().find_map(|arg| arg.text.trim_start_matches("-n").strip_prefix('+'));
            if let Some(from) = from.filter(|_| invocation.program == "tail") {
                let from: usize = from.parse().ok()?;
                return Some(lines.into_iter().skip(from.saturating_sub(1)).collect());
            }
            let count = if has_count { count? } else { 10 };
            let skip = if invocation.program == "tail" { lines.len().saturating_sub(count) } else { 0 };
            Some(lines.into_iter().skip(skip).take(count).collect())
        }
        "sed" => substitute(args, text),
        "sort" | "uniq" | "grep" if text.lines().count() <= 1 => Some(text.to_owned()),
        _ => None,
    }
}

/// `sed 's/a/b/g'` with plain texts.
fn substitute(args: &[Arg], text: &str) -> Option<String> {
    let scripts: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).filter(|text| *text != "-e").collect();
    let [script] = scripts.as_slice() else { return None };
    let rest = script.strip_prefix('s')?;
    let sign = rest.chars().next().filter(char::is_ascii_punctuation)?;
    let mut fields = rest.get(1..)?.split(sign);
    let (from, to, flags) = (fields.next()?, fields.next()?, fields.next()?);
    let is_plain = |text: &str| !text.contains(['\\', '.', '*', '[', '^', '$', '&']);
    if fields.next().is_some() || !is_plain(from) || !is_plain(to) || from.is_empty() || text.len() > 1 << 16
    {
        return None;
    }
    let mut result = String::new();
    for line in text.split_inclusive('\n') {
        if flags.contains('g') {
            result.push_str(&line.replace(from, to));
        } else {
            result.push_str(&line.replacen(from, to, 1));
        }
        if result.len() > 1 << 18 {
            return None;
        }
    }
    Some(result)
}
