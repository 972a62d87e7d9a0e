//! A filter of the records of the audit log.

use jiff::Timestamp;
use midrail_core::{Effect, EventKind};

use crate::entry::Labels;

/// The maximum number of entries of a page.
pub const MAX_PAGE: usize = 1000;

/// A filter of records. All set fields must match.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuditFilter {
    /// Records of this session.
    pub session: Option<String>,
    /// Records that this guardrail decided, or in which its verdict is above allow (also in shadow mode).
    pub guardrail: Option<String>,
    /// Records with this effect.
    pub effect: Option<Effect>,
    /// Records of this kind of event.
    pub kind: Option<EventKind>,
    /// Records of this tool.
    pub tool: Option<String>,
    /// Records at or after this time.
    pub since: Option<Timestamp>,
    /// Records before this time.
    pub until: Option<Timestamp>,
    /// Continue after this record: the last `seq` of the previous page, in either direction.
    pub after_seq: Option<u64>,
    /// The maximum number of records. `None`, and any larger value: [`MAX_PAGE`].
    pub limit: Option<usize>,
    /// Return the newest record first.
    pub newest_first: bool,
}

impl AuditFilter {
    /// The size of a page.
    pub fn page(&self) -> usize {
        self.limit.unwrap_or(MAX_PAGE).min(MAX_PAGE)
    }

    /// Whether a record with these labels matches, regardless of the page.
    pub fn matches(&self, labels: &Labels) -> bool {
        let is = |wanted: &Option<String>, value: Option<&str>| {
            wanted.as_ref().is_none_or(|wanted| value == Some(wanted.as_str()))
        };
        is(&self.session, Some(&labels.session))
            && is(&self.tool, labels.tool.as_deref())
            && self.guardrail.as_ref().is_none_or(|id| labels.guardrails.contains(id))
            && self.effect.is_none_or(|effect| effect.as_str() == labels.effect)
            && self.kind.is_none_or(|kind| kind.as_str() == labels.kind)
            && self.since.is_none_or(|since| labels.time >= since)
            && self.until.is_none_or(|until| labels.time < until)
    }
}
