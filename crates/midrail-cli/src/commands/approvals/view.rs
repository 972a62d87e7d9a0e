//! A request as people read it: everything that an approver needs to answer.

use jiff::Timestamp;
use midrail::admin::ApprovalView;
use midrail::core::ApprovalKind;
use midrail::core::duration::span;
use midrail::store::{Approval, AuditEntry, Urgency};
use serde_json::{Value, json};

use crate::decision::subject;
use crate::error::{CliResult, with_fields};
use crate::output::{Output, short};
use crate::paint::{Paint, Style, status_style};
use crate::table::{Table, cell, effect, guardrail, styled};
use crate::time;

/// Prints a request, with the records of its session around it.
pub(super) fn show(
    view: &ApprovalView,
    history: &[AuditEntry],
    now: Timestamp,
    output: &mut Output,
) -> CliResult<()> {
    let history = history.iter().map(|entry| Ok((entry.seq, entry.record()?)));
    let history = history.collect::<CliResult<Vec<_>>>()?;
    if output.is_json {
        let history = history.iter().map(|(seq, record)| {
            let (event, decision) = (&record.event, &record.decision);
            json!({
                "seq": seq, "time": record.time, "kind": event.kind, "what": subject(event),
                "effect": decision.effect, "by": decision.by, "reason": decision.reason,
            })
        });
        return output.json(&with_fields(view, json!({"history": history.collect::<Value>()})));
    }
    let paint = output.paint;
    let action = paint.style(Style::Strong, short(&view.action(), 80));
    output.line(format!("{}  {action}", status(view, output)))?;
    output.fields(&fields(view, now))?;
    let table = Table::of(
        &history,
        &[
            ("record", &|(seq, _)| cell(seq.to_string())),
            ("time", &|(_, record)| styled(time::date_time(record.time), Style::Dim)),
            ("effect", &|(_, record)| effect(record.decision.effect)),
            ("kind", &|(_, record)| cell(record.event.kind.as_str())),
            ("what", &|(_, record)| cell(short(&subject(&record.event), 48))),
            ("by", &|(_, record)| record.decision.by.as_deref().map_or_else(|| cell(""), guardrail)),
        ],
    );
    if !table.is_empty() {
        output.line(format!("\n  {}", paint.style(Style::Strong, "The session around it")))?;
        table.print(2, output)?;
    }
    let next = next(view);
    if !next.is_empty() {
        output.line("")?;
        output.lines(next.iter().map(|line| format!("  {}", paint.style(Style::Note, line))))?;
    }
    Ok(())
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
            None => add("emergency", no_override_reason(approval).unwrap_or_default().to_owned()),
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

/// The status with its mark.
pub(super) fn status(view: &ApprovalView, output: &Output) -> String {
    let (mark, style) = status_style(&view.status);
    output.paint.style(style, format!("{mark} {}", view.status))
}

/// The status, id and action of a request in one line.
pub(super) fn head(view: &ApprovalView, output: &Output) -> String {
    format!("{}  {}  {}", status(view, output), short(&view.approval.id, 40), short(&view.action(), 60))
}

/// Why an emergency request is not granted by an override. `None`: it is, or it is no emergency.
pub(super) fn no_override_reason(approval: &Approval) -> Option<&'static str> {
    match (approval.urgency, approval.override_at, &approval.denied_before) {
        (Urgency::Normal | Urgency::Urgent, _, _) | (Urgency::Emergency, Some(_), None) => None,
        (Urgency::Emergency, _, Some(_)) => Some(
            "no emergency override, because a person denied this action before: only a person can answer",
        ),
        (Urgency::Emergency, None, None) => Some(
            "no emergency override, because the packs do not enable it for this action: only a person can answer",
        ),
    }
}

/// Whether a review is overdue.
pub(super) fn is_overdue(view: &ApprovalView) -> bool {
    view.review_status.as_deref() == Some("overdue")
}

/// A review that is due, in a line.
pub(super) fn review_line(view: &ApprovalView, now: Timestamp, paint: Paint) -> String {
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
