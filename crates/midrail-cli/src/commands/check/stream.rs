//! `midrail check --stream`: one event per line, one decision per line, by one engine whose packs are watched.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use midrail::pack::diagnostic::visible;
use midrail::{Engine, Event, EventKind, Load, Reload, Reloader, SqliteStore, paths};
use midrail_adapters::wire::{self, MAX_EVENT_BYTES, WireError};

use super::answer::{Args, print, refusal};
use crate::clock;
use crate::error::CliError;
use crate::event_engine::cache;
use crate::exit::Exit;
use crate::input;
use crate::output::Output;

/// How long late answers are awaited after the last event.
const LAST_ANSWERS: Duration = Duration::from_secs(60);

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    let mut lines = Lines(BufReader::new(input::open(args.event.as_deref())?));
    let store = SqliteStore::open(args.store.path()?)?;
    let here = env::current_dir().ok();
    let load = Load { cache: cache(&store), ..args.packs.in_folder(here.clone()) };
    let loaded = load.load()?;
    let store = Arc::new(store);
    let mut engine = Engine::builder(loaded.policy, &loaded.source)
        .own_places(input::own_places(store.path()))
        .store(store.clone())
        .clock(clock::clock());
    if let Some(root) = &args.root {
        engine = engine.root(root);
    } else if let Some(here) = &here {
        engine = engine.project(paths::project(here).unwrap_or_else(|| here.clone()));
    }
    let engine = Arc::new(engine.build()?);
    let _reloader = Reloader::start(&engine, load, loaded.mark, report_reload)?;

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

/// Reports reloaded packs on standard error.
pub(crate) fn report_reload(reload: &Reload) {
    // If the terminal is gone, the reload cannot be reported.
    let _ = match reload {
        Reload::Applied(revision) => {
            writeln!(io::stderr(), "note: the packs changed; the policy {revision} is in force")
        }
        Reload::Refused(why) => {
            let lines: Vec<String> = why.lines().map(|line| visible(line).into_owned()).collect();
            let why = lines.join("\n");
            writeln!(
                io::stderr(),
                "error: the packs changed and cannot be used; the policy in force stays\n{why}"
            )
        }
    };
}

/// Lines up to the maximum size of an event.
pub(crate) struct Lines<R>(pub(crate) R);

impl<R: BufRead> Lines<R> {
    /// The next line that is not blank. `None`: there is none.
    pub(crate) fn next(&mut self) -> io::Result<Option<Result<Vec<u8>, WireError>>> {
        loop {
            let mut line = Vec::new();
            let count = (&mut self.0).take(MAX_EVENT_BYTES + 1).read_until(b'\n', &mut line)?;
            if count == 0 {
                return Ok(None);
            }
            let is_long = u64::try_from(count).unwrap_or(u64::MAX) > MAX_EVENT_BYTES;
            if is_long && line.last() != Some(&b'\n') {
                self.skip_rest()?;
                return Ok(Some(Err(WireError::TooLarge)));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(Ok(line)));
            }
        }
    }

    fn skip_rest(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.0.fill_buf()?;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let (count, is_over) = match end {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.0.consume(count);
            if is_over {
                return Ok(());
            }
        }
    }
}
