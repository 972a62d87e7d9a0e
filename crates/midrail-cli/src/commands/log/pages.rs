//! Reads the log from its end, a page at a time, by the indexes of the store.

use std::collections::VecDeque;

use midrail::Store;
use midrail::store::{AuditEntry, AuditFilter, MAX_PAGE};

use crate::error::CliResult;

/// Records that fit any of some filters, the newest first.
pub(super) struct Pages<'s> {
    store: &'s dyn Store,
    sources: Vec<Source>,
}

struct Source {
    filter: AuditFilter,
    page: VecDeque<AuditEntry>,
    is_over: bool,
}

impl<'s> Pages<'s> {
    /// Those before a record. The first page is small: most who look want the end of the log.
    pub(super) fn new(
        store: &'s dyn Store,
        filters: Vec<AuditFilter>,
        before: u64,
        first_page: usize,
    ) -> Self {
        let source = |filter: AuditFilter| Source {
            filter: AuditFilter { after_seq: Some(before), limit: Some(first_page), ..filter },
            page: VecDeque::new(),
            is_over: false,
        };
        Pages { store, sources: filters.into_iter().map(source).collect() }
    }

    /// The next older one.
    pub(super) fn next(&mut self) -> CliResult<Option<AuditEntry>> {
        for source in &mut self.sources {
            if source.page.is_empty() && !source.is_over {
                source.page = self.store.entries(&source.filter)?.into();
                source.is_over = source.page.is_empty();
                source.filter.after_seq = source.page.back().map(|last| last.seq);
                source.filter.limit = Some(MAX_PAGE);
            }
        }
        let newest = self.sources.iter_mut().max_by_key(|source| source.page.front().map(|entry| entry.seq));
        Ok(newest.and_then(|source| source.page.pop_front()))
    }
}
