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
pub mod authoring;
mod background;
mod batch;
pub mod cases;
mod chunks;
mod clock;
mod decide;
mod decision_future;
mod deep;
pub mod detection;
mod engine;
mod error;
mod event_summary;
mod files;
mod hooks;
mod idempotency;
mod ids;
mod last_policy;
mod late_answers;
mod limits;
mod load;
pub mod metrics;
mod notices;
pub mod paths;
mod permit;
mod pipeline;
mod policy_announcement;
mod prefetch;
mod probes;
mod recorded_files;
mod reload;
pub mod replay;
pub mod reproduce;
mod scripts;
mod seal;
mod session;
mod session_slices;
pub mod shadow;
pub mod shipped;
mod stored_policy;
mod stream;
pub mod summary;
mod unique_keys;

pub use approvals::{
    Approvals, BypassRequest, due_approvals, is_about_earlier_event, policy_for_approval, policy_for_record,
    record_for_approval,
};
pub use background::Background;
pub use batch::{BatchedDecision, DecisionBatch};
pub use clock::{Clock, ManualClock, SystemClock};
pub use decision_future::DecisionFuture;
pub use engine::{DenialListener, Engine, EngineBuilder};
pub use error::EngineError;
pub use files::{Files, Simulation};
pub use last_policy::{LastPolicy, SessionContext};
pub use limits::Limits;
pub use load::error::LoadError;
pub use load::{Load, LoadedPolicy, PolicyCache, SourceMark, load_policy_pack};
pub use midrail_core::{
    Action, ActionType, Agent, ApprovalKind, ApprovalRequest, AuditRef, Authorities, Autonomy, Bypass,
    Category, Changes, CommandOutcome, Condition, Confidence, Context, Danger, Decision, DeepOutcome,
    Definition, Effect, ErrorInfo, Event, EventKind, Fact, FactKey, Facts, Fault, FileScope, FileState,
    Finding, GitState, Guardrail, Handoff, HookAnswer, HookOutcome, HookRequest, Host, HostLimit, Meter,
    Missing, Mode, OnFault, PackCommand, Pause, Policy, PolicyDenied, PolicyEntry, Record, Recovery,
    Redaction, Retry, Risk, Scope, Session, Severity, Snapshot, Spec, Suppressed, Task, ToolCall, ToolResult,
    Tools, Usage, Verdict, VerdictRecord, decide,
};
pub use midrail_guardrails::{
    Builtin, CATALOGUE, CallKey, CommandWrites, DestructiveCommand, EffectOverride, Freshness,
    InjectionPatterns, KeyedDependency, KeyedRule, Middleware, NewFiles, OutputSecretScan, OwnWrites,
    Pattern, ReadBeforeWrite, RuleSet, SandboxBoundary, SecretRedaction, SensitiveData, SensitiveFile,
    SequentialDependency, ToolAllowlist, UnsavedEffect, VerdictObserver, builtin, label,
};
pub use midrail_pack::{self as pack, DiagnosticReport, Layer, PackDocument, PolicySource};
pub use midrail_store::{
    self as store, Approval, ApprovalState, MemoryStore, SqliteStore, Store, StoreError,
};
#[cfg(feature = "postgres")]
pub use midrail_store::{PostgresOptions, PostgresStore};
pub use permit::{CallError, Permit};
pub use policy_announcement::{Announcements, PolicyAnnouncement};
pub use recorded_files::RecordedFiles;
pub use reload::{Reload, ReloadError, ReloadStats, Reloader};
pub use scripts::stop_script_commands;
pub use session::SessionHandle;
pub use session_slices::session_folder;
pub use stored_policy::StoredPolicyError;
pub use stream::{Stream, StreamOptions, StreamStep};
pub use unique_keys::UniqueKeys;
