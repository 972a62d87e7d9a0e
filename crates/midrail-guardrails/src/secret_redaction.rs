//! secret-redaction: replaces secrets in the answers of tools and models, and in the arguments of calls.

use midrail_core::{ArgumentChange, Finding};
use midrail_scan::secrets;
use serde_json::Value;

use crate::builtin::TEXTS;
use crate::prelude::*;
use crate::shared::replaced_parts::{Part, changed_call, changes, replace};
use crate::shared::sensitive_data::{SensitiveData, describe, kinds};

pub(crate) const BUILTIN: Builtin = Builtin {
    events: TEXTS,
    redacts: true,
    ..Builtin::new::<SecretRedaction>(
        "secret-redaction",
        Category::Safety,
        20,
        &[EventKind::AfterTool, EventKind::ModelChunk, EventKind::AfterModel],
    )
};

/// The settings of secret-redaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SecretRedaction(#[serde(deserialize_with = "secrets_by_default")] pub SensitiveData);

impl Default for SecretRedaction {
    fn default() -> Self {
        SecretRedaction(SensitiveData { personal_data: false, ..SensitiveData::default() })
    }
}

/// Personal data does not count by default.
fn secrets_by_default<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<SensitiveData, D::Error> {
    let mut settings = Value::deserialize(deserializer)?;
    if let Value::Object(map) = &mut settings {
        map.entry("personal_data").or_insert(Value::Bool(false));
    }
    serde_path_to_error::deserialize(settings)
        .map_err(|error| serde::de::Error::custom(error.into_inner().to_string()))
}

impl SecretRedaction {
    fn parts(findings: &[Finding]) -> Vec<Part> {
        let part = |finding: &Finding| Part {
            what: finding.kind.clone(),
            at: finding.at.clone(),
            range: finding.start..finding.end,
            replacement: secrets::tag(finding),
        };
        findings.iter().map(part).collect()
    }
}

const ADVICE: &str = "Refer to the secret by its name or place; you do not need its value.";

impl Guardrail for SecretRedaction {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.event.kind == EventKind::BeforeTool {
            let verdict = changed_call(context, "Sensitive values in the arguments were replaced.")?;
            return Ok(if verdict.effect == Effect::Allow { verdict } else { verdict.advise(ADVICE) });
        }
        let findings = self.0.in_event(context)?;
        if findings.is_empty() {
            return Ok(Verdict::allow());
        }
        let reason = format!("Sensitive values were replaced: {}.", kinds(&findings).join(", "));
        let mut verdict = replace(context, &SecretRedaction::parts(&findings), reason);
        if verdict.effect == Effect::Redact {
            verdict = verdict.advise(ADVICE);
        }
        Ok(describe(verdict, &findings))
    }

    fn can_modify(&self) -> bool {
        true
    }

    fn modify(&self, context: &Context<'_>) -> Result<Vec<ArgumentChange>, Fault> {
        Ok(changes(&SecretRedaction::parts(&self.0.in_event(context)?)))
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Event, EventKind, ToolResult};
    use serde_json::json;
    use std::sync::Arc;

    fn content(result: Value) -> Option<String> {
        let mut run = Run::on(Arc::new(SecretRedaction::default()), vec![EventKind::AfterTool]);
        run.decide(&Event::after_tool("t", json!({}), ToolResult::ok(result))).content
    }

    #[test]
    fn text_around_a_secret_is_kept() {
        let text = content(json!("key AKIAABCDEFGHIJKLMNOP end")).unwrap();
        assert!(text.starts_with("key [redacted:aws-access-key#") && text.ends_with("] end"), "{text}");
    }

    #[test]
    fn structure_is_kept() {
        let text = content(json!({"out": ["AKIAABCDEFGHIJKLMNOP", 1]})).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(value["out"][0].as_str().unwrap().starts_with("[redacted:"), "{text}");
        assert_eq!(value["out"][1], json!(1));
    }

    #[test]
    fn secret_outside_the_content_withholds_the_result() {
        let key = "key AKIAQ4ZTX7RK2MPLWN3J end";
        for (more, at) in [
            (json!({"result": {"ok": true, "content": "fine", "stdout": key}}), "/result/stdout"),
            (json!({"result": {"ok": true, "stderr": key}}), "/result/stderr"),
            (json!({"result": {"content": key, "meta": {"a": key}}}), "/result/meta/a"),
            (json!({"tool_result": key}), "/tool_result"),
            (json!({"payload": {"result": key}}), "/payload/result"),
        ] {
            let mut event = json!({"kind": "after_tool", "tool": {"name": "Bash", "args": {"command": key}}});
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let event: Event = serde_json::from_value(event).unwrap();
            let guardrails: [Arc<dyn Guardrail>; 2] = [
                Arc::new(SecretRedaction::default()),
                Arc::new(crate::output_secret_scan::OutputSecretScan::default()),
            ];
            for guardrail in guardrails {
                let decision = Run::on(guardrail, vec![EventKind::AfterTool]).decide(&event);
                assert_eq!((decision.effect, decision.content), (Effect::Block, None), "{at}");
            }
            let mut run = Run::on(Arc::new(SecretRedaction::default()), vec![EventKind::AfterTool]);
            assert!(run.decide(&event).reason.contains(&format!("`{at}`")), "{at}");
        }
        // The arguments of the agent are not an answer.
        let event = Event::after_tool("Bash", json!({"command": key}), ToolResult::ok("fine"));
        let mut run = Run::on(Arc::new(SecretRedaction::default()), vec![EventKind::AfterTool]);
        assert_eq!(run.decide(&event).effect, Effect::Allow);
    }

    #[test]
    fn clean_text_is_unchanged() {
        assert_eq!(content(json!("nothing here")), None);
    }
}
