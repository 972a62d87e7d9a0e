//! The result of verifying an audit log, and what the caller knows about the log from another source.

use std::collections::BTreeMap;

use midrail_core::AuditRef;
use serde::{Deserialize, Serialize};

use crate::chain::{CHECKPOINT_EVERY, GENESIS, link_hash};
use crate::checkpoint::{Checkpoint, Erasure, KeyChange, PublicKey};

/// What the caller knows about the log from another source. Without it, a log that was rewritten with a new key looks
/// intact, and so does one whose records after the last checkpoint were removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustAnchor {
    /// A record that must be in the log, with its hash: an earlier head.
    pub head: Option<(u64, String)>,
    /// The ids of the keys that may have signed. `None`: the key of the store, or every key that an export itself lists.
    /// Keys that one of them has stated to be its successor or its predecessor may have signed, too.
    pub keys: Option<Vec<String>>,
}

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Verification {
    /// The number of intact records, from the first on that is not archived.
    pub records: u64,
    /// The number of records before them that were moved to archives.
    pub archived: u64,
    /// The last intact record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<AuditRef>,
    /// The number of valid checkpoints.
    pub checkpoints: u64,
    /// The last record with a checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_checkpoint: Option<u64>,
    /// The number of records after the last checkpoint. Only [`TrustAnchor::head`] reveals that such records were
    /// removed.
    pub unsigned: u64,
    /// The number of records that are represented by their hashes only: those that an export withholds, and those whose
    /// content was erased.
    pub withheld: u64,
    /// The ids of the keys that have signed.
    pub keys: Vec<String>,
    /// The first record that does not match. `None`: the log is intact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misfit: Option<Misfit>,
}

impl Verification {
    /// Whether the log is intact.
    pub fn is_intact(&self) -> bool {
        self.misfit.is_none()
    }

    /// Records the first mismatch; later ones are ignored.
    pub(crate) fn add_misfit(&mut self, seq: u64, kind: MisfitKind, detail: String) {
        self.misfit.get_or_insert(Misfit { seq, kind, detail });
    }
}

/// The first record that does not match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Misfit {
    /// The record.
    pub seq: u64,
    /// The kind of mismatch.
    pub kind: MisfitKind,
    /// The mismatch as a sentence.
    pub detail: String,
}

/// How a record does not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MisfitKind {
    /// It is missing, and later records exist.
    Missing,
    /// Another record is in its place.
    Reordered,
    /// Its body or its hash was changed.
    Changed,
    /// It is consistent in itself but does not follow from the previous record.
    Link,
    /// The columns by which it is found differ from its body.
    Labels,
    /// A checkpoint was signed for a different record.
    Checkpoint,
    /// Its checkpoint is missing.
    NoCheckpoint,
    /// The signature of a checkpoint is invalid.
    Signature,
    /// The log ends before it, and a checkpoint or the trust anchor shows that it existed.
    Truncated,
    /// It differs from the record in the trust anchor.
    Head,
    /// The record, or a line of an export, cannot be read.
    Unreadable,
    /// A slice, an approval or an approver is not as the records left it.
    State,
    /// The store is not the one that its anchor belongs to, or has lost acknowledged records.
    Anchor,
}

/// The parts of a record that the chain contains.
pub(crate) struct Link<'a> {
    pub(crate) seq: u64,
    pub(crate) prev: &'a str,
    pub(crate) hash: &'a str,
    pub(crate) body_hash: String,
    /// The hash of its changes. `None`: an older version wrote it.
    pub(crate) changes_hash: Option<String>,
    /// Whether the columns of the record match its body.
    pub(crate) labels: Result<(), (MisfitKind, String)>,
}

impl Link<'_> {
    /// The hash that the record would have at a place.
    fn hash_at(&self, seq: u64) -> String {
        link_hash(seq, self.prev, &self.body_hash, self.changes_hash.as_deref())
    }
}

/// How far from a misplaced record its original place is searched.
const NEIGHBOURHOOD: u64 = 10_000;

pub(crate) struct Verifier<'a> {
    anchor: &'a TrustAnchor,
    pub(crate) keys: Vec<PublicKey>,
    /// The last record that each key may have signed, by id. `None`: all of `keys` may have signed everything.
    trusted: Option<BTreeMap<String, u64>>,
    /// The `seq` and hash of the last intact record.
    seq: u64,
    pub(crate) hash: String,
    pub(crate) found: Verification,
}

impl<'a> Verifier<'a> {
    pub(crate) fn new(anchor: &'a TrustAnchor, keys: Vec<PublicKey>, changes: &[KeyChange]) -> Self {
        let trusted = anchor.keys.as_ref().map(|pinned| trusted_keys(pinned, &keys, changes));
        let (hash, found) = (GENESIS.to_owned(), Verification::default());
        Verifier { anchor, keys, trusted, seq: 0, hash, found }
    }

    /// Starts after the records that were archived. The checkpoint of the last of them must be valid.
    pub(crate) fn start_after(&mut self, cut: &Checkpoint) -> bool {
        if let Err(detail) = self.check_signature(cut) {
            return self.misfit(cut.seq, MisfitKind::Signature, detail);
        }
        self.seq = cut.seq;
        self.hash.clone_from(&cut.hash);
        self.found.archived = cut.seq;
        self.found.last_checkpoint = Some(cut.seq);
        self.found.keys.push(cut.key.clone());
        true
    }

    /// Checks that a checkpoint was signed with a trusted key.
    fn check_signature(&self, checkpoint: &Checkpoint) -> Result<(), String> {
        let Checkpoint { seq, key, .. } = checkpoint;
        let last = self.trusted.as_ref().map_or(Some(&u64::MAX), |trusted| trusted.get(key));
        match last {
            None => {
                return Err(format!(
                    "the checkpoint of record {seq} is signed with `{key}`, which is not an expected key"
                ));
            }
            Some(last) if last < seq => {
                let detail =
                    format!("the checkpoint of record {seq} is signed with `{key}`, which was replaced");
                return Err(format!("{detail} after record {last}"));
            }
            Some(_) => {}
        }
        checkpoint
            .check(&self.keys)
            .map_err(|why| format!("the checkpoint of record {seq} is invalid: {why}"))
    }

    /// Verifies the next record. After a mismatch, later records only improve its description.
    pub(crate) fn link(&mut self, link: &Link<'_>) -> bool {
        if let Some(misfit) = &mut self.found.misfit {
            match misfit.kind {
                MisfitKind::Missing if misfit.seq == link.seq => {
                    misfit.kind = MisfitKind::Reordered;
                    misfit.detail = format!("record {} comes after a later record", link.seq);
                }
                MisfitKind::Truncated if misfit.seq < link.seq => {
                    misfit.kind = MisfitKind::Missing;
                    misfit.detail = format!("record {} is missing, and later records exist", misfit.seq);
                }
                _ => {}
            }
            return false;
        }
        if !self.has_due_checkpoint() {
            return false;
        }
        if let Err((seq, kind, detail)) = self.check(link) {
            return self.misfit(seq, kind, detail);
        }
        self.seq = link.seq;
        link.hash.clone_into(&mut self.hash);
        self.found.records += 1;
        true
    }

    fn check(&self, link: &Link<'_>) -> Result<(), (u64, MisfitKind, String)> {
        let (last, expected) = (self.seq, self.seq.saturating_add(1));
        let misfit = |kind, detail: String| Err((expected, kind, detail));
        if link.seq > expected {
            let detail = format!("record {expected} is missing: record {} follows record {last}", link.seq);
            return misfit(MisfitKind::Missing, detail);
        }
        if link.seq < expected {
            let detail = format!("record {} is in the place of record {expected}", link.seq);
            return misfit(MisfitKind::Reordered, detail);
        }
        let follows = link.prev == self.hash;
        let is_whole = link.hash_at(link.seq) == link.hash;
        match (follows, is_whole) {
            (true, true) => {}
            (true, false) => {
                let detail = format!("the body or the hash of record {expected} was changed");
                return misfit(MisfitKind::Changed, detail);
            }
            (false, true) => {
                let detail = format!("record {expected} does not follow from record {last}");
                return misfit(MisfitKind::Link, detail);
            }
            (false, false) => {
                let Some(seq) = original_place(link) else {
                    let detail = format!("record {expected} was changed: its link and its hash do not match");
                    return misfit(MisfitKind::Changed, detail);
                };
                let detail = format!("the record in place {expected} was written as record {seq}");
                return misfit(MisfitKind::Reordered, detail);
            }
        }
        if let Err((kind, why)) = &link.labels {
            return misfit(*kind, format!("record {expected} does not match: {why}"));
        }
        match &self.anchor.head {
            Some((seq, hash)) if *seq == link.seq && hash != link.hash => {
                let detail = format!("record {seq} has the hash {}, and {hash} was expected", link.hash);
                misfit(MisfitKind::Head, detail)
            }
            _ => Ok(()),
        }
    }

    /// Checks that the body of a record was erased on purpose, and counts it as withheld.
    pub(crate) fn check_erasure(
        &mut self,
        hash: &str,
        erasure: Option<&Erasure>,
    ) -> Result<(), (MisfitKind, String)> {
        let is_trusted = |key: &String| self.trusted.as_ref().is_none_or(|keys| keys.contains_key(key));
        match erasure {
            Some(erasure) if is_trusted(&erasure.key) && erasure.check(hash, &self.keys).is_ok() => {
                self.found.withheld += 1;
                Ok(())
            }
            _ => Err((MisfitKind::Changed, "its body was removed, and no key has signed that".to_owned())),
        }
    }

    /// Counts a record that is represented by its hashes only.
    pub(crate) fn withheld(&mut self) {
        self.found.withheld += 1;
    }

    /// Verifies a checkpoint of the last record.
    pub(crate) fn checkpoint(&mut self, checkpoint: &Checkpoint) -> bool {
        if self.found.misfit.is_some() {
            return false;
        }
        let seq = checkpoint.seq;
        if seq < self.seq {
            let detail = format!("the checkpoint of record {seq} comes after record {}", self.seq);
            return self.misfit(seq, MisfitKind::Checkpoint, detail);
        }
        if let Err(detail) = self.check_signature(checkpoint) {
            return self.misfit(seq, MisfitKind::Signature, detail);
        }
        if seq > self.seq {
            return self.ends_too_early(seq, "a checkpoint");
        }
        if checkpoint.hash != self.hash {
            let first = self.found.last_checkpoint.unwrap_or(0).saturating_add(1);
            let detail = format!(
                "the checkpoint of record {seq} was signed for another hash: \
                 a record from {first} to {seq} was rewritten"
            );
            return self.misfit(seq, MisfitKind::Checkpoint, detail);
        }
        self.found.checkpoints += 1;
        self.found.last_checkpoint = Some(seq);
        if !self.found.keys.contains(&checkpoint.key) {
            self.found.keys.push(checkpoint.key.clone());
        }
        true
    }

    /// Reports that the next record cannot be read.
    pub(crate) fn unreadable(&mut self, detail: String) {
        let next = self.seq.saturating_add(1);
        self.misfit(next, MisfitKind::Unreadable, detail);
    }

    /// The result after the last record. `known` is the number of records that the export claims to have; 0: unknown.
    pub(crate) fn finish(mut self, known: u64) -> Verification {
        if self.found.misfit.is_none() && self.has_due_checkpoint() {
            let anchored = self.anchor.head.as_ref().map_or(0, |(seq, _)| *seq);
            if known > self.seq {
                self.ends_too_early(known, "its end");
            } else if anchored > self.seq {
                self.ends_too_early(anchored, "the expected head");
            }
        }
        let mut found = self.found;
        found.head = (self.seq > 0).then_some(AuditRef { seq: self.seq, hash: self.hash });
        found.unsigned = self.seq.saturating_sub(found.last_checkpoint.unwrap_or(0));
        found
    }

    /// Whether the last record has its checkpoint, if it must have one.
    fn has_due_checkpoint(&mut self) -> bool {
        let seq = self.seq;
        let is_due = seq > 0 && seq.is_multiple_of(CHECKPOINT_EVERY);
        if is_due && self.found.last_checkpoint != Some(seq) {
            let detail = format!("the checkpoint of record {seq} is missing");
            return self.misfit(seq, MisfitKind::NoCheckpoint, detail);
        }
        true
    }

    fn ends_too_early(&mut self, known: u64, evidence: &str) -> bool {
        let last = self.seq;
        let detail = format!("the log ends with record {last}, and {evidence} shows that it had {known}");
        self.misfit(last.saturating_add(1), MisfitKind::Truncated, detail)
    }

    fn misfit(&mut self, seq: u64, kind: MisfitKind, detail: String) -> bool {
        self.found.add_misfit(seq, kind, detail);
        false
    }
}

/// The place that a record was written for, if it is near its current place.
fn original_place(link: &Link<'_>) -> Option<u64> {
    let nearby = link.seq.saturating_sub(NEIGHBOURHOOD)..=link.seq.saturating_add(NEIGHBOURHOOD);
    nearby.into_iter().find(|seq| link.hash_at(*seq) == link.hash)
}

/// The last record that each key may have signed: the pinned keys, and those that a trusted key has stated to be its
/// successor or its predecessor.
pub(crate) fn trusted_keys(
    pinned: &[String],
    keys: &[PublicKey],
    changes: &[KeyChange],
) -> BTreeMap<String, u64> {
    let mut trusted: BTreeMap<String, u64> = pinned.iter().map(|id| (id.clone(), u64::MAX)).collect();
    // Each round adds a key, so there are at most as many rounds as changes.
    for _ in changes {
        for change in changes {
            if trusted.contains_key(&change.signer) && change.check(keys).is_ok() {
                let last = trusted.entry(change.old.clone()).or_insert(change.seq);
                // A pinned key itself states until when it was used.
                if change.signer == change.old {
                    *last = change.seq.min(*last);
                }
                trusted.entry(change.new.clone()).or_insert(u64::MAX);
            }
        }
    }
    trusted
}
