//! Code in settings: in variables that programs obey, in options, and in scripts of `sed`.

use super::super::condition::does;
use super::super::invocation::{Arg, Invocation};
use super::super::options::Arguments;
use super::super::programs::Tag;
use super::super::scope::Scope;
use super::flow::command_line;
use super::state::Walk;
use super::stream::{Source, Stream};
use crate::words::shell::{CODE_VARIABLES, PROMPTS};

impl Walk {
    /// A variable is set that some program will run: `GIT_SSH_COMMAND=…`.
    pub(super) fn code_variable(&mut self, name: &str, scope: &Scope) {
        let is_prompt = PROMPTS.contains(&name);
        if !is_prompt && !CODE_VARIABLES.contains(&name) {
            return;
        }
        let Some(code) = scope.first_value(name).map(|arg| arg.text.clone()) else { return };
        if !is_prompt {
            self.run(code.trim_start_matches('|'), scope);
        } else if code.contains(['$', '`']) {
            let code = format!(": \"{}\"", code.replace('"', "\\\""));
            self.run(&code, scope);
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
        }
    }

    /// `rsync -e command`
    pub(super) fn rsync(&mut self, invocation: &Invocation, scope: &Scope) {
        self.ssh_options(invocation, scope);
        for value in Arguments::new(invocation).values_of(&["-e", "--rsh", "--rsync-path"]) {
            if !value.text.starts_with("ssh") {
                self.run(&value.text, scope);
            }
        }
    }

    /// Scripts of `sed` that run commands: `1e command`, `s/x/command/e`.
    pub(super) fn sed(&mut self, invocation: &Invocation, scope: &Scope) {
        let sorted = Arguments::new(invocation);
        let mut scripts: Vec<&Arg> = sorted.values_of(&["-e", "--expression"]).collect();
        let files: Vec<Stream> =
            sorted.values_of(&["-f", "--file"]).map(|file| self.obeyed_file(file, scope)).collect();
        scripts.extend(files.iter().filter_map(|file| file.text.as_ref()));
        if scripts.is_empty() && files.is_empty() {
            scripts.extend(sorted.operands.first().and_then(|at| invocation.args.get(*at)));
        }
        let commands: Vec<String> = scripts.iter().flat_map(|script| sed_commands(&script.text)).collect();
        for code in commands {
            self.run(&code, scope);
        }
    }

    /// What is fetched from the network goes into something that obeys it: a cluster, a database.
    pub(super) fn obeys_network(&mut self, invocation: &Invocation, input: &Stream) {
        if input.source == Source::Remote && input.text.is_none() && does(invocation, Tag::ObeysNetwork) {
            self.report(
                "remote-code",
                midrail_core::Severity::Medium,
                format!("{} does what comes from the network", invocation.program),
                "download the file, read it, and use it then",
                &command_line(&invocation.program, &invocation.args),
            );
        }
    }
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
