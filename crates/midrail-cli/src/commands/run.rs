//! `midrail run`: a command in a sandbox.

mod refusals;
mod whole_agent;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use midrail::core::{SandboxBackground, SandboxGrant, SandboxNetwork, SandboxOutcome};
use midrail::detection::is_secret_variable;
use midrail::grants::{record_outcome, take_grant};
use midrail::guardrails::SensitiveFile;
use midrail::sandboxes::{SandboxStarter, Sandboxes};
use midrail_sandbox::{
    Background, Command, Ending, Folders, Layers, Limits, Network, Report, Sandbox, SandboxError,
};

use self::whole_agent::Needs;
use crate::clock;
use crate::error::{CliError, CliResult};
use crate::exit::{self, Exit};
use crate::input::{StoreArgs, quoted};
use crate::output::Output;
use crate::time;

/// Limits that everyday work does not reach.
const PROCESSES: u64 = 4096;
const FILE_SIZE: u64 = 8 << 30;

/// Run a command in a sandbox: it can change this project and nothing else, and reaches no network.
///
/// It cannot read your home, credentials or other projects, and cannot change hooks and settings of git, agents and editors. A
/// command that the sandbox cannot be set up for is not run. A coding agent, as in `midrail run -- claude`, also has its own files and
/// the network.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::RUN)]
pub(crate) struct Args {
    /// The command and its arguments, as in `midrail run -- make test`
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
    /// The network that the command reaches [default: none; all for a coding agent]
    #[arg(long, value_enum)]
    network: Option<NetworkArg>,
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
    /// Use the sandbox that a decision granted for exactly this command
    #[arg(id = "box", long = "box", value_name = "ID", conflicts_with_all = ["network", "read", "write", "keep", "timeout", "until", "no_mounts"])]
    granted: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum NetworkArg {
    /// None but a loopback interface of its own
    None,
    /// All that this machine reaches
    All,
}

/// What the command may do, as the options or the grant of a decision say.
#[derive(Default)]
struct Permits {
    root: Option<PathBuf>,
    network: SandboxNetwork,
    read_only: bool,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    deny_write: Vec<PathBuf>,
    keep: Vec<OsString>,
    limits: Limits,
    background: Option<Background>,
    /// Whether the command is a coding agent.
    is_agent: bool,
    /// The session whose call this is, with the id of the sandbox.
    call: Option<(String, String)>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let not_run = |mut failure: CliError| {
        failure.exit = Some(Exit::Of(exit::NOT_RUN));
        failure
    };
    let permits = match &args.granted {
        Some(id) => granted(id, args),
        None => permitted(args, output),
    };
    let permits = permits.map_err(not_run)?;
    let here = env::current_dir().and_then(|dir| dir.canonicalize());
    let here =
        here.map_err(|error| not_run(CliError::new(format!("cannot find the current folder: {error}"))))?;
    let (sandbox, folders, root) = sandbox(&permits, here, !args.no_mounts).map_err(not_run)?;
    let mut words = args.command.iter().cloned();
    let program = words.next().ok_or_else(|| not_run(CliError::new("no command was given")))?;
    let command = Command { program, args: words.collect(), env: environment(&permits.keep) };
    // What was printed so far comes before what the command prints.
    let _ = std::io::stdout().flush();
    let mut report = sandbox.run(&command).map_err(|error| not_run(failure(&error, args)))?;
    if !permits.is_agent {
        // An agent may write its own settings.
        report.restored.extend(folders.remove_new(&root));
    }
    let outcome = outcome(&report, &sandbox);
    advise(&report, &outcome, &folders, args, output);
    if let Some((id, session)) = permits.call.filter(|_| outcome != SandboxOutcome::default()) {
        let recorded = record(&id, &session, outcome, args);
        recorded.unwrap_or_else(|why| {
            output.report(&[format!("midrail: what the sandbox refused was not recorded: {why}")]);
        });
    }
    Ok(exit_of(&report.ending))
}

/// Records what the sandbox of a call refused, for the event about its result.
fn record(id: &str, session: &str, outcome: SandboxOutcome, args: &Args) -> Result<(), String> {
    let store = args.store.open_existing().map_err(|error| error.message)?;
    record_outcome(&*store, clock::now(), id, session, outcome).map_err(|error| error.to_string())
}

/// What the options permit.
fn permitted(args: &Args, output: &mut Output) -> CliResult<Permits> {
    let mut permits = Permits {
        network: match args.network {
            None | Some(NetworkArg::None) => SandboxNetwork::None,
            Some(NetworkArg::All) => SandboxNetwork::All,
        },
        read: args.read.clone(),
        write: args.write.clone(),
        keep: args.keep.clone(),
        limits: Limits { time: args.timeout, ..Limits::default() },
        background: args.until.map(Background::Until),
        ..Permits::default()
    };
    let program = args.command.first().map(OsString::as_os_str).unwrap_or_default();
    if let Some(host) = whole_agent::host(program) {
        let Needs { keep, read, write, deny_write } = whole_agent::needs(host, program)?;
        permits.keep.extend(keep);
        permits.read.extend(read);
        permits.write.extend(write);
        permits.deny_write.extend(deny_write);
        if args.network.is_none() {
            permits.network = SandboxNetwork::All;
        }
        permits.is_agent = true;
        output.note(&format!("{} runs in a sandbox with this project and its own files", host.title));
    }
    Ok(permits)
}

/// What the grant of a decision permits. It can be used once, and only for this command.
fn granted(id: &str, args: &Args) -> CliResult<Permits> {
    let store = args.store.open_existing()?;
    let words = args.command.iter().map(|word| word.as_encoded_bytes());
    let SandboxGrant { root, rules, session, .. } =
        take_grant(&*store, clock::now(), id, words).map_err(|error| {
            CliError::new(format!("the command was not run: {error}"))
                .help("make the call again, so that it gets a sandbox of its own")
        })?;
    let root = root.map(PathBuf::from);
    let below_root = |path: &String| match &root {
        Some(root) => root.join(path),
        None => PathBuf::from(path),
    };
    let paths = |list: &[String]| list.iter().map(below_root).collect::<Vec<_>>();
    let mut write: Vec<PathBuf> = paths(&rules.write).into_iter().filter(|path| path.exists()).collect();
    if rules.read_only {
        write = within(&write, root.as_deref())?;
    }
    let limits = rules.limits;
    Ok(Permits {
        network: rules.network,
        read_only: rules.read_only,
        // A folder of the policy that this machine does not have is not missed.
        read: paths(&rules.read).into_iter().filter(|path| path.exists()).collect(),
        write,
        deny_write: paths(&rules.deny_write),
        keep: rules.env.iter().map(OsString::from).collect(),
        limits: Limits {
            time: limits.time_s.map(Duration::from_secs),
            processes: limits.processes,
            memory: limits.memory,
            file_size: limits.file_size,
        },
        call: Some((id.to_owned(), session)),
        is_agent: false,
        background: agent().filter(|_| rules.background == SandboxBackground::Session).map(Background::Until),
        root,
    })
}

/// The real places of folders, of which those of the project must be in it.
fn within(folders: &[PathBuf], root: Option<&Path>) -> CliResult<Vec<PathBuf>> {
    let real_root = root.map(Path::canonicalize).transpose()?;
    let real = |folder: &PathBuf| {
        let real = folder.canonicalize()?;
        let leads_out = root.is_some_and(|root| folder.starts_with(root))
            && real_root.as_ref().is_some_and(|root| !real.starts_with(root));
        if leads_out {
            return Err(CliError::new(format!("{} leads out of the project", quoted(folder))));
        }
        Ok(real)
    };
    folders.iter().map(real).collect()
}

/// The process of the coding agent: the first one above this process that is no shell.
fn agent() -> Option<u32> {
    let mut process = std::os::unix::process::parent_id();
    for _ in 0..MAX_SHELLS {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        if !SHELLS.contains(&name) {
            return Some(process);
        }
        process = rest.split_whitespace().nth(1)?.parse().ok()?;
    }
    None
}

/// Shells that run the commands of agents.
const SHELLS: &[&str] = &["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"];
const MAX_SHELLS: usize = 8;

/// The sandbox for a command in a folder.
fn sandbox(permits: &Permits, dir: PathBuf, mounts: bool) -> CliResult<(Sandbox, Folders, PathBuf)> {
    let home = env::home_dir().filter(|home| home.is_absolute());
    let home = home.ok_or_else(|| CliError::new("cannot find the home folder: `HOME` is not set"))?;
    let root = match &permits.root {
        Some(root) => {
            let root = root.canonicalize().map_err(|error| {
                CliError::new(format!("cannot use the folder of the session {}: {error}", quoted(root)))
            })?;
            project_root(&root, &home)
        }
        None => project_root(&dir, &home),
    };
    if !dir.starts_with(&root) {
        let message = format!("{} is outside of the session's folder {}", quoted(&dir), quoted(&root));
        return Err(CliError::new(message).help("run the command in the folder of the session"));
    }
    if home.starts_with(&root) {
        let message = format!("{} contains your home, so a sandbox would protect nothing", quoted(&root));
        return Err(CliError::new(message).help("run the command in the folder of a project"));
    }
    let is_hidden = |part: Component<'_>| part.as_os_str().to_string_lossy().starts_with('.');
    if root.strip_prefix(&home).is_ok_and(|below| below.components().next().is_some_and(is_hidden)) {
        let message = format!("{} holds settings of your home, and no project", quoted(&root));
        return Err(CliError::new(message).help("run the command in the folder of a project"));
    }
    let names = SensitiveFile::default();
    let is_secret = |path: &Path| {
        let relative = path.strip_prefix(&root).unwrap_or(path);
        names.is_protected(&relative.to_string_lossy())
    };
    let mut folders = Folders::of_project(&root, &home, &is_secret);
    if permits.read_only {
        folders.make_read_only(&root, &home);
    }
    for (paths, list) in [(&permits.read, &mut folders.read), (&permits.write, &mut folders.write)] {
        for path in paths {
            let found = dir.join(path).canonicalize();
            let found =
                found.map_err(|error| CliError::new(format!("cannot use {}: {error}", quoted(path))))?;
            // A folder that became a link meanwhile leads elsewhere.
            if permits.read_only && found != dir.join(path) {
                return Err(CliError::new(format!("{} leads elsewhere", quoted(path))));
            }
            list.push(found);
        }
    }
    folders.protected.extend(permits.deny_write.iter().cloned());
    let sandbox = Sandbox {
        dir,
        home,
        read: folders.read.clone(),
        write: folders.write.clone(),
        scratch: folders.scratch.clone(),
        protected: folders.protected.clone(),
        hidden: folders.hidden.clone(),
        network: match permits.network {
            SandboxNetwork::None => Network::None,
            SandboxNetwork::All => Network::All,
        },
        limits: Limits {
            processes: permits.limits.processes.or(Some(PROCESSES)),
            file_size: permits.limits.file_size.or(Some(FILE_SIZE)),
            ..permits.limits
        },
        background: permits.background.unwrap_or(Background::End),
        // A command may behave in another way at a terminal.
        keeps_errors: !std::io::stderr().is_terminal(),
        mounts,
    };
    Ok((sandbox, folders, root))
}

/// What enforces a sandbox on this machine, and what it lacks here.
pub(crate) fn mechanisms() -> CliResult<(Layers, Vec<String>)> {
    let folder = tempfile::tempdir()?;
    let (sandbox, ..) = sandbox(&Permits::default(), folder.path().canonicalize()?, true)?;
    let command = Command { program: "true".into(), args: Vec::new(), env: environment(&[]) };
    let report = sandbox.run(&command).map_err(|error| CliError::new(error.to_string()))?;
    Ok((report.layers, report.missing))
}

/// Whether calls in the session of a folder can be made in a sandbox on this machine.
fn is_possible(root: Option<&Path>) -> bool {
    let home = env::home_dir().and_then(|home| home.canonicalize().ok());
    let holds_home = |root: &Path| home.as_ref().is_none_or(|home| home.starts_with(root));
    root.is_some_and(|root| !holds_home(root)) && midrail_sandbox::is_available()
}

/// The sandboxes of contained calls, which this program starts with the grants of a store.
pub(crate) fn sandboxes(store: &StoreArgs) -> Sandboxes {
    let (place, project) = (store.store.clone(), store.project.clone());
    Sandboxes::new(move |root| {
        let command = is_possible(root).then(|| starter(place.as_deref(), project.as_deref())).flatten()?;
        Some(SandboxStarter { command, shell: shell().to_owned() })
    })
}

/// The command that starts a sandbox. `None`: a path is no text.
fn starter(store: Option<&Path>, project: Option<&str>) -> Option<Vec<String>> {
    let mut command = vec![env::current_exe().ok()?.to_str()?.to_owned(), "run".to_owned()];
    if let Some(store) = store {
        let named = store.to_str()?;
        // A variable and an address are no paths.
        let is_path = !named.contains("://") && !named.starts_with("env:");
        let store = if is_path { std::path::absolute(store).ok()? } else { store.to_owned() };
        command.extend(["--store".to_owned(), store.to_str()?.to_owned()]);
    }
    command.extend(project.into_iter().flat_map(|project| ["--in".to_owned(), project.to_owned()]));
    command.push("--box".to_owned());
    Some(command)
}

/// The shell in which agents run commands here.
fn shell() -> &'static str {
    let has = |name: &str| ["/bin", "/usr/bin"].iter().any(|folder| Path::new(folder).join(name).exists());
    if has("bash") { "bash" } else { "sh" }
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

fn failure(error: &SandboxError, args: &Args) -> CliError {
    CliError::new(format!("the command was not run: {error}")).help(match args.granted {
        Some(_) => "ask the user to run it",
        None => "run it without `midrail run` if you trust the code that it runs",
    })
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

/// What the sandbox refused and restored.
fn outcome(report: &Report, sandbox: &Sandbox) -> SandboxOutcome {
    let here = &sandbox.dir;
    let name = |path: &PathBuf| path.strip_prefix(here).unwrap_or(path).to_string_lossy().into_owned();
    // A command that succeeded did without what it was refused.
    let has_failed = report.ending != Ending::Exit(0);
    let mut refused = if has_failed { refusals::refused(&report.errors, sandbox) } else { Vec::new() };
    refused.extend(report.network_refused.then(|| "network".to_owned()));
    SandboxOutcome {
        refused,
        changed: report.restored.iter().map(name).collect(),
        lost: report.lost.iter().map(|path| format!("~/{}", path.display())).collect(),
    }
}

/// Reports on standard error what the sandbox did, after the command's own messages.
fn advise(report: &Report, outcome: &SandboxOutcome, folders: &Folders, args: &Args, output: &mut Output) {
    let mut lines = Vec::new();
    let files: Vec<String> =
        outcome.refused.iter().filter(|it| *it != "network").map(|it| format!("`{it}`")).collect();
    if !files.is_empty() {
        let advice = match args.granted {
            Some(_) => "ask the user to run the command, or to permit it in `boxes` of a pack",
            None => "if the command needs it, use `midrail run --read PATH` or `--write PATH`",
        };
        lines.push(format!("midrail: the sandbox probably refused {}; {advice}", files.join(", ")));
    }
    if !outcome.lost.is_empty() {
        let names: Vec<String> = outcome.lost.iter().map(|name| format!("`{name}`")).collect();
        let advice = match args.granted {
            Some(_) => "write to the project, or ask the user to run the command",
            None => "if the command needs to write there, use `midrail run --write PATH`",
        };
        lines.push(format!(
            "midrail: {} went to an empty home and is gone with the sandbox; {advice}",
            names.join(", ")
        ));
    }
    match &report.ending {
        Ending::NotStarted { why, .. } => lines.push(format!("midrail: could not start {why}")),
        Ending::TimedOut => lines.push("midrail: the command was ended because its time was over".to_owned()),
        Ending::Exit(_) | Ending::Signal(_) | Ending::Interrupted => {}
    }
    let here = env::current_dir().unwrap_or_default();
    for path in &report.restored {
        let name = quoted(path.strip_prefix(&here).unwrap_or(path));
        lines.push(format!("midrail: restored {name}: commands in the sandbox cannot change it; what it was changed to is next to it"));
    }
    if report.network_refused {
        let advice = match args.granted {
            Some(_) => {
                "run what needs it, such as `git push` or `npm ci`, as a call of its own, or ask the user to run it"
            }
            None => "if the command needs it, use `midrail run --network all -- …`",
        };
        lines.push(format!("midrail: the sandbox has no network; {advice}"));
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
