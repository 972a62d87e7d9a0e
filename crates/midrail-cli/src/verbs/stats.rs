//! `midrail stats`: what guardrails did, counted.

mod prometheus;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use midrail::store::{Alert, Alerts, ApprovalFilter, Approvals, Figures, MAX_PAGE, Notices, Slices, Stats};
use midrail::{ApprovalKind, ApprovalState, Category, Pause, SqliteStore, page};

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

/// All categories, in the order of the chain.
const CATEGORIES: [Category; 5] =
    [Category::Safety, Category::Compliance, Category::Budget, Category::Scope, Category::Quality];

/// All that is shown.
struct Counted {
    now: Timestamp,
    since: Option<Timestamp>,
    figures: Figures,
    /// Requests to lift a guardrail, by guardrail and outcome.
    bypasses: BTreeMap<(String, Outcome), u64>,
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

/// What became of a request to lift a guardrail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Pending,
    Approved,
    Denied,
    TimedOut,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Outcome::Pending => "pending",
            Outcome::Approved => "approved",
            Outcome::Denied => "denied",
            Outcome::TimedOut => "timed_out",
        }
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    let store = desk::to_look_at(&args.store)?;
    let categories = categories(&args.packs);
    loop {
        desk::settle(&args.store, &store, clock::now())?;
        let counted = Counted::of(&store, args.since)?;
        if args.prometheus {
            output.text(&prometheus::text(&counted, &categories))?;
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
    fn of(store: &SqliteStore, since: Option<Timestamp>) -> Result<Self, Failure> {
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
            bypasses: bypasses(store, now)?,
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

/// Requests to lift a guardrail by what became of them. The store keeps a request that nobody answered as it was, until
/// somebody acts on it; and one that was approved and not used in time as expired.
fn bypasses(store: &SqliteStore, now: Timestamp) -> Result<BTreeMap<(String, Outcome), u64>, Failure> {
    let mut counts: BTreeMap<(String, Outcome), u64> = BTreeMap::new();
    for row in store.approval_counts()?.into_iter().filter(|row| row.kind == ApprovalKind::Bypass) {
        let outcome = match row.state {
            ApprovalState::Pending => Outcome::Pending,
            ApprovalState::Approved | ApprovalState::Used => Outcome::Approved,
            ApprovalState::Denied => Outcome::Denied,
            ApprovalState::Expired => Outcome::TimedOut,
        };
        *counts.entry((row.guardrail, outcome)).or_default() += row.count;
    }
    let mut moved = |guardrail: &str, from: Outcome, to: Outcome| {
        if let Some(count) = counts.get_mut(&(guardrail.to_owned(), from))
            && *count > 0
        {
            *count -= 1;
            *counts.entry((guardrail.to_owned(), to)).or_default() += 1;
        }
    };
    let of_state = |state| {
        let kind = Some(ApprovalKind::Bypass);
        store.approvals(&ApprovalFilter { kind, state: Some(state), ..ApprovalFilter::default() })
    };
    for approval in of_state(ApprovalState::Pending)? {
        if approval.status_at(now) == "timed out" {
            moved(&approval.guardrail, Outcome::Pending, Outcome::TimedOut);
        }
    }
    for approval in of_state(ApprovalState::Expired)?.iter().filter(|it| it.decided_by.is_some()) {
        moved(&approval.guardrail, Outcome::TimedOut, Outcome::Approved);
    }
    counts.retain(|_, count| *count > 0);
    Ok(counts)
}

/// The category of each guardrail that is in force here. Packs that cannot be read do not hinder counting.
fn categories(packs: &Packs) -> BTreeMap<String, &'static str> {
    let Ok(loaded) = packs.here().load() else { return BTreeMap::new() };
    let entries = loaded.policy.entries().iter();
    entries.map(|entry| (entry.spec.id.to_string(), entry.spec.category.word())).collect()
}

/// The category of a guardrail: that of the packs here, else that of the catalogue, else the one that its name tells.
fn category(id: &str, known: &BTreeMap<String, &'static str>) -> &'static str {
    let told = || {
        let word = id.strip_prefix("custom-")?.split('-').next()?;
        CATEGORIES.into_iter().map(Category::word).find(|name| *name == word)
    };
    let of_page = || page(id).map(|page| page.category.word());
    known.get(id).copied().or_else(of_page).or_else(told).unwrap_or("unknown")
}
