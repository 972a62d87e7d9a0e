//! Goes through a store's log from its first record to its last, and tells whether it fits together.

use serde::{Deserialize, Serialize};

use midrail_core::AuditRef;

use crate::chain::body_hash;
use crate::entry::{AuditEntry, Labels};
use crate::error::Result;
use crate::filter::AuditFilter;
use crate::store::AuditLog;
use crate::verifier::{Link, Verifier};

/// What is known of the log from elsewhere. Without it, a log that was written anew with a new key looks sound, and
/// so does one whose records after the last checkpoint were cut off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustAnchor {
    /// A record that must be there, with its hash: the head as it was once noted down.
    pub head: Option<(u64, String)>,
    /// The names of the keys that may have signed. `None`: every key that the log itself names.
    pub keys: Option<Vec<String>>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Verification {
    /// How many records fit, from the first on.
    pub records: u64,
    /// The last record that fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<AuditRef>,
    /// How many checkpoints fit.
    pub checkpoints: u64,
    /// The last record with a checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_checkpoint: Option<u64>,
    /// How many records come after the last checkpoint. If they were cut off, only [`TrustAnchor::head`] would show it.
    pub unsigned: u64,
    /// How many records of an export are there by their hashes only.
    pub withheld: u64,
    /// The names of the keys that have signed.
    pub keys: Vec<String>,
    /// The first record that does not fit. `None`: all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misfit: Option<Misfit>,
}

impl Verification {
    /// Whether everything fits.
    pub fn is_intact(&self) -> bool {
        self.misfit.is_none()
    }
}

/// The first record that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Misfit {
    /// The record.
    pub seq: u64,
    /// In what way.
    pub kind: MisfitKind,
    /// The same in words.
    pub detail: String,
}

/// In what way a record does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MisfitKind {
    /// It is not there, and later ones are.
    Missing,
    /// Another record stands in its place.
    Reordered,
    /// Its body or its hash is not what was written.
    Changed,
    /// It fits in itself, and does not follow from the record before it.
    Link,
    /// The columns that it is found by are not what its body says.
    Labels,
    /// A checkpoint was signed for another record than stands there.
    Checkpoint,
    /// Its checkpoint is missing.
    NoCheckpoint,
    /// A checkpoint's signature is not good.
    Signature,
    /// The log ends before it, and a checkpoint or a note from elsewhere shows that it was there.
    Truncated,
    /// It is not the one that was noted down elsewhere.
    Head,
    /// It, or a line of an export, cannot be read.
    Unreadable,
}

const PAGE: usize = 256;

pub(crate) fn log<L: AuditLog + ?Sized>(
    log: &L,
    expect: &TrustAnchor,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verification> {
    let mut verifier = Verifier::new(expect, log.public_keys()?);
    // INVARIANT: a checkpoint is written together with its record, so a head that is read later is not before it.
    let last = log.last_checkpoint()?;
    let last_checkpoint = last.as_ref().map_or(0, |checkpoint| checkpoint.seq);
    let end = log.head()?.map_or(0, |head| head.seq);
    let mut checkpoints = Vec::new().into_iter().peekable();
    let mut after_checkpoint = 0;
    let mut filter = AuditFilter { limit: Some(PAGE), ..AuditFilter::default() };

    'log: loop {
        let page = log.entries(&filter)?;
        for entry in page.iter().take_while(|entry| entry.seq <= end) {
            if !verifier.link(&link(entry)) {
                break 'log;
            }
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
        progress(verifier.records(), end);
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

fn link(entry: &AuditEntry) -> Link<'_> {
    let AuditEntry { seq, prev, hash, body, .. } = entry;
    Link { seq: *seq, prev, hash, body_hash: body_hash(body), labels: labels_fit(entry) }
}

/// Whether the columns say what the body says. Otherwise the difference in words.
fn labels_fit(entry: &AuditEntry) -> Result<(), (MisfitKind, String)> {
    let labels = Labels::from_body(&entry.body)
        .map_err(|error| (MisfitKind::Unreadable, format!("its body is no record: {error}")))?;
    entry.labels.difference(&labels).map_or(Ok(()), |(name, row, body)| {
        Err((MisfitKind::Labels, format!("its `{name}` is listed as `{row}`, and its body says `{body}`")))
    })
}
