//! Whether registrations are as this version writes them, and stop an action where the program fails.

use serde_json::Value;

use super::{CheckResult, Registered, is_at_least};
use crate::setup::agent::Agent;
use crate::setup::{command, jsonc, opencode};

/// Whether an action is stopped where the program fails.
pub(super) fn findings(
    agent: Agent,
    files: &[Registered],
    version: Option<&str>,
    init: &str,
) -> Vec<CheckResult> {
    let host = agent.host();
    let mut findings = Vec::new();
    for file in files {
        let mut open = Vec::new();
        let mut other = Vec::new();
        let mut is_older = false;
        for hooked in host.events {
            let Some(handler) = file.handler(hooked.event) else { continue };
            let Some(line) = file.command(hooked.event) else { continue };
            let program = command::quote(&command::program_of(line).unwrap_or_default());
            let wanted = (host.handler)(hooked, command::line(&program, host, hooked));
            let wanted = jsonc::as_value(&wanted, false);
            let is_plugin = agent == Agent::OpenCode;
            is_older |= !is_plugin && wanted != *handler;
            if !is_plugin && without_time(&wanted) != without_time(handler) {
                other.push(hooked.event);
            }
            let is_wrapped = line.contains("exit 2; }") || line.contains("\"decision\":\"block\"");
            if hooked.moment.is_gate() && !is_wrapped {
                open.push(hooked.event);
            }
        }
        if !open.is_empty() {
            findings.push(CheckResult::bad(
                format!(
                    "where the program fails, this passes: {} ({})",
                    open.join(", "),
                    file.path.display()
                ),
                format!("run `{init}`"),
            ));
        } else if !other.is_empty() {
            findings.push(CheckResult::bad(
                format!(
                    "not as this version writes it, so it might let something pass: {} ({})",
                    other.join(", "),
                    file.path.display()
                ),
                format!("run `{init}`"),
            ));
        } else if agent == Agent::OpenCode && !opencode::is_as_written(&file.text) {
            findings.push(CheckResult::bad(
                format!(
                    "{} is not the plugin that this version writes, so it might let something pass",
                    file.path.display()
                ),
                format!("run `{init}`"),
            ));
        } else if is_older {
            findings.push(CheckResult::caution(
                format!("{} has other time limits than this version writes", file.path.display()),
                format!("run `{init}`"),
            ));
        }
    }
    match (agent, version) {
        (Agent::ClaudeCode, Some(version)) if !is_at_least(version, &[2, 1, 295]) => {
            findings.push(CheckResult::caution(
                format!("Claude Code {version} lets pass what takes longer than its time limit"),
                "update Claude Code to 2.1.295 or later",
            ));
        }
        _ if findings.is_empty() => {
            findings.push(CheckResult::good("fails closed: no answer stops an action"))
        }
        _ => {}
    }
    findings
}

/// A registration without the time that it is given: people may set that as they like.
fn without_time(handler: &Value) -> Value {
    let mut handler = handler.clone();
    for (key, value) in handler.as_object_mut().into_iter().flatten() {
        match (key.as_str(), value.as_str()) {
            ("timeout" | "timeoutSec", _) if value.is_number() => *value = Value::Null,
            ("command" | "bash", Some(line)) => {
                if let Some((before, after)) = line.split_once(" --timeout ") {
                    let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
                    *value = Value::from(format!("{before} --timeout 0{after}"));
                }
            }
            _ => {}
        }
    }
    handler
}
