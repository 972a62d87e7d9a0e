//! `midrail approvals show`: everything that an approver needs to answer.

use jiff::Timestamp;
use midrail::admin::{ApprovalView, session_around};
use midrail::core::ApprovalKind;
use midrail::core::duration::span;
use midrail::store::{Approval, AuditEntry, Urgency};
use serde_json::{Value, json};

use super::format;
use crate::clock;
use crate::decision::{field, subject};
use crate::error::CliError;
use crate::exit::{self, Exit};
use crate::input::StoreArgs;
use crate::output::{Output, short};
use crate::paint::{Style, effect_style};
use crate::table::{Table, cell, styled};
use crate::time;

/// Records of the session before and after the request that are shown.
const AROUND: (usize, usize) = (6, 4);

/// Show a request: the action, the reason, the agent, the session around it, and the time left.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::APPROVALS)]
pub(crate) struct Args {
    /// The request
    id: String,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    let store = args.store.read_only()?;
    let now = clock::now();
    crate::admin_args::settle(&args.store, &*store, now)?;
    let view = ApprovalView::new(format::find(&*store, &args.id)?, now);
    let history = session_around(&*store, &view.approval, AROUND)?;
    if output.is_json() {
        let mut value = serde_json::to_value(&view).map_err(|error| CliError::from_error(&error))?;
        if let Value::Object(fields) = &mut value {
            fields.insert("history".to_owned(), Value::Array(as_json(&history)?));
        }
        output.json(&value)?;
        return Ok(Exit::Good);
    }
    let (paint, width) = (output.paint(), output.width());
    let action = paint.style(Style::Strong, short(&view.action(), 80));
    output.line(format!("{}  {action}", format::status(&view, output)))?;
    for (name, text) in fields(&view, now) {
        output.lines(field(name, &text, paint, width))?;
    }
    let mut table = Table::new(&["record", "time", "effect", "kind", "what", "by"]);
    for entry in &history {
        table.row(row(entry)?);
    }
    if !table.is_empty() {
        output.line(format!("\n  {}", paint.style(Style::Strong, "The session around it")))?;
        output.table(&table, 2)?;
    }
    let next = next(&view);
    if !next.is_empty() {
        output.line("")?;
        output.lines(next.iter().map(|line| format!("  {}", paint.style(Style::Note, line))))?;
    }
    Ok(Exit::Good)
}

fn fields(view: &ApprovalView, now: Timestamp) -> Vec<(&'static str, String)> {
    let approval = &view.approval;
    let mut fields = Vec::new();
    let mut add = |name: &'static str, text: String| {
        if !text.is_empty() {
            fields.push((name, text));
        }
    };
    let or_nothing = |text: &Option<String>| text.clone().unwrap_or_default();
    let at =
        |time: Option<Timestamp>| time.map(|time| format!(", {}", time::date_time(time))).unwrap_or_default();
    let between = |one: Timestamp, other: Timestamp| span(other.duration_since(one));
    add("id", approval.id.clone());
    let kind = if approval.kind == ApprovalKind::Bypass { "bypass" } else { "escalation" };
    add(
        "guardrail",
        format!("{}: {kind}, {}", midrail::guardrails::label(&approval.guardrail), approval.urgency.as_str()),
    );
    add("blocked", approval.reason.clone());
    add(
        "needed for",
        approval.justification.clone().unwrap_or_else(|| "the agent gave no reason".to_owned()),
    );
    add("agent", or_nothing(&approval.requested_by));
    add("session", approval.session.clone());
    add("task", or_nothing(&approval.task));
    add("tool", or_nothing(&approval.tool));
    add("arguments", approval.summary.clone());
    if view.authority.is_some() || view.status == "approved" {
        add(
            "bound to",
            "the exact action, session and task; any agent of them may use the answer".to_owned(),
        );
    }
    add(
        "requested",
        format!("{} ({} ago)", time::date_time(approval.created), between(approval.created, now)),
    );
    if let Some(authority) = &view.authority {
        let left = view.deadline.map(|end| format!(", {} left", between(now, end)));
        add("waits for", format!("{authority}{}", left.unwrap_or_default()));
        add("", next_authorities(approval, authority));
        match approval.override_at {
            Some(end) if now < end => add("emergency", format!("override in {}", between(now, end))),
            Some(_) => add("emergency", "the override is in effect".to_owned()),
            None => add("emergency", format::no_override_reason(approval).unwrap_or_default().to_owned()),
        }
    } else if approval.decided_by.is_none() && view.status == "timed out" {
        let end = approval.deadline().map(time::date_time).unwrap_or_default();
        add("timed out", format!("no answer until {end}; this is not a denial, and can be requested again"));
    }
    if let Some(by) = &approval.decided_by {
        let role = approval.decided_role.as_ref().map(|role| format!(" ({role})")).unwrap_or_default();
        add("decided by", format!("{by}{role}{}", at(approval.decided_at)));
    }
    add("note", or_nothing(&approval.note));
    if let Some(was) = &approval.taken_back {
        add("revoked", format!("the approval by {}{}", was.by.as_deref().unwrap_or("someone"), at(was.at)));
    }
    if view.status == "approved" {
        let within = approval.deadline().map(|end| format!(", within {}", between(now, end)));
        add("allows", format!("once{}", within.unwrap_or_default()));
    }
    add("used", approval.used_at.map(time::date_time).unwrap_or_default());
    add("severity", approval.severity.map(|severity| severity.as_str().to_owned()).unwrap_or_default());
    if let Some(review) = &approval.review {
        let by = review.filed_by.as_deref().unwrap_or("someone");
        let text = match review.status_at(now) {
            "filed" => format!("filed by {by}{}: {}", at(review.filed_at), or_nothing(&review.text)),
            "overdue" => format!("OVERDUE by {}", between(review.due, now)),
            _ => format!("due in {}", between(now, review.due)),
        };
        add("review", text);
    }
    add("record", approval.seq.map(|seq| seq.to_string()).unwrap_or_default());
    fields
}

/// The authorities that an urgent request goes to next.
fn next_authorities(approval: &Approval, authority: &str) -> String {
    let at = approval.approvers.iter().position(|role| role == authority);
    let later = at.and_then(|at| approval.approvers.get(at + 1..)).unwrap_or_default();
    if later.is_empty() || approval.urgency != Urgency::Urgent {
        return String::new();
    }
    format!("then {}", later.join(", then "))
}

/// The subcommands that can be used next.
fn next(view: &ApprovalView) -> Vec<String> {
    let id = short(&view.approval.id, 40);
    if view.authority.is_some() {
        return vec![
            format!("midrail approvals approve {id} --as NAME --note \"…\""),
            format!("midrail approvals deny {id} --as NAME --note \"…\""),
        ];
    }
    if view.status == "approved" {
        return vec![format!("midrail approvals deny {id} --as NAME --note \"…\"  (revokes it)")];
    }
    let review = || format!("midrail approvals review {id} --as NAME --text \"…\"");
    view.approval.needs_review().then(review).into_iter().collect()
}

fn as_json(history: &[AuditEntry]) -> Result<Vec<Value>, CliError> {
    let one = |entry: &AuditEntry| {
        let record = entry.record()?;
        let (event, decision) = (&record.event, &record.decision);
        Ok(json!({
            "seq": entry.seq, "time": record.time, "kind": event.kind, "what": subject(event),
            "effect": decision.effect, "by": decision.by, "reason": decision.reason,
        }))
    };
    history.iter().map(one).collect()
}

fn row(entry: &AuditEntry) -> Result<Vec<(String, Option<Style>)>, CliError> {
    let record = entry.record()?;
    let decision = &record.decision;
    Ok(vec![
        cell(entry.seq.to_string()),
        styled(time::date_time(record.time), Style::Dim),
        styled(decision.effect.as_str(), effect_style(decision.effect)),
        cell(record.event.kind.as_str()),
        cell(short(&subject(&record.event), 48)),
        cell(
            decision
                .by
                .as_deref()
                .map(|by| short(&midrail::guardrails::label(by), 60).into_owned())
                .unwrap_or_default(),
        ),
    ])
}
