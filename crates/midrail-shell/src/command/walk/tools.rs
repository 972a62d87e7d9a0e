//! Tools that run commands in ways of their own: `tar`, editors, `tmux`, `at`, `nc`.

use super::super::invocation::{Arg, Invocation};
use super::super::options::{Arguments, tail};
use super::super::programs::{self, Tag};
use super::super::scope::Scope;
use super::flow::base_name;
use super::state::Walk;
use super::stream::Stream;
use crate::words::shell::{TAR_CODE_OPTIONS, TMUX_COMMANDS};

impl Walk {
    pub(super) fn tar(&mut self, invocation: &Invocation, scope: &mut Scope) {
        let sorted = Arguments::new(invocation);
        for value in sorted.values_of(TAR_CODE_OPTIONS) {
            let code = value.text.strip_prefix("exec=").unwrap_or(&value.text).to_owned();
            let _ = self.code(&code, &mut scope.clone(), &Stream::default());
        }
    }

    pub(super) fn editor(&mut self, invocation: &Invocation, scope: &mut Scope) {
        let sorted = Arguments::new(invocation);
        let values: Vec<Arg> = sorted.values_of(&["-c", "--cmd"]).cloned().collect();
        let plus = invocation.args.iter().filter(|arg| arg.text.starts_with('+')).map(|arg| tail(arg, 1));
        for value in values.into_iter().chain(plus) {
            let text = value.text.trim_start_matches([':', ' ', '%', 's', 'i', 'l', 'e', 'n', 't']);
            if let Some(code) = text.strip_prefix('!') {
                let _ = self.code(code, &mut scope.clone(), &Stream::default());
            }
        }
    }

    /// `expect -c 'spawn …'` and `gdb -ex 'shell …'`: commands with a word before them.
    pub(super) fn debugger(&mut self, invocation: &Invocation, scope: &mut Scope) {
        let names = ["-c", "-ex", "-iex", "--eval-command", "-o", "--one-line", "-O"];
        let args = invocation.args.as_slice();
        let given =
            args.iter().zip(args.iter().skip(1)).filter(|(name, _)| names.contains(&name.text.as_str()));
        for (_, value) in given {
            for line in value.text.split(['\n', ';']).map(str::trim) {
                let words = ["spawn ", "exec ", "system ", "shell ", "platform shell ", "make ", "!"];
                if let Some(code) = words.iter().find_map(|word| line.strip_prefix(word)) {
                    let _ = self.code(code, &mut scope.clone(), &Stream::default());
                }
            }
        }
    }

    pub(super) fn tmux(&mut self, invocation: &Invocation, scope: &mut Scope) {
        let args = invocation.args.as_slice();
        let Some(at) = args.iter().position(|arg| TMUX_COMMANDS.contains(&arg.text.as_str())) else { return };
        let rest = args.get(at + 1..).unwrap_or(&[]);
        let sorted = Arguments::parse(programs::row("tmux"), rest, &[]);
        let keys = ["Enter", "C-m", "C-c", "Escape", "Space", "Tab", "C-d", "KPEnter"];
        let mut words: Vec<Arg> = Vec::new();
        for arg in sorted.operands.iter().filter_map(|at| rest.get(*at)) {
            if keys.contains(&arg.text.as_str()) {
                words.push(Arg::known("\n"));
            } else {
                words.push(arg.clone());
            }
        }
        let code: Vec<&str> = words.iter().map(|arg| arg.text.as_str()).collect();
        let _ = self.code(&code.join(" "), &mut scope.clone(), &Stream::default());
    }

    pub(super) fn scheduled(&mut self, invocation: &Invocation, scope: &mut Scope, input: &Stream) {
        let sorted = Arguments::new(invocation);
        let operands: Vec<&Arg> = sorted
            .operands
            .iter()
            .filter_map(|at| invocation.args.get(*at))
            .filter(|it| it.text != "-")
            .collect();
        let file = match invocation.program.as_str() {
            "crontab" => operands.first().copied(),
            _ => sorted.values_of(&["-f"]).next(),
        };
        let from_file = file.map(|file| self.obeyed_file(file, scope));
        let input = from_file.as_ref().unwrap_or(input);
        let Some(text) = &input.text else { return };
        if invocation.program == "crontab" {
            for line in text.text.lines() {
                let fields: Vec<&str> = line.split_whitespace().collect();
                let skip = if line.trim_start().starts_with('@') { 1 } else { 5 };
                if !line.trim_start().starts_with('#') && fields.len() > skip {
                    let code = fields.get(skip..).unwrap_or(&[]).join(" ");
                    let _ = self.code(&code, &mut scope.clone(), &Stream::default());
                }
            }
            return;
        }
        let _ = self.code(&text.text, &mut scope.clone(), &Stream::default());
    }

    /// `nc -e sh` and `socat … EXEC:sh`
    pub(super) fn netcat(&mut self, invocation: &Invocation) {
        let args = invocation.args.as_slice();
        if invocation.program == "socat" {
            let runs = args.iter().any(|arg| {
                let text = arg.text.to_ascii_lowercase();
                (text.starts_with("exec:") || text.starts_with("system:"))
                    && text.split([':', '/', ' ', ',', '\'', '"']).any(|word| programs::is(word, Tag::Shell))
            });
            if runs {
                self.reverse_shell("socat hands a connection to a shell");
            }
            return;
        }
        let sorted = Arguments::new(invocation);
        let is_shell = |arg: &Arg| {
            let first = arg.text.split_whitespace().next().unwrap_or("");
            programs::is(base_name(first), Tag::Shell)
                || base_name(first) == "cmd.exe"
                || base_name(first).starts_with("powershell")
        };
        if sorted.values_of(&["-e", "--exec", "--sh-exec", "-c"]).any(is_shell) {
            self.reverse_shell("netcat hands a connection to a shell");
        }
    }
}
