//! Tools that can never be called: what they need first needs them, or is nobody's to call.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use midrail_core::glob;

use super::needs::{Need, could_be_any};
use super::{DiagnosticLevel, Issue, Linter};
use crate::pattern::{Prefixes, covers, literal_start};

/// Tools that wait for one another.
pub(super) fn cycles(linter: &mut Linter<'_>, needs: &[Need]) {
    let mut by_condition: BTreeMap<Option<&str>, Vec<&Need>> = BTreeMap::new();
    for need in needs {
        by_condition.entry(need.condition.as_deref()).or_default().push(need);
    }
    // Circles that share a tool are one knot, and told as one.
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let always = by_condition.get(&None).cloned().unwrap_or_default();
    let gated_always: BTreeSet<&str> = always.iter().map(|need| need.tool.as_str()).collect();
    for (condition, conditional) in &by_condition {
        let mut holding = conditional.clone();
        if condition.is_some() {
            // Rules under two different conditions need not hold at one time; those without one always do.
            if !leads_on(conditional, &gated_always) {
                continue;
            }
            holding.extend(&always);
        }
        let chart = Chart::of(&holding);
        for tool in chart.in_circles() {
            if told.contains(tool) {
                continue;
            }
            let Some(circle) = chart.circle(tool) else { continue };
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
            linter.found("prerequisite-cycle", DiagnosticLevel::Error, first.document, issue);
        }
    }
}

/// Whether something that these rules ask for could be gated itself, without which they are in no circle.
fn leads_on(needs: &[&Need], gated_always: &BTreeSet<&str>) -> bool {
    let gated: BTreeSet<&str> = needs.iter().map(|need| need.tool.as_str()).collect();
    let has_patterns = |gated: &BTreeSet<&str>| gated.iter().any(|tool| is_pattern(tool));
    needs.iter().flat_map(|need| &need.any_of).any(|required| {
        is_pattern(required) || gated.contains(required.as_str()) || gated_always.contains(required.as_str())
    }) || has_patterns(&gated)
        || has_patterns(gated_always)
}

fn one_of(tools: &[String]) -> String {
    let tools: Vec<String> = tools.iter().map(|tool| format!("`{tool}`")).collect();
    tools.join(" or ")
}

fn is_pattern(tool: &str) -> bool {
    glob::is_pattern(tool) || tool.contains('\\')
}

/// Tools and patterns, and the rules between them.
struct Chart<'n> {
    needs: Vec<&'n Need>,
    /// Every tool and pattern, by name, with its place in the lists below.
    places: BTreeMap<&'n str, usize>,
    names: Vec<&'n str>,
    /// For each tool, the rules that govern all that it stands for.
    governed_by: Vec<Vec<usize>>,
    /// For each rule, the tools that would do for one of those that it asks for.
    satisfied_by: Vec<Vec<usize>>,
    /// Whether a tool can ever be called.
    can_be_called: Vec<bool>,
    /// Whether what a rule asks for can be called.
    is_open: Vec<bool>,
}

impl<'n> Chart<'n> {
    fn of(needs: &[&'n Need]) -> Self {
        let names: BTreeSet<&str> = needs
            .iter()
            .flat_map(|need| std::iter::once(&need.tool).chain(&need.any_of))
            .map(String::as_str)
            .collect();
        let names: Vec<&str> = names.into_iter().collect();
        let places: BTreeMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (*name, at)).collect();
        let mut rules: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut wide_rules = Prefixes::default();
        for (at, need) in needs.iter().enumerate() {
            if is_pattern(&need.tool) {
                wide_rules.add(&need.tool, at);
            } else {
                rules.entry(&need.tool).or_default().push(at);
            }
        }
        let governing = |name: &str| {
            let wide = wide_rules.may_cover(name).copied();
            let wide = wide.filter(|at| needs.get(*at).is_some_and(|need| covers(&need.tool, name)));
            let mut governing: Vec<usize> =
                rules.get(name).into_iter().flatten().copied().chain(wide).collect();
            governing.sort_unstable();
            governing
        };
        let governed_by: Vec<Vec<usize>> = names.iter().map(|name| governing(name)).collect();
        let satisfying = |need: &Need| {
            let mut satisfying = Vec::new();
            for required in &need.any_of {
                satisfying.extend(places.get(required.as_str()));
                if is_pattern(required) {
                    let start = literal_start(required);
                    let near = places.range(start..).take_while(|(name, _)| name.starts_with(start));
                    satisfying.extend(
                        near.filter(|(name, _)| glob::name_matches(required, name)).map(|(_, at)| at),
                    );
                }
            }
            satisfying
        };
        let satisfied_by = needs.iter().map(|need| satisfying(need)).collect();
        let (can_be_called, is_open) = (vec![false; names.len()], vec![false; needs.len()]);
        let mut chart =
            Chart { needs: needs.to_vec(), places, names, governed_by, satisfied_by, can_be_called, is_open };
        chart.open();
        chart
    }

    /// Grows the set of what can be called from the tools that need nothing.
    fn open(&mut self) {
        let mut closed: Vec<usize> = self.governed_by.iter().map(Vec::len).collect();
        let mut satisfies: Vec<Vec<usize>> = vec![Vec::new(); self.names.len()];
        for (rule, tools) in self.satisfied_by.iter().enumerate() {
            each(tools, &mut satisfies, |rules| rules.push(rule));
        }
        let mut governs: Vec<Vec<usize>> = vec![Vec::new(); self.needs.len()];
        for (tool, rules) in self.governed_by.iter().enumerate() {
            each(rules, &mut governs, |tools| tools.push(tool));
        }
        let is_free = |(_, rules): &(usize, &Vec<usize>)| rules.is_empty();
        let mut next: Vec<usize> =
            self.governed_by.iter().enumerate().filter(is_free).map(|(tool, _)| tool).collect();
        while let Some(tool) = next.pop() {
            if let Some(can) = self.can_be_called.get_mut(tool) {
                *can = true;
            }
            for rule in satisfies.get(tool).into_iter().flatten() {
                let Some(is_open) = self.is_open.get_mut(*rule).filter(|is_open| !**is_open) else {
                    continue;
                };
                *is_open = true;
                for tool in governs.get(*rule).into_iter().flatten() {
                    if let Some(left) = closed.get_mut(*tool) {
                        *left = left.saturating_sub(1);
                        if *left == 0 {
                            next.push(*tool);
                        }
                    }
                }
            }
        }
    }

    /// The rules that keep a tool from being called.
    fn closed_rules(&self, tool: usize) -> impl Iterator<Item = usize> {
        let is_closed = |rule: &usize| self.is_open.get(*rule) == Some(&false);
        self.governed_by.get(tool).into_iter().flatten().copied().filter(is_closed)
    }

    /// The tools that stay stuck, without those that only wait for a circle and are in none: nothing waits for them.
    fn in_circles(&self) -> Vec<&'n str> {
        let mut waiting: Vec<usize> = vec![0; self.names.len()];
        let stuck: Vec<usize> =
            (0..self.names.len()).filter(|tool| self.can_be_called.get(*tool) == Some(&false)).collect();
        let awaited = |tool: usize| {
            self.closed_rules(tool).filter_map(|rule| self.satisfied_by.get(rule)).flatten().copied()
        };
        for tool in &stuck {
            each(&awaited(*tool).collect::<Vec<_>>(), &mut waiting, |count| *count += 1);
        }
        let mut gone: Vec<usize> =
            stuck.iter().copied().filter(|tool| waiting.get(*tool) == Some(&0)).collect();
        let mut is_gone = vec![false; self.names.len()];
        while let Some(tool) = gone.pop() {
            each(&[tool], &mut is_gone, |is_gone| *is_gone = true);
            for next in awaited(tool) {
                each(&[next], &mut waiting, |count| *count = count.saturating_sub(1));
                if waiting.get(next) == Some(&0) {
                    gone.push(next);
                }
            }
        }
        let kept = stuck.iter().filter(|tool| is_gone.get(**tool) == Some(&false));
        kept.filter_map(|tool| self.names.get(*tool).copied()).collect()
    }

    /// The rules that lead from a tool that is stuck back to it, where it is in a circle itself.
    fn circle(&self, start: &str) -> Option<Vec<&'n Need>> {
        let mut queue: VecDeque<usize> = self.places.get(start).copied().into_iter().collect();
        // For each tool, the rule that led there and the tool before.
        let mut from: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        let first = *queue.front()?;
        // Breadth first, so that the shortest circle is told.
        while let Some(tool) = queue.pop_front() {
            for rule in self.closed_rules(tool) {
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

/// Changes the items at some places of a list.
fn each<T>(places: &[usize], items: &mut [T], mut change: impl FnMut(&mut T)) {
    for place in places {
        if let Some(item) = items.get_mut(*place) {
            change(item);
        }
    }
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
    let mut idle = Vec::new();
    for it in linter.guards.iter().filter(|it| it.guard.enabled && !it.guard.guard.tools.is_empty()) {
        if !it.guard.guard.tools.iter().any(|tool| could_be_any(tool, &allowed)) {
            let tools = one_of(&it.guard.guard.tools);
            let message = format!("no agent may call {tools}, so `{}` never comes to bear", it.id());
            let issue = Issue::new(format!("{}/tools", it.guard.at), message)
                .help("add it to the `allowed_tools` of an agent");
            idle.push((it.document, issue));
        }
    }
    for (document, issue) in idle {
        linter.found("tool-not-allowed", DiagnosticLevel::Warning, document, issue);
    }
    let by_name: BTreeSet<&str> = allowed.iter().map(String::as_str).collect();
    let may_be_called = |tool: &str| by_name.contains(tool) || could_be_any(tool, &allowed);
    let mut told = BTreeSet::new();
    for need in needs {
        if !may_be_called(&need.tool) {
            if told.insert((need.document, need.at.clone(), need.tool.clone())) {
                let message = format!("no agent may call `{}`, so this rule never comes to bear", need.tool);
                let issue = Issue::new(&need.at, message).help("add it to the `allowed_tools` of an agent");
                linter.found("tool-not-allowed", DiagnosticLevel::Warning, need.document, issue);
            }
        } else if !need.any_of.iter().any(|required| may_be_called(required)) {
            let required = one_of(&need.any_of);
            let message =
                format!("`{}` can never be called: no agent may call {required}, which it needs", need.tool);
            let issue = Issue::new(&need.at, message).help("add it to the `allowed_tools` of an agent");
            linter.found("tool-not-allowed", DiagnosticLevel::Error, need.document, issue);
        }
    }
}
