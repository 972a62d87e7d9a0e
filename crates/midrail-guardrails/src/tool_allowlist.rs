//! builtin-004: an agent calls only the tools that it was given.

use midrail_core::{Context, Effect, Fault, Guardrail, Verdict, glob};

/// The lists of allowed tools of the event's agent and of its definitions; all of them hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolAllowlist;

impl Guardrail for ToolAllowlist {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let mut lists = context.tool_lists().peekable();
        if lists.peek().is_none() {
            return Ok(Verdict::allow());
        }
        let tool = context.tool()?;
        let fits = |list: &[String]| list.iter().any(|pattern| glob::name_matches(pattern, tool));
        let task = context.event.task.as_ref();
        let is_added = task.and_then(|task| task.additional_tools.as_deref()).is_some_and(fits);
        // What a definition adds, it adds to its own list.
        let objects = |(list, added): &(&[String], &[String])| !fits(list) && !fits(added) && !is_added;
        let Some((list, _)) = lists.find(objects) else { return Ok(Verdict::allow()) };
        let advice = match list {
            [] => "This agent may call no tool at all.".to_owned(),
            list => format!("Use one of: {}.", list.join(", ")),
        };
        Ok(Verdict::block(format!("Tool '{tool}' is not among the tools that this agent may call."))
            .advise(advice)
            .with("tool", tool))
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Call only the tools that you were given.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use midrail_core::{Agent, Event, Task};
    use serde_json::json;

    fn effect(tool: &str, allowed: Option<&[&str]>) -> Effect {
        let allowed_tools = allowed.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let event = Event {
            agent: Some(Agent { allowed_tools, ..Agent::default() }),
            task: Some(Task { additional_tools: Some(vec!["lint".into()]), ..Task::default() }),
            ..Event::before_tool(tool, json!({}))
        };
        Run::of(ToolAllowlist).decide(&event).effect
    }

    #[test]
    fn the_agents_and_the_tasks_tools_are_allowed() {
        assert_eq!(effect("read", Some(&["read"])), Effect::Allow);
        assert_eq!(effect("lint", Some(&["read"])), Effect::Allow);
        assert_eq!(effect("write", Some(&["read"])), Effect::Block);
        assert_eq!(effect("mcp__fs__read", Some(&["mcp__fs__*"])), Effect::Allow);
    }

    #[test]
    fn absent_is_no_limit_and_empty_is_nothing() {
        assert_eq!(effect("write", None), Effect::Allow);
        assert_eq!(effect("write", Some(&[])), Effect::Block);
    }
}
