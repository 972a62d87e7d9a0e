//! `midrail stats`: figures of guardrails.

mod view;

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use midrail::admin::Stats;
use midrail::metrics::{self, ProjectMetrics};

use crate::admin_args;
use crate::clock;
use crate::error::CliResult;
use crate::exit::Exit;
use crate::input::{PackArgs, StoreArgs};
use crate::output::Output;
use crate::time;

/// How often `--watch` refreshes.
const INTERVAL: Duration = Duration::from_secs(1);

/// Show guardrail statistics: evaluations, effects and durations.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Refresh every second until interrupted
    #[arg(long, conflicts_with = "prometheus")]
    watch: bool,
    /// Print metrics in the Prometheus text format
    #[arg(long, conflicts_with_all = ["since", "json"])]
    prometheus: bool,
    /// Only decisions since this time: 2026-11-15T10:00:00Z, 2026-11-15, or a duration ago such as 2h
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    since: Option<Timestamp>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    packs: PackArgs,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let store = admin_args::open_for_reading(&args.store)?;
    let categories = categories(&args.packs);
    loop {
        admin_args::settle(&args.store, &*store, clock::now())?;
        let now = clock::now();
        let stats = Stats::load(&*store, args.since, now)?;
        let bypasses = metrics::bypasses(&*store, now)?;
        if args.prometheus {
            let measured = ProjectMetrics {
                project: None,
                figures: &stats.figures,
                bypasses: &bypasses,
                reviews: metrics::reviews(&*store, now)?,
                categories: &categories,
            };
            output.text(&metrics::guardrails(&[measured]))?;
        } else if output.is_json() {
            output.json(&view::json(&stats, &bypasses))?;
        } else {
            if args.watch && output.is_terminal() {
                // Clear the screen.
                output.text("\x1b[H\x1b[2J")?;
            }
            output.lines(view::lines(&stats, output))?;
        }
        if !args.watch {
            return Ok(Exit::Good);
        }
        output.flush()?;
        thread::sleep(INTERVAL);
    }
}

/// The category of each guardrail in force. Packs that cannot be read are ignored.
fn categories(packs: &PackArgs) -> BTreeMap<String, &'static str> {
    let Ok(loaded) = packs.here().load() else { return BTreeMap::new() };
    metrics::categories(&loaded.policy)
}
