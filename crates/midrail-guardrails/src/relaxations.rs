//! Settings that would have allowed an event, for the suggestions of `midrail replay`.

use midrail_core::{Decision, Event};
use serde_json::Value;

use crate::sensitive_file::SensitiveFile;
use crate::{branch_policy, catalogue, sandbox_boundary, self_protection};

/// Settings of a guardrail that would have allowed an event, each with the value to add to its list.
pub fn relaxing_settings(guardrail: &str, event: &Event, decision: &Decision) -> Vec<(&'static str, String)> {
    let text = |name: &str| decision.metadata.get(name).and_then(Value::as_str).map(str::to_owned);
    // A copy of a built-in has an id of its own; the metadata of its denial identifies it.
    let base = guardrail.split('@').next().unwrap_or(guardrail);
    let id = catalogue::builtin(base).map_or("", |builtin| builtin.id);
    if id == self_protection::BUILTIN.id {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let (Some(rule), Some(severity)) = (text("rule"), text("severity")) {
        found.extend(command_line(event).map(|command| ("allow", command)));
        if severity != "critical" {
            found.push(("ignore", rule));
        }
    } else if let (Some(path), Some(_)) = (text("path"), text("pattern")) {
        found.push(("except", relative_path(&path, event.cwd.as_deref())));
    } else if let Some(path) = text("path").filter(|_| id == sandbox_boundary::BUILTIN.id) {
        found.extend(folder_pattern(&path).map(|folder| ("allow", folder)));
        found.push(("allow", path));
    } else if let Some(family) = text("family") {
        found.push(("ignore", family));
    } else if id == branch_policy::BUILTIN.id {
        let change = branch_policy::protected_change(&decision.reason);
        found.extend(change.map(|change| ("allow", change.to_owned())));
    }
    found
}

/// The narrowest setting that would have allowed a call, with the entries of its list. An own list of exceptions replaces the default
/// one, so it contains that one as well.
pub fn narrowest_exception(
    guardrail: &str,
    event: &Event,
    decision: &Decision,
) -> Option<(&'static str, Vec<String>)> {
    let settings = relaxing_settings(guardrail, event, decision);
    // A file is narrower than its folder, and a call narrower than a rule.
    let exact = settings.iter().rev().find(|(setting, _)| *setting != "ignore").or(settings.first())?;
    let (setting, value) = exact.clone();
    let mut entries = Vec::new();
    if setting == "except" {
        entries.extend(SensitiveFile::default().except.into_iter().map(|pattern| pattern.0));
    }
    entries.push(value);
    Some((setting, entries))
}

/// The command line of a call, as the setting `allow` spells it.
fn command_line(event: &Event) -> Option<String> {
    let args = &event.tool.as_ref()?.args;
    let text = ["command", "cmd"].iter().find_map(|name| args.get(*name)?.as_str())?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// A path relative to the working directory, if it is inside.
fn relative_path(path: &str, cwd: Option<&str>) -> String {
    let inside = cwd.and_then(|cwd| path.strip_prefix(cwd.trim_end_matches('/'))?.strip_prefix('/'));
    inside.unwrap_or(path).to_owned()
}

/// The pattern of everything in a file's folder.
fn folder_pattern(path: &str) -> Option<String> {
    let (folder, _) = path.rsplit_once('/')?;
    (folder.matches('/').count() > 1).then(|| format!("{folder}/**"))
}
