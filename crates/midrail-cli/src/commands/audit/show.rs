//! `midrail audit show`: one record as it is in the log.

use midrail::pack::diagnostic::visible;
use serde_json::{Value, json};

use super::records::no_record;
use crate::error::CliError;
use crate::exit::Exit;
use crate::input::StoreArgs;
use crate::output::Output;
use crate::paint::Style;

/// Show one record as it is in the log. `midrail explain --decision SEQ` explains it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The record's number
    #[arg(value_name = "SEQ")]
    seq: u64,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    let store = args.store.read_only()?;
    let entry = store.entry(args.seq)?.ok_or_else(|| no_record(&args.store, &*store, args.seq))?;
    let body: Value = serde_json::from_str(&entry.body)
        .map_err(|error| CliError::new(format!("record {} cannot be read: {error}", args.seq)))?;
    if output.is_json() {
        output.json(&json!({"seq": entry.seq, "prev": entry.prev, "hash": entry.hash, "record": body}))?;
        return Ok(Exit::Good);
    }
    let paint = output.paint();
    for (name, value) in [("seq", entry.seq.to_string()), ("prev", entry.prev), ("hash", entry.hash)] {
        output.line(format!("{} {}", paint.style(Style::Dim, format!("{name:<5}")), visible(&value)))?;
    }
    let text = serde_json::to_string_pretty(&body).map_err(|error| CliError::from_error(&error))?;
    for line in text.lines() {
        output.line(visible(line))?;
    }
    Ok(Exit::Good)
}
