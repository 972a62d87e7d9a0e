//! The command line.

use std::env;
use std::ffi::OsStr;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands;
use crate::error::CliError;
use crate::exit::{self, Exit};
use crate::global::Global;
use crate::output::Output;

/// Guardrails for AI agents
#[derive(Debug, Parser)]
#[command(name = "midrail", version, after_help = exit::ALL, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

impl Cli {
    /// Reads the command line.
    ///
    /// `check` and `hook` run for every event of an agent, so they are parsed on their own if possible: building the
    /// parser of all subcommands takes longer than a decision.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let alone = || env::args_os().skip(1);
        match alone().next().as_deref().and_then(OsStr::to_str) {
            Some("hook") => {
                if let Ok(Hook { args, global }) = Hook::try_parse_from(alone()) {
                    return Ok(Cli { command: Command::Hook(args), global });
                }
            }
            Some("check") => {
                if let Ok(Check { args, global }) = Check::try_parse_from(alone()) {
                    return Ok(Cli { command: Command::Check(args), global });
                }
            }
            _ => {}
        }
        let matches = Cli::command().color(help_colour()).try_get_matches()?;
        Cli::from_arg_matches(&matches)
    }
}

/// The colour of help and usage errors, which are printed before the options are parsed.
fn help_colour() -> ColorChoice {
    let args: Vec<String> = env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let follows = args.windows(2).filter_map(|pair| match pair {
        [name, value] if name == "--color" => Some(value.as_str()),
        _ => None,
    });
    let joined = args.iter().filter_map(|arg| arg.strip_prefix("--color="));
    match follows.chain(joined).next() {
        Some("never") => ColorChoice::Never,
        Some("always") => ColorChoice::Always,
        _ => ColorChoice::Auto,
    }
}

/// `midrail check` on its own. Help and errors are left to the full parser.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true)]
struct Check {
    #[command(flatten)]
    args: commands::check::Args,
    #[command(flatten)]
    global: Global,
}

/// `midrail hook` on its own.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true)]
struct Hook {
    #[command(flatten)]
    args: commands::hook::Args,
    #[command(flatten)]
    global: Global,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(commands::init::Args),
    Doctor(commands::doctor::Args),
    Uninstall(commands::uninstall::Args),
    Check(commands::check::Args),
    Hook(commands::hook::Args),
    Acp(commands::acp::Args),
    Serve(commands::serve::Args),
    Replay(commands::replay::Args),
    Import(commands::import::Args),
    Test(commands::test::Args),
    Explain(commands::explain::Args),
    Lint(commands::lint::Args),
    Policy(commands::policy::Args),
    Detect(commands::detect::Args),
    Redact(commands::redact::Args),
    Bench(commands::bench::Args),
    Log(commands::log::Args),
    Audit(commands::audit::Args),
    Stats(commands::stats::Args),
    Notices(commands::notices::Args),
    Quarantine(commands::quarantine::Args),
    Locks(commands::locks::Args),
    Tasks(commands::tasks::Args),
    Approvals(commands::approvals::Args),
    Approver(commands::approver::Args),
    Key(commands::key::Args),
    Pause(commands::pause::Args),
    Script(commands::script::Args),
    Shadow(commands::shadow::Args),
    Schema(commands::schema::Args),
    Completions(commands::completions::Args),
    Man(commands::man::Args),
    Demo(commands::demo::Args),
}

impl Command {
    /// Runs the subcommand.
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CliError> {
        let exit = match self {
            Command::Init(args) => commands::init::run(&args, output),
            Command::Doctor(args) => commands::doctor::run(&args, output),
            Command::Uninstall(args) => commands::uninstall::run(&args, output),
            Command::Check(args) => commands::check::run(args, output),
            Command::Hook(args) => commands::hook::run(&args, output),
            Command::Acp(args) => commands::acp::run(&args, output),
            Command::Serve(args) => commands::serve::run(&args, output),
            Command::Replay(args) => commands::replay::run(&args, output),
            Command::Import(args) => commands::import::run(&args, output),
            Command::Test(args) => commands::test::run(&args, output),
            Command::Explain(args) => commands::explain::run(&args, output),
            Command::Lint(args) => commands::lint::run(&args, output),
            Command::Policy(args) => commands::policy::run(&args, output),
            Command::Detect(args) => commands::detect::run(&args, output),
            Command::Redact(args) => commands::redact::run(&args, output),
            Command::Bench(args) => commands::bench::run(&args, output),
            Command::Audit(args) => commands::audit::run(&args, output),
            Command::Log(args) => commands::log::run(&args, output),
            Command::Stats(args) => commands::stats::run(&args, output),
            Command::Notices(args) => commands::notices::run(&args, output),
            Command::Quarantine(args) => commands::quarantine::run(&args, output),
            Command::Locks(args) => commands::locks::run(&args, output),
            Command::Tasks(args) => commands::tasks::run(&args, output),
            Command::Approvals(args) => commands::approvals::run(&args, output),
            Command::Approver(args) => commands::approver::run(&args, output),
            Command::Key(args) => commands::key::run(&args, output),
            Command::Pause(args) => commands::pause::run(&args, output),
            Command::Script(args) => commands::script::run(&args, output),
            Command::Shadow(args) => commands::shadow::run(&args, output),
            Command::Schema(args) => commands::schema::run(&args, output),
            Command::Completions(args) => commands::completions::run(&args, output),
            Command::Man(args) => commands::man::run(&args, output),
            Command::Demo(args) => commands::demo::run(&args, output),
        }?;
        output.flush()?;
        Ok(exit)
    }
}
