//! agent-tool-allowlist (builtin-004): blocks calls of tools that the agent was not given.

use midrail_core::glob;

use crate::prelude::*;

pub(crate) const BUILTIN: Builtin = Builtin::without_settings::<AgentToolAllowlist>(
    "builtin-004",
    Category::Scope,
    4,
    &[EventKind::BeforeTool],
)
.min_risk(Risk::Low)
.always_on()
.aliases(&["tool_allowlist", "builtin_tool_allowlist"])
.supports(CALLS);

/// Applies the tool lists of the event's agent and of its definitions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AgentToolAllowlist;

impl Guardrail for AgentToolAllowlist {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let mut lists = context.tool_lists().peekable();
        if lists.peek().is_none() {
            return Ok(Verdict::allow());
        }
        let tool = context.tool()?;
        let fits = |list: &[String]| list.iter().any(|pattern| glob::name_matches(pattern, tool));
        let task = context.event.task.as_ref();
        let is_added = task.and_then(|task| task.additional_tools.as_deref()).is_some_and(fits);
        // A definition adds tools to its own list only.
        let objects = |(list, added): &(&[String], &[String])| !fits(list) && !fits(added) && !is_added;
        let Some((list, _)) = lists.find(objects) else { return Ok(Verdict::allow()) };
        let advice = match list {
            [] => "This agent may not call any tool.".to_owned(),
            list => format!("Use an allowed tool: {}.", list.join(", ")),
        };
        Ok(Verdict::block(format!("Tool '{tool}' is not allowed for this agent."))
            .advise(advice)
            .with("tool", tool))
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Call only the tools that you were given.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Agent, Event, Task};
    use serde_json::json;

    fn effect(tool: &str, allowed: Option<&[&str]>) -> Effect {
        let allowed_tools = allowed.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let event = Event {
            agent: Some(Agent { allowed_tools, ..Agent::default() }),
            task: Some(Task { additional_tools: Some(vec!["lint".into()]), ..Task::default() }),
            ..Event::before_tool(tool, json!({}))
        };
        Run::of(AgentToolAllowlist).decide(&event).effect
    }

    #[test]
    fn tools_of_the_agent_and_the_task_are_allowed() {
        assert_eq!(effect("read", Some(&["read"])), Effect::Allow);
        assert_eq!(effect("lint", Some(&["read"])), Effect::Allow);
        assert_eq!(effect("write", Some(&["read"])), Effect::Block);
        assert_eq!(effect("mcp__fs__read", Some(&["mcp__fs__*"])), Effect::Allow);
    }

    #[test]
    fn absent_list_sets_no_limit_and_empty_list_allows_none() {
        assert_eq!(effect("write", None), Effect::Allow);
        assert_eq!(effect("write", Some(&[])), Effect::Block);
    }
}
