//! The built-in guardrails, one file each, with its page beside it. What each one is called and what it is for
//! stands in [`CATALOGUE`]; how a pack configures it stands in `midrail-pack`.

mod budget;
mod catalogue;
mod injection_patterns;
mod keyed_dependency;
mod middleware;
mod read_before_write;
mod rule_set;
mod scope_boundary;
mod secret_redaction;
mod sequential_dependency;
#[cfg(test)]
mod testing;
mod time_budget;
mod token_budget;
mod tool_allowlist;
mod unconfigured;

pub use budget::Thresholds;
pub use catalogue::{CATALOGUE, Page, page};
pub use injection_patterns::InjectionPatterns;
pub use keyed_dependency::{ComputeKey, Key, KeyedDependency, KeyedRule};
pub use middleware::{Adjust, Inspect, Middleware, Recast};
pub use read_before_write::{Freshness, NewFiles, OwnWrites, ReadBeforeWrite};
pub use rule_set::RuleSet;
pub use scope_boundary::ScopeBoundary;
pub use secret_redaction::SecretRedaction;
pub use sequential_dependency::SequentialDependency;
pub use time_budget::TimeBudget;
pub use token_budget::TokenBudget;
pub use tool_allowlist::ToolAllowlist;
pub use unconfigured::Unconfigured;
