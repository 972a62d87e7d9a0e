//! Definitions of agents and tasks, and their guardrails.

use std::sync::Arc;

use midrail_core::{Agent, Definition, Scope, Task};

use crate::compile::compiler::{Binding, Compiler};
use crate::issue::pointer_key;
use crate::raw::{AgentDefinition, Budgets, Pack, TaskDefinition};
use crate::scalar::TimeOrDuration;

/// The definition of a pack for every run, if it has one.
pub(super) fn for_all_runs(pack: &Pack) -> Option<Definition> {
    let Budgets { tokens, time, api_calls, cost } = pack.budgets;
    let task = Task {
        token_budget: tokens,
        time_budget_s: time.map(|time| time.0),
        api_call_budget: api_calls,
        cost_budget: cost,
        ..Task::default()
    };
    let deadline = pack.deadline.map(|TimeOrDuration(deadline)| deadline);
    let is_set = deadline.is_some() || task != Task::default();
    is_set.then(|| Definition { name: pack.pack.clone(), task, deadline, ..Definition::default() })
}

impl<'p> Compiler<'p> {
    pub(super) fn agent(&mut self, name: &'p str, agent: &'p AgentDefinition) -> Definition {
        let at = format!("/agents/{}", pointer_key(name));
        self.patterns(&format!("{at}/id"), &agent.id);
        self.patterns(&format!("{at}/task_ids"), &agent.task_ids);
        self.patterns(&format!("{at}/allowed_tools"), agent.allowed_tools.as_deref().unwrap_or_default());
        self.patterns(
            &format!("{at}/additional_tools"),
            agent.additional_tools.as_deref().unwrap_or_default(),
        );
        self.scope(&at, agent.scope.as_ref());
        let definition = Definition {
            name: name.to_owned(),
            agents: agent.id.0.clone(),
            tasks: agent.task_ids.0.clone(),
            agent: Agent {
                role: agent.role_or(name).map(str::to_owned),
                capabilities: agent.capabilities.clone(),
                allowed_tools: agent.allowed_tools.clone(),
                autonomy_level: agent.autonomy_level.clone(),
                ..Agent::default()
            },
            task: Task {
                goal: agent.goal.clone(),
                risk: agent.risk,
                scope: agent.scope.clone(),
                token_budget: agent.token_budget,
                time_budget_s: agent.time_budget.map(|time| time.0),
                api_call_budget: agent.api_call_budget,
                cost_budget: agent.cost_budget,
                additional_tools: agent.additional_tools.clone(),
                ..Task::default()
            },
            deadline: agent.deadline.map(|TimeOrDuration(deadline)| deadline),
        };
        let whole = Binding {
            definition: Some(Arc::new(definition.clone())),
            agent: Some((name, agent)),
            tools: None,
        };
        for (i, guard) in agent.guardrails.iter().enumerate() {
            self.guard(&format!("{at}/guardrails/{i}"), guard, &whole);
        }
        for (i, provider) in agent.feedback.iter().enumerate() {
            self.guard(&format!("{at}/feedback/{i}"), &provider.0, &whole);
        }
        if let Some(guard) = &agent.completion {
            self.guard(&format!("{at}/completion"), guard, &whole);
        }
        for (section_name, section) in &agent.sections {
            let at = format!("{at}/sections/{}", pointer_key(section_name));
            self.patterns(&format!("{at}/tools"), &section.tools);
            if section.tools.is_empty() {
                let help = "list them, or move its guardrails to the definition";
                self.issue(format!("{at}/tools"), "a section needs tools", help);
            }
            let part = Binding { tools: Some(&section.tools), ..whole.clone() };
            for (i, guard) in section.guardrails.iter().enumerate() {
                self.guard(&format!("{at}/guardrails/{i}"), guard, &part);
            }
        }
        definition
    }

    pub(super) fn task(&mut self, name: &str, task: &TaskDefinition) -> Definition {
        let at = format!("/tasks/{}", pointer_key(name));
        self.patterns(&format!("{at}/id"), &task.id);
        self.patterns(
            &format!("{at}/additional_tools"),
            task.additional_tools.as_deref().unwrap_or_default(),
        );
        self.scope(&at, task.scope.as_ref());
        Definition {
            name: name.to_owned(),
            tasks: if task.id.is_empty() { vec![name.to_owned()] } else { task.id.0.clone() },
            task: Task {
                goal: task.goal.clone(),
                risk: task.risk,
                scope: task.scope.clone(),
                token_budget: task.token_budget,
                time_budget_s: task.time_budget.map(|time| time.0),
                api_call_budget: task.api_call_budget,
                cost_budget: task.cost_budget,
                additional_tools: task.additional_tools.clone(),
                ..Task::default()
            },
            deadline: task.deadline.map(|TimeOrDuration(deadline)| deadline),
            ..Definition::default()
        }
    }

    fn scope(&mut self, at: &str, scope: Option<&Scope>) {
        let Some(files) = scope.map(|scope| &scope.files) else { return };
        for (name, patterns) in [("read", &files.read), ("write", &files.write), ("deny", &files.deny)] {
            self.patterns(&format!("{at}/scope/files/{name}"), patterns.as_deref().unwrap_or_default());
        }
    }
}
