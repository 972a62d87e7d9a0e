//! `midrail explain`: a guardrail's page, a guardrail of a pack, or why a decision came out as it did.

mod decision;
mod guardrail;

use crate::error::{CliError, CliResult};
use crate::exit::Exit;
use crate::input::{PackArgs, StoreArgs};
use crate::output::Output;

/// Explain a guardrail or a recorded decision.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct Args {
    /// A built-in guardrail by id or name, or one of the packs in force
    #[arg(group = "what")]
    id: Option<String>,
    /// A recorded decision, by its number in the audit log
    #[arg(long, value_name = "SEQ", group = "what")]
    decision: Option<u64>,
    #[command(flatten)]
    packs: PackArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    match (&args.id, args.decision) {
        (Some(id), _) => guardrail::explain(id, &args.packs, output)?,
        (None, Some(seq)) => decision::explain(seq, &args.store, output)?,
        (None, None) => {
            return Err(CliError::new("nothing to explain").help("name a guardrail, or `--decision SEQ`"));
        }
    }
    Ok(Exit::Good)
}
