//! Reads PowerShell: commands, blocks and brackets, strings with what they interpolate, and variables that the script
//! itself sets.

mod commands;

use std::collections::BTreeMap;

use super::command::{WindowsCommand, environment, posix};
use super::translate::translate;
use super::translation::Translation;
use super::unfold;
use crate::command::decode;
use crate::command::invocation::Arg;

/// Brackets nested deeper than this are read as if they were not there.
const DEEPEST_BRACKETS: usize = 64;
/// Values of variables longer than this are not followed.
const LONGEST_VALUE: usize = 4096;

/// Marks the words of a value that is given to a variable.
const ASSIGNS: &str = "\u{1}=";

/// Reads a script, and translates its commands.
pub(super) fn read(script: &str, depth: usize, out: &mut Translation) {
    let unfolded = unfold::powershell(script);
    let script = unfolded.as_ref();
    let mut reader = Reader {
        text: script,
        bytes: script.as_bytes(),
        at: 0,
        depth,
        variables: BTreeMap::new(),
        current: Context::default(),
        outer: Vec::new(),
        missing: Vec::new(),
        out,
    };
    while reader.at < reader.bytes.len() {
        reader.step();
    }
    while !reader.outer.is_empty() {
        reader.close();
    }
    reader.finish(false);
}

/// A variable's value.
#[derive(Debug, Clone)]
enum Value {
    Known(String),
    Fetched,
    Decoded,
}

/// A command that is being read, and its context.
#[derive(Debug, Default)]
struct Context {
    command: WindowsCommand,
    /// What comes down the pipe was fetched, or decoded.
    is_input_fetched: bool,
    is_input_decoded: bool,
    is_piped: bool,
    /// What comes down the pipe, as text.
    input: String,
    /// The files that come down the pipe, and whether those below them come too.
    listed: Option<(Vec<Arg>, bool)>,
    /// The next part belongs to the last word: `a"b"`, `x.Method`.
    is_joined: bool,
    /// Words between `+` and `-f`, or after one: parts of an expression.
    has_plus: bool,
    /// It contains a string: a value, if it is alone.
    has_string: bool,
    /// Its first word is a string: a value, unless the call operator comes first.
    starts_with_string: bool,
    is_called: bool,
}

struct Reader<'a, 'o> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    variables: BTreeMap<String, Value>,
    current: Context,
    outer: Vec<Context>,
    /// Quotes that were searched for and do not come again.
    missing: Vec<u8>,
    out: &'o mut Translation,
}

impl Reader<'_, '_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn step(&mut self) {
        let byte = self.peek(0);
        match byte {
            b' ' | b'\t' | b'\r' => {
                self.at += 1;
                // A list continues after its comma: `a, b`.
                self.current.is_joined &= self.last_ends_with(",");
            }
            b'`' if self.peek(1) == b'\n' => self.at += 2,
            b'\n' | b';' => {
                self.finish(false);
                self.at += 1;
            }
            b'|' => {
                let is_or = self.peek(1) == b'|';
                self.finish(!is_or);
                self.at += if is_or { 2 } else { 1 };
            }
            b'&' if self.peek(1) == b'&' => {
                self.finish(false);
                self.at += 2;
            }
            // The call operator, which starts a command, or the mark of a job, which ends one.
            b'&' => {
                if !self.current.command.words.is_empty() {
                    self.finish(false);
                }
                self.current.is_called = true;
                self.at += 1;
            }
            b'#' if !self.current.is_joined => {
                let rest = self.bytes.get(self.at..).unwrap_or_default();
                self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            }
            b'<' if self.peek(1) == b'#' => {
                let rest = self.text.get(self.at..).unwrap_or("");
                self.at += rest.find("#>").map_or(rest.len(), |found| found + 2);
            }
            b'(' | b'{' => {
                self.open();
                self.at += 1;
            }
            b')' | b'}' => {
                self.at += 1;
                self.close();
            }
            b'@' if matches!(self.peek(1), b'(' | b'{') => self.at += 1,
            b'@' if matches!(self.peek(1), b'"' | b'\'') => self.here_string(),
            b'$' if self.peek(1) == b'(' => self.at += 1,
            b'>' => self.redirection(),
            b'\'' | b'"' => self.quoted(byte),
            b'$' => self.variable(),
            b'=' if self.starts_assignment() => self.assignment(),
            b'+' if !self.current.is_joined => {
                self.current.has_plus = true;
                self.at += 1;
            }
            b',' => {
                self.current.is_joined = true;
                self.push(Arg::known(","));
                self.at += 1;
                self.current.is_joined = true;
            }
            _ => self.word(),
        }
    }

    /// Adds a part to the command: to its last word if no blank is between them.
    fn push(&mut self, part: Arg) {
        let context = &mut self.current;
        // `'a' + 'b'` is one text.
        let is_sum = std::mem::take(&mut context.has_plus);
        match context.command.words.last_mut() {
            Some(last) if context.is_joined || is_sum => {
                last.append(&part);
            }
            _ => context.command.words.push(part),
        }
        context.is_joined = true;
    }

    fn word(&mut self) {
        let start = self.at;
        let mut text = String::new();
        let mut letters = self.text.get(start..).unwrap_or("").chars();
        while let Some(letter) = letters.clone().next() {
            if " \t\r\n;|&(){}\"'$,>".contains(letter) || (letter == '=' && self.at > start) {
                break;
            }
            letters.next();
            // An escape: the character after it is plain text.
            text.extend(if letter == '`' { letters.next() } else { Some(letter) });
            self.at = self.text.len() - letters.as_str().len();
        }
        if self.at == start {
            self.at += 1;
            return;
        }
        self.note_method(&text);
        let is_glob = text.contains(['*', '?']);
        self.push(Arg { is_glob, ..Arg::known(text) });
    }

    /// Methods and types that fetch or decode: `.DownloadString`, `[Convert]::FromBase64String`.
    fn note_method(&mut self, text: &str) {
        if !text.contains(['.', ':']) {
            return;
        }
        let text = text.to_ascii_lowercase();
        let has = |names: &[&str]| names.iter().any(|name| text.ends_with(name));
        if has(&[".downloadstring", ".downloaddata", ".openread", ".getstringasync", ".content"]) {
            self.current.command.is_fetched |= !text.ends_with(".content");
        }
        if has(&["::frombase64string", "::getstring", ".getstring", ".decompress", ".gzipstream"]) {
            self.current.command.is_decoded = true;
        }
    }

    fn quoted(&mut self, quote: u8) {
        let start = self.at + 1;
        let closing =
            if self.missing.contains(&quote) { None } else { closing_quote(self.bytes, start, quote) };
        let Some(end) = closing else {
            self.missing.push(quote);
            self.at += 1;
            return;
        };
        let body = self.text.get(start..end).unwrap_or("");
        self.at = end + 1;
        let part = if quote == b'"' { self.interpolated(body) } else { Arg::known(body.replace("''", "'")) };
        self.current.has_string = true;
        self.current.starts_with_string |= self.current.command.words.is_empty();
        self.push(part);
    }

    fn here_string(&mut self) {
        let (close, quote) = if self.peek(1) == b'"' { ("\n\"@", b'"') } else { ("\n'@", b'\'') };
        let rest = self.text.get(self.at + 2..).unwrap_or("");
        let Some(end) = rest.find(close) else {
            self.at += 2;
            return;
        };
        let body = rest.get(..end).unwrap_or("").trim_start_matches(['\r', '\n']);
        self.at += 2 + end + close.len();
        let part = if quote == b'"' { self.interpolated(body) } else { Arg::known(body) };
        self.push(part);
    }

    /// The inside of a string in double quotes.
    fn interpolated(&mut self, body: &str) -> Arg {
        let mut arg = Arg::default();
        let mut rest = body;
        while let Some(letter) = rest.chars().next() {
            let mut taken = letter.len_utf8();
            match letter {
                '`' => {
                    let escaped = rest.chars().nth(1);
                    taken += escaped.map_or(0, char::len_utf8);
                    match escaped {
                        Some('n') => arg.text.push('\n'),
                        Some('t') => arg.text.push('\t'),
                        Some(other) => arg.text.push(other),
                        None => {}
                    }
                }
                '"' => {
                    arg.text.push('"');
                    taken += usize::from(rest.get(1..2) == Some("\""));
                }
                '$' => {
                    let length = variable_length(rest);
                    if length > 1 {
                        arg.append(&self.value_of(rest.get(..length).unwrap_or("")));
                        taken = length;
                    } else {
                        arg.text.push('$');
                    }
                }
                other => arg.text.push(other),
            }
            rest = rest.get(taken..).unwrap_or("");
        }
        arg
    }

    fn variable(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or("");
        let length = variable_length(rest).max(1);
        let spelling = rest.get(..length).unwrap_or("$").to_owned();
        self.at += length;
        let name = variable_name(&spelling);
        match self.variables.get(&name) {
            Some(Value::Fetched) => self.current.command.is_fetched = true,
            Some(Value::Decoded) => self.current.command.is_decoded = true,
            _ => {}
        }
        let part = if self.starts_assignment_at(self.at) {
            Arg::unknown(&spelling)
        } else {
            self.value_of(&spelling)
        };
        // A file by its name or its place is that file.
        if name == "_" && part.is_known() {
            let rest = self.text.get(self.at..).unwrap_or("");
            let member = [".fullname", ".pspath", ".path", ".name"].iter().find(|member| {
                rest.get(..member.len()).is_some_and(|start| start.eq_ignore_ascii_case(member))
            });
            self.at += member.map_or(0, |member| member.len());
        }
        self.push(part);
    }

    /// The value of `$x`, `${x}`, `$env:X`.
    fn value_of(&self, spelling: &str) -> Arg {
        let name = variable_name(spelling);
        if let Some(variable) = name.strip_prefix("env:") {
            return environment(variable).map_or_else(|| Arg::unknown(spelling), Arg::known);
        }
        match (name.as_str(), self.variables.get(&name)) {
            (_, Some(Value::Known(text))) => Arg::known(text.as_str()),
            ("home", _) => Arg::known("~"),
            ("pwd", _) => Arg::known("."),
            ("true" | "false" | "null", _) => Arg::known(spelling),
            _ => Arg::unknown(spelling),
        }
    }

    fn starts_assignment_at(&self, at: usize) -> bool {
        let mut rest =
            self.bytes.get(at..).unwrap_or_default().iter().skip_while(|byte| **byte == b' ').take(2);
        rest.next() == Some(&b'=') && rest.next() != Some(&b'=') && self.current.command.words.is_empty()
    }

    /// `$x = …`: the command so far is one variable.
    fn starts_assignment(&self) -> bool {
        matches!(self.current.command.words.as_slice(), [only] if only.text.starts_with('$'))
    }

    fn assignment(&mut self) {
        self.at += 1;
        let name =
            self.current.command.words.pop().map_or_else(String::new, |word| variable_name(&word.text));
        let before = std::mem::take(&mut self.current);
        self.current.is_input_fetched = before.is_input_fetched;
        // The value is read as a command of its own, which ends where the statement does.
        self.current.command.words.push(Arg::known(format!("{ASSIGNS}{name}")));
    }

    fn redirection(&mut self) {
        self.at += 1;
        while matches!(self.peek(0), b'>' | b' ') {
            self.at += 1;
        }
        // `2>&1`
        if self.peek(0) == b'&' {
            self.at += 2;
            return;
        }
        self.current.is_joined = false;
        let count = self.current.command.words.len();
        self.step();
        if self.current.command.words.len() == count + 1
            && let Some(target) = self.current.command.words.pop()
            && !target.text.eq_ignore_ascii_case("$null")
        {
            self.out.writes.push(posix(&target.text));
        }
    }

    fn open(&mut self) {
        if self.outer.len() >= DEEPEST_BRACKETS {
            self.finish(false);
            return;
        }
        // `… | % { Remove-Item $_ }`: the block is given what comes down the pipe.
        let first = self.current.command.words.first().map_or("", |word| word.text.as_str());
        if self.peek(0) == b'{'
            && ["%", "foreach-object", "foreach"].iter().any(|name| first.eq_ignore_ascii_case(name))
        {
            match self.current.listed.as_ref().and_then(|(files, _)| files.first()) {
                Some(file) => self.variables.insert("_".to_owned(), Value::Known(file.text.clone())),
                None => self.variables.remove("_"),
            };
        }
        self.outer.push(std::mem::take(&mut self.current));
    }

    /// Ends what a bracket or a block holds; its value becomes a part of the command around it.
    fn close(&mut self) {
        let inner = &self.current.command;
        // One text in brackets is that text: `('ie' + 'x')`.
        let value = match inner.words.as_slice() {
            [only] if only.is_known() => Some(only.clone()),
            _ => None,
        };
        let (mut is_fetched, is_decoded) =
            (inner.is_fetched || self.current.is_input_fetched, inner.is_decoded);
        is_fetched |= is_fetch(inner);
        if value.is_some() && !self.outer.is_empty() && (self.current.has_string || !is_bare_command(&value))
        {
            self.current = Context::default();
        } else {
            self.finish(false);
        }
        let Some(outer) = self.outer.pop() else { return };
        self.current = outer;
        // `iex(…)`: a bracket directly after a command is its argument, after a method it is a part of the word.
        if let [only] = self.current.command.words.as_slice() {
            self.current.is_joined &= only.text.contains(['.', ':', '[', '$']);
        }
        self.current.command.is_fetched |= is_fetched;
        if self.current.command.is_fetched
            && let Some(url) = &value
        {
            self.out.host(&url.text);
        }
        if self.last_ends_with("]::delete") || self.last_ends_with("]::delete.invoke") {
            return self.delete(value.as_ref());
        }
        let decodes = self.last_ends_with("::frombase64string");
        let decoded = value
            .as_ref()
            .filter(|_| decodes)
            .and_then(|value| decode::base64_utf16(&value.text).or_else(|| decode::base64(&value.text)));
        if let Some(text) = decoded {
            self.current.command.is_decoded = false;
            self.current.command.words.pop();
            self.current.is_joined = false;
            self.push(Arg::known(text));
            return;
        }
        self.current.command.is_decoded |= is_decoded;
        // `GetString(<a text>)` is that text.
        let is_get_string = self.last_ends_with("getstring");
        if is_get_string
            && let Some(value) = &value
            && !is_decoded
        {
            self.current.command.words.pop();
            self.current.command.is_decoded = false;
            self.current.is_joined = false;
            self.push(value.clone());
            return;
        }
        self.push(value.unwrap_or_else(|| Arg::unknown("$(...)")));
    }

    fn last_ends_with(&self, end: &str) -> bool {
        let last = self.current.command.words.last().map_or("", |word| word.text.as_str());
        last.get(last.len().saturating_sub(end.len())..).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
    }

    /// `[IO.File]::Delete('x')`, `[IO.Directory]::Delete('x', $true)`.
    fn delete(&mut self, arguments: Option<&Arg>) {
        let method =
            self.current.command.words.pop().map_or_else(String::new, |word| word.text.to_ascii_lowercase());
        let path = match arguments.and_then(|arguments| arguments.text.split(',').next()) {
            Some(path) => Arg::known(path),
            None => Arg::unknown("$(...)"),
        };
        let mut words = vec![Arg::known("remove-item"), path];
        if method.contains("directory") {
            words.push(Arg::known("-recurse"));
        }
        translate(&self.current.command.with_words(words), "", self.out);
        self.current = Context::default();
    }
}

/// The place of the quote that closes a string: doubled ones belong to it.
fn closing_quote(bytes: &[u8], mut at: usize, quote: u8) -> Option<usize> {
    loop {
        match (bytes.get(at)?, bytes.get(at + 1)) {
            (b'`', _) if quote == b'"' => at += 2,
            (byte, next) if *byte == quote && next != Some(&quote) => return Some(at),
            (byte, _) => at += if *byte == quote { 2 } else { 1 },
        }
    }
}

fn variable_name(spelling: &str) -> String {
    let name =
        spelling.trim_start_matches('$').trim_start_matches('{').trim_end_matches('}').to_ascii_lowercase();
    ["script:", "global:", "local:"]
        .iter()
        .find_map(|scope| name.strip_prefix(scope))
        .unwrap_or(&name)
        .to_owned()
}

/// The length of the variable at the start of a text: `$x`, `${x y}`, `$env:X`, `$_`.
fn variable_length(rest: &str) -> usize {
    if let Some(inside) = rest.strip_prefix("${") {
        return inside.bytes().take(256).position(|byte| byte == b'}').map_or(1, |end| end + 3);
    }
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'?');
    let length = rest.as_bytes().iter().skip(1).take_while(|byte| is_part(byte)).count();
    // `$x:` at the end of a word is no scope.
    let spelling = rest.get(..length + 1).unwrap_or("");
    1 + length - (spelling.len() - spelling.trim_end_matches([':', '?']).len())
}

/// One word that is likely a command: `Stop-Computer`.
fn is_bare_command(word: &Option<Arg>) -> bool {
    word.as_ref().is_some_and(|word| {
        let text = word.text.as_str();
        let is_name = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        is_name && text.split_once('-').is_some_and(|(verb, noun)| verb.len() > 2 && noun.len() > 2)
    })
}

fn is_fetch(command: &WindowsCommand) -> bool {
    let first = command.words.first().map(|word| word.text.to_ascii_lowercase()).unwrap_or_default();
    let first = first.strip_prefix(ASSIGNS).map_or(first.as_str(), |_| "");
    let name =
        if first.is_empty() { command.words.get(1).map_or("", |word| word.text.as_str()) } else { first };
    ["invoke-webrequest", "iwr", "invoke-restmethod", "irm", "curl", "wget", "curl.exe"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}
