//! `midrail audit publish`: puts the signed head where the owner of the store cannot change it.

use midrail::audit_heads::HeadPlace;
use serde_json::json;

use crate::clock;
use crate::error::{CliError, CliResult};
use crate::input::StoreArgs;
use crate::output::Output;

/// Sign the head of the log, and publish it. `midrail audit verify --against` compares the log with it later.
///
/// Run it regularly: a user who can change the store and its key cannot change what was published elsewhere.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where: a file to append to, https://… to post to, or git:FOLDER for a note of the current commit. Can be given
    /// several times
    #[arg(long, value_name = "PLACE", required = true)]
    to: Vec<String>,
}

pub(crate) fn run(args: &Args, file: &StoreArgs, output: &mut Output) -> CliResult {
    let store = file.open_existing()?;
    let mut published = Vec::new();
    for place in &args.to {
        let head = HeadPlace::parse(place).publish(&*store, clock::clock().now());
        published.push(head.map_err(|error| CliError::from_error(&error))?);
    }
    let head = published.first().map(|published| format!("{}:{}", published.head.seq, published.head.hash));
    output.done(&json!({"published": published}), head.unwrap_or_default())
}
