//! The built-in guardrails of Midrail, one file each, with its reference page next to it.
//!
//! To add one, write `src/my_check.rs` with a constant `BUILTIN`, write its page `src/my_check.md`, and declare
//! `mod my_check;` here. A pack configures it under `with:`.

mod agent_tool_allowlist;
mod api_call_limit;
mod asked;
mod authority;
mod autonomy;
mod branch_policy;
mod budget;
mod builtin;
mod capability_scope;
mod catalogue;
mod circuit_breaker;
mod classifier;
mod command;
mod commands;
mod completion;
mod cost_ceiling;
mod critical_risk;
mod decision_authority;
mod deep;
mod destructive_command;
mod documentation_required;
mod error_classes;
mod error_recovery;
mod feedback;
mod fetched;
mod file_ownership;
mod file_scope;
mod findings;
mod git;
mod handoff;
mod handoff_budget;
mod handoff_capability;
mod handoff_done;
mod handoff_locks;
mod handoff_payload;
mod injection_patterns;
mod jailbreak_classifier;
mod json_form;
mod keyed_dependency;
mod lines;
mod lint_clean;
mod lock_list;
mod locks;
mod middleware;
mod missing_classifier;
mod non_empty_output;
mod output_secret_scan;
mod passes;
mod places;
mod ran;
mod rate_limit;
mod read_before_write;
mod rehearsal;
mod relaxations;
mod require_before;
mod result_limit;
mod review_before_merge;
mod sandbox_boundary;
mod schema_conformance;
mod scope_boundary;
mod scope_classifier;
mod script;
mod seconds;
mod secret_redaction;
mod self_protection;
mod sensitive_file;
mod sequential_dependency;
mod settings;
#[cfg(test)]
mod spending_tests;
mod sweeps;
mod task_boundary;
mod test_pass;
#[cfg(test)]
mod testing;
mod time_budget;
mod time_budget_check;
mod todo_list;
mod token_budget;
mod token_budget_check;
mod tool_allowlist;
mod touched;

pub use builtin::{Builtin, Constructor, PackKey};
pub use catalogue::{CATALOGUE, builtin, configured_by, label};

pub use budget::{Share, Thresholds};
pub use completion::{COMPLETION_EVENTS, CompileCondition, Completion, CompletionProblem};
pub use deep::{
    DeepBackend, DeepBreaker, DeepGuardrail, DeepSettings, DeepWarning, EndpointUrl, EnvVariable, EventPart,
    HeaderPiece, Headers, HttpMethod, HttpSettings, JudgeApi, JudgeBudget, JudgePrice, JudgeSettings,
    LongText, ModerationSettings, ModerationStyle, Money, TemplatePiece, UNREADABLE_MEMBER,
    WINDOW_COUNT_MEMBER, WINDOWS_MEMBER, is_loopback, parse_template,
};
pub use destructive_command::{DestructiveCommand, UnsavedEffect};
pub use feedback::{
    FEEDBACK_TITLES, Feedback, FeedbackHistory, FeedbackProvider, ProviderFeedback, feedback_history,
    feedback_slice_keys, feedback_view, provider_feedback,
};
pub use findings::SensitiveData;
pub use injection_patterns::InjectionPatterns;
pub use keyed_dependency::{CallKey, ComputeCallKey, KeyedDependency, KeyedRule};
pub use lock_list::LockList;
pub use middleware::{EffectOverride, Middleware, VerdictMapper, VerdictObserver};
pub use missing_classifier::MissingClassifier;
pub use output_secret_scan::OutputSecretScan;
pub use ran::{CommandLine, Timeout};
pub use read_before_write::{CommandWrites, Freshness, NewFiles, OwnWrites, ReadBeforeWrite};
pub use relaxations::relaxing_settings;
pub use require_before::RuleSet;
pub use sandbox_boundary::SandboxBoundary;
pub use script::{
    HISTORY_COUNT_KEY, LAST_USER_MESSAGE_KEY, MAX_HISTORY_MESSAGES, MODULE_STATE, SNAPSHOT_PREFIX, Script,
    history_key, is_message_key, message_from_event, parse_message, snapshot_key,
};
pub use seconds::Seconds;
pub use secret_redaction::SecretRedaction;
pub use sensitive_file::SensitiveFile;
pub use sequential_dependency::SequentialDependency;
pub use settings::{Folder, Pattern, SettingsProblem};
pub use tool_allowlist::ToolAllowlist;
