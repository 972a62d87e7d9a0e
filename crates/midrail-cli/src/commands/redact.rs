//! `midrail redact`: copies a text with its secrets redacted.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use midrail::detection::redact::StreamRedactor;
use midrail::store::Keys;
use midrail::{MemoryStore, SqliteStore};

use crate::error::{CliError, CliResult};
use crate::exit::Exit;
use crate::input;
use crate::output::Output;
use crate::time;

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
    /// Run a command, and redact what it prints. Its exit code is kept
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "file")]
    command: Vec<OsString>,
    /// Also replace personal data
    #[arg(long)]
    pii: bool,
    /// Write what was held back if nothing follows for this time, such as 300ms. A secret that takes longer to arrive is
    /// not recognised [default: wait for the end of the text]
    #[arg(long, value_name = "DURATION", value_parser = time::parse_duration)]
    pause: Option<Duration>,
    /// Use the key of this store for the digits, so that they match its records
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    if let Some((program, words)) = args.command.split_first() {
        return supervise(program, words);
    }
    let mut input = input::open(args.file.as_deref())?;
    let key = match &args.store {
        Some(path) => SqliteStore::open_read_only(path)?.fingerprint_key()?,
        None => MemoryStore::new()?.fingerprint_key()?,
    };
    let mut cleaner = StreamRedactor::new(&key, args.pii);
    let (send, receive) = mpsc::sync_channel(4);
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let chunk = match input.read(&mut buffer) {
                Ok(read) => Ok(buffer.get(..read).unwrap_or_default().to_vec()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let is_last = chunk.as_ref().map_or(true, Vec::is_empty);
            if send.send(chunk).is_err() || is_last {
                return;
            }
        }
    });
    loop {
        let text = match receive.recv_timeout(args.pause.unwrap_or(Duration::MAX)) {
            Ok(Ok(chunk)) if chunk.is_empty() => break,
            Ok(Ok(chunk)) => cleaner.push(&chunk),
            Ok(Err(error)) => return Err(CliError::new(format!("could not read the text: {error}"))),
            Err(RecvTimeoutError::Timeout) => {
                std::mem::replace(&mut cleaner, StreamRedactor::new(&key, args.pii)).finish()
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        output.text(&text)?;
        output.flush()?;
    }
    output.text(&cleaner.finish())?;
    Ok(Exit::Good)
}

/// How long the redaction may continue after the command has ended. Processes in the background can keep the output open;
/// what they print is still redacted later.
const REST: Duration = Duration::from_secs(1);

/// Runs a command whose output passes through a second process of this program, with the same options. This process ends
/// with the command, even if the output stays open.
fn supervise(program: &OsStr, words: &[OsString]) -> CliResult {
    let (reader, writer) = io::pipe()?;
    let options = env::args_os().skip(1).take_while(|word| word != "--");
    let mut redaction = Command::new(env::current_exe()?).args(options).stdin(reader).spawn()?;
    let mut command = Command::new(program);
    command.args(words).stdout(writer.try_clone()?).stderr(writer);
    let started = command.spawn();
    // The pipe ends with its last writer.
    drop(command);
    let ended = started.and_then(|mut child| child.wait());
    if !has_ended_well(&mut redaction)? {
        let mut output = io::stdout();
        writeln!(output, "[output withheld] `midrail redact` failed. Run: midrail doctor")?;
    }
    ended.map(Exit::from_status).map_err(|error| {
        CliError::new(format!("`{}` could not be started: {error}", program.to_string_lossy()))
    })
}

/// Whether the redaction has ended without an error, or continues.
fn has_ended_well(redaction: &mut Child) -> io::Result<bool> {
    let until = Instant::now() + REST;
    let mut pause = Duration::from_micros(200);
    loop {
        match redaction.try_wait()? {
            Some(status) => return Ok(status.success()),
            None if Instant::now() >= until => return Ok(true),
            None => thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}
