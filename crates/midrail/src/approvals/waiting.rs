//! The requests that wait already when another one is made: how many there may be, and which of them are alike. A
//! flood of requests would bury the approver, who then answers none of them with care.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use midrail_core::{ApprovalRequest, Authorities, Changes, Decision, SHARED_PREFIX, approval_key};
use midrail_store::{Approval, ApprovalFilter, ApprovalState, Result, Store};
use serde_json::json;

use crate::session_slices::load_slice;

/// The slice of a session that every new request changes, so that requests at the same time are counted one by one.
const LAST_REQUEST: &str = "requests";

/// The number of alike requests that are each reported by a notice. Later ones are reported when their number doubles.
const NOTICED: usize = 3;

/// How long a used approval explains why the same action needs another one.
const RECENT: SignedDuration = SignedDuration::from_mins(1);

/// The latest used approvals that are searched.
const SEARCHED: usize = 100;

/// The requests of a session and an agent that wait for an answer.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Those of the session.
    requests: Vec<Approval>,
    /// Why there may be no more of them.
    pub(crate) limit: Option<String>,
    /// The slices that the next request changes, with their versions.
    guards: Vec<(String, u64)>,
}

impl Waiting {
    pub(crate) fn load(
        store: &dyn Store,
        authorities: &Authorities,
        session: &str,
        agent: Option<&str>,
        now: Timestamp,
    ) -> Result<Self> {
        let agent_key = agent.map(|agent| format!("{SHARED_PREFIX}requests/{agent}"));
        let mut guards = Vec::new();
        // The versions come first: a request that is made in between is a conflict.
        for key in [LAST_REQUEST.to_owned()].into_iter().chain(agent_key) {
            let version = load_slice(store, session, &key)?.version;
            guards.push((key, version));
        }
        let open = |filter: ApprovalFilter| {
            let mut rows =
                store.approvals(&ApprovalFilter { state: Some(ApprovalState::Pending), ..filter })?;
            rows.retain(|row| row.authority_at(now).is_some());
            Result::<_>::Ok(rows)
        };
        let requests =
            open(ApprovalFilter { session: Some(session.to_owned()), ..ApprovalFilter::default() })?;
        let of_agent = |agent: &str| {
            open(ApprovalFilter { requested_by: Some(agent.to_owned()), ..ApprovalFilter::default() })
        };
        let is_reached =
            |rows: &[Approval], most: u32| rows.len() >= usize::try_from(most).unwrap_or(usize::MAX);
        let limit = if is_reached(&requests, authorities.waiting_per_session) {
            Some(("session", requests.len()))
        } else {
            let rows = agent.map(of_agent).transpose()?.unwrap_or_default();
            is_reached(&rows, authorities.waiting_per_agent).then_some(("agent", rows.len()))
        };
        let limit = limit.map(|(whose, count)| {
            format!(
                "{count} requests of this {whose} wait for an answer, and no more are accepted until some are answered"
            )
        });
        Ok(Waiting { requests, limit, guards })
    }

    /// Makes a commit with a new request conflict with every other one that is made at the same time.
    pub(crate) fn guard(&self, id: &str, read: &mut Vec<(String, u64)>, changes: &mut Changes) {
        for (key, version) in &self.guards {
            read.push((key.clone(), *version));
            changes.set(key.clone(), json!({"last": id}));
        }
    }

    /// The number of requests that wait and are alike: of the same agent, guardrail and tool, with other arguments.
    pub(crate) fn alike(&self, request: &Approval) -> usize {
        self.requests.iter().filter(|other| is_alike(other, request)).count()
    }
}

/// Whether two requests differ only in their arguments.
pub(crate) fn is_alike(one: &Approval, other: &Approval) -> bool {
    (&one.session, &one.requested_by, &one.guardrail, &one.tool, one.event)
        == (&other.session, &other.requested_by, &other.guardrail, &other.tool, other.event)
}

/// Whether a request is reported by a notice of its own, if so many alike ones wait already.
pub(crate) fn is_noticed(alike: usize) -> bool {
    alike < NOTICED || (alike + 1).is_power_of_two()
}

/// Whether a decision makes a request that does not exist yet.
pub(crate) fn makes_request(store: &dyn Store, decision: &Decision) -> Result<bool> {
    for request in &decision.requests {
        if store.approval(&request.id)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The approvals that other calls have just used, for requests about the same action, by the key of their slice.
pub(crate) fn used_approvals(
    store: &dyn Store,
    session: &str,
    requests: &[ApprovalRequest],
    now: Timestamp,
) -> Result<BTreeMap<String, String>> {
    let rows = store.approvals(&ApprovalFilter {
        state: Some(ApprovalState::Used),
        session: Some(session.to_owned()),
        limit: Some(SEARCHED),
        ..ApprovalFilter::default()
    })?;
    let is_recent = |row: &&Approval| row.used_at.is_some_and(|at| now.duration_since(at).abs() < RECENT);
    let used = |request: &ApprovalRequest| {
        let mut rows = rows.iter().filter(is_recent);
        let row = rows.find(|row| *row.guardrail == *request.guardrail && row.action == request.action)?;
        Some((approval_key(&row.guardrail, &row.action), row.id.clone()))
    };
    Ok(requests.iter().filter_map(used).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_of_alike_requests_become_rare() {
        let noticed: Vec<usize> = (0..70).filter(|alike| is_noticed(*alike)).map(|alike| alike + 1).collect();
        assert_eq!(noticed, [1, 2, 3, 4, 8, 16, 32, 64]);
    }
}
