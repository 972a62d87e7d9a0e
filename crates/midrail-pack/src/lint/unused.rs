//! Names that fit nothing, and parts of packs that do nothing.

use std::collections::BTreeSet;

use super::{DiagnosticLevel, Issue, Linter};
use crate::compile::key;
use crate::diagnostic::nearest;
use crate::expr::{Expected, Expression};
use crate::names::{EVENT_NAMES, GLOBS};
use crate::pattern::could_meet;
use crate::raw::Defaults;

/// Agents and roles that no definition knows.
pub(super) fn names(linter: &mut Linter<'_>) {
    let definitions: Vec<_> = linter.packs().flat_map(|(_, document)| &document.pack.agents).collect();
    agents(linter, &definitions.iter().map(|(_, agent)| agent.id.as_slice()).collect::<Vec<_>>());
    tasks(linter);
    let roles: Vec<Option<&str>> = definitions.iter().map(|(name, agent)| agent.role_or(name)).collect();
    self::roles(linter, &roles);
}

/// Patterns of agents that fit no definition. A definition without ids could be that of any agent.
fn agents(linter: &mut Linter<'_>, ids: &[&[String]]) {
    if ids.is_empty() || ids.iter().any(|ids| ids.is_empty()) {
        return;
    }
    let known: BTreeSet<&str> = ids.iter().flat_map(|ids| ids.iter()).map(String::as_str).collect();
    let unknown = |(_, pattern): &(usize, &String)| !known.iter().any(|id| could_meet(pattern, id));
    let mut found = Vec::new();
    for it in &linter.guards {
        for (i, pattern) in it.guard.guard.agents.iter().enumerate().filter(unknown) {
            let message = format!("no definition is for an agent `{pattern}`");
            let help = match nearest(pattern, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "the definitions are for {}",
                    known.iter().copied().collect::<Vec<_>>().join(", ")
                ),
            };
            found.push((it.document, Issue::new(format!("{}/agents/{i}", it.guard.at), message).help(help)));
        }
    }
    for (document, issue) in found {
        linter.found("unknown-agent", DiagnosticLevel::Warning, document, issue);
    }
}

/// Patterns of tasks that fit no definition, where there are definitions of tasks.
fn tasks(linter: &mut Linter<'_>) {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for (name, task) in linter.packs().flat_map(|(_, document)| &document.pack.tasks) {
        known.extend(task.id.iter().map(String::as_str));
        if task.id.is_empty() {
            known.insert(name);
        }
    }
    if known.is_empty() {
        return;
    }
    let agents = linter.packs().flat_map(|(_, document)| document.pack.agents.values());
    known.extend(agents.flat_map(|agent| agent.task_ids.iter()).map(String::as_str));
    let unknown = |(_, pattern): &(usize, &String)| !known.iter().any(|id| could_meet(pattern, id));
    let mut found = Vec::new();
    for it in &linter.guards {
        for (i, pattern) in it.guard.guard.tasks.iter().enumerate().filter(unknown) {
            let message = format!("no definition is for a task `{pattern}`");
            let help = match nearest(pattern, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let known: Vec<&str> = known.iter().copied().collect();
                    format!("the definitions are for {}", known.join(", "))
                }
            };
            found.push((it.document, Issue::new(format!("{}/tasks/{i}", it.guard.at), message).help(help)));
        }
    }
    for (document, issue) in found {
        linter.found("unknown-task", DiagnosticLevel::Warning, document, issue);
    }
}

/// Roles in expressions that no definition declares. Where some declare none, only what looks like a slip is told.
fn roles(linter: &mut Linter<'_>, declared: &[Option<&str>]) {
    let known: BTreeSet<&str> = declared.iter().copied().flatten().collect();
    if known.is_empty() {
        return;
    }
    let all_declare = declared.iter().all(Option::is_some);
    let mut found = Vec::new();
    for it in &linter.guards {
        for (part, source) in [("when", &it.guard.guard.when), ("check", &it.guard.guard.check)] {
            let Some(source) = source else { continue };
            let Ok(expression) = Expression::parse(source, &EVENT_NAMES, Expected::Bool, GLOBS) else {
                continue;
            };
            for role in expression.equalities("agent.role") {
                let near = nearest(role, known.iter().copied());
                if known.contains(role) || !(all_declare || near.is_some()) {
                    continue;
                }
                let help = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the roles are {}", known.iter().copied().collect::<Vec<_>>().join(", ")),
                };
                let issue = Issue::new(
                    format!("{}/{part}", it.guard.at),
                    format!("no definition declares the role `{role}`"),
                );
                let quoted = ["'", "\""].map(|quote| format!("{quote}{role}{quote}"));
                let span = quoted
                    .iter()
                    .find_map(|quoted| source.find(quoted))
                    .map(|start| start + 1..start + 1 + role.len());
                found.push((it.document, Issue { span, ..issue.help(help) }));
            }
        }
    }
    for (document, issue) in found {
        linter.found("unknown-role", DiagnosticLevel::Warning, document, issue);
    }
}

/// Parts of packs that change nothing.
pub(super) fn parts(linter: &mut Linter<'_>) {
    for (at, document) in linter.packs() {
        for env in &document.idle_overlays {
            let issue =
                Issue::new(format!("/env/{}", key(env)), format!("the overlay `{env}` changes nothing"));
            linter.found("idle-overlay", DiagnosticLevel::Warning, at, issue.help("leave it out"));
        }
        let has_guardrails = || linter.guards.iter().any(|it| it.document == at);
        if document.pack.defaults != Defaults::default() && !has_guardrails() {
            let issue = Issue::new("/defaults", "these defaults are for no guardrail")
                .help("defaults hold for the guardrails of their own pack");
            linter.found("idle-defaults", DiagnosticLevel::Warning, at, issue);
        }
    }
    linter.each_guard("disabled", DiagnosticLevel::Note, |it| {
        let issue = Issue::new(format!("{}/enabled", it.guard.at), format!("`{}` is switched off", it.id()));
        (!it.guard.enabled).then_some(issue)
    });
}
