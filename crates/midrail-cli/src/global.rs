//! Options that every subcommand accepts.

use clap::{ArgAction, ValueEnum};

/// Options of every subcommand.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Global {
    /// Print JSON; errors as {"error":{...}}
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colour [auto: on a terminal, unless NO_COLOR is set]
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub(crate) color: When,
    /// Show more detail; twice: log every check (also MIDRAIL_LOG=debug|info|warn)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    #[default]
    Auto,
    Always,
    Never,
}
