//! Sessions, audit log, approvals, approvers, notices, alerts, statistics and policies of Midrail: in memory, in SQLite
//! (feature `sqlite`, on by default) and in PostgreSQL (feature `postgres`). Nothing is decided here.
//!
//! One [`Store::commit`] writes the slice changes, record and approvals of one event, and is durable when it returns. A
//! decision is based on slices that were loaded with their versions; a commit lists them, and fails with
//! [`StoreError::Conflict`] if one of them has changed, so that many processes can serve one session without losing an
//! update:
//!
//! ```
//! # use midrail_core::{AuditRef, Record};
//! # use midrail_store::{Commit, Result, Store};
//! fn count_one(store: &dyn Store, record: &Record) -> Result<AuditRef> {
//!     loop {
//!         let slice = store.load(&record.session, &["calls"])?.remove(0);
//!         let calls = slice.value.and_then(|value| value.as_u64()).unwrap_or(0);
//!         let mut commit = Commit::new(record);
//!         commit.read.push(("calls".to_owned(), slice.version));
//!         commit.changes.set("calls", calls + 1);
//!         match store.commit(&commit) {
//!             Err(error) if error.is_conflict() => continue,
//!             outcome => return outcome,
//!         }
//!     }
//! }
//! ```
//!
//! - Slices whose keys begin with [`midrail_core::SHARED_PREFIX`] belong to all sessions: file locks, for example. They
//!   have the same versions and conflicts as the slices of a session, and restoring a snapshot does not change them.
//! - An [`Approval`] never goes back. [`Approval::status_at`] and [`Approval::authority_at`] return its status.
//! - An [`Approver`] is authenticated by a key; the store keeps a salted hash that is bound to name and roles.
//! - A [`StoredNotice`] waits until its channels have delivered it, even if a process fails meanwhile: see [`Notices`].
//! - [`Stats::audit_stats`] is a fold over the audit log. It costs a commit nothing, and is correct across processes.

#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod anchor;
mod approval;
mod approver;
mod audit_log;
mod audit_stats;
pub mod chain;
mod checkpoint;
mod draft;
mod entry;
mod error;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod expected_state;
mod export;
mod filter;
mod gzip;
mod instance;
mod key;
mod lifecycle;
mod memory;
mod notice;
#[cfg(feature = "postgres")]
mod postgres;
mod retention;
mod slice_keys;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
mod state_digests;
mod store;
mod verification;

pub use approval::{
    Approval, ApprovalChange, ApprovalCount, ApprovalFilter, ApprovalState, Review, RevokedAnswer,
    UnknownUrgency, Urgency,
};
pub use approver::{Approver, ApproverChange, NewApprover};
pub use audit_log::{AuditLog, pages};
pub use audit_stats::{
    ActionCounts, AuditStats, DURATION_BUCKETS_US, Durations, GuardrailStats, Stats, VerdictCounts,
};
pub use checkpoint::{Checkpoint, Erasure, KeyChange, PublicKey};
pub use entry::{AuditEntry, Labels};
pub use error::{Result, StoreDamage, StoreError};
pub use export::{ExportSummary, verify_export};
pub use filter::{AuditFilter, MAX_PAGE};
pub use gzip::{gzip_reader, is_gzip};
pub use instance::{Instance, Instances};
pub use lifecycle::DueTransition;
pub use memory::MemoryStore;
pub use notice::{Alert, NewNotice, PendingDelivery, StoredNotice};
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
pub use retention::{Archive, Retention};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
pub use store::{
    Alerts, Approvals, Approvers, Commit, CommitCost, Keys, Notices, Policies, SessionFilter, SessionInfo,
    Slice, Slices, Store,
};
pub use verification::{Misfit, MisfitKind, TrustAnchor, Verification};
