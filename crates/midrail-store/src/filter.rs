//! Which records of the audit log to show.

use jiff::Timestamp;
use midrail_core::{Effect, EventKind};

use crate::entry::Labels;

/// The most entries that one page holds.
pub const MAX_PAGE: usize = 1000;

/// Which records to show. Everything that is set must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuditFilter {
    /// Those of this session.
    pub session: Option<String>,
    /// Those that this guardrail decided, or in which it said more than allow (also in shadow mode).
    pub guardrail: Option<String>,
    /// Those with this effect.
    pub effect: Option<Effect>,
    /// Those of this kind of event.
    pub kind: Option<EventKind>,
    /// Those of this tool.
    pub tool: Option<String>,
    /// Those at or after this time.
    pub since: Option<Timestamp>,
    /// Those before this time.
    pub until: Option<Timestamp>,
    /// Go on after this record: the last `seq` of the page before, whichever way the pages go.
    pub after_seq: Option<u64>,
    /// At most so many. `None`, and anything above: [`MAX_PAGE`].
    pub limit: Option<usize>,
    /// From the newest to the oldest.
    pub newest_first: bool,
}

impl AuditFilter {
    /// The size of a page.
    pub fn page(&self) -> usize {
        self.limit.unwrap_or(MAX_PAGE).min(MAX_PAGE)
    }

    /// Whether a record with these labels is one of those, wherever the pages stand.
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
