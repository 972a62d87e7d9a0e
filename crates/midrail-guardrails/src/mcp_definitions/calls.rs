//! Calls of tools, and requests of servers, which have names such as `mcp__SERVER__sampling/createMessage`.

use super::elicitation;
use super::settings::{FirstSeen, McpDefinitions, WhenChanged};
use crate::prelude::*;
use crate::shared::mcp_pins::{McpPins, is_tool};

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
    let definition = match tool {
        _ if !is_method => tool.to_owned(),
        "sampling/createMessage" => {
            let what = format!("The MCP server `{}` asks to use the model of the client.", server.name);
            return Ok(Verdict::new(rules.sampling.0.effect(), what));
        }
        "elicitation/create" => return Ok(elicitation::check(rules.elicitation.0, &server.name, context)),
        "prompts/get" => format!("prompts/{}", argument(context, "name")),
        "resources/read" => format!("resources/{}", argument(context, "uri")),
        _ => return Ok(Verdict::allow()),
    };
    if !rules.allows(&server.name, &definition) {
        let reason = format!("The policy does not allow `{definition}` of the MCP server `{}`.", server.name);
        return Ok(Verdict::block(reason).with("tool", definition));
    }
    let pins = McpPins::key(&server.key).read(context)?.unwrap_or_default();
    let pin = pins.tools.get(&definition).cloned().unwrap_or_default();
    let accepts_new = rules.first_seen == FirstSeen::Pin || pins.trusted_by.is_some();
    let is_listed = pins.tools.keys().any(|name| is_tool(name));
    let (why, effect) = match (pin.pinned.is_some(), pin.is_waiting()) {
        (true, false) => return Ok(Verdict::allow()),
        (true, true) => ("changed", changed_effect(rules)),
        // Servers read resources that they do not list, and a user chooses a prompt.
        (false, false) if is_method => return Ok(Verdict::allow()),
        // The client knows the list from before the proxy.
        (false, false) if accepts_new && !is_listed => return Ok(Verdict::allow()),
        (false, false) if accepts_new => {
            let reason = format!("The MCP server `{}` offers no tool `{definition}`.", server.name);
            return Ok(Verdict::block(reason).with("tool", definition));
        }
        (false, _) if pin.finding.is_some() => ("is suspicious", Effect::Block),
        (false, _) => ("is not accepted yet", new_effect(rules)),
    };
    let finding = pin.finding.map(|finding| format!(": {finding}")).unwrap_or_default();
    let reason =
        format!("The definition of `{definition}` of the MCP server `{}` {why}{finding}.", server.name);
    let advice = format!(
        "A person reviews it with `midrail mcp diff {0} {definition}` and accepts it with `midrail mcp trust {0} {definition} --as NAME`.",
        server.name
    );
    Ok(Verdict::new(effect, reason)
        .advise(advice)
        .with("server", server.name.as_str())
        .with("tool", definition))
}

/// A text among the arguments.
fn argument<'c>(context: &Context<'c>, name: &str) -> &'c str {
    let args = context.event.tool.as_ref().map(|tool| &tool.args);
    args.and_then(|args| args.get(name)?.as_str()).unwrap_or_default()
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
