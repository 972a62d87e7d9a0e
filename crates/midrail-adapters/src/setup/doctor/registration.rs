//! Checks the registrations: that every event is registered, that programs exist, and that a failing program blocks.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use midrail::EventKind;
use serde_json::Value;

use crate::host::{HostSpec, OnFailure};
use crate::setup::check::{CheckResult, HookFile};
use crate::setup::command;
use crate::setup::environment::Environment;
use crate::setup::json;
use crate::setup::process;

/// Checks that every event is registered in a file.
pub(super) fn coverage(host: &HostSpec, files: &[HookFile], init: &str) -> Vec<CheckResult> {
    let is_registered = |event: &str| files.iter().any(|file| file.handler(event).is_some());
    let open: Vec<_> =
        host.registrations().filter(|(hook_event, _)| !is_registered(hook_event.name)).collect();
    let is_critical = open.iter().any(|(hook_event, registration)| {
        registration.on_failure != OnFailure::Allow || hook_event.kind == EventKind::BeforeStop
    });
    let names: Vec<&str> = open.iter().map(|(hook_event, _)| hook_event.name).collect();
    let mut results = Vec::new();
    for file in files {
        let place = format!("{} ({})", file.path.display(), file.scope.name());
        let missing = format!("not registered: {}, in {place}", names.join(", "));
        results.push(if is_critical {
            CheckResult::bad(missing, format!("run `{init}`"))
        } else if !open.is_empty() {
            CheckResult::caution(missing, format!("run `{init}`"))
        } else {
            let all = host.registrations().count();
            let here = host.registrations().filter(|(it, _)| file.handler(it.name).is_some()).count();
            CheckResult::good(format!("{here} of {all} events registered in {place}"))
        });
    }
    if files.len() > 1 {
        let paths: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
        let commands: Vec<String> = files
            .iter()
            .map(|file| format!("`midrail uninstall{} --agent {}`", file.scope.flag(), host.name))
            .collect();
        results.push(CheckResult::caution(
            format!(
                "registered more than once, in {}: each registration decides every call, and an approval applies to the first \
                 decision only",
                paths.join(" and ")
            ),
            format!("keep one: {}", commands.join(" or ")),
        ));
    }
    results
}

/// Checks that the programs of the commands exist and have this version.
pub(super) fn programs(files: &[HookFile], env: &Environment, init: &str) -> Vec<CheckResult> {
    let commands = files.iter().flat_map(|file| {
        let events = file.hooks.iter().map(|(event, _)| event.as_str());
        events.filter_map(|event| file.command(event))
    });
    let mut names: Vec<String> = commands.filter_map(command::program_of).collect();
    names.sort();
    names.dedup();
    let this = env!("CARGO_PKG_VERSION");
    let check = |name: String| {
        let Some(path) = command::find(&name, env) else {
            return CheckResult::bad(
                format!("the program `{name}` does not exist, so every action is blocked"),
                format!("install Midrail, or register another program: `{init}`"),
            );
        };
        let shown = path.display();
        match version_of(&path) {
            Some(version) if version == this => CheckResult::good(format!("{shown} runs, version {this}")),
            Some(version) => CheckResult::caution(
                format!("{shown} is version {version}, this is {this}"),
                format!("install one of them, then run `{init}`"),
            ),
            None => CheckResult::bad(
                format!("{shown} does not report its version"),
                format!("install Midrail again, or register another program: `{init}`"),
            ),
        }
    };
    names.into_iter().map(check).collect()
}

/// Checks that an action is blocked if the program fails.
pub(super) fn failure_answers(
    host: &HostSpec,
    files: &[HookFile],
    version: Option<&str>,
    init: &str,
) -> Vec<CheckResult> {
    let mut results: Vec<CheckResult> =
        files.iter().filter_map(|file| failure_answer(host, file, init)).collect();
    if let (Some(since), Some(version)) = (host.blocks_on_timeout_since, version)
        && !is_at_least(version, &since)
    {
        let since = since.map(|part| part.to_string()).join(".");
        results.push(CheckResult::caution(
            format!("{} {version} allows a call whose hook exceeds its timeout", host.title),
            format!("update {} to {since} or later", host.title),
        ));
    } else if results.is_empty() {
        results.push(CheckResult::good("fails closed: without an answer, an action is blocked"));
    }
    results
}

fn failure_answer(host: &HostSpec, file: &HookFile, init: &str) -> Option<CheckResult> {
    let (mut open, mut changed) = (Vec::new(), Vec::new());
    let mut has_other_timeouts = false;
    for (hook_event, registration) in host.registrations() {
        let event = hook_event.name;
        let (Some(handler), Some(line)) = (file.handler(event), file.command(event)) else { continue };
        let program = command::program_of(line).unwrap_or_default();
        let wanted = json::as_value(&host.handler((hook_event, registration), &program));
        has_other_timeouts |= wanted != *handler;
        if without_timeouts(&wanted) != without_timeouts(handler) {
            changed.push(event);
        }
        if registration.on_failure != OnFailure::Allow && !command::requires_proof(line) {
            open.push(event);
        }
    }
    let path = file.path.display();
    let fix = format!("run `{init}`");
    let is_current = (host.setup.format)(file.scope).is_current(&file.text);
    if !open.is_empty() {
        let events = open.join(", ");
        Some(CheckResult::bad(format!("allowed if the program fails: {events} ({path})"), fix))
    } else if !changed.is_empty() {
        let events = changed.join(", ");
        let message = format!("not as this version writes it, so it might not block: {events} ({path})");
        Some(CheckResult::bad(message, fix))
    } else if !is_current {
        let message = format!("{path} is not as this version writes it, so it might not block");
        Some(CheckResult::bad(message, fix))
    } else if has_other_timeouts {
        let message = format!("{path} has other timeouts than this version writes");
        Some(CheckResult::caution(message, fix))
    } else {
        None
    }
}

/// The version that a program reports.
pub(super) fn version_of(program: &Path) -> Option<String> {
    let output = process::run(Command::new(program).arg("--version"), "", Duration::from_secs(10)).ok()?;
    version_in(&output.stdout).map(str::to_owned)
}

/// The first version in a text.
fn version_in(text: &str) -> Option<&str> {
    let mut words = text.split(|c: char| c.is_whitespace() || c == '(' || c == ')' || c == 'v');
    words.find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.matches('.').count() >= 2)
}

fn is_at_least(version: &str, least: &[u64]) -> bool {
    let parts = version.split(['.', '-']).map(|part| part.parse::<u64>().unwrap_or_default());
    parts.take(least.len()).collect::<Vec<_>>().as_slice() >= least
}

/// A registration without its timeouts, which users may change.
fn without_timeouts(handler: &Value) -> Value {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_found() {
        assert_eq!(version_in("2.1.325 (Claude Code)\n"), Some("2.1.325"));
        assert_eq!(version_in("codex-cli 0.166.0"), Some("0.166.0"));
        assert_eq!(version_in("midrail 0.1.0"), Some("0.1.0"));
        assert_eq!(version_in("hello"), None);
    }

    #[test]
    fn versions_are_compared_by_number() {
        assert!(is_at_least("2.1.295", &[2, 1, 295]));
        assert!(is_at_least("2.10.0", &[2, 1, 295]));
        assert!(!is_at_least("2.1.197", &[2, 1, 295]));
    }
}
