//! `midrail approvals`: requests to people, and their answers.

mod answer;
mod format;
mod list;
mod request;
mod review;
mod show;
mod wait;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;

/// Request and answer approvals.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    List(list::Args),
    Show(show::Args),
    /// Approve a request: the agent may make the call once.
    Approve(answer::Args),
    /// Deny a request, or revoke an approval that is not used yet.
    Deny(answer::Args),
    Request(request::Args),
    Wait(wait::Args),
    Review(review::Args),
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    match &args.command {
        Command::List(args) => list::run(args, output),
        Command::Show(args) => show::run(args, output),
        Command::Approve(args) => answer::run(args, true, output),
        Command::Deny(args) => answer::run(args, false, output),
        Command::Request(args) => request::run(args, output),
        Command::Wait(args) => wait::run(args, output),
        Command::Review(args) => review::run(args, output),
    }
}
