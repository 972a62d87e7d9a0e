//! handoff-002: the agent that takes over can do what is handed to it.

use std::collections::BTreeSet;

use midrail_core::{Context, Effect, Fault, Guardrail, Missing, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::handoff::{extra, receiver, texts};
use crate::settings::Pattern;

/// The settings of handoff-002.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HandoffCapability {
    /// What hand-offs need beyond what they say themselves. Every row that fits counts.
    pub needs: Vec<HandoffNeed>,
}

/// What a hand-off needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoffNeed {
    /// Hand-offs to agents of these names. Empty: all.
    #[serde(default)]
    pub to: Vec<Pattern>,
    /// Hand-offs of these tasks. Empty: all.
    #[serde(default)]
    pub tasks: Vec<Pattern>,
    /// The capabilities that the receiver needs.
    pub capabilities: Vec<String>,
}

/// Where hand-offs say what they need.
const REQUIRED: &[&str] = &["requires", "required_capabilities", "requires_capabilities"];

impl Guardrail for HandoffCapability {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some(handoff) = &context.event.handoff else { return Ok(Verdict::allow()) };
        let to = receiver(context).unwrap_or_default();
        let fits = |patterns: &[Pattern], name: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| pattern.fits_name(name))
        };
        let rows =
            self.needs.iter().filter(|row| fits(&row.to, to) && fits(&row.tasks, context.event.task_id()));
        let mut required: BTreeSet<&str> =
            rows.flat_map(|row| &row.capabilities).map(String::as_str).collect();
        required.extend(extra(handoff, REQUIRED).map(texts).unwrap_or_default());
        if required.is_empty() {
            return Ok(Verdict::allow());
        }
        // What a pack says of an agent counts more than what comes with the hand-off.
        let defined: Vec<&Vec<String>> = context
            .definitions_of(to)
            .filter_map(|definition| definition.agent.capabilities.as_ref())
            .collect();
        let told = handoff.receiver.as_ref().and_then(|receiver| receiver.get("capabilities"));
        let has: BTreeSet<&str> = match (defined.is_empty(), told) {
            (false, _) => defined.into_iter().flatten().map(String::as_str).collect(),
            (true, Some(told)) => texts(told).into_iter().collect(),
            (true, None) => return Err(Missing(format!("what `{to}` is capable of is not told")).into()),
        };
        let lacks: Vec<&str> = required.into_iter().filter(|need| !has.contains(need)).collect();
        if lacks.is_empty() {
            return Ok(Verdict::allow());
        }
        Ok(Verdict::block(format!("`{to}` lacks what this hand-off needs: {}.", lacks.join(", ")))
            .advise("Hand over to an agent that has these capabilities, or hand over the part that does not need them.")
            .with("to", to)
            .with("lacks", lacks))
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Hand work to agents that are capable of it.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
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
    fn what_is_needed_must_be_there() {
        let able = json!({"capabilities": ["test", "code"]});
        let handoff = |requires: Value| json!({"to": "t", "requires": requires, "receiver": able});
        assert_eq!(effect(json!({}), handoff(json!(["test"]))), Effect::Allow);
        assert_eq!(effect(json!({}), handoff(json!("code"))), Effect::Allow);
        assert_eq!(effect(json!({}), handoff(json!(["test", "deploy"]))), Effect::Block);
        let nested = json!({"to": "t", "context": {"required_capabilities": ["deploy"]}, "receiver": able});
        assert_eq!(effect(json!({}), nested), Effect::Block);
    }

    #[test]
    fn where_nothing_is_needed_nothing_has_to_be_known() {
        assert_eq!(effect(json!({}), json!({"to": "t"})), Effect::Allow);
        assert_eq!(effect(json!({}), json!({"to": "t", "requires": ["code"]})), Effect::Block);
        assert_eq!(
            effect(json!({}), json!({"to": "t", "requires": ["code"], "receiver": {"capabilities": []}})),
            Effect::Block
        );
    }

    #[test]
    fn a_pack_can_say_what_is_needed() {
        let settings = json!({"needs": [{"to": ["deploy*"], "capabilities": ["deploy"]}]});
        let to = |name: &str| json!({"to": name, "receiver": {"capabilities": ["code"]}});
        assert_eq!(effect(settings.clone(), to("deployer")), Effect::Block);
        assert_eq!(effect(settings, to("coder")), Effect::Allow);
    }
}
