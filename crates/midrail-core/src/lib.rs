//! The decision core of Midrail: an [`Event`] goes in, one [`Decision`] comes out.
//!
//! Read [`decide`] first. This crate uses no file, clock, environment, network or randomness, and never panics; everything that a
//! decision needs arrives as a value.

mod action;
mod action_digest;
pub mod base64;
mod budget;
mod chain;
mod context;
mod decide;
mod decision;
mod definition;
pub mod duration;
mod effect;
mod event;
mod facts;
pub mod glob;
mod glob_overlap;
mod grounds;
mod guardrail;
pub mod hex;
mod hit;
mod host;
mod inputs;
pub mod json_pointer;
mod json_text;
mod key;
mod label_row;
mod meter;
mod modify;
mod offer;
pub mod path;
pub mod path_pattern;
mod pause;
mod policy;
mod record;
pub mod redact;
mod rewrite;
mod routing;
mod rules;
mod run;
mod sandbox;
mod script_source;
mod session;
mod spec;
mod stored_approval;
mod sub_agents;
mod tally;
mod text_test;
mod trusted_host;
mod usage;
mod verdict;
pub mod visible;

pub use action::{Action, ActionType, CommandCall, Danger, FileCopy, NetworkUse, OpaqueCode, OpaqueKind};
pub use action_digest::{action_digest, action_text};
pub use budget::{Autonomy, Budget, Resource, UsageSource};
pub use context::Context;
pub use decide::{Evaluation, decide, evaluate};
pub use decision::{
    ApprovalKind, ApprovalRequest, AuditRef, Decision, Mode, Retry, Suppressed, VerdictRecord,
};
pub use definition::{Deadline, Definition};
pub use effect::{Effect, UnknownEffect};
pub use event::{
    Agent, CallUsage, ErrorInfo, Event, EventKind, FileScope, Handoff, Risk, Scope, Task, ToolCall,
    ToolResult, UnknownKind, Usage,
};
pub use facts::{
    CommandOutcome, DeepCall, DeepOutcome, Fact, FactKey, Facts, FileState, Finding, GitState, HookAnswer,
    HookCall, HookOutcome, HookRequest, Needs, PackCommand, PrefetchedReads, UnknownFact, UnsavedFiles,
};
pub use grounds::Grounds;
pub use guardrail::{ArgumentChange, Condition, Fault, Guardrail, Rewrite};
pub use hit::{Confidence, Hit, Severity};
pub use host::{Host, HostLimit};
pub use inputs::{Inputs, Missing, ModifiedArgument, NotModified};
pub use json_text::{JsonExtent, to_compact_json, to_json, visit_texts};
pub use key::Key;
pub use label_row::{CallClass, LabelRow, PRIVATE, TRUSTED, UNTRUSTED};
pub use meter::{Meter, NoMeter};
pub use offer::{MCP_NAMES, McpServer, OfferedTool, mcp_pins_key, mcp_texts_key};
pub use pause::{PAUSES, Pause};
pub use policy::{Policy, PolicyEntry};
pub use record::{PolicyDenied, Record};
pub use routing::{Routing, Tier, WaitRule};
pub use rules::{Authorities, Emergency, StrikeRule, Unattended};
pub use sandbox::{
    DEFAULT_BOX, INSTALL_BOX, SANDBOXES, SandboxBackground, SandboxGrant, SandboxLauncher, SandboxLimits,
    SandboxNetwork, SandboxOutcome, SandboxRequest, SandboxRules, StoredOutcome, command_digest, sandbox_key,
    sandbox_outcome_key, shipped_box, started_sandbox,
};
pub use script_source::ScriptSource;
pub use session::{
    Changes, FETCHED_FILES, RESERVED_IDS, SHARED_PREFIX, Session, Snapshot, denied_key, lock_key,
    quarantine_key, state_prefix, task_key, variable_key, written_key,
};
pub use spec::{Bypass, Category, OnFault, Spec, Tools};
pub use stored_approval::approval_key;
pub use sub_agents::{SUB_AGENT_PARENTS, ancestors};
pub use tally::approval::{EMERGENCY_OVERRIDE, allows_emergency_override};
pub use tally::hold::{ABOUT_EVENT, HOLDS, LATE_ANSWERS, late_answer_digest};
pub use tally::host::pending_notes_key;
pub use tally::preconditions::{HALTED, builtin_slice_keys};
pub use tally::stream::{chunk_stream, stopped_stream_key};
pub use tally::strikes::{EMIT_ALERT, FLAG, FLAG_TRAJECTORY, INCREMENT_STRIKE, STRIKES};
pub use text_test::{TextTest, WantedText};
pub use trusted_host::{TRUSTED_HOSTS, TrustedHost};
pub use usage::RUN_START;
pub use verdict::{Notice, Recovery, Redaction, StopFinding, Verdict};
