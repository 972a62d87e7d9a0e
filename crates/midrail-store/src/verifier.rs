//! The verifier itself: takes records and checkpoints one by one, from a store or an export, and reads nothing.

use midrail_core::AuditRef;

use crate::chain::{CHECKPOINT_EVERY, GENESIS, link_hash};
use crate::checkpoint::{Checkpoint, PublicKey};
use crate::verify::{Misfit, MisfitKind, TrustAnchor, Verification};

/// What of a record goes into the chain.
pub(crate) struct Link<'a> {
    pub(crate) seq: u64,
    pub(crate) prev: &'a str,
    pub(crate) hash: &'a str,
    pub(crate) body_hash: String,
    /// Whether what the record is found by is what its body says. Otherwise in what way not.
    pub(crate) labels: Result<(), (MisfitKind, String)>,
}

/// How far around a misplaced record its own place is looked for.
const NEIGHBOURHOOD: u64 = 10_000;

pub(crate) struct Verifier<'a> {
    expect: &'a TrustAnchor,
    keys: Vec<PublicKey>,
    /// The `seq` and hash of the last record that fits.
    seq: u64,
    hash: String,
    found: Verification,
}

impl<'a> Verifier<'a> {
    pub(crate) fn new(expect: &'a TrustAnchor, keys: Vec<PublicKey>) -> Self {
        Verifier { expect, keys, seq: 0, hash: GENESIS.to_owned(), found: Verification::default() }
    }

    /// How many records fit so far.
    pub(crate) fn records(&self) -> u64 {
        self.found.records
    }

    /// The hash of the last record that fits.
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    /// Takes the keys that checkpoints are checked with.
    pub(crate) fn trust(&mut self, keys: Vec<PublicKey>) {
        self.keys = keys;
    }

    /// Whether the next record fits. After one that does not, only its better description is looked for.
    pub(crate) fn link(&mut self, link: &Link<'_>) -> bool {
        if let Some(misfit) = &mut self.found.misfit {
            match misfit.kind {
                MisfitKind::Missing if misfit.seq == link.seq => {
                    misfit.kind = MisfitKind::Reordered;
                    misfit.detail = format!("record {} comes after a later one", link.seq);
                }
                MisfitKind::Truncated if misfit.seq < link.seq => {
                    misfit.kind = MisfitKind::Missing;
                    misfit.detail = format!("record {} is missing, and there are later ones", misfit.seq);
                }
                _ => {}
            }
            return false;
        }
        if !self.has_due_checkpoint() {
            return false;
        }
        let expected = self.seq.saturating_add(1);
        if link.seq > expected {
            let detail = format!("record {expected} is missing: {} follows {}", link.seq, self.seq);
            return self.misfit(expected, MisfitKind::Missing, detail);
        }
        if link.seq < expected {
            let detail = format!("record {} stands where {expected} belongs", link.seq);
            return self.misfit(expected, MisfitKind::Reordered, detail);
        }
        let follows = link.prev == self.hash;
        let is_whole = link_hash(link.seq, link.prev, &link.body_hash) == link.hash;
        match (follows, is_whole) {
            (true, true) => {}
            (true, false) => {
                let detail = format!("the body or the hash of record {expected} was changed");
                return self.misfit(expected, MisfitKind::Changed, detail);
            }
            (false, true) => {
                let detail = format!("record {expected} does not follow from record {}", self.seq);
                return self.misfit(expected, MisfitKind::Link, detail);
            }
            (false, false) => {
                let (kind, detail) = match own_place(link) {
                    Some(seq) => (
                        MisfitKind::Reordered,
                        format!("in the place of record {expected} stands what was written as record {seq}"),
                    ),
                    None => (
                        MisfitKind::Changed,
                        format!("record {expected} was changed: neither its link nor its hash fits"),
                    ),
                };
                return self.misfit(expected, kind, detail);
            }
        }
        if let Err((kind, why)) = &link.labels {
            return self.misfit(expected, *kind, format!("record {expected} does not fit: {why}"));
        }
        if let Some((seq, hash)) = &self.expect.head
            && *seq == link.seq
            && hash != link.hash
        {
            let detail = format!("record {seq} has the hash {}, and {hash} was noted down", link.hash);
            return self.misfit(*seq, MisfitKind::Head, detail);
        }
        self.seq = link.seq;
        link.hash.clone_into(&mut self.hash);
        self.found.records += 1;
        true
    }

    /// Counts a record that is there by its hashes only.
    pub(crate) fn withheld(&mut self) {
        self.found.withheld += 1;
    }

    /// Whether a checkpoint fits the record that was just seen.
    pub(crate) fn checkpoint(&mut self, checkpoint: &Checkpoint) -> bool {
        if self.found.misfit.is_some() {
            return false;
        }
        let seq = checkpoint.seq;
        if seq < self.seq {
            let detail = format!("the checkpoint of record {seq} stands after record {}", self.seq);
            return self.misfit(seq, MisfitKind::Checkpoint, detail);
        }
        if let Some(keys) = &self.expect.keys
            && !keys.contains(&checkpoint.key)
        {
            let detail = format!(
                "the checkpoint of record {seq} is signed with `{}`, which is none of the expected keys",
                checkpoint.key
            );
            return self.misfit(seq, MisfitKind::Signature, detail);
        }
        if let Err(why) = checkpoint.check(&self.keys) {
            let detail = format!("the checkpoint of record {seq} is not good: {why}");
            return self.misfit(seq, MisfitKind::Signature, detail);
        }
        if seq > self.seq {
            return self.ends_too_early(seq, "a checkpoint");
        }
        if checkpoint.hash != self.hash {
            let first = self.found.last_checkpoint.unwrap_or(0).saturating_add(1);
            let detail = format!(
                "the checkpoint of record {seq} was signed for another hash: \
                 something from record {first} to {seq} was written anew"
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

    /// Something cannot be read where the next record belongs.
    pub(crate) fn unreadable(&mut self, detail: String) {
        let next = self.seq.saturating_add(1);
        self.misfit(next, MisfitKind::Unreadable, detail);
    }

    /// What was found, given that there are no more records. `known` is how many the
    /// export says it has, and 0 where nothing says so.
    pub(crate) fn finish(mut self, known: u64) -> Verification {
        if self.found.misfit.is_none() && self.has_due_checkpoint() {
            let noted = self.expect.head.as_ref().map_or(0, |(seq, _)| *seq);
            if known > self.seq {
                self.ends_too_early(known, "its end");
            } else if noted > self.seq {
                self.ends_too_early(noted, "what was noted down");
            }
        }
        let mut found = self.found;
        found.head = (found.records > 0).then_some(AuditRef { seq: self.seq, hash: self.hash });
        found.unsigned = found.records.saturating_sub(found.last_checkpoint.unwrap_or(0));
        found
    }

    /// Whether the record that was just seen has its checkpoint, where it must have one.
    fn has_due_checkpoint(&mut self) -> bool {
        let seq = self.seq;
        let is_due = seq > 0 && seq.is_multiple_of(CHECKPOINT_EVERY);
        if is_due && self.found.last_checkpoint != Some(seq) {
            let detail = format!("the checkpoint of record {seq} is missing");
            return self.misfit(seq, MisfitKind::NoCheckpoint, detail);
        }
        true
    }

    fn ends_too_early(&mut self, known: u64, by: &str) -> bool {
        let last = self.seq;
        let detail = format!("the log ends with record {last}, and {by} shows that there were {known}");
        self.misfit(last.saturating_add(1), MisfitKind::Truncated, detail)
    }

    fn misfit(&mut self, seq: u64, kind: MisfitKind, detail: String) -> bool {
        self.found.misfit.get_or_insert(Misfit { seq, kind, detail });
        false
    }
}

/// The place that a record was written for, if it is near the one where it stands.
fn own_place(link: &Link<'_>) -> Option<u64> {
    let around = link.seq.saturating_sub(NEIGHBOURHOOD)..=link.seq.saturating_add(NEIGHBOURHOOD);
    around.into_iter().find(|seq| link_hash(*seq, link.prev, &link.body_hash) == link.hash)
}
