//! `midrail approvals`: requests to people, from both sides.

mod answer;
mod desk;
mod list;
mod request;
mod review;
mod show;
mod wait;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// Ask people, and answer: list, show, approve, deny, request, wait, review.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    List(list::Args),
    Show(show::Args),
    /// Let the action of a request pass, once.
    Approve(answer::Args),
    /// Refuse the action of a request, or take back an approval that was not used.
    Deny(answer::Args),
    Request(request::Args),
    Wait(wait::Args),
    Review(review::Args),
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::List(args) => list::run(args, output),
        Verb::Show(args) => show::run(args, output),
        Verb::Approve(args) => answer::run(args, true, output),
        Verb::Deny(args) => answer::run(args, false, output),
        Verb::Request(args) => request::run(args, output),
        Verb::Wait(args) => wait::run(args, output),
        Verb::Review(args) => review::run(args, output),
    }
}
