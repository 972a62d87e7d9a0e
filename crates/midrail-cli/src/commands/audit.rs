//! `midrail audit`: recorded decisions, and proof that they were not changed.

mod export;
mod list;
pub(crate) mod records;
mod replay;
mod show;
mod verify;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;

/// List, show, verify, export and replay the audit log.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    List(list::Args),
    Show(show::Args),
    Verify(verify::Args),
    Export(export::Args),
    Replay(replay::Args),
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    match &args.command {
        Command::List(args) => list::run(args, output),
        Command::Show(args) => show::run(args, output),
        Command::Verify(args) => verify::run(args, output),
        Command::Export(args) => export::run(args, output),
        Command::Replay(args) => replay::run(args, output),
    }
}
