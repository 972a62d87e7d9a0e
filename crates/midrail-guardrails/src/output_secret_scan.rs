//! safety-003: what a tool or a model puts out is withheld where it holds secrets or personal data.

use midrail_core::{Context, Effect, Fault, Guardrail, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::findings::{Sensitive, kinds};

/// The settings of safety-003.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct OutputSecretScan(pub Sensitive);

impl Guardrail for OutputSecretScan {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let findings = self.0.in_output(context)?;
        if findings.is_empty() {
            return Ok(Verdict::allow());
        }
        let kinds = kinds(&findings);
        let fingerprints: Vec<&str> = findings.iter().map(|finding| finding.fingerprint.as_str()).collect();
        Ok(Verdict::block(format!("The output holds {}, and is withheld.", kinds.join(", ")))
            .advise("Ask for the part that you need without the value, or refer to it by its name or place.")
            .with("kinds", json!(kinds))
            .with("fingerprints", json!(fingerprints)))
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use midrail_core::{Event, EventKind, ToolResult};
    use std::sync::Arc;

    fn decide(scan: OutputSecretScan, content: &str) -> midrail_core::Decision {
        let mut run = Run::on(Arc::new(scan), vec![EventKind::AfterTool]);
        run.decide(&Event::after_tool("t", json!({}), ToolResult::ok(content)))
    }

    #[test]
    fn an_output_with_a_secret_is_withheld() {
        let decision = decide(OutputSecretScan::default(), "key AKIAQ4ZTX7RK2MPLWN3J end");
        assert_eq!(decision.effect, Effect::Block);
        let allow = vec![decision.metadata["fingerprints"][0].as_str().unwrap().to_owned()];
        let scan = OutputSecretScan(Sensitive { allow, ..Sensitive::default() });
        assert_eq!(decide(scan, "key AKIAQ4ZTX7RK2MPLWN3J end").effect, Effect::Allow);
    }

    #[test]
    fn a_clean_output_passes() {
        assert_eq!(decide(OutputSecretScan::default(), "3 passed, 0 failed").effect, Effect::Allow);
    }
}
