//! Tools that can never be called, because their prerequisites need them or because no agent may call them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use midrail_core::glob;

use crate::diagnostic::DiagnosticLevel;
use crate::issue::Issue;
use crate::lint::linter::{Findings, Packs};
use crate::lint::needs::{Need, could_be_any};
use crate::pattern::{Prefixes, covers, literal_start};

/// Tools that wait for one another.
pub(super) fn cycles(out: &mut Findings<'_>, needs: &[Need]) {
    let mut by_condition: BTreeMap<Option<&str>, Vec<&Need>> = BTreeMap::new();
    for need in needs {
        by_condition.entry(need.condition.as_deref()).or_default().push(need);
    }
    // Cycles that share a tool are reported as one.
    let mut reported: BTreeSet<&str> = BTreeSet::new();
    let always = by_condition.get(&None).cloned().unwrap_or_default();
    let gated_always: BTreeSet<&str> = always.iter().map(|need| need.tool.as_str()).collect();
    for (condition, conditional) in &by_condition {
        let mut holding = conditional.clone();
        if condition.is_some() {
            // Rules with different conditions need not hold at the same time; those without one always do.
            if !may_need_gated(conditional, &gated_always) {
                continue;
            }
            holding.extend(&always);
        }
        let graph = Graph::new(&holding);
        for (at, tool) in graph.names.iter().enumerate() {
            if graph.callable.contains(&at) || reported.contains(tool) {
                continue;
            }
            let Some(cycle) = graph.cycle(at, tool) else { continue };
            let first = cycle.iter().min_by_key(|need| (need.document, &need.at));
            let (Some(first), false) =
                (first, cycle.iter().any(|need| reported.contains(need.tool.as_str())))
            else {
                continue;
            };
            reported.extend(cycle.iter().map(|need| need.tool.as_str()));
            let steps: Vec<String> =
                cycle.iter().map(|need| format!("`{}` needs {}", need.tool, one_of(&need.any_of))).collect();
            let message = match cycle.as_slice() {
                [only] => format!("`{}` can never be called: it needs itself first", only.tool),
                _ => format!("`{}` can never be called: {}", first.tool, steps.join(", ")),
            };
            let issue = Issue::new(&first.at, message).help("remove one of these requirements");
            out.add("prerequisite-cycle", DiagnosticLevel::Error, first.document, issue);
        }
    }
}

/// Whether a prerequisite of these rules could be gated, without which there is no cycle.
fn may_need_gated(needs: &[&Need], gated_always: &BTreeSet<&str>) -> bool {
    let mut gated: BTreeSet<&str> = needs.iter().map(|need| need.tool.as_str()).collect();
    gated.extend(gated_always);
    gated.iter().any(|tool| is_pattern(tool))
        || needs
            .iter()
            .flat_map(|need| &need.any_of)
            .any(|required| is_pattern(required) || gated.contains(required.as_str()))
}

fn one_of(tools: &[String]) -> String {
    let tools: Vec<String> = tools.iter().map(|tool| format!("`{tool}`")).collect();
    tools.join(" or ")
}

fn is_pattern(tool: &str) -> bool {
    glob::is_pattern(tool) || tool.contains('\\')
}

/// Tools and patterns, and the rules between them. Tools and rules are identified by their index.
struct Graph<'n> {
    needs: Vec<&'n Need>,
    places: BTreeMap<&'n str, usize>,
    names: Vec<&'n str>,
    /// For each tool, the rules that apply to all that it matches.
    rules_of: Vec<Vec<usize>>,
    /// For each rule, the tools that satisfy it.
    satisfied_by: Vec<Vec<usize>>,
    /// The tools that can be called.
    callable: BTreeSet<usize>,
}

impl<'n> Graph<'n> {
    fn new(needs: &[&'n Need]) -> Self {
        let tools = needs.iter().flat_map(|need| std::iter::once(&need.tool).chain(&need.any_of));
        let names: BTreeSet<&str> = tools.map(String::as_str).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let places: BTreeMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (*name, at)).collect();
        let mut rules: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut pattern_rules = Prefixes::default();
        for (at, need) in needs.iter().enumerate() {
            if is_pattern(&need.tool) {
                pattern_rules.add(&need.tool, at);
            } else {
                rules.entry(&need.tool).or_default().push(at);
            }
        }
        let rules_of = |name: &&str| {
            let patterns = pattern_rules.may_cover(name).copied();
            let patterns = patterns.filter(|at| needs.get(*at).is_some_and(|need| covers(&need.tool, name)));
            let mut all: Vec<usize> =
                rules.get(name).into_iter().flatten().copied().chain(patterns).collect();
            all.sort_unstable();
            all
        };
        let satisfied_by = |need: &&Need| {
            let mut tools: Vec<usize> = Vec::new();
            for required in &need.any_of {
                tools.extend(places.get(required.as_str()));
                if is_pattern(required) {
                    let start = literal_start(required);
                    let near = places.range(start..).take_while(|(name, _)| name.starts_with(start));
                    let matching = near.filter(|(name, _)| glob::name_matches(required, name));
                    tools.extend(matching.map(|(_, at)| *at));
                }
            }
            tools
        };
        let rules_of = names.iter().map(rules_of).collect();
        let satisfied_by = needs.iter().map(satisfied_by).collect();
        let mut graph =
            Graph { needs: needs.to_vec(), places, names, rules_of, satisfied_by, callable: BTreeSet::new() };
        // The set grows from the tools without rules until nothing changes.
        loop {
            let is_new = |at: &usize| !graph.callable.contains(at) && graph.open_rules(*at).next().is_none();
            let new: Vec<usize> = (0..graph.names.len()).filter(is_new).collect();
            if new.is_empty() {
                return graph;
            }
            graph.callable.extend(new);
        }
    }

    /// The rules of a tool that nothing callable satisfies.
    fn open_rules(&self, tool: usize) -> impl Iterator<Item = usize> {
        let is_open = |rule: &usize| {
            let satisfying = self.satisfied_by.get(*rule);
            satisfying.is_none_or(|tools| tools.iter().all(|tool| !self.callable.contains(tool)))
        };
        self.rules_of.get(tool).into_iter().flatten().copied().filter(is_open)
    }

    /// The rules of the shortest cycle through a tool, if there is one.
    fn cycle(&self, first: usize, start: &str) -> Option<Vec<&'n Need>> {
        let mut queue = VecDeque::from([first]);
        // For each tool, the rule that leads to it and the tool before.
        let mut from: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        while let Some(tool) = queue.pop_front() {
            for rule in self.open_rules(tool) {
                let Some(need) = self.needs.get(rule) else { continue };
                for required in &need.any_of {
                    if required == start || glob::name_matches(required, start) {
                        let mut path = vec![*need];
                        let mut at = tool;
                        while at != first {
                            let (rule, before) = *from.get(&at)?;
                            path.extend(self.needs.get(rule));
                            at = before;
                        }
                        path.reverse();
                        return Some(path);
                    }
                    if let Some(next) = self.places.get(required.as_str())
                        && *next != first
                        && !from.contains_key(next)
                    {
                        from.insert(*next, (rule, tool));
                        queue.push_back(*next);
                    }
                }
            }
        }
        None
    }
}

/// Tools in rules that no agent may call.
pub(super) fn not_allowed(packs: &Packs<'_>, out: &mut Findings<'_>, needs: &[Need]) {
    const HELP: &str = "add it to the `allowed_tools` of an agent";
    let mut allowed: Vec<String> = Vec::new();
    let mut agents = 0_usize;
    for (_, document) in packs.iter() {
        for agent in document.pack.agents.values() {
            // An agent without a list may call any tool.
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
    for found in packs.guards.iter().filter(|found| found.guard.enabled) {
        let tools = &found.guard.guard.tools;
        if !tools.is_empty() && !tools.iter().any(|tool| could_be_any(tool, &allowed)) {
            let message = format!("no agent may call {}, so `{}` never applies", one_of(tools), found.id());
            out.warn("tool-not-allowed", found.document, Issue::new(found.at("tools"), message).help(HELP));
        }
    }
    let by_name: BTreeSet<&str> = allowed.iter().map(String::as_str).collect();
    let may_be_called = |tool: &str| by_name.contains(tool) || could_be_any(tool, &allowed);
    let mut reported = BTreeSet::new();
    for need in needs {
        let (tool, required) = (&need.tool, one_of(&need.any_of));
        if !may_be_called(tool) {
            if reported.insert((need.document, &need.at, tool)) {
                let message = format!("no agent may call `{tool}`, so this rule never applies");
                out.warn("tool-not-allowed", need.document, Issue::new(&need.at, message).help(HELP));
            }
        } else if !need.any_of.iter().any(|required| may_be_called(required)) {
            let message =
                format!("`{tool}` can never be called: no agent may call {required}, which it needs");
            let issue = Issue::new(&need.at, message).help(HELP);
            out.add("tool-not-allowed", DiagnosticLevel::Error, need.document, issue);
        }
    }
}
