//! `midrail approvals review`: a person files what is owed after an emergency.

use super::desk;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::input::StoreFile;
use crate::key::{self, Signer};
use crate::output::{Output, short};

/// File the review that is owed for an action that an emergency let pass.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::OF_APPROVALS)]
pub(crate) struct Args {
    /// The request
    id: String,
    #[command(flatten)]
    who: Signer,
    /// What happened, whether it was right, and what follows from it
    #[arg(long, value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    store: StoreFile,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    let engine = desk::of_request(args.store.existing()?, &args.id)?;
    let person = key::ask(&args.who, &engine)?;
    let reviewed = engine.review(&args.id, &person, &args.text)?;
    if output.is_json() {
        output.json(&desk::as_json(&reviewed, engine.now())?)?;
    } else {
        output.line(format!(
            "the review of {} is filed by {}",
            short(&reviewed.id, 40),
            short(person.name(), 60)
        ))?;
    }
    Ok(Exit::Good)
}
