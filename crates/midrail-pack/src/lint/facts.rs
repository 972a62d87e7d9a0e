//! Expressions about values that the events of a guardrail do not have.

use midrail_core::{EventKind, OnFault};

use crate::issue::Issue;
use crate::lint::linter::{Findings, Packs};

/// Names, and the kinds of event that have them.
const NAMES: &[(&str, &[EventKind])] = &[
    ("result", &[EventKind::AfterTool, EventKind::OnError, EventKind::Observed]),
    ("text", &[EventKind::BeforeModel, EventKind::ModelChunk, EventKind::AfterModel]),
    ("handoff", &[EventKind::BeforeHandoff, EventKind::AfterHandoff]),
    ("error", &[EventKind::OnError, EventKind::AfterTool]),
    ("output", &[EventKind::BeforeStop, EventKind::SessionEnd]),
    ("stop_reason", &[EventKind::BeforeStop, EventKind::SessionEnd]),
];

/// Names that are never known in the events of a guardrail.
pub(super) fn of_other_events(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for found in &packs.guards {
        let on = &found.guard.entry.spec.on;
        for (key, source, expression) in found.expressions() {
            for name in expression.names() {
                let root = name.term().split('.').next().unwrap_or_default();
                let Some((_, kinds)) = NAMES.iter().find(|(known, _)| *known == root) else { continue };
                if on.is_empty() || on.iter().any(|kind| kinds.contains(kind)) {
                    continue;
                }
                let on = on.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
                let message = format!("`{name}` is never known here: {on} does not have it");
                let first = kinds.first().map_or("after_tool", |kind| kind.as_str());
                let issue = Issue::new(found.at(key), message).help(format!("use `on: {first}`"));
                let text = name.to_string();
                let span = source.find(&text).map(|start| start..start + text.len());
                out.warn("never-known", found.document, Issue { span, ..issue });
            }
        }
    }
}

/// Checks of an argument that apply to all tools, most of which do not have it.
pub(super) fn of_other_tools(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for found in &packs.guards {
        let (guard, spec) = (found.guard.guard, &found.guard.entry.spec);
        let is_limited = guard.when.is_some() || !guard.tools.is_empty() || found.guard.section.is_some();
        if found.guard.builtin.is_some() || is_limited || spec.on_missing == OnFault::Allow {
            continue;
        }
        let expressions = found.expressions().filter(|(key, ..)| *key == "check");
        for (key, source, expression) in expressions.filter(|(_, source, _)| !source.contains("known")) {
            let Some(name) = expression.names().iter().find(|name| name.term() == "tool.args.*") else {
                continue;
            };
            let stops = if spec.on_missing == OnFault::Block { "blocked" } else { "escalated" };
            let message =
                format!("`{}` applies to all tools, and calls without `{name}` are {stops}", found.id());
            let help = format!("add `tools: [NAME, …]`, or `when: {name} is known`");
            let text = name.to_string();
            let span = source.find(&text).map(|start| start..start + text.len());
            let issue = Issue::new(found.at(key), message).help(help);
            out.warn("missing-argument", found.document, Issue { span, ..issue });
        }
    }
}
