//! Administration: resources that people and programs list and change outside of agent events.
//!
//! Each resource is described once: its record (a [`Resource`] with the columns of its table) and its operations
//! (methods of [`Admin`], which check who may make a change and record it). CLI, API and console are views of this.

mod approvals;
mod approvers;
mod damage;
pub(crate) mod event;
pub(crate) mod handle;
mod hooks;
#[cfg(feature = "service")]
mod keys;
mod locks;
mod mcp;
mod pauses;
mod quarantine;
pub(crate) mod records;
mod retention;
mod stats;
pub(crate) mod tasks;
mod trusted_hosts;

pub use approvals::{
    ApprovalView, RequestGroup, group_by_call, group_requests, open_approvals, session_around,
};
pub(crate) use event::AdminEvent;
pub use event::Person;
pub use handle::{Admin, Cell, Column, Resource};
#[cfg(feature = "service")]
pub use keys::{ADMIN, ApiKey, KeyRight, KeyScope};
pub use locks::Lock;
pub use mcp::{McpDefinition, PinnedServer};
pub use midrail_store::Approver;
pub use pauses::pauses_at;
pub use quarantine::{HaltedRun, QuarantinedAgent};
pub use records::{fact_text, subject};
pub use stats::{Stats, Windows};
pub use tasks::{TaskState, TaskStatus};
