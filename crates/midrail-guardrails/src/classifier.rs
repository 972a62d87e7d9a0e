//! A guardrail that calls a configured classifier. Without one it fails, so that `on_error` applies.

use std::any::Any;
use std::sync::Arc;

use midrail_core::{Context, Effect, EventKind, Fault, Guardrail, Verdict};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::deep::{DeepGuardrail, DeepSettings};

/// A classifier, if one is configured.
pub(crate) struct Classifier(Option<DeepGuardrail>);

impl<'de> Deserialize<'de> for Classifier {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty) {
            return Ok(Classifier(None));
        }
        let settings = DeepSettings::deserialize(value).map_err(D::Error::custom)?;
        Ok(Classifier(Some(DeepGuardrail::new(settings, None))))
    }
}

impl JsonSchema for Classifier {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        DeepSettings::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        DeepSettings::json_schema(generator)
    }
}

impl Guardrail for Classifier {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        match &self.0 {
            Some(deep) => deep.check(context),
            None => Err(Fault::Failed("no classifier is configured".to_owned())),
        }
    }

    fn external_request(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.0.as_ref()?.external_request()
    }

    fn has_late_answers(&self) -> bool {
        self.0.is_some()
    }

    fn check_late_answer(&self, context: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        match &self.0 {
            Some(deep) => deep.check_late_answer(context, answer),
            None => Ok(Verdict::allow()),
        }
    }

    fn can_retry(&self, _: EventKind) -> bool {
        false
    }

    fn timeout_effect(&self, then: Effect) -> Effect {
        if self.0.is_some() { then } else { Effect::Allow }
    }

    fn default_effect(&self) -> Effect {
        Effect::Block
    }
}
