//! The default of guardrails that packs configure under keys of their own.

use midrail_core::{Context, Effect, Fault, Guardrail, Verdict};

/// Always fails, so that `on_error` applies.
#[derive(Debug, Clone, Copy, Default)]
pub struct MissingClassifier;

impl Guardrail for MissingClassifier {
    fn check(&self, _: &Context<'_>) -> Result<Verdict, Fault> {
        Err(Fault::Failed("no classifier is configured".to_owned()))
    }

    fn max_effect(&self) -> Effect {
        Effect::Allow
    }
}
