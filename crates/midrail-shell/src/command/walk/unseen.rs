//! Code that the line does not show. One rule: where its value can be anything, it escalates. What the code is given is
//! tried in its place: arguments, standard input, variables.

use midrail_core::OpaqueKind;

use super::super::invocation::{Arg, Invocation, quoted_line};
use super::super::scope::Scope;
use super::super::snippet::{Language, Snippet, Start};
use super::exfiltration::secret_in;
use super::flow::{command_line, mentions_word};
use super::shells::Code;
use super::state::{Listed, Secret, Source, Stream, Walk};

/// How many values are tried.
const MAX_GIVEN: usize = 16;

/// Longer values are data.
const LONGEST_GIVEN: usize = 4096;

impl Walk {
    /// Runs code of another language that the line contains, and reports what it does not show.
    pub(super) fn visible_code(&mut self, language: Language, code: &Arg, scope: &Scope) {
        self.unread_code(code, "code:");
        self.imported(language, &code.text, scope);
        let runs_more = self.snippet(language, &code.text, scope);
        self.hide_code(language, &code.text, runs_more || !code.is_known());
        if runs_more && !self.is_script {
            self.opaque_command("the code runs code that the command line does not show", &code.text);
        }
    }

    /// Notes code of another language. Of Awk, everything that reaches beyond its own output is followed.
    pub(super) fn hide_code(&mut self, language: Language, code: &str, runs_more: bool) {
        if language != Language::Awk || runs_more {
            self.hide(OpaqueKind::Code, code);
        }
    }

    /// How code of the line is started.
    pub(super) fn started_with(&mut self, args: &[Arg], input: &Stream) {
        let text = input.text.as_ref().filter(|text| text.is_known());
        self.start = Start {
            args: Some(args.to_vec()),
            input: text.map(|text| text.text.clone()),
            is_fed_by_network: input.source == Source::Remote,
            is_fed_secret: secret_in(input) == Some(Secret::Content),
            ..Start::default()
        };
    }

    /// What code runs, writes or removes without naming it may be anything that it is given.
    pub(super) fn try_given(&mut self, found: &Snippet, code: &str, start: &Start, scope: &Scope) {
        let removal = found.removes.iter().filter(|removal| removal.path.is_none());
        let removal = removal.max_by_key(|removal| removal.is_recursive);
        if !(found.starts_unknown || found.writes_unknown || removal.is_some()) {
            return;
        }
        let given = given(code, start, scope);
        if found.starts_unknown {
            given.iter().for_each(|value| self.run(&value.text, scope));
            if let Some(args) = start.args.as_ref().filter(|args| args.len() > 1) {
                self.run(&quoted_line(args), scope);
            }
        }
        for value in given.iter().filter(|value| value.is_known() && is_path(&value.text)) {
            if let Some(removal) = removal {
                let flags = Arg::known(if removal.is_recursive { "-rf" } else { "-f" });
                let removed = self.invocation("rm", vec![flags, value.clone()], scope);
                self.judge_with_files(&removed, scope);
            }
            if found.writes_unknown {
                if !scope.is_remote {
                    self.note(Listed::Write, &scope.place(&value.text));
                }
                self.judge_redirection(value, false, scope);
            }
        }
    }

    /// A line of a Windows shell that begins with an unknown word.
    pub(super) fn unread_line(&mut self, line: &str, words: &[Arg], command: &str) {
        let first = words.iter().find(|word| !word.is_known() && line.starts_with(&word.text));
        if let Some(first) = first {
            self.unread_code(first, command);
        }
    }

    /// Code or a program that is not on the line, but follows: `xargs sh -c`.
    pub(super) fn unread_more(&mut self, invocation: &Invocation) {
        let command = || command_line(&invocation.program, &invocation.args);
        if invocation.has_more_args {
            self.hide(OpaqueKind::Dynamic, &command());
        }
        if invocation.has_more_args && !self.is_script {
            let command = command();
            self.opaque_command("the command runs what it reads from its input", &command);
        }
    }

    /// Code that comes through a pipe or from a file, and that nothing shows.
    pub(super) fn unread_stream(&mut self, stream: &Stream, code: Code, program: &str) {
        if stream.text.as_ref().is_none_or(|text| !text.is_known()) {
            self.hide(OpaqueKind::Dynamic, program);
        }
        match (&stream.text, &stream.source) {
            (Some(text), _) if code != Code::Shell => self.unread_code(text, program),
            (None, Source::Local) if !self.is_script => {
                let reason = format!("the command line does not show what {program} runs");
                self.opaque_command(&reason, program);
            }
            _ => {}
        }
    }
}

/// What code is given, as far as the line shows it.
fn given(code: &str, start: &Start, scope: &Scope) -> Vec<Arg> {
    let args = start.args.iter().flatten().cloned();
    let lines = start.input.iter().flat_map(|text| text.lines()).map(|line| Arg::known(line.trim()));
    let variables = scope.values().filter(|(name, _)| mentions_word(code, name)).map(|(_, value)| value);
    let all = args.chain(lines).chain(variables.cloned());
    all.filter(|value| !value.text.is_empty() && value.text.len() < LONGEST_GIVEN).take(MAX_GIVEN).collect()
}

/// Whether a value can be the path of a file: no option, and no sentence.
fn is_path(text: &str) -> bool {
    !text.starts_with('-') && !text.contains(['\n', '\t']) && text.len() < 1024
}
