//! Guardrails for AI agents: one engine between an agent and what it does.
//!
//! Every event of an agent goes in as an [`Event`], and comes back as one [`Decision`]. Read [`Engine`] and
//! [`SessionHandle`] first.
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

mod administer;
mod alerts;
mod announced;
mod api_keys;
mod approvals;
mod asynchronous;
mod at_once;
pub mod authoring;
pub mod cases;
mod chunks;
mod clock;
mod deep;
pub mod detection;
mod engine;
mod files;
mod foresight;
mod hooks;
mod kept;
mod limits;
mod load;
pub mod metrics;
mod notices;
mod once;
mod outside;
mod past;
mod people;
mod permit;
pub mod places;
mod probes;
pub mod redecide;
mod reload;
pub mod replay;
mod said_once;
mod scripts;
mod seal;
mod session;
pub mod shadow;
pub mod shipped;
mod standing;
mod stream;
pub mod summary;
mod walk;

pub use announced::Announced;
pub use api_keys::{ADMIN, ApiKey, KeyRight, KeyScope};
pub use approvals::{Ask, due_requests, is_late, policy_of_approval, policy_of_record, record_of_approval};
pub use asynchronous::Deciding;
pub use at_once::AtOnce;
pub use clock::{Clock, ManualClock, SystemClock};
pub use engine::{Engine, EngineBuilder, EngineError, Listener};
pub use files::{Files, World};
pub use kept::{LastPolicy, Standpoint};
pub use limits::Limits;
pub use load::{Cache, Load, LoadError, Loaded, Mark, load_policy_pack};
pub use midrail_core::{
    Action, ActionType, Agent, ApprovalKind, ApprovalRequest, Aside, AuditRef, Authorities, Autonomy, Bypass,
    Category, Changes, CommandEnd, Condition, Confidence, Context, Danger, Decision, DeepEnd, Definition,
    Effect, Entry, ErrorInfo, Event, EventKind, Fact, FactKey, Facts, Fault, FileScope, FileState, Finding,
    GitState, Guardrail, Handoff, HookAnswer, HookEnd, HookRequest, Host, Lack, Meter, Missing, Mode,
    OnFault, Pause, Policy, PolicyDenied, Record, Recovery, Redaction, Retry, Risk, Run, Said, Scope,
    Session, Severity, Snapshot, Spec, Task, ToolCall, ToolResult, Tools, Usage, Verdict, decide,
};
pub use midrail_guardrails::{
    CATALOGUE, CommandLines, DestructiveCommand, Freshness, InjectionPatterns, Inspect, Key, KeyedDependency,
    KeyedRule, Losses, Middleware, NewFiles, OutputSecretScan, OwnWrites, Page, Pattern, ReadBeforeWrite,
    Recast, RuleSet, SandboxBoundary, SecretRedaction, Sensitive, SensitiveFile, SequentialDependency,
    ToolList, page,
};
pub use midrail_pack::{self as pack, Document, Layer, PolicySource, Report};
pub use midrail_store::{
    self as store, Approval, ApprovalState, MemoryStore, SqliteStore, Store, StoreError,
};
#[cfg(feature = "postgres")]
pub use midrail_store::{PostgresOptions, PostgresStore};
pub use past::Past;
pub use people::Person;
pub use permit::{CallError, Permit};
pub use reload::{Refused, Reload, Reloader, Reloads};
pub use said_once::SaidOnce;
pub use scripts::stop_commands;
pub use session::SessionHandle;
pub use standing::{Halted, Lock, Quarantined, TaskState, TaskStatus, pauses_at};
pub use stream::{Stream, StreamOptions, StreamStep};
pub use walk::{beginning_of, folder_of};
