//! `midrail approvals list`: what waits for people, and what they owe.

use jiff::Timestamp;
use midrail::store::ApprovalFilter;
use midrail::{Approval, Policy};

use super::format;
use crate::clock;
use crate::error::{CliError, count};
use crate::exit::{self, Exit};
use crate::input::{PackArgs, StoreArgs};
use crate::output::{Output, short};
use crate::paint::Style;
use crate::table::{self, cell, styled};
use crate::time;

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
    let owed = store.approvals(&ApprovalFilter { needs_review: true, ..ApprovalFilter::default() })?;
    let overdue: Vec<&Approval> = owed.iter().filter(|approval| is_overdue(approval, now)).collect();
    let mut rows: Vec<Approval> = match args.overdue {
        true => overdue.iter().map(|approval| (*approval).clone()).collect(),
        false => store.approvals(&ApprovalFilter::default())?,
    };
    rows.retain(|approval| args.overdue || args.wants(approval, policy.as_ref(), now));
    rows.reverse();
    if output.is_json() && !args.overdue {
        // On top, as people see them.
        let is_new = |approval: &&Approval| rows.iter().all(|row| row.id != approval.id);
        let owed: Vec<Approval> = owed.iter().filter(is_new).cloned().collect();
        rows.splice(0..0, owed);
    }
    let paint = output.paint();
    if !output.is_json() {
        for approval in owed.iter().filter(|approval| !args.overdue || is_overdue(approval, now)) {
            output.line(review_line(approval, now, paint))?;
        }
        if !overdue.is_empty() && !args.overdue {
            output.line("")?;
        }
    }
    let heads = ["id", "status", "urgency", "for", "time left", "what", "asked by", "guardrail"];
    let nothing = match (args.overdue, args.all) {
        (true, _) => "no review is overdue",
        (false, true) => "no requests yet",
        (false, false) => "no requests are pending",
    };
    if !args.overdue || output.is_json() || overdue.is_empty() {
        let json = |approval: &Approval, output: &mut Output| output.json(&format::as_json(approval, now)?);
        table::print(&rows, &heads, nothing, |approval| row(approval, now), json, output)?;
    }
    let waiting = rows.iter().filter(|approval| approval.authority_at(now).is_some()).count();
    if waiting > 0 && output.is_terminal() && !output.is_json() {
        let text =
            format!("{} pending; show one with `midrail approvals show ID`", count(waiting, "request"));
        output.line(paint.style(Style::Dim, text))?;
    }
    Ok(Exit::Good)
}

impl Args {
    fn wants(&self, approval: &Approval, policy: Option<&Policy>, now: Timestamp) -> bool {
        let status = approval.status_at(now);
        let is_wanted = match self.state.as_deref() {
            Some("timed-out") => status == "timed out",
            Some(state) => status == state,
            None => self.all || approval.authority_at(now).is_some(),
        };
        let is_mine = match (&self.mine_role, policy) {
            (Some(role), Some(policy)) => {
                let authority = approval.authority_at(now);
                authority.is_some_and(|authority| policy.authorities().may_decide(role, authority))
            }
            _ => true,
        };
        is_wanted && is_mine
    }
}

fn is_overdue(approval: &Approval, now: Timestamp) -> bool {
    approval.review.as_ref().is_some_and(|review| review.status_at(now) == "overdue")
}

fn review_line(approval: &Approval, now: Timestamp, paint: crate::paint::Paint) -> String {
    let due = approval.review.as_ref().map(|review| time::span_between(review.due, now)).unwrap_or_default();
    let (style, how) = match is_overdue(approval, now) {
        true => (Style::Bad, format!("✗ review overdue by {due}")),
        false => (Style::Caution, format!("! review due within {due}")),
    };
    let head = format!("{how}: {}  {}", short(&approval.id, 40), format::action(approval, 48));
    format!(
        "{}\n  midrail approvals review {} --as NAME --text \"…\"",
        paint.style(style, head),
        short(&approval.id, 40)
    )
}

fn row(approval: &Approval, now: Timestamp) -> Vec<(String, Option<Style>)> {
    let status = approval.status_at(now);
    let authority = approval.authority_at(now);
    let left = match approval.override_at.filter(|at| authority.is_some() && now < *at) {
        Some(at) => Some(format!("{} to override", time::span_between(now, at))),
        None => authority.and_then(|_| approval.deadline()).map(|end| time::span_between(now, end)),
    };
    let urgency = approval.urgency.as_str();
    let is_usual = urgency == "normal";
    vec![
        cell(short(&approval.id, 20)),
        styled(format!("{} {status}", format::mark(status)), format::style(status)),
        styled(urgency, if is_usual { Style::Dim } else { Style::Bad }),
        cell(short(authority.unwrap_or("-"), 20)),
        cell(left.unwrap_or_else(|| "-".to_owned())),
        cell(format::action(approval, 40)),
        cell(short(approval.requested_by.as_deref().unwrap_or("-"), 20)),
        cell(short(&approval.guardrail, 40)),
    ]
}
