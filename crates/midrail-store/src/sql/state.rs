//! The verification of the current state: slices, approvals and approvers must be as the records left them.

use crate::audit_log::AuditLog;
use crate::audit_stats::ActionCounts;
use crate::checkpoint::ArchiveSeal;
use crate::error::Result;
use crate::expected_state::{ApprovalColumns, ChangedLater, ExpectedState, Mismatch};
use crate::filter::AuditFilter;
use crate::sql::{SqlStore, approvals};
use crate::state_digests::{StateDigests, text_digest};
use crate::verification::{TrustAnchor, trusted_keys};

/// The state that archived records led to, as the last archive states it. An error says why it cannot be trusted.
pub(crate) fn archived_state<S: SqlStore + AuditLog>(
    store: &S,
    anchor: &TrustAnchor,
) -> Result<std::result::Result<ExpectedState, String>> {
    let own = S::DIALECT.own;
    let select = format!(
        "SELECT through, sha256, state, key, signature FROM archives WHERE {own}true ORDER BY through DESC LIMIT 1"
    );
    let seal = store.select(|connection| {
        connection.row(&select, &[], |row| {
            let (sha256, state, key, signature) =
                (row.string(1)?, row.string(2)?, row.string(3)?, row.string(4)?);
            Ok(ArchiveSeal { through: row.number(0)?, sha256, state, key, signature })
        })
    })?;
    let Some(seal) = seal else { return Ok(Ok(ExpectedState::default())) };
    let keys = store.public_keys()?;
    let trusted = trusted_keys(anchor.keys.as_deref().unwrap_or_default(), &keys, &store.key_changes()?);
    let invalid = |why: &str| format!("the archive of the records up to {} is invalid: {why}", seal.through);
    Ok(match serde_json::from_str(&seal.state) {
        _ if !trusted.contains_key(&seal.key) => Err(invalid("its key is not an expected one")),
        Ok(state) => seal.check(&keys).map(|()| state).map_err(invalid),
        Err(_) => Err(invalid("its state cannot be read")),
    })
}

/// Compares all rows with the state that the records up to `end` led to. Returns the first that does not match.
pub(crate) fn check<S: SqlStore + AuditLog>(
    store: &S,
    mut expected: ExpectedState,
    end: u64,
) -> Result<Option<Mismatch>> {
    if let Some(broken) = expected.broken() {
        return Ok(Some(broken));
    }
    if let Some(miscounted) = check_counts(store, end)? {
        return Ok(Some(miscounted));
    }
    let own = S::DIALECT.own;
    let mut found = Vec::new();
    let select = format!("SELECT session, key, value, version FROM slices WHERE {own}true");
    let requests = format!("SELECT id, state, session, created, body FROM approvals WHERE {own}true");
    // One closure, because a lost connection runs it again from the start.
    let rows = store.select(|connection| {
        let mut rows = (Vec::new(), Vec::new());
        connection.each(&select, &[], &mut |row| {
            let digest = text_digest(&row.string(2)?);
            rows.0.push((row.string(0)?, row.string(1)?, digest, row.number(3)?));
            Ok(true)
        })?;
        connection.each(&requests, &[], &mut |row| {
            let (id, state, session) = (row.string(0)?, row.string(1)?, row.string(2)?);
            let created = i64::try_from(row.number(3)?).unwrap_or(i64::MAX);
            rows.1.push(ApprovalColumns { id, state, session, created, body: row.string(4)? });
            Ok(true)
        })?;
        Ok((rows, approvals::approver_rows(connection, &S::DIALECT)?))
    })?;
    let ((slices, requests), approvers) = rows;
    for (session, key, digest, version) in slices {
        found.extend(expected.check_slice(&session, &key, &digest, version));
    }
    found.extend(requests.iter().filter_map(|columns| expected.check_approval(columns)));
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
        page.iter().for_each(|entry| later.add(&entry.labels.session, StateDigests::of(entry)));
        match page.last() {
            Some(last) => filter.after_seq = Some(last.seq),
            None => break,
        }
    }
    Ok(found.into_iter().filter(|mismatch| !later.explains(mismatch)).min())
}

/// Checks the counts of actions next to the records. Those of the first record are taken as they are if records before it are
/// archived.
fn check_counts<S: SqlStore + AuditLog>(store: &S, end: u64) -> Result<Option<Mismatch>> {
    let own = S::DIALECT.own;
    let select =
        format!("SELECT seq, kind, effect, actions, stopped FROM audit WHERE {own}seq <= ?1 ORDER BY seq");
    let wrong = store.select(|connection| {
        let (mut last, mut wrong) = (None, None);
        connection.each(&select, &[end.into()], &mut |row| {
            let (seq, kind, effect) = (row.number(0)?, row.string(1)?, row.string(2)?);
            let counts = ActionCounts { decisions: row.number(3)?, blocked: row.number(4)? };
            let before = last.or_else(|| (seq == 1).then(ActionCounts::default));
            // An older version wrote a record without counts.
            let is_counted = row.int(3)?.is_some();
            let is_wrong = is_counted && before.is_some_and(|before| before.with(&kind, &effect) != counts);
            last = Some(counts);
            wrong = is_wrong.then_some(seq);
            Ok(!is_wrong)
        })?;
        Ok(wrong)
    })?;
    Ok(wrong.and_then(|seq| Mismatch::record(seq, format!("the counts of record {seq} were changed"))))
}
