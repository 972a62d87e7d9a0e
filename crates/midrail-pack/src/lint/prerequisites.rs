//! Tools that can never be called: what they need first needs them, or is nobody's to call.

use std::collections::BTreeSet;

use midrail_core::glob;

use super::needs::{Need, could_be_any};
use super::{Issue, Linter, Severity};
use crate::pattern::covers;

/// Tools that wait for one another.
pub(super) fn cycles(linter: &mut Linter<'_>, needs: &[Need]) {
    let conditions: BTreeSet<Option<&str>> = needs.iter().map(|need| need.condition.as_deref()).collect();
    // Circles that share a tool are one knot, and told as one.
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for condition in conditions {
        // Rules under two different conditions need not hold at one time.
        let holds = |need: &&Need| need.condition.is_none() || need.condition.as_deref() == condition;
        let needs: Vec<&Need> = needs.iter().filter(holds).collect();
        let tools = reachable(&needs);
        for (tool, _) in tools.iter().filter(|(_, can_be_called)| !can_be_called) {
            let Some(circle) = circle(tool, &needs, &tools) else { continue };
            let first = circle.iter().min_by_key(|need| (need.document, &need.at));
            let (Some(first), false) = (first, circle.iter().any(|need| told.contains(need.tool.as_str())))
            else {
                continue;
            };
            told.extend(circle.iter().map(|need| need.tool.as_str()));
            let steps: Vec<String> =
                circle.iter().map(|need| format!("`{}` needs {}", need.tool, one_of(&need.any_of))).collect();
            let message = match circle.as_slice() {
                [only] => format!("`{}` can never be called: it needs itself first", only.tool),
                _ => format!("`{}` can never be called: {}", first.tool, steps.join(", ")),
            };
            let issue = Issue::new(&first.at, message).help("take one of these requirements out");
            linter.found("prerequisite-cycle", Severity::Error, first.document, issue);
        }
    }
}

fn one_of(tools: &[String]) -> String {
    let tools: Vec<String> = tools.iter().map(|tool| format!("`{tool}`")).collect();
    tools.join(" or ")
}

/// Whether a rule for one tool or pattern governs every tool that another stands for.
fn governs(need: &Need, tool: &str) -> bool {
    covers(&need.tool, tool)
}

/// Every tool and whether it can ever be called. Grows the set of those that can until it stays.
fn reachable<'n>(needs: &[&'n Need]) -> Vec<(&'n str, bool)> {
    let names: BTreeSet<&str> = needs
        .iter()
        .flat_map(|need| std::iter::once(&need.tool).chain(&need.any_of))
        .map(String::as_str)
        .collect();
    let mut tools: Vec<(&str, bool)> = names.into_iter().map(|name| (name, false)).collect();
    loop {
        let can_be_called = |tool: &str| {
            needs
                .iter()
                .filter(|need| governs(need, tool))
                .all(|need| need.any_of.iter().any(|required| is_within_reach(required, &tools)))
        };
        let next: Vec<(&str, bool)> =
            tools.iter().map(|(tool, can)| (*tool, *can || can_be_called(tool))).collect();
        if next == tools {
            return tools;
        }
        tools = next;
    }
}

/// Whether a tool, or some tool of a pattern, can be called.
fn is_within_reach(required: &str, tools: &[(&str, bool)]) -> bool {
    tools.iter().any(|(tool, can)| *can && (*tool == required || glob::name_matches(required, tool)))
}

/// The rules that lead from a tool that is stuck back to it, where it is in a circle itself.
fn circle<'n>(start: &str, needs: &[&'n Need], tools: &[(&str, bool)]) -> Option<Vec<&'n Need>> {
    let is_open = |need: &Need| need.any_of.iter().any(|required| is_within_reach(required, tools));
    let mut queue: Vec<(&str, Vec<&'n Need>)> = vec![(start, Vec::new())];
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    // Breadth first, so that the shortest circle is told.
    while !queue.is_empty() {
        let (tool, path) = queue.remove(0);
        for need in needs.iter().filter(|need| governs(need, tool) && !is_open(need)) {
            let path: Vec<&Need> = path.iter().copied().chain([*need]).collect();
            for required in &need.any_of {
                if required == start || glob::name_matches(required, start) {
                    return Some(path);
                }
                if seen.insert(required) {
                    queue.push((required, path.clone()));
                }
            }
        }
    }
    None
}

/// Tools in rules that no agent may call.
pub(super) fn not_allowed(linter: &mut Linter<'_>, needs: &[Need]) {
    let mut allowed: Vec<String> = Vec::new();
    let mut agents = 0_usize;
    for (_, document) in linter.packs() {
        for agent in document.pack.agents.values() {
            // An agent without a list may call anything.
            let Some(list) = &agent.allowed_tools else { return };
            agents += 1;
            allowed.extend(list.iter().chain(agent.additional_tools.iter().flatten()).cloned());
        }
        let tasks = document.pack.tasks.values();
        allowed.extend(tasks.filter_map(|task| task.additional_tools.clone()).flatten());
    }
    if agents == 0 {
        return;
    }
    let mut told = BTreeSet::new();
    for need in needs {
        if !could_be_any(&need.tool, &allowed) {
            if told.insert((need.document, need.at.clone(), need.tool.clone())) {
                let message = format!("no agent may call `{}`, so this rule never comes to bear", need.tool);
                let issue = Issue::new(&need.at, message).help("add it to the `allowed_tools` of an agent");
                linter.found("tool-not-allowed", Severity::Warning, need.document, issue);
            }
        } else if !need.any_of.iter().any(|required| could_be_any(required, &allowed)) {
            let required = one_of(&need.any_of);
            let message =
                format!("`{}` can never be called: no agent may call {required}, which it needs", need.tool);
            let issue = Issue::new(&need.at, message).help("add it to the `allowed_tools` of an agent");
            linter.found("tool-not-allowed", Severity::Error, need.document, issue);
        }
    }
}
