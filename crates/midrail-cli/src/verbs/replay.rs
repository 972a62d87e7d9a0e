//! `midrail replay`: decides a sequence of events.

mod report;

use std::env;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;

use midrail::pack::diagnostic::visible;
use midrail::replay::{self, Played, Replay, ReplayError};
use midrail::{Clock, Engine, ManualClock, SqliteStore, SystemClock};
use midrail_doors::wire;
use serde_json::json;

use crate::decision::Timeline;
use crate::exit::{self, Exit};
use crate::failure::{Failure, count};
use crate::input::{self, Packs};
use crate::limits::LimitArgs;
use crate::output::{Output, Style};

/// Decide a sequence of events, one JSON object a line.
///
/// Time is that of the events; where they tell none, it is a fixed one, and with --store it is now. Between events,
/// these lines are obeyed and not decided; the last three take a "session":
///
/// {"kind":"advance","seconds":N} moves the clock
///
/// {"kind":"set","key":K,"value":V} sets the session variable K, which expressions know as session.K
///
/// {"kind":"snapshot","as":NAME} keeps the session under a name
///
/// {"kind":"restore","from":NAME} puts it back
#[derive(Debug, clap::Args)]
#[command(after_help = exit::OF_REPLAY)]
pub(crate) struct Args {
    /// The events, one JSON object a line; `-`: standard input
    #[arg(value_name = "EVENTS.jsonl")]
    events: PathBuf,
    #[command(flatten)]
    packs: Packs,
    /// The folder that file facts are read from [default: each event's cwd, else this folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Keep sessions and the audit log in this SQLite file [default: in memory]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Show what would have been stopped, by which guardrail, and settings that would let it pass. Nothing is kept,
    /// nothing is read from the disk, and no command is run
    #[arg(long, conflicts_with_all = ["store", "root"])]
    report: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    let loaded = args.packs.here().load()?;
    if args.report {
        return report::run(args, loaded, output);
    }
    let mut input = BufReader::new(input::open(Some(&args.events))?);
    // What is kept in a file stands beside records of other days.
    let start = if args.store.is_some() { SystemClock.now() } else { replay::start() };
    let clock = Arc::new(ManualClock::at(start));
    let mut engine = Engine::builder(loaded.policy, &loaded.source).clock(clock.clone());
    if let Some(path) = &args.store {
        engine = engine.store(Arc::new(SqliteStore::open(path)?));
    }
    if let Some(root) = &args.root {
        if !root.is_dir() {
            return Err(Failure::new(format!("{} is no folder", input::quoted(root)))
                .help("`--root` is the folder that file facts are read from"));
        }
        engine = engine.root(root);
    }
    let mut replay = Replay::new(Arc::new(engine.build()?), clock.clone()).limits(args.limits.limits());
    if let (None, Ok(here)) = (&args.root, env::current_dir()) {
        replay = replay.cwd(here.to_string_lossy());
    }

    let mut timeline = Timeline::new();
    let mut undecided = 0;
    for line in 1.. {
        let played = match replay::next_line(&mut input, line) {
            Ok(Some(text)) => replay.line(line, &text),
            Ok(None) => break,
            // What cannot be read now cannot be read later.
            Err(error @ ReplayError::Io { .. }) => return Err(Failure::of(&error)),
            Err(error) => Err(error),
        };
        match played {
            Ok(Played::Decided(_, decision)) if output.is_json() => {
                output.json_text(&wire::encode(&decision))?
            }
            Ok(Played::Decided(event, decision)) => {
                for line in timeline.add(clock.now(), &event, &decision, output) {
                    output.line(line)?;
                }
            }
            Ok(other) => {
                if let Some(text) = in_words(&other).filter(|_| !output.is_json()) {
                    output.line(output.paint().style(Style::Dim, format!("          {}", visible(&text))))?;
                }
            }
            Err(error) => {
                undecided += 1;
                let failure = Failure::of(&error);
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
    }
    if !output.is_json() {
        let failed = match undecided {
            0 => String::new(),
            number => output.paint().style(Style::Bad, format!("; {} not decided", count(number, "line"))),
        };
        output.line(format!("\n{}{failed}", timeline.summary(output.paint())))?;
    }
    Ok(Exit::good_if(undecided == 0))
}

/// A line that was obeyed, in words.
fn in_words(played: &Played) -> Option<String> {
    match played {
        Played::Advanced(seconds) => Some(format!("{seconds} s pass")),
        Played::Set { session, key } => Some(format!("session.{key} is set in session {session}")),
        Played::Kept { session, name } => Some(format!("session {session} is kept as {name}")),
        Played::Restored { session, name } => Some(format!("session {session} is put back as in {name}")),
        Played::Decided(..) | Played::Nothing => None,
    }
}
