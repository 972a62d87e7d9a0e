//! What the verbs share: the engine that a request is answered in, and how a request is told.

use std::sync::Arc;

use jiff::Timestamp;
use midrail::core::ApprovalKind;
use midrail::store::Approval;
use midrail::store::Urgency;
use midrail::{Engine, Store};
use serde_json::{Value, json};

use crate::admin_args;
use crate::error::CliError;
use crate::output::short;
use crate::paint::Style;

/// The engine in which a request is answered, by its name.
pub(super) fn engine_for_request(store: Arc<dyn Store>, id: &str) -> Result<Engine, CliError> {
    let approval = find(&*store, id)?;
    admin_args::engine_for_approval(store, &approval)
}

/// A request, by its name.
pub(super) fn find(store: &dyn Store, id: &str) -> Result<Approval, CliError> {
    let found = store.approval(id)?;
    found.ok_or_else(|| {
        CliError::new(format!("there is no approval `{}`", short(id, 60)))
            .help("`midrail approvals list --all` shows all of them")
    })
}

/// A request as JSON, with its current status.
pub(super) fn as_json(approval: &Approval, now: Timestamp) -> Result<Value, CliError> {
    let mut value = serde_json::to_value(approval).map_err(|error| CliError::from_error(&error))?;
    if let Value::Object(fields) = &mut value {
        fields.insert("status".to_owned(), json!(approval.status_at(now)));
        if let Some(authority) = approval.authority_at(now) {
            fields.insert("authority".to_owned(), json!(authority));
            let left = approval.deadline().map(|end| end.duration_since(now).as_secs().max(0));
            fields.extend(left.map(|left| ("seconds_left".to_owned(), json!(left))));
        }
        if let Some(review) = &approval.review {
            fields.insert("review_status".to_owned(), json!(review.status_at(now)));
        }
    }
    Ok(value)
}

/// What the request is about: the tool and its arguments.
pub(super) fn action(approval: &Approval, longest: usize) -> String {
    let tool = approval.subject();
    let args: Option<Value> = serde_json::from_str(&approval.summary).ok();
    let text = match args.as_ref().and_then(Value::as_object) {
        Some(args) if args.is_empty() => tool.to_owned(),
        Some(args) => match args.iter().next() {
            Some((_, Value::String(only))) if args.len() == 1 => format!("{tool} {only}"),
            _ => format!("{tool} {}", approval.summary),
        },
        None => format!("{tool} {}", approval.summary),
    };
    short(text.trim_end(), longest).into_owned()
}

/// Why an emergency does not grant itself. `None`: it does, or it is none.
pub(super) fn no_override_reason(approval: &Approval) -> Option<&'static str> {
    match (approval.urgency, approval.override_at, &approval.denied_before) {
        (Urgency::Normal | Urgency::Urgent, _, _) | (Urgency::Emergency, Some(_), None) => None,
        (Urgency::Emergency, _, Some(_)) => Some(
            "it does not grant itself, as a person has denied this action before: only a person can answer",
        ),
        (Urgency::Emergency, None, None) => Some(
            "it does not grant itself, as the packs turn that on for other actions or for none: only a person can answer",
        ),
    }
}

/// The word for the kind.
pub(super) fn kind(approval: &Approval) -> &'static str {
    match approval.kind {
        ApprovalKind::Escalation => "escalation",
        ApprovalKind::Bypass => "bypass",
    }
}

/// The style of a status.
pub(super) fn style(status: &str) -> Style {
    match status {
        "approved" | "used" => Style::Good,
        "pending" => Style::Caution,
        "override" | "denied" => Style::Bad,
        _ => Style::Dim,
    }
}

/// The mark of a status.
pub(super) fn mark(status: &str) -> char {
    match status {
        "approved" | "used" => '✓',
        "pending" => '?',
        "override" => '!',
        "denied" => '✗',
        _ => '–',
    }
}
