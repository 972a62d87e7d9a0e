//! Code that stands where settings stand: in variables that programs obey, in options, in scripts of `sed`, and in
//! files of build tools that the line itself wrote.

use super::super::invocation::{Arg, Invocation};
use super::super::options;
use super::super::scope::{Scope, join};
use super::builtins::is_name;
use super::flow::line_of;
use super::{Content, Source, Stream, Walk};

/// Variables whose value some program runs as a command line.
const CODE_VARIABLES: &[&str] = &[
    "BROWSER",
    "EDITOR",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "LESSCLOSE",
    "LESSOPEN",
    "MANPAGER",
    "PAGER",
    "PROMPT_COMMAND",
    "RSYNC_RSH",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "VISUAL",
];

impl Walk {
    /// A variable is set that some program will run: `GIT_SSH_COMMAND=…`.
    pub(super) fn code_variable(&mut self, name: &str, scope: &Scope) {
        if !CODE_VARIABLES.contains(&name) {
            return;
        }
        let value = scope.variable(name).and_then(|variable| variable.candidates.first());
        if let Some(code) = value.and_then(|items| items.first()).map(|arg| arg.text.clone()) {
            let _ = self.code(code.trim_start_matches('|'), &mut scope.clone(), &Stream::default());
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
                let _ = self.code(code, &mut scope.clone(), &Stream::default());
            }
        }
    }

    /// Scripts of `sed` that run commands: `1e command`, `s/x/command/e`.
    pub(super) fn sed(&mut self, invocation: &Invocation, scope: &Scope) {
        let sorted = options::sort(&invocation.args, &["-e", "--expression", "-f", "--file", "-l"], false);
        let mut scripts: Vec<&Arg> = sorted.values_of(&["-e", "--expression"]).collect();
        if scripts.is_empty() {
            scripts.extend(sorted.operands.first().and_then(|at| invocation.args.get(*at)));
        }
        let commands: Vec<String> = scripts.iter().flat_map(|script| sed_commands(&script.text)).collect();
        for code in commands {
            let _ = self.code(&code, &mut scope.clone(), &Stream::default());
        }
    }

    /// `make` with a file that the line wrote, or that it reads from its input.
    pub(super) fn make(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        let sorted = options::sort(
            &invocation.args,
            &["-f", "--file", "--makefile", "-C", "--directory", "-I", "-o", "-W"],
            false,
        );
        let mut inner = scope.clone();
        for folder in sorted.values_of(&["-C", "--directory"]) {
            inner.change_folder(Some(folder));
        }
        let named: Vec<&str> =
            sorted.values_of(&["-f", "--file", "--makefile"]).map(|file| file.text.as_str()).collect();
        let names = if named.is_empty() { vec!["GNUmakefile", "makefile", "Makefile"] } else { named };
        for name in names {
            let content = match name {
                "-" | "/dev/stdin" => Some(Content::of(input)),
                _ => self.files.get(&inner.place(name)).cloned(),
            };
            match content {
                Some(Content::Known(text)) => self.recipes(&text.text, &inner),
                Some(Content::Remote) => {
                    self.remote_code(
                        "what was fetched from the network is run",
                        &line_of("make", &invocation.args),
                    );
                }
                _ => {}
            }
        }
    }

    fn recipes(&mut self, text: &str, scope: &Scope) {
        let mut scope = scope.clone();
        self.spend(10 + text.len() / 4);
        if self.is_exhausted() {
            return;
        }
        for line in text.replace("\\\n", " ").lines() {
            let recipe = line.strip_prefix('\t').or_else(|| {
                let (target, recipe) = line.split_once(';')?;
                target.contains(':').then_some(recipe)
            });
            if let Some(recipe) = recipe {
                let code = shell_variables(recipe.trim_start_matches(['@', '-', '+', ' ', '\t']));
                let _ = self.code(&code, &mut scope.clone(), &Stream::default());
            } else if let Some((name, value)) = line.split_once('=') {
                let name = name.trim_end_matches([':', '?', '+', ' ', '\t']).trim_start_matches("export ");
                if is_name(name) {
                    scope.set(name, vec![Arg::known(value.trim())], false);
                }
            }
        }
    }

    /// `npm run` and the like with a `package.json` that the line wrote.
    pub(super) fn package_scripts(&mut self, scope: &Scope) {
        let place = match &scope.folder {
            super::super::invocation::Folder::Known(folder) => join(folder, "package.json"),
            super::super::invocation::Folder::Unknown => return,
        };
        let Some(Content::Known(text)) = self.files.get(&place).cloned() else { return };
        self.spend(10 + text.text.len() / 4);
        let Some((_, rest)) = text.text.split_once("\"scripts\"") else { return };
        let strings = strings_of(rest.split_inclusive('}').next().unwrap_or(""));
        for code in strings.iter().skip(1).step_by(2).take(64) {
            let _ = self.code(code, &mut scope.clone(), &Stream::default());
        }
    }

    /// Something that was fetched from the network is unpacked: what runs from then on may be of it.
    pub(super) fn unpacked(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        let is_remote = |arg: &Arg| matches!(self.files.get(&scope.place(&arg.text)), Some(Content::Remote));
        self.has_unpacked |= input.source == Source::Remote || invocation.args.iter().any(is_remote);
    }

    /// What is fetched from the network goes into something that obeys it: a cluster, a database.
    pub(super) fn obeys_network(&mut self, invocation: &Invocation, input: &Stream) {
        if input.source != Source::Remote || input.text.is_some() {
            return;
        }
        let args = invocation.args.as_slice();
        let has = |words: &[&str]| args.iter().any(|arg| words.contains(&arg.text.as_str()));
        let obeys = match invocation.program.as_str() {
            "kubectl" | "oc" => has(&["apply", "create", "replace"]) && has(&["-", "-f-", "--filename=-"]),
            "psql" | "mysql" | "mariadb" | "sqlite3" | "mongosh" | "redis-cli" => {
                !has(&["-c", "-e", "--command", "--execute"])
            }
            "crontab" | "at" | "batch" => true,
            "make" => has(&["-"]),
            _ => false,
        };
        if obeys {
            self.found(
                "remote-code",
                midrail_core::Severity::Medium,
                format!("{} does what comes from the network", invocation.program),
                "download the file, read it, and use it then",
                &line_of(&invocation.program, args),
            );
        }
    }
}

/// `$(NAME)` of make as the shell writes it.
fn shell_variables(recipe: &str) -> String {
    let mut code = String::with_capacity(recipe.len());
    let mut pieces = recipe.split("$(");
    code.push_str(pieces.next().unwrap_or(""));
    for piece in pieces {
        match piece.split_once(')') {
            Some((name, rest)) if is_name(name) && !code.ends_with('$') => {
                code.push_str("${");
                code.push_str(name);
                code.push('}');
                code.push_str(rest);
            }
            _ => {
                code.push_str("$(");
                code.push_str(piece);
            }
        }
    }
    code.replace("$$", "$")
}

/// The strings of a piece of JSON.
fn strings_of(text: &str) -> Vec<String> {
    let mut strings = Vec::new();
    let mut now: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (&mut now, letter) {
            (None, '"') => now = Some(String::new()),
            (None, _) => {}
            (Some(_), '"') => strings.extend(now.take()),
            (Some(string), '\\') => match letters.next() {
                Some('n') => string.push('\n'),
                Some('t') => string.push('\t'),
                Some(other) => string.push(other),
                None => {}
            },
            (Some(string), other) => string.push(other),
        }
    }
    strings
}

/// The commands of a shell in a script of `sed`.
fn sed_commands(script: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for line in script.lines() {
        let line =
            line.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | ' ' | '{' | '~'));
        // `/address/`
        let line = match line.strip_prefix('/').and_then(|rest| rest.split_once('/')) {
            Some((_, rest)) => rest.trim_start(),
            None => line,
        };
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
