//! The command line.

use std::env;
use std::ffi::OsStr;

use clap::{ArgAction, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::Output;
use crate::verbs;

/// Guardrails for AI agents: every event of an agent in, one decision out.
#[derive(Debug, Parser)]
#[command(name = "midrail", version, after_help = exit::OF_ALL, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) global: Global,
}

impl Cli {
    /// Reads the command line.
    ///
    /// `check` and `hook` are called for every event of an agent, so they are read by themselves where that is enough: to
    /// lay out all verbs takes longer than to decide.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let alone = || env::args_os().skip(1);
        match alone().next().as_deref().and_then(OsStr::to_str) {
            Some("hook") => {
                if let Ok(Hook { args, global }) = Hook::try_parse_from(alone()) {
                    return Ok(Cli { verb: Verb::Hook(args), global });
                }
            }
            Some("check") => {
                if let Ok(Check { args, global }) = Check::try_parse_from(alone()) {
                    return Ok(Cli { verb: Verb::Check(args), global });
                }
            }
            _ => {}
        }
        let matches = Cli::command().color(help_colour()).try_get_matches()?;
        Cli::from_arg_matches(&matches)
    }
}

/// The colour of help and of errors of the command line, which are told before it is read.
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

/// `midrail check` alone. Whatever it cannot read, and its help, is left to the whole.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true)]
struct Check {
    #[command(flatten)]
    args: verbs::check::Args,
    #[command(flatten)]
    global: Global,
}

/// `midrail hook` alone.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true)]
struct Hook {
    #[command(flatten)]
    args: verbs::hook::Args,
    #[command(flatten)]
    global: Global,
}

/// What holds for every verb.
#[derive(Debug, clap::Args)]
pub(crate) struct Global {
    /// Print JSON for programs; errors too, as {"error":{...}}
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colour [auto: on a terminal, unless NO_COLOR is set]
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub(crate) color: When,
    /// Show more; twice: log every check (also MIDRAIL_LOG=debug|info|warn)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Init(verbs::init::Args),
    Doctor(verbs::doctor::Args),
    Uninstall(verbs::uninstall::Args),
    Check(verbs::check::Args),
    Hook(verbs::hook::Args),
    Acp(verbs::acp::Args),
    Serve(verbs::serve::Args),
    Replay(verbs::replay::Args),
    Import(verbs::import::Args),
    Test(verbs::test::Args),
    Explain(verbs::explain::Args),
    Lint(verbs::lint::Args),
    Policy(verbs::policy::Args),
    Detect(verbs::detect::Args),
    Redact(verbs::redact::Args),
    Bench(verbs::bench::Args),
    Log(verbs::log::Args),
    Audit(verbs::audit::Args),
    Stats(verbs::stats::Args),
    Notices(verbs::notices::Args),
    Quarantine(verbs::quarantine::Args),
    Locks(verbs::locks::Args),
    Tasks(verbs::tasks::Args),
    Approvals(verbs::approvals::Args),
    Approver(verbs::approver::Args),
    Key(verbs::key::Args),
    Pause(verbs::pause::Args),
    Script(verbs::script::Args),
    Shadow(verbs::shadow::Args),
    Schema(verbs::schema::Args),
    Completions(verbs::completions::Args),
    Man(verbs::man::Args),
    Demo(verbs::demo::Args),
}

impl Verb {
    /// Does what was asked for.
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, Failure> {
        let exit = match self {
            Verb::Init(args) => verbs::init::run(&args, output),
            Verb::Doctor(args) => verbs::doctor::run(&args, output),
            Verb::Uninstall(args) => verbs::uninstall::run(&args, output),
            Verb::Check(args) => verbs::check::run(args, output),
            Verb::Hook(args) => verbs::hook::run(&args, output),
            Verb::Acp(args) => verbs::acp::run(&args, output),
            Verb::Serve(args) => verbs::serve::run(&args, output),
            Verb::Replay(args) => verbs::replay::run(&args, output),
            Verb::Import(args) => verbs::import::run(&args, output),
            Verb::Test(args) => verbs::test::run(&args, output),
            Verb::Explain(args) => verbs::explain::run(&args, output),
            Verb::Lint(args) => verbs::lint::run(&args, output),
            Verb::Policy(args) => verbs::policy::run(&args, output),
            Verb::Detect(args) => verbs::detect::run(&args, output),
            Verb::Redact(args) => verbs::redact::run(&args, output),
            Verb::Bench(args) => verbs::bench::run(&args, output),
            Verb::Audit(args) => verbs::audit::run(&args, output),
            Verb::Log(args) => verbs::log::run(&args, output),
            Verb::Stats(args) => verbs::stats::run(&args, output),
            Verb::Notices(args) => verbs::notices::run(&args, output),
            Verb::Quarantine(args) => verbs::quarantine::run(&args, output),
            Verb::Locks(args) => verbs::locks::run(&args, output),
            Verb::Tasks(args) => verbs::tasks::run(&args, output),
            Verb::Approvals(args) => verbs::approvals::run(&args, output),
            Verb::Approver(args) => verbs::approver::run(&args, output),
            Verb::Key(args) => verbs::key::run(&args, output),
            Verb::Pause(args) => verbs::pause::run(&args, output),
            Verb::Script(args) => verbs::script::run(&args, output),
            Verb::Shadow(args) => verbs::shadow::run(&args, output),
            Verb::Schema(args) => verbs::schema::run(&args, output),
            Verb::Completions(args) => verbs::completions::run(&args, output),
            Verb::Man(args) => verbs::man::run(&args, output),
            Verb::Demo(args) => verbs::demo::run(&args, output),
        }?;
        output.flush()?;
        Ok(exit)
    }
}
