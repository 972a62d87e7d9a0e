//! The prerequisites of tools, from all rules that can stop a call.

use midrail_core::{Effect, Mode, Tools};
use midrail_guardrails::NewFiles;

use crate::issue::pointer_key;
use crate::layers::{Merged, Placed};
use crate::pattern::{any_covers, could_meet};
use crate::raw::{Guard, RequireBefore};

/// A tool needs one of several others first.
#[derive(Debug, Clone)]
pub(super) struct Need {
    /// The index of its document, and its place in the pack.
    pub(super) document: usize,
    pub(super) at: String,
    /// The gated tool: a name or pattern.
    pub(super) tool: String,
    /// The tools of which one is needed: names or patterns.
    pub(super) any_of: Vec<String>,
    /// Its condition in a comparable form. `None`: always.
    pub(super) condition: Option<String>,
}

/// The needs of all enforced guardrails that can stop a call.
pub(super) fn needs(merged: &Merged<'_>) -> Vec<Need> {
    merged.guards.iter().filter(|placed| can_stop(placed)).flat_map(guard_needs).collect()
}

pub(super) fn can_stop(placed: &Placed<'_>) -> bool {
    let spec = &placed.guard.entry.spec;
    placed.guard.enabled
        && spec.mode == Mode::Enforce
        && spec.effect.is_none_or(|effect| effect >= Effect::Retry)
}

fn guard_needs(placed: &Placed<'_>) -> Vec<Need> {
    let Guard { require_before, sequential, keyed, rules, read_before_write, .. } = placed.guard.guard;
    let at = &placed.guard.at;
    let mut pairs: Vec<(String, String, Vec<String>)> = Vec::new();
    if let Some(rule) = require_before {
        add_rule(&format!("{at}/require_before"), rule, &mut pairs);
    }
    for (tool, requires) in sequential.iter().flatten() {
        let at = format!("{at}/sequential/{}", pointer_key(tool));
        pairs.extend(requires.iter().map(|required| (at.clone(), tool.clone(), vec![required.clone()])));
    }
    for (i, rule) in keyed.iter().flatten().enumerate() {
        add_rule(&format!("{at}/keyed/{i}"), rule, &mut pairs);
    }
    for (i, rule) in rules.iter().flatten().enumerate() {
        add_rule(&format!("{at}/rules/{i}/require_before"), &rule.require_before, &mut pairs);
    }
    if let Some(settings) = read_before_write
        && settings.new_files == NewFiles::RequireRead
        && !settings.read_tools.is_empty()
    {
        let at = format!("{at}/read_before_write");
        let pair = |tool: &String| (at.clone(), tool.clone(), settings.read_tools.clone());
        pairs.extend(settings.write_tools.iter().map(pair));
    }
    let condition = condition(placed);
    pairs
        .into_iter()
        .filter(|(_, tool, _)| match &placed.guard.entry.spec.tools {
            Tools::All => true,
            Tools::Only(patterns) => any_covers(patterns, tool),
        })
        .map(|(at, tool, any_of)| Need {
            document: placed.member,
            at,
            tool,
            any_of,
            condition: condition.clone(),
        })
        .collect()
}

fn add_rule(at: &str, rule: &RequireBefore, pairs: &mut Vec<(String, String, Vec<String>)>) {
    for tool in rule.tool.iter() {
        if !rule.reads.is_empty() {
            // New files need no read, so the tool can be called.
            if rule.new_files == Some(NewFiles::RequireRead) {
                pairs.push((at.to_owned(), tool.clone(), rule.reads.0.clone()));
            }
        } else if rule.key.is_some() {
            // A command or a change can always be made.
            let tools: Option<Vec<String>> =
                rule.requires.iter().map(|calls| calls.tool().cloned()).collect();
            pairs.extend(tools.map(|tools| (at.to_owned(), tool.clone(), tools)));
        } else {
            let all = rule.requires.iter().filter_map(|calls| calls.tool());
            pairs.extend(all.map(|required| (at.to_owned(), tool.clone(), vec![required.clone()])));
        }
    }
}

pub(super) fn condition(placed: &Placed<'_>) -> Option<String> {
    let Guard { when, command, agents, tasks, .. } = placed.guard.guard;
    let agent = placed.guard.agent.map(|(name, _)| name);
    let bound =
        when.is_some() || !command.is_empty() || !agents.is_empty() || !tasks.is_empty() || agent.is_some();
    bound.then(|| format!("{when:?} {command:?} {agents:?} {tasks:?} {agent:?}"))
}

/// Whether a tool or pattern could match one of several patterns.
pub(super) fn could_be_any(tool: &str, patterns: &[String]) -> bool {
    patterns.iter().any(|pattern| could_meet(pattern, tool))
}
