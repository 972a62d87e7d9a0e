//! The law of Midrail: what an agent is about to do goes in as an [`Event`], one [`Decision`] comes out.
//!
//! Read [`decide`] first. Nothing here touches a file, a clock, the environment, the network or randomness, and
//! nothing here panics; all that a decision needs from the world arrives as values.

mod action;
mod approval;
mod ask;
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
mod host;
pub mod path;
mod pause;
mod policy;
mod record;
pub mod redact;
mod rewrite;
mod routing;
mod session;
mod severity;
mod streamed;
mod tally;
mod verdict;

pub use action::{Action, ActionType, Copied, Danger, RepositoryCall};
pub use approval::{Authorities, EMERGENCY_OVERRIDE, Emergency, approval_key, grants_itself};
pub use budget::{Autonomy, BEGAN, Budget, Measure, Resource};
pub use consequences::{
    ABOUT, EMIT_ALERT, FLAG_TRAJECTORY, FLAGGED, HELD, INCREMENT_STRIKE, LATE, STRIKES, StrikeRule,
    late_action,
};
pub use context::{Context, Missing, denied_key, state_prefix, variable_key};
pub use decide::{Evaluation, Meter, Unmetered, decide, evaluate};
pub use decision::{ApprovalKind, ApprovalRequest, Aside, AuditRef, Decision, Mode, Retry, Said};
pub use definition::{Deadline, Definition};
pub use effect::{Effect, UnknownEffect};
pub use event::{
    Agent, CallUsage, ErrorInfo, Event, EventKind, FileScope, Handoff, Risk, Scope, Task, ToolCall,
    ToolResult, UnknownKind, Usage,
};
pub use exact::{action_text, digest_of_action};
pub use facts::{
    CommandEnd, DeepCall, DeepEnd, Fact, FactKey, Facts, FileState, Finding, GitState, HookAnswer, HookCall,
    HookEnd, HookRequest, Needs, Run, UnknownFact, Unsaved,
};
pub use family::{STARTED, above};
pub use guardrail::{Bypass, Category, Condition, Fault, Guardrail, OnFault, Spec, Tools};
pub use held::Held;
pub use host::{Host, Lack, owed_key};
pub use pause::{PAUSE, Pause};
pub use policy::{Entry, Policy, hex};
pub use record::{PolicyDenied, Record};
pub use rewrite::Rewrite;
pub use routing::{Patience, Routing, Tier};
pub use session::{
    Changes, FETCHED, RESERVED_IDS, SHARED, Session, Snapshot, lock_key, quarantine_key, task_key,
    written_key,
};
pub use severity::{Confidence, Severity};
pub use streamed::{over_key, stream_of};
pub use tally::{HALTED, standing_keys};
pub use verdict::{Found, Notice, Recovery, Redaction, Verdict};
