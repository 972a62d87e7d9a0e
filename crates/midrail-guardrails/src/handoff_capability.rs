//! handoff-capability (handoff-002): blocks a hand-off to an agent that lacks the required capabilities.

use std::collections::BTreeSet;

use crate::prelude::*;
use crate::shared::handoff::{extra, receiver, texts};
use crate::shared::settings::{Pattern, any_matches};

pub(crate) const BUILTIN: Builtin =
    HANDOFF.builtin::<HandoffCapability>("handoff-002", &[EventKind::BeforeHandoff]);

/// The settings of handoff-capability.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HandoffCapability {
    /// Additional requirements. Every matching row counts.
    pub needs: Vec<HandoffRequirement>,
}

/// The capabilities that a hand-off needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HandoffRequirement {
    /// Receivers: names or glob patterns. Empty: all.
    #[serde(default)]
    pub to: Vec<Pattern>,
    /// Tasks: ids or glob patterns. Empty: all.
    #[serde(default)]
    pub tasks: Vec<Pattern>,
    /// The required capabilities.
    pub capabilities: Vec<String>,
}

/// Fields of hand-offs with the required capabilities.
const REQUIRED: &[&str] = &["requires", "required_capabilities", "requires_capabilities"];

impl Guardrail for HandoffCapability {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some(handoff) = &context.event.handoff else { return Ok(Verdict::allow()) };
        let to = receiver(context).unwrap_or_default();
        let fits = |patterns: &[Pattern], name: &str| patterns.is_empty() || any_matches(patterns, name);
        let rows =
            self.needs.iter().filter(|row| fits(&row.to, to) && fits(&row.tasks, context.event.task_id()));
        let mut required: BTreeSet<&str> =
            rows.flat_map(|row| &row.capabilities).map(String::as_str).collect();
        required.extend(extra(handoff, REQUIRED).map(texts).unwrap_or_default());
        if required.is_empty() {
            return Ok(Verdict::allow());
        }
        // Definitions in packs take precedence over the hand-off.
        let defined: Vec<&Vec<String>> = context
            .definitions_for_agent(to)
            .filter_map(|definition| definition.agent.capabilities.as_ref())
            .collect();
        let reported = handoff.receiver.as_ref().and_then(|receiver| receiver.get("capabilities"));
        let has: BTreeSet<&str> = match (defined.is_empty(), reported) {
            (false, _) => defined.into_iter().flatten().map(String::as_str).collect(),
            (true, Some(reported)) => texts(reported).into_iter().collect(),
            (true, None) => return Err(Missing(format!("the capabilities of `{to}` are unknown")).into()),
        };
        let lacks: Vec<&str> = required.into_iter().filter(|need| !has.contains(need)).collect();
        if lacks.is_empty() {
            return Ok(Verdict::allow());
        }
        Ok(Verdict::block(format!(
            "`{to}` lacks capabilities that this hand-off needs: {}.",
            lacks.join(", ")
        ))
        .advise(
            "Choose an agent with these capabilities, or hand over only the part that does not need them.",
        )
        .with("to", to)
        .with("lacks", lacks))
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Hand work only to agents with the required capabilities.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Event, EventKind};
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn effect(settings: Value, handoff: Value) -> Effect {
        let guardrail: HandoffCapability = serde_json::from_value(settings).unwrap();
        let handoff = serde_json::from_value(handoff).unwrap();
        let event = Event { handoff, ..Event::new(EventKind::BeforeHandoff) };
        Run::on(Arc::new(guardrail), vec![EventKind::BeforeHandoff]).decide(&event).effect
    }

    #[test]
    fn missing_capability_blocks() {
        let able = json!({"capabilities": ["test", "code"]});
        let handoff = |requires: Value| json!({"to": "t", "requires": requires, "receiver": able});
        assert_eq!(effect(json!({}), handoff(json!(["test"]))), Effect::Allow);
        assert_eq!(effect(json!({}), handoff(json!("code"))), Effect::Allow);
        assert_eq!(effect(json!({}), handoff(json!(["test", "deploy"]))), Effect::Block);
        let nested = json!({"to": "t", "context": {"required_capabilities": ["deploy"]}, "receiver": able});
        assert_eq!(effect(json!({}), nested), Effect::Block);
    }

    #[test]
    fn unknown_capabilities_are_allowed_if_none_are_needed() {
        assert_eq!(effect(json!({}), json!({"to": "t"})), Effect::Allow);
        assert_eq!(effect(json!({}), json!({"to": "t", "requires": ["code"]})), Effect::Block);
        assert_eq!(
            effect(json!({}), json!({"to": "t", "requires": ["code"], "receiver": {"capabilities": []}})),
            Effect::Block
        );
    }

    #[test]
    fn pack_can_require_capabilities() {
        let settings = json!({"needs": [{"to": ["deploy*"], "capabilities": ["deploy"]}]});
        let to = |name: &str| json!({"to": name, "receiver": {"capabilities": ["code"]}});
        assert_eq!(effect(settings.clone(), to("deployer")), Effect::Block);
        assert_eq!(effect(settings, to("coder")), Effect::Allow);
    }
}
