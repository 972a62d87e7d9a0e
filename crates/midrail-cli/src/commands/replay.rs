//! `midrail replay`: decides a sequence of events.

mod report;

use std::env;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;

use midrail::pack::diagnostic::visible;
use midrail::replay::{self, Replay, ReplayStep};
use midrail::{Clock, Engine, ManualClock, SqliteStore, SystemClock};
use midrail_adapters::wire;
use serde_json::json;

use crate::decision::Timeline;
use crate::error::{CliError, CliResult, count};
use crate::exit::{self, Exit};
use crate::input::{self, PackArgs};
use crate::limits::LimitArgs;
use crate::output::Output;
use crate::paint::Style;

/// Decide a sequence of events, one JSON object per line.
///
/// The clock follows the times of the events. Without times it is fixed, or the current time with --store. These
/// lines are instructions; the last three accept a "session":
///
/// {"kind":"advance","seconds":N} advances the clock
///
/// {"kind":"set","key":K,"value":V} sets the session variable K, which is session.K in expressions
///
/// {"kind":"snapshot","as":NAME} saves the session under a name
///
/// {"kind":"restore","from":NAME} restores it
#[derive(Debug, clap::Args)]
#[command(after_help = exit::REPLAY)]
pub(crate) struct Args {
    /// The events, one JSON object per line; `-`: standard input
    #[arg(value_name = "EVENTS.jsonl")]
    events: PathBuf,
    #[command(flatten)]
    packs: PackArgs,
    /// The directory that file facts are read from [default: each event's cwd, else the current directory]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Keep sessions and the audit log in this SQLite file [default: in memory]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Show what would have been blocked, by which guardrail, and settings that would allow it. Nothing is stored,
    /// no file is read, and no command is run
    #[arg(long, conflicts_with_all = ["store", "root"])]
    report: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let loaded = args.packs.here().load()?;
    if args.report {
        return report::run(&args.events, args.limits.limits(), loaded, output);
    }
    let mut input = BufReader::new(input::open(Some(&args.events))?);
    // A store file may contain records of other days.
    let start = if args.store.is_some() { SystemClock.now() } else { replay::start_time() };
    let clock = Arc::new(ManualClock::at(start));
    let mut engine = Engine::builder(loaded.policy, &loaded.source).clock(clock.clone());
    if let Some(path) = &args.store {
        engine = engine.store(Arc::new(SqliteStore::open(path)?));
    }
    if let Some(root) = &args.root {
        if !root.is_dir() {
            return Err(CliError::new(format!("{} is not a directory", input::quoted(root)))
                .help("`--root` is the directory that file facts are read from"));
        }
        engine = engine.root(root);
    }
    let mut replay = Replay::new(Arc::new(engine.build()?), clock.clone()).limits(args.limits.limits());
    if let (None, Ok(here)) = (&args.root, env::current_dir()) {
        replay = replay.cwd(here.to_string_lossy());
    }

    let mut timeline = Timeline::new();
    let mut undecided = 0;
    report::each(&replay, &mut input, |line, _, played| {
        match played {
            Ok(ReplayStep::Decided(_, decision)) if output.is_json() => {
                output.json_text(&wire::encode(&decision))?
            }
            Ok(ReplayStep::Decided(event, decision)) => {
                output.lines(timeline.add(clock.now(), &event, &decision, output))?;
            }
            Ok(other) => {
                if let Some(text) = in_words(&other).filter(|_| !output.is_json()) {
                    output.line(output.paint().style(Style::Dim, format!("          {}", visible(&text))))?;
                }
            }
            Err(error) => {
                undecided += 1;
                let failure = CliError::from_error(&error);
                if output.is_json() {
                    let mut value = failure.to_json();
                    if let Some(fields) = value.as_object_mut() {
                        fields.insert("line".to_owned(), json!(line));
                    }
                    output.json(&value)?;
                }
                output.remark(&failure);
            }
        }
        Ok(())
    })?;
    if !output.is_json() {
        let failed = match undecided {
            0 => String::new(),
            number => output.paint().style(Style::Bad, format!("; {} not decided", count(number, "line"))),
        };
        output.line(format!("\n{}{failed}", timeline.summary(output.paint())))?;
    }
    Ok(Exit::good_if(undecided == 0))
}

/// An executed instruction in words.
fn in_words(played: &ReplayStep) -> Option<String> {
    match played {
        ReplayStep::Advanced(seconds) => Some(format!("the clock advances by {seconds} s")),
        ReplayStep::Set { session, key } => Some(format!("session.{key} is set in session {session}")),
        ReplayStep::Kept { session, name } => Some(format!("session {session} is saved as {name}")),
        ReplayStep::Restored { session, name } => Some(format!("session {session} is restored from {name}")),
        ReplayStep::Decided(..) | ReplayStep::Nothing => None,
    }
}
