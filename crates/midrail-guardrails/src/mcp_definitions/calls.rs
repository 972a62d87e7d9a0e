//! Calls of tools, and requests of servers, which have names such as `mcp__SERVER__sampling/createMessage`.

use super::elicitation;
use super::settings::{FirstSeen, McpDefinitions, WhenChanged};
use crate::prelude::*;
use crate::shared::mcp_pins::McpPins;

/// The methods that are decided as calls.
const METHODS: &[&str] = &[
    "sampling/createMessage",
    "elicitation/create",
    "elicitation",
    "resources/read",
    "prompts/get",
    "completion/complete",
];

pub(super) fn check(rules: &McpDefinitions, context: &Context<'_>) -> Result<Verdict, Fault> {
    let Some(server) = &context.event.server else {
        return Ok(Verdict::allow());
    };
    let name = context.tool()?;
    let tool =
        name.strip_prefix("mcp__").and_then(|name| name.strip_prefix(&server.name)?.strip_prefix("__"));
    let Some(tool) = tool else {
        return Ok(Verdict::block(format!(
            "The call `{name}` is not one of the MCP server `{}`.",
            server.name
        )));
    };
    // A server can give a tool the name of a method.
    let method = context.event.host.as_ref().and_then(|host| host.event.as_deref());
    let is_method = method.map_or(METHODS.contains(&tool), |method| method != "tools/call");
    match tool {
        _ if !is_method => {}
        "sampling/createMessage" => {
            let what = format!("The MCP server `{}` asks to use the model of the client.", server.name);
            return Ok(Verdict::new(rules.sampling.0.effect(), what));
        }
        "elicitation/create" => return Ok(elicitation::check(rules.elicitation.0, &server.name, context)),
        _ => return Ok(Verdict::allow()),
    }
    if !rules.allows(&server.name, tool) {
        let reason =
            format!("The policy does not allow the tool `{tool}` of the MCP server `{}`.", server.name);
        return Ok(Verdict::block(reason).with("tool", tool));
    }
    let pins = McpPins::key(&server.key).read(context)?.unwrap_or_default();
    let pin = pins.tools.get(tool).cloned().unwrap_or_default();
    let accepts_new = rules.first_seen == FirstSeen::Pin || pins.trusted_by.is_some();
    let (why, effect) = match (pin.pinned.is_some(), pin.is_waiting()) {
        (true, false) => return Ok(Verdict::allow()),
        (true, true) => ("changed", changed_effect(rules)),
        (false, false) if accepts_new => return Ok(Verdict::allow()),
        (false, _) if pin.finding.is_some() => ("is suspicious", Effect::Block),
        (false, _) => ("is not accepted yet", new_effect(rules)),
    };
    let finding = pin.finding.map(|finding| format!(": {finding}")).unwrap_or_default();
    let reason =
        format!("The definition of the tool `{tool}` of the MCP server `{}` {why}{finding}.", server.name);
    let advice = format!(
        "A person reviews it with `midrail mcp diff {0} {tool}` and accepts it with `midrail mcp trust {0} {tool} --as NAME`.",
        server.name
    );
    Ok(Verdict::new(effect, reason).advise(advice).with("server", server.name.as_str()).with("tool", tool))
}

fn changed_effect(rules: &McpDefinitions) -> Effect {
    match rules.changed {
        WhenChanged::Ask => Effect::Escalate,
        WhenChanged::Block => Effect::Block,
    }
}

fn new_effect(rules: &McpDefinitions) -> Effect {
    match rules.first_seen {
        FirstSeen::Ask | FirstSeen::Pin => Effect::Escalate,
        FirstSeen::Block => Effect::Block,
    }
}
