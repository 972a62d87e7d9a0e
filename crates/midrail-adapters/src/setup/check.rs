//! Results of checks, and the settings files that are checked.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::environment::InstallScope;

/// How serious a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// No problem.
    Good,
    /// Worth knowing, or worth fixing at some time.
    Caution,
    /// Something that should be blocked would be allowed, or nothing works.
    Bad,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    /// How serious it is.
    pub level: CheckStatus,
    /// What was found.
    pub message: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Whether a host might not be protected.
    #[serde(skip)]
    pub is_open: bool,
}

impl CheckResult {
    pub(crate) fn good(message: impl Into<String>) -> Self {
        CheckResult { level: CheckStatus::Good, message: message.into(), fix: None, is_open: false }
    }

    pub(crate) fn caution(message: impl Into<String>, fix: impl Into<String>) -> Self {
        CheckResult { level: CheckStatus::Caution, fix: Some(fix.into()), ..CheckResult::good(message) }
    }

    pub(crate) fn bad(message: impl Into<String>, fix: impl Into<String>) -> Self {
        CheckResult { level: CheckStatus::Bad, is_open: true, ..CheckResult::caution(message, fix) }
    }

    /// The host might not be protected.
    pub(crate) fn open(self) -> Self {
        CheckResult { is_open: true, ..self }
    }
}

/// A settings file with Midrail's hooks.
pub(crate) struct HookFile {
    pub(crate) scope: InstallScope,
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// Event and registration.
    pub(crate) hooks: Vec<(String, Value)>,
}

impl HookFile {
    pub(crate) fn handler(&self, event: &str) -> Option<&Value> {
        self.hooks.iter().find(|(name, _)| name == event).map(|(_, handler)| handler)
    }

    /// The command that is registered for an event.
    pub(crate) fn command(&self, event: &str) -> Option<&str> {
        let handler = self.handler(event)?;
        ["command", "bash"].iter().find_map(|key| handler.get(key)?.as_str())
    }
}
