//! mcp-definitions: withholds definitions of MCP servers that no person accepted, that changed, or that try to control the model.

mod calls;
mod elicitation;
mod findings;
mod requested;
mod review;
pub(crate) mod settings;
#[cfg(test)]
mod tests;

use midrail_core::Tools;

use self::review::Review;
use self::settings::McpDefinitions;
use crate::prelude::*;

pub(crate) const BUILTIN: Builtin = Builtin::new::<McpDefinitions>(
    "mcp-definitions",
    Category::Safety,
    6,
    &[EventKind::ToolsOffered, EventKind::BeforeTool],
)
.always_on();

impl Guardrail for McpDefinitions {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        match context.event.kind {
            EventKind::ToolsOffered => match (&context.event.server, &context.event.tools) {
                (None, Some(tools)) => Ok(requested::verdict(tools)),
                _ => Ok(Review::new(self, context)?.verdict()),
            },
            _ => calls::check(self, context),
        }
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        // What the model does not receive is not pinned.
        if effect < Effect::Escalate && context.event.server.is_some() {
            Review::new(self, context)?.record(changes)?;
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::ToolsOffered]
    }

    fn tools(&self) -> Tools {
        Tools::only(["mcp__*"])
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn can_retry(&self, _: EventKind) -> bool {
        false
    }
}
