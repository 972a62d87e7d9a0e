//! `midrail audit export`: the log as JSON lines that verify on their own.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use serde_json::json;

use super::Records;
use crate::exit::Exit;
use crate::failure::{Failure, count};
use crate::input::{StoreFile, quoted};
use crate::output::Output;

/// Write the log as JSON lines, which `midrail audit verify FILE` checks without the store.
///
/// Records that are not asked for are there by their hashes alone, so that the chain still holds.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    records: Records,
    /// Write to this file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    store: StoreFile,
}

fn counted(number: u64, noun: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    let store = args.store.read_only()?;
    let filter = args.records.filter();
    let Some(path) = &args.out else {
        store.export(&filter, output.writer())?;
        return Ok(Exit::Good);
    };
    let cannot = |error: std::io::Error| Failure::new(format!("could not write {}: {error}", quoted(path)));
    let mut file = BufWriter::new(File::create(path).map_err(cannot)?);
    let done = store.export(&filter, &mut file)?;
    file.flush().map_err(cannot)?;
    if output.is_json() {
        output.json(&json!({
            "file": path, "shown": done.shown, "withheld": done.withheld, "checkpoints": done.checkpoints,
        }))?;
    } else {
        let withheld = match done.withheld {
            0 => String::new(),
            withheld => format!(", {withheld} more by their hashes alone"),
        };
        output.line(format!(
            "{}: {}{withheld}, {}",
            quoted(path),
            counted(done.shown, "record"),
            counted(done.checkpoints, "checkpoint")
        ))?;
    }
    Ok(Exit::Good)
}
