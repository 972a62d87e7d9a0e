//! The policy in plain words, for an agent's prompt: agents know their limits before they hit them.

use jiff::SignedDuration;
use midrail_core::duration::span;
use midrail_core::{Deadline, Definition, Mode, Policy, Task};

/// What an agent should know, as a list of sentences. Guardrails in shadow mode are left out: they stop nothing.
pub fn sentences(policy: &Policy) -> Vec<String> {
    let built_in = |id: &str| midrail_guardrails::builtin(id).is_some_and(|page| page.always_on);
    let has_limits = !policy.definitions().is_empty();
    let mut lines = Vec::new();
    for entry in policy.entries() {
        let spec = &entry.spec;
        if spec.mode == Mode::Shadow || (built_in(&spec.id) && !has_limits) {
            continue;
        }
        // The description of the pack has precedence over a summary of the settings.
        let described = Some(spec.description.clone()).filter(|description| !description.is_empty());
        let Some(summary) = described.or_else(|| entry.guardrail.summary()) else {
            continue;
        };
        let summary = match &spec.bound {
            Some(definition) => format!("As {}: {summary}", definition.name),
            None => summary,
        };
        lines.push(match &spec.advice {
            Some(advice) => format!("{summary} {advice}"),
            None => summary,
        });
    }
    lines.extend(policy.definitions().iter().flat_map(limits));
    lines
}

fn limits(definition: &Definition) -> Vec<String> {
    let Definition { name, agents, tasks, agent, task, deadline } = definition;
    let is_for_all = agents.is_empty() && tasks.is_empty() && agent.role.is_none();
    let you = if is_for_all { "You".to_owned() } else { format!("As {name}, you") };
    let mut lines = Vec::new();
    if let Some(tools) = &agent.allowed_tools {
        lines.push(match tools.as_slice() {
            [] => format!("{you} may call no tools."),
            tools => format!("{you} may call these tools only: {}.", tools.join(", ")),
        });
    }
    lines.extend(task_limits(&you, task));
    lines.extend(deadline.map(|deadline| match deadline {
        Deadline::At(time) => format!("{you} have to be finished by {time}."),
        Deadline::After(seconds) => {
            format!(
                "{you} have to be finished {} after the run began.",
                span(SignedDuration::try_from_secs_f64(seconds).unwrap_or_default())
            )
        }
    }));
    lines
}

fn task_limits(you: &str, task: &Task) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(files) = task.scope.as_ref().map(|scope| &scope.files) {
        let lists = [("change", &files.write), ("read", &files.read)];
        for (verb, patterns) in lists {
            if let Some(patterns) = patterns {
                lines.push(format!("{you} may {verb} these files only: {}.", patterns.join(", ")));
            }
        }
        if let Some(deny) = files.deny.as_deref().filter(|deny| !deny.is_empty()) {
            lines.push(format!("{you} must leave these files alone: {}.", deny.join(", ")));
        }
    }
    for (what, limit) in [
        ("tokens", task.token_budget.map(|tokens| tokens.to_string())),
        ("seconds", task.time_budget_s.map(|seconds| format!("{seconds}"))),
        ("calls to the outside", task.api_call_budget.map(|calls| calls.to_string())),
        ("of cost", task.cost_budget.map(|cost| format!("{cost}"))),
    ] {
        if let Some(limit) = limit {
            lines.push(format!("{you} have a budget of {limit} {what}."));
        }
    }
    lines
}
