//! `midrail check --stream`: one event per line, one decision per line, by one engine whose packs are watched.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::sync::Arc;
use std::time::Duration;

use midrail::replay::{ReplayError, next_line};
use midrail::{Event, EventKind, SqliteStore};
use midrail_adapters::wire::{self, WireError};

use super::answer::{Args, print};
use crate::clock;
use crate::error::{CliError, CliResult};
use crate::event_engine::{refusal, watched};
use crate::exit::Exit;
use crate::input;
use crate::output::Output;

/// How long late answers are awaited after the last event.
const LAST_ANSWERS: Duration = Duration::from_secs(60);

pub(super) fn run(args: &Args, output: &mut Output) -> CliResult {
    let mut lines = Lines(BufReader::new(input::open(args.event.as_deref())?));
    let store = Arc::new(SqliteStore::open(args.store.path()?)?);
    let here = env::current_dir().ok();
    let (engine, _reloader) = watched(&args.packs, here.clone(), args.root.as_deref(), &store)?;

    let here = here.map(|here| here.to_string_lossy().into_owned());
    let limits = args.limits.limits();
    let mut exit = Exit::Good;
    while let Some(line) = lines.next()? {
        let decoded = line.and_then(|line| wire::decode(&line));
        let (event, decision) = match decoded {
            Ok(mut event) => {
                if event.cwd.is_none() && args.root.is_none() {
                    event.cwd.clone_from(&here);
                }
                let decision = match (limits.apply(&mut event, &*store, clock::now()), args.wait) {
                    (Err(error), _) => refusal(&error.into()),
                    (Ok(()), Some(at_most)) => engine.approvals().decide_and_wait(event.clone(), at_most),
                    (Ok(()), None) => engine.decide(event.clone()),
                };
                (event, decision)
            }
            // INVARIANT: every line has an answer, and an invalid line is blocked.
            Err(error) => {
                let failure = CliError::from(error);
                output.remark(&failure);
                (Event::new(EventKind::BeforeTool), refusal(&failure))
            }
        };
        if !decision.effect.allows() {
            exit = Exit::Stopped;
        }
        print(&event, &decision, engine.approvals().guidance(&decision), output)?;
        output.flush()?;
    }
    // Late answers are stored for the next event of the run, in any process.
    if !engine.background().wait_for_late_answers(LAST_ANSWERS) {
        writeln!(io::stderr(), "warning: an external service has not answered, and its answer is lost")?;
    }
    Ok(exit)
}

/// Lines up to the maximum size of an event.
pub(crate) struct Lines<R>(pub(crate) R);

impl<R: BufRead> Lines<R> {
    /// The next line that is not blank. `None`: there is none.
    pub(crate) fn next(&mut self) -> io::Result<Option<Result<Vec<u8>, WireError>>> {
        loop {
            return Ok(Some(match next_line(&mut self.0, 0) {
                Ok(None) => return Ok(None),
                Ok(Some(line)) if line.trim_ascii().is_empty() => continue,
                Ok(Some(line)) => Ok(line),
                Err(ReplayError::Io { source, .. }) => return Err(source),
                Err(_) => Err(WireError::TooLarge),
            }));
        }
    }
}
