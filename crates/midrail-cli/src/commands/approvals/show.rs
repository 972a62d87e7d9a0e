//! `midrail approvals show`: everything that someone has to know to answer.

use jiff::Timestamp;
use midrail::store::{AuditEntry, AuditFilter};
use midrail::{Approval, Store};
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

/// Records of the session that are shown from before and after the request.
const BEFORE: usize = 6;
const AFTER: usize = 4;

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
    let approval = format::find(&*store, &args.id)?;
    let history = history(&*store, &approval)?;
    if output.is_json() {
        let mut value = format::as_json(&approval, now)?;
        if let Value::Object(fields) = &mut value {
            fields.insert("history".to_owned(), Value::Array(as_json(&history)?));
        }
        output.json(&value)?;
        return Ok(Exit::Good);
    }
    let (paint, width) = (output.paint(), output.width());
    let status = approval.status_at(now);
    let head = format!("{} {status}", format::mark(status));
    output.line(format!(
        "{}  {}",
        paint.style(format::style(status), head),
        paint.style(Style::Strong, format::action(&approval, 80))
    ))?;
    for (name, text) in fields(&approval, now) {
        for line in field(name, &text, paint, width) {
            output.line(line)?;
        }
    }
    let mut table = Table::new(&["record", "time", "effect", "kind", "what", "by"]);
    for entry in &history {
        table.row(row(entry)?);
    }
    if !table.is_empty() {
        output.line("")?;
        output.line(format!("  {}", paint.style(Style::Strong, "The session around it")))?;
        for line in table.lines(paint, 2, width) {
            output.line(line)?;
        }
    }
    let next = next(&approval, now);
    if !next.is_empty() {
        output.line("")?;
        for line in next {
            output.line(format!("  {}", paint.style(Style::Note, line)))?;
        }
    }
    Ok(Exit::Good)
}

fn fields(approval: &Approval, now: Timestamp) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    let mut add = |name: &'static str, text: String| {
        if !text.is_empty() {
            fields.push((name, text));
        }
    };
    let or_nothing = |text: &Option<String>| text.clone().unwrap_or_default();
    add("id", approval.id.clone());
    add(
        "guardrail",
        format!("{} ({}, {})", approval.guardrail, format::kind(approval), approval.urgency.as_str()),
    );
    add("stopped", approval.reason.clone());
    let unsaid = "the agent has not said".to_owned();
    add("needed for", approval.justification.clone().unwrap_or(unsaid));
    add("agent", or_nothing(&approval.requested_by));
    add("session", approval.session.clone());
    add("task", or_nothing(&approval.task));
    add("tool", or_nothing(&approval.tool));
    add("arguments", approval.summary.clone());
    if approval.authority_at(now).is_some() || approval.status_at(now) == "approved" {
        add(
            "bound to",
            "the exact action, session and task; any agent of theirs may use the answer".to_owned(),
        );
    }
    add(
        "asked",
        format!("{} ({} ago)", time::date_time(approval.created), time::span_between(approval.created, now)),
    );
    if let Some(authority) = approval.authority_at(now) {
        let left = approval.deadline().map(|end| format!(", {} left", time::span_between(now, end)));
        add("waits for", format!("{authority}{}", left.unwrap_or_default()));
        add("", route(approval, authority));
    } else if approval.decided_by.is_none() && approval.status_at(now) == "timed out" {
        let at = approval.deadline().map(time::date_time).unwrap_or_default();
        add("timed out", format!("no answer until {at}; this is not a denial, and can be requested again"));
    }
    if let Some(at) = approval.override_at.filter(|_| approval.authority_at(now).is_some()) {
        let text = if now >= at {
            "it grants itself now".to_owned()
        } else {
            format!("it grants itself in {}", time::span_between(now, at))
        };
        add("emergency", text);
    } else if approval.authority_at(now).is_some() {
        add("emergency", format::no_override_reason(approval).unwrap_or_default().to_owned());
    }
    if let Some(by) = &approval.decided_by {
        let role = approval.decided_role.as_ref().map(|role| format!(" ({role})")).unwrap_or_default();
        let at = approval.decided_at.map(|time| format!(", {}", time::date_time(time))).unwrap_or_default();
        add("decided by", format!("{by}{role}{at}"));
    }
    add("note", or_nothing(&approval.note));
    if let Some(was) = &approval.taken_back {
        let by = was.by.as_deref().unwrap_or("someone");
        let at = was.at.map(|time| format!(", {}", time::date_time(time))).unwrap_or_default();
        add("taken back", format!("the approval by {by}{at}"));
    }
    if approval.status_at(now) == "approved" {
        let until = approval.deadline().map(|end| format!(", within {}", time::span_between(now, end)));
        add("allows", format!("once{}", until.unwrap_or_default()));
    }
    add("used", approval.used_at.map(time::date_time).unwrap_or_default());
    add("severity", approval.severity.map(|severity| severity.as_str().to_owned()).unwrap_or_default());
    if let Some(review) = &approval.review {
        let text = match review.status_at(now) {
            "filed" => format!(
                "filed by {}, {}: {}",
                review.filed_by.as_deref().unwrap_or("someone"),
                review.filed_at.map(time::date_time).unwrap_or_default(),
                review.text.as_deref().unwrap_or_default()
            ),
            "overdue" => format!("OVERDUE by {}", time::span_between(review.due, now)),
            _ => format!("due in {}", time::span_between(now, review.due)),
        };
        add("review", text);
    }
    add("record", approval.seq.map(|seq| seq.to_string()).unwrap_or_default());
    fields
}

/// Whom an urgent request goes to next.
fn route(approval: &Approval, authority: &str) -> String {
    let at = approval.approvers.iter().position(|role| role == authority);
    let later = at.and_then(|at| approval.approvers.get(at + 1..)).unwrap_or_default();
    if later.is_empty() || approval.urgency.as_str() != "urgent" {
        return String::new();
    }
    format!("then {}", later.join(", then "))
}

fn next(approval: &Approval, now: Timestamp) -> Vec<String> {
    let id = short(&approval.id, 40);
    if approval.authority_at(now).is_some() {
        return vec![
            format!("midrail approvals approve {id} --as NAME --note \"…\""),
            format!("midrail approvals deny {id} --as NAME --note \"…\""),
        ];
    }
    if approval.status_at(now) == "approved" {
        return vec![format!("midrail approvals deny {id} --as NAME --note \"…\"  (takes it back)")];
    }
    match approval.needs_review() {
        true => vec![format!("midrail approvals review {id} --as NAME --text \"…\"")],
        false => Vec::new(),
    }
}

/// What the session did before and after the request.
fn history(store: &dyn Store, approval: &Approval) -> Result<Vec<AuditEntry>, CliError> {
    let of = AuditFilter { session: Some(approval.session.clone()), ..AuditFilter::default() };
    let mut around = store.entries(&AuditFilter {
        until: Some(approval.created),
        newest_first: true,
        limit: Some(BEFORE),
        ..of.clone()
    })?;
    around.reverse();
    around.extend(store.entries(&AuditFilter { since: Some(approval.created), limit: Some(AFTER), ..of })?);
    Ok(around)
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
        cell(short(decision.by.as_deref().unwrap_or_default(), 40)),
    ])
}
