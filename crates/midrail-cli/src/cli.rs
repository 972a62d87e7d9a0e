//! The command line.

use clap::{ArgAction, Parser, Subcommand, ValueEnum};

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
    Check(verbs::check::Args),
    Replay(verbs::replay::Args),
    Test(verbs::test::Args),
}

impl Verb {
    /// Does what was asked for.
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, Failure> {
        let exit = match self {
            Verb::Check(args) => verbs::check::run(args, output),
            Verb::Replay(args) => verbs::replay::run(&args, output),
            Verb::Test(args) => verbs::test::run(&args, output),
        }?;
        output.flush()?;
        Ok(exit)
    }
}
