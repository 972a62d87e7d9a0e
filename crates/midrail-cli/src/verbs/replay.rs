//! `midrail replay`: decides a sequence of events.

use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;

use midrail::replay::{self, Played, Replay, ReplayError};
use midrail::{Clock, Engine, ManualClock, SqliteStore};
use midrail_doors::wire;
use serde_json::json;

use crate::decision::Timeline;
use crate::exit::{self, Exit};
use crate::failure::{Failure, count};
use crate::input::{self, Packs};
use crate::output::{Output, Style};

/// Decide a sequence of events, one JSON object a line.
///
/// Time is that of the events. The line {"kind":"advance","seconds":N} moves the clock.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::OF_REPLAY)]
pub(crate) struct Args {
    /// The events, one JSON object a line; `-`: standard input
    #[arg(value_name = "EVENTS.jsonl")]
    events: PathBuf,
    #[command(flatten)]
    packs: Packs,
    /// The folder that file facts are read from [default: each event's cwd]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Keep sessions and the audit log in this SQLite file [default: in memory]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    let mut input = BufReader::new(input::open(Some(&args.events))?);
    let loaded = args.packs.here().load()?;
    let clock = Arc::new(ManualClock::at(replay::start()));
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
    let replay = Replay::new(Arc::new(engine.build()?), clock.clone());

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
            Ok(Played::Decided(_, decision)) if output.is_json() => output.line(wire::encode(&decision))?,
            Ok(Played::Decided(event, decision)) => {
                for line in timeline.add(clock.now(), &event, &decision, output) {
                    output.line(line)?;
                }
            }
            Ok(Played::Advanced(seconds)) if !output.is_json() => {
                output.line(output.paint().style(Style::Dim, format!("          {seconds} s pass")))?;
            }
            Ok(Played::Advanced(_) | Played::Nothing) => {}
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
