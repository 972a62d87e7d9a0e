//! The built-in guardrails, one file each, with its page beside it. What each one is called and what it is for
//! stands in [`CATALOGUE`]; a pack configures it under `with:`.

mod budget;
mod catalogue;
mod destructive_command;
mod findings;
mod injection_patterns;
mod keyed_dependency;
mod middleware;
mod output_secret_scan;
mod places;
mod read_before_write;
mod rule_set;
mod sandbox_boundary;
mod scope_boundary;
mod secret_redaction;
mod self_protection;
mod sensitive_file;
mod sequential_dependency;
mod settings;
#[cfg(test)]
mod testing;
mod time_budget;
mod token_budget;
mod tool_allowlist;
mod tool_list;
mod touched;
mod unconfigured;

pub use budget::Thresholds;
pub use catalogue::{CATALOGUE, Page, page};
pub use destructive_command::DestructiveCommand;
pub use findings::{Country, Sensitive};
pub use injection_patterns::InjectionPatterns;
pub use keyed_dependency::{ComputeKey, Key, KeyedDependency, KeyedRule};
pub use middleware::{Adjust, Inspect, Middleware, Recast};
pub use output_secret_scan::OutputSecretScan;
pub use read_before_write::{Freshness, NewFiles, OwnWrites, ReadBeforeWrite};
pub use rule_set::RuleSet;
pub use sandbox_boundary::{Outside, SandboxBoundary};
pub use scope_boundary::ScopeBoundary;
pub use secret_redaction::SecretRedaction;
pub use self_protection::SelfProtection;
pub use sensitive_file::{FREE_PATHS, PROTECTED_PATHS, READ_ONLY_PATHS, SensitiveFile};
pub use sequential_dependency::SequentialDependency;
pub use settings::{Folder, Pattern, Settings, SettingsProblem};
pub use time_budget::TimeBudget;
pub use token_budget::TokenBudget;
pub use tool_allowlist::ToolAllowlist;
pub use tool_list::ToolList;
pub use unconfigured::Unconfigured;
