//! Programs that run another program: where in their arguments it stands. Data only; [`super::walk`] reads it.

mod more;
mod rows;

/// The rows about a program.
pub(super) fn of<'p>(program: &'p str) -> impl Iterator<Item = &'static Wrapper> + 'p {
    rows::WRAPPERS.iter().chain(more::WRAPPERS).filter(move |wrapper| wrapper.programs.contains(&program))
}

/// How the rest of a wrapper's arguments is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// A program and its arguments.
    Program,
    /// A command line for a shell, joined with blanks.
    Text,
    /// Nothing that runs: only options hold code.
    Nothing,
}

/// One program that runs another.
#[derive(Debug)]
pub(super) struct Wrapper {
    /// Its names.
    pub(super) programs: &'static [&'static str],
    /// Words that must come first, one of these rows: `compose exec`. None: any.
    pub(super) verbs: &'static [&'static [&'static str]],
    /// Options that take a value.
    pub(super) values: &'static [&'static str],
    /// Options whose value is code for a shell.
    pub(super) code: &'static [&'static str],
    /// Options that the program follows right after: `xterm -e`.
    pub(super) starts: &'static [&'static str],
    /// How many operands stand before the program: the time of `timeout`, the image of `docker run`.
    pub(super) skip: usize,
    /// `NAME=value` before the program sets a variable.
    pub(super) assigns: bool,
    /// What follows.
    pub(super) rest: Rest,
    /// The program runs on another machine, or in a container.
    pub(super) is_remote: bool,
    /// It runs with another user's rights.
    pub(super) is_privileged: bool,
    /// Options may stand between the operands and the program.
    pub(super) mixes_options: bool,
    /// Only what stands after `--` is run.
    pub(super) needs_dashes: bool,
}

const PLAIN: Wrapper = Wrapper {
    programs: &[],
    verbs: &[],
    values: &[],
    code: &[],
    starts: &[],
    skip: 0,
    assigns: false,
    rest: Rest::Program,
    is_remote: false,
    is_privileged: false,
    mixes_options: false,
    needs_dashes: false,
};

/// Options of `docker run` that take a value.
pub(super) const DOCKER_VALUES: &[&str] = &[
    "-v",
    "--volume",
    "-e",
    "--env",
    "--env-file",
    "-p",
    "--publish",
    "--name",
    "-w",
    "--workdir",
    "-u",
    "--user",
    "--network",
    "--net",
    "--entrypoint",
    "-l",
    "--label",
    "-m",
    "--memory",
    "--cpus",
    "--mount",
    "--platform",
    "-h",
    "--hostname",
    "--restart",
    "--gpus",
    "--add-host",
    "--cap-add",
    "--cap-drop",
    "--device",
    "--dns",
    "--ip",
    "--pid",
    "--ipc",
    "--shm-size",
    "--ulimit",
    "--security-opt",
    "--tmpfs",
    "--volumes-from",
    "--log-driver",
    "--log-opt",
    "--link",
    "--expose",
    "-a",
    "--attach",
    "--detach-keys",
    "--pull",
    "--index",
    "-f",
    "--file",
    "--project-name",
    "--profile",
    "--project-directory",
    "--context",
    "-c",
    "-H",
    "--host",
    "--userns",
];
