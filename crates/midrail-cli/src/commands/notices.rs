//! `midrail notices`: notices to people and agents, as a stream.

use std::collections::VecDeque;
use std::thread;
use std::time::Duration;

use midrail::Store;
use midrail::admin::Resource;
use midrail::store::{MAX_PAGE, StoredNotice};

use crate::admin_args::{self, AdminArgs};
use crate::clock;
use crate::error::{CliResult, count};
use crate::exit::Exit;
use crate::output::{Output, short};
use crate::paint::Style;
use crate::time;

/// How often new notices are read.
const INTERVAL: Duration = Duration::from_millis(250);

/// Show notices: approval requests, alerts, hand-offs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keep showing new notices until interrupted
    #[arg(long)]
    follow: bool,
    /// Only notices for this role: orchestrator, reviewer, human_operator, ...
    #[arg(long, value_name = "ROLE")]
    to: Option<String>,
    /// Only notices of this kind: approval, alert, handoff, error, quarantine, task, ...
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only notices after this id
    #[arg(long, value_name = "ID")]
    after: Option<u64>,
    /// Without --after: the most notices shown, the latest; 0 for all
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Deliver pending notices to webhooks and commands, as the packs define
    #[arg(long)]
    deliver: bool,
    #[command(flatten)]
    admin: AdminArgs,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let engine = args.admin.list_engine()?;
    settle(args, engine.store().as_ref())?;
    if args.deliver {
        let delivered = engine.background().deliver_notices();
        output.note(&format!("{} delivered", count(delivered, "notice")));
    }
    let mut last = first(args, engine.store().as_ref(), output)?;
    if !args.follow {
        return Ok(Exit::Good);
    }
    loop {
        output.flush()?;
        thread::sleep(INTERVAL);
        settle(args, engine.store().as_ref())?;
        if args.deliver {
            engine.background().deliver_notices();
        }
        last = each(args, engine.store().as_ref(), last, |notice| print(notice, output))?;
    }
}

/// Records requests that timed out, which may create notices.
fn settle(args: &Args, store: &dyn Store) -> CliResult<()> {
    admin_args::settle(&args.admin.store, store, clock::now())
}

/// Prints the existing notices, and returns the id of the last.
fn first(args: &Args, store: &dyn Store, output: &mut Output) -> CliResult<u64> {
    if let Some(after) = args.after {
        return each(args, store, after, |notice| print(notice, output));
    }
    let mut kept: VecDeque<StoredNotice> = VecDeque::new();
    let last = each(args, store, 0, |notice| {
        if args.limit > 0 && kept.len() == args.limit {
            kept.pop_front();
        }
        kept.push_back(notice.clone());
        Ok(())
    })?;
    kept.iter().try_for_each(|notice| print(notice, output))?;
    if kept.is_empty() && !args.follow && !output.is_json {
        output.line(StoredNotice::EMPTY)?;
    }
    Ok(last)
}

/// Visits the notices after an id, and returns the id of the last.
fn each(
    args: &Args,
    store: &dyn Store,
    mut after: u64,
    mut work: impl FnMut(&StoredNotice) -> CliResult<()>,
) -> CliResult<u64> {
    let is = |wanted: &Option<String>, word: &str| wanted.as_ref().is_none_or(|wanted| wanted == word);
    loop {
        let page = store.notices(after, MAX_PAGE)?;
        let Some(last) = page.last() else { return Ok(after) };
        after = last.id;
        let fits = page.iter().filter(|notice| is(&args.to, &notice.to) && is(&args.kind, &notice.kind));
        fits.into_iter().try_for_each(&mut work)?;
    }
}

fn print(notice: &StoredNotice, output: &mut Output) -> CliResult<()> {
    if output.is_json {
        return output.json(notice);
    }
    let paint = output.paint;
    output.line(format!(
        "{:>5}  {}  {}  {}  {}",
        notice.id,
        paint.style(Style::Dim, time::date_time(notice.time)),
        paint.style(Style::Strong, short(&notice.to, 20)),
        short(&notice.kind, 20),
        short(&notice.message, 300),
    ))
}
