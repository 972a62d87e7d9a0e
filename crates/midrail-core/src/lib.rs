//! The law of Midrail: what an agent is about to do goes in as an [`Event`], one [`Decision`] comes out.
//!
//! Read [`decide`] first. Nothing here touches a file, a clock, the environment, the network or randomness, and
//! nothing here panics; all that a decision needs from the world arrives as values.

mod action;
mod approval;
mod ask;
pub mod base64;
mod budget;
mod consequences;
mod context;
mod decide;
mod decision;
mod definition;
mod effect;
mod event;
mod exact;
mod facts;
mod family;
pub mod glob;
mod guardrail;
mod held;
pub mod hex;
mod hit;
mod host;
mod key;
pub mod path;
mod pause;
mod policy;
mod record;
pub mod redact;
mod rewrite;
mod routing;
#[cfg(test)]
#[path = "../tests/decide/seed.rs"]
mod seed;
mod session;
mod severity;
mod streamed;
mod tally;
mod verdict;

pub use action::{Action, ActionType, Danger, FileCopy, RepositoryCall};
pub use approval::{Authorities, EMERGENCY_OVERRIDE, Emergency, allows_emergency_override, approval_key};
pub use budget::{Autonomy, Budget, RUN_START, Resource, UsageSource};
pub use consequences::{
    ABOUT_EVENT, EMIT_ALERT, FLAG, FLAG_TRAJECTORY, HOLDS, INCREMENT_STRIKE, LATE_ANSWERS, STRIKES,
    StrikeRule, late_answer_digest,
};
pub use context::{Context, Missing, denied_key, state_prefix, variable_key};
pub use decide::{Evaluation, Meter, NoMeter, decide, evaluate};
pub use decision::{
    ApprovalKind, ApprovalRequest, AuditRef, Decision, Mode, Retry, Suppressed, VerdictRecord,
};
pub use definition::{Deadline, Definition};
pub use effect::{Effect, UnknownEffect};
pub use event::{
    Agent, CallUsage, ErrorInfo, Event, EventKind, FileScope, Handoff, Risk, Scope, Task, ToolCall,
    ToolResult, UnknownKind, Usage,
};
pub use exact::{action_digest, action_text};
pub use facts::{
    CommandOutcome, DeepCall, DeepOutcome, Fact, FactKey, Facts, FileState, Finding, GitState, HookAnswer,
    HookCall, HookOutcome, HookRequest, Needs, PackCommand, UnknownFact, UnsavedFiles,
};
pub use family::{SUB_AGENT_PARENTS, ancestors};
pub use guardrail::{Bypass, Category, Condition, Fault, Guardrail, OnFault, Spec, Tools};
pub use held::ScriptSource;
pub use hit::Hit;
pub use host::{Host, HostLimit, pending_notes_key};
pub use key::Key;
pub use pause::{PAUSES, Pause};
pub use policy::{Policy, PolicyEntry};
pub use record::{PolicyDenied, Record};
pub use rewrite::Rewrite;
pub use routing::{Routing, Tier, WaitRule};
pub use session::{
    Changes, FETCHED_FILES, RESERVED_IDS, SHARED_PREFIX, Session, Snapshot, lock_key, quarantine_key,
    task_key, written_key,
};
pub use severity::{Confidence, Severity};
pub use streamed::{chunk_stream, stopped_stream_key};
pub use tally::{HALTED, builtin_slice_keys};
pub use verdict::{Notice, Recovery, Redaction, StopFinding, Verdict};
