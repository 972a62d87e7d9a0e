//! secret-redaction: secrets in what tools and models answer are replaced by their kind and fingerprint.

use midrail_core::{Context, Effect, Fault, Guardrail, Redaction, Verdict};
use midrail_detect::secrets;
use serde_json::Value;

/// Replaces secrets in a result's content and in a model's text.
#[derive(Debug, Clone, Copy, Default)]
pub struct SecretRedaction;

const TEXT: &str = "/text";
const CONTENT: &str = "/result/content";

impl Guardrail for SecretRedaction {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let findings: Vec<_> = context
            .secrets()?
            .iter()
            .filter(|finding| {
                let below = finding.at.strip_prefix(CONTENT);
                finding.at == TEXT || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
            .cloned()
            .collect();
        if findings.is_empty() {
            return Ok(Verdict::allow());
        }
        let mut kinds: Vec<&str> = findings.iter().map(|finding| finding.kind.as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let mut verdict =
            Verdict::new(Effect::Redact, format!("Secrets were replaced: {}.", kinds.join(", ")))
                .advise("Refer to the secret by its name or place; you do not need its value.")
                .with("kinds", Value::from(kinds));
        let content = context.event.result.as_ref().and_then(|result| result.content.as_ref());
        if let Some(content @ (Value::Object(_) | Value::Array(_))) = content {
            // A structure stays the structure that its host expects.
            let mut whole = serde_json::json!({"result": {"content": content}});
            secrets::mask(&mut whole, &findings);
            verdict.replacement = whole.pointer(CONTENT).map(Value::to_string);
        } else {
            verdict.redactions = findings
                .iter()
                .map(|finding| Redaction {
                    start: finding.start,
                    end: finding.end,
                    replacement: secrets::tag(finding),
                })
                .collect();
        }
        Ok(verdict)
    }

    fn ceiling(&self) -> Effect {
        Effect::Redact
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use midrail_core::{Event, EventKind, ToolResult};
    use serde_json::json;
    use std::sync::Arc;

    fn content(result: Value) -> Option<String> {
        let mut run = Run::on(Arc::new(SecretRedaction), vec![EventKind::AfterTool]);
        run.decide(&Event::after_tool("t", json!({}), ToolResult::ok(result))).content
    }

    #[test]
    fn the_text_around_a_secret_stays() {
        let text = content(json!("key AKIAABCDEFGHIJKLMNOP end")).unwrap();
        assert!(text.starts_with("key [redacted:aws-access-key#") && text.ends_with("] end"), "{text}");
    }

    #[test]
    fn a_structure_stays_a_structure() {
        let text = content(json!({"out": ["AKIAABCDEFGHIJKLMNOP", 1]})).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(value["out"][0].as_str().unwrap().starts_with("[redacted:"), "{text}");
        assert_eq!(value["out"][1], json!(1));
    }

    #[test]
    fn clean_text_passes_unchanged() {
        assert_eq!(content(json!("nothing here")), None);
    }
}
