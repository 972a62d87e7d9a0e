//! `midrail run`: a command in a sandbox.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use midrail::detection::is_secret_variable;
use midrail::guardrails::SensitiveFile;
use midrail_sandbox::{Background, Command, Ending, Folders, Limits, Network, Report, Sandbox, SandboxError};

use crate::error::{CliError, CliResult};
use crate::exit::{self, Exit};
use crate::input::quoted;
use crate::output::Output;
use crate::time;

/// Limits that everyday work does not reach.
const PROCESSES: u64 = 4096;
const FILE_SIZE: u64 = 8 << 30;

/// Run a command in a sandbox: it can change this project and nothing else, and reaches no network.
///
/// It cannot read your home, credentials or other projects, and cannot change hooks and settings of git, agents and editors. A
/// command that the sandbox cannot be set up for is not run.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::RUN)]
pub(crate) struct Args {
    /// The command and its arguments, as in `midrail run -- make test`
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
    /// The network that the command reaches
    #[arg(long, value_enum, default_value_t = NetworkArg::None)]
    network: NetworkArg,
    /// A further file or folder that the command may read. Can be given several times
    #[arg(long, value_name = "PATH")]
    read: Vec<PathBuf>,
    /// A further file or folder that the command may change. Can be given several times
    #[arg(long, value_name = "PATH")]
    write: Vec<PathBuf>,
    /// Keep a variable of the environment, although its name is that of a secret. Can be given several times
    #[arg(long, value_name = "VARIABLE")]
    keep: Vec<OsString>,
    /// End the command after this time
    #[arg(long, value_name = "DURATION", value_parser = time::parse_duration)]
    timeout: Option<Duration>,
    /// Let processes in the background run until the process with this id ends
    #[arg(long, value_name = "PID")]
    until: Option<u32>,
    /// Use no mounts, as on machines that do not permit them
    #[arg(long)]
    no_mounts: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum NetworkArg {
    /// None but a loopback interface of its own
    None,
    /// All that this machine reaches
    All,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let not_run = |mut failure: CliError| {
        failure.exit = Some(Exit::Of(exit::NOT_RUN));
        failure
    };
    let (sandbox, folders) = sandbox(args).map_err(not_run)?;
    let mut words = args.command.iter().cloned();
    let program = words.next().ok_or_else(|| not_run(CliError::new("no command was given")))?;
    let command = Command { program, args: words.collect(), env: environment(&args.keep) };
    // What was printed so far comes before what the command prints.
    let _ = std::io::stdout().flush();
    let report = sandbox.run(&command).map_err(|error| not_run(failure(&error)))?;
    advise(&report, &folders, output);
    Ok(exit_of(&report.ending))
}

/// The sandbox for a command in the current folder.
fn sandbox(args: &Args) -> CliResult<(Sandbox, Folders)> {
    let dir = env::current_dir().and_then(|dir| dir.canonicalize());
    let dir = dir.map_err(|error| CliError::new(format!("cannot find the current folder: {error}")))?;
    let home = env::home_dir().filter(|home| home.is_absolute());
    let home = home.ok_or_else(|| CliError::new("cannot find the home folder: `HOME` is not set"))?;
    let root = project_root(&dir, &home);
    if home.starts_with(&root) {
        let message = format!("{} contains your home, so a sandbox would protect nothing", quoted(&root));
        return Err(CliError::new(message).help("run the command in the folder of a project"));
    }
    let names = SensitiveFile::default();
    let is_secret = |path: &Path| {
        let relative = path.strip_prefix(&root).unwrap_or(path);
        names.is_protected(&relative.to_string_lossy())
    };
    let mut folders = Folders::of_project(&root, &home, &is_secret);
    for (paths, list) in [(&args.read, &mut folders.read), (&args.write, &mut folders.write)] {
        for path in paths {
            let found = dir.join(path).canonicalize();
            list.push(found.map_err(|error| CliError::new(format!("cannot use {}: {error}", quoted(path))))?);
        }
    }
    let sandbox = Sandbox {
        dir,
        home,
        read: folders.read.clone(),
        write: folders.write.clone(),
        protected: folders.protected.clone(),
        hidden: folders.hidden.clone(),
        network: if args.network == NetworkArg::All { Network::All } else { Network::None },
        limits: Limits {
            time: args.timeout,
            processes: Some(PROCESSES),
            memory: None,
            file_size: Some(FILE_SIZE),
        },
        background: args.until.map_or(Background::End, Background::Until),
        mounts: !args.no_mounts,
    };
    Ok((sandbox, folders))
}

/// The folder of the repository that a folder is in, or else the folder itself. A repository of the whole home is none.
fn project_root(dir: &Path, home: &Path) -> PathBuf {
    let mut folders = dir.ancestors().take_while(|folder| !home.starts_with(folder));
    folders.find(|folder| folder.join(".git").exists()).unwrap_or(dir).to_owned()
}

/// The environment without secrets and without sockets of agents.
fn environment(keep: &[OsString]) -> Vec<(OsString, OsString)> {
    let is_kept = |name: &OsStr| {
        let text = name.to_string_lossy();
        keep.iter().any(|kept| kept == name) || !(is_secret_variable(&text) || LEADING_OUT.contains(&&*text))
    };
    env::vars_os().filter(|(name, _)| is_kept(name)).collect()
}

/// Variables that lead to programs that act for the user, or to data of others.
const LEADING_OUT: &[&str] = &[
    "DATABASE_URL",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_HOST",
    "GPG_AGENT_INFO",
    "KUBECONFIG",
    "MONGODB_URI",
    "REDIS_URL",
    "SSH_AGENT_PID",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
];

fn failure(error: &SandboxError) -> CliError {
    CliError::new(format!("the command was not run: {error}"))
        .help("run it without `midrail run` if you trust the code that it runs")
}

/// The exit code of the command, as shells report it.
fn exit_of(ending: &Ending) -> Exit {
    let code = match ending {
        Ending::Exit(code) => u8::try_from(*code).unwrap_or(1),
        Ending::Signal(signal) => u8::try_from(signal + 128).unwrap_or(1),
        Ending::NotStarted { code, .. } => *code,
        Ending::TimedOut => 124,
        Ending::Interrupted => 143,
    };
    Exit::Of(code)
}

/// Reports on standard error what the sandbox did, after the command's own messages.
fn advise(report: &Report, folders: &Folders, output: &mut Output) {
    let mut lines = Vec::new();
    match &report.ending {
        Ending::NotStarted { why, .. } => lines.push(format!("midrail: could not start {why}")),
        Ending::TimedOut => lines.push("midrail: the command was ended because its time was over".to_owned()),
        Ending::Exit(_) | Ending::Signal(_) | Ending::Interrupted => {}
    }
    let here = env::current_dir().unwrap_or_default();
    for path in &report.restored {
        let name = quoted(path.strip_prefix(&here).unwrap_or(path));
        lines.push(format!("midrail: restored {name}: commands in the sandbox cannot change it"));
    }
    if report.network_refused {
        lines.push(
            "midrail: the sandbox has no network; if the command needs it, use `midrail run --network all -- …`".to_owned(),
        );
    }
    lines.extend(
        report.missing.iter().map(|missing| format!("midrail: the sandbox is weaker here: {missing}")),
    );
    if !folders.is_complete {
        lines.push(
            "midrail: the project is large: files with credentials were hidden only in a part of it"
                .to_owned(),
        );
    }
    output.report(&lines);
}
