//! `midrail audit`: what was decided, and that nobody has changed it since.

mod export;
mod list;
mod replay;
mod show;
mod verify;

use midrail::store::{Entry, Filter};
use midrail::{Effect, EventKind, Store};

use jiff::Timestamp;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::input::StoreFile;
use crate::output::Output;
use crate::when;

/// Look at the audit log: list, show, verify, export, replay.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    List(list::Args),
    Show(show::Args),
    Verify(verify::Args),
    Export(export::Args),
    Replay(replay::Args),
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::List(args) => list::run(args, output),
        Verb::Show(args) => show::run(args, output),
        Verb::Verify(args) => verify::run(args, output),
        Verb::Export(args) => export::run(args, output),
        Verb::Replay(args) => replay::run(args, output),
    }
}

/// Which records. Everything that is given must hold. Times are RFC 3339, a day, or how long ago: 2h, 3d.
#[derive(Debug, Clone, Default, clap::Args)]
struct Records {
    /// Those of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Those that this guardrail decided, or in which it said more than allow
    #[arg(long, value_name = "ID")]
    guardrail: Option<String>,
    /// Those with this effect: allow, warn, redact, retry, escalate, block, halt
    #[arg(long, value_name = "EFFECT")]
    effect: Option<Effect>,
    /// Those of this kind of event
    #[arg(long, value_name = "KIND")]
    kind: Option<EventKind>,
    /// Those of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Those at or after this time: 2026-11-15T10:00:00Z, 2026-11-15, or how long ago, such as 2h
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    since: Option<Timestamp>,
    /// Those before this time
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    until: Option<Timestamp>,
}

impl Records {
    fn filter(&self) -> Filter {
        Filter {
            session: self.session.clone(),
            guardrail: self.guardrail.clone(),
            effect: self.effect,
            kind: self.kind,
            tool: self.tool.clone(),
            since: self.since,
            until: self.until,
            ..Filter::default()
        }
    }
}

/// Goes through all records that a filter lets pass, page by page.
fn each(
    store: &dyn Store,
    mut filter: Filter,
    mut work: impl FnMut(&Entry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    loop {
        let page = store.entries(&filter)?;
        for entry in &page {
            work(entry)?;
        }
        match page.last() {
            Some(last) => filter.after_seq = Some(last.seq),
            None => return Ok(()),
        }
    }
}

/// There is no record of this number.
pub(crate) fn no_record(file: &StoreFile, store: &dyn Store, seq: u64) -> Failure {
    let name = file.told().map(|name| name.display().to_string()).unwrap_or_default();
    let failure = Failure::new(format!("there is no record {seq} in `{name}`"));
    match store.head() {
        Ok(Some(head)) => failure.help(format!("the log has records 1 to {}", head.seq)),
        _ => failure.help("the log is empty"),
    }
}
