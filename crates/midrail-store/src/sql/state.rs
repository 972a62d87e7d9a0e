//! The verification of the current state: slices, approvals and approvers must be as the records left them.

use crate::audit_log::AuditLog;
use crate::error::Result;
use crate::filter::AuditFilter;
use crate::sql::{SqlStore, approvals, log};
use crate::state_digests::{ChangedLater, ExpectedState, Mismatch, text_digest};

/// Compares all rows with the state that the records up to `end` led to. Returns the first that does not match.
pub(crate) fn check<S: SqlStore + AuditLog>(
    store: &S,
    mut expected: ExpectedState,
    end: u64,
) -> Result<Option<Mismatch>> {
    let own = S::DIALECT.own;
    let mut found = Vec::new();
    let select = format!("SELECT session, key, value, version FROM slices WHERE {own}true");
    let requests = format!("SELECT id, state, body FROM approvals WHERE {own}true");
    // One closure, because a lost connection runs it again from the start.
    let rows = store.select(|connection| {
        let mut rows = (Vec::new(), Vec::new());
        connection.each(&select, &[], &mut |row| {
            let digest = text_digest(&row.string(2)?);
            rows.0.push((row.string(0)?, row.string(1)?, digest, row.number(3)?));
            Ok(true)
        })?;
        connection.each(&requests, &[], &mut |row| {
            rows.1.push((row.string(0)?, row.string(1)?, row.string(2)?));
            Ok(true)
        })?;
        Ok((rows, approvals::approver_rows(connection, &S::DIALECT)?))
    })?;
    let ((slices, requests), approvers) = rows;
    for (session, key, digest, version) in slices {
        found.extend(expected.check_slice(&session, &key, &digest, version));
    }
    for (id, state, body) in requests {
        found.extend(expected.check_approval(&id, &state, &body));
    }
    found.extend(approvers.iter().filter_map(|row| expected.check_approver(row)));
    found.extend(expected.missing());
    if found.is_empty() {
        return Ok(None);
    }
    // Processes may have written meanwhile: what their records changed is not compared.
    let mut later = ChangedLater::default();
    let mut filter = AuditFilter { after_seq: Some(end), ..AuditFilter::default() };
    loop {
        let page = store.entries(&filter)?;
        page.iter().for_each(|entry| later.add(&entry.labels.session, log::digests(entry)));
        match page.last() {
            Some(last) => filter.after_seq = Some(last.seq),
            None => break,
        }
    }
    Ok(found.into_iter().filter(|mismatch| !later.explains(mismatch)).min())
}
