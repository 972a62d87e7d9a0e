//! The hooks that Codex knows, as its app server lists them. Only Codex can compute their hashes.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::setup::command;
use crate::setup::environment::Environment;
use crate::setup::process::{self, ProcessError};

/// A hook as Codex knows it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct KnownHook {
    pub(super) key: String,
    command: String,
    #[serde(rename = "currentHash")]
    pub(super) hash: String,
    /// `trusted`, `untrusted`, `modified` or `managed`.
    trust_status: String,
}

impl KnownHook {
    /// Whether Codex runs it.
    pub(super) fn is_trusted(&self) -> bool {
        matches!(self.trust_status.as_str(), "trusted" | "managed")
    }
}

/// Midrail's hooks that Codex knows in a project.
pub(super) fn known_hooks(program: &Path, env: &Environment) -> Result<Vec<KnownHook>, ProcessError> {
    let requests = [
        json!({"id": 1, "method": "initialize", "params":
            {"clientInfo": {"name": "midrail", "title": "Midrail", "version": env!("CARGO_PKG_VERSION")}}}),
        json!({"method": "initialized"}),
        json!({"id": 2, "method": "hooks/list", "params": {"cwds": [env.project]}}),
    ];
    let mut command = Command::new(program);
    command.arg("app-server").current_dir(&env.project);
    let answer = process::converse(&mut command, &requests, 2, Duration::from_secs(20))?;
    if let Some(error) = answer.pointer("/error/message").and_then(Value::as_str) {
        return Err(ProcessError::Refused(format!("`codex app-server` does not list hooks: {error}")));
    }
    let folders = answer.pointer("/result/data").and_then(Value::as_array).into_iter().flatten();
    let hooks = folders.filter_map(|folder| folder.get("hooks")?.as_array()).flatten();
    let known = hooks.filter_map(|hook| KnownHook::deserialize(hook).ok());
    Ok(known.filter(|hook| command::is_ours(&hook.command, "codex")).collect())
}
