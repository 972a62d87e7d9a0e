//! What a caller may see of a project: everything, or only what belongs to the agents of its key.

use midrail::admin::ApiKey;
use midrail::store::{Approval, AuditEntry, AuditFilter, MAX_PAGE, SessionFilter, SessionInfo};
use midrail::{Store, StoreError};

use crate::record_line::RecordLine;

/// The most records read for one page of a caller that sees only some of them. The page then ends early, with the
/// position to continue at.
const MOST: usize = 5_000;

/// Sessions that are read at a time.
const TOGETHER: usize = 100;

/// What a caller may see.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visibility<'a>(Option<&'a ApiKey>);

impl<'a> Visibility<'a> {
    /// What a key sees. No key: everything.
    pub(crate) fn of(key: Option<&'a ApiKey>) -> Self {
        Visibility(key.filter(|key| key.scope.agents.is_some()))
    }

    /// Whether they see everything.
    pub(crate) fn is_full(self) -> bool {
        self.0.is_none()
    }

    /// Whether they see what an agent does. Records without an agent are visible only without restrictions.
    pub(crate) fn agent(self, agent: Option<&str>) -> bool {
        self.0.is_none_or(|key| key.is_for_agent(agent))
    }

    /// Whether they see a request to a person.
    pub(crate) fn approval(self, approval: &Approval) -> bool {
        self.agent(approval.requested_by.as_deref())
    }

    /// Whether they see a record: an event of their agents, or a change of their requests.
    pub(crate) fn line(self, line: &RecordLine) -> bool {
        self.agent(if line.is_decision() { line.agent.as_deref() } else { line.asked_by.as_deref() })
    }

    /// The same, from the record itself.
    pub(crate) fn entry(self, entry: &AuditEntry) -> bool {
        self.is_full() || self.line(&RecordLine::new(entry))
    }

    /// A page of the records that they see, and where the next one begins.
    pub(crate) fn entries(
        self,
        store: &dyn Store,
        filter: &AuditFilter,
    ) -> Result<(Vec<AuditEntry>, Option<u64>), StoreError> {
        if self.is_full() {
            let page = store.entries(filter)?;
            let next = page.last().map(|last| last.seq);
            return Ok((page, next));
        }
        let mut left = MOST;
        self.some(store, filter, &mut left)
    }

    /// The same, with a limit of records to read.
    fn some(
        self,
        store: &dyn Store,
        filter: &AuditFilter,
        left: &mut usize,
    ) -> Result<(Vec<AuditEntry>, Option<u64>), StoreError> {
        let mut seen = Vec::new();
        let mut part = filter.clone();
        loop {
            part.limit = Some(MAX_PAGE.min(*left));
            let page = if *left == 0 { Vec::new() } else { store.entries(&part)? };
            let Some(last) = page.last().map(|last| last.seq) else {
                let end =
                    if *left == 0 { part.after_seq } else { seen.last().map(|last: &AuditEntry| last.seq) };
                return Ok((seen, end));
            };
            *left = left.saturating_sub(page.len());
            part.after_seq = Some(last);
            for entry in page {
                if self.entry(&entry) {
                    seen.push(entry);
                    if seen.len() >= filter.page() {
                        let next = seen.last().map(|last| last.seq);
                        return Ok((seen, next));
                    }
                }
            }
        }
    }

    /// Whether a session has records of their agents.
    pub(crate) fn session(self, store: &dyn Store, session: &str) -> Result<bool, StoreError> {
        let mut left = MOST;
        self.has_part(store, session, &mut left)
    }

    fn has_part(self, store: &dyn Store, session: &str, left: &mut usize) -> Result<bool, StoreError> {
        if self.is_full() {
            return Ok(true);
        }
        let any = AuditFilter { session: Some(session.to_owned()), limit: Some(1), ..AuditFilter::default() };
        Ok(!self.some(store, &any, left)?.0.is_empty())
    }

    /// A page of the sessions that they see, the latest active first, and where the next one begins.
    pub(crate) fn sessions(
        self,
        store: &dyn Store,
        before: Option<u64>,
        limit: usize,
    ) -> Result<(Vec<SessionInfo>, Option<u64>), StoreError> {
        let mut seen: Vec<SessionInfo> = Vec::new();
        let (mut left, mut before_seq) = (MOST, before);
        loop {
            let most = if self.is_full() { limit + 1 - seen.len() } else { TOGETHER };
            let some = SessionFilter { before_seq, limit: Some(most), ..SessionFilter::default() };
            let page = store.find_sessions(&some)?;
            let is_last = page.len() < most;
            for info in page {
                if seen.len() >= limit || left == 0 {
                    return Ok((seen, before_seq));
                }
                before_seq = Some(info.last_seq);
                if self.has_part(store, &info.session, &mut left)? {
                    seen.push(info);
                }
            }
            if is_last {
                return Ok((seen, None));
            }
        }
    }
}
