//! Guardrails for AI agents: one engine between an agent and its actions.
//!
//! The engine decides every [`Event`] of an agent with one [`Decision`]. Start with [`Engine`] and [`SessionHandle`].
//!
//! ```
//! use midrail::{Engine, Load, Effect};
//! use serde_json::json;
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load()?;
//! let engine = Arc::new(Engine::builder(loaded.policy, &loaded.source).build()?);
//! let session = engine.session("s-1").cwd("/repo");
//! let decision = session.check("Read", json!({"file_path": "/repo/.env"}));
//! assert_eq!(decision.effect, Effect::Block);
//! # Ok(())
//! # }
//! ```

mod active_policy;
pub mod admin;
mod alerts;
pub mod approvals;
pub mod audit_heads;
#[cfg(feature = "scripts")]
pub mod authoring;
pub mod background;
pub mod cases;
mod chunks;
mod clean_texts;
mod clock;
mod decide;
mod deep;
pub mod detection;
mod engine;
mod error;
mod features;
pub mod files;
pub mod grants;
mod hooks;
#[cfg(feature = "external")]
pub mod http;
mod idempotency;
mod ids;
mod joined_calls;
mod known_actions;
pub mod last_policy;
mod late_answers;
mod limits;
pub mod load;
mod message_marks;
pub mod messages;
#[cfg(feature = "service")]
pub mod metrics;
mod notices;
mod on_damage;
pub mod paths;
mod pipeline;
#[cfg(feature = "service")]
pub mod policy_changes;
mod prefetch;
pub mod preflight;
mod probes;
mod questions;
pub mod recipes;
pub mod reload;
pub mod replay;
pub mod reproduce;
#[cfg_attr(not(feature = "scripts"), allow(dead_code, reason = "no script runs without the feature"))]
pub mod sandboxes;
mod scripts;
mod seal;
mod session;
mod session_slices;
pub mod shadow;
pub mod shipped;
mod stored_policy;
mod stream;
pub mod summary;
pub mod unique_keys;
pub mod wrong_stop;

pub use active_policy::McpUpstream;
pub use clock::{Clock, ManualClock, SystemClock};
pub use decide::{BatchedDecision, DecisionFuture};
pub use engine::{Engine, EngineBuilder};
pub use error::{EngineError, EngineResult};
pub use features::MissingFeature;
pub use files::Files;
pub use limits::Limits;
pub use load::{Load, LoadError, LoadedPolicy, load_policy_pack};
pub use messages::DecidedMessage;
pub use midrail_core::{
    self as core, Agent, Changes, Context, Decision, Effect, ErrorInfo, Event, EventKind, Fault, Guardrail,
    Missing, Mode, Policy, PolicyEntry, Snapshot, Spec, Task, ToolCall, ToolResult, Tools, Usage, Verdict,
};
pub use midrail_guardrails as guardrails;
pub use midrail_pack::{self as pack, PolicySource};
#[cfg(feature = "sqlite")]
pub use midrail_store::SqliteStore;
pub use midrail_store::{self as store, MemoryStore, Store, StoreError};
#[cfg(feature = "postgres")]
pub use midrail_store::{PostgresOptions, PostgresStore};
pub use on_damage::OnDamage;
pub use prefetch::Evaluations;
pub use reload::{Reload, Reloader};
pub use session::{CallError, Permit, SessionHandle};
pub use session_slices::session_id;
pub use stream::{Stream, StreamOptions, StreamStep};

/// The examples of the guide, which run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/library.md")]
struct LibraryGuide;
