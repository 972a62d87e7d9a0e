//! Programs that run other programs: by their rows, and some in ways of their own.

use super::super::invocation::{Arg, Folder, Invocation, joined};
use super::super::options::{Arguments, after_subcommand, tail};
use super::super::programs::{self, Program, Rest, Run};
use super::super::scope::Scope;
use super::containers;
use super::flow::command_line;
use super::flow::is_name;
use super::invoke::quoted_line;
use super::shells::is_url;
use super::state::Walk;
use super::stream::{ProgramCall, Source, Stream};

impl Walk {
    /// Walks the program that another one runs. `None`: it runs none.
    pub(super) fn wrapped(&mut self, call: ProgramCall<'_>, scope: &mut Scope) -> Option<Stream> {
        let ProgramCall { invocation, input } = call;
        self.unpacked(invocation, scope, input);
        match invocation.program.as_str() {
            "xargs" | "gxargs" => return Some(self.xargs(invocation, scope, input)),
            "parallel" => return Some(self.parallel(invocation, scope, input)),
            "start-stop-daemon" => return self.daemon(call, scope),
            "find" | "gfind" | "bfs" => self.find(invocation, scope),
            "fd" | "fdfind" => self.fd(invocation, scope),
            "git" => self.git(invocation, scope),
            "tar" | "gtar" | "bsdtar" => self.tar(invocation, scope),
            "vim" | "vi" | "nvim" | "ex" | "view" | "emacs" => self.editor(invocation, scope),
            "tmux" => self.tmux(invocation, scope),
            "nc" | "ncat" | "netcat" | "nc.traditional" | "socat" => self.netcat(invocation),
            "at" | "batch" | "crontab" => self.scheduled(invocation, scope, input),
            "expect" | "gdb" | "lldb" => self.debugger(invocation, scope),
            "sed" | "gsed" => self.sed(invocation, scope),
            "rsync" | "scp" => self.rsync(invocation, scope),
            _ if self.builds(invocation, scope, input) => {}
            _ => return self.wrapped_by_row(call, scope),
        }
        None
    }

    /// Walks the commands that the row of a program describes.
    fn wrapped_by_row(&mut self, call: ProgramCall<'_>, scope: &mut Scope) -> Option<Stream> {
        let ProgramCall { invocation, input } = call;
        let program = invocation.program.as_str();
        match program {
            "ssh" | "sftp" | "autossh" => self.ssh_options(invocation, scope),
            "npm" | "pnpm" | "yarn" | "bun" => {
                self.set_package_scripts(invocation, scope);
                self.package_scripts(invocation, scope);
            }
            "aws" => self.sent_commands(invocation, scope),
            "cmake" => self.cmake(invocation, scope, input),
            "dotenv" | "env-cmd" | "dotenvx" | "dotenv-cli" => self.shows_environment(invocation, scope),
            "ztcp" => self.has_socket = true,
            _ => {}
        }
        let mut stream = None;
        let before = self.analysis.dangers.len();
        for run in programs::row(program).runs {
            stream = self.run_inner(run, call, scope).or(stream);
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
        let program = programs::row(&invocation.program);
        let found = find_command(program, run, args, &[]);
        self.check_unknown_option(program, run, invocation, found.as_ref());
        let found = found?;
        let mut inner = scope.clone();
        inner.is_remote |= run.remote;
        inner.is_privileged |= run.privileged;
        if run.remote {
            inner.folder = Folder::Known(String::new());
        }
        for (name, value) in found.assignments {
            inner.set(&name, vec![value], false);
            self.code_variable(&name, &inner);
        }
        let stream = self.wrapper_options(run, call, &found.options, &mut inner);
        if run.rest == Rest::Nothing {
            // `su` without a command runs a shell.
            return match &input.text {
                Some(text) if stream.is_none() && invocation.program == "su" => {
                    Some(self.code(&text.text, &mut inner, &Stream::default()))
                }
                _ => stream,
            };
        }
        let rest = args.get(found.at..).unwrap_or(&[]);
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
            (_, []) | (Rest::Nothing, _) => stream,
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

    /// An option that the row does not know hides the command if it takes the next word as its value.
    fn check_unknown_option(
        &mut self,
        program: &'static Program,
        run: &'static Run,
        invocation: &Invocation,
        found: Option<&WrappedCommand>,
    ) {
        let args = invocation.args.as_slice();
        let unknown = match found {
            Some(found) => found.unknown.clone(),
            None => Arguments::leading(program, args, run.values).unknown,
        };
        let Some(option) = unknown else { return };
        let other =
            find_command(program, run, args, &[option.as_str()]).filter(|_| run.rest != Rest::Nothing);
        let Some(command) = other.and_then(|other| {
            let is_other = found.is_none_or(|found| found.at != other.at);
            args.get(other.at).filter(|_| is_other)
        }) else {
            return;
        };
        if found.is_none() || programs::looks_like_command(&command.text) {
            let reason = format!(
                "`{option}` is not a known option of `{}`: it may hide the command",
                invocation.program
            );
            self.opaque_command(&reason, &command_line(&invocation.program, args));
        }
    }

    /// Options of a wrapper that contain code, or name the folder that it runs in.
    fn wrapper_options(
        &mut self,
        run: &Run,
        call: ProgramCall<'_>,
        options: &Arguments,
        inner: &mut Scope,
    ) -> Option<Stream> {
        let ProgramCall { invocation, input } = call;
        let mut stream = None;
        for folder in options.values_of(options.program.folders) {
            inner.change_folder(Some(folder));
        }
        for value in options.values_of(run.code) {
            let mut code = value.text.clone();
            if invocation.program == "env" {
                // What follows `env -S text` belongs to the command.
                code.push_str(&quoted_line(&after_value(invocation, value)));
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

/// Where a wrapper names the command that it runs.
struct WrappedCommand {
    /// The first word of the command.
    at: usize,
    /// The options in front of it.
    options: Arguments,
    /// Variables that it sets for the command.
    assignments: Vec<(String, Arg)>,
    /// An option says that the command follows.
    is_started: bool,
    /// An option in front of the command that the row does not know.
    unknown: Option<String>,
}

/// Finds the command. The options in `more` take a value as well. `None`: the subcommand is another one.
fn find_command(
    program: &'static Program,
    run: &'static Run,
    args: &[Arg],
    more: &[&str],
) -> Option<WrappedCommand> {
    let from = after_subcommand(program, args, run.subcommands, more)?;
    let more = [run.values, run.code, more].concat();
    let rest = args.get(from..).unwrap_or(&[]);
    if run.rest == Rest::Nothing {
        let options = Arguments::parse(program, rest, &more);
        return Some(WrappedCommand {
            at: args.len(),
            options,
            assignments: Vec::new(),
            is_started: false,
            unknown: None,
        });
    }
    let start = rest.iter().position(|arg| run.starts.contains(&arg.text.as_str()));
    let mut assignments = Vec::new();
    let mut unknown = Arguments::leading(program, args, &more).unknown.filter(|_| from > 0);
    let mut at = start.map_or(0, |start| start + 1);
    let mut operands = run.operands;
    let mut has_dashes = false;
    while start.is_none() {
        let leading = Arguments::leading(program, rest.get(at..).unwrap_or(&[]), &more);
        unknown = unknown.or(leading.unknown);
        let Some(next) = leading.operands.first().map(|next| at + next) else {
            at = rest.len();
            break;
        };
        has_dashes |= next > 0 && rest.get(next - 1).is_some_and(|arg| arg.text == "--");
        at = next;
        let Some(arg) = rest.get(at) else { break };
        if run.assigns
            && let Some(assignment) = assignment(arg)
        {
            assignments.push(assignment);
            at += 1;
        } else if operands > 0 {
            operands -= 1;
            at += 1;
            // What follows the last operand is the command, whatever it looks like.
            if operands == 0 && !run.options_between {
                break;
            }
        } else if run.after_dashes && !has_dashes {
            at += 1;
        } else {
            break;
        }
    }
    let options = Arguments::parse(program, rest.get(..at).unwrap_or(rest), &more);
    if run.operands > 0 && rest.get(at).is_some_and(|arg| arg.text == "--") {
        at += 1;
    }
    Some(WrappedCommand { at: from + at, options, assignments, is_started: start.is_some(), unknown })
}

/// Wrappers that run in the shell itself: a `cd` after them counts.
fn is_builtin_wrapper(program: &str) -> bool {
    matches!(program, "command" | "builtin" | "noglob" | "nocorrect")
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
