//! Code that calls functions of libraries in machine code: what it hands to functions that run or remove, and the libraries
//! that it loads. Which text goes to which function is not followed: each text of the code is tried.

use super::super::invocation::{Arg, quoted_line};
use super::super::scope::Scope;
use super::super::{danger, libraries, programs};
use super::flow::mentions_word;
use super::state::{Listed, Walk};
use crate::words::code::{
    ASKING_SYSTEM_CALLS, FOREIGN_MARKS, FOREIGN_REMOVES, FOREIGN_RUNS, LIBRARY_ENDINGS,
};

/// No more texts of one code than this.
const MAX_TEXTS: usize = 64;

/// Longer texts are data.
const LONGEST_TEXT: usize = 1024;

impl Walk {
    /// Judges what code of any language does with libraries.
    pub(super) fn library_functions(&mut self, code: &str, scope: &Scope) {
        for (library, call) in libraries::deletions(code) {
            self.report(library.id, library.severity, library.reason.to_owned(), library.safer, &call);
        }
        self.foreign_functions(code, scope);
    }

    /// Judges what code of any language does with foreign functions.
    fn foreign_functions(&mut self, code: &str, scope: &Scope) {
        if !FOREIGN_MARKS.iter().any(|mark| code.contains(mark)) {
            return;
        }
        self.spend(20 + code.len() / 4);
        let texts = texts(code);
        for library in texts.iter().filter(|text| is_library(text)) {
            let place = scope.place(library);
            if danger::is_temporary(&Arg::known(*library), &scope.folder) {
                self.opaque_command("the code loads machine code from a temporary folder", library);
            } else if !scope.is_remote && library.contains('/') && !place.starts_with('/') {
                self.note(Listed::Script, &place);
            }
        }
        let mentions = |names: &[&str]| names.iter().any(|name| mentions_word(code, name));
        // `cppdef('void f() { system("rm -rf ~"); }')`
        if texts.iter().any(|text| self.destroys_in_code(text, scope)) {
            self.opaque_command("the code hands code of another language to a library", code);
        }
        let calls_kernel = mentions_word(code, "syscall");
        if mentions(FOREIGN_RUNS) {
            for text in texts.iter().filter(|text| text.contains(' ')) {
                self.run(text, scope);
            }
            // `execlp("rm", "rm", "-rf", "/home", NULL)`: the first word is there twice.
            let program = texts.iter().rposition(|text| programs::find(base(text)).is_some());
            let words: Vec<Arg> =
                texts.iter().skip(program.unwrap_or(texts.len())).map(|text| Arg::known(*text)).collect();
            if words.len() > 1 {
                self.run(&quoted_line(&words), scope);
            }
        }
        if mentions(FOREIGN_REMOVES) || calls_kernel {
            let is_path =
                |text: &&&str| text.starts_with(['/', '~', '.']) && !is_library(text) && !text.contains(' ');
            for path in texts.iter().filter(is_path) {
                let args = vec![Arg::known("-rf"), Arg::known(*path)];
                let removed = self.invocation("rm", args, scope);
                if !(calls_kernel && only_asks(code)) {
                    self.judge_with_files(&removed, scope);
                }
            }
        }
        if calls_kernel && !only_asks(code) && !self.is_script {
            self.opaque_command("the code calls the kernel directly", code);
        }
    }
}

fn base(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or(text)
}

fn is_library(text: &str) -> bool {
    LIBRARY_ENDINGS.iter().any(|ending| text.ends_with(ending))
}

/// Whether all system calls that code makes by their numbers only ask.
fn only_asks(code: &str) -> bool {
    let mut calls = code.match_indices("syscall").peekable();
    calls.all(|(at, name)| {
        let rest = code.get(at + name.len()..).unwrap_or("").trim_start_matches(['(', ' ']);
        let number: &str = rest.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or("");
        ASKING_SYSTEM_CALLS.contains(number)
    })
}

/// The texts in quotes of code.
fn texts(code: &str) -> Vec<&str> {
    let mut texts = Vec::new();
    let mut rest = code;
    while let Some(open) = rest.find(['"', '\'', '`']).filter(|_| texts.len() < MAX_TEXTS) {
        let quote = rest.get(open..=open).unwrap_or("\"");
        let inner = rest.get(open + 1..).unwrap_or("");
        let Some(end) = inner.find(quote) else {
            rest = inner;
            continue;
        };
        let text = inner.get(..end).unwrap_or("").trim_end_matches("\\0").trim_end_matches('\\');
        if !text.is_empty() && text.len() < LONGEST_TEXT {
            texts.push(text);
        }
        rest = inner.get(end + 1..).unwrap_or("");
    }
    texts
}
