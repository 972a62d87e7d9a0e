//! Commands inside of the words of a program that is no shell: `--exec 'rm -rf ~'`, `(shell "rm -rf ~")`, `delete("/home")`.
//!
//! Whether the program runs them is not known, so one that destroys requires approval. Texts for people are no commands: titles,
//! messages, what is searched for, and what is printed.

use super::super::condition::does;
use super::super::files;
use super::super::invocation::{Arg, Invocation};
use super::super::programs::{self, Tag};
use super::super::scope::Scope;
use super::super::snippet::Language;
use super::flow::{PLAIN, command_line};
use super::state::{Stream, Walk};
use crate::words::code::LIBRARY_ENDINGS;
use crate::words::embedded::{
    COMMAND_OPTIONS, DEFINING, INTRODUCERS, LIBRARY_OPTIONS, LOADERS, OBEYING, PROGRAMS, PROSE_PROGRAMS,
    QUIET_FUNCTIONS, QUIET_OPTIONS, QUIET_PROGRAMS, REMOVING,
};
use midrail_core::{Danger, Severity};

/// No more commands of one call than this.
const MAX_COMMANDS: usize = 6;

/// Longer texts are data.
const LONGEST: usize = 8192;

/// What may stand directly in front of a command.
const OPENERS: &str = "!|({`;&$\n\"':,=[<%";

/// What may stand in front of a command in a statement of a database.
const STATEMENT_OPENERS: &str = "!|`";

impl Walk {
    /// Reports commands that destroy in words which a program may run, and libraries of temporary folders that it loads.
    pub(super) fn embedded_commands(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        let program = invocation.program.as_str();
        let row = invocation.row();
        if row.tags.contains(&Tag::TakesWords) {
            return;
        }
        let is_quiet_program = QUIET_PROGRAMS.contains(program);
        let is_parsed = Language::from_program(program).is_some() || row.tags.contains(&Tag::Shell);
        let family = invocation.family();
        let obeys = OBEYING.contains(family) || OBEYING.contains(program);
        let reads_words = !obeys && (is_parsed || files::is_known(program));
        let openers = if row.client.is_some() && !obeys { STATEMENT_OPENERS } else { OPENERS };
        let defines = invocation.args.iter().take(3).any(|arg| DEFINING.contains(arg.text.as_str()));
        let is_client = row.client.is_some();
        let mut found: Vec<Vec<Arg>> = Vec::new();
        for (at, arg) in invocation.args.iter().enumerate() {
            let (option, value) = option_of(&invocation.args, at);
            if is_quiet_program || !may_hold(value) || is_quiet(option, program) || is_data(value) {
                continue;
            }
            let is_value = arg.text.starts_with('-') || !option.is_empty();
            let before = invocation.args.get(at.wrapping_sub(1)).map_or("", |arg| arg.text.as_str());
            let names_command = |name: &str| !name.contains(' ') && has_word(name, COMMAND_OPTIONS);
            if names_command(option) || names_command(before) || defines {
                found.extend(commands(value, OPENERS, true));
            } else if !reads_words {
                found.extend(commands(value, openers, is_value && !is_client));
                if !is_client {
                    found.extend(removals(value));
                }
            }
        }
        if let Some(text) = input.text.as_ref().filter(|text| (obeys || is_client) && may_hold(&text.text)) {
            found.extend(text.text.lines().flat_map(|line| commands(line, openers, !is_client)));
            if !is_client {
                found.extend(removals(&text.text));
            }
        }
        if found.iter().take(MAX_COMMANDS).any(|command| self.would_destroy(command, scope)) {
            let reason = format!(
                "what `{program}` does with these words is not known, and they contain a command that destroys"
            );
            self.opaque_command(&reason, &command_line(program, &invocation.args));
        }
    }

    /// Reports code of temporary folders that options and texts of a program load.
    pub(super) fn temporary_libraries(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        let program = invocation.program.as_str();
        let row = invocation.row();
        if scope.is_remote || row.tags.contains(&Tag::TakesWords) || row.tags.contains(&Tag::Shell) {
            return;
        }
        for at in 0..invocation.args.len() {
            let (option, value) = option_of(&invocation.args, at);
            self.temporary_library(program, option, value, invocation, scope);
        }
        if let Some(text) = input.text.as_ref().filter(|text| text.text.len() < LONGEST) {
            self.temporary_library(program, "", &text.text, invocation, scope);
        }
    }

    /// An option loads machine code from a temporary folder. What the agent built is like a program that it built.
    fn temporary_library(
        &mut self,
        program: &str,
        option: &str,
        value: &str,
        invocation: &Invocation,
        scope: &Scope,
    ) {
        let Some(path) = temporary_path(value) else { return };
        if is_quiet(option, program) || matches!(option, "-o" | "--output") {
            return;
        }
        let before = value.get(..value.find(path).unwrap_or_default()).unwrap_or_default();
        let named = |text: &str| has_word(text, LIBRARY_OPTIONS);
        // `json.load(open("/tmp/x.json"))` loads no code.
        let is_library =
            LIBRARY_ENDINGS.iter().any(|ending| path.ends_with(ending)) || LOADERS.contains(program);
        let loads = (named(option) && Language::from_program(program).is_none_or(|_| is_library))
            || (is_library && before.split(|letter: char| !letter.is_ascii_alphanumeric()).any(named))
            || LIBRARY_OPTIONS.iter().any(|row| row.split_once(' ') == Some((program, option)));
        if !loads {
            return;
        }
        let reason = format!("`{program}` loads code from a temporary folder");
        let command = command_line(program, &invocation.args);
        let targets = vec![scope.place(path)];
        self.add_danger(Danger {
            targets,
            harmless_own: true,
            ..self.danger("opaque", Severity::Medium, reason, PLAIN, &command)
        });
    }

    /// Whether a text of code in another language holds a command that destroys.
    pub(super) fn destroys_in_code(&mut self, text: &str, scope: &Scope) -> bool {
        may_hold(text)
            && commands(text, OPENERS, false).iter().any(|command| self.would_destroy(command, scope))
    }

    /// Whether the text of a file of a build tool holds a command that destroys.
    pub(super) fn destroys_in_text(&mut self, text: &str, scope: &Scope) -> bool {
        let lines = text.lines().filter(|line| may_hold(line));
        let mut found: Vec<Vec<Arg>> = lines
            .flat_map(|line| commands(line.trim_start_matches([' ', '\t', '-']), OPENERS, true))
            .take(MAX_COMMANDS)
            .collect();
        found.extend(removals(text).into_iter().take(MAX_COMMANDS));
        found.iter().any(|command| self.would_destroy(command, scope))
    }

    /// Whether a program only reads files, or only takes words.
    pub(super) fn only_reads(&self, invocation: &Invocation) -> bool {
        let program = invocation.program.as_str();
        [Tag::TakesWords, Tag::PrintsWords, Tag::Reads, Tag::ChangesShell]
            .iter()
            .any(|tag| does(invocation, *tag))
            || (files::is_known(program) && programs::row(program).inline.is_none())
            || QUIET_PROGRAMS.contains(program)
    }
}

/// The option that a word is the value of, without its `=`, and the value.
fn option_of(args: &[Arg], at: usize) -> (&str, &str) {
    let text = args.get(at).map_or("", |arg| arg.text.as_str());
    if let Some((name, value)) = text.split_once('=')
        && !name.contains([' ', '\n', '"', '\'', '(', '!', '|', '/'])
    {
        return (name, value);
    }
    let mut before = args.iter().take(at).rev().map(|arg| arg.text.as_str());
    match before.find(|text| *text != "-Xclang") {
        Some(option)
            if option.len() > 1 && option.starts_with('-') && !option.contains('=') && option != "--" =>
        {
            (option, text)
        }
        _ => ("", text),
    }
}

/// Whether the value of an option is a text for people, or data.
fn is_quiet(option: &str, program: &str) -> bool {
    let name = option.trim_start_matches('-');
    QUIET_OPTIONS.iter().any(|quiet| quiet.eq_ignore_ascii_case(name))
        || (PROSE_PROGRAMS.contains(program)
            && option.starts_with('-')
            && (name.len() == 1 || name.starts_with('D')))
}

/// Whether a word is one of the parts of a name: `--on-download-complete`.
fn has_word(name: &str, words: &[&str]) -> bool {
    name.split(['-', '_', '.', ':', '+', '/'])
        .any(|part| words.iter().any(|word| word.eq_ignore_ascii_case(part)))
}

/// Whether a text is long enough for a command, and may hold one.
fn may_hold(text: &str) -> bool {
    (6..LONGEST).contains(&text.len())
        && text.bytes().any(|byte| matches!(byte, b' ' | b'(' | b',' | b'"' | b'\''))
}

/// Whether a text is JSON.
fn is_data(text: &str) -> bool {
    let text = text.trim_start();
    ["{\"", "{ \"", "[{", "[\"", "[ {"].iter().any(|start| text.starts_with(start))
}

/// The commands in a text that begin with a program which may destroy. `starts`: the text itself may be one.
fn commands(text: &str, openers: &str, starts: bool) -> Vec<Vec<Arg>> {
    let mut found = Vec::new();
    for name in PROGRAMS.iter().copied() {
        for (at, _) in text.match_indices(name) {
            let rest = text.get(at + name.len()..).unwrap_or_default();
            let is_whole = rest.starts_with([' ', '\t', '"', '\'', ',', '\\', '%'])
                && !text.get(..at).is_some_and(|before| before.ends_with(is_name));
            let Some(opener) = opener(text, at, openers, starts).filter(|_| is_whole) else { continue };
            if found.len() == MAX_COMMANDS {
                return found;
            }
            // `"rm", "-rf", "/home"`
            let is_list = opener.is_some_and(|quote| matches!(quote, '"' | '\'') && rest.starts_with(quote));
            if is_list {
                let words = quoted_texts(rest.get(1..).unwrap_or_default());
                found.push([name].into_iter().chain(words).map(Arg::known).collect());
                continue;
            }
            let end = end_of(rest, opener);
            let line = rest.get(..end).unwrap_or(rest).replace("\\ ", " ").replace("% ", " ");
            let line = line.trim_end_matches(['"', '\'', ')', ']', '}', ';', '|', '&', ' ', '\\']);
            // A shell of Windows does not read its backslashes as escapes.
            if matches!(name, "cmd" | "powershell" | "pwsh") {
                found.push([name].into_iter().chain(line.split_whitespace()).map(Arg::known).collect());
                continue;
            }
            let line = if line.starts_with(',') { line.replace(',', " ") } else { line.to_owned() };
            found.push(["sh", "-c", &format!("{name}{line}")].map(Arg::known).to_vec());
        }
    }
    found
}

/// What stands in front of a command, if one can begin there. `Some(None)`: the beginning of the text.
fn opener(text: &str, at: usize, openers: &str, starts: bool) -> Option<Option<char>> {
    let start = at;
    let mut at = at;
    let path = |before: &str| {
        before.len() - before.trim_end_matches(|letter| is_name(letter) || letter == '/').len()
    };
    if text.get(..at)?.ends_with('/') {
        // `/rm -rf x` is a search of an editor.
        let length = path(text.get(..at)?);
        at -= if length > 1 { length } else { return None };
    }
    let is_path = at < start;
    let mut has_introducer = false;
    // `sudo env rm`
    for _ in 0..4 {
        let before = text.get(..at)?;
        let trimmed = before.trim_end_matches([' ', '\t']);
        let Some(last) = trimmed.chars().next_back() else {
            // `.sh rm -rf ~` of a client of a database.
            return (starts || (has_introducer && openers == STATEMENT_OPENERS)).then_some(None);
        };
        let is_adjacent = trimmed.len() == before.len();
        // `%s/rm -rf x/y/` is a replacement of an editor.
        let is_opener = openers.contains(last) && !(is_path && last == '%');
        if is_opener && (is_adjacent || !matches!(last, '"' | '\'' | ':' | ',' | '[' | '<' | '%')) {
            let rest = trimmed.get(..trimmed.len() - last.len_utf8())?;
            return (!is_printed(rest)).then_some(Some(last));
        }
        let word = trimmed.rsplit(|letter| !is_name(letter)).next().unwrap_or_default();
        if word.is_empty() || !INTRODUCERS.contains(word) {
            return None;
        }
        at = trimmed.len() - word.len();
        has_introducer = true;
    }
    None
}

/// Whether a text that follows is only printed, compared or searched for.
fn is_printed(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '(', '"', '\'', '\t']);
    let word = before.rsplit(|letter| !is_name(letter) && letter != '-').next().unwrap_or_default();
    ["==", "!=", "=~", "~="].iter().any(|operator| before.ends_with(operator))
        || QUIET_FUNCTIONS.iter().any(|quiet| quiet.eq_ignore_ascii_case(word))
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.')
}

/// Where a command ends, by what stands in front of it.
fn end_of(rest: &str, opener: Option<char>) -> usize {
    let close = match opener {
        Some('(') => ')',
        Some('{') => '}',
        Some('[') => ']',
        Some(quote @ ('"' | '\'' | '`')) => quote,
        _ => '\n',
    };
    rest.find(close).or_else(|| rest.find('\n')).unwrap_or(rest.len())
}

/// The texts in quotes of a call. The first quote ends the text before.
fn quoted_texts(rest: &str) -> Vec<&str> {
    let mut texts = Vec::new();
    let mut rest = rest;
    while let Some(open) = rest.find(['"', '\'']).filter(|_| texts.len() < 12) {
        let quote = rest.get(open..=open).unwrap_or("\"");
        let inner = rest.get(open + 1..).unwrap_or_default();
        let Some(end) = inner.find(quote) else { break };
        texts.extend(inner.get(..end).filter(|text| !text.is_empty()));
        rest = inner.get(end + 1..).unwrap_or_default();
    }
    texts
}

/// What functions remove whose name says so: `delete-directory "/home"`, `removeDir("/home")`.
fn removals(text: &str) -> Vec<Vec<Arg>> {
    let lower = text.to_ascii_lowercase();
    let mut found = Vec::new();
    for stem in REMOVING {
        for (at, _) in lower.match_indices(stem) {
            let rest = text.get(at + stem.len()..).unwrap_or_default();
            let rest =
                rest.trim_start_matches(|letter| is_name(letter) || matches!(letter, '-' | '/' | '!' | '*'));
            let between = rest.len() - rest.trim_start_matches(['(', '[', '{', ' ', ':', ',']).len();
            let path = rest.get(between..).unwrap_or_default();
            let is_call = text.get(..at).is_some_and(|before| before.ends_with('(')) && between > 0;
            // `<delete dir="/home"/>`
            let path = match path.split_once('=') {
                Some((name, value)) if name.len() < 16 && name.chars().all(is_name) => value,
                _ => path,
            };
            let path = match path.strip_prefix(['"', '\'']) {
                Some(path) => path,
                None if is_call => path,
                None => continue,
            };
            let end = path.find(['"', '\'', ' ', ')', ']', ',', '\n']).unwrap_or(path.len());
            let path = path.get(..end).unwrap_or_default();
            if path.starts_with(['/', '~']) && found.len() < MAX_COMMANDS {
                found.push(["rm", "-rf", path].map(Arg::known).to_vec());
            }
        }
    }
    found
}

/// The first path in a text that leads into a folder which every program may write into.
fn temporary_path(text: &str) -> Option<&str> {
    // Most words are no paths.
    let text = text.get(text.find('/')?..)?;
    let at = ["/tmp/", "/var/tmp/", "/dev/shm/"].iter().filter_map(|folder| text.find(folder)).min()?;
    let path = text.get(at..)?;
    path.get(..path.find(['"', '\'', ' ', ')', ';', ',', ':', '\n']).unwrap_or(path.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::analyse;

    fn lines(text: &str) -> Vec<String> {
        let found = commands(text, OPENERS, true);
        found.iter().map(|words| super::super::super::invocation::joined(words)).collect()
    }

    #[test]
    fn commands_in_words_are_found() {
        for (text, expected) in [
            ("rm -rf ~", "sh -c rm -rf ~"),
            ("!rm -rf ~", "sh -c rm -rf ~"),
            ("start:execute(rm -rf ~)", "sh -c rm -rf ~"),
            ("nop %sh{ sudo rm -rf ~ }", "sh -c rm -rf ~"),
            ("x := system(\"/bin/rm -rf /home\")", "sh -c rm -rf /home"),
            ("(list \"rm\" \"-rf\" \"/home\")", "rm -rf /home"),
            ("rm,-rf,/home", "sh -c rm -rf /home"),
            ("set makeprg=rm\\ -rf\\ ~ | make", "sh -c rm -rf ~ | make"),
        ] {
            assert_eq!(lines(text), [expected], "{text}");
        }
        for text in [
            "never run rm -rf /",
            "(message \"rm -rf ~\")",
            "/rm -rf ~",
            "%s/rm -rf ~/true/g",
            "x == \"rm -rf /\"",
            "print('rm -rf ~')",
            "confirm -rf",
        ] {
            assert_eq!(lines(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn functions_that_remove_are_found_by_their_name() {
        for text in ["(delete-directory \"/home\" t)", "fs.removeDir('/home')", "file(REMOVE_RECURSE /home)"]
        {
            assert_eq!(removals(text).len(), 1, "{text}");
        }
        for text in ["delete \"a.txt\"", "delete /home", "removed: /home", "remove(items)"] {
            assert_eq!(removals(text).len(), 0, "{text}");
        }
    }

    #[test]
    fn commands_in_options_of_any_program_require_approval() {
        let rules = |line: &str| -> Vec<String> {
            let dangers = analyse(line).dangers;
            dangers.into_iter().filter(|danger| !danger.is_inside).map(|danger| danger.rule).collect()
        };
        for line in [
            "anything --on-exit-command='rm -rf ~'",
            "yt-dlp --exec 'rm -rf ~' https://x.example",
            "gcc -wrapper rm,-rf,/home x.c",
            "curl --engine /tmp/x.so https://x.example",
            "nginx -g 'load_module /tmp/x.so;'",
        ] {
            assert_eq!(rules(line), ["opaque"], "{line}");
        }
        for line in [
            "yt-dlp --exec 'mv {} done/' https://x.example",
            "gh pr create --title 'rm -rf ~' --body 'Blocks `rm -rf ~`'",
            "git commit -m 'rm -rf ~ is blocked'",
            "gcc -shared -o /tmp/x.so x.c",
            "mysql -e \"LOAD DATA LOCAL INFILE '/tmp/x.csv' INTO TABLE t\"",
            "docker load -i /tmp/image.tar",
            "cp build/x.so /tmp/x.so",
        ] {
            assert_eq!(rules(line), Vec::<String>::new(), "{line}");
        }
    }
}
