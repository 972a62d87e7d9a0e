//! `midrail import`: sessions that coding agents have recorded, as events, or their permission rules, as a pack.

pub(crate) mod policy;

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use jiff::Timestamp;
use midrail_adapters::hosts;
use midrail_adapters::setup::Environment;
use midrail_adapters::transcripts::{self, ImportItem, RecordedSession};
use serde_json::json;

use crate::error::{CliError, CliResult, count};
use crate::exit::Exit;
use crate::input::quoted;
use crate::output::{Output, escaped};
use crate::time;

/// The most invalid lines that are named. All of them are counted.
const NAMED: usize = 10;

/// Convert recorded sessions of a coding agent into events, or its permission rules into a pack.
///
/// Events are one JSON object per line. They contain everything that was recorded, also secrets; `midrail replay
/// --report -` reads them and shows none. With `--policy`, the output is a pack: denied calls are blocked, calls that
/// ask are escalated, and allowed calls are listed in `vouch`. A report on standard error lists the rules that were
/// taken, are stricter, were left out, and have no effect in the coding agent itself.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The coding agent
    #[arg(value_name = "HOST", value_parser = names(), required_unless_present = "policy")]
    host: Option<String>,
    /// Recordings, or folders of them [default: where the coding agent keeps them]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Import permission rules: claude-code, codex, gemini, cursor, opencode or copilot, and files [default: the usual
    /// files of the project, the user and the machine]
    #[arg(long, value_name = "HOST FILE", num_args = 1.., conflicts_with_all = ["host", "paths", "since", "jobs"])]
    policy: Vec<String>,
    /// Only events since this time: 2026-11-15, or a duration ago such as 30d
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    since: Option<Timestamp>,
    /// Write to this file, which only its owner can read if it contains events [default: standard output]
    #[arg(short, long, value_name = "FILE", visible_alias = "write")]
    out: Option<PathBuf>,
    /// How many files are read at the same time [default: as many as there are processors, 4 at most]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: Option<u8>,
}

fn names() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(
        hosts::ALL.iter().filter(|host| host.transcripts.is_some()).map(|host| host.name),
    )
}

/// What came of it.
#[derive(Default)]
struct Counts {
    events: u64,
    broken: u64,
    bytes: u64,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    if let [host, files @ ..] = args.policy.as_slice() {
        return policy::run(host, files, args.out.as_deref(), output);
    }
    let sessions = find(args)?;
    let jobs = args
        .jobs
        .map(usize::from)
        .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from).min(4));
    let mut counts = Counts::default();
    let mut named = Vec::new();
    let all: u64 = sessions.iter().map(|session| session.bytes).sum();
    let mut progress = output.progress("reading");
    let mut file = args.out.as_deref().map(create).transpose()?;
    let is_shown = output.is_terminal;
    {
        let to: &mut dyn Write = match &mut file {
            Some(file) => file,
            None => output.writer(),
        };
        transcripts::read_sessions(&sessions, args.since, jobs, |work| -> CliResult<()> {
            match work {
                ImportItem::Event(json) => {
                    counts.events += 1;
                    // A terminal is not to be driven by what agents have read.
                    let json = if is_shown { escaped(&json) } else { json.into() };
                    to.write_all(json.as_bytes())?;
                    to.write_all(b"\n")?;
                }
                ImportItem::InvalidLine(invalid) => {
                    counts.broken += 1;
                    if named.len() < NAMED {
                        named.push(invalid);
                    }
                }
                ImportItem::Read(bytes) => {
                    counts.bytes += bytes;
                    progress.show(counts.bytes, all);
                }
            }
            Ok(())
        })?;
        to.flush()?;
    }
    drop(progress);
    for invalid in &named {
        let place = if invalid.line > 0 { format!(":{}", invalid.line) } else { String::new() };
        output.note(&format!("{}{place}: {}", invalid.file.display(), invalid.reason));
    }
    report(args, &sessions, &counts, output)?;
    Ok(Exit::Good)
}

fn find(args: &Args) -> CliResult<Vec<RecordedSession>> {
    let name = args.host.as_deref().unwrap_or_default();
    let host = hosts::find(name);
    let source = host.and_then(|host| host.transcripts);
    let source = source.ok_or_else(|| CliError::new("this host has no recorded sessions"))?;
    let paths = match args.paths.as_slice() {
        [] => {
            let env = Environment::detect(Path::new("."), None).ok_or_else(|| {
                CliError::new("cannot find recorded sessions: `HOME` is not set")
                    .help("name files or folders")
            })?;
            host.and_then(|host| host.recordings(&env)).into_iter().collect()
        }
        paths => paths.to_vec(),
    };
    transcripts::find_sessions(&source, &paths, args.since).map_err(|error| {
        CliError::new(format!("no recordings of {name} could be read: {error}"))
            .help("name the files, or the folder that contains them")
    })
}

fn create(path: &Path) -> CliResult<BufWriter<std::fs::File>> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    file.map(BufWriter::new)
        .map_err(|error| CliError::new(format!("could not write {}: {error}", quoted(path))))
}

fn report(args: &Args, sessions: &[RecordedSession], counts: &Counts, output: &mut Output) -> CliResult<()> {
    let files: usize = sessions.iter().map(|session| session.files.len()).sum();
    if output.is_json && args.out.is_some() {
        return output.json(&json!({
            "sessions": sessions.len(), "files": files, "events": counts.events, "broken": counts.broken,
        }));
    }
    let mut text = format!(
        "{} of {} in {}",
        count(counts.events, "event"),
        count(sessions.len(), "session"),
        count(files, "file")
    );
    if counts.broken > 0 {
        let of = if counts.broken > 10 { ", the first 10 of them named above" } else { "" };
        text.push_str(&format!("; {} invalid{of}", count(counts.broken, "line")));
    }
    output.note(&text);
    Ok(())
}
