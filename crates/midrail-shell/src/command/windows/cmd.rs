//! Reads lines of cmd: commands, carets, quotes, and variables of the environment.

use super::command::{WindowsCommand, environment, posix};
use super::translate::translate;
use super::translation::{MOST, Translation};
use super::unfold;
use crate::command::invocation::{Arg, joined};
use crate::words::windows::HARMLESS_COMMANDS;

/// Reads a line or a batch file, and translates its commands.
pub(super) fn read(text: &str, depth: usize, out: &mut Translation) {
    let unfolded = unfold::cmd(text);
    let text = unfolded.as_ref();
    let mut reader = Reader {
        text,
        bytes: text.as_bytes(),
        at: 0,
        depth,
        command: new_command(),
        word: None,
        input: String::new(),
        is_list: false,
        out,
    };
    while reader.at < reader.bytes.len() {
        reader.step();
    }
    reader.finish(false);
}

struct Reader<'a, 'o> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    command: WindowsCommand,
    word: Option<Arg>,
    /// What comes down the pipe.
    input: String,
    /// Inside of the list of `for %i in (…)`.
    is_list: bool,
    out: &'o mut Translation,
}

impl Reader<'_, '_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn step(&mut self) {
        match self.peek(0) {
            b' ' | b'\t' | b'\r' | b',' => {
                self.end_word();
                self.at += 1;
            }
            b'(' if self.command.words.first().is_some_and(|word| word.text.eq_ignore_ascii_case("for")) => {
                // The list of a loop is no command.
                self.command = new_command();
                self.is_list = true;
                self.at += 1;
            }
            b')' if self.is_list => {
                self.command = new_command();
                (self.word, self.is_list) = (None, false);
                self.at += 1;
            }
            b'\n' | b'(' | b')' => {
                self.finish(false);
                self.at += 1;
            }
            b'&' | b'|' => {
                let is_pipe = self.peek(0) == b'|' && self.peek(1) != b'|';
                self.finish(is_pipe);
                self.at += if self.peek(1) == self.peek(0) { 2 } else { 1 };
            }
            b'^' => {
                self.at += 1;
                if self.peek(0) == b'\n' {
                    self.at += 1;
                } else {
                    self.letter();
                }
            }
            b'"' => {
                let rest = self.text.get(self.at + 1..).unwrap_or("");
                // A line ends a string that is not closed.
                let length = memchr::memchr2(b'"', b'\n', rest.as_bytes()).unwrap_or(rest.len());
                let body = rest.get(..length).unwrap_or("").to_owned();
                self.at += body.len() + 2;
                self.append(&body);
            }
            b'>' => {
                self.at += 1 + usize::from(self.peek(1) == b'>');
                self.redirection();
            }
            b'%' if self.variable() => {}
            _ => self.letter(),
        }
    }

    fn letter(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or("");
        // All letters up to the next that matters are taken at once.
        let length = rest.bytes().take_while(|byte| !b" \t\r\n,()&|^\">%".contains(byte)).count();
        let length = if length == 0 { rest.chars().next().map_or(1, char::len_utf8) } else { length };
        let text = rest.get(..length).unwrap_or("").to_owned();
        self.at += length;
        self.append(&text);
    }

    fn append(&mut self, text: &str) {
        let word = self.word.get_or_insert_default();
        word.text.push_str(text);
        word.is_glob |= text.contains(['*', '?']);
    }

    /// `%NAME%`, `%~dp0`, `%1`.
    fn variable(&mut self) -> bool {
        let rest = self.text.get(self.at + 1..).unwrap_or("");
        let length = rest
            .bytes()
            .take(64)
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_()".contains(byte))
            .count();
        let is_closed = length > 0 && rest.as_bytes().get(length) == Some(&b'%');
        if !is_closed {
            return false;
        }
        let name = rest.get(..length).unwrap_or("").to_owned();
        self.at += length + 2;
        match environment(&name) {
            Some(value) => self.append(value),
            None => {
                let text = format!("%{name}%");
                self.word.get_or_insert_default().append(&Arg::unknown(&text));
            }
        }
        true
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            self.command.words.push(word);
        }
    }

    fn redirection(&mut self) {
        // The number of a descriptor is no argument: `2>nul`.
        if self.word.as_ref().is_some_and(|word| matches!(word.text.as_str(), "1" | "2")) {
            self.word = None;
        }
        self.end_word();
        while matches!(self.peek(0), b' ' | b'\t') {
            self.at += 1;
        }
        if self.peek(0) == b'&' {
            self.at += 2;
            return;
        }
        while self.at < self.bytes.len() && !b" \t\r\n&|()>".contains(&self.peek(0)) {
            self.step();
        }
        if let Some(target) = self.word.take()
            && !target.text.eq_ignore_ascii_case("nul")
            && self.out.writes.len() < MOST
        {
            self.out.writes.push(posix(&target.text));
        }
    }

    fn finish(&mut self, is_piped: bool) {
        self.end_word();
        let mut command = std::mem::replace(&mut self.command, new_command());
        let input = std::mem::take(&mut self.input);
        strip_control(&mut command.words);
        if is_piped {
            self.input = joined(&command.words);
        }
        let Some(first) = command.words.first() else { return };
        let name = first.text.to_ascii_lowercase();
        match name.strip_suffix(".exe").unwrap_or(&name) {
            // `echo rd /s x | cmd`
            "cmd" | "powershell" | "pwsh"
                if command.args().is_empty()
                    && input.get(..5).is_some_and(|it| it.eq_ignore_ascii_case("echo ")) =>
            {
                let code = input.get(5..).unwrap_or_default();
                if name.starts_with("cmd") {
                    self.out.read_cmd(code, self.depth)
                } else {
                    self.out.read_powershell(code, self.depth)
                }
            }
            _ if self.out.start_shell(&command, self.depth) => {}
            name if HARMLESS_COMMANDS.contains(name) => {}
            _ => translate(&command, &input, self.out),
        }
    }
}

fn new_command() -> WindowsCommand {
    WindowsCommand { is_cmd: true, ..WindowsCommand::default() }
}

/// Removes what comes before a command: `if exist x`, `for %i in (…) do`, `call`, `start`, `@`.
fn strip_control(words: &mut Vec<Arg>) {
    let mut from = 0;
    loop {
        let word = words.get(from).map(|word| word.text.to_ascii_lowercase()).unwrap_or_default();
        match word.as_str() {
            "call" | "do" | "else" | "@" | "runas" => from += 1,
            "start" => {
                // Titles and switches of `start`.
                from += 1;
                while words.get(from).is_some_and(|word| word.text.starts_with('/') || word.text.is_empty()) {
                    from += 1;
                }
            }
            "if" => {
                from += 1;
                for known in [&["/i"][..], &["not"], &["exist", "defined", "errorlevel"]] {
                    let word = words.get(from).map_or("", |word| word.text.as_str());
                    from += usize::from(known.iter().any(|known| word.eq_ignore_ascii_case(known)));
                }
                from += 1;
            }
            "for" => match words.iter().position(|word| word.text.eq_ignore_ascii_case("do")) {
                Some(place) => from = place + 1,
                None => {
                    words.clear();
                    return;
                }
            },
            _ => break,
        }
    }
    words.drain(..from.min(words.len()));
    if let Some(first) = words.first_mut()
        && let Some(rest) = first.text.strip_prefix('@').filter(|rest| !rest.is_empty())
    {
        first.text = rest.to_owned();
    }
}
