//! Sessions, audit log, approvals and policies of Midrail: in memory and in SQLite. Nothing is decided here.
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

mod approval;
pub mod chain;
mod checkpoint;
mod draft;
mod entry;
mod error;
mod export;
mod filter;
mod key;
mod memory;
mod sqlite;
mod store;
mod verifier;
mod verify;
mod verify_export;

pub use approval::{Approval, ApprovalChange, ApprovalFilter, ApprovalState};
pub use checkpoint::{Checkpoint, PublicKey};
pub use entry::{Entry, Labels};
pub use error::{Result, StoreError};
pub use export::Exported;
pub use filter::{Filter, MAX_PAGE};
pub use memory::MemoryStore;
pub use sqlite::SqliteStore;
pub use store::{Approvals, AuditLog, Commit, Keys, Policies, SessionInfo, Slice, Slices, Store};
pub use verify::{Expect, Misfit, MisfitKind, Verification};
pub use verify_export::verify_export;
