//! `midrail redact`: copies a text with its secrets redacted.

use std::io::Read;
use std::path::PathBuf;

use midrail::detection::redact::StreamRedactor;
use midrail::store::Keys;
use midrail::{MemoryStore, SqliteStore};

use crate::error::{CliError, CliResult};
use crate::exit::Exit;
use crate::input;
use crate::output::Output;

/// Copy text to standard output with secrets redacted.
///
/// Text is streamed. A possible start of a secret is held back until it is decided, so a secret split across chunks
/// is also redacted. Each secret is replaced by its kind and four hex digits, such as
/// [redacted:aws-access-key#3f9a]; the same secret has the same digits in one run, or in one store.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to read; `-`: standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Also replace personal data
    #[arg(long)]
    pii: bool,
    /// Use the key of this store for the digits, so that they match its records
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let mut input = input::open(args.file.as_deref())?;
    let key = match &args.store {
        Some(path) => SqliteStore::open_read_only(path)?.fingerprint_key()?,
        None => MemoryStore::new()?.fingerprint_key()?,
    };
    let mut cleaner = StreamRedactor::new(&key, args.pii);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CliError::new(format!("could not read the text: {error}"))),
        };
        let text = cleaner.push(buffer.get(..read).unwrap_or_default());
        output.text(&text)?;
        output.flush()?;
    }
    output.text(&cleaner.finish())?;
    Ok(Exit::Good)
}
