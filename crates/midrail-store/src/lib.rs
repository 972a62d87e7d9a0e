//! Sessions, audit log, approvals, approvers, notices, alerts, figures and policies of Midrail: in memory, in SQLite and in
//! PostgreSQL (feature `postgres`). Nothing is decided here.
//!
//! One event's slice changes, record and approvals are written by one [`Store::commit`], which is durable when it
//! returns. A decision is made from slices that were loaded with their versions; a commit names them, and is refused
//! with [`StoreError::Conflict`] if one of them has changed, so that many processes can serve one session and no
//! update is lost:
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
//! - Slices whose keys begin with [`midrail_core::SHARED_PREFIX`] belong to all sessions: file locks, say. They are read and
//!   changed like a session's own, with the same versions and conflicts, and a restored snapshot leaves them alone.
//! - An [`Approval`] only goes forward. [`Approval::status_at`] and [`Approval::authority_at`] tell how it stands.
//! - An [`Approver`] is known by a key, of which the store keeps a salted hash that is bound to name and roles.
//! - A [`StoredNotice`] waits until its channels have delivered it, whoever dies meanwhile: see [`Notices`].
//! - `audit_stats` is a fold over the audit log. It costs a commit nothing, and is right across processes.

mod approval;
mod approver;
mod audit_stats;
pub mod chain;
mod checkpoint;
mod draft;
mod entry;
mod error;
mod export;
mod filter;
mod key;
mod lifecycle;
mod memory;
mod notice;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;
mod store;
mod verifier;
mod verify;
mod verify_export;

pub use approval::{
    Approval, ApprovalChange, ApprovalCount, ApprovalFilter, ApprovalState, Review, RevokedAnswer,
    UnknownUrgency, Urgency,
};
pub use approver::{Approver, ApproverChange, NewApprover};
pub use audit_stats::{
    ActionCounts, AuditStats, DURATION_BUCKETS_US, Durations, GuardrailStats, VerdictCounts,
};
pub use checkpoint::{Checkpoint, PublicKey};
pub use entry::{AuditEntry, Labels};
pub use error::{Result, StoreError};
pub use export::ExportSummary;
pub use filter::{AuditFilter, MAX_PAGE};
pub use lifecycle::DueTransition;
pub use memory::MemoryStore;
pub use notice::{Alert, NewNotice, PendingDelivery, StoredNotice};
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
pub use sqlite::SqliteStore;
pub use store::{
    Alerts, Approvals, Approvers, AuditLog, Commit, CommitCost, Keys, Notices, Policies, SessionFilter,
    SessionInfo, Slice, Slices, Stats, Store,
};
pub use verify::{Misfit, MisfitKind, TrustAnchor, Verification};
pub use verify_export::verify_export;
