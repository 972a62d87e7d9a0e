//! Feedback that is never given, completion without requirements or with texts that no file has, and unknown names of feedback
//! providers.

use std::collections::BTreeSet;

use midrail_core::{Effect, EventKind};
use midrail_guardrails::{Completion, PackKey};
use serde::Deserialize;

use crate::compile::{feedback_place, provider_name};
use crate::diagnostic::{DiagnosticLevel, did_you_mean, excerpt};
use crate::expr::Expected;
use crate::issue::{Issue, pointer_key};
use crate::lint::linter::{Findings, Found, Packs};
use crate::lint::traps::foreign_pattern;
use crate::names::event_expression;

/// Feedback and completion without effect.
pub(super) fn without_effect(packs: &Packs<'_>, out: &mut Findings<'_>) {
    out.each(packs, "silent-feedback", DiagnosticLevel::Error, |found| {
        let feedback = found.guard.guard.feedback.as_ref().filter(|feedback| feedback.is_silent())?;
        let (key, _) = feedback.sources().first().copied()?;
        let message = format!("`{key}` without a trigger is never shown");
        let issue = Issue::new(format!("{}/{key}", feedback_place(&found.guard.at)), message);
        Some(issue.help("add `every_n_calls`, `every_n_seconds` or `on_file_created`"))
    });
    out.each(packs, "empty-completion", DiagnosticLevel::Error, |found| {
        let (at, completion) = completion(found)?;
        let issue = Issue::new(at, "nothing must be complete, so the agent can always stop");
        completion.is_empty().then_some(issue.help("add `files`, a `command`, `todos` or another check"))
    });
    out.each(packs, "unused-also-after-tool", DiagnosticLevel::Error, |found| {
        let (at, completion) = completion(found)?;
        let is_on = found.guard.entry.spec.on.contains(&EventKind::AfterTool);
        let message = "`also_after_tool` has no effect with this `on`";
        let issue = Issue::new(format!("{at}/also_after_tool"), message);
        (completion.also_after_tool && !is_on)
            .then_some(issue.help("leave `on` out, or add `after_tool` to it"))
    });
    out.each(packs, "effect-unused", DiagnosticLevel::Error, |found| {
        let effect = found.guard.guard.effect?;
        if found.guard.guard.feedback.is_some() {
            let issue = Issue::new(found.at("effect"), "feedback finds no violations, so it has no effect");
            return Some(issue.help("leave `effect` out, or make it a guardrail with a `check`"));
        }
        completion(found)?;
        let issue = Issue::new(found.at("effect"), "with this effect, an agent that is not done can stop");
        (effect == Effect::Allow)
            .then_some(issue.help("leave `effect` out, or use `mode: shadow` to try it out"))
    });
}

/// Texts of completion that are written in another language of patterns.
pub(super) fn wanted_texts(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for found in &packs.guards {
        let Some((at, completion)) = completion(found) else { continue };
        for (below, checks) in completion.maps() {
            let place = |name: &str, file: &str| format!("{at}{below}/{name}/{}", pointer_key(file));
            for (file, patterns) in checks.matches.iter().flatten() {
                for text in patterns.iter().map(|pattern| pattern.0.as_str()) {
                    let Some((why, help)) = foreign_pattern(text) else { continue };
                    let message = format!("`{}`: {why}", excerpt(text));
                    out.warn(
                        "foreign-pattern",
                        found.document,
                        Issue::new(place("matches", file), message).help(help),
                    );
                }
            }
            for (file, texts) in checks.contains.iter().flatten() {
                for text in texts.iter().filter(|text| is_wildcard(text)) {
                    let message = format!("`*` has no special meaning in `contains`: `{}`", excerpt(text));
                    let help =
                        format!("write `{}` without `*`, or use `matches`", excerpt(text.trim_matches('*')));
                    out.warn(
                        "literal-wildcard",
                        found.document,
                        Issue::new(place("contains", file), message).help(help),
                    );
                }
            }
        }
    }
}

/// Whether a text is meant as a pattern: `*text*`, and not `**text**` or `* item`.
fn is_wildcard(text: &str) -> bool {
    let inner = text.strip_prefix('*').and_then(|rest| rest.strip_suffix('*'));
    inner.is_some_and(|inner| !inner.is_empty() && !inner.starts_with(['*', ' ']))
}

/// Names of feedback in expressions without a provider.
pub(super) fn feedback_names(packs: &Packs<'_>, out: &mut Findings<'_>) {
    let providers: BTreeSet<String> = packs.guards.iter().filter_map(provider).collect();
    for found in &packs.guards {
        for (at, source) in expressions(found) {
            let Ok(expression) = event_expression(&source, Expected::Bool) else { continue };
            for name in expression.names().iter().filter(|name| name.term().starts_with("feedback.")) {
                let text = name.to_string();
                let span = source.find(&text).map(|start| start..start + text.len());
                let (code, message, help) = match name.tail().first().and_then(|segment| segment.key()) {
                    _ if providers.is_empty() => (
                        "feedback-not-counted",
                        format!("`{text}` is counted only if a policy has feedback"),
                        "add a feedback provider, or use another name".to_owned(),
                    ),
                    Some(provider) if !providers.contains(provider) => (
                        "unknown-provider",
                        format!("there is no feedback provider `{provider}`"),
                        did_you_mean(provider, providers.iter().map(String::as_str), |known| {
                            format!("the providers are {known}")
                        }),
                    ),
                    _ => continue,
                };
                let issue = Issue { span, ..Issue::new(&at, message).help(help) };
                out.add(code, DiagnosticLevel::Error, found.document, issue);
            }
        }
    }
}

/// Providers of two packs with the same name.
pub(super) fn same_names(packs: &Packs<'_>, out: &mut Findings<'_>) {
    let mut seen: Vec<(String, usize)> = Vec::new();
    for found in &packs.guards {
        let Some(name) = provider(found) else { continue };
        let is_unnamed = found.guard.guard.feedback.as_ref().is_some_and(|feedback| feedback.name.is_none());
        if is_unnamed && seen.iter().any(|(other, at)| *other == name && *at != found.document) {
            let message = format!("another pack has feedback with the name `{name}`, too");
            let issue = Issue::new(feedback_place(&found.guard.at), message).help("give it its own `name`");
            out.warn("same-provider", found.document, issue);
        }
        seen.push((name, found.document));
    }
}

/// The name of an enabled feedback provider.
fn provider(found: &Found<'_>) -> Option<String> {
    if found.guard.enabled { provider_name(found.guard.guard, found.id()) } else { None }
}

/// The settings of completion, and their place.
fn completion(found: &Found<'_>) -> Option<(String, Completion)> {
    let (at, guard) = (&found.guard.at, found.guard.guard);
    if let Some(completion) = &guard.completion {
        let at = if at.ends_with("/completion") { at.clone() } else { found.at("completion") };
        return Some((at, completion.clone()));
    }
    found.guard.builtin.filter(|builtin| builtin.pack_key == PackKey::Completion)?;
    let completion = guard.with.as_ref().and_then(|with| Completion::deserialize(with).ok());
    let at = if guard.with.is_some() { found.at("with") } else { at.clone() };
    Some((at, completion.unwrap_or_default()))
}

/// Every expression of a guardrail, and its place.
fn expressions(found: &Found<'_>) -> Vec<(String, String)> {
    let guard = found.guard.guard;
    let should_run = guard.feedback.as_ref().and_then(|feedback| feedback.should_run.as_ref());
    let mut all: Vec<(String, String)> = [
        (found.at("when"), guard.when.as_ref()),
        (found.at("check"), guard.check.as_ref()),
        (format!("{}/should_run", feedback_place(&found.guard.at)), should_run),
    ]
    .into_iter()
    .filter_map(|(at, source)| Some((at, source?.clone())))
    .collect();
    if let Some((at, completion)) = completion(found) {
        let _ = completion.compiled(&mut |below, source| {
            all.push((format!("{at}{below}"), source.to_owned()));
            None
        });
    }
    all
}
