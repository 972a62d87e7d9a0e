//! `midrail approvals review`: files the review of an emergency override.

use midrail::admin::ApprovalView;

use super::format;
use crate::approver_key::{self, Signer};
use crate::error::CliError;
use crate::exit::{self, Exit};
use crate::input::StoreArgs;
use crate::output::{Output, short};

/// File the review of an emergency override.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::APPROVALS)]
pub(crate) struct Args {
    /// The request
    id: String,
    #[command(flatten)]
    who: Signer,
    /// What happened, whether it was justified, and what to do about it
    #[arg(long, value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    let engine = format::engine_for_request(args.store.open_existing()?, &args.id)?;
    let person = approver_key::read(&args.who, &engine)?;
    let reviewed = engine.approvals().review(&args.id, &person, &args.text)?;
    let text = format!("the review of {} is filed by {}", short(&reviewed.id, 40), short(person.name(), 60));
    output.done(&ApprovalView::new(reviewed, engine.now()), text)
}
