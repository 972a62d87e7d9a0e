//! A deep guardrail that a pack names and nobody configured: it has no answer, so its `on_error` speaks.

use midrail_core::{Context, Fault, Guardrail, Verdict};

/// Stands for a classifier without an endpoint.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unconfigured;

impl Guardrail for Unconfigured {
    fn check(&self, _: &Context<'_>) -> Result<Verdict, Fault> {
        Err(Fault::Failed("no classifier is configured for it".to_owned()))
    }

    fn ceiling(&self) -> midrail_core::Effect {
        midrail_core::Effect::Allow
    }
}
