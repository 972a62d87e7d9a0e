//! Guardrails that call a configured classifier. Without one they fail, so that `on_error` applies.

use std::sync::Arc;

use midrail_core::{Context, Effect, EventKind, Fault, Guardrail, Verdict};
use schemars::SchemaGenerator;
use serde_json::Value;

use crate::builtin::{Constructor, parse_settings};
use crate::deep::{DeepGuardrail, DeepSettings};
use crate::shared::missing_classifier::MissingClassifier;
use crate::shared::settings::SettingsProblem;

/// The constructor of a guardrail whose settings are those of its classifier.
pub(crate) const CLASSIFIER: Constructor =
    Constructor { build: build_classifier, schema: Some(SchemaGenerator::subschema_for::<DeepSettings>) };

fn build_classifier(settings: &Value) -> Result<Arc<dyn Guardrail>, SettingsProblem> {
    if settings.is_null() || settings.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(Arc::new(Unconfigured));
    }
    Ok(Arc::new(DeepGuardrail::new(parse_settings(settings)?, None)))
}

/// A classifier without settings: it always fails, so that `on_error` applies.
#[derive(Debug, Clone, Copy, Default)]
struct Unconfigured;

impl Guardrail for Unconfigured {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        MissingClassifier.check(context)
    }

    fn can_retry(&self, _: EventKind) -> bool {
        false
    }

    fn default_effect(&self) -> Effect {
        Effect::Block
    }
}
