//! Feedback that is never given, completion that asks for nothing, and names of feedback that nobody gives.

use std::collections::BTreeSet;

use midrail_core::{Effect, EventKind};
use midrail_guardrails::{Completion, PackKey};
use serde::Deserialize;

use super::{DiagnosticLevel, Found, Issue, Linter};
use crate::compile::provider_name;
use crate::diagnostic::nearest;
use crate::expr::{Expected, Expression};
use crate::names::{EVENT_NAMES, GLOBS};

/// Feedback and completion whose settings lead to nothing.
pub(super) fn without_effect(linter: &mut Linter<'_>) {
    linter.each_guard("silent-feedback", DiagnosticLevel::Error, |it| {
        let feedback = it.guard.guard.feedback.as_ref().filter(|feedback| feedback.is_silent())?;
        let (key, _) = feedback.sources().first().copied()?;
        let message = format!("`{key}` without a trigger is never said");
        let issue = Issue::new(format!("{}/{key}", feedback_at(it)), message);
        Some(issue.help("add `every_n_calls`, `every_n_seconds` or `on_file_created`"))
    });
    linter.each_guard("empty-completion", DiagnosticLevel::Error, |it| {
        let (at, completion) = completion(it)?;
        let issue = Issue::new(at, "nothing has to be complete, so this stops nobody");
        completion.is_empty().then_some(issue.help("name `files`, a `command`, `todos` or another check"))
    });
    linter.each_guard("untold", DiagnosticLevel::Error, |it| {
        let (at, completion) = completion(it)?;
        let is_told = it.guard.entry.spec.on.contains(&EventKind::AfterTool);
        let issue =
            Issue::new(format!("{at}/also_after_tool"), "`also_after_tool` does nothing with this `on`");
        (completion.also_after_tool && !is_told)
            .then_some(issue.help("leave `on` out, or add `after_tool` to it"))
    });
    linter.each_guard("effect-unused", DiagnosticLevel::Error, |it| {
        let effect = it.guard.guard.effect?;
        let at = format!("{}/effect", it.guard.at);
        if it.guard.guard.feedback.is_some() {
            let issue = Issue::new(at, "feedback objects to nothing, so it has no effect of its own");
            return Some(issue.help("leave `effect` out, or make it a guardrail with a `check`"));
        }
        completion(it)?;
        let issue = Issue::new(at, "an agent that is not done is let go by this");
        (effect == Effect::Allow)
            .then_some(issue.help("leave `effect` out, or use `mode: shadow` to try it out"))
    });
}

/// What expressions say of feedback that nobody gives.
pub(super) fn feedback_names(linter: &mut Linter<'_>) {
    let names: BTreeSet<String> = linter.guards.iter().filter_map(name_of).collect();
    let mut found = Vec::new();
    for it in &linter.guards {
        for (at, source) in expressions(it) {
            let Ok(expression) = Expression::parse(&source, &EVENT_NAMES, Expected::Bool, GLOBS) else {
                continue;
            };
            for name in expression.names().iter().filter(|name| name.term().starts_with("feedback.")) {
                let text = name.to_string();
                let span = source.find(&text).map(|start| start..start + text.len());
                let provider = name.tail().first().and_then(|segment| segment.key());
                let (code, issue) = match provider {
                    _ if names.is_empty() => {
                        let message = format!("`{text}` is counted only where a policy has feedback");
                        (
                            "uncounted",
                            Issue::new(&at, message).help("add a feedback provider, or use another name"),
                        )
                    }
                    Some(provider) if !names.contains(provider) => {
                        let help = match nearest(provider, names.iter().map(String::as_str)) {
                            Some(near) => format!("did you mean `{near}`?"),
                            None => {
                                format!("they are {}", names.iter().cloned().collect::<Vec<_>>().join(", "))
                            }
                        };
                        let message = format!("no feedback provider is called `{provider}`");
                        ("unknown-provider", Issue::new(&at, message).help(help))
                    }
                    _ => continue,
                };
                found.push((code, it.document, Issue { span, ..issue }));
            }
        }
    }
    for (code, document, issue) in found {
        linter.found(code, DiagnosticLevel::Error, document, issue);
    }
}

/// Providers of two packs that agents see under one name.
pub(super) fn same_names(linter: &mut Linter<'_>) {
    let mut seen: Vec<(String, usize)> = Vec::new();
    let mut found = Vec::new();
    for it in &linter.guards {
        let Some(name) = name_of(it) else { continue };
        let is_unnamed = it.guard.guard.feedback.as_ref().is_some_and(|feedback| feedback.name.is_none());
        if is_unnamed && seen.iter().any(|(other, at)| *other == name && *at != it.document) {
            let message = format!("another pack has feedback that agents see as `{name}`, too");
            let issue = Issue::new(feedback_at(it), message).help("give it a `name` of its own");
            found.push((it.document, issue));
        }
        seen.push((name, it.document));
    }
    for (document, issue) in found {
        linter.found("same-provider", DiagnosticLevel::Warning, document, issue);
    }
}

/// The name under which agents see a provider.
fn name_of(it: &Found<'_>) -> Option<String> {
    let guard = it.guard.guard;
    guard.feedback.as_ref().filter(|_| it.guard.enabled)?;
    provider_name(guard, it.id())
}

/// Where the settings of feedback stand.
fn feedback_at(it: &Found<'_>) -> String {
    let at = &it.guard.at;
    // In a definition, nothing stands around them.
    if at.rsplit('/').nth(1) == Some("feedback") { at.clone() } else { format!("{at}/feedback") }
}

/// The settings of completion, and where they stand.
fn completion(it: &Found<'_>) -> Option<(String, Completion)> {
    let (at, guard) = (&it.guard.at, it.guard.guard);
    if let Some(completion) = &guard.completion {
        let at = if at.ends_with("/completion") { at.clone() } else { format!("{at}/completion") };
        return Some((at, completion.clone()));
    }
    it.guard.page.filter(|page| page.pack_key == PackKey::Completion)?;
    let completion = guard.with.as_ref().and_then(|with| Completion::deserialize(with).ok());
    Some((
        if guard.with.is_some() { format!("{at}/with") } else { at.clone() },
        completion.unwrap_or_default(),
    ))
}

/// Every expression of a guardrail, and where it stands.
fn expressions(it: &Found<'_>) -> Vec<(String, String)> {
    let guard = it.guard.guard;
    let mut all = Vec::new();
    let mut add = |at: String, source: Option<&String>| all.extend(source.map(|source| (at, source.clone())));
    add(format!("{}/when", it.guard.at), guard.when.as_ref());
    add(format!("{}/check", it.guard.at), guard.check.as_ref());
    if let Some(feedback) = &guard.feedback {
        add(format!("{}/should_run", feedback_at(it)), feedback.should_run.as_ref());
    }
    if let Some((at, completion)) = completion(it) {
        let _ = completion.compiled(&mut |below, source| {
            all.push((format!("{at}{below}"), source.to_owned()));
            None
        });
    }
    all
}
