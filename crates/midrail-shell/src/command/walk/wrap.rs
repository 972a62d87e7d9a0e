//! Programs that run other programs: by their rows, and some in ways of their own.

use super::super::condition::does;
use super::super::inner_command::{WrappedCommand, assignment, find_command};
use super::super::invocation::{Arg, Folder, Invocation, joined, quoted_line};
use super::super::options::{Arguments, MAX_UNKNOWN, after_subcommand, begins_with_subcommand};
use super::super::programs::{self, Program, Rest, Run, Tag};
use super::super::scope::Scope;
use super::containers;
use super::flow::command_line;
use super::shells::{Code, is_url};
use super::state::{ProgramCall, Source, Stream, Walk};
use crate::words::shell::PROJECT_MANAGERS;

impl Walk {
    /// Walks the program that another one runs. `None`: it runs none.
    pub(super) fn wrapped(&mut self, call: ProgramCall<'_>, scope: &mut Scope) -> Option<Stream> {
        let ProgramCall { invocation, input } = call;
        self.unpacked(invocation, scope, input);
        self.report_unpacking(invocation, scope);
        match invocation.family() {
            "xargs" => return Some(self.xargs(invocation, scope, input)),
            "parallel" => return Some(self.parallel(invocation, scope, input)),
            "start-stop-daemon" => return self.daemon(call, scope),
            "find" => self.find(invocation, scope),
            "fd" => self.fd(invocation, scope),
            "git" => self.git(invocation, scope, input),
            "patch" => self.patch(invocation, scope, input),
            "tar" => self.tar(invocation, scope),
            "vim" | "ex" | "view" | "emacs" | "ed" | "red" | "dc" => self.editor(call, scope),
            "tmux" => self.tmux(invocation, scope),
            "nc" | "socat" => self.netcat(invocation, scope),
            "at" | "crontab" => self.scheduled(invocation, scope, input),
            "sed" => self.sed(invocation, scope, input),
            "rsync" | "scp" => self.rsync(invocation, scope),
            _ => {
                self.builds(invocation, scope, input);
                return self.wrapped_by_row(call, scope);
            }
        }
        None
    }

    /// Walks the commands that the row of a program describes.
    fn wrapped_by_row(&mut self, call: ProgramCall<'_>, scope: &mut Scope) -> Option<Stream> {
        let ProgramCall { invocation, input } = call;
        match invocation.family() {
            "gdb" | "r2" => self.debugger(call, scope),
            "ssh" | "sftp" | "autossh" => self.ssh_options(invocation, scope),
            "npm" | "pnpm" | "yarn" | "bun" => {
                self.set_package_scripts(invocation, scope);
                self.package_scripts(invocation, scope);
            }
            "docker" | "docker-compose" => self.compose(invocation, scope, input),
            "node" => self.node_scripts(invocation, scope),
            "aws" => self.sent_commands(invocation, scope),
            "cmake" => self.cmake(invocation, scope, input),
            "dotenv" | "env-cmd" | "dotenvx" => self.shows_environment(invocation, scope),
            "ztcp" => self.has_socket = true,
            _ => {}
        }
        let mut stream = None;
        let before = self.analysis.dangers.len();
        for run in invocation.row().runs {
            stream = self.run_inner(run, call, scope).or(stream);
        }
        // `su <<< code`
        if stream.is_none() && *input != Stream::default() && does(invocation, Tag::StartsShell) {
            let mut inner = scope.clone();
            inner.is_remote |= invocation.row().runs.iter().any(|run| run.remote);
            stream = Some(self.run_stream(input, Code::Shell, invocation, &inner));
        }
        if let Some(container) = containers::thrown_away(invocation) {
            self.leave(&container, before);
        }
        stream
    }

    fn run_inner(&mut self, run: &'static Run, call: ProgramCall<'_>, scope: &mut Scope) -> Option<Stream> {
        let ProgramCall { invocation, input } = call;
        let args = invocation.args.as_slice();
        // `command -v rm` only prints where it is.
        if invocation.program == "command"
            && args.first().is_some_and(|arg| matches!(arg.text.as_str(), "-v" | "-V"))
        {
            return None;
        }
        let program = invocation.row();
        if run.is_program {
            let start = after_subcommand(program, args, run.subcommands, &[])?.checked_sub(1)?;
            let (name, rest) = args.get(start..)?.split_first()?;
            // `minikube kubectl -- get pods`
            let rest = rest.strip_prefix([Arg::known("--")].as_slice()).unwrap_or(rest);
            let argv = [name].into_iter().chain(rest).cloned().collect();
            return Some(self.invoke(argv, invocation.has_more_args, &mut scope.clone(), input));
        }
        let found = find_command(program, run, args, &[]);
        self.check_unknown_options(program, run, invocation, found.as_ref());
        if found.is_none() {
            self.check_unknown_word(run, invocation, args, scope);
        }
        let found = found?;
        let mut inner = scope.clone();
        inner.is_remote |= run.remote;
        if run.remote {
            inner.folder = Folder::Known(String::new());
        }
        for (name, value) in &found.assignments {
            inner.set(name, vec![value.clone()]);
        }
        if invocation.program == "systemd-run" {
            for (name, value) in found.options.values_of(&["-E", "--setenv"]).filter_map(assignment) {
                inner.set(&name, vec![value]);
            }
        }
        self.judge_variables(&inner);
        let stream = self.wrapper_options(run, call, &found, &mut inner);
        if run.rest == Rest::Nothing {
            return stream;
        }
        let rest = args.get(found.at..).unwrap_or(&[]);
        // `timeout $(…) x`: what the substitution prints may contain the command. A variable that the line
        // inherits counts as one word.
        let may_hide = |arg: &Arg| arg.may_split && (arg.text.contains("$(") || arg.text.contains('`'));
        if !run.remote && args.iter().take(found.at).any(may_hide) {
            self.may_start(&invocation.program);
        }
        self.report_hidden_settings(invocation, rest.first());
        let entry = found.options.values_of(run.entry_points).last();
        if let Some(entry) = entry.filter(|entry| !entry.text.is_empty()) {
            let argv = [entry].into_iter().chain(rest).cloned().collect();
            return Some(self.invoke(argv, invocation.has_more_args, &mut inner, input));
        }
        // `xterm -e program`, `nix develop -c program`
        if found.is_started {
            return Some(match rest {
                [code] if code.text.contains(' ') => self.code(&code.text, &mut inner, input),
                rest => self.invoke(rest.to_vec(), invocation.has_more_args, &mut inner, input),
            });
        }
        // `npx https://…`
        if !run.remote && rest.first().is_some_and(|first| is_url(&first.text)) {
            self.remote_code("code from the network is run", &command_line(&invocation.program, args));
        }
        match (run.rest, rest) {
            // `ssh host` with a script on its input.
            (Rest::Text, []) if run.remote => match &input.text {
                Some(text) => Some(self.code(&text.text, &mut inner, &Stream::default())),
                None => stream,
            },
            (Rest::Program | Rest::Text | Rest::Texts, []) => {
                self.unread_more(invocation);
                stream
            }
            (Rest::Nothing, _) => stream,
            (Rest::Texts, _) => {
                let texts = Arguments::parse(program, rest, &[run.values, run.code].concat());
                for code in texts.operands.iter().copied().chain(texts.values_of(run.code)) {
                    self.run(&code.text, &inner);
                }
                stream
            }
            // The only argument of `flock file -c code` and the like.
            (Rest::Program, [flag, code, ..]) if run.code.contains(&flag.text.as_str()) => {
                Some(self.code(&code.text, &mut inner, input))
            }
            // `uv run file.py`
            (Rest::Program, [file, ..])
                if file.text.ends_with(".py")
                    && matches!(invocation.program.as_str(), "uv" | "pdm" | "rye") =>
            {
                let argv = [Arg::known("python")].iter().chain(rest).cloned().collect();
                Some(self.invoke(argv, invocation.has_more_args, &mut inner, input))
            }
            // `npm exec package -- --option`
            (Rest::Program, [name, dashes, args @ ..])
                if dashes.text == "--" && PROJECT_MANAGERS.contains(invocation.program.as_str()) =>
            {
                let argv = [name].into_iter().chain(args).cloned().collect();
                Some(self.invoke(argv, invocation.has_more_args, &mut inner, input))
            }
            // `watchexec 'rm -rf x'`: some hand a single word to a shell.
            (Rest::Program, [only])
                if only.is_known() && only.text.contains(' ') && !only.text.starts_with('/') =>
            {
                Some(self.code(&only.text, &mut inner, input))
            }
            (Rest::Program, _) => {
                let scope = if is_builtin_wrapper(&invocation.program) { scope } else { &mut inner };
                Some(self.invoke(rest.to_vec(), invocation.has_more_args, scope, input))
            }
            (Rest::Text, _) => {
                let mut stream = self.code(&joined(rest), &mut inner, input);
                if run.remote && stream.text.is_none() {
                    stream.source = Source::Remote;
                    stream.program = invocation.program.clone();
                }
                Some(stream)
            }
        }
    }

    /// A word of which nothing is known hides the subcommand if it is no word, or only options.
    fn check_unknown_word(
        &mut self,
        run: &'static Run,
        invocation: &Invocation,
        args: &[Arg],
        scope: &Scope,
    ) {
        let program = invocation.row();
        if begins_with_subcommand(program, args) {
            return;
        }
        let mut rest = args;
        let mut command = None;
        for _ in 0..MAX_UNKNOWN {
            let Some(after) = Arguments::parse(program, rest, run.values).after_unknown_word() else { break };
            rest = after;
            command = find_command(program, run, rest, &[]).and_then(|found| rest.get(found.at..));
            if command.is_some() {
                break;
            }
        }
        if run.rest != Rest::Nothing && command.is_some_and(|command| self.would_destroy(command, scope)) {
            let reason = format!(
                "a word whose value is not known comes before the subcommand of `{}`: it may hide the command",
                invocation.program
            );
            self.opaque_command(&reason, &command_line(&invocation.program, &invocation.args));
        }
    }

    /// Options that the row does not know hide the command if they take the next word as their value.
    fn check_unknown_options(
        &mut self,
        program: &'static Program,
        run: &'static Run,
        invocation: &Invocation,
        found: Option<&WrappedCommand<'_>>,
    ) {
        let args = invocation.args.as_slice();
        let has_code = |found: &WrappedCommand<'_>| found.options.has_value(run.code);
        let unknown_in = |found: Option<&WrappedCommand<'_>>, more: &[&str]| match found {
            Some(found) => found.unknown.clone(),
            None if begins_with_subcommand(program, args) => None,
            None => Arguments::parse(program, args, &[run.values, more].concat()).unknown.clone(),
        };
        let mut options: Vec<String> = Vec::new();
        let mut unknown = unknown_in(found, &[]);
        while let Some(option) = unknown.filter(|it| !options.contains(it) && options.len() < MAX_UNKNOWN) {
            options.push(option);
            let more: Vec<&str> = options.iter().map(String::as_str).collect();
            let other = find_command(program, run, args, &more);
            unknown = unknown_in(other.as_ref(), &more);
            let is_other = |other: &WrappedCommand<'_>| found.is_none_or(|found| found.at != other.at);
            let hides_code = run.rest == Rest::Nothing
                && other.as_ref().is_some_and(has_code)
                && !found.is_some_and(has_code);
            let command = other.filter(is_other).and_then(|other| args.get(other.at));
            let hides = |it: &Arg| found.is_none() || programs::looks_like_command(&it.text);
            if hides_code || (run.rest != Rest::Nothing && command.is_some_and(hides)) {
                self.report_unknown_option(options.last().map_or("", String::as_str), invocation);
                return;
            }
        }
    }

    /// Reports an option that may hide the command.
    pub(super) fn report_unknown_option(&mut self, option: &str, invocation: &Invocation) {
        let program = &invocation.program;
        let reason = format!("`{option}` is not a known option of `{program}`: it may hide the command");
        self.opaque_command(&reason, &command_line(program, &invocation.args));
    }

    /// Options of a wrapper that contain code, or name the folder that it runs in.
    fn wrapper_options(
        &mut self,
        run: &Run,
        call: ProgramCall<'_>,
        found: &WrappedCommand<'_>,
        inner: &mut Scope,
    ) -> Option<Stream> {
        let ProgramCall { invocation, input } = call;
        let WrappedCommand { options, folders, .. } = found;
        let mut stream = None;
        for folder in folders.iter().chain(options.values_of(options.program.folders)) {
            inner.change_folder(Some(folder));
        }
        // `nsenter --wd=folder`: the value of an option that needs none.
        let joined = |arg: &Arg| {
            let name = ["--wd=", "--wdns="].iter().find(|name| arg.text.starts_with(**name))?;
            Some(arg.tail(name.len()))
        };
        for folder in invocation.args.iter().filter(|_| invocation.program == "nsenter").filter_map(joined) {
            inner.change_folder(Some(&folder));
        }
        for value in options.values_of(run.code) {
            let mut code = value.text.clone();
            if invocation.program == "env" {
                // The text of `env -S text` may begin with options, and what follows it belongs to the command.
                code = format!("env {code}{}", quoted_line(&after_value(invocation, value)));
            }
            stream = Some(self.code(&code, inner, input));
        }
        if options.has(&["-i", "-s", "--shell", "--login"])
            && run.privileged
            && options.operands.is_empty()
            && let Some(text) = &input.text
        {
            stream = Some(self.code(&text.text, inner, &Stream::default()));
        }
        stream
    }
}

/// Wrappers that run in the shell itself: a `cd` after them counts.
fn is_builtin_wrapper(program: &str) -> bool {
    matches!(program, "command" | "builtin" | "noglob" | "nocorrect")
}

/// The arguments after an option's value.
fn after_value(invocation: &Invocation, value: &Arg) -> Vec<Arg> {
    let at = invocation.args.iter().position(|arg| arg == value || arg.text.ends_with(value.text.as_str()));
    at.map(|at| invocation.args.get(at + 1..).unwrap_or(&[]).to_vec()).unwrap_or_default()
}
