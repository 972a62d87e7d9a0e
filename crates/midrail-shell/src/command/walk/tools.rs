//! Programs that run commands in ways of their own: `tar`, editors, `tmux`, `at`, `nc`, `sed`, services, build tools.

use midrail_core::{OpaqueKind, Severity};
use serde_json::Value;

use super::super::condition::does;
use super::super::inner_command::assignment;
use super::super::invocation::{Arg, Invocation, joined};
use super::super::options::Arguments;
use super::super::programs::{self, Tag};
use super::super::scope::Scope;
use super::super::snippet::Language;
use super::flow::{base_name, command_line};
use super::shells::Code;
use super::state::{Listed, ProgramCall, Source, Stream, Walk};
use crate::words::shell::{SHOWS_ENVIRONMENT, TAR_CODE_OPTIONS, TMUX_COMMANDS};

impl Walk {
    pub(super) fn tar(&mut self, invocation: &Invocation, scope: &mut Scope) {
        let sorted = Arguments::new(invocation);
        for value in sorted.values_of(TAR_CODE_OPTIONS) {
            self.run(value.text.strip_prefix("exec=").unwrap_or(&value.text), scope);
        }
    }

    /// Commands of editors and of `dc`, in options and on their input: `:!command`, `r !command`.
    pub(super) fn editor(&mut self, call: ProgramCall<'_>, scope: &mut Scope) {
        let ProgramCall { invocation, input } = call;
        let sorted = Arguments::new(invocation);
        let plus = invocation.args.iter().filter(|arg| arg.text.starts_with('+')).map(|arg| arg.tail(1));
        let given = sorted.values_of(&["-c", "--cmd", "-e", "--expression"]).cloned();
        // An editor with a screen does not read its commands from a pipe.
        let reads = match invocation.family() {
            "ex" | "ed" | "red" | "dc" => true,
            _ => invocation
                .args
                .iter()
                .any(|arg| matches!(arg.text.as_str(), "-es" | "-e" | "-s" | "-Es" | "-E")),
        };
        let piped = input.text.iter().filter(|_| reads).cloned();
        let codes: Vec<Arg> = given.chain(plus).chain(piped).collect();
        for code in codes {
            self.unread_code(&code, &invocation.program);
            for line in code.text.lines() {
                let text = line.trim_start_matches([
                    ':', ' ', '%', 's', 'i', 'l', 'e', 'n', 't', 'r', 'w', '.', ',', '$',
                ]);
                let text = text
                    .trim_start_matches(|letter: char| letter.is_ascii_digit())
                    .trim_start_matches(['r', 'w', 'e', ' ']);
                if let Some(code) = text.strip_prefix('!') {
                    self.run(code, scope);
                }
            }
        }
        if reads && input.text.is_none() {
            self.unread_stream(input, Code::Shell, &invocation.program);
        }
    }

    /// `expect -c 'spawn …'` and `gdb -ex 'shell …'`: commands with a word before them.
    pub(super) fn debugger(&mut self, call: ProgramCall<'_>, scope: &mut Scope) {
        let ProgramCall { invocation, input } = call;
        let names = ["-c", "-ex", "-iex", "--eval-command", "-o", "--one-line", "-O"];
        let args = invocation.args.as_slice();
        // `r2 -qc commands`
        let is_grouped =
            |name: &str| invocation.family() == "r2" && name.starts_with('-') && name.ends_with('c');
        let is_code = |name: &Arg| names.contains(&name.text.as_str()) || is_grouped(&name.text);
        let given = args.iter().zip(args.iter().skip(1)).filter(|(name, _)| is_code(name));
        let given = given.map(|(_, value)| value.clone());
        let codes: Vec<Arg> = given.chain(input.text.clone()).collect();
        for value in &codes {
            self.unread_code(value, &invocation.program);
            let python = ["python ", "py ", "python-interactive ", "script "];
            if let Some(code) = python.iter().find_map(|word| value.text.trim_start().strip_prefix(word)) {
                self.visible_code(Language::Python, &Arg::known(code), scope);
            }
            for line in value.text.split(['\n', ';']).map(str::trim) {
                let words = [
                    "spawn ",
                    "exec ",
                    "system ",
                    "shell ",
                    "platform shell ",
                    "platform process launch ",
                    "make ",
                    "!",
                ];
                if let Some(code) = words.iter().find_map(|word| line.strip_prefix(word)) {
                    self.run(code, scope);
                }
                self.debugger_command(line, invocation, scope);
            }
        }
    }

    /// What a debugger does with files: it reads commands from them, dumps memory into them, and starts them.
    fn debugger_command(&mut self, line: &str, invocation: &Invocation, scope: &Scope) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["source" | ".", .., file]
            | ["command", "source" | "script", .., file]
            | ["add-auto-load-safe-path" | "plugin", .., file] => {
                let stream = self.obeyed_file(&Arg::known(*file), scope);
                for line in stream.text.iter().flat_map(|text| text.text.lines()).take(64) {
                    self.run(
                        &format!("{} -batch -ex {}", invocation.program, Arg::known(line).quoted()),
                        scope,
                    );
                }
            }
            ["dump" | "append", rest @ ..] => {
                let at = rest.iter().position(|word| matches!(*word, "memory" | "value"));
                if let Some(file) = at.and_then(|at| rest.get(at + 1)) {
                    self.judge_redirection(&Arg::known(*file), false, scope);
                    self.note(Listed::Write, &scope.place(file));
                }
            }
            ["set", "logging", "file", file] => {
                self.judge_redirection(&Arg::known(*file), false, scope);
                self.note(Listed::Write, &scope.place(file));
            }
            ["eval", ..] => self.hide(OpaqueKind::Dynamic, line),
            ["target", "remote" | "extended-remote", "|", command @ ..] => {
                self.run(&command.join(" "), scope)
            }
            ["r" | "run" | "start" | "starti", ..]
            | ["process", "launch" | "attach", ..]
            | ["attach", ..] => {
                let sorted = Arguments::new(invocation);
                match sorted.operands.first().copied().cloned() {
                    Some(file) if file.is_known() => self.note(Listed::Script, &scope.place(&file.text)),
                    _ => self.hide(OpaqueKind::Dynamic, line),
                }
            }
            _ => {}
        }
    }

    pub(super) fn tmux(&mut self, invocation: &Invocation, scope: &mut Scope) {
        let args = invocation.args.as_slice();
        let Some(at) = args.iter().position(|arg| TMUX_COMMANDS.contains(arg.text.as_str())) else { return };
        let rest = args.get(at + 1..).unwrap_or(&[]);
        let sorted = Arguments::parse(programs::row("tmux"), rest, &[]);
        // `tmux if-shell test command command`
        if args.get(at).is_some_and(|arg| matches!(arg.text.as_str(), "if" | "if-shell")) {
            let mut texts = sorted.operands.iter().map(|arg| arg.text.as_str());
            texts.next().into_iter().for_each(|test| self.run(test, scope));
            return texts.for_each(|command| self.run(&format!("tmux {command}"), scope));
        }
        let keys = ["Enter", "C-m", "C-c", "Escape", "Space", "Tab", "C-d", "KPEnter"];
        let typed =
            |arg: &Arg| if keys.contains(&arg.text.as_str()) { Arg::known("\n") } else { arg.clone() };
        let words: Vec<Arg> = sorted.operands.into_iter().map(typed).collect();
        self.run(&joined(&words), scope);
    }

    pub(super) fn scheduled(&mut self, invocation: &Invocation, scope: &mut Scope, input: &Stream) {
        let sorted = Arguments::new(invocation);
        let file = match invocation.program.as_str() {
            "crontab" => sorted.operands.iter().copied().find(|it| it.text != "-"),
            _ => sorted.values_of(&["-f"]).next(),
        };
        let from_file = file.map(|file| self.obeyed_file(file, scope));
        let input = from_file.as_ref().unwrap_or(input);
        let Some(text) = &input.text else { return };
        self.unread_code(text, &invocation.program);
        if invocation.program == "crontab" {
            for line in text.text.lines() {
                let fields: Vec<&str> = line.split_whitespace().collect();
                let skip = if line.trim_start().starts_with('@') { 1 } else { 5 };
                if !line.trim_start().starts_with('#') && fields.len() > skip {
                    let code = fields.get(skip..).unwrap_or(&[]).join(" ");
                    self.run(&code, scope);
                }
            }
            return;
        }
        self.run(&text.text, scope);
    }

    /// `nc -e sh` and `socat … EXEC:sh`
    pub(super) fn netcat(&mut self, invocation: &Invocation, scope: &Scope) {
        let args = invocation.args.as_slice();
        if invocation.program == "socat" {
            for arg in args {
                let Some((kind, code)) = arg.text.split_once(':') else { continue };
                if !["exec", "system", "shell"].iter().any(|known| kind.eq_ignore_ascii_case(known)) {
                    continue;
                }
                if code.split(['/', ' ', ',', '\'', '"']).any(|word| programs::is(word, Tag::Shell)) {
                    self.reverse_shell("socat hands a connection to a shell");
                }
                self.run(code.split(',').next().unwrap_or(code).trim_matches(['\'', '"']), scope);
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
        for code in sorted.values_of(&["-e", "--exec", "--sh-exec", "-c"]) {
            if is_shell(code) {
                self.reverse_shell("netcat hands a connection to a shell");
            }
            self.run(&code.text, scope);
        }
    }

    /// `aws ssm send-command --parameters commands=[…]`: runs on other machines.
    pub(super) fn sent_commands(&mut self, invocation: &Invocation, scope: &Scope) {
        let mut words = invocation.args.iter().map(|arg| arg.text.as_str());
        if !words.any(|word| word == "send-command") {
            return;
        }
        let sorted = Arguments::new(invocation);
        let mut inner = scope.clone();
        inner.is_remote = true;
        for parameters in sorted.values_of(&["--parameters"]) {
            for command in ssm_commands(&parameters.text) {
                let _ = self.code(&command, &mut inner, &Stream::default());
            }
        }
    }

    /// `start-stop-daemon --start --exec program -- arguments`
    pub(super) fn daemon(&mut self, call: ProgramCall<'_>, scope: &mut Scope) -> Option<Stream> {
        let ProgramCall { invocation, input } = call;
        let args = invocation.args.as_slice();
        let names = ["-x", "--exec", "-a", "--startas"];
        let sorted = Arguments::new(invocation);
        let program = sorted.values_of(&names).last()?.clone();
        let dashes = args.iter().position(|arg| arg.text == "--").map_or(args.len(), |at| at + 1);
        let mut argv = vec![program];
        argv.extend(args.get(dashes..).unwrap_or(&[]).iter().cloned());
        let mut inner = scope.clone();
        for folder in sorted.values_of(&["-d", "--chdir", "-r", "--chroot"]) {
            inner.change_folder(Some(folder));
        }
        Some(self.invoke(argv, invocation.has_more_args, &mut inner, input))
    }

    /// `cmake -E env A=b program`, `cmake -E time program`
    pub(super) fn cmake(&mut self, invocation: &Invocation, scope: &mut Scope, input: &Stream) {
        let mut words = invocation.args.iter().skip_while(|arg| arg.text != "-E").skip(1);
        let subcommand = words.next().map_or("", |arg| arg.text.as_str());
        if !matches!(subcommand, "env" | "time" | "chdir") {
            return;
        }
        let is_setting =
            |arg: &&Arg| subcommand == "env" && arg.text.contains('=') || arg.text.starts_with("--");
        let mut inner = scope.clone();
        let mut words = words.peekable();
        if subcommand == "chdir" {
            inner.change_folder(words.next());
        }
        while let Some(setting) = words.next_if(is_setting) {
            if let Some((name, value)) = assignment(setting) {
                inner.set(&name, vec![value]);
            }
        }
        self.judge_variables(&inner);
        let _ = self.invoke(words.cloned().collect(), false, &mut inner, input);
    }

    /// `npm pkg set scripts.x=code`: code that runs by its name from then on.
    pub(super) fn set_package_scripts(&mut self, invocation: &Invocation, scope: &Scope) {
        let [pkg, set, pairs @ ..] = invocation.args.as_slice() else { return };
        if !(pkg.text == "pkg" && set.text == "set") {
            return;
        }
        for pair in pairs.iter().filter(|pair| pair.text.starts_with("scripts.")) {
            if let Some((_, code)) = pair.text.split_once('=') {
                self.run(code, scope);
            }
        }
    }

    /// `dotenv -e .env -- printenv`: shows what the file holds.
    pub(super) fn shows_environment(&mut self, invocation: &Invocation, scope: &Scope) {
        let names = ["-e", "-f", "--file", "--env-file"];
        let all = Arguments::new(invocation);
        let first = all.operands.first().map_or("", |arg| arg.text.as_str());
        let is_shown = |arg: &&Arg| SHOWS_ENVIRONMENT.contains(arg.text.as_str());
        if !all.operands.last().is_some_and(is_shown) && !matches!(first, "get" | "list" | "decrypt") {
            return;
        }
        let files: Vec<&Arg> = all.values_of(&names).collect();
        let usual = Arg::known(".env");
        let files = if files.is_empty() { vec![&usual] } else { files };
        for file in files.into_iter().filter(|_| !scope.is_remote) {
            self.note(Listed::Read, &scope.place(&file.text));
        }
    }

    /// `ssh -o ProxyCommand=…`: runs here, not there.
    pub(super) fn ssh_options(&mut self, invocation: &Invocation, scope: &Scope) {
        for arg in &invocation.args {
            let text = arg.text.strip_prefix("-o").unwrap_or(&arg.text).trim_start();
            let Some((name, code)) = text.split_once(['=', ' ']) else { continue };
            let is_code = ["ProxyCommand", "LocalCommand", "KnownHostsCommand"]
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name));
            if is_code && code != "none" {
                self.run(code, scope);
            }
            self.ssh_host(name, code);
        }
        // A file of settings may name any host, and options may name others than the operand.
        for arg in invocation.args.iter().filter(|arg| arg.text.starts_with("-F")) {
            self.analysis.has_unknown_hosts |= arg.text != "-F/dev/null" && arg.text != "-Fnone";
        }
        let args = invocation.args.as_slice();
        for (_, jump) in args.iter().zip(args.iter().skip(1)).filter(|(name, _)| name.text == "-J") {
            self.ssh_host("ProxyJump", &jump.text);
        }
    }

    /// `ssh -o HostName=…`: the host that is contacted, whatever the operand says.
    fn ssh_host(&mut self, option: &str, value: &str) {
        let is_host = ["HostName", "ProxyJump"].iter().any(|known| known.eq_ignore_ascii_case(option));
        if !is_host || value == "none" {
            return;
        }
        for host in value.split(',') {
            let host = host.rsplit('@').next().unwrap_or(host).trim_start_matches("ssh://");
            let host = host.split(':').next().unwrap_or(host);
            if host.contains(['$', '`', '%']) {
                self.analysis.has_unknown_hosts = true;
            } else {
                self.note(Listed::Host, host);
            }
        }
    }

    /// `rsync -e command`
    pub(super) fn rsync(&mut self, invocation: &Invocation, scope: &Scope) {
        self.ssh_options(invocation, scope);
        let names: &[&str] =
            if invocation.program == "scp" { &["-S", "-D"] } else { &["-e", "--rsh", "--rsync-path"] };
        for value in Arguments::new(invocation).values_of(names) {
            if !value.text.starts_with("ssh") {
                self.run(&value.text, scope);
            }
        }
    }

    /// Scripts of `sed` that run commands: `1e command`, `s/x/command/e`.
    pub(super) fn sed(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        let sorted = Arguments::new(invocation);
        let mut scripts: Vec<&Arg> = sorted.values_of(&["-e", "--expression"]).collect();
        let files: Vec<Stream> =
            sorted.values_of(&["-f", "--file"]).map(|file| self.obeyed_file(file, scope)).collect();
        scripts.extend(files.iter().filter_map(|file| file.text.as_ref()));
        if scripts.is_empty() && files.is_empty() {
            scripts.extend(sorted.operands.first());
        }
        scripts.iter().for_each(|script| self.unread_code(script, "sed"));
        for code in scripts.iter().flat_map(|script| sed_commands(&script.text)) {
            self.run(&code, scope);
        }
        for file in scripts.iter().flat_map(|script| sed_files(&script.text)).filter(|_| !scope.is_remote) {
            self.note(Listed::Write, &scope.place(file));
            self.judge_redirection(&Arg::known(file), false, scope);
        }
        // `e` alone runs what was read.
        if scripts.iter().any(|script| script.text.split([';', '\n']).any(|part| sed_command(part) == "e")) {
            match &input.text {
                Some(text) if text.is_known() => self.run(&text.text, scope),
                _ => self.opaque_command("`sed` runs the lines that it reads", ""),
            }
        }
    }

    /// What is fetched from the network goes into something that obeys it: a cluster, a database.
    pub(super) fn obeys_network(&mut self, invocation: &Invocation, input: &Stream) {
        if input.source == Source::Remote && input.text.is_none() && does(invocation, Tag::ObeysNetwork) {
            self.report(
                "remote-code",
                Severity::Medium,
                format!("{} does what comes from the network", invocation.program),
                "download the file, read it, and use it then",
                &command_line(&invocation.program, &invocation.args),
            );
        }
    }
}

/// The command lines of `commands=["a","b"]`, `commands=a` and `{"commands":["a"]}`.
fn ssm_commands(parameters: &str) -> Vec<String> {
    let texts = |value: &Value| match value {
        Value::Array(list) => list.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect(),
        Value::String(text) => vec![text.clone()],
        _ => Vec::new(),
    };
    if let Ok(object) = serde_json::from_str::<Value>(parameters) {
        return object.get("commands").map(texts).unwrap_or_default();
    }
    let Some((_, list)) = parameters.split_once("commands=") else { return Vec::new() };
    match serde_json::from_str::<Value>(list) {
        Ok(list) => texts(&list),
        Err(_) => vec![list.trim_matches(['[', ']', '"', '\'']).to_owned()],
    }
}

/// The files that a script of `sed` writes: `w file`, `s/a/b/w file`.
fn sed_files(script: &str) -> impl Iterator<Item = &str> {
    script.lines().filter_map(|line| {
        let (before, file) = line.rsplit_once("w ")?;
        let is_command = before.trim_end().ends_with(['/', '$', '{', ';', '}']) || before.is_empty();
        let is_address = before.ends_with(|c: char| c.is_ascii_digit());
        let file = file.trim();
        ((is_command || is_address) && !file.is_empty() && !file.contains(' ')).then_some(file)
    })
}

/// A command of `sed` without its address: `1!e x`, `/a/e x`.
fn sed_command(line: &str) -> &str {
    let is_address =
        |c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | ' ' | '{' | '}' | '~' | '!' | '+');
    let line = line.trim_start_matches(is_address);
    match line.strip_prefix('/').and_then(|rest| rest.split_once('/')) {
        Some((_, rest)) => rest.trim_start_matches(is_address).trim_end_matches([' ', '}']),
        None => line.trim_end_matches([' ', '}']),
    }
}

/// The commands of a shell in a script of `sed`.
fn sed_commands(script: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for line in script.lines() {
        let line = sed_command(line);
        if let Some(code) = line.strip_prefix("e ") {
            commands.push(code.to_owned());
        } else if let Some(rest) = line.strip_prefix('s')
            && let Some(sign) = rest.chars().next().filter(char::is_ascii_punctuation)
        {
            let mut fields = rest.split(sign).skip(2);
            if let (Some(code), Some(flags)) = (fields.next(), fields.next())
                && flags.split([';', '}', ' ']).next().is_some_and(|flags| flags.contains('e'))
                && flags.len() < 6
            {
                commands.push(code.to_owned());
            }
        }
    }
    commands
}
