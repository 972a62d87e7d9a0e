//! Approvals as every view shows them: requests to people, with their current status. Requesting and answering are
//! operations of [`Engine::approvals`](crate::Engine::approvals).

use jiff::Timestamp;
use midrail_core::ApprovalKind;
use midrail_core::duration::span;
use midrail_store::{Approval, ApprovalFilter, ApprovalState, AuditEntry, AuditFilter, Result, Store};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::admin::handle::{Admin, Cell, Column, Resource};
use crate::approvals::is_alike;
use crate::error::EngineResult;

/// A request to a person, with its current status.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "ApprovalShown")]
pub struct ApprovalView {
    /// The request.
    #[serde(flatten)]
    pub approval: Approval,
    /// Its status: `pending`, `override`, `timed out`, `approved`, `expired`, `denied` or `used`.
    pub status: String,
    /// The role that may answer it, as long as it is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    /// When the request times out without an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Seconds until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<i64>,
    /// The status of its review: `due`, `overdue` or `filed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_status: Option<String>,
    /// The time left, in words.
    #[serde(skip)]
    time_left: String,
}

impl ApprovalView {
    /// The view of a request at a time.
    pub fn new(approval: Approval, now: Timestamp) -> Self {
        let authority = approval.authority_at(now).map(str::to_owned);
        let deadline = approval.deadline().filter(|_| authority.is_some());
        let time_left = match approval.override_at.filter(|at| authority.is_some() && now < *at) {
            Some(at) => format!("{} to override", span(at.duration_since(now))),
            None => deadline.map_or("-".to_owned(), |end| span(end.duration_since(now))),
        };
        ApprovalView {
            status: approval.status_at(now).to_owned(),
            seconds_left: deadline.map(|end| end.duration_since(now).as_secs().max(0)),
            review_status: approval.review.as_ref().map(|review| review.status_at(now).to_owned()),
            time_left,
            authority,
            deadline,
            // The seal of an answer is between the engine and the store.
            approval: Approval { seal: None, ..approval },
        }
    }

    /// The requested action in one line: the tool and its arguments.
    pub fn action(&self) -> String {
        let (tool, summary) = (self.approval.subject(), &self.approval.summary);
        let args: Option<Value> = serde_json::from_str(summary).ok();
        match args.as_ref().and_then(Value::as_object) {
            Some(args) if args.is_empty() => tool.to_owned(),
            Some(args) => match args.values().next() {
                Some(Value::String(only)) if args.len() == 1 => format!("{tool} {only}"),
                _ => format!("{tool} {summary}"),
            },
            None => format!("{tool} {summary}").trim_end().to_owned(),
        }
    }
}

impl Resource for ApprovalView {
    const TITLE: &'static str = "Requests";
    const EMPTY: &'static str = "No requests match.";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("id", 20, |view| Cell::Text(view.approval.id.clone())),
        Column::new("status", 12, |view| Cell::Status(view.status.clone())),
        Column::new("urgency", 12, |view| Cell::Status(view.approval.urgency.as_str().to_owned())),
        Column::new("for", 20, |view| Cell::text(Some(view.authority.as_deref().unwrap_or("-")))),
        Column::new("time left", 30, |view| Cell::Text(view.time_left.clone())),
        Column::new("what", 40, |view| Cell::Text(view.action())),
        Column::new("requested by", 20, |view| {
            Cell::text(Some(view.approval.requested_by.as_deref().unwrap_or("-")))
        }),
        Column::new("guardrail", 60, |view| Cell::Guardrail(view.approval.guardrail.clone())),
        Column::new("answered by", 20, |view| Cell::text(view.approval.decided_by.as_deref())),
    ];

    fn list(admin: Admin<'_>) -> EngineResult<Vec<Self>> {
        let now = admin.engine.now();
        let all = admin.engine.store().approvals(&ApprovalFilter::default())?;
        Ok(all.into_iter().map(|approval| ApprovalView::new(approval, now)).collect())
    }

    fn agent(&self) -> Option<&str> {
        self.approval.requested_by.as_deref()
    }
}

/// The requests that wait for an answer. One page is read.
pub fn open_approvals(store: &dyn Store, session: Option<&str>, now: Timestamp) -> Result<Vec<Approval>> {
    let (state, session) = (Some(ApprovalState::Pending), session.map(str::to_owned));
    let mut open = store.approvals(&ApprovalFilter { state, session, ..ApprovalFilter::default() })?;
    open.retain(|approval| approval.authority_at(now).is_some());
    Ok(open)
}

/// Requests that an approver sees as one: calls that differ only in their arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestGroup {
    /// The calls, each with the requests of all guardrails that hold it. Neither is empty.
    pub calls: Vec<Vec<Approval>>,
}

/// The requests of every call together, and the calls of one agent and session together that the same guardrails hold and
/// that differ only in their arguments. The order of the first ones is kept.
pub fn group_requests(requests: Vec<Approval>) -> Vec<RequestGroup> {
    let mut groups: Vec<RequestGroup> = Vec::new();
    for call in group_by_call(requests) {
        let is_alike = |group: &&mut RequestGroup| {
            let first = group.calls.first().map(Vec::as_slice).unwrap_or_default();
            first.len() == call.len() && first.iter().zip(&call).all(|(one, other)| is_alike(one, other))
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.calls.push(call),
            None => groups.push(RequestGroup { calls: vec![call] }),
        }
    }
    groups
}

/// The requests of each call together. Requests of one call have the same time and the same arguments.
pub fn group_by_call(requests: Vec<Approval>) -> Vec<Vec<Approval>> {
    let mut calls: Vec<Vec<Approval>> = Vec::new();
    let key = |request: &Approval| {
        let Approval { session, requested_by, tool, event, summary, created, kind, .. } = request.clone();
        (session, requested_by, tool, event, summary, created, kind == ApprovalKind::Bypass)
    };
    for request in requests {
        let own = key(&request);
        match calls.iter_mut().find(|call| call.first().is_some_and(|first| key(first) == own)) {
            Some(call) => call.push(request),
            None => calls.push(vec![request]),
        }
    }
    calls.iter_mut().for_each(|call| call.sort_by(|one, other| one.guardrail.cmp(&other.guardrail)));
    calls
}

/// The records of a session before and after a request was made, the oldest first.
pub fn session_around(
    store: &dyn Store,
    approval: &Approval,
    (before, after): (usize, usize),
) -> Result<Vec<AuditEntry>> {
    let own = AuditFilter { session: Some(approval.session.clone()), ..AuditFilter::default() };
    let (until, newest_first) = (Some(approval.created), true);
    let mut around =
        store.entries(&AuditFilter { until, newest_first, limit: Some(before), ..own.clone() })?;
    around.reverse();
    around.extend(store.entries(&AuditFilter { since: until, limit: Some(after), ..own })?);
    Ok(around)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(id: &str, guardrail: &str, summary: &str, second: i64) -> Approval {
        Approval {
            id: id.to_owned(),
            guardrail: guardrail.to_owned(),
            summary: summary.to_owned(),
            session: "s".to_owned(),
            tool: Some("Bash".to_owned()),
            created: Timestamp::from_second(second).unwrap(),
            ..Approval::default()
        }
    }

    #[test]
    fn requests_of_one_call_and_alike_calls_are_grouped() {
        let groups = group_requests(vec![
            request("1", "b", "x", 1),
            request("2", "a", "x", 1),
            request("3", "a", "y", 2),
            request("4", "b", "y", 2),
            request("5", "a", "z", 3),
        ]);
        let ids: Vec<Vec<Vec<&str>>> = groups
            .iter()
            .map(|group| {
                let calls = group.calls.iter();
                calls.map(|call| call.iter().map(|request| request.id.as_str()).collect()).collect()
            })
            .collect();
        assert_eq!(ids, [vec![vec!["2", "1"], vec!["3", "4"]], vec![vec!["5"]]]);
    }
}
