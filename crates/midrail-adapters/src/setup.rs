//! Puts Midrail where coding agents call it, takes it out again, and looks whether it holds: what `midrail init`,
//! `uninstall` and `doctor` do. What a hook says when it is called does not live here.

mod agent;
mod apply;
mod backup;
mod claude_code;
mod codex;
mod command;
mod copilot_cli;
mod cursor;
mod diff;
mod doctor;
mod files;
mod gemini_cli;
mod jsonc;
mod opencode;
mod places;
mod plan;
mod process;
mod starter;
mod strict;
#[cfg(test)]
mod tests;
mod toml;

pub use agent::{Agent, InstallScope};
pub use apply::{ApplyReport, apply};
pub use command::HookProgram;
pub use diff::{DiffLine, diff};
pub use doctor::{CheckResult, CheckStatus, Diagnosis, HostDiagnosis, diagnose};
pub use files::SettingsError;
pub use places::Environment;
pub use plan::{FileChange, InstallRequest, Plan, install, registered, trust, uninstall};
