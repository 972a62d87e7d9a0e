//! The policy in plain words, for an agent's prompt: agents know their limits before they hit them.

use midrail_core::{Definition, Mode, Policy, Task};

/// What an agent should know, as a list of sentences. Guardrails in shadow mode are left out: they stop nothing.
pub fn sentences(policy: &Policy) -> Vec<String> {
    let built_in = |id: &str| midrail_guardrails::page(id).is_some_and(|page| page.always_on);
    let has_limits = !policy.definitions().is_empty();
    let mut lines = Vec::new();
    for entry in policy.entries() {
        let spec = &entry.spec;
        if spec.mode == Mode::Shadow || (built_in(&spec.id) && !has_limits) {
            continue;
        }
        // What a pack's author says of it comes before what can be told from its settings.
        let described = Some(spec.description.clone()).filter(|description| !description.is_empty());
        let Some(summary) = described.or_else(|| entry.guardrail.summary()) else {
            continue;
        };
        lines.push(match &spec.advice {
            Some(advice) => format!("{summary} {advice}"),
            None => summary,
        });
    }
    lines.extend(policy.definitions().iter().flat_map(limits));
    lines
}

fn limits(Definition { name, agent, task, .. }: &Definition) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(tools) = &agent.allowed_tools {
        lines.push(match tools.as_slice() {
            [] => format!("As {name}, you may call no tools."),
            tools => format!("As {name}, you may call these tools only: {}.", tools.join(", ")),
        });
    }
    lines.extend(task_limits(name, task));
    lines
}

fn task_limits(name: &str, task: &Task) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(files) = task.scope.as_ref().map(|scope| &scope.files) {
        let lists = [("change", &files.write), ("read", &files.read)];
        for (verb, patterns) in lists {
            if let Some(patterns) = patterns {
                lines.push(format!("As {name}, you may {verb} these files only: {}.", patterns.join(", ")));
            }
        }
        if let Some(deny) = files.deny.as_deref().filter(|deny| !deny.is_empty()) {
            lines.push(format!("As {name}, leave these files alone: {}.", deny.join(", ")));
        }
    }
    for (what, limit) in [
        ("tokens", task.token_budget.map(|tokens| tokens.to_string())),
        ("seconds", task.time_budget_s.map(|seconds| format!("{seconds}"))),
        ("calls to the outside", task.api_call_budget.map(|calls| calls.to_string())),
        ("of cost", task.cost_budget.map(|cost| format!("{cost}"))),
    ] {
        if let Some(limit) = limit {
            lines.push(format!("As {name}, you have a budget of {limit} {what}."));
        }
    }
    lines
}
