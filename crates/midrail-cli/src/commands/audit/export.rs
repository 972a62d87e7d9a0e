//! `midrail audit export`: the log as JSON lines that verify on their own.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use serde_json::json;

use super::records::Records;
use crate::error::{CliError, count};
use crate::exit::Exit;
use crate::input::{StoreArgs, quoted};
use crate::output::Output;

/// Export the log as JSON lines, which `midrail audit verify FILE` verifies without the store.
///
/// Records that the filters exclude are exported as hashes only, so the chain can still be verified.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    records: Records,
    /// Write to this file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

fn counted(number: u64, noun: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    let store = args.store.read_only()?;
    let filter = args.records.filter();
    let Some(path) = &args.out else {
        store.export(&filter, output.writer())?;
        return Ok(Exit::Good);
    };
    let cannot = |error: std::io::Error| CliError::new(format!("could not write {}: {error}", quoted(path)));
    let mut file = BufWriter::new(File::create(path).map_err(cannot)?);
    let done = store.export(&filter, &mut file)?;
    file.flush().map_err(cannot)?;
    let (shown, checkpoints) = (counted(done.shown, "record"), counted(done.checkpoints, "checkpoint"));
    let withheld = match done.withheld {
        0 => String::new(),
        withheld => format!(", {withheld} as hashes only"),
    };
    let json = json!({
        "file": path, "shown": done.shown, "withheld": done.withheld, "checkpoints": done.checkpoints,
    });
    output.done(&json, format!("{}: {shown}{withheld}, {checkpoints}", quoted(path)))
}
