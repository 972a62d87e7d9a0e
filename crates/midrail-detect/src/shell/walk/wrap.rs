//! Programs that run other programs: those of the table in [`super::super::wrappers`], and some with ways of their own.

use super::super::invocation::{Arg, Invocation};
use super::super::options;
use super::super::options::tail;
use super::super::scope::Scope;
use super::super::wrappers::{self, Rest, Wrapper};
use super::builtins::is_name;
use super::flow::line_of;
use super::invoke::quoted_line;
use super::shells::is_url;
use super::{Source, Stream, Walk, containers};

impl Walk {
    /// Walks the program that another one runs. `None`: it runs none.
    pub(super) fn wrapped(
        &mut self,
        invocation: &Invocation,
        scope: &mut Scope,
        input: &Stream,
    ) -> Option<Stream> {
        let program = invocation.program.as_str();
        match program {
            "xargs" | "gxargs" => return Some(self.xargs(invocation, scope, input)),
            "parallel" => return Some(self.parallel(invocation, scope, input)),
            "find" | "gfind" | "bfs" => {
                self.find(invocation, scope);
                return None;
            }
            "fd" | "fdfind" => {
                self.fd(invocation, scope);
                return None;
            }
            "git" => {
                self.git(invocation, scope);
                return None;
            }
            "tar" | "gtar" | "bsdtar" => {
                self.tar(invocation, scope);
                self.unpacked(invocation, scope, input);
                return None;
            }
            "vim" | "vi" | "nvim" | "ex" | "view" | "emacs" => {
                self.editor(invocation, scope);
                return None;
            }
            "tmux" => {
                self.tmux(invocation, scope);
                return None;
            }
            "nc" | "ncat" | "netcat" | "nc.traditional" | "socat" => {
                self.netcat(invocation);
                return None;
            }
            "at" | "batch" | "crontab" => {
                self.scheduled(invocation, scope, input);
                return None;
            }
            "expect" | "gdb" | "lldb" => {
                self.debugger(invocation, scope);
                return None;
            }
            "unzip" | "cpio" | "7z" | "bsdcpio" => {
                self.unpacked(invocation, scope, input);
                return None;
            }
            "sed" | "gsed" => {
                self.sed(invocation, scope);
                return None;
            }
            "rsync" | "scp" => {
                self.ssh_options(invocation, scope);
                let values = options::sort(&invocation.args, &["-e", "--rsh", "-S", "-o"], false);
                for value in values.values_of(&["-e", "--rsh", "--rsync-path"]) {
                    if !value.text.starts_with("ssh") {
                        let _ = self.code(&value.text, &mut scope.clone(), &Stream::default());
                    }
                }
                return None;
            }
            "ssh" | "sftp" | "autossh" => self.ssh_options(invocation, scope),
            "npm" | "pnpm" | "yarn" | "bun" => {
                self.set_package_scripts(invocation, scope);
                self.package_scripts(invocation, scope);
            }
            "aws" => self.sent_commands(invocation, scope),
            "start-stop-daemon" => return self.daemon(invocation, scope, input),
            "cmake" => self.cmake(invocation, scope, input),
            "dotenv" | "env-cmd" | "dotenvx" | "dotenv-cli" => self.shows_environment(invocation, scope),
            "ztcp" => self.has_socket = true,
            _ if self.builds(invocation, scope, input) => return None,
            _ => {}
        }
        let mut stream = None;
        let before = self.analysis.dangers.len();
        for wrapper in wrappers::of(program) {
            stream = self.by_table(wrapper, invocation, scope, input).or(stream);
        }
        if let Some(container) = containers::thrown_away(invocation) {
            self.leave(&container, before);
        }
        stream
    }

    fn by_table(
        &mut self,
        wrapper: &Wrapper,
        invocation: &Invocation,
        scope: &mut Scope,
        input: &Stream,
    ) -> Option<Stream> {
        let args = invocation.args.as_slice();
        // `command -v rm` only asks.
        if invocation.program == "command"
            && args.first().is_some_and(|arg| matches!(arg.text.as_str(), "-v" | "-V"))
        {
            return None;
        }
        let mut takes: Vec<&str> = wrapper.values.to_vec();
        takes.extend(wrapper.code);
        let mut at = verb_end(wrapper, args, &takes)?;
        let mut inner = scope.clone();
        inner.is_remote |= wrapper.is_remote;
        inner.is_privileged |= wrapper.is_privileged;
        if wrapper.is_remote {
            inner.folder = super::super::invocation::Folder::Known(String::new());
        }
        if wrapper.rest == Rest::Nothing {
            let sorted = options::sort(args.get(at..).unwrap_or(&[]), &takes, false);
            let stream = self.wrapper_options(wrapper, invocation, &sorted, &mut inner, input);
            // `su` without a command runs a shell.
            return match &input.text {
                Some(text) if stream.is_none() && invocation.program == "su" => {
                    Some(self.code(&text.text, &mut inner, &Stream::default()))
                }
                _ => stream,
            };
        }
        let mut stream = None;
        let mut skip = wrapper.skip;
        let mut has_dashes = false;
        loop {
            let sorted = options::sort(args.get(at..).unwrap_or(&[]), &takes, true);
            stream = self.wrapper_options(wrapper, invocation, &sorted, &mut inner, input).or(stream);
            // `xterm -e program`, `nix develop -c program`
            if let Some(from) = args
                .iter()
                .skip(at)
                .position(|arg| wrapper.starts.contains(&arg.text.as_str()))
                .map(|offset| at + offset)
            {
                let rest = args.get(from + 1..).unwrap_or(&[]).to_vec();
                if let [code] = rest.as_slice()
                    && code.text.contains(' ')
                {
                    return Some(self.code(&code.text, &mut inner, input));
                }
                return Some(self.invoke(rest, invocation.has_more_args, &mut inner, input));
            }
            let Some(next) = sorted.operands.first().map(|offset| at + offset) else {
                at = args.len();
                break;
            };
            has_dashes |= next > 0 && args.get(next - 1).is_some_and(|arg| arg.text == "--");
            at = next;
            let Some(arg) = args.get(at) else { break };
            if wrapper.assigns
                && let Some((name, value)) = assignment(arg)
            {
                inner.set(&name, vec![value], false);
                self.code_variable(&name, &inner);
                at += 1;
            } else if skip > 0 {
                skip -= 1;
                at += 1;
                // What follows the last operand is the command, whatever it looks like.
                if skip == 0 && !wrapper.mixes_options {
                    break;
                }
            } else if wrapper.needs_dashes && !has_dashes {
                at += 1;
            } else {
                break;
            }
        }
        if wrapper.skip > 0 && args.get(at).is_some_and(|arg| arg.text == "--") {
            at += 1;
        }
        let rest = args.get(at..).unwrap_or(&[]);
        // `npx https://…`
        if !wrapper.is_remote && rest.first().is_some_and(|first| is_url(&first.text)) {
            self.remote_code("code from the network is run", &line_of(&invocation.program, args));
        }
        if rest.is_empty() {
            // `ssh host` with a script on its input.
            if wrapper.is_remote
                && wrapper.rest == Rest::Text
                && let Some(text) = &input.text
            {
                return Some(self.code(&text.text, &mut inner, &Stream::default()));
            }
            return stream;
        }
        match wrapper.rest {
            Rest::Nothing => stream,
            Rest::Program => {
                // The only argument of `flock file -c code` and the like.
                if let [flag, code, ..] = rest
                    && wrapper.code.contains(&flag.text.as_str())
                {
                    return Some(self.code(&code.text, &mut inner, input));
                }
                // `uv run file.py`
                if let [file, ..] = rest
                    && file.text.ends_with(".py")
                    && matches!(invocation.program.as_str(), "uv" | "pdm" | "rye")
                {
                    let argv = [Arg::known("python")].iter().chain(rest).cloned().collect();
                    return Some(self.invoke(argv, invocation.has_more_args, &mut inner, input));
                }
                if is_builtin_wrapper(&invocation.program) {
                    return Some(self.invoke(rest.to_vec(), invocation.has_more_args, scope, input));
                }
                Some(self.invoke(rest.to_vec(), invocation.has_more_args, &mut inner, input))
            }
            Rest::Text => {
                let code: Vec<&str> = rest.iter().map(|arg| arg.text.as_str()).collect();
                let mut stream = self.code(&code.join(" "), &mut inner, input);
                if wrapper.is_remote && stream.text.is_none() {
                    stream.source = Source::Remote;
                    stream.program = invocation.program.clone();
                }
                Some(stream)
            }
        }
    }

    /// Options of a wrapper that hold code, or say where it runs.
    fn wrapper_options(
        &mut self,
        wrapper: &Wrapper,
        invocation: &Invocation,
        sorted: &options::Sorted,
        inner: &mut Scope,
        input: &Stream,
    ) -> Option<Stream> {
        let mut stream = None;
        for value in sorted.values_of(wrapper.code) {
            let mut code = value.text.clone();
            if invocation.program == "env" {
                // What follows `env -S text` belongs to the command.
                code.push_str(&quoted_line(&after_value(invocation, value)));
            }
            stream = Some(self.code(&code, inner, input));
        }
        for folder in sorted.values_of(&["-C", "--chdir", "-D"]) {
            if wrapper.values.contains(&"--chdir") {
                inner.change_folder(Some(folder));
            }
        }
        if sorted.has(&["-i", "-s", "--shell", "--login"])
            && wrapper.is_privileged
            && sorted.operands.is_empty()
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

/// The place after the words that a wrapper needs first. `None` where they do not stand there.
fn verb_end(wrapper: &Wrapper, args: &[Arg], takes: &[&str]) -> Option<usize> {
    if wrapper.verbs.is_empty() {
        return Some(0);
    }
    let sorted = options::sort(args, takes, false);
    for verbs in wrapper.verbs {
        let places: Vec<usize> = sorted.operands.iter().copied().take(verbs.len()).collect();
        let is_match = places.len() == verbs.len()
            && places.iter().zip(*verbs).all(|(at, verb)| args.get(*at).is_some_and(|arg| arg.text == *verb));
        if is_match {
            return places.last().map(|at| at + 1);
        }
    }
    None
}

fn assignment(arg: &Arg) -> Option<(String, Arg)> {
    let (name, _) = arg.text.split_once('=')?;
    is_name(name).then(|| (name.to_owned(), tail(arg, name.len() + 1)))
}

/// The arguments after an option's value.
fn after_value(invocation: &Invocation, value: &Arg) -> Vec<Arg> {
    let at = invocation.args.iter().position(|arg| arg == value || arg.text.ends_with(value.text.as_str()));
    at.map(|at| invocation.args.get(at + 1..).unwrap_or(&[]).to_vec()).unwrap_or_default()
}
