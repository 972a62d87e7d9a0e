//! What a guardrail no longer protects compared with another one that it replaces, such as that of the default pack.

use midrail_core::{Effect, Mode, Tools};
use serde_json::Value;

use crate::compile::CompiledGuard;
use crate::diagnostic::excerpt;
use crate::pattern::{any_covers, is_everything};
use crate::raw::CommandText;

/// Settings with exceptions: a longer list protects less, and a list of one's own is their documented use.
const EXCEPTIONS: &[&str] = &["allow", "ignore", "except", "expendable", "exclude", "known_programs"];

/// The most items of a list that a message names.
const MAX_NAMED: usize = 4;

/// What a guardrail no longer protects compared with the one of the default pack, each as a part of a sentence.
pub(crate) fn losses(default: &CompiledGuard<'_>, own: &CompiledGuard<'_>) -> Vec<String> {
    let (before, after) = (&default.entry.spec, &own.entry.spec);
    let mut losses = Vec::new();
    if before.mode == Mode::Enforce && after.mode != Mode::Enforce {
        losses.push("it runs in shadow mode".to_owned());
    }
    let missing: Vec<&str> =
        before.on.iter().filter(|kind| !after.on.contains(kind)).map(|kind| kind.as_str()).collect();
    if !missing.is_empty() {
        losses.push(format!("it does not check {}", missing.join(", ")));
    }
    losses.extend(lost_tools(&before.tools, &after.tools));
    for (what, before, after) in
        [("agents", &before.agents, &after.agents), ("tasks", &before.tasks, &after.tasks)]
    {
        let is_limited = !after.is_empty() && !after.iter().any(|pattern| is_everything(pattern));
        if before.is_empty() && is_limited {
            losses.push(format!("it checks only the {what} {}", named(after.iter().map(String::as_str))));
        }
    }
    if before.bound.is_none()
        && let Some((name, _)) = own.agent
    {
        losses.push(format!("it checks only events of `{name}`"));
    }
    if let Some(risk) = after.from_risk.filter(|risk| before.from_risk.is_none_or(|before| *risk > before)) {
        losses.push(format!("it checks only tasks from risk {}", risk.as_str()));
    }
    let strongest = before.effect.unwrap_or_else(|| default.entry.guardrail.max_effect());
    if let Some(effect) = after.effect.filter(|effect| *effect < strongest && *effect < Effect::Block) {
        losses.push(format!("its effect is {} instead of up to {}", effect.as_str(), strongest.as_str()));
    }
    if !own.guard.command.is_empty() && default.guard.command.is_empty() {
        let commands: Vec<String> = own.guard.command.iter().flat_map(CommandText::texts).collect();
        losses.push(format!("it checks only the commands {}", named(commands.iter().map(String::as_str))));
    }
    if own.guard.except.iter().any(|it| !default.guard.except.contains(it)) {
        let commands: Vec<String> = own.guard.except.iter().flat_map(CommandText::texts).collect();
        losses.push(format!("it does not check the commands {}", named(commands.iter().map(String::as_str))));
    }
    if let Some(when) = own.guard.when.as_deref().filter(|_| default.guard.when.is_none()) {
        losses.push(format!("it applies only when `{}`", excerpt(when)));
    }
    losses.extend(lost_settings(default.guard.with.as_ref(), own.guard.with.as_ref()));
    losses
}

fn lost_tools(before: &Tools, after: &Tools) -> Option<String> {
    let Tools::Only(after) = after else { return None };
    if after.iter().any(|pattern| is_everything(pattern)) {
        return None;
    }
    match before {
        Tools::All => Some(format!("it checks only the tools {}", named(after.iter().map(String::as_str)))),
        Tools::Only(before) => {
            let lost: Vec<&str> =
                before.iter().filter(|tool| !any_covers(after, tool)).map(String::as_str).collect();
            (!lost.is_empty()).then(|| format!("it does not check the tools {}", named(lost.into_iter())))
        }
    }
}

/// Lists that replace a longer one, exceptions for everything, and switches that are off.
fn lost_settings(before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
    let after = after.and_then(Value::as_object).into_iter().flatten();
    let lost = |(key, value): (&String, &Value)| {
        let before = before.and_then(|before| before.get(key));
        match (value, before) {
            (Value::Array(items), _) if EXCEPTIONS.contains(&key.as_str()) => {
                let all = items.iter().filter_map(Value::as_str).find(|item| is_everything(item))?;
                Some(format!("`{key}: {all}` exempts everything"))
            }
            (Value::Array(items), Some(Value::Array(before))) => {
                let lost: Vec<&str> =
                    before.iter().filter(|item| !items.contains(item)).filter_map(Value::as_str).collect();
                let names = || named(lost.iter().copied());
                (!lost.is_empty()).then(|| format!("its list `{key}` lacks {}", names()))
            }
            (Value::Bool(false), before) if before != Some(&Value::Bool(false)) => {
                Some(format!("`{key}` is false"))
            }
            (Value::String(text), before) if text == "allow" && before != Some(value) => {
                Some(format!("`{key}` is `allow`"))
            }
            _ => None,
        }
    };
    after.filter_map(lost).collect()
}

/// The first items of a list, and the number of the others.
fn named<'n>(items: impl Iterator<Item = &'n str>) -> String {
    let items: Vec<&str> = items.collect();
    let first: Vec<String> =
        items.iter().take(MAX_NAMED).map(|item| format!("`{}`", excerpt(item))).collect();
    match items.len().saturating_sub(MAX_NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Whether a guardrail can take the place of another: it is the same built-in, and enforced.
pub(crate) fn is_same_kind(default: &CompiledGuard<'_>, own: &CompiledGuard<'_>) -> bool {
    own.enabled
        && match (default.builtin, own.builtin) {
            (Some(default), Some(own)) => default.id == own.id,
            _ => default.entry.spec.id == own.entry.spec.id,
        }
}
