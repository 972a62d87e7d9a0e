//! The append-only audit log: the trait that all stores implement, its verification and its export.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};
use std::{iter, thread};

use jiff::Timestamp;
use midrail_core::AuditRef;
use serde_json::json;

use crate::chain::{GENESIS, body_hash, erased_body};
use crate::checkpoint::{Checkpoint, Erasure, KeyChange, PublicKey};
use crate::entry::{AuditEntry, Labels};
use crate::error::{Result, StoreError};
use crate::export::{ExportSummary, export_header, record_line};
use crate::filter::{AuditFilter, MAX_PAGE};
use crate::verification::{Link, MisfitKind, TrustAnchor, Verification, Verifier};

/// How often a store without notifications polls for records of other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The records that are read at once.
const PAGE: usize = 256;

/// The append-only log. [`chain`](crate::chain) describes how its records are linked.
pub trait AuditLog: Send + Sync {
    /// Returns one record.
    fn entry(&self, seq: u64) -> Result<Option<AuditEntry>>;

    /// Returns a page of records, ordered by `seq`. A page of large records is shorter than its limit: the last page is
    /// the empty one.
    fn entries(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>>;

    /// Returns the last record. `None`: the log is empty.
    fn head(&self) -> Result<Option<AuditRef>>;

    /// Waits until any process has written a record after `seq`, at most for the given time. Returns the last record
    /// either way. Every change of a session, an approval or an approver is a record.
    fn wait_for_record(&self, seq: u64, at_most: Duration) -> Result<Option<AuditRef>> {
        poll_for_record(self, seq, at_most)
    }

    /// Returns a page of signed checkpoints after a `seq`.
    fn checkpoints(&self, after_seq: u64, limit: usize) -> Result<Vec<Checkpoint>>;

    /// Returns the last signed checkpoint.
    fn last_checkpoint(&self) -> Result<Option<Checkpoint>>;

    /// Returns every key that has signed a checkpoint.
    fn public_keys(&self) -> Result<Vec<PublicKey>>;

    /// Returns the statements about changes of the key.
    fn key_changes(&self) -> Result<Vec<KeyChange>> {
        Ok(Vec::new())
    }

    /// Returns the checkpoint of the last record that was moved to an archive.
    fn archived(&self) -> Result<Option<Checkpoint>> {
        Ok(None)
    }

    /// Returns the statements about records whose bodies were erased.
    fn erasures(&self) -> Result<Vec<Erasure>> {
        Ok(Vec::new())
    }

    /// Signs the current head, unless it is signed. `None`: the log is empty.
    fn checkpoint_now(&self, time: Timestamp) -> Result<Option<Checkpoint>>;

    /// Verifies the whole log and reports the first record that does not match. `progress` receives the number of
    /// verified records and the total. Records that are added meanwhile are not verified.
    fn verify(&self, anchor: &TrustAnchor, progress: &mut dyn FnMut(u64, u64)) -> Result<Verification> {
        verify_log(self, anchor, progress, &mut |_| {})
    }

    /// Writes the log as JSON lines that can be verified without the store. Records that the filter excludes are
    /// written as hashes, so that the chain remains complete; `after_seq`, `limit` and `newest_first` are ignored.
    fn export(&self, filter: &AuditFilter, out: &mut dyn Write) -> Result<ExportSummary> {
        self.export_shown(filter, &|_| true, out)
    }

    /// Like [`export`](Self::export), for a reader with restricted access: records for which `shown` is false are
    /// written as hashes, too.
    fn export_shown(
        &self,
        filter: &AuditFilter,
        shown: &dyn Fn(&AuditEntry) -> bool,
        out: &mut dyn Write,
    ) -> Result<ExportSummary> {
        let mut line = |text: String| writeln!(out, "{text}").map_err(StoreError::export);
        // INVARIANT: a checkpoint is written together with its record, so a head that is read later is not before it.
        let last_checkpoint = self.last_checkpoint()?;
        let end = self.head()?.map_or(0, |head| head.seq);
        let archived = self.archived()?;
        line(export_header(self.public_keys()?, self.key_changes()?, archived.as_ref()))?;
        let mut done = ExportSummary { shown: 0, withheld: 0, checkpoints: 0 };
        let after_seq = archived.as_ref().map(|cut| cut.seq);
        let mut head = archived.map_or_else(|| GENESIS.to_owned(), |cut| cut.hash);
        let mut page = AuditFilter { limit: Some(PAGE), after_seq, ..AuditFilter::default() };
        loop {
            let entries = self.entries(&page)?;
            let checkpoints = self.checkpoints(page.after_seq.unwrap_or(0), PAGE)?;
            for entry in entries.iter().take_while(|entry| entry.seq <= end) {
                let matches = Labels::from_body(&entry.body).map_or(true, |labels| filter.matches(&labels));
                let is_shown = matches && shown(entry);
                line(record_line(entry, is_shown))?;
                *(if is_shown { &mut done.shown } else { &mut done.withheld }) += 1;
                for checkpoint in checkpoints.iter().filter(|checkpoint| checkpoint.seq == entry.seq) {
                    line(json!({"checkpoint": checkpoint}).to_string())?;
                    done.checkpoints += 1;
                }
                head.clone_from(&entry.hash);
            }
            match entries.last() {
                Some(last) if last.seq < end => page.after_seq = Some(last.seq),
                _ => break,
            }
        }
        if let Some(checkpoint) = last_checkpoint.filter(|checkpoint| checkpoint.seq > end) {
            // Records were removed from the end of the log. The export must not look intact.
            line(json!({"checkpoint": checkpoint}).to_string())?;
            done.checkpoints += 1;
        }
        let records = done.shown + done.withheld;
        line(json!({"end": {"records": records, "head": head}}).to_string())?;
        out.flush().map_err(StoreError::export)?;
        Ok(done)
    }
}

/// Polls the head of a log until it has a record after `seq`, at most for the given time.
pub(crate) fn poll_for_record<L: AuditLog + ?Sized>(
    log: &L,
    seq: u64,
    at_most: Duration,
) -> Result<Option<AuditRef>> {
    let started = Instant::now();
    loop {
        let head = log.head()?;
        let left = at_most.saturating_sub(started.elapsed());
        if left.is_zero() || head.as_ref().is_some_and(|head| head.seq > seq) {
            return Ok(head);
        }
        thread::sleep(POLL_INTERVAL.min(left));
    }
}

/// The pages of all records that match a filter, at most so many records. They are read one by one.
pub fn pages<L: AuditLog + ?Sized>(
    log: &L,
    mut filter: AuditFilter,
    most: usize,
) -> impl Iterator<Item = Result<Vec<AuditEntry>>> {
    let mut left = most;
    iter::from_fn(move || {
        filter.limit = Some(left.min(MAX_PAGE));
        let page = log.entries(&filter);
        if let Ok(page) = &page {
            filter.after_seq = Some(page.last()?.seq);
            left = left.saturating_sub(page.len());
        }
        Some(page)
    })
}

/// Verifies the records and checkpoints of a log. `visit` receives each intact record.
pub(crate) fn verify_log<L: AuditLog + ?Sized>(
    log: &L,
    anchor: &TrustAnchor,
    progress: &mut dyn FnMut(u64, u64),
    visit: &mut dyn FnMut(&AuditEntry),
) -> Result<Verification> {
    let mut verifier = Verifier::new(anchor, log.public_keys()?, &log.key_changes()?);
    let erasures: BTreeMap<u64, Erasure> =
        log.erasures()?.into_iter().map(|erasure| (erasure.seq, erasure)).collect();
    // INVARIANT: a checkpoint is written together with its record, so a head that is read later is not before it.
    let last = log.last_checkpoint()?;
    let last_checkpoint = last.as_ref().map_or(0, |checkpoint| checkpoint.seq);
    let end = log.head()?.map_or(0, |head| head.seq);
    let mut checkpoints = Vec::new().into_iter().peekable();
    let mut after_checkpoint = 0;
    if let Some(cut) = log.archived()? {
        after_checkpoint = cut.seq;
        if !verifier.start_after(&cut) {
            return Ok(verifier.finish(0));
        }
    }
    // Archived records that are not removed yet were verified when they were archived.
    let mut filter =
        AuditFilter { limit: Some(PAGE), after_seq: Some(after_checkpoint), ..AuditFilter::default() };

    'log: loop {
        let page = log.entries(&filter)?;
        for entry in page.iter().take_while(|entry| entry.seq <= end) {
            let AuditEntry { seq, prev, hash, body, changes, .. } = entry;
            let changes_hash = changes.as_deref().map(body_hash);
            let labels = check_labels(entry).and_then(|()| match erased_body(body) {
                Some(_) => verifier.check_erasure(hash, erasures.get(seq)),
                None => Ok(()),
            });
            let body_hash = erased_body(body).map_or_else(|| body_hash(body), str::to_owned);
            if !verifier.link(&Link { seq: *seq, prev, hash, body_hash, changes_hash, labels }) {
                break 'log;
            }
            visit(entry);
            if checkpoints.peek().is_none() && after_checkpoint < last_checkpoint {
                let page = log.checkpoints(after_checkpoint, PAGE)?;
                after_checkpoint = page.last().map_or(last_checkpoint, |checkpoint| checkpoint.seq);
                checkpoints = page.into_iter().peekable();
            }
            while let Some(checkpoint) = checkpoints.next_if(|checkpoint| checkpoint.seq <= entry.seq) {
                if !verifier.checkpoint(&checkpoint) {
                    break 'log;
                }
            }
        }
        progress(verifier.found.archived + verifier.found.records, end);
        match page.last() {
            Some(last) if last.seq < end => filter.after_seq = Some(last.seq),
            _ => break,
        }
    }
    if let Some(last) = last.filter(|last| last.seq > end) {
        verifier.checkpoint(&last);
    }
    Ok(verifier.finish(0))
}

/// Checks that the columns of a record match its body.
fn check_labels(entry: &AuditEntry) -> Result<(), (MisfitKind, String)> {
    let labels = Labels::from_body(&entry.body)
        .map_err(|error| (MisfitKind::Unreadable, format!("its body is not a record: {error}")))?;
    entry.labels.difference(&labels).map_or(Ok(()), |(name, row, body)| {
        Err((MisfitKind::Labels, format!("its column `{name}` is `{row}`, and its body has `{body}`")))
    })
}
