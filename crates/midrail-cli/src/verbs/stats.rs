//! `midrail stats`: what guardrails did, counted.

mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use midrail::metrics::{self, Bypasses, Measured};
use midrail::store::{Alert, ApprovalFilter, Figures, MAX_PAGE};
use midrail::{ApprovalState, Pause, Store};

use crate::clock;
use crate::desk;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input::{Packs, StoreFile};
use crate::output::Output;
use crate::when;

/// How often `--watch` counts anew.
const INTERVAL: Duration = Duration::from_secs(1);

/// Alerts that are shown.
const ALERTS: usize = 10;

/// What guardrails did: how often they were asked, what they said, how long they took.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Count anew every second, until interrupted
    #[arg(long, conflicts_with = "prometheus")]
    watch: bool,
    /// Print the metrics in the text format of Prometheus
    #[arg(long, conflicts_with_all = ["since", "json"])]
    prometheus: bool,
    /// Only decisions at or after this time: 2026-11-15T10:00:00Z, 2026-11-15, or how long ago, such as 2h
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    since: Option<Timestamp>,
    #[command(flatten)]
    store: StoreFile,
    #[command(flatten)]
    packs: Packs,
}

/// All that is shown.
struct Counted {
    now: Timestamp,
    since: Option<Timestamp>,
    figures: Figures,
    /// Requests to lift a guardrail, by guardrail and outcome.
    bypasses: Bypasses,
    /// Requests that wait for an answer.
    open: usize,
    /// Reviews that are owed after emergencies.
    reviews: usize,
    alerts: Vec<Alert>,
    quarantined: usize,
    /// Where guardrails speak without consequence now.
    paused: Vec<Pause>,
    /// Notices that wait for their webhook or command.
    undelivered: usize,
    counters: BTreeMap<String, u64>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    let store = desk::to_look_at(&args.store)?;
    let categories = categories(&args.packs);
    loop {
        desk::settle(&args.store, &*store, clock::now())?;
        let counted = Counted::of(&*store, args.since)?;
        if args.prometheus {
            let measured = Measured {
                project: None,
                figures: &counted.figures,
                bypasses: &counted.bypasses,
                reviews: metrics::reviews(&*store, clock::now())?,
                categories: &categories,
            };
            output.text(&metrics::guardrails(&[measured]))?;
        } else if output.is_json() {
            output.json(&view::json(&counted))?;
        } else {
            if args.watch && output.is_terminal() {
                // From the top of the screen, which is cleared.
                output.text("\x1b[H\x1b[2J")?;
            }
            for line in view::lines(&counted, output) {
                output.line(line)?;
            }
        }
        if !args.watch {
            return Ok(Exit::Good);
        }
        output.flush()?;
        thread::sleep(INTERVAL);
    }
}

impl Counted {
    fn of(store: &dyn Store, since: Option<Timestamp>) -> Result<Self, Failure> {
        let now = clock::now();
        let figures = match since {
            Some(since) => store.figures_since(since)?,
            None => store.figures()?,
        };
        let pending =
            store.approvals(&ApprovalFilter { state: Some(ApprovalState::Pending), ..Default::default() })?;
        let waits = |status: &str| matches!(status, "pending" | "override");
        let reviews = store.approvals(&ApprovalFilter { needs_review: true, ..Default::default() })?;
        let mut alerts = store.alerts(ALERTS)?;
        alerts.retain(|alert| since.is_none_or(|since| alert.fired_at >= since));
        let mut undelivered = BTreeSet::new();
        for channel in ["webhook", "command"] {
            undelivered.extend(store.undelivered(channel, MAX_PAGE)?.iter().map(|it| it.notice.id));
        }
        Ok(Counted {
            now,
            since,
            figures,
            bypasses: metrics::bypasses(store, now)?,
            open: pending.iter().filter(|approval| waits(approval.status_at(now))).count(),
            reviews: reviews.len(),
            alerts,
            quarantined: store.load_prefix("", "shared/quarantine/")?.len(),
            paused: midrail::pauses_at(store, now)?,
            undelivered: undelivered.len(),
            counters: store.counters()?,
        })
    }
}

/// The category of each guardrail that is in force here. Packs that cannot be read do not hinder counting.
fn categories(packs: &Packs) -> BTreeMap<String, &'static str> {
    let Ok(loaded) = packs.here().load() else { return BTreeMap::new() };
    metrics::categories(&loaded.policy)
}
