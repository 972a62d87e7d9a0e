//! The built-in guardrails, one file each, with its page beside it. What each one is called and what it is for
//! stands in [`CATALOGUE`]; a pack configures it under `with:`.

mod api_call_limit;
mod asked;
mod authority;
mod autonomy;
mod branch_policy;
mod budget;
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
mod json_form;
mod keyed_dependency;
mod lines;
mod lint_clean;
mod lock_list;
mod locks;
mod middleware;
mod non_empty_output;
mod output_secret_scan;
mod passes;
mod places;
mod ran;
mod rate_limit;
mod read_before_write;
mod rehearsal;
mod result_limit;
mod review_before_merge;
mod rule_set;
mod sandbox_boundary;
mod schema_conformance;
mod scope_boundary;
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
mod tool_list;
mod touched;
mod unconfigured;

pub use api_call_limit::ApiCallLimit;
pub use authority::{CommandRule, Commands, Network};
pub use autonomy::AutonomyHalt;
pub use branch_policy::{BranchChange, BranchPolicy, Elsewhere};
pub use budget::{Share, Thresholds};
pub use capability_scope::{CapabilityScope, Need};
pub use catalogue::{CATALOGUE, Page, page};
pub use circuit_breaker::{CircuitBreaker, Per};
pub use classifier::Classifier;
pub use command::CommandCheck;
pub use completion::{
    Bind, COMPLETION_KINDS, Checks, Completion, CompletionProblem, Holds, Output, SubAgents, Todos,
};
pub use cost_ceiling::{Cost, CostCeiling};
pub use critical_risk::CriticalRisk;
pub use decision_authority::{DecisionAuthority, Level, Limits, OnLimit};
pub use deep::{
    Address, Deep, DeepBreaker, DeepKind, DeepSettings, DeepWarning, Headers, HttpMethod, HttpQuestion,
    JudgeApi, JudgeBudget, JudgePrice, JudgeQuestion, LongText, ModerationQuestion, ModerationStyle, Money,
    Part, Piece, Slot, UNREAD, Variable, WINDOWS, WINDOWS_OF, is_loopback, slots,
};
pub use destructive_command::{DestructiveCommand, Losses};
pub use documentation_required::DocumentationRequired;
pub use error_recovery::{Backoff, ErrorClass, ErrorMatch, ErrorRecovery, ErrorSeverity, NextStep};
pub use feedback::{
    BudgetNote, CommandNote, DeadlineNote, FEEDBACK_TITLES, FailingStreak, Feedback, FeedbackOf,
    FeedbackPast, FeedbackProvider, NoProgress, RepeatedCalls, StalePlan, feedback_keys, feedback_of,
    feedback_past, feedback_told,
};
pub use file_ownership::{Acquire, FileOwnership};
pub use file_scope::{FileScopeGuard, Files};
pub use findings::{Country, Sensitive};
pub use handoff_budget::{Amounts, HandoffBudget};
pub use handoff_capability::{HandoffCapability, HandoffNeed};
pub use handoff_done::HandoffDone;
pub use handoff_locks::HandoffLocks;
pub use handoff_payload::HandoffPayload;
pub use injection_patterns::InjectionPatterns;
pub use json_form::JsonForm;
pub use keyed_dependency::{ComputeKey, Key, KeyedDependency, KeyedRule};
pub use lint_clean::{LintClean, Linter};
pub use lock_list::LockList;
pub use middleware::{Adjust, Inspect, Middleware, Recast};
pub use non_empty_output::{Answers, NonEmptyOutput};
pub use output_secret_scan::OutputSecretScan;
pub use passes::{Passes, Purpose};
pub use ran::{CommandLine, Timeout};
pub use rate_limit::{Count, RateLimit, Subject};
pub use read_before_write::{CommandLines, Freshness, NewFiles, OwnWrites, ReadBeforeWrite};
pub use rehearsal::{Failing, Rehearsal};
pub use result_limit::ResultLimit;
pub use review_before_merge::{ReviewBeforeMerge, Stale};
pub use rule_set::RuleSet;
pub use sandbox_boundary::{Outside, SandboxBoundary};
pub use schema_conformance::SchemaConformance;
pub use scope_boundary::ScopeBoundary;
pub use script::{
    HISTORY, HISTORY_COUNT, HISTORY_USER, MODULE, SNAPSHOT, Script, history_key, is_message, message_kept,
    message_of, snapshot_key,
};
pub use seconds::Seconds;
pub use secret_redaction::SecretRedaction;
pub use self_protection::SelfProtection;
pub use sensitive_file::{FREE_PATHS, PROTECTED_PATHS, READ_ONLY_PATHS, SensitiveFile};
pub use sequential_dependency::SequentialDependency;
pub use settings::{Folder, Pattern, Settings, SettingsProblem};
pub use task_boundary::TaskBoundary;
pub use test_pass::{TestPass, Tests};
pub use time_budget::TimeBudget;
pub use time_budget_check::TimeBudgetCheck;
pub use token_budget::TokenBudget;
pub use token_budget_check::TokenBudgetCheck;
pub use tool_allowlist::ToolAllowlist;
pub use tool_list::ToolList;
pub use unconfigured::Unconfigured;
