//! Code of languages that are not parsed, where a command line holds it: what it hands to a shell, and what it removes.

use super::super::invocation::{Arg, Invocation};
use super::super::options;
use super::super::programs::{self, Inline};
use super::super::scope::Scope;
use super::invoke::quoted_line;
use super::state::Walk;
use super::stream::Stream;
use crate::words::code::BETWEEN;

/// Between a function and the texts that it is given.
fn is_between(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '(' | '[' | '{' | ',' | ':' | '*' | '#' | '\'' | ')' | ']')
}

/// No more texts of one call than this.
const MOST_TEXTS: usize = 32;

impl Walk {
    /// Searches code that a program is given, if its language is not parsed.
    pub(super) fn inline_code(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        let program = invocation.program.as_str();
        if matches!(program, "tclsh" | "wish" | "jimsh") {
            return self.tcl(invocation, scope, input);
        }
        if matches!(program, "less" | "more" | "most") {
            let commands = invocation.args.iter().filter_map(|arg| arg.text.strip_prefix("+!"));
            let commands: Vec<String> = commands.map(str::to_owned).collect();
            for code in commands {
                self.run(&code, scope);
            }
            return;
        }
        let Some(row) = &programs::row(program).inline else { return };
        let args = invocation.args.as_slice();
        let given = args.iter().zip(args.iter().skip(1));
        let given = given.filter(|(name, _)| row.code.contains(&name.text.as_str())).map(|(_, code)| code);
        let joined = args.iter().filter_map(|arg| {
            let (name, code) = arg.text.split_once('=')?;
            row.code.contains(&name).then(|| Arg::known(code))
        });
        let piped = input.text.iter().filter(|_| row.reads);
        let codes: Vec<Arg> = given.cloned().chain(joined).chain(piped.cloned()).collect();
        for code in codes {
            self.calls_in(row, &code.text, scope);
        }
    }

    fn calls_in(&mut self, row: &Inline, code: &str, scope: &Scope) {
        self.spend(20 + code.len() / 4);
        for name in row.runs.iter().filter(|name| code.contains(**name)) {
            for texts in calls(code, name) {
                let line = match texts.as_slice() {
                    [line] => line.clone(),
                    words => {
                        let words: Vec<Arg> = words.iter().map(|word| Arg::known(word.as_str())).collect();
                        quoted_line(&words)
                    }
                };
                self.run(&line, scope);
            }
        }
        for name in row.removes.iter().filter(|name| code.contains(**name)) {
            for path in calls(code, name).into_iter().filter_map(|texts| texts.into_iter().next()) {
                self.removed_by_code(&[path], scope);
            }
        }
        for mark in row.after.iter().filter(|mark| code.contains(**mark)) {
            for (at, _) in code.match_indices(mark).take(MOST_TEXTS) {
                let before = code.get(..at).unwrap_or("");
                let text = before.strip_suffix('"').and_then(|before| before.rsplit_once('"'));
                if let Some((_, line)) = text {
                    self.run(line, scope);
                }
            }
        }
    }

    /// Tcl, whose words need no quotes: `exec rm x`, `file delete -force x`.
    fn tcl(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        let Some(code) = input.text.as_ref().filter(|_| invocation.args.is_empty()) else { return };
        let code = code.text.clone();
        for line in code.split(['\n', ';']).map(|line| line.trim().trim_matches(['[', ']', '{', '}'])) {
            if let Some(command) = line.strip_prefix("exec ") {
                self.run(command, scope);
            } else if let Some(paths) = line.strip_prefix("file delete ") {
                let paths = paths.split_whitespace().filter(|path| !path.starts_with('-'));
                let paths: Vec<String> = paths.map(str::to_owned).collect();
                self.removed_by_code(&paths, scope);
            }
        }
    }

    /// What code removes is judged as `rm` is.
    fn removed_by_code(&mut self, paths: &[String], scope: &Scope) {
        let mut args = vec![Arg::known("-rf")];
        args.extend(paths.iter().map(|path| match path.contains('$') {
            true => options::unknown(path),
            false => Arg::known(path.as_str()),
        }));
        self.judge(&self.invocation("rm", args, scope));
    }
}

/// The texts that a function is given, once for each of its calls.
fn calls(code: &str, name: &str) -> Vec<Vec<String>> {
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '*');
    let mut found = Vec::new();
    for (at, _) in code.match_indices(name).take(MOST_TEXTS) {
        let rest = code.get(at + name.len()..).unwrap_or("");
        let is_whole =
            !code.get(..at).is_some_and(|before| before.ends_with(is_part)) && !rest.starts_with(is_part);
        let texts = texts_after(rest);
        if is_whole && !texts.is_empty() {
            found.push(texts);
        }
    }
    found
}

/// The texts in quotes that follow, with nothing but brackets, commas and a few words between them.
fn texts_after(mut rest: &str) -> Vec<String> {
    let mut texts = Vec::new();
    while texts.len() < MOST_TEXTS {
        rest = rest.trim_start_matches(is_between);
        let word = rest.split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or("");
        if !word.is_empty() {
            match rest.strip_prefix(word).filter(|_| BETWEEN.contains(&word)) {
                Some(after) => rest = after,
                None => return texts,
            }
            continue;
        }
        let Some(inner) = rest.strip_prefix('"') else { return texts };
        let Some(end) = end_of_text(inner) else { return texts };
        texts.push(inner.get(..end).unwrap_or("").replace("\\\"", "\""));
        rest = inner.get(end + 1..).unwrap_or("");
    }
    texts
}

/// Where a text in quotes ends.
fn end_of_text(inner: &str) -> Option<usize> {
    let mut is_escaped = false;
    inner.char_indices().find_map(|(at, letter)| {
        let is_end = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_calls_are_found() {
        for (code, name, expected) in [
            ("(shell-command \"rm -rf x\")", "shell-command", &["rm -rf x"][..]),
            ("System.Process.system \"ls\"", "system", &["ls"]),
            ("new ProcessBuilder(\"rm\", \"-rf\", \"/\").start()", "ProcessBuilder", &["rm", "-rf", "/"]),
            ("os:cmd(\"a \\\"b\\\"\")", "os:cmd", &["a \"b\""]),
            ("removeItem(atPath:\"/x\")", "removeItem", &["/x"]),
        ] {
            assert_eq!(calls(code, name), [expected], "{code}");
        }
        for (code, name) in
            [("my-system \"ls\"", "system"), ("system(cmd) + \"ls\"", "system"), ("\"system\"", "system")]
        {
            assert_eq!(calls(code, name), Vec::<Vec<String>>::new(), "{code}");
        }
    }
}
