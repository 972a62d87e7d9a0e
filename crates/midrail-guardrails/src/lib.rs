//! The built-in guardrails of Midrail, one file each, with its reference page next to it.
//!
//! To add one, write `src/my_check.rs` with a constant `BUILTIN`, write its page `src/my_check.md`, and declare
//! `mod my_check;` here. A pack configures it under `with:`.

mod agent_tool_allowlist;
mod api_call_limit;
mod autonomy;
mod branch_policy;
mod builtin;
mod capability_scope;
mod catalogue;
mod cedar;
mod circuit_breaker;
mod command;
mod completion;
mod cost_ceiling;
mod count;
mod critical_risk;
mod decision_authority;
mod deep;
mod destructive_command;
mod documentation_required;
mod error_recovery;
mod feedback;
mod file_ownership;
mod file_scope;
mod flow;
mod handoff_budget;
mod handoff_capability;
mod handoff_done;
mod handoff_locks;
mod handoff_payload;
mod injection_patterns;
mod jailbreak_classifier;
mod lint_clean;
mod mcp_definitions;
mod middleware;
mod modify;
mod non_empty_output;
mod output_secret_scan;
mod prelude;
mod rate_limit;
mod read_before_write;
mod redact;
mod rehearsal;
mod relaxations;
mod require_before;
mod result_limit;
mod review_before_merge;
mod sandbox_boundary;
mod sandbox_refusals;
mod schema_conformance;
mod scope_boundary;
mod scope_classifier;
mod script;
mod secret_redaction;
mod self_protection;
mod sensitive_file;
mod shared;
mod task_boundary;
mod test_pass;
mod time_budget;
mod time_budget_check;
mod token_budget;
mod token_budget_check;
mod tool_allowlist;
mod vouch;

#[cfg(test)]
mod spending_tests;
#[cfg(test)]
mod tests;

pub use builtin::{Builtin, Constructor, PackKey};
pub use catalogue::{CATALOGUE, builtin, configured_by, guardrail_id, label};

pub use cedar::{CedarContext, CedarEntities, CedarExpressions, CedarSettings, ComputeText, ComputeValue};
pub use completion::{CompileCondition, Completion};
pub use count::{CallResult, Count, CountPer};
pub use deep::{
    DeepBackend, DeepBreaker, DeepGuardrail, DeepSettings, EndpointUrl, EnvVariable, EventPart, HeaderPiece,
    Headers, HttpMethod, HttpSettings, JudgeApi, JudgeBudget, JudgePrice, JudgeSettings, LongText,
    ModerationSettings, ModerationStyle, TemplatePiece, UNREADABLE_MEMBER, WINDOW_COUNT_MEMBER,
    WINDOWS_MEMBER, is_loopback, parse_template,
};
pub use destructive_command::{DestructiveCommand, UnsavedEffect};
pub use feedback::{
    FEEDBACK_TITLES, Feedback, FeedbackHistory, FeedbackProvider, ProviderFeedback, feedback_history,
    feedback_slice_keys, feedback_view, provider_feedback,
};
pub use flow::{Flow, FlowExcept};
pub use injection_patterns::InjectionPatterns;
pub use mcp_definitions::settings::{
    Elicitation, FirstSeen, McpDefinitions, OnRequest, Sampling, ServerRule, ToolRule, WhenChanged,
};
pub use middleware::{EffectOverride, Middleware, VerdictMapper, VerdictObserver};
pub use midrail_shell::action::known_tools;
pub use midrail_shell::command::{CommandPattern, danger_rules, is_known_program};
pub use midrail_shell::sql::statement_words;
pub use modify::Modify;
pub use output_secret_scan::OutputSecretScan;
pub use redact::{Redact, RedactMatch, RedactRule};
pub use shared::calls::Calls;
pub use shared::file_paths::is_path_argument;
pub use shared::flow::call::NAMED_DESTINATIONS;
pub use shared::flow::expressions::{call_classes, call_destinations, flow_labels, flow_sources};
pub use shared::flow::named::slices_of_names;
pub use shared::found_files::{file_pattern, swept_patterns};
pub use shared::lock_list::LockList;
pub use shared::mcp_pins::{McpNames, McpPin, McpPins, McpServerNames, McpText, McpTexts, mcp_texts};
pub use shared::missing_classifier::MissingClassifier;
pub use shared::overridden_facts::overrides_fact;
pub use shared::run_commands::{runs_any_except, started_programs};
pub use shared::sensitive_data::SensitiveData;
pub use shared::text_origin::text_origin;
pub use shared::thresholds::{Share, Thresholds};

pub use read_before_write::{CommandWrites, Freshness, NewFiles, OwnWrites, ReadBeforeWrite};
pub use relaxations::{narrowest_exception, relaxing_settings};
pub use require_before::RuleSet;
pub use require_before::prerequisites::{CallKey, ComputeCallKey, PrerequisiteRule, Prerequisites};
pub use sandbox_boundary::SandboxBoundary;
pub use script::{
    HISTORY_COUNT_KEY, LAST_USER_MESSAGE_KEY, MAX_HISTORY_MESSAGES, MODULE_STATE, SNAPSHOT_PREFIX, Script,
    history_key, is_message_key, message_from_event, parse_message, snapshot_key,
};
pub use secret_redaction::SecretRedaction;
pub use sensitive_file::SensitiveFile;
pub use shared::durations::{Seconds, Timeout};
pub use shared::one_or_many::OneOrMany;
pub use shared::settings::{CommandLine, Folder, Money, Pattern, SettingsProblem, present};
pub use tool_allowlist::ToolAllowlist;
pub use vouch::{Vouch, VouchedCommand};
