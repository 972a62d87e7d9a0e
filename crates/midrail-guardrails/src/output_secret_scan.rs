//! output-secret-scan (safety-003): withholds output that contains secrets or personal data.

use crate::builtin::TEXTS;
use crate::prelude::*;
use crate::shared::sensitive_data::{SensitiveData, describe, kinds};

pub(crate) const BUILTIN: Builtin = SAFETY
    .builtin::<OutputSecretScan>("safety-003", &[EventKind::AfterTool, EventKind::AfterModel])
    .supports(TEXTS);

/// The settings of output-secret-scan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct OutputSecretScan(pub SensitiveData);

impl Guardrail for OutputSecretScan {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let findings = self.0.in_event(context)?;
        if findings.is_empty() {
            return Ok(Verdict::allow());
        }
        let kinds = kinds(&findings).join(", ");
        let (what, advice) = match context.event.kind {
            EventKind::BeforeTool => (
                "The call was stopped because its arguments contain",
                "Leave the value out, or refer to it by its name or place.",
            ),
            EventKind::BeforeHandoff => (
                "The hand-off was stopped because it contains",
                "Leave the value out, or refer to it by its name or place.",
            ),
            _ => (
                "The output was withheld because it contains",
                "Request only the part that you need, or refer to the value by its name or place.",
            ),
        };
        let verdict = Verdict::block(format!("{what} {kinds}.")).advise(advice);
        Ok(describe(verdict, &findings))
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

    fn decide(scan: OutputSecretScan, content: &str) -> midrail_core::Decision {
        let mut run = Run::on(Arc::new(scan), vec![EventKind::AfterTool]);
        run.decide(&Event::after_tool("t", json!({}), ToolResult::ok(content)))
    }

    #[test]
    fn output_with_a_secret_is_withheld() {
        let decision = decide(OutputSecretScan::default(), "key AKIAQ4ZTX7RK2MPLWN3J end");
        assert_eq!(decision.effect, Effect::Block);
        let allow = vec![decision.metadata["fingerprints"][0].as_str().unwrap().to_owned()];
        let scan = OutputSecretScan(SensitiveData { allow, ..SensitiveData::default() });
        assert_eq!(decide(scan, "key AKIAQ4ZTX7RK2MPLWN3J end").effect, Effect::Allow);
    }

    #[test]
    fn clean_output_is_allowed() {
        assert_eq!(decide(OutputSecretScan::default(), "3 passed, 0 failed").effect, Effect::Allow);
    }
}
