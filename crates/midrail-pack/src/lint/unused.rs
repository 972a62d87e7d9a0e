//! Unknown names of agents, tasks and roles, and parts of packs without effect.

use std::collections::BTreeSet;

use crate::diagnostic::{DiagnosticLevel, did_you_mean, nearest};
use crate::issue::{Issue, pointer_key};
use crate::lint::linter::{Findings, Packs, quoted_span};
use crate::pattern::could_meet;
use crate::raw::{Defaults, Guard};
use crate::scalar::OneOrMany;

/// Agents, tasks and roles without a definition.
pub(super) fn names(packs: &Packs<'_>, out: &mut Findings<'_>) {
    let agents: Vec<_> = packs.iter().flat_map(|(_, document)| &document.pack.agents).collect();
    // A definition without ids could be that of any agent.
    if !agents.iter().any(|(_, agent)| agent.id.is_empty()) {
        let known = agents.iter().flat_map(|(_, agent)| agent.id.iter()).map(String::as_str).collect();
        patterns(packs, out, ("unknown-agent", "agents", "an agent"), |guard| &guard.agents, known);
    }
    let tasks: Vec<_> = packs.iter().flat_map(|(_, document)| &document.pack.tasks).collect();
    if !tasks.is_empty() {
        let named = tasks.iter().filter(|(_, task)| task.id.is_empty()).map(|(name, _)| name.as_str());
        let ids = tasks.iter().flat_map(|(_, task)| task.id.iter()).map(String::as_str);
        let of_agents = agents.iter().flat_map(|(_, agent)| agent.task_ids.iter()).map(String::as_str);
        let known = ids.chain(named).chain(of_agents).collect();
        patterns(packs, out, ("unknown-task", "tasks", "a task"), |guard| &guard.tasks, known);
    }
    let declared: Vec<Option<&str>> = agents.iter().map(|(name, agent)| agent.role_or(name)).collect();
    roles(packs, out, &declared);
}

/// Patterns of guardrails that match no definition.
fn patterns(
    packs: &Packs<'_>,
    out: &mut Findings<'_>,
    (code, key, noun): (&'static str, &str, &str),
    get: fn(&Guard) -> &OneOrMany,
    known: BTreeSet<&str>,
) {
    if known.is_empty() {
        return;
    }
    for found in &packs.guards {
        for (i, pattern) in get(found.guard.guard).iter().enumerate() {
            if known.iter().any(|id| could_meet(pattern, id)) {
                continue;
            }
            let help = did_you_mean(pattern, known.iter().copied(), |known| {
                format!("the definitions are for {known}")
            });
            let message = format!("no definition is for {noun} `{pattern}`");
            out.warn(code, found.document, Issue::new(found.at(&format!("{key}/{i}")), message).help(help));
        }
    }
}

/// Roles in expressions without a definition. If some definitions have no role, only probable misspellings are reported.
fn roles(packs: &Packs<'_>, out: &mut Findings<'_>, declared: &[Option<&str>]) {
    let known: BTreeSet<&str> = declared.iter().copied().flatten().collect();
    if known.is_empty() {
        return;
    }
    let all_declare = declared.iter().all(Option::is_some);
    for found in &packs.guards {
        for (key, source, expression) in found.expressions() {
            for role in expression.equalities("agent.role") {
                let is_misspelt = nearest(role, known.iter().copied()).is_some();
                if known.contains(role) || !(all_declare || is_misspelt) {
                    continue;
                }
                let help =
                    did_you_mean(role, known.iter().copied(), |known| format!("the roles are {known}"));
                let message = format!("no definition declares the role `{role}`");
                let issue = Issue::new(found.at(key), message).help(help);
                let span = quoted_span(source, role);
                out.warn("unknown-role", found.document, Issue { span, ..issue });
            }
        }
    }
}

/// Parts of packs without effect.
pub(super) fn parts(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for (at, document) in packs.iter() {
        for env in &document.idle_overlays {
            let message = format!("the overlay `{env}` changes nothing");
            let issue = Issue::new(format!("/env/{}", pointer_key(env)), message).help("leave it out");
            out.warn("idle-overlay", at, issue);
        }
        let has_guardrails = packs.guards.iter().any(|found| found.document == at);
        if document.pack.defaults != Defaults::default() && !has_guardrails {
            let issue = Issue::new("/defaults", "these defaults apply to no guardrail");
            let help = "defaults apply to the guardrails of their own pack only";
            out.warn("idle-defaults", at, issue.help(help));
        }
    }
    out.each(packs, "disabled", DiagnosticLevel::Note, |found| {
        let issue = Issue::new(found.at("enabled"), format!("`{}` is disabled", found.id()));
        (!found.guard.enabled).then_some(issue)
    });
}
