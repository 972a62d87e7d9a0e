//! Whether a guardrail is asked about an event. `decide` runs those that apply to the event, and lets all of them observe it.

use midrail_core::{Context, glob};

/// Whether the guardrail of a context is asked about its event.
pub(crate) fn is_asked(context: &Context<'_>) -> bool {
    let (spec, event) = (context.spec, context.event);
    let fits = |patterns: &[String], name: Option<&str>| {
        patterns.is_empty() || name.is_none_or(|name| patterns.iter().any(|it| glob::name_matches(it, name)))
    };
    spec.on.contains(&event.kind)
        && event.tool_name().is_none_or(|tool| tool.is_empty() || spec.tools.contains(tool))
        && fits(&spec.agents, event.agent.as_ref().and_then(|agent| agent.id.as_deref()))
        && fits(&spec.tasks, event.task.as_ref().and_then(|task| task.id.as_deref()))
        && spec.bound.as_ref().is_none_or(|definition| definition.applies_to(event))
}
