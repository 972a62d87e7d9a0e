//! handoff-payload (handoff-001): blocks a hand-off whose payload is incomplete.

use std::collections::BTreeSet;

use crate::prelude::*;
use crate::shared::handoff::{is_empty, part, receiver};

pub(crate) const BUILTIN: Builtin =
    HANDOFF.builtin::<HandoffPayload>("handoff-001", &[EventKind::BeforeHandoff]);

/// The settings of handoff-payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HandoffPayload {
    /// Required non-empty parts: fields of the hand-off, or of its context.
    pub requires: Vec<String>,
    /// Minimum number of letters and digits of the rationale.
    pub min_chars: usize,
}

impl Default for HandoffPayload {
    fn default() -> Self {
        let requires = ["context", "artifacts", "rationale"].map(str::to_owned).into();
        HandoffPayload { requires, min_chars: 20 }
    }
}

impl HandoffPayload {
    /// Whether a rationale is substantive: long enough, and not one repeated word.
    fn is_substantive(&self, rationale: &str) -> bool {
        let letters: Vec<char> = rationale.chars().filter(|c| c.is_alphanumeric()).collect();
        let words: BTreeSet<String> = rationale
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .take(64)
            .collect();
        // Scripts without spaces between words are judged by their characters.
        let distinct: BTreeSet<&char> = letters.iter().take(256).collect();
        let is_varied = words.len() >= 3 || (!rationale.is_ascii() && distinct.len() >= 8);
        letters.len() >= self.min_chars && (self.min_chars == 0 || is_varied)
    }
}

impl Guardrail for HandoffPayload {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let handoff = context.event.handoff.clone().unwrap_or_default();
        let mut lacks: Vec<&str> = Vec::new();
        if receiver(context).is_none() {
            lacks.push("to");
        }
        let is_lacking = |name: &&String| part(&handoff, name).is_none_or(|value| is_empty(&value));
        lacks.extend(self.requires.iter().filter(is_lacking).map(String::as_str));
        if !lacks.is_empty() {
            let list = lacks.join("`, `");
            return Ok(Verdict::block(format!("The hand-off lacks `{list}`."))
                .advise("Name the receiver and the reason, and add the context and artifacts that the receiver needs.")
                .with("missing", lacks));
        }
        let wants_rationale = self.requires.iter().any(|name| name == "rationale");
        if wants_rationale && !self.is_substantive(handoff.rationale.as_deref().unwrap_or_default()) {
            return Ok(Verdict::block("The rationale of the hand-off is too short.")
                .advise(format!(
                    "Explain in a sentence why the other agent takes over (at least {} letters).",
                    self.min_chars
                ))
                .with("missing", vec!["rationale"]));
        }
        Ok(Verdict::allow())
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some(format!("Hand over with {}.", self.requires.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Decision, Event, EventKind};
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn decide(settings: Value, handoff: Value) -> Decision {
        let guardrail: HandoffPayload = serde_json::from_value(settings).unwrap();
        let handoff = serde_json::from_value(handoff).unwrap();
        let event = Event { handoff, ..Event::new(EventKind::BeforeHandoff) };
        Run::on(Arc::new(guardrail), vec![EventKind::BeforeHandoff]).decide(&event)
    }

    fn whole() -> Value {
        json!({
            "to": "tester", "context": {"notes": "login is done"}, "artifacts": ["src/login.rs"],
            "rationale": "The code is done and needs tests by someone else.",
        })
    }

    #[test]
    fn every_part_has_to_be_there() {
        assert_eq!(decide(json!({}), whole()).effect, Effect::Allow);
        for (name, empties) in [
            ("to", vec![json!(null), json!("  ")]),
            ("context", vec![json!(null), json!({}), json!({"notes": " ", "more": [null, {}]})]),
            ("artifacts", vec![json!(null), json!([]), json!([""])]),
            (
                "rationale",
                vec![
                    json!(null),
                    json!(""),
                    json!("done"),
                    json!("aaaaaaaaaaaaaaaaaaaaaaaaaa"),
                    json!("go go go go go go go go go go go"),
                ],
            ),
        ] {
            for empty in empties {
                let mut handoff = whole();
                handoff[name] = empty.clone();
                let decision = decide(json!({}), handoff);
                assert_eq!(decision.effect, Effect::Block, "{name}: {empty}");
                assert_eq!(decision.metadata["missing"], json!([name]), "{name}: {empty}");
            }
        }
        assert_eq!(decide(json!({}), json!(null)).effect, Effect::Block);
    }

    #[test]
    fn requirements_are_configurable() {
        let settings = json!({"requires": ["context", "deadline"], "min_chars": 0});
        assert_eq!(
            decide(settings.clone(), json!({"to": "x", "context": {"deadline": 3}})).effect,
            Effect::Allow
        );
        assert_eq!(
            decide(settings.clone(), json!({"to": "x", "context": "a", "deadline": "friday"})).effect,
            Effect::Allow
        );
        assert_eq!(decide(settings, json!({"to": "x", "context": "a"})).effect, Effect::Block);
        let mut short = whole();
        short["rationale"] = json!("tests");
        assert_eq!(decide(json!({"min_chars": 0}), short).effect, Effect::Allow);
        let mut chinese = whole();
        chinese["rationale"] = json!("登录功能已经完成，需要另一位同事编写测试并检查边界情况");
        assert_eq!(decide(json!({}), chinese).effect, Effect::Allow);
    }
}
