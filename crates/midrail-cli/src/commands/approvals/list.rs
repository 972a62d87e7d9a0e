//! `midrail approvals list`: open requests, and reviews that are due.

use jiff::Timestamp;
use midrail::Policy;
use midrail::admin::ApprovalView;
use midrail::core::duration::span;
use midrail::store::ApprovalFilter;

use crate::clock;
use crate::error::{CliError, count};
use crate::exit::{self, Exit};
use crate::input::{PackArgs, StoreArgs};
use crate::list::list_or;
use crate::output::{Output, short};
use crate::paint::{Paint, Style};

/// List pending requests, the latest last. Reviews that are due come first.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::APPROVALS)]
pub(crate) struct Args {
    /// Also requests that are closed
    #[arg(long, conflicts_with = "state")]
    all: bool,
    /// Only requests in this state
    #[arg(long, value_name = "STATE", value_parser = STATES)]
    state: Option<String>,
    /// Only requests that this role may answer now
    #[arg(long, value_name = "ROLE")]
    mine_role: Option<String>,
    /// Only requests whose review is overdue
    #[arg(long, conflicts_with_all = ["all", "state", "mine_role"])]
    overdue: bool,
    #[command(flatten)]
    packs: PackArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// The states of a request.
const STATES: [&str; 7] = ["pending", "override", "approved", "denied", "timed-out", "expired", "used"];

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    let store = args.store.open_for_list()?;
    let now = clock::now();
    crate::admin_args::settle(&args.store, &*store, now)?;
    let policy = args.mine_role.as_ref().map(|_| args.packs.here().load()).transpose()?;
    let policy = policy.map(|loaded| loaded.policy);
    let views = |filter: &ApprovalFilter| -> Result<Vec<ApprovalView>, CliError> {
        let found = store.approvals(filter)?.into_iter();
        Ok(found.map(|approval| ApprovalView::new(approval, now)).collect())
    };
    let mut due = views(&ApprovalFilter { needs_review: true, ..ApprovalFilter::default() })?;
    due.retain(|view| !args.overdue || is_overdue(view));
    let mut rows = if args.overdue { due.clone() } else { views(&ApprovalFilter::default())? };
    rows.retain(|view| args.overdue || args.matches(view, policy.as_ref()));
    rows.reverse();
    if output.is_json() {
        let is_listed = |view: &ApprovalView| rows.iter().any(|row| row.approval.id == view.approval.id);
        let others: Vec<ApprovalView> = due.iter().filter(|view| !is_listed(view)).cloned().collect();
        rows.splice(0..0, others);
    } else {
        let paint = output.paint();
        output.lines(due.iter().map(|view| review_line(view, now, paint)))?;
        if due.iter().any(is_overdue) && !args.overdue {
            output.line("")?;
        }
        if args.overdue && !due.is_empty() {
            return Ok(Exit::Good);
        }
    }
    let empty = match &args.state {
        _ if args.overdue => "no review is overdue".to_owned(),
        Some(state) => format!("no requests are {}", state.replace('-', " ")),
        None if args.all => "no requests yet".to_owned(),
        None => "no requests are pending".to_owned(),
    };
    list_or(&rows, &empty, output)?;
    let waiting = rows.iter().filter(|view| view.authority.is_some()).count();
    if waiting > 0 && output.is_terminal() && !output.is_json() {
        let text =
            format!("{} pending; show one with `midrail approvals show ID`", count(waiting, "request"));
        output.line(output.paint().style(Style::Dim, text))?;
    }
    Ok(Exit::Good)
}

impl Args {
    fn matches(&self, view: &ApprovalView, policy: Option<&Policy>) -> bool {
        let has_state = match &self.state {
            Some(state) => view.status == state.replace('-', " "),
            None => self.all || view.authority.is_some(),
        };
        let may_answer = |role: &str| {
            let authority = view.authority.as_deref().zip(policy);
            authority.is_some_and(|(authority, policy)| policy.authorities().may_decide(role, authority))
        };
        has_state && self.mine_role.as_deref().is_none_or(may_answer)
    }
}

fn is_overdue(view: &ApprovalView) -> bool {
    view.review_status.as_deref() == Some("overdue")
}

fn review_line(view: &ApprovalView, now: Timestamp, paint: Paint) -> String {
    let due =
        view.approval.review.as_ref().map(|review| span(review.due.duration_since(now))).unwrap_or_default();
    let (style, text) = if is_overdue(view) {
        (Style::Bad, format!("✗ review overdue by {due}"))
    } else {
        (Style::Caution, format!("! review due within {due}"))
    };
    let id = short(&view.approval.id, 40);
    let head = paint.style(style, format!("{text}: {id}  {}", short(&view.action(), 48)));
    format!("{head}\n  midrail approvals review {id} --as NAME --text \"…\"")
}
