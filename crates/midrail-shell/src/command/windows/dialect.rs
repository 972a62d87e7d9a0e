//! Which shell of Windows a text is written for.

use crate::words::windows::{CMDLETS, SWITCHED, VERBS, WINDOWS_ONLY};

/// The shells of Windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// PowerShell, `pwsh`.
    PowerShell,
    /// `cmd.exe`.
    Cmd,
}

/// The shell of Windows that a text is written for, where it clearly is: a cmdlet (`Verb-Noun`) in the place of a
/// command, `del /s`, `rd /s /q`, `format C:`. `None` for what a POSIX shell would run.
pub(crate) fn dialect(text: &str) -> Option<Dialect> {
    let mut found = None;
    for (word, rest) in (Commands { text, at: 0 }) {
        if is_cmdlet(word) || is_fetch_and_run(word, rest) || is_type(word) || is_alias(word, rest) {
            return Some(Dialect::PowerShell);
        }
        if found.is_none() && is_cmd(word, rest) {
            found = Some(Dialect::Cmd);
        }
    }
    found
}

fn is_cmdlet(word: &str) -> bool {
    let Some((verb, noun)) = word.split_once('-') else { return false };
    let is_noun = noun.len() >= 2 && noun.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_pascal = VERBS.contains(verb) && noun.starts_with(|letter: char| letter.is_ascii_uppercase());
    is_noun
        && (is_pascal && (noun.len() > 2 || noun == "VM")
            || CMDLETS.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

/// `iwr https://… | iex`
fn is_fetch_and_run(word: &str, rest: &str) -> bool {
    let is_fetch = ["iwr", "irm"].iter().any(|known| word.eq_ignore_ascii_case(known));
    let is_run = word.eq_ignore_ascii_case("iex");
    let pipes_on = || {
        let line = start_of(rest).to_ascii_lowercase();
        line.split('|').skip(1).any(|next| {
            let next = next.trim_start();
            next.starts_with("iex") || next.starts_with("invoke-expression")
        })
    };
    let names_a_host = || rest.trim_start().get(..4).is_some_and(|start| start.eq_ignore_ascii_case("http"));
    (is_fetch && (names_a_host() || pipes_on()))
        || (is_run && rest.trim_start().starts_with(['(', '$', '"', '\'']))
}

/// A static method: `[IO.File]::Delete`, `[scriptblock]::Create`.
fn is_type(word: &str) -> bool {
    word.strip_prefix('[').is_some_and(|name| {
        name.split_once("]::").is_some_and(|(name, method)| {
            name.starts_with(|letter: char| letter.is_ascii_alphabetic())
                && method.starts_with(|letter: char| letter.is_ascii_alphabetic())
        })
    })
}

/// A short name of a cmdlet, with a path of Windows or a pipe to a block: `ri C:\\x -rec`, `gci | % { … }`.
fn is_alias(word: &str, rest: &str) -> bool {
    let is_known =
        ["gci", "ri", "rni", "cpi", "mi", "gc", "clc"].iter().any(|known| word.eq_ignore_ascii_case(known));
    if !is_known {
        return false;
    }
    let line = start_of(rest).to_ascii_lowercase();
    line.contains(":\\")
        || line.contains("| %")
        || line.contains("|%")
        || line.contains(" -rec")
        || line.contains("| ri")
}

/// The first part of a line is enough; a hostile one is not read again and again.
fn start_of(rest: &str) -> &str {
    let line = rest.get(..rest.floor_char_boundary(256)).unwrap_or(rest);
    line.split(['\n', ';']).next().unwrap_or("")
}

fn is_cmd(word: &str, rest: &str) -> bool {
    let word = word.strip_prefix('@').unwrap_or(word);
    let word = word
        .get(..word.len().saturating_sub(4))
        .filter(|name| word.get(name.len()..).is_some_and(|end| end.eq_ignore_ascii_case(".exe")))
        .unwrap_or(word);
    let is = |list: &[&str]| list.iter().any(|known| word.eq_ignore_ascii_case(known));
    if is(WINDOWS_ONLY) {
        return true;
    }
    if !is(SWITCHED) && !is(&["certutil", "reg"]) {
        return false;
    }
    // The line is enough; a hostile one is not read again and again.
    let line = rest.get(..rest.floor_char_boundary(256)).unwrap_or(rest);
    let line = line.split(['\n', '&', '|', ';']).next().unwrap_or("");
    if word.eq_ignore_ascii_case("certutil") {
        return line.to_ascii_lowercase().contains("-urlcache");
    }
    if word.eq_ignore_ascii_case("reg") {
        return line.trim_start().get(..6).is_some_and(|start| start.eq_ignore_ascii_case("delete"));
    }
    line.split_ascii_whitespace().any(|argument| {
        let switch = argument.strip_prefix('/').is_some_and(|name| {
            let name = name.split(':').next().unwrap_or("");
            let is_short = (1..=2).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphabetic());
            is_short || ["add", "delete", "mir", "purge", "grant", "quiet"].iter().any(|known| name.eq_ignore_ascii_case(known))
        });
        let is_drive = matches!(argument.as_bytes(), [letter, b':'] | [letter, b':', b'\\'] if letter.is_ascii_alphabetic());
        switch || (is_drive && !word.eq_ignore_ascii_case("net"))
    })
}

/// The first words of commands, outside of quotes, each with what follows it.
struct Commands<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Commands<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        let mut is_start = self.at == 0;
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b';' | b'|' | b'&' | b'{' | b'(' | b'\n' | b'=' => {
                    is_start = true;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' | b'@' => self.at += 1,
                b'\'' | b'"' => {
                    let rest = bytes.get(self.at + 1..).unwrap_or_default();
                    self.at += memchr::memchr(*byte, rest).map_or(rest.len() + 1, |found| found + 2);
                    is_start = false;
                }
                _ => {
                    let rest = bytes.get(self.at..).unwrap_or_default();
                    let length =
                        rest.iter().take_while(|byte| !b" \t\r\n;|&{}()=\"'".contains(byte)).count().max(1);
                    let (start, end) = (self.at, self.at + length);
                    self.at = end;
                    if is_start
                        && let (Some(word), Some(rest)) = (self.text.get(start..end), self.text.get(end..))
                    {
                        return Some((word, rest));
                    }
                    is_start = false;
                }
            }
        }
        None
    }
}
