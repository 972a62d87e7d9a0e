//! Installs hooks into hosts, removes them, and checks that they work: `midrail init`, `uninstall` and `doctor`.

mod apply;
pub(crate) mod change;
pub(crate) mod check;
pub(crate) mod command;
mod diff;
mod doctor;
pub(crate) mod environment;
pub(crate) mod files;
pub(crate) mod format;
pub(crate) mod json;
mod mcp_servers;
mod plan;
pub(crate) mod process;
mod redacting_shell;
mod registry;
#[cfg(test)]
pub(crate) mod tests;
mod trial;

pub use apply::{ApplyReport, apply};
pub use change::FileChange;
pub use check::{CheckResult, CheckStatus};
pub use command::{HookProgram, proof};
pub use diff::{DiffLine, diff};
pub use doctor::{ClientDiagnosis, Diagnosis, HostDiagnosis, diagnose};
pub use environment::{Environment, InstallScope};
pub use files::SettingsError;
pub use mcp_servers::{ConfiguredServer, Launch, ProxiedCommand, configured_servers};
pub use plan::{InstallRequest, Plan, install, plugin, registered, trust, uninstall};
pub use redacting_shell::redact_shell;
pub use registry::{LostHooks, LostState, find_lost_hooks};
pub use trial::{Trial, trial};
