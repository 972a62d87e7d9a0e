//! Tools that run commands in ways of their own: `git`, `tar`, editors, `tmux`, `at`, `nc`.

use super::super::invocation::{Arg, Invocation};
use super::super::options::{self, tail};
use super::super::scope::Scope;
use super::flow::{SHELLS, base_name};
use super::invoke::quoted_line;
use super::{Stream, Walk};

/// How deep names for commands of git may stand for each other.
const MAX_ALIASES: usize = 8;

impl Walk {
    pub(super) fn git(&mut self, invocation: &Invocation, scope: &mut Scope) {
        let sorted = options::sort(
            &invocation.args,
            &["-c", "-C", "--git-dir", "--work-tree", "--exec-path", "--namespace"],
            true,
        );
        let Some(at) = sorted.operands.first().copied() else { return };
        let verb = invocation.args.get(at).map_or("", |arg| arg.text.as_str()).to_owned();
        let rest: Vec<Arg> = invocation.args.get(at + 1..).unwrap_or(&[]).to_vec();
        let mut inner = scope.clone();
        for folder in sorted.values_of(&["-C"]) {
            inner.change_folder(Some(folder));
        }
        for setting in sorted.values_of(&["-c"]) {
            let Some((key, value)) = setting.text.split_once('=') else { continue };
            let key = key.to_ascii_lowercase();
            if let Some(name) = key.strip_prefix("alias.")
                && name == verb.to_ascii_lowercase()
            {
                self.git_alias(value, &rest, &inner);
            } else if key.ends_with("pager")
                || key.ends_with("editor")
                || key.ends_with("sshcommand")
                || key.ends_with("fsmonitor")
            {
                let _ = self.code(value, &mut inner.clone(), &Stream::default());
            }
        }
        let alias = scope.aliases.get(&format!("git {verb}")).cloned();
        if let Some(body) = alias.filter(|_| self.depth < MAX_ALIASES) {
            self.git_alias(&body, &rest, &inner);
        }
        let first = rest.first().map_or("", |arg| arg.text.as_str());
        match (verb.as_str(), first) {
            ("bisect", "run") => {
                let _ =
                    self.invoke(rest.get(1..).unwrap_or(&[]).to_vec(), false, &mut inner, &Stream::default());
            }
            ("rebase", _) => {
                let sorted = options::sort(&rest, &["-x", "--exec", "--onto", "-s", "-X"], false);
                for code in sorted.values_of(&["-x", "--exec"]) {
                    let _ = self.code(&code.text, &mut inner.clone(), &Stream::default());
                }
            }
            ("submodule", "foreach") => {
                let words: Vec<Arg> =
                    rest.iter().skip(1).skip_while(|arg| arg.text.starts_with('-')).cloned().collect();
                let code: Vec<&str> = words.iter().map(|arg| arg.text.as_str()).collect();
                let _ = self.code(&code.join(" "), &mut inner, &Stream::default());
            }
            ("filter-branch", _) => {
                let filters = [
                    "--tree-filter",
                    "--index-filter",
                    "--msg-filter",
                    "--env-filter",
                    "--parent-filter",
                    "--commit-filter",
                    "--tag-name-filter",
                ];
                let sorted = options::sort(&rest, &filters, false);
                for code in sorted.values_of(&filters) {
                    let _ = self.code(&code.text, &mut inner.clone(), &Stream::default());
                }
            }
            ("config", _) => {
                self.set_git_alias(&rest, scope);
                for value in rest.iter().filter(|arg| arg.text.starts_with('!')) {
                    let code = tail(value, 1);
                    let _ = self.code(&code.text, &mut inner.clone(), &Stream::default());
                }
            }
            _ => {}
        }
    }

    /// What a name for a command of git stands for, with the arguments that follow the name.
    fn git_alias(&mut self, body: &str, rest: &[Arg], scope: &Scope) {
        let code = match body.strip_prefix('!') {
            Some(code) => format!("{code}{}", quoted_line(rest)),
            None => format!("git {body}{}", quoted_line(rest)),
        };
        let _ = self.code(&code, &mut scope.clone(), &Stream::default());
    }

    /// `git config alias.name body`: from here on `git name` does that.
    fn set_git_alias(&mut self, rest: &[Arg], scope: &mut Scope) {
        let mut pairs = rest.iter().zip(rest.iter().skip(1));
        let named = pairs.find_map(|(name, body)| Some((name.text.strip_prefix("alias.")?, body)));
        if let Some((name, body)) = named {
            scope.alias(&format!("git {name}"), &body.text);
        }
    }

    pub(super) fn tar(&mut self, invocation: &Invocation, scope: &mut Scope) {
        let sorted = options::sort(
            &invocation.args,
            &["-I", "--use-compress-program", "--to-command", "--checkpoint-action", "-f", "-C"],
            false,
        );
        for value in sorted.values_of(&[
            "--checkpoint-action",
            "--to-command",
            "-I",
            "--use-compress-program",
            "--info-script",
            "-F",
        ]) {
            let code = value.text.strip_prefix("exec=").unwrap_or(&value.text).to_owned();
            let _ = self.code(&code, &mut scope.clone(), &Stream::default());
        }
    }

    pub(super) fn editor(&mut self, invocation: &Invocation, scope: &mut Scope) {
        let sorted = options::sort(&invocation.args, &["-c", "--cmd", "-S", "--eval", "-u"], false);
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
        let values = ["-t", "-s", "-n", "-c", "-x", "-y", "-L", "-S", "-f", "-e", "-F", "-l", "-p"];
        let verbs = [
            "new-session",
            "new",
            "new-window",
            "neww",
            "split-window",
            "splitw",
            "send-keys",
            "send",
            "respawn-pane",
            "run-shell",
            "run",
            "popup",
            "display-popup",
            "if-shell",
            "pipe-pane",
        ];
        let Some(at) = args.iter().position(|arg| verbs.contains(&arg.text.as_str())) else { return };
        let rest = args.get(at + 1..).unwrap_or(&[]);
        let sorted = options::sort(rest, &values, false);
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
        let sorted = options::sort(&invocation.args, &["-f", "-q", "-u", "-t"], false);
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
                    && SHELLS
                        .iter()
                        .any(|shell| text.split([':', '/', ' ', ',', '\'', '"']).any(|word| word == *shell))
            });
            if runs {
                self.reverse_shell("socat hands a connection to a shell");
            }
            return;
        }
        let sorted = options::sort(
            args,
            &["-e", "-c", "--exec", "--sh-exec", "-p", "-w", "-s", "-x", "-X", "-i", "-q"],
            false,
        );
        let is_shell = |arg: &Arg| {
            let first = arg.text.split_whitespace().next().unwrap_or("");
            SHELLS.contains(&base_name(first))
                || base_name(first) == "cmd.exe"
                || base_name(first).starts_with("powershell")
        };
        if sorted.values_of(&["-e", "--exec", "--sh-exec", "-c"]).any(is_shell) {
            self.reverse_shell("netcat hands a connection to a shell");
        }
    }
}
