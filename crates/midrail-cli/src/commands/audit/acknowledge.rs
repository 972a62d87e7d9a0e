//! `midrail audit acknowledge`: a person accepts a store that was damaged or replaced.

use midrail::Load;
use serde_json::json;

use crate::admin_args::{engine, user_name};
use crate::approver_key::OptionalSigner;
use crate::commands::audit::retention::authorised;
use crate::error::CliResult;
use crate::input::StoreArgs;
use crate::output::{Output, short};

/// Accept a store that has lost records or was replaced, so that decisions continue with it.
///
/// Find out first what happened: `midrail audit verify` reports the difference, and a backup may have the lost records.
/// The acknowledgement is a record in the log.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Why the store may be used as it is, for the record
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    signer: OptionalSigner,
}

pub(crate) fn run(args: &Args, file: &StoreArgs, output: &mut Output) -> CliResult {
    // The packs of a project do not determine who may do this.
    let engine = engine(file.open_or_create()?, &Load::default())?;
    let by = authorised(&args.signer, &engine)?;
    match engine.admin().acknowledge_damage(by.as_ref(), &user_name(None), &args.reason)? {
        None => output.done(
            &json!({"damage": null}),
            "the store is intact: there is nothing to acknowledge".to_owned(),
        ),
        Some((damage, place)) => {
            let text = format!("acknowledged with record {}: {}", place.seq, short(&damage.what, 200));
            output.done(&json!({"damage": damage, "audit": place}), text)
        }
    }
}
